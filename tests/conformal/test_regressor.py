"""Intervals around regressors: what is promised, exact refits, and the ways to score."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge as SciKernelRidge
from sklearn.linear_model import Ridge as SciRidge
from sklearn.neighbors import KNeighborsRegressor as SciNeighbors

from mercer.conformal import ConformalRegressor, check_coverage
from mercer.ensemble import HistGradientBoostingRegressor
from mercer.errors import DataError, UnsupportedError
from mercer.kernel_ridge import KernelRidge
from mercer.linear_model import LinearRegression, QuantileRegressor, Ridge
from mercer.neighbors import KNeighborsRegressor


class Mean(RegressorMixin, BaseEstimator):
    """The quickest model there is, so that thousands of tables can be simulated."""

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def draw(n, seed, d=2):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1.0) + random.normal(size=n)


@pytest.mark.parametrize(
    ("method", "exact"),
    [("split", math.ceil(0.8 * 11) / 11), ("cv+", None), ("jackknife+", None), ("jackknife+-after-bootstrap", None)],
)
def test_new_values_are_held_as_often_as_promised(method, exact):
    random = np.random.default_rng(7)
    held = []
    for trial in range(300):
        y = random.standard_t(3, size=28)
        model = ConformalRegressor(Mean(), method=method, calibration_size=10, cv=4, n_resamples=12, random_state=trial)
        low, high = model.fit(np.zeros((20, 1)), y[:20]).predict_interval(np.zeros((1, 1)), 0.8)[0]
        held.append(np.mean((low <= y[20:]) & (y[20:] <= high)))
    error = 4 * np.std(held) / math.sqrt(len(held))
    if exact is None:
        assert np.mean(held) > 2 * 0.8 - 1 - error
        assert abs(np.mean(held) - 0.8) < 0.06 + error
    else:
        assert abs(np.mean(held) - exact) < error


def test_jackknife_plus_is_its_definition():
    X, y = draw(24, 1)
    new = draw(5, 2)[0]
    model = ConformalRegressor(Ridge(alpha=0.5), method="jackknife+").fit(X, y)
    lows, highs = [], []
    for i in range(24):
        others = np.delete(np.arange(24), i)
        left = SciRidge(alpha=0.5).fit(X[others], y[others])
        residual = abs(y[i] - left.predict(X[i : i + 1])[0])
        lows.append(left.predict(new) - residual)
        highs.append(left.predict(new) + residual)
    # (24 + 1) 0.8 = 20: the 20th smallest upper end, and the 20th largest lower one.
    expected = np.column_stack([np.sort(lows, axis=0)[-20], np.sort(highs, axis=0)[19]])
    np.testing.assert_allclose(model.predict_interval(new, 0.8), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "peer"),
    [
        (Ridge(alpha=2.0), SciRidge(alpha=2.0)),
        (LinearRegression(fit_intercept=False), SciRidge(alpha=1e-12, fit_intercept=False)),
        (KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5), SciKernelRidge(alpha=0.3, kernel="rbf", gamma=0.5)),
    ],
)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_full_conformal_intervals_are_those_of_refits_on_a_grid_of_candidates(model, peer, unit):
    X, y = draw(19, 3)
    new = draw(3, 4)[0]
    found = ConformalRegressor(model, method="full").fit(X, y * unit).predict_interval(new, 0.8) / unit
    for row, (low, high) in zip(new, found):
        both = np.vstack([X, row])

        def is_kept(candidate, both=both):
            targets = np.append(y, candidate)
            residuals = np.abs(targets - peer.fit(both, targets).predict(both))
            return (residuals >= residuals[-1] * (1 - 1e-9)).sum() / 20 > 0.2 + 1e-9

        width = high - low
        assert is_kept(low + 1e-3 * width)
        assert is_kept(high - 1e-3 * width)
        grid = np.concatenate(
            [np.linspace(low - width, low - 1e-3 * width, 20), high + np.linspace(1e-3, 1, 20) * width]
        )
        assert not any(is_kept(candidate) for candidate in grid)


def test_full_conformal_neighbours_follow_the_new_row_into_the_neighbourhoods():
    X, y = draw(29, 5)
    new = draw(4, 6)[0]
    found = ConformalRegressor(KNeighborsRegressor(4), method="full").fit(X, y).predict_interval(new, 0.9)
    for row, (low, high) in zip(new, found):
        both = np.vstack([X, row])
        index = SciNeighbors(4).fit(both, np.zeros(30)).kneighbors(return_distance=False)

        def is_kept(candidate, index=index):
            targets = np.append(y, candidate)
            residuals = np.abs(targets - targets[index].mean(axis=1))
            return (residuals >= residuals[-1] - 1e-12).sum() / 30 > 0.1 + 1e-9

        assert is_kept(low + 1e-6)
        assert is_kept(high - 1e-6)
        assert not is_kept(low - 1e-6)
        assert not is_kept(high + 1e-6)


def test_a_group_that_is_harder_to_predict_gets_its_own_width():
    random = np.random.default_rng(8)
    X = random.normal(size=(4000, 2))
    y = X[:, 0] + random.normal(size=4000) * np.where(X[:, 1] > 0, 3.0, 0.3)
    rough = X[2000:, 1] > 0
    plain = ConformalRegressor(Ridge(), random_state=0).fit(X[:2000], y[:2000])
    grouped = ConformalRegressor(Ridge(), condition=lambda X: X[:, 1] > 0, random_state=0).fit(X[:2000], y[:2000])
    scaled = ConformalRegressor(
        Ridge(), conformity="normalized", scale_estimator=HistGradientBoostingRegressor(), random_state=0
    ).fit(X[:2000], y[:2000])
    assert not check_coverage(y[2000:], plain.predict_interval(X[2000:]), groups=rough).groups[True].holds(0.9)
    for model in (grouped, scaled):
        measured = check_coverage(y[2000:], model.predict_interval(X[2000:]), groups=rough)
        # A group has some 250 rows to calibrate on and 1000 to measure: 4.5 standard errors of a share of 0.9.
        error = np.sqrt(0.09 * (1 / 250 + 1 / 1000))
        assert all(abs(one.coverage - 0.9) < 4.5 * error for one in measured.groups.values())


def test_quantile_scores_widen_or_shrink_predicted_quantiles():
    random = np.random.default_rng(9)
    X = random.uniform(0, 1, size=(1500, 1))
    y = random.normal(size=1500) * (0.2 + X[:, 0])
    model = ConformalRegressor(QuantileRegressor(alpha=0.0), conformity="quantile", coverage=0.8, random_state=0)
    intervals = model.fit(X[:1000], y[:1000]).predict_interval(X[1000:])
    assert abs(check_coverage(y[1000:], intervals).coverage - 0.8) < 0.07
    widths = intervals[:, 1] - intervals[:, 0]
    assert np.corrcoef(widths, X[1000:, 0])[0, 1] > 0.99


def test_a_known_shift_of_the_rows_is_corrected():
    random = np.random.default_rng(10)
    held = {True: [], False: []}
    for trial in range(60):
        X = random.uniform(size=(400, 1))
        y = random.normal(size=400) * (0.1 + X[:, 0])
        new = np.sqrt(random.uniform(size=(300, 1)))  # density 2 x
        truth = random.normal(size=300) * (0.1 + new[:, 0])
        for corrected in held:
            ratio = (lambda X: 2 * X[:, 0]) if corrected else None
            model = ConformalRegressor(Mean(), likelihood_ratio=ratio, random_state=trial).fit(X, y)
            held[corrected].append(check_coverage(truth, model.predict_interval(new, 0.8)).coverage)
    assert abs(np.mean(held[True]) - 0.805) < 4 * np.std(held[True]) / math.sqrt(60) + 0.005
    assert np.mean(held[False]) < 0.77


def test_a_frozen_model_is_calibrated_by_all_rows():
    X, y = draw(300, 11)
    peer = SciRidge().fit(X[:100], y[:100])
    model = ConformalRegressor(FrozenEstimator(peer)).fit(X[100:], y[100:])
    assert len(model.scores_) == 200
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    np.testing.assert_array_equal(model.scores_, np.abs(y[100:] - peer.predict(X[100:])))


def test_a_weight_of_two_counts_a_score_twice():
    X, y = draw(60, 12)
    peer = FrozenEstimator(SciRidge().fit(X, y))
    weight = np.random.default_rng(0).integers(1, 4, 60).astype(float)
    weighted = ConformalRegressor(peer).fit(X, y, sample_weight=weight)
    repeated = ConformalRegressor(peer).fit(np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int)))
    for coverage in (0.5, 0.9, 0.97):
        np.testing.assert_array_equal(weighted.predict_interval(X, coverage), repeated.predict_interval(X, coverage))


@pytest.mark.parametrize("method", ["split", "cv+", "full"])
def test_intervals_follow_the_units_of_the_targets(method):
    X, y = draw(80, 13)
    plain = ConformalRegressor(Ridge(), method=method, random_state=0).fit(X, y).predict_interval(X[:5])
    for unit in (1e-6, 1e6):
        moved = ConformalRegressor(Ridge(), method=method, random_state=0).fit(X, y * unit).predict_interval(X[:5])
        np.testing.assert_allclose(moved / unit, plain, rtol=1e-6)


def test_frames_keep_their_columns():
    X, y = draw(80, 14)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = ConformalRegressor(Ridge(), random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_allclose(
        model.predict_interval(frame), ConformalRegressor(Ridge(), random_state=0).fit(X, y).predict_interval(X)
    )


def test_too_few_scores_promise_everything():
    X, y = draw(12, 15)
    model = ConformalRegressor(Ridge(), calibration_size=4, random_state=0).fit(X, y)
    assert np.isinf(model.predict_interval(X, 0.9)).all()
    assert np.isfinite(model.predict_interval(X, 0.75)).all()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"method": "cv+", "conformity": "normalized"},
            UnsupportedError,
            "conformity='normalized' needs method='split'",
        ),
        ({"method": "full", "estimator": QuantileRegressor()}, UnsupportedError, "exact for LinearRegression, Ridge"),
        ({"calibration_size": 60}, DataError, "keeps 60 rows apart of n_samples=40"),
        ({"conformity": "quantile"}, ValueError, "needs an estimator with a parameter quantile; got Ridge"),
        ({"condition": lambda X: X}, DataError, "condition must return a value for each of"),
        ({"likelihood_ratio": lambda X: -X[:, 0]}, DataError, "finite numbers that are not negative"),
    ],
)
def test_what_cannot_be_promised_is_refused(options, error, text):
    X, y = draw(40, 16)
    with pytest.raises(error, match=text):
        ConformalRegressor(**{"random_state": 0} | options).fit(X, y).predict_interval(X)


def test_a_group_without_scores_is_refused():
    X, y = draw(40, 17)
    model = ConformalRegressor(condition=lambda X: X[:, 0] > 50, random_state=0).fit(X, y)
    with pytest.raises(DataError, match="no row kept for calibration is in the group"):
        model.predict_interval(X + 100.0)
