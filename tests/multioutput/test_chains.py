"""Chains: links that see the targets before their own, in the fit and afterwards; folds, labels, files, errors."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.multioutput
from sklearn.datasets import make_multilabel_classification, make_regression
from sklearn.model_selection import KFold, cross_val_predict

import mercer
from mercer.linear_model import LogisticRegression, Ridge
from mercer.multioutput import ClassifierChain, RegressorChain
from mercer.naive_bayes import GaussianNB
from mercer.tree import DecisionTreeRegressor

ORDER = [2, 0, 1]


def make_rows(seed=0):
    return make_regression(80, 5, n_targets=3, noise=1.0, random_state=seed)


def make_labels(seed=0):
    return make_multilabel_classification(120, 6, n_classes=3, random_state=seed)


def test_each_link_sees_the_true_targets_in_the_fit_and_predicted_ones_afterwards():
    X, Y = make_rows()
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    chain = RegressorChain(tree, order=ORDER).fit(X[:60], Y[:60])
    seen, found = X[60:], {}
    for place, column in enumerate(ORDER):
        link = DecisionTreeRegressor(max_depth=3, random_state=0)
        link.fit(np.hstack([X[:60], Y[:60, ORDER[:place]]]), Y[:60, column])
        found[column] = link.predict(seen)
        seen = np.hstack([seen, found[column][:, None]])
    np.testing.assert_array_equal(chain.predict(X[60:]), np.stack([found[column] for column in range(3)], axis=1))
    np.testing.assert_array_equal(chain.order_, ORDER)


def test_with_folds_links_see_what_the_other_folds_predict():
    X, Y = make_rows()
    folds = KFold(4)
    chain = RegressorChain(Ridge(), cv=folds).fit(X, Y)
    seen = X
    for column in range(3):
        link = Ridge().fit(seen, Y[:, column])
        np.testing.assert_allclose(chain.estimators_[column].coef_, link.coef_, rtol=1e-9)
        seen = np.hstack([seen, cross_val_predict(Ridge(), seen, Y[:, column], cv=folds)[:, None]])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("cv", [None, 3])
def test_a_chain_of_scikit_learns_links_is_its_chain(method, cv):
    X, Y = make_labels()
    link = sklearn.naive_bayes.GaussianNB()
    given = {"chain_method": method, "cv": cv, "order": "random", "random_state": 3}
    ours, theirs = ClassifierChain(link, **given), sklearn.multioutput.ClassifierChain(link, **given)
    ours.fit(X, Y), theirs.fit(X, Y)
    np.testing.assert_array_equal(ours.order_, theirs.order_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)


def test_decisions_go_along_the_chain():
    X, Y = make_labels()
    chain = ClassifierChain(LogisticRegression(), chain_method=["decision_function", "predict"]).fit(X, Y)
    assert chain.chain_method_ == "decision_function"
    first = chain.estimators_[0].decision_function(X)
    np.testing.assert_array_equal(chain.decision_function(X)[:, 0], first)
    second = chain.estimators_[1].decision_function(np.hstack([X, first[:, None]]))
    np.testing.assert_array_equal(chain.decision_function(X)[:, 1], second)


def test_labels_may_be_texts():
    X, Y = make_labels()
    names = np.array(["no", "yes"])[Y]
    numbers, texts = ClassifierChain(GaussianNB()).fit(X, Y), ClassifierChain(GaussianNB()).fit(X, names)
    np.testing.assert_array_equal(texts.predict(X), np.array(["no", "yes"])[numbers.predict(X)])


@pytest.mark.parametrize("cv", [None, 3])
def test_sparse_rows_and_any_number_of_threads_give_the_same_chain(cv):
    X, Y = make_rows()
    one = RegressorChain(Ridge(), cv=cv, n_jobs=1).fit(X, Y)
    np.testing.assert_array_equal(RegressorChain(Ridge(), cv=cv, n_jobs=3).fit(X, Y).predict(X), one.predict(X))
    for store in (scipy.sparse.csr_array, scipy.sparse.csc_matrix):
        found = RegressorChain(Ridge(), cv=cv).fit(store(X), Y)
        np.testing.assert_allclose(found.predict(store(X)), one.predict(X), rtol=1e-4)


def test_chains_are_saved_with_their_links(tmp_path):
    X, Y = make_labels()
    chain = ClassifierChain(GaussianNB(), order=ORDER).fit(X, Y)
    mercer.save(chain, tmp_path / "chain.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "chain.mercer").predict_proba(X), chain.predict_proba(X))


def test_errors_name_the_rule():
    X, Y = make_labels()
    with pytest.raises(ValueError, match="invalid order"):
        ClassifierChain(GaussianNB(), order=[0, 0, 1]).fit(X, Y)
    with pytest.raises(AttributeError, match="has none of the following attributes: decision_function"):
        ClassifierChain(GaussianNB(), chain_method="decision_function").fit(X, Y)
    with pytest.raises(ValueError, match="each row in one test part"):
        RegressorChain(Ridge(), cv=[(np.arange(60), np.arange(40, 120))]).fit(X, Y)
    with pytest.raises(ValueError, match="needs two labels"):
        ClassifierChain(GaussianNB(), chain_method="predict_proba").fit(X, Y + np.eye(120, 3, dtype=int)).predict(X)
