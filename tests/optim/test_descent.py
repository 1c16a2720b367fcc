"""Gradient descent: the factor per step, the regimes of learning rates, divergence with advice, pilot runs."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import DataError, ParameterError
from mercer.linear_model import LinearRegression
from mercer.optim import (
    Adam,
    ConstantRate,
    ExponentialDecay,
    GradientNorm,
    MaxIter,
    Momentum,
    Nesterov,
    PowerDecay,
    StepDecay,
    classify_learning_rate,
    minimize,
    pilot_learning_rates,
)


def descend(curvature, rate, start, n_steps, **options):
    h = np.asarray(curvature, dtype=float)
    return minimize(
        lambda x: 0.5 * float(h @ x**2), start, grad=lambda x: h * x, method="gradient_descent", learning_rate=rate,
        stop=MaxIter(n_steps), keep_path=True, **options,
    )  # fmt: skip


@pytest.mark.catalogue("OP-01")
def test_on_a_parabola_the_error_shrinks_by_one_minus_rate_times_curvature():
    result = descend([3.0, 0.5], 0.1, [2.0, -1.0], 10)
    factors = (1.0 - 0.1 * np.array([3.0, 0.5])) ** np.arange(11)[:, None]
    np.testing.assert_allclose(result.path, factors * [2.0, -1.0], rtol=1e-12)


@pytest.mark.catalogue("OP-01")
def test_descent_on_squares_finds_the_least_squares_solution():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(50, 3)), random.normal(size=50)
    result = minimize(
        lambda w: 0.5 * np.sum((X @ w - y) ** 2), np.zeros(3), grad=lambda w: X.T @ (X @ w - y),
        method="gradient_descent", learning_rate=0.01, stop=MaxIter(5000) | GradientNorm(1e-10),
    )  # fmt: skip
    np.testing.assert_allclose(result.x, LinearRegression(fit_intercept=False).fit(X, y).coef_, atol=1e-10)
    assert np.all(np.diff(result.history["objective"]) <= 1e-13)


@pytest.mark.catalogue("OP-02", "PL-17")
@pytest.mark.parametrize("h", [0.25, 2.0, 40.0])
def test_each_regime_does_what_its_name_says(h):
    def path(share):
        assert classify_learning_rate(share / h, h) == regime
        return descend([h], share / h, [1.0], 30).path[:, 0]

    regime = "monotone"
    steps = path(0.3)
    assert np.all(np.diff(steps) < 0)
    assert np.all(steps > 0)
    regime = "one step"
    assert abs(path(1.0)[1]) < 1e-15
    regime = "oscillating"
    steps = path(1.7)
    assert np.all(steps[1:] * steps[:-1] < 0)
    assert np.all(np.diff(np.abs(steps)) < 0)
    regime = "cycling"
    np.testing.assert_allclose(path(2.0), np.tile([1.0, -1.0], 16)[:31], atol=1e-12)
    regime = "diverging"
    assert np.all(np.diff(np.abs(path(2.2))) > 0)


@pytest.mark.catalogue("OP-02")
def test_the_largest_eigenvalue_decides_in_several_dimensions():
    H = np.array([[3.0, 1.0], [1.0, 3.0]])
    assert classify_learning_rate(0.2, H) == "monotone"
    assert classify_learning_rate(0.25, H) == "monotone"
    assert classify_learning_rate(0.25, 4.0 * np.eye(2)) == "one step"
    assert classify_learning_rate(0.45, H) == "oscillating"
    assert classify_learning_rate(0.55, H) == "diverging"
    with pytest.raises(DataError, match=r"curvature must be positive \(definite\); got -1"):
        classify_learning_rate(0.1, np.diag([1.0, -1.0]))


@pytest.mark.parametrize(
    ("method", "longest"),
    [("gradient_descent", 2.0), (Momentum, 2 * 1.9), (Nesterov, 3.8 / 2.8)],
)
def test_a_rate_that_diverges_ends_with_a_rate_that_does_not(method, longest):
    H = np.diag([1.0, 10.0])

    def go(rate):
        chosen = {"method": method, "learning_rate": rate} if isinstance(method, str) else {"method": method(rate)}
        return minimize(lambda x: 0.5 * x @ H @ x, [1.0, 1.0], grad=lambda x: H @ x, **chosen)

    assert go(0.95 * longest / 10.0).converged
    with pytest.warns(ConvergenceWarning, match=r"diverged at step \d+ with learning_rate=.* try learning_rate="):
        result = go(1.2 * longest / 10.0)
    assert result.reason == "diverged"
    assert result.certificate.kind == "none"
    assert result.value <= 0.5 * 11.0
    advice = float(result.message.split("try learning_rate=")[1].rstrip("."))
    assert advice == pytest.approx(0.5 * longest / 10.0, rel=0.1)
    assert go(advice).converged


def test_a_method_without_a_known_limit_advises_a_tenth():
    with pytest.warns(ConvergenceWarning, match=r"try learning_rate=1e\+03\."):
        minimize(lambda x: float(x @ x) ** 4, [1.0], grad=lambda x: 8 * x * float(x @ x) ** 3, method=Adam(1e4))


@pytest.mark.catalogue("OP-05")
def test_schedules_have_their_rates_and_say_which_conditions_they_meet():
    t = np.arange(1, 6)
    for schedule, rates, far, quiet in [
        (ConstantRate(0.3), np.full(5, 0.3), True, False),
        (PowerDecay(2.0), 2.0 / t, True, True),
        (PowerDecay(1.0, 0.6), t**-0.6, True, True),
        (PowerDecay(1.0, 0.5), t**-0.5, True, False),
        (PowerDecay(1.0, 1.1), t**-1.1, False, True),
        (ExponentialDecay(1.0, 0.5), 0.5 ** (t - 1), False, True),
        (StepDecay(1.0, 0.1, every=2), [1.0, 1.0, 0.1, 0.1, 0.01], False, True),
    ]:
        np.testing.assert_allclose([schedule(i) for i in t], rates)
        assert (schedule.reaches_everywhere, schedule.silences_noise) == (far, quiet)
        assert schedule.satisfies_robbins_monro == (far and quiet)
    with pytest.raises(ParameterError, match=r"PowerDecay: rate must be a number in \(0, inf\); got -1\."):
        PowerDecay(-1)


def test_a_schedule_sets_the_rate_of_each_step():
    result = descend([1.0], PowerDecay(0.5), [1.0], 4)
    np.testing.assert_allclose(result.history["learning_rate"], [0.5, 0.25, 0.5 / 3, 0.125])
    np.testing.assert_allclose(result.path[:, 0], np.cumprod([1.0, 0.5, 0.75, 1 - 0.5 / 3, 0.875]))


@pytest.mark.catalogue("OP-21")
@pytest.mark.parametrize("seed", range(5))
def test_the_pilot_finds_the_largest_stable_rate_within_one_step_of_the_grid(seed):
    random = np.random.default_rng(seed)
    B = random.normal(size=(5, 5))
    H = B @ B.T + 0.1 * np.eye(5)
    limit = 2.0 / np.linalg.eigvalsh(H)[-1]
    rates = np.logspace(-5, 1, 25)
    pilot = pilot_learning_rates(
        lambda x: 0.5 * x @ H @ x, random.normal(size=5), grad=lambda x: H @ x, learning_rates=rates
    )
    assert pilot.largest_stable < limit
    assert rates[np.searchsorted(rates, pilot.largest_stable) + 1] >= limit
    assert np.array_equal(pilot.stable, rates < limit)
    assert pilot.best in rates
    assert pilot.values[-1] == np.inf


@pytest.mark.catalogue("OP-21")
def test_the_pilot_runs_on_a_seeded_part_of_the_samples():
    samples = np.random.default_rng(0).normal(size=1000)
    asked = []

    def fun(x, rows):
        asked.append(rows)
        return 0.5 * np.mean((x - samples[rows]) ** 2)

    def go(seed):
        return pilot_learning_rates(
            fun, [5.0], grad=lambda x, rows: np.mean(x - samples[rows], keepdims=True), n_samples=1000, subsample=50,
            random_state=seed,
        )  # fmt: skip

    first, again = go(0), go(0)
    assert {len(rows) for rows in asked} == {50}
    assert len(np.unique(asked[0])) == 50
    assert np.array_equal(first.values, again.values)
    assert 1.0 < first.largest_stable < 2.0
    with pytest.raises(ParameterError, match="subsample needs n_samples"):
        pilot_learning_rates(lambda x: x @ x, [1.0], subsample=5)
