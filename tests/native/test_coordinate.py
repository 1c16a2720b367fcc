"""Coordinate descent and ascent, at every level and uncompiled."""

import importlib

import numpy
import pytest
import scipy.sparse

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


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("scale", [0.0, 1.5])
def test_ascent_solves_each_coordinate_of_the_dual(dual_coordinate, real, scale):
    draw = numpy.random.default_rng(1)
    X = numpy.where(draw.uniform(size=(12, 9)) < 0.5, 0, draw.normal(size=(12, 9))).astype(real)
    y, bound = draw.choice([-1.0, 1.0], size=12), draw.uniform(0.1, 50.0, size=12)
    bound[4] = 0.0
    rows = numpy.column_stack([X.astype(float), numpy.full(12, scale)])
    logits = draw.normal(size=12) * 5

    def weigh(logits):
        dual = y * bound / (1 + numpy.exp(-logits))
        return rows.T @ dual * numpy.append(numpy.ones(9), scale)

    csr = scipy.sparse.csr_array(X)
    visit = {
        "dense": lambda *rest: dual_coordinate.logistic_dual(X, *rest),
        "sparse": lambda *rest: dual_coordinate.logistic_dual_sparse(csr.data, csr.indices, csr.indptr, *rest),
    }
    for i in (0, 4, 11):
        for place, ascend in visit.items():
            found, w = logits.copy(), weigh(logits)
            ascend(y, bound, numpy.array([i], dtype=numpy.intp), scale, found, w)
            numpy.testing.assert_allclose(w, weigh(found), rtol=1e-9, atol=1e-9, err_msg=place)
            assert numpy.array_equal(numpy.delete(found, i), numpy.delete(logits, i))
            # At the coordinate's maximum its logit is minus the margin; a bound of zero has no coordinate to move.
            score = X[i].astype(float) @ w[:-1] + w[-1]
            expected = -y[i] * score if bound[i] else logits[i]
            assert found[i] == pytest.approx(expected, abs=1e-8), place
