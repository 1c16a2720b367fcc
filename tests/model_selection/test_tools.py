"""Curves, bias and variance, estimates of error, searches, complexity, sources: what scores are worth."""

import re

import numpy as np
import pytest
import sklearn
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, load_wine
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    log_loss,
    max_error,
    mean_absolute_error,
    mean_squared_error,
    precision_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches, shuffle

from mercer.decision import accuracy_costs, expected_cost
from mercer.errors import DataError, ParameterError
from mercer.linear_model import LinearRegression, LogisticRegression, Ridge, leave_one_out_residuals
from mercer.model_selection import (
    bias_variance,
    candidates,
    choose_simplest,
    compare_estimates,
    compare_sources,
    complexity_curve,
    degrees_of_freedom,
    nested_cv,
    one_standard_error,
    parameter_count,
    resampled_bias_variance,
    roughness,
    score_by_rows,
    search_settings,
    simulate_selection,
    weight_norm,
)
from mercer.model_selection.trials import find_outdone
from mercer.preprocessing import PolynomialBasis

DIABETES = load_diabetes(return_X_y=True)


def _linear(n_rows, n_columns=5, noise=1.0):
    truth = np.linspace(1, 2, n_columns)

    def draw(random):
        X = random.normal(size=(n_rows, n_columns))
        return X, X @ truth + random.normal(scale=noise, size=n_rows)

    return draw


@pytest.mark.catalogue("LT-20")
@pytest.mark.fixed_seed("means of four repeats need not rise at every size")
def test_training_and_test_scores_meet_as_rows_grow():
    X, y = _linear(1500)(np.random.default_rng(0))
    curve = score_by_rows(
        LinearRegression(), X, y, sizes=[20, 80, 320, 1200], scoring="neg_mean_squared_error", repeats=4, random_state=0
    )
    assert (np.diff(curve.train.mean(axis=1)) < 0).all()
    assert (np.diff(curve.test.mean(axis=1)) > 0).all()
    assert (curve.gap > 0).all()
    # Least squares: in-sample (1 - p/n), out of sample about 1 + p/(n - p - 1): the gap falls like p/n.
    assert curve.gap[2] == pytest.approx(6 / 320 + 6 / (320 - 7), rel=0.5)
    assert -curve.test.mean(axis=1)[-1] == pytest.approx(1.0, abs=0.1)


