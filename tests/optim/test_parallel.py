"""Gradients summed over workers: those of one worker, bit for bit, and no cure for bad conditioning."""

import re

import numpy as np
import pytest
from scipy.special import expit

from mercer.errors import DataError, ParameterError
from mercer.objectives import L2, Logistic
from mercer.optim import MaxIter, RowObjective, check_gradient, minimize, sum_gradient

X = np.random.default_rng(0).normal(size=(10_007, 5)) * [1.0, 30.0, 0.1, 1.0, 1.0]
Y = np.where(X[:, 0] + np.random.default_rng(1).normal(size=len(X)) > 0.7, 1, -1)


def logistic(w, rows):
    """Return the sum of the gradients of log(1 + exp(-y x . w)), for labels -1 and 1."""
    z = Y[rows] * (X[rows] @ w)
    return -X[rows].T @ (Y[rows] * expit(-z))


@pytest.mark.catalogue("WF-10")
@pytest.mark.parametrize("rows", [len(X), np.arange(3, 9000, 7), [17]])
@pytest.mark.parametrize("block_size", [1, 64, 100_000])
def test_the_sum_over_workers_is_that_of_one_worker_bit_for_bit(rows, block_size):
    if block_size == 1 and not np.ndim(rows):
        rows = 900
    w = np.random.default_rng(2).normal(size=5)
    alone, *shared = (sum_gradient(logistic, w, rows, n_workers=n, block_size=block_size) for n in (1, 2, 5))
    for found in shared:
        np.testing.assert_array_equal(found.gradient, alone.gradient)
    chosen = np.arange(rows) if not np.ndim(rows) else np.asarray(rows)
    np.testing.assert_allclose(alone.gradient, logistic(w, chosen), rtol=1e-10)
    assert alone.n_blocks == -(-len(chosen) // block_size)


@pytest.mark.catalogue("WF-10")
def test_it_is_the_gradient_of_the_objective_and_of_differences():
    w = np.random.default_rng(2).normal(size=5) * [1.0, 0.05, 1.0, 1.0, 1.0]
    whole = sum_gradient(logistic, w, len(X), n_workers=3)
    objective = RowObjective(Logistic(), X, (Y == 1).astype(float), penalty=0.3 * L2(), fit_intercept=False)
    np.testing.assert_allclose(whole.gradient / len(X) + 0.3 * w, objective.gradient(w), rtol=1e-10)
    for n_jobs in (1, 2, 5):
        other = RowObjective(
            Logistic(), X, (Y == 1).astype(float), penalty=0.3 * L2(), fit_intercept=False, n_jobs=n_jobs
        )
        np.testing.assert_array_equal(other.gradient(w), objective.gradient(w))
    check = check_gradient(objective, objective.gradient, w)
    assert check.passed
    wrong = check_gradient(objective, lambda w: objective.gradient(w) - 0.3 * w, w)
    assert not wrong.passed


@pytest.mark.catalogue("WF-10")
def test_workers_leave_the_number_of_steps_as_it_is():
    scales = np.logspace(0, 1, 5)

    def steps(n_workers, conditioned):
        Z = X / X.std(axis=0) * (scales if conditioned else 1.0)

        def grad(w):
            part = sum_gradient(lambda w, rows: Z[rows].T @ (Z[rows] @ w - Y[rows]), w, 2000, n_workers=n_workers)
            return part.gradient / 2000

        def value(w):
            return 0.5 * np.mean((Z[:2000] @ w - Y[:2000]) ** 2)

        rate = 1.0 / np.linalg.norm(Z[:2000].T @ Z[:2000] / 2000, 2)
        method = {"method": "gradient_descent", "learning_rate": rate}
        result = minimize(value, np.zeros(5), grad=grad, stop=_rule(), **method)
        return result.n_iter, result.x

    (bad, at), (bad_shared, at_shared) = steps(1, True), steps(4, True)
    assert bad == bad_shared
    np.testing.assert_array_equal(at, at_shared)
    assert bad > 10 * steps(4, False)[0]


def _rule():
    from mercer.optim import GradientNorm

    return GradientNorm(1e-3) | MaxIter(5000)


@pytest.mark.catalogue("WF-10")
def test_the_overhead_is_what_workers_do_not_spend_in_gradients():
    now = [0.0]

    def clock():
        return now[0]

    def grad(w, rows):
        now[0] += 3.0  # three seconds of work in each block
        return np.ones(1)

    def add_then_sum(w, rows):
        return grad(w, rows)

    found = sum_gradient(add_then_sum, [0.0], 4, block_size=1, clock=clock)
    assert (found.seconds, found.work_seconds, found.overhead) == (12.0, 12.0, 0.0)
    idle = sum_gradient(lambda w, rows: np.ones(1), [0.0], 4, n_workers=2, clock=iter(np.arange(100.0)).__next__)
    # The clock ticks at every look: begin 0, block 1 to 2, end 3; two workers had six seconds and worked one.
    assert idle.overhead == pytest.approx(1 - 1 / 6)
    assert idle.gradient.tolist() == [1.0]


def test_what_cannot_be_divided_is_refused():
    with pytest.raises(ParameterError, match=re.escape("n_workers must be an integer in [1, inf); got 0")):
        sum_gradient(logistic, np.zeros(5), 10, n_workers=0)
    with pytest.raises(DataError, match="rows must be a positive number of rows, or their indices"):
        sum_gradient(logistic, np.zeros(5), [])
    with pytest.raises(ZeroDivisionError):
        sum_gradient(lambda w, rows: 1 / 0, [0.0], 3, n_workers=2, block_size=1)
