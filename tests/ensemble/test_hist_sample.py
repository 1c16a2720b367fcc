"""Drawn rows and further losses of histogram boosting."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification, make_friedman1

from mercer.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from mercer.ensemble._histogram.sample import draw_counts, draw_uniform
from mercer.ensemble._histogram.tree_builder import TreeBuilder
from mercer.errors import DataError


def steps(n=60):
    """Return rows with two values of one column, a leaf each, and targets with heavy tails."""
    X = np.repeat([[0.0], [1.0]], n // 2, axis=0)
    return X, np.random.default_rng(0).standard_t(2, size=n) + 5 * X[:, 0]


# Truth.


def test_the_leaves_are_the_means_of_the_rows_drawn():
    X, y = steps()
    options = {"max_iter": 1, "learning_rate": 1.0, "min_samples_leaf": 1, "subsample": 0.5, "random_state": 3}
    model = HistGradientBoostingRegressor(**options).fit(X, y)
    drawn = draw_counts(60, 0.5, None, (model._state.entropy[0], 0, 1)) > 0
    assert 15 < drawn.sum() < 45
    means = [y[drawn & (X[:, 0] == side)].mean() for side in (0, 1)]
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), means, rtol=1e-9)


def test_the_leaves_of_the_huber_loss_go_from_the_median_by_the_mean_of_clipped_residuals():
    X, y = steps()
    model = HistGradientBoostingRegressor("huber", quantile=0.7, max_iter=1, learning_rate=1.0).fit(X, y)
    start = np.median(y)
    limit = np.quantile(np.abs(y - start), 0.7, method="averaged_inverted_cdf")
    for side, found in enumerate(model.predict([[0.0], [1.0]])):
        gap = y[X[:, 0] == side] - start
        expected = start + np.median(gap) + np.clip(gap - np.median(gap), -limit, limit).mean()
        assert found == pytest.approx(expected, rel=1e-9)


def test_a_leaf_of_the_exponential_loss_is_a_newton_step_of_half_the_log_odds():
    X = np.repeat([[0.0], [1.0]], 40, axis=0)
    y = np.r_[np.ones(30), np.zeros(10), np.ones(5), np.zeros(35)]
    model = HistGradientBoostingClassifier("exponential", max_iter=1, learning_rate=1.0).fit(X, y)
    start = 0.5 * np.log(35 / 45)
    steps = []
    for positive in (30, 5):
        up, down = positive * np.exp(-start), (40 - positive) * np.exp(start)
        steps.append(start + (up - down) / (up + down))
    np.testing.assert_allclose(model.decision_function([[0.0], [1.0]]), steps, rtol=1e-7)
    np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]])[:, 1], expit(2 * np.array(steps)), rtol=1e-7)


# Invariance.


def test_numbers_of_rows_are_uniform_and_rounds_do_not_repeat_them():
    numbers = np.array([draw_uniform(20_000, (7, round_number, 1)) for round_number in range(2)])
    assert np.abs(np.histogram(numbers[0], bins=10, range=(0, 1))[0] - 2000).max() < 200
    assert abs(np.corrcoef(numbers)[0, 1]) < 0.03
    assert abs(np.corrcoef(numbers[0, 1:], numbers[0, :-1])[0, 1]) < 0.03


def test_each_repetition_that_a_weight_stands_for_is_drawn_by_itself():
    counts = np.full(20_000, 3)
    drawn = draw_counts(20_000, 0.4, counts, (1, 0, 1))
    shares = np.bincount(drawn, minlength=4) / 20_000
    np.testing.assert_allclose(shares, [0.6**3, 3 * 0.4 * 0.36, 3 * 0.16 * 0.6, 0.4**3], atol=0.015)


def test_threads_leave_no_trace_where_rows_are_drawn():
    X, y = make_classification(30_000, 40, n_informative=10, random_state=0)
    options = {"max_iter": 3, "subsample": 0.5, "random_state": 0}
    models = [HistGradientBoostingClassifier(n_jobs=jobs, **options).fit(X, y) for jobs in (1, 2, 5)]
    scores = [model.decision_function(X[:2000]) for model in models]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


def test_threads_leave_no_trace_where_few_weights_stand_for_several_rows():
    X, y = make_classification(30_000, 40, n_informative=10, random_state=0)
    weight = np.ones(30_000)
    weight[:5] = 2
    options = {"max_iter": 2, "subsample": 0.5, "random_state": 0}
    models = [HistGradientBoostingClassifier(n_jobs=jobs, **options).fit(X, y, sample_weight=weight) for jobs in (1, 5)]
    assert np.array_equal(*(model.decision_function(X[:2000]) for model in models))


@pytest.mark.parametrize("jobs", [1, 3])
def test_few_columns_summed_for_themselves_give_the_trees_of_histograms_of_all(monkeypatch, jobs):
    X, y = make_classification(20_000, 40, n_informative=10, random_state=0)
    X[::5, 3] = np.nan
    options = {"max_iter": 3, "max_features": 0.1, "random_state": 0, "early_stopping": False, "n_jobs": jobs}
    few = HistGradientBoostingClassifier(**options).fit(X, y)
    prepare, ways = TreeBuilder.__init__, []

    def prepare_with_all(self, *given):
        prepare(self, *given)
        ways.append(self.direct)
        self.direct = False

    monkeypatch.setattr(TreeBuilder, "__init__", prepare_with_all)
    every = HistGradientBoostingClassifier(**options).fit(X, y)
    assert ways == [True]
    assert np.array_equal(few.decision_function(X), every.decision_function(X))


def test_a_warm_start_draws_what_one_fit_would():
    X, y = make_friedman1(300, random_state=0)
    whole = HistGradientBoostingRegressor(max_iter=12, subsample=0.6, random_state=0).fit(X, y)
    parts = HistGradientBoostingRegressor(max_iter=5, subsample=0.6, random_state=0, warm_start=True).fit(X, y)
    parts.set_params(max_iter=12).fit(X, y)
    assert np.array_equal(whole.predict(X), parts.predict(X))


def test_weights_that_are_no_whole_numbers_may_be_drawn_too():
    X, y = make_friedman1(400, random_state=0)
    weight = np.random.default_rng(0).random(400) + 0.5
    model = HistGradientBoostingRegressor(subsample=0.5, random_state=0).fit(X, y, sample_weight=weight)
    assert model.score(X, y) > 0.9


# Places beside others, errors.


def test_the_huber_loss_resists_outliers_that_the_squared_one_follows():
    X, y = make_friedman1(1000, noise=0.3, random_state=0)
    wild = y.copy()
    wild[::20] += 300
    options = {"max_iter": 100, "random_state": 0}
    robust = HistGradientBoostingRegressor("huber", **options).fit(X[:800], wild[:800])
    plain = HistGradientBoostingRegressor(**options).fit(X[:800], wild[:800])
    assert robust.score(X[800:], y[800:]) > 0.85 > plain.score(X[800:], y[800:])


def test_the_exponential_loss_refuses_three_classes():
    with pytest.raises(DataError, match=r"only suitable for a binary classification problem; got 3 classes. Use loss="):
        HistGradientBoostingClassifier("exponential").fit(np.arange(30.0).reshape(-1, 1), np.arange(30) % 3)