def test_a_learning_curve_keeps_classes_and_goes_back_in_time():
    X, y = load_wine(return_X_y=True)
    curve = score_by_rows(
        make_pipeline(StandardScaler(), LogisticRegression()), X, y, sizes=[9, 0.5, 1.0], random_state=0
    )
    assert curve.x.tolist() == [9, 71, 142]
    assert curve.test.mean(axis=1)[0] > 0.7
    one, other = (score_by_rows(Ridge(), *DIABETES, random_state=3, n_jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one.test, other.test)
    forward = score_by_rows(Ridge(), *DIABETES, time=np.arange(442), folds=3, random_state=0)
    assert forward.test.shape == (5, 3)
    text = "score_by_rows: sizes must be shares in (0, 1] or numbers of rows up to 353, the training part of a split;"
    with pytest.raises(ParameterError, match=re.escape(text)):
        score_by_rows(Ridge(), *DIABETES, sizes=[500])


@pytest.mark.catalogue("LT-23")
def test_training_scores_rise_with_complexity_and_test_scores_turn():
    random = np.random.default_rng(1)
    x = random.uniform(-1, 1, (40, 1))
    y = 4 * x[:, 0] ** 3 - 3 * x[:, 0] + random.normal(scale=0.3, size=40)
    model = make_pipeline(PolynomialBasis(1, basis="orthonormal"), LinearRegression())
    degrees = [1, 2, 3, 6, 12]
    curve = complexity_curve(model, x, y, name="polynomialbasis__degree", values=degrees, repeats=3, random_state=0)
    assert (np.diff(curve.train, axis=0) > -1e-6).all()
    assert degrees[curve.best] == 3
    assert curve.test.mean(axis=1)[-1] < curve.test.mean(axis=1)[2]


def _wave(random):
    x = np.linspace(-1, 1, 30)[:, None]
    return x, np.sin(3 * x[:, 0]) + random.normal(scale=0.3, size=30)


@pytest.mark.catalogue("LT-21")
def test_error_is_bias_and_variance_and_noise():
    x = np.linspace(-0.9, 0.9, 19)[:, None]
    truth = np.sin(3 * x[:, 0])
    parts = []
    for degree in (1, 3, 7):
        model = make_pipeline(PolynomialBasis(degree), LinearRegression())
        parts.append(bias_variance(model, _wave, x, truth, noise=0.09, n_sets=150, random_state=0))
    for one in parts:
        assert one.bias + one.variance + one.noise == pytest.approx(one.error, rel=1e-12)
    assert parts[0].bias > parts[1].bias > 0
    assert parts[0].variance < parts[1].variance < parts[2].variance
    # On fresh targets the error is the sum, within the error of the simulation.
    random = np.random.default_rng(5)
    model = make_pipeline(PolynomialBasis(3), LinearRegression())
    fresh = [
        np.mean((model.fit(*_wave(random)).predict(x) - truth - random.normal(scale=0.3, size=19)) ** 2)
        for _ in range(300)
    ]
    assert np.mean(fresh) == pytest.approx(parts[1].error, rel=0.1)
    X = random.normal(size=(20, 5))

    def draw(random):
        return X, X.sum(axis=1) + random.normal(size=20)

    ridge = [
        bias_variance(Ridge(alpha), draw, np.eye(5), np.ones(5), n_sets=50, random_state=0) for alpha in (0.1, 30.0)
    ]
    assert ridge[0].bias < ridge[1].bias
    assert ridge[0].variance > ridge[1].variance


def test_bias_and_variance_of_real_rows_sum_to_the_error():
    X, y = load_wine(return_X_y=True)
    loose, tight = (
        resampled_bias_variance(
            make_pipeline(StandardScaler(), LogisticRegression(C=C)), X, y, n_sets=8, random_state=0
        )
        for C in (10.0, 1e-3)
    )
    assert loose.bias + loose.variance == pytest.approx(loose.error)
    assert tight.bias > loose.bias
    assert tight.variance < loose.variance


@pytest.mark.catalogue("LT-22")
def test_training_error_is_optimistic_and_cross_validation_nearly_not():
    n_rows, columns, estimates = 40, (2, 10), []
    for n_columns in columns:
        X = np.random.default_rng(0).normal(size=(n_rows, n_columns))

        def draw(random, X=X):
            return X, X.sum(axis=1) + random.normal(size=n_rows)

        estimates.append(compare_estimates(LinearRegression(), draw, n_sets=120, random_state=0))
    for n_columns, one in zip(columns, estimates):
        # At fixed rows the training error of least squares is too low by 2 sigma^2 p/n.
        assert one.bias["train"] == pytest.approx(-2 * (n_columns + 1) / n_rows, abs=0.05)
    assert estimates[1].bias["train"] < estimates[0].bias["train"]
    # Cross-validation is about new rows, so rows are drawn anew.
    found = compare_estimates(LinearRegression(), _linear(40), folds=10, n_sets=80, random_state=0)
    assert abs(found.bias["cross_validated"]) < 0.3 * abs(found.bias["train"])
    assert found.variance["cross_validated"] > found.variance["train"]


@pytest.mark.catalogue("MS-06")
def test_the_best_of_many_promises_more_than_it_keeps():
    found = simulate_selection((1, 10, 100), errors=(0.25, 0.35), random_state=0)
    assert abs(found.optimism[0]) < 0.01
    assert (np.diff(found.optimism) > 0.02).all()
    assert (found.reported[1:] < found.fresh[1:]).all()


@pytest.mark.catalogue("MS-05")
def test_a_grid_visits_every_setting_once_and_reports_the_best():
    space = {"alpha": [0.01, 1.0, 100.0], "fit_intercept": [True, False]}
    found = search_settings(Ridge(), *DIABETES, space, random_state=0)
    assert len(found.settings) == 6
    assert len({tuple(sorted(one.items())) for one in found.settings}) == 6
    assert found.best == found.scores.mean(axis=1).argmax()
    assert found.estimator.get_params()["alpha"] == found.best_setting["alpha"]
    text = "search_settings: method must be one of 'grid', 'random', 'model'; got 'magic'."
    with pytest.raises(ParameterError, match=re.escape(text)):
        search_settings(Ridge(), *DIABETES, space, method="magic")


@pytest.mark.catalogue("MS-05")
@pytest.mark.parametrize("method", ["random", "model"])
def test_a_seeded_search_over_decades_finds_what_a_fine_grid_finds(method):
    space = {"alpha": loguniform(1e-4, 1e4), "fit_intercept": [True, False]}
    one, other = (
        search_settings(Ridge(), *DIABETES, space, method=method, n_settings=16, n_jobs=jobs, random_state=0)
        for jobs in (1, 2)
    )
    assert one.settings == other.settings
    grid = search_settings(Ridge(), *DIABETES, {"alpha": np.logspace(-4, 4, 33)}, random_state=0)
    assert one.scores.mean(axis=1).max() > grid.scores.mean(axis=1).max() - 0.01
    listed = search_settings(Ridge(), *DIABETES, {"alpha": [0.1, 1.0]}, method=method, random_state=0)
    assert sorted({one["alpha"] for one in listed.settings}) == [0.1, 1.0]


@pytest.mark.catalogue("MS-08")
def test_measures_of_complexity_have_their_known_values():
    X, y = DIABETES
    X, y = X[:60, :4], y[:60]
    assert degrees_of_freedom(LinearRegression(), X) == pytest.approx(5.0)
    freedom = [degrees_of_freedom(Ridge(alpha), X) for alpha in (0.01, 0.1, 1.0)]
    assert freedom == sorted(freedom, reverse=True)
    H = X - X.mean(axis=0)
    trace = np.trace(H @ np.linalg.solve(H.T @ H + 0.1 * np.eye(4), H.T)) + 1
    assert freedom[1] == pytest.approx(trace)
    line = LinearRegression().fit(np.array([[0.0], [1.0]]), [1.0, 3.0])
    assert roughness(line.predict, -5, 5) == pytest.approx(0.0, abs=1e-12)
    assert roughness(lambda x: x[:, 0] ** 2, 0.0, 3.0) == pytest.approx(12.0)
    assert weight_norm(line) == pytest.approx(2.0)
    assert parameter_count(line) == 2
    through_zero = LinearRegression(fit_intercept=False).fit([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [1.0, 2.0, 3.0])
    assert parameter_count(through_zero) == 2
    with pytest.raises(DataError, match="weight_norm: the model must be fitted and have coef_; got Ridge without"):
        weight_norm(Ridge())


@pytest.mark.catalogue("MS-14")
def test_a_shortcut_shows_on_another_source():
    random = np.random.default_rng(0)
    y, source = random.integers(0, 2, 1200), np.repeat(["first", "second"], 600)
    mark = np.where(source == "first", y, random.integers(0, 2, 1200))
    X = np.column_stack([y + 0.7 * random.normal(size=1200), mark])
    report = compare_sources(LogisticRegression(), X, y, source, random_state=0)
    assert report.scores[0, 0] > 0.95
    # Trained on the second source, a model has the first column alone, which serves on both.
    assert abs(report.scores[1, 0] - report.scores[1, 1]) < 0.1
    assert report.shortcut == 1
    assert report.scores[0, 0] - report.scores[0, 1] > 0.2
    assert report.loss_abroad > 0.1
    text = "compare_sources: rows must come from at least two sources; got 1."
    with pytest.raises(DataError, match=re.escape(text)):
        compare_sources(LogisticRegression(), X, y, np.zeros(600))


def test_a_hold_out_split_is_disjoint_and_whole():
    rows = np.arange(200)
    labels = np.tile([0, 0, 0, 1], 50)
    train, test = train_test_split(rows, test_size=0.1, random_state=0, stratify=labels)
    again = train_test_split(rows, test_size=0.1, random_state=0, stratify=labels)
    assert sorted([*train, *test]) == rows.tolist()
    assert len(test) == 20
    assert labels[test].sum() == 5
    np.testing.assert_array_equal(test, again[1])


@pytest.mark.catalogue("MS-03")
def test_leaving_one_out_has_a_closed_form_for_least_squares():
    X, y = DIABETES
    X, y = X[:50], y[:50]
    told = cross_val_predict(LinearRegression(), X, y, cv=LeaveOneOut())
    np.testing.assert_allclose(leave_one_out_residuals(X, y), y - told, rtol=1e-9)
    by_folds = cross_val_predict(LinearRegression(), X, y, cv=KFold(50))
    np.testing.assert_array_equal(told, by_folds)


def test_measures_of_error_on_hand_computed_cases():
    y, told = np.array([1.0, 2.0, 4.0]), np.array([1.0, 4.0, 3.0])
    assert mean_squared_error(y, told) == pytest.approx(5 / 3)
    assert root_mean_squared_error(y, told) == pytest.approx(np.sqrt(5 / 3))
    assert (mean_absolute_error(y, told), max_error(y, told)) == (1.0, 2.0)
    true, answer = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 0])
    assert confusion_matrix(true, answer).tolist() == [[1, 1], [1, 2]]
    assert (accuracy_score(true, answer), precision_score(true, answer)) == (0.6, pytest.approx(2 / 3))
    assert f1_score(true, answer) == recall_score(true, answer) == pytest.approx(2 / 3)
    # With 0-1 costs the cost of the decisions is the error rate.
    certain = np.eye(2)[true]
    assert expected_cost(certain, accuracy_costs(2))[np.arange(5), answer].mean() - (
        accuracy_costs(2)[true, true].mean()
    ) == pytest.approx(1 - 0.6)
    chance = np.array([0.1, 0.6, 0.4, 0.8, 0.7])
    pairs = [chance[i] > chance[j] for i in np.flatnonzero(true) for j in np.flatnonzero(1 - true)]
    assert roc_auc_score(true, chance) == pytest.approx(np.mean(pairs))
    assert log_loss(true, chance) == pytest.approx(-np.mean(np.log(np.where(true == 1, chance, 1 - chance))))


