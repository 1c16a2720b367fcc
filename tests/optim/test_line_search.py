"""Line searches: parabolas are exact on a parabola, nothing is worse than the start, Wolfe's conditions hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.errors import ParameterError
from mercer.optim import parabola_search, wolfe_search

numbers = st.floats(-50.0, 50.0, allow_nan=False)


@pytest.mark.catalogue("OP-12")
@given(minimum=numbers, bend=st.floats(1e-3, 1e3), level=st.floats(-10, 10), first=st.floats(0.01, 10.0))
@settings(max_examples=60, deadline=None)
def test_one_fit_is_exact_on_a_parabola(minimum, bend, level, first):
    line = parabola_search(lambda x: bend * (x[0] - minimum) ** 2 + level, [0.0], [1.0], first=first)
    assert line.value <= level + 1e-9 * (1.0 + bend * minimum**2)
    assert line.step == pytest.approx(minimum, abs=1e-5 * max(1.0, abs(minimum)))


@pytest.mark.catalogue("OP-12")
@pytest.mark.parametrize("first", [0.1, 1.0, 7.0, -1.0])
def test_a_parabola_needs_one_fit(first):
    line = parabola_search(lambda x: 2.0 * (x[0] - 3.0) ** 2, [0.0], [1.0], first=first)
    assert line.step == pytest.approx(3.0, rel=1e-12)
    assert line.n_fits == 1


@pytest.mark.catalogue("OP-12")
@given(weights=st.lists(numbers, min_size=4, max_size=4), first=st.floats(0.01, 10.0))
@settings(max_examples=60, deadline=None)
def test_nothing_returned_is_worse_than_the_start(weights, first):
    a, b, c, d = weights

    def wavy(x):
        return a * np.sin(x[0]) + b * np.cos(3.0 * x[0]) + 0.1 * c * x[0] + 0.01 * abs(d) * x[0] ** 2

    line = parabola_search(wavy, [0.5], [1.0], first=first)
    assert line.value <= wavy(np.array([0.5]))
    assert line.value == pytest.approx(wavy(np.array([0.5 + line.step])), abs=1e-12)


@pytest.mark.catalogue("OP-12")
@pytest.mark.parametrize(
    ("function", "minimum"),
    [
        (lambda x: abs(x[0] - 2.0), 2.0),
        (lambda x: (x[0] - 2.0) ** 4, 2.0),
        (lambda x: np.cosh(x[0] - 1.0), 1.0),
        (lambda x: np.inf if x[0] > 1.0 else (x[0] - 0.9) ** 2, 0.9),
        (lambda x: -np.exp(-((x[0] - 5.0) ** 2)), 5.0),
    ],
)
def test_it_finds_minima_that_are_no_parabolas(function, minimum):
    line = parabola_search(function, [0.0], [1.0])
    assert line.step == pytest.approx(minimum, abs=2e-3)
    assert line.n_evaluations <= 100


def test_a_function_that_falls_for_ever_returns_its_lowest_point():
    line = parabola_search(lambda x: -x[0], [0.0], [1.0], max_iter=20)
    assert line.n_evaluations == 20
    assert line.value == -line.step < -100.0


@given(minimum=st.floats(0.05, 50.0), power=st.sampled_from([2, 4]), flatness=st.sampled_from([1e-6, 0.1, 0.9]))
@settings(max_examples=60, deadline=None)
def test_the_strong_wolfe_conditions_hold(minimum, power, flatness):
    def value(x):
        return (x[0] - minimum) ** power

    def slope(x):
        return power * (x - minimum) ** (power - 1)

    line = wolfe_search(value, [0.0], [1.0], grad=slope, flatness=flatness)
    start = float(slope(np.zeros(1))[0])
    assert line.value <= minimum**power + 1e-4 * line.step * start
    assert abs(float(slope(np.array([line.step]))[0])) <= flatness * abs(start) * (1 + 1e-9)


def test_a_direction_that_rises_gives_nothing():
    assert wolfe_search(lambda x: x @ x, [1.0], [1.0], grad=lambda x: 2 * x) is None


def test_a_first_step_of_nothing_is_refused():
    with pytest.raises(ParameterError, match=r"parabola_search: first must not be zero; got 0\."):
        parabola_search(lambda x: x @ x, [1.0], [1.0], first=0.0)
