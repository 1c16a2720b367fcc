"""Newton steps of logistic regression on few rows: optimality, the gap against its definition, and bits."""

import importlib

import numpy
import pytest

from mercer._objective import ElasticNetPenalty, Logistic
from mercer._solver.linear_problem import LinearProblem
from mercer._statistic.class_moments import LabelledMoments
from mercer._statistic.loss import LossSums


@pytest.fixture
def logistic_steps(level):
    return importlib.import_module(f"mercer._native.{level}.logistic_steps")


def rows(seed=0):
    draw = numpy.random.default_rng(seed)
    X = draw.normal(size=(24, 3)) * [1.0, 3.0, 0.2]
    y = (X[:, 0] + draw.normal(size=24) > 0.5).astype(float)
    weight = draw.uniform(0.5, 2.0, size=24)
    return X, y, weight / weight.sum()


def make(logistic_steps, strength=0.05, intercept=True, start=(0.0, 0.0, 0.0, 0.0)):
    X, y, share = given = rows()
    l2 = numpy.array([strength] * 3 + [0.0])
    moments = (share @ X, (share * y) @ X, float(share @ y))
    rules, limits = (intercept, intercept, strength > 0), (1e-9, 1e-9 if strength else numpy.inf)
    # Contents of scratch must not matter.
    shapes = ((24, 4), (24,), (4,), (4,), (4,), (1, 4), (4, 4))
    room = [numpy.full(shape, numpy.nan) for shape in shapes]
    current = numpy.array(start)
    return logistic_steps.Machine(given, moments, l2, rules, limits, current, room), given, l2, current


def differentiate(given, l2, w):
    """Return J and its gradient, written out."""
    X, y, share = given
    z = X @ w[:3] + w[3]
    p = 1.0 / (1.0 + numpy.exp(-z))
    value = share @ (numpy.logaddexp(0.0, z) - y * z) + 0.5 * l2 @ w**2
    return value, numpy.append((share * (p - y)) @ X, share @ (p - y)) + l2 * w


@pytest.mark.parametrize("strength", [0.05, 1.0, 0.0])
def test_the_gradient_vanishes_where_the_steps_end(logistic_steps, strength):
    machine, given, l2, current = make(logistic_steps, strength)
    record = numpy.empty((50, 3))
    done = logistic_steps.run_steps(machine, record)
    value, gradient = differentiate(given, l2, current)
    assert machine.solved
    assert not machine.odd
    assert numpy.abs(gradient).max() <= 1e-9
    assert machine.objective == record[done - 1, 0] == pytest.approx(value, rel=1e-13)
    assert (numpy.diff(record[:done, 0]) <= 0).all()


def test_without_an_intercept_the_last_parameter_stays_zero(logistic_steps):
    machine, given, l2, current = make(logistic_steps, intercept=False)
    logistic_steps.run_steps(machine, numpy.empty((50, 3)))
    assert machine.solved
    assert current[3] == 0.0
    assert numpy.abs(differentiate(given, l2, current)[1][:3]).max() <= 1e-9


@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0, 0.0), (0.3, -0.2, 1.0, 0.7), (-2.0, 0.5, 0.1, -3.0)])
def test_the_gap_is_that_of_the_problem(logistic_steps, start):
    machine, (X, y, share), l2, current = make(logistic_steps, start=start)
    logistic_steps.run_steps(machine, numpy.empty((0, 3)))
    problem = LinearProblem(Logistic(), ElasticNetPenalty(numpy.zeros(4), l2), 1.0, True, 1e-9)
    value, gradient = differentiate((X, y, share), 0.0 * l2, current)
    point = problem.read(current[None], LossSums(value, gradient[None]))
    moments = LabelledMoments(share @ X, numpy.array([share @ y]), ((share * y) @ X)[None], numpy.zeros((3, 3)))
    assert machine.gap == pytest.approx(problem.gap(point, moments), rel=1e-10)


def test_steps_one_at_a_time_give_the_same_bits_as_all_in_one_call(logistic_steps):
    whole, _, _, current = make(logistic_steps)
    record = numpy.empty((50, 3))
    done = logistic_steps.run_steps(whole, record)
    single, _, _, other = make(logistic_steps)
    taken = 0
    while not single.solved:
        row = numpy.empty((1, 3))
        if logistic_steps.run_steps(single, row):
            assert (row[0] == record[taken]).all()
            taken += 1
    assert taken == done
    assert (other == current).all()


def test_a_whole_step_that_overshoots_is_left_to_the_caller(logistic_steps):
    machine, _, _, current = make(logistic_steps, strength=1e-6, start=(40.0, -40.0, 40.0, 40.0))
    before = current.copy()
    assert logistic_steps.run_steps(machine, numpy.empty((50, 3))) == 0
    assert machine.odd
    assert (current == before).all()