def test_shuffled_batches_show_each_row_once_an_epoch():
    orders = [shuffle(np.arange(10), random_state=epoch) for epoch in range(3)]
    for order in orders:
        batches = [order[part] for part in gen_batches(10, 4)]
        assert [len(one) for one in batches] == [4, 4, 2]
        assert sorted(np.concatenate(batches)) == list(range(10))
    assert not np.array_equal(orders[0], orders[1])
    np.testing.assert_array_equal(orders[0], shuffle(np.arange(10), random_state=0))


@pytest.mark.catalogue("WF-05")
def test_preparation_inside_folds_equals_doing_it_by_hand():
    X, y = load_wine(return_X_y=True)
    folds = KFold(4, shuffle=True, random_state=0)
    told = cross_val_predict(make_pipeline(StandardScaler(), LogisticRegression()), X, y, cv=folds)
    for train, test in folds.split(X):
        scale = StandardScaler().fit(X[train])
        model = LogisticRegression().fit(scale.transform(X[train]), y[train])
        np.testing.assert_array_equal(told[test], model.predict(scale.transform(X[test])))


def test_the_rule_prefers_the_simpler_of_equals():
    scores = np.array([[0.70, 0.74, 0.72], [0.73, 0.71, 0.75], [0.5, 0.5, 0.5]])
    assert one_standard_error(scores, [2, 9, 1]) == 0
    assert one_standard_error(scores, [2, 9, 1], standard_error=0.0) == 1
    assert one_standard_error(scores, [2, 2, 2]) == 1
    text = "one_standard_error: complexity must have one entry per row of scores, 3; got 2."
    with pytest.raises(DataError, match=re.escape(text)):
        one_standard_error(scores, [1, 2])


