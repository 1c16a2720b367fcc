"""Stacking: columns from rows that members did not see, and a final estimator that learns whom to trust."""

import numpy as np
import pandas
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import mercer
from mercer.ensemble import StackingClassifier, StackingRegressor
from mercer.errors import DataError, ParameterError
from mercer.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier, RidgeCV
from mercer.naive_bayes import GaussianNB
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor

LABELS = np.array(["ash", "birch", "cedar"])


def numbers(n=240):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    return X, X[:, 0] - X[:, 1] + np.sin(3 * X[:, 2]) + 0.2 * random.normal(size=n)


def labels(n=240):
    X, y = numbers(n)
    return X, LABELS[np.digitize(y, [-1.0, 1.0])]


def regressors():
    return [("line", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=4, random_state=0))]


def classifiers():
    return [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]


def unseen(member, X, y, folds, method):
    """Return the predictions of a member for each row when fitted without its fold, in a plain loop."""
    said = {}
    for train, test in folds.split(X, y):
        fitted = clone(member).fit(X[train], y[train])
        said |= dict(zip(test.tolist(), getattr(fitted, method)(X[test]), strict=True))
    return np.array([said[number] for number in range(len(y))])


def test_the_final_regressor_is_fitted_to_predictions_for_unseen_rows():
    X, y = numbers()
    model = StackingRegressor(regressors(), cv=3).fit(X, y)
    columns = np.column_stack([unseen(member, X, y, KFold(3), "predict") for _, member in regressors()])
    by_hand = RidgeCV().fit(columns, y)
    np.testing.assert_allclose(model.final_estimator_.coef_, by_hand.coef_)
    whole = np.column_stack([member.fit(X, y).predict(X) for _, member in regressors()])
    np.testing.assert_array_equal(model.transform(X), whole)
    np.testing.assert_allclose(model.predict(X), by_hand.predict(whole))


def test_the_final_classifier_is_fitted_to_probabilities_for_unseen_rows():
    X, y = labels()
    model = StackingClassifier(classifiers(), cv=3).fit(X, y)
    folds = StratifiedKFold(3)
    columns = np.hstack([unseen(member, X, y, folds, "predict_proba") for _, member in classifiers()])
    by_hand = LogisticRegression().fit(columns, y)
    np.testing.assert_allclose(model.final_estimator_.coef_, by_hand.coef_, rtol=1e-6)
    assert model.predict(X).tolist() == by_hand.predict(model.transform(X)).tolist()
    assert model.stack_method_ == ["predict_proba", "predict_proba"]
    assert model.classes_.tolist() == LABELS.tolist()


def test_two_classes_have_one_column_and_scores_and_labels_as_they_are():
    X, y = labels()
    y = y == "ash"
    members = [*classifiers(), ("ridge", RidgeClassifier())]
    model = StackingClassifier(members, cv=3).fit(X, y)
    assert model.stack_method_ == ["predict_proba", "predict_proba", "decision_function"]
    expected = [member.fit(X, y).predict_proba(X)[:, 1] for _, member in classifiers()]
    np.testing.assert_array_equal(model.transform(X)[:, :2], np.column_stack(expected))
    plain = StackingClassifier(members, cv=3, stack_method="predict").fit(X, y)
    assert set(plain.transform(X).ravel().tolist()) == {0, 1}


def test_a_stack_adds_up_members_that_each_know_half():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(4000, 2))
    # Two terms of equal variance, 1/3; a line has no use for the second, and the tree is not shown the first.
    y = X[:, 0] + np.sign(np.abs(X[:, 1]) - 0.5) / np.sqrt(3)
    blind = make_pipeline(make_column_transformer(("passthrough", [1])), DecisionTreeRegressor(max_depth=2))
    # Of four leaves, so that their means have little noise: a tree that varies gets a smaller coefficient.
    model = StackingRegressor([("line", LinearRegression()), ("tree", blind)], LinearRegression()).fit(
        X[:2000], y[:2000]
    )
    for member in model.estimators_:
        assert member.score(X[2000:], y[2000:]) == pytest.approx(0.5, abs=0.1)
    np.testing.assert_allclose(model.final_estimator_.coef_, 1.0, atol=0.1)
    assert model.score(X[2000:], y[2000:]) > 0.9


def test_out_of_fold_columns_show_who_learns_rows_by_heart():
    X, _ = numbers()
    y = np.random.default_rng(1).normal(size=len(X))
    members = [("near", KNeighborsRegressor(1)), ("line", LinearRegression())]
    fair = StackingRegressor(members, LinearRegression()).fit(X, y)
    prefit = [(name, member.fit(X, y)) for name, member in members]
    fooled = StackingRegressor(prefit, LinearRegression(), cv="prefit").fit(X, y)
    assert fooled.final_estimator_.coef_[0] == pytest.approx(1.0)
    assert abs(fair.final_estimator_.coef_[0]) < 0.3


