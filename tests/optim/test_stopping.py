"""Stopping rules: each fires alone, is named in the result, joins with others; early stopping keeps the best."""

import time

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.optim import (
    ROSENBROCK,
    GradientNorm,
    MaxIter,
    MaxTime,
    NoImprovement,
    SmallChange,
    SmallStep,
    StopRule,
    TargetValue,
    minimize,
    minimize_stochastic,
)


def descend(stop, fun=ROSENBROCK, grad=ROSENBROCK.gradient):
    return minimize(fun, [-1.2, 1.0], grad=grad, method="gradient_descent", learning_rate=1e-3, stop=stop)


@pytest.mark.catalogue("OP-13")
@pytest.mark.parametrize(
    ("rule", "name", "converged"),
    [
        (MaxIter(17), "MaxIter(17)", False),
        (GradientNorm(1.0), "GradientNorm(1)", True),
        (SmallChange(1e-3), "SmallChange(0.001, 1)", True),
        (SmallStep(1e-3), "SmallStep(0.001)", True),
        (TargetValue(1.5), "TargetValue(1.5)", True),
    ],
)
def test_each_rule_fires_alone_and_is_named(rule, name, converged):
    result = descend(rule)
    assert (result.reason, result.converged) == (name, converged)
    assert result.message == f"minimize: ended by {name} after {result.n_iter} steps."
    history = result.history
    measure, limit = {
        "MaxIter(17)": (17 - history["step"] - 1, 0),
        "GradientNorm(1)": (history["gradient_norm"], 1.0),
        "SmallChange(0.001, 1)": (
            np.append(np.inf, np.abs(np.diff(history["objective"])) / np.maximum(1, history["objective"][1:])), 1e-3,
        ),
        "SmallStep(0.001)": (history["step_norm"], 1e-3),
        "TargetValue(1.5)": (history["objective"], 1.5),
    }[name]  # fmt: skip
    assert np.all(measure[:-1] > limit)
    assert measure[-1] <= limit


@pytest.mark.catalogue("OP-13")
def test_a_time_limit_fires_and_counts_from_the_start_of_each_run(monkeypatch):
    now = [0.0]

    def slow(x):
        now[0] += 0.01
        return ROSENBROCK(x)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    rule = MaxTime(0.1)
    for _ in range(2):
        result = descend(rule, fun=slow)
        assert result.reason == "MaxTime(0.1)"
        assert not result.converged
        assert 3 <= result.n_iter <= 12
        assert result.history["seconds"][-1] >= 0.09


@pytest.mark.catalogue("OP-13")
def test_rules_join_by_or_and_and():
    either = descend(MaxIter(1000) | GradientNorm(1.0) | MaxTime(60))
    assert either.reason == "GradientNorm(1)"
    both = descend(MaxIter(5) & TargetValue(4.1))
    assert both.reason == "MaxIter(5) and TargetValue(4.1)"
    assert both.converged
    assert both.n_iter >= 5
    assert both.value <= 4.1
    together = descend(MaxIter(17) | (MaxIter(17) & TargetValue(100.0)))
    assert together.reason == "MaxIter(17) and MaxIter(17) and TargetValue(100)"
    assert repr(MaxIter(3) | MaxTime(2) & TargetValue(0)) == "(MaxIter(3) | (MaxTime(2) & TargetValue(0)))"


def test_a_rule_of_ones_own_is_as_good():
    class NearOne(StopRule):
        converges = True

        def holds(self, number, step):
            return abs(step.state.x[0] - 1.0) < 0.5

    result = descend(NearOne() | MaxIter(10_000))
    assert result.reason == "NearOne()"
    assert abs(result.x[0] - 1.0) < 0.5


def test_patience_asks_for_several_small_changes_in_a_row():
    values = iter([1.0, 0.5, 0.5, 0.4, 0.4, 0.4, 0.4])
    stop = SmallChange(1e-6, patience=2) | MaxIter(6)
    result = minimize(lambda x: next(values), [0.0], grad=lambda x: np.ones(1), method="gradient_descent", stop=stop)
    assert result.reason == "SmallChange(1e-06, 2)"
    assert result.n_iter == 5


@pytest.mark.catalogue("OP-19", "PL-22")
def test_early_stopping_returns_the_least_validation_error():
    random = np.random.default_rng(0)
    X, X_val = random.normal(size=(25, 20)), random.normal(size=(200, 20))
    truth = np.append(np.ones(3), np.zeros(17))
    y, y_val = X @ truth + 4.0 * random.normal(size=25), X_val @ truth + random.normal(size=200)

    def loss(w):
        return 0.5 * np.mean((X @ w - y) ** 2)

    def error(w):
        return 0.5 * np.mean((X_val @ w - y_val) ** 2)

    watch = NoImprovement(error, patience=20)
    arguments = {"grad": lambda w: X.T @ (X @ w - y) / 25, "method": "gradient_descent", "learning_rate": 0.05}
    result = minimize(loss, np.zeros(20), stop=watch | MaxIter(2000), keep_path=True, **arguments)
    assert result.reason == "NoImprovement(20, 0)"
    assert not result.converged
    assert error(result.x) == min(watch.errors_)
    assert watch.best_step_ == np.argmin(watch.errors_) == result.n_iter - 21
    assert np.array_equal(result.x, result.path[watch.best_step_ + 1])
    assert result.value == loss(result.x) >= result.history["objective"][-1]
    longer = minimize(loss, np.zeros(20), stop=MaxIter(2000), **arguments)
    assert error(longer.x) > error(result.x)


def test_a_rule_without_its_measure_says_so():
    with pytest.raises(ParameterError, match=r"GradientNorm\(0.1\) needs the measure 'gradient_norm', which"):
        minimize_stochastic(lambda x, rows: float(x @ x), [1.0], n_samples=4, stop=GradientNorm(0.1))
    with pytest.raises(ParameterError, match=r"stop: rules join with rules of mercer\.optim; got 5\."):
        MaxIter(3) | 5