def test_candidates_are_found_by_themselves_from_simple_to_complex():
    for task in ("classification", "regression", "clustering"):
        found = candidates(task)
        assert [one.rank for one in found] == sorted(one.rank for one in found)
        assert len({one.name for one in found}) == len(found)
    assert candidates("regression")[0].family == "baseline"
    text = "candidates: task must be one of 'classification', 'regression', 'clustering'; got 'magic'."
    with pytest.raises(ParameterError, match=re.escape(text)):
        candidates("magic")


class Witness(ClassifierMixin, BaseEstimator):
    """A classifier that notes the settings under which any copy of it is fitted."""

    def __init__(self, size=1):
        self.size = size

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        SEEN.append(sklearn.get_config()["transform_output"])
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


SEEN: list[str] = []


@pytest.mark.parametrize(
    "work",
    [
        lambda X, y: nested_cv(Witness(), X, y, space={"size": [1, 2]}, scoring="accuracy", n_jobs=4, random_state=0),
        lambda X, y: search_settings(Witness(), X, y, {"size": [1, 2, 3]}, scoring="accuracy", n_jobs=4),
        lambda X, y: score_by_rows(Witness(), X, y, scoring="accuracy", n_jobs=4, random_state=0),
    ],
    ids=["nested_cv", "search_settings", "score_by_rows"],
)
def test_fits_on_threads_see_the_settings_of_scikit_learn(work):
    SEEN.clear()
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    with sklearn.config_context(transform_output="polars"):
        work(X, y)
    assert len(SEEN) > 5
    assert set(SEEN) == {"polars"}