def test_rows_are_passed_through_dense_sparse_and_from_frames():
    X, y = numbers()
    model = StackingRegressor([("line", Ridge()), ("strong", Ridge(alpha=50.0))], Ridge(), passthrough=True, cv=3)
    dense = model.fit(X, y).transform(X)
    np.testing.assert_array_equal(dense[:, 2:], X)
    sparse = model.fit(scipy.sparse.csc_array(X), y).transform(scipy.sparse.csc_array(X))
    assert sparse.format == "csc"
    np.testing.assert_allclose(sparse.toarray(), dense, atol=1e-8)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    named = model.fit(frame, y).set_output(transform="pandas").transform(frame)
    assert named.columns.tolist() == ["stackingregressor_line", "stackingregressor_strong", "a", "b", "c", "d"]
    np.testing.assert_array_equal(model.predict(frame), model.final_estimator_.predict(named.to_numpy()))


def test_shuffled_folds_are_the_same_for_all_members():
    X, y = numbers()
    twins = [("one", Ridge()), ("two", Ridge())]
    # The default of the final estimator, ridge, shares weight equally between equal columns and only between them.
    model = StackingRegressor(twins, cv=KFold(3, shuffle=True)).fit(X, y)
    assert model.final_estimator_.coef_[0] == pytest.approx(model.final_estimator_.coef_[1])


def test_a_stack_cut_short_decides_with_the_members_at_hand(tmp_path):
    X, y = labels()
    with pytest.warns(ConvergenceWarning, match="stopped by max_time after 1 steps"):
        short = StackingClassifier(classifiers(), max_time=0.0).fit(X, y)
    alone = StackingClassifier(classifiers()[:1]).fit(X, y)
    np.testing.assert_array_equal(short.predict_proba(X), alone.predict_proba(X))
    assert alone.history_["objective"].tolist() == [1.0, 2.0]
    mercer.save(short, tmp_path / "short.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "short.mercer").predict(X), short.predict(X))


def test_several_labels_at_once_are_stacked():
    X, y = numbers()
    targets = np.column_stack([y > 0, X[:, 0] > 0]).astype(int)
    model = StackingClassifier([("near", KNeighborsClassifier())], KNeighborsClassifier()).fit(X, targets)
    assert model.transform(X).shape == model.predict_proba(X).shape == (240, 2)
    assert (model.predict(X) == targets).mean() > 0.85
    assert ((model.predict_proba(X) > 0.5) == model.predict(X)).all()


def test_weights_and_metadata_reach_members_and_the_final_estimator():
    X, y = numbers()
    weight = np.random.default_rng(1).random(len(y))
    model = StackingRegressor(regressors(), cv=3).fit(X, y, sample_weight=weight)
    alone = LinearRegression().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.estimators_[0].coef_, alone.coef_)
    assert not np.allclose(model.final_estimator_.coef_, clone(model).fit(X, y).final_estimator_.coef_)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = [(name, member.set_fit_request(sample_weight=True)) for name, member in regressors()]
        routed = StackingRegressor(asking, cv=3, n_jobs=2).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(routed.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        (
            {"final_estimator": Ridge()},
            ParameterError,
            "'final_estimator' parameter should be a classifier. Got Ridge",
        ),
        ({"estimators": []}, ParameterError, "StackingClassifier: Invalid 'estimators' attribute"),
        (
            {"estimators": [("ridge", RidgeClassifier())], "stack_method": "predict_proba"},
            ParameterError,
            "StackingClassifier: Underlying estimator ridge does not implement the method predict_proba. Ask for "
            "another, or replace the estimator.",
        ),
        ({"cv": "prefit"}, NotFittedError, "This GaussianNB instance is not fitted yet"),
    ],
)
def test_stacks_that_cannot_be_are_refused(settings, error, words):
    with pytest.raises(error) as caught:
        StackingClassifier(**{"estimators": classifiers()} | settings).fit(*labels())
    assert words in str(caught.value)


def test_data_that_cannot_be_stacked_are_refused():
    X, y = labels()
    with pytest.raises(TypeError, match="Underlying estimator KNeighborsClassifier does not support sample weights"):
        StackingClassifier(classifiers(), KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(DataError, match="requires y to be passed"):
        StackingClassifier(classifiers()).fit(X, None)
    with pytest.raises(DataError, match="minimum of 2 is required"):
        StackingRegressor(regressors()).fit(X[:0], [])
