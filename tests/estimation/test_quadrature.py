"""Integrals over boxes: exact for polynomials, careful at kinks, honest about what does not settle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf

from mercer.errors import DataError
from mercer.estimation import integrate_box


@pytest.mark.parametrize("degree", range(8))
def test_polynomials_are_exact_at_once(degree):
    found = integrate_box(lambda x: x[:, 0] ** degree, [-1.0], [2.0])
    assert found.value == pytest.approx((2 ** (degree + 1) - (-1) ** (degree + 1)) / (degree + 1), rel=1e-13)
    assert found.n_points == 64 * 3 * 5


@settings(max_examples=60, deadline=None)
@given(st.floats(0.001, 0.999), st.floats(0.1, 5.0))
def test_kinks_cost_digits_nowhere(place, slope):
    found = integrate_box(lambda x: slope * np.abs(x[:, 0] - place), [0.0], [1.0])
    exact = slope * (place**2 + (1 - place) ** 2) / 2
    assert found.value == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_gaussians_of_several_dimensions(d):
    found = integrate_box(lambda x: np.exp(-np.square(x).sum(axis=1)), [-2.0] * d, [3.0] * d, tol=1e-7)
    one = np.sqrt(np.pi) / 2 * (erf(3) + erf(2))
    assert found.value == pytest.approx(one**d, rel=1e-7)
    assert found.error <= 1e-7 * found.value


def test_integrable_singularities_at_an_end_are_found_and_others_are_told_by_their_error():
    root = integrate_box(lambda x: x[:, 0] ** -0.5, [0.0], [1.0])
    assert root.value == pytest.approx(2.0, rel=1e-6)
    pole = integrate_box(lambda x: 1 / x[:, 0], [0.0], [1.0])
    assert pole.error > 0.1


@pytest.mark.parametrize(
    ("low", "high"), [([0.0], [0.0]), ([0.0], [np.inf]), ([0.0] * 4, [1.0] * 4), ([0.0], [1.0, 2.0])]
)
def test_boxes_that_are_none_are_refused(low, high):
    with pytest.raises(DataError, match="limits must be finite, low below high, in one to three dimensions"):
        integrate_box(lambda x: x[:, 0], low, high)


def test_integrands_that_are_not_finite_are_refused():
    with np.errstate(divide="ignore"), pytest.raises(DataError, match="must be finite inside the limits"):
        integrate_box(lambda x: 1 / (x[:, 0] - 0.5), [0.0], [1.0], subject="this")