def test_paired_differences_see_a_lead_that_scores_hide():
    hard = np.array([0.6, 0.7, 0.8, 0.9])
    scores = np.stack([hard, hard + 0.02 + 0.001 * np.array([1, -1, 1, -1]), hard - 0.1])
    assert one_standard_error(scores, [1, 2, 0]) == 0
    assert choose_simplest(scores, [1, 2, 0], test_share=1 / 3) == 1
    # Lags of 0.02 with a standard deviation of 0.04: sqrt(1/4 + 1/3) * 0.04 > 0.02, so that the simpler one wins.
    unsure = np.stack([hard, hard + 0.02 + 0.0346 * np.array([1, -1, 1, -1])])
    assert choose_simplest(unsure, [1, 2], test_share=1 / 3) == 0
    assert choose_simplest([[0.5], [0.6]], [1, 2], test_share=1.0) == 1
    text = "choose_simplest: complexity must have one entry per row of scores, 3; got 2."
    with pytest.raises(DataError, match=re.escape(text)):
        choose_simplest(scores, [1, 2], test_share=1 / 3)


def test_no_candidate_is_chosen_that_is_more_complex_and_worse_than_another():
    signs = np.array([1, -1, 1, -1])
    best = np.full(4, 0.76)
    # Lags behind the best: 0.015 with certainty, and 0.03 within its standard error of sqrt(7/12) * 0.058 = 0.044.
    scores = np.stack([best - 0.015 + 0.001 * signs, best - 0.03 + 0.05 * signs, best])
    assert choose_simplest(scores[1:], [2, 3], test_share=1 / 3) == 0
    # The first one lags with certainty, and the second one is behind the first: the best one is left.
    assert choose_simplest(scores, [1, 2, 3], test_share=1 / 3) == 2
    # The second one is passed over only if the first one is simpler, and its rows are not worse.
    assert choose_simplest(scores, [4, 2, 3], test_share=1 / 3) == 1
    losses = np.array([[0.3, 0.3, 0.5], [0.3, 0.2, 0.4], [0.3, 0.3, 0.3]])
    assert choose_simplest(scores, [1, 2, 3], test_share=1 / 3, losses=losses) == 1
    assert choose_simplest(scores, [1, 2, 3], test_share=1 / 3, losses=losses[[1, 0, 2]]) == 2


@pytest.mark.fixed_seed("the spread of the losses decides how clear a difference of 0.1 is")
def test_losses_of_rows_overrule_a_lag_whose_standard_error_is_large():
    # One fold of five makes the lag of the simple candidate uncertain: 0.15 on average, with a standard error of 0.2.
    scores = np.array([[0.90, 0.90, 0.90, 0.20, 0.90], [0.91, 0.90, 0.91, 0.90, 0.91]])
    assert choose_simplest(scores, [1, 2], test_share=0.25) == 0
    random = np.random.default_rng(0)
    losses = random.random((2, 100))
    # Means differ by 0.1, with a standard error of sqrt(2.25 / 100 / 6) = 0.06.
    losses[0] += 0.1 + losses[1].mean() - losses[0].mean()
    assert find_outdone(losses, 1, 5, 0.25).tolist() == [True, False]
    assert choose_simplest(scores, [1, 2], test_share=0.25, losses=losses) == 1
    # By 0.05 it is not clearly worse; rows without a loss do not count, nor does a candidate without any.
    losses[0] -= 0.05
    assert choose_simplest(scores, [1, 2], test_share=0.25, losses=losses) == 0
    losses[0, 3:] = np.nan
    assert find_outdone(losses, 1, 5, 0.25).tolist() == [bool(_lags(losses[:, :3])), False]
    losses[0] = np.nan
    assert choose_simplest(scores, [1, 2], test_share=0.25, losses=losses) == 0


def _lags(losses):
    gap = losses[0] - losses[1]
    return gap.mean() > np.sqrt(2.25 / len(gap)) * gap.std(ddof=1)


def test_one_absurd_row_does_not_hide_that_a_candidate_is_worse_on_the_others():
    random = np.random.default_rng(0)
    losses = np.abs(random.normal(size=(2, 200)))
    losses[1] += 0.5
    losses[1, 3] = 1e6
    gap = losses[1] - losses[0]
    assert gap.mean() < gap.std(ddof=1) * np.sqrt(2 / 200), "the mean alone shows nothing"
    assert find_outdone(losses, 0, 5, 0.25).tolist() == [False, True]
    # A candidate that is far better on one row, and so in the mean, is not outdone.
    losses[1, 3], losses[0, 3] = 0.0, 1e6
    assert find_outdone(losses, 0, 5, 0.25).tolist() == [False, False]
