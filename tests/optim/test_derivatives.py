"""Derivatives by differences: their order, the complex step, the Hessian, and a check that finds wrong gradients."""

import numpy as np
import pytest

from mercer.errors import DataError, ParameterError
from mercer.optim import HIMMELBLAU, ROSENBROCK, check_gradient, numerical_gradient, numerical_hessian

PLACE = np.array([0.7, -1.3, 2.1])


def smooth(x):
    return np.exp(x[0]) * np.sin(x[1]) + x[2] ** 3 / (1.0 + x[0] ** 2)


def slope(x):
    return np.array([
        np.exp(x[0]) * np.sin(x[1]) - 2 * x[0] * x[2] ** 3 / (1 + x[0] ** 2) ** 2,
        np.exp(x[0]) * np.cos(x[1]),
        3 * x[2] ** 2 / (1 + x[0] ** 2),
    ])  # fmt: skip


@pytest.mark.catalogue("OP-14")
@pytest.mark.parametrize(("scheme", "order"), [("central", 2), ("forward", 1)])
def test_the_error_has_the_order_of_the_scheme(scheme, order):
    steps = np.array([1e-1, 1e-2, 1e-3])
    errors = [np.abs(numerical_gradient(smooth, PLACE, scheme=scheme, step=h) - slope(PLACE)).max() for h in steps]
    rates = np.diff(np.log(errors)) / np.diff(np.log(steps))
    np.testing.assert_allclose(rates, order, atol=0.15)


@pytest.mark.catalogue("OP-14")
def test_the_complex_step_is_exact_to_rounding_and_the_default_nearly_so():
    np.testing.assert_allclose(numerical_gradient(smooth, PLACE, scheme="complex"), slope(PLACE), rtol=1e-14)
    np.testing.assert_allclose(numerical_gradient(smooth, PLACE), slope(PLACE), rtol=1e-9)


@pytest.mark.catalogue("OP-14")
@pytest.mark.parametrize("surface", [ROSENBROCK, HIMMELBLAU], ids=lambda surface: surface.name)
def test_the_hessian_comes_from_values_or_better_from_gradients(surface):
    place, true = np.array([0.4, -0.9]), surface.hessian([0.4, -0.9])
    scale = np.abs(true).max()
    by_values, by_gradients = (
        numerical_hessian(surface, place),
        numerical_hessian(surface, place, grad=surface.gradient),
    )
    assert np.abs(by_values - true).max() < 1e-5 * scale
    assert np.abs(by_gradients - true).max() < 1e-8 * scale
    assert np.array_equal(by_values, by_values.T)


@pytest.mark.catalogue("OP-14")
@pytest.mark.parametrize(
    "wrong", [lambda g: -g, lambda g: 2 * g, lambda g: g + np.array([0, 1e-3, 0]), lambda g: g[::-1]]
)
def test_a_deliberately_wrong_gradient_is_found(wrong):
    assert check_gradient(smooth, slope, PLACE).passed
    report = check_gradient(smooth, lambda x: wrong(slope(x)), PLACE)
    assert not report.passed
    assert report.relative_error > 1e-4


@pytest.mark.catalogue("OP-14")
def test_the_report_names_the_worst_entry():
    report = check_gradient(smooth, lambda x: slope(x) + np.array([0.0, 0.0, 0.1]), PLACE, scheme="complex")
    assert report.worst == (2,)
    assert report.relative_error == pytest.approx(0.1 / np.abs(report.given).max())
    np.testing.assert_allclose(report.given - report.numerical, [0.0, 0.0, 0.1], atol=1e-12)


def test_large_and_tiny_places_and_any_shape():
    for size in (1e-9, 1.0, 1e9, 1e100):
        np.testing.assert_allclose(numerical_gradient(lambda x: x[0] ** 2, [size]), 2 * size, rtol=1e-6, atol=1e-9)
    matrix = np.array([[10.0, 2.0], [-3e-7, 0.0]])
    np.testing.assert_allclose(numerical_gradient(lambda x: np.sum(x**2), matrix), 2 * matrix, rtol=1e-7, atol=1e-8)
    kept = matrix.copy()
    numerical_gradient(lambda x: x.fill(0.0) or 0.0, matrix)
    assert np.array_equal(matrix, kept)


def test_errors_say_what_to_do():
    with pytest.raises(ParameterError, match=r"scheme must be one of 'central', 'forward', 'complex'; got 'backward'"):
        numerical_gradient(smooth, PLACE, scheme="backward")
    with pytest.raises(DataError, match=r"check_gradient: grad must return an array of shape \(3,\); got \(2,\)"):
        check_gradient(smooth, lambda x: x[:2], PLACE)
    with pytest.raises(DataError, match=r"x must have at least one dimension; got a single number\. Give \[x\]"):
        numerical_gradient(lambda x: x, 1.0)
