"""Self-training: rounds by hand, scikit-learn's labels, ends, limits, files, errors."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.semi_supervised
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer.errors import DataError
from mercer.naive_bayes import GaussianNB
from mercer.semi_supervised import SelfTrainingClassifier


def make_rows(seed=0):
    X, y = make_blobs(150, 4, centers=3, cluster_std=5.0, random_state=seed)
    return X, y, np.where(np.arange(150) % 6 == 0, y, -1)


def test_a_round_labels_the_rows_of_which_the_classifier_is_sure():
    X, _, known = make_rows()
    model = SelfTrainingClassifier(GaussianNB(), threshold=0.9, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, known)
    rows = known >= 0
    first = GaussianNB().fit(X[rows], known[rows])
    shares = first.predict_proba(X)
    sure = ~rows & (shares.max(axis=1) > 0.9)
    expected = np.where(sure, first.classes_[shares.argmax(axis=1)], known)
    np.testing.assert_array_equal(model.transduction_, expected)
    np.testing.assert_array_equal(model.labeled_iter_, np.where(rows, 0, np.where(sure, 1, -1)))
    second = GaussianNB().fit(X[expected >= 0], expected[expected >= 0])
    np.testing.assert_array_equal(model.predict_proba(X), second.predict_proba(X))


@pytest.mark.filterwarnings("ignore:SelfTrainingClassifier. stopped by max_iter")
@pytest.mark.parametrize("settings", [{}, {"threshold": 0.99}, {"criterion": "k_best", "k_best": 7}, {"max_iter": 0}])
def test_labels_are_those_of_scikit_learn(settings):
    X, _, known = make_rows()
    member = sklearn.naive_bayes.GaussianNB()
    ours = SelfTrainingClassifier(member, **settings).fit(X, known)
    theirs = sklearn.semi_supervised.SelfTrainingClassifier(member, **settings).fit(X, known)
    for name in ("transduction_", "labeled_iter_", "n_iter_", "termination_condition_", "classes_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_rounds_end_where_all_rows_have_labels():
    X, _, known = make_rows()
    model = SelfTrainingClassifier(GaussianNB(), criterion="k_best", k_best=50, max_iter=None).fit(X, known)
    assert (model.termination_condition_, model.n_iter_, model.converged_) == ("all_labeled", 3, True)
    np.testing.assert_array_equal(model.history_["objective"], [75, 125, 150])
    np.testing.assert_array_equal(np.bincount(model.labeled_iter_), [25, 50, 50, 25])


def test_texts_and_sparse_rows_are_labelled_as_numbers_and_dense_ones():
    X, _, known = make_rows()
    member = mercer.linear_model.LogisticRegression(tol=1e-8, max_iter=500)
    numbers = SelfTrainingClassifier(member, criterion="k_best", max_iter=None, k_best=60).fit(X, known)
    names = np.array(["a", "b", "c", "-1"])
    for texts in (names[known], np.where(known < 0, -1, names.astype(object)[known])):
        found = SelfTrainingClassifier(member, criterion="k_best", max_iter=None, k_best=60).fit(X, texts)
        np.testing.assert_array_equal(found.predict(X), names[numbers.predict(X)])
    sparse = SelfTrainingClassifier(member, criterion="k_best", max_iter=None, k_best=60)
    sparse.fit(scipy.sparse.csr_array(X), known)
    np.testing.assert_array_equal(sparse.transduction_, numbers.transduction_)


def test_a_saved_model_answers_as_before(tmp_path):
    X, _, known = make_rows()
    model = SelfTrainingClassifier(GaussianNB(), max_iter=None).fit(X, known)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.labeled_iter_, model.labeled_iter_)


def test_errors_name_the_rule():
    X, y, known = make_rows()
    with pytest.raises(DataError, match="no labels but -1"):
        SelfTrainingClassifier(GaussianNB()).fit(X, np.full(150, -1))
    with pytest.raises(ValueError, match="estimator must be a classifier"):
        SelfTrainingClassifier().fit(X, known)
    with pytest.warns(UserWarning, match="no unlabeled samples"):
        SelfTrainingClassifier(GaussianNB()).fit(X, y)
