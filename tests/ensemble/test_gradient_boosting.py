"""Gradient boosting with exact trees: leaves by definition, scikit-learn's trees, threads, draws, starts, stops."""

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.linear_model import LinearRegression

from mercer.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from mercer.ensemble._gradient.rounds import EarlyStopping
from mercer.errors import DataError, ParameterError


def friedman(n=200):
    return make_friedman1(n, noise=0.5, random_state=0)


# Truth.


@pytest.mark.catalogue("TE-22")
@pytest.mark.parametrize(("loss", "centre"), [("squared_error", np.mean), ("absolute_error", np.median)])
def test_one_stump_without_shrinkage_gives_each_side_its_mean_or_median(loss, centre):
    X = np.repeat([[0.0], [1.0]], 25, axis=0)
    y = np.random.default_rng(0).standard_t(2, size=50) + 5 * X[:, 0]
    model = GradientBoostingRegressor(loss=loss, n_estimators=1, learning_rate=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [centre(y[:25]), centre(y[25:])], rtol=1e-10)


@pytest.mark.catalogue("TE-22")
@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_the_trees_of_numbers_are_those_of_scikit_learn(loss):
    X, y = friedman()
    X = X.astype(np.float32).astype(np.float64)
    options = {"loss": loss, "n_estimators": 8, "random_state": 0}
    ours = GradientBoostingRegressor(**options).fit(X, y)
    theirs = sklearn.ensemble.GradientBoostingRegressor(**options).fit(X, y)
    if loss == "squared_error":
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
        np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)
        np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))
        np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-6)
    else:
        # Of two quantiles that are as good theirs is the lower one, ours is between.
        assert np.corrcoef(ours.predict(X), theirs.predict(X))[0, 1] > 0.995


def test_splits_are_exact_in_double_precision():
    # Ranks keep the order of the values and are not changed by scikit-learn's rounding to float32.
    X, y = friedman(1000)
    X[1::2] = X[::2] * (1 + 1e-9)
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in X.T], axis=1).astype(float)
    ours = GradientBoostingRegressor(n_estimators=30).fit(X, y)
    theirs = sklearn.ensemble.GradientBoostingRegressor(n_estimators=30, random_state=0).fit(ranks, y)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-12)


@pytest.mark.parametrize(("loss", "n_classes"), [("log_loss", 2), ("exponential", 2), ("log_loss", 3)])
def test_the_scores_of_classes_are_those_of_scikit_learn(loss, n_classes):
    X, y = make_classification(150, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=0)
    X = X.astype(np.float32).astype(np.float64)
    options = {"loss": loss, "n_estimators": 6, "random_state": 0}
    ours = GradientBoostingClassifier(**options).fit(X, y)
    theirs = sklearn.ensemble.GradientBoostingClassifier(**options).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-7)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-7)


# Optimality.


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
def test_the_training_loss_falls_in_every_round(loss):
    X, y = friedman()
    model = GradientBoostingRegressor(loss=loss, n_estimators=30).fit(X, y)
    assert np.all(np.diff(model.history_["objective"]) < 0)
    np.testing.assert_allclose(model.train_score_, model.history_["objective"], rtol=1e-12)


# Invariance.


@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_threads_leave_no_trace(subsample):
    X, y = make_classification(3000, 20, n_informative=8, n_classes=3, random_state=0)
    options = {"n_estimators": 3, "subsample": subsample, "max_features": 5, "random_state": 0}
    models = [GradientBoostingClassifier(n_jobs=jobs, **options).fit(X, y) for jobs in (1, 2, 5)]
    scores = [model.decision_function(X) for model in models]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


def test_a_warm_start_draws_and_grows_what_one_fit_would():
    X, y = friedman()
    options = {"subsample": 0.6, "max_features": 3, "random_state": 0}
    whole = GradientBoostingRegressor(n_estimators=12, **options).fit(X, y)
    parts = GradientBoostingRegressor(n_estimators=5, warm_start=True, **options).fit(X, y)
    parts.set_params(n_estimators=12).fit(X, y)
    assert np.array_equal(whole.predict(X), parts.predict(X))
    assert np.array_equal(whole.oob_improvement_, parts.oob_improvement_)


def test_a_round_sees_just_its_share_of_the_rows_and_is_judged_by_the_others():
    X, y = friedman(100)
    model = GradientBoostingRegressor(n_estimators=1, learning_rate=1.0, subsample=0.37, random_state=0).fit(X, y)
    tree = model.estimators_[0, 0].tree_
    assert tree.n_node_samples[0] == 37
    before, after = np.full(100, y.mean()), model.predict(X)
    losses = (before - y) ** 2, (after - y) ** 2
    # The mean over all rows is that over those seen and those not, in their shares.
    seen, unseen = model.train_score_[0], model.oob_scores_[0]
    assert 0.37 * seen + 0.63 * unseen == pytest.approx(losses[1].mean(), rel=1e-9)
    assert seen < unseen


# Edges.


def test_a_model_to_start_from_is_improved():
    X, y = friedman(400)
    start = LinearRegression().fit(X[:200], y[:200])
    model = GradientBoostingRegressor(init=LinearRegression(), n_estimators=50).fit(X[:200], y[:200])
    np.testing.assert_allclose(model.init_.coef_, start.coef_)
    assert model.score(X[200:], y[200:]) > start.score(X[200:], y[200:]) + 0.05


def test_missing_values_go_where_they_gain():
    X = np.random.default_rng(0).normal(size=(90, 1))
    X[::3] = np.nan
    y = np.isnan(X[:, 0]).astype(int)
    assert GradientBoostingClassifier(n_estimators=5).fit(X, y).score(X, y) == 1.0


def test_a_draw_of_one_class_alone_is_no_harm():
    X, y = np.arange(6.0).reshape(-1, 1), [0, 0, 0, 1, 1, 1]
    model = GradientBoostingClassifier(n_estimators=60, subsample=0.4, random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_rounds_end_when_held_out_rows_gain_no_more():
    stopping = EarlyStopping(None, patience=2, tol=0.1)
    assert not stopping.is_over((1.0, 2.0))
    assert not stopping.is_over((1.0, 0.9, 0.8))
    assert stopping.is_over((1.0, 0.9, 0.95))
    X, y = friedman(300)
    model = GradientBoostingRegressor(n_estimators=500, learning_rate=0.5, n_iter_no_change=3, random_state=0).fit(X, y)
    assert model.converged_
    assert model.n_estimators_ == len(model.train_score_) < 500


def test_staged_answers_end_with_the_answer():
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=4).fit(X, y)
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_allclose(last, model.predict_proba(X), rtol=1e-12)
    assert model.apply(X).shape == (150, 4, 3)
    assert model.estimators_.shape == (4, 3)


# Errors.


def test_bad_starts_and_targets_are_refused():
    X, y = friedman(30)
    with pytest.raises(ParameterError, match=r"init must be a model with fit and predict_proba; got LinearRegression"):
        GradientBoostingClassifier(init=LinearRegression()).fit(X, y > 10)
    with pytest.raises(DataError, match=r"is only suitable for a binary classification problem; got 3 classes. Use"):
        GradientBoostingClassifier(loss="exponential").fit(X, np.arange(30) % 3)
    model = GradientBoostingRegressor(n_estimators=3, warm_start=True).fit(X, y)
    with pytest.raises(ParameterError, match=r"n_estimators=2 must be larger or equal to estimators_.shape\[0\]=3"):
        model.set_params(n_estimators=2).fit(X, y)
