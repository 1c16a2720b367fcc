"""The line search on functions with one sharp bend, where cubics through both ends mislead it."""

import numpy as np
import pytest

from mercer._solver.line_search import search


class _Place:
    def __init__(self, x, objective, gradient):
        self.parameters, self.objective, self.gradient = x, objective, gradient


class _Function:
    """A function of one variable, evaluated and counted."""

    def __init__(self, value, slope):
        self.value, self.slope, self.calls = value, slope, 0

    def evaluate(self, x):
        self.calls += 1
        yield
        return _Place(x, float(self.value(x[0])), np.array([self.slope(x[0])]))


def run(generator):
    try:
        while True:
            next(generator)
    except StopIteration as done:
        return done.value


@pytest.mark.catalogue("LM-14")
@pytest.mark.parametrize("length", [1.0, 1e3, 1e9, 1e15])
def test_a_step_that_is_far_too_long_is_cut_in_a_few_trials(length):
    """log(1 + e^-s) + log(1 + e^(s - 5)) along a direction of any length: two straight lines and a bend between."""
    value = lambda s: np.logaddexp(0, -s) + np.logaddexp(0, s - 5)  # noqa: E731
    slope = lambda s: -1 / (1 + np.exp(s)) + 1 / (1 + np.exp(np.minimum(5 - s, 700.0)))  # noqa: E731
    with np.errstate(over="ignore"):
        function = _Function(value, slope)
        start = _Place(np.array([-30.0]), float(value(-30.0)), np.array([slope(-30.0)]))
        found = run(search(function, start, np.array([length])))
    assert found is not None
    assert found.objective < 3.0
    assert function.calls <= 12
