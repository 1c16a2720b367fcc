"""Coordinate descent and ascent, at every level and uncompiled."""

import importlib

import numpy
import pytest
import scipy.sparse

from mercer._solver.composite.dual_rows import list_row_arrays

REALS = [numpy.float64, numpy.float32]


@pytest.fixture
def coordinate(level):
    return importlib.import_module(f"mercer._native.{level}.coordinate")


@pytest.fixture
def dual_coordinate(level):
    return importlib.import_module(f"mercer._native.{level}.dual_coordinate")


def test_descent_ends_where_the_subgradient_holds_zero(coordinate):
    draw = numpy.random.default_rng(0)
    rows = draw.normal(size=(30, 7))
    H, start, slope = rows.T @ rows, draw.normal(size=7), draw.normal(size=7) * 20
    l1 = numpy.linspace(0.0, 40.0, 7)
    w, gradient = start.copy(), slope.copy()
    worst = coordinate.descend(H, l1, w, gradient, 1e-10, 10_000)
    assert worst <= 1e-10
    numpy.testing.assert_allclose(gradient, slope + H @ (w - start), rtol=1e-9, atol=1e-9)
    at_zero = w == 0
    assert 0 < at_zero.sum() < 7
    assert (numpy.abs(gradient[at_zero]) <= l1[at_zero] + 1e-8).all()
    numpy.testing.assert_allclose(gradient[~at_zero], -l1[~at_zero] * numpy.sign(w[~at_zero]), atol=1e-8)


def test_descent_leaves_a_coordinate_without_curvature_alone(coordinate):
    w, gradient = numpy.array([3.0, 5.0]), numpy.array([2.0, 1.0])
    coordinate.descend(numpy.diag([2.0, 0.0]), numpy.zeros(2), w, gradient, 0.0, 5)
    assert w.tolist() == [2.0, 5.0]
    assert gradient.tolist() == [0.0, 1.0]


SHAPES = {
    "logistic": (0.0, -1.0, -1.0, 0.0),
    "hinge": (0.0, 0.0, -1.0, 0.0),
    "squared hinge": (0.0, 0.5, -numpy.inf, 0.0),
    "epsilon-insensitive": (0.3, 0.0, -1.0, 1.0),
    "huber": (0.0, 1.0, -1.35, 1.35),
    "pinball": (0.0, 0.0, -0.2, 0.8),
}


def slope_range(m, shape):
    """Return the least and the largest slope of a loss at m, with a centre of zero."""
    tube, width, low, high = shape
    if width < 0:
        return (-1 / (1 + numpy.exp(m)),) * 2
    below, above = m + tube, m - tube
    if width > 0:
        slope = numpy.clip(below / width, low, 0) + numpy.clip(above / width, 0, high)
        return slope, slope
    return (low if below < 1e-9 else high if above > 1e-9 and high > 0 else 0.0), (
        high if above > -1e-9 and high > 0 else low if below < -1e-9 else 0.0
    )


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("loss", SHAPES)
def test_ascent_solves_each_coordinate_of_the_dual(dual_coordinate, real, loss):
    draw = numpy.random.default_rng(1)
    X = numpy.where(draw.uniform(size=(12, 9)) < 0.5, 0, draw.normal(size=(12, 9))).astype(real)
    sign, centre, factor = draw.choice([-1.0, 1.0], size=12), draw.normal(size=12), draw.uniform(0.1, 50.0, size=12)
    factor[4] = 0.0
    mean, constant, shape = draw.normal(size=9), 2.0, numpy.array(SHAPES[loss])
    rows = X.astype(float) - mean
    gram = rows @ rows.T + constant
    lift = constant + mean @ mean - X.astype(float) @ mean
    slopes = numpy.zeros(12) if loss != "logistic" else numpy.full(12, -0.25)

    def sums(slopes):
        g = -factor * sign * slopes
        v = g @ X.astype(float)
        return numpy.concatenate([v, [g.sum(), v @ mean, 0.7]])

    csr = scipy.sparse.csr_array(X)
    square, highest = numpy.diagonal(gram).copy(), constant + mean @ mean
    terms = dual_coordinate.Terms(sign, centre, factor, square, lift, shape, highest)
    for i in (0, 4, 11):
        for place in ("dense", "sparse"):
            found, w, kept = slopes.copy(), sums(slopes), numpy.empty(1, dtype=numpy.uint8)
            order = numpy.array([i], dtype=numpy.intp)
            arrays = list_row_arrays(X if place == "dense" else csr)
            dual_coordinate.ascend(*arrays, terms, order, numpy.inf, found, w, kept)
            numpy.testing.assert_allclose(w, sums(found), rtol=1e-9, atol=1e-9, err_msg=place)
            assert numpy.array_equal(numpy.delete(found, i), numpy.delete(slopes, i))
            if not factor[i]:
                assert found[i] == slopes[i]
                continue
            margin = sign[i] * (gram[i] @ (-factor * sign * found) + 0.7) - (centre[i] if loss != "logistic" else 0)
            low, high = slope_range(margin, SHAPES[loss])
            assert low - 1e-7 <= found[i] <= high + 1e-7, (place, margin)


def test_ascent_marks_settled_rows_and_reports_the_largest_violation(dual_coordinate):
    X, slopes, w = numpy.array([[3.0], [0.5], [-2.0]]), numpy.array([0.0, 0.0, -1.0]), numpy.array([1.0, 0, 0, 0])
    one, kept = numpy.ones(3), numpy.empty(3, dtype=numpy.uint8)
    shape = numpy.array([0.0, 0.0, -1.0, 0.0])
    terms = dual_coordinate.Terms(one, one, one * 1e-9, X[:, 0] ** 2, 0 * one, shape, 0.0)
    worst = dual_coordinate.ascend(*list_row_arrays(X), terms, numpy.arange(3), 1.0, slopes, w, kept)
    # The first is beyond the corner by 2 and the last before it by 3; the second lacks 0.5.
    assert worst == pytest.approx(0.5)
    assert kept.tolist() == [0, 1, 0]
