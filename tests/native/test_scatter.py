"""Scatter matrices of one block: centred, weighted, with further columns, at every level."""

import importlib

import numpy
import pytest

REALS = [numpy.float64, numpy.float32]
SHAPES = [(1, 1, 0), (3, 2, 1), (128, 4, 0), (129, 16, 1), (300, 17, 3), (257, 33, 0), (100, 40, 8)]
EMPTY = numpy.empty(0)


@pytest.fixture
def scatter(level):
    return importlib.import_module(f"mercer._native.{level}.scatter")


def draw(n, d, k, real):
    generator = numpy.random.default_rng(n + d + k)
    X = generator.normal(3, 1, size=(n, d)).astype(real)
    return X, generator.normal(size=(n, k)), generator.normal(3, 1, size=d + k), generator.random(n)


def sums_of(scatter, X, Y, shift, root):
    width = X.shape[1] + Y.shape[1]
    sums = numpy.zeros((scatter.padded_width(width),) * 2)
    packed = numpy.full(scatter.packed_size(width), numpy.nan)
    scatter.add_scatter(X, Y, shift, root, packed, sums)
    return sums


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_the_definition(scatter, real, shape, weighted):
    X, Y, shift, weight = draw(*shape, real)
    rows = numpy.c_[X.astype(float), Y] - shift
    root = numpy.sqrt(weight) if weighted else EMPTY
    expected = (rows * weight[:, None] if weighted else rows).T @ rows
    sums = sums_of(scatter, X, Y, shift, root)
    full = numpy.empty((len(shift),) * 2)
    scatter.unfold(sums, full)
    numpy.testing.assert_allclose(full, expected, rtol=1e-11, atol=1e-11 * shape[0])
    numpy.testing.assert_array_equal(full, full.T)


def test_what_was_there_is_added_to(scatter):
    X, Y, shift, _ = draw(200, 5, 0, float)
    width = scatter.padded_width(5)
    sums, packed = numpy.zeros((width, width)), numpy.empty(scatter.packed_size(5))
    for _ in range(2):
        scatter.add_scatter(X, Y, shift, EMPTY, packed, sums)
    once = sums_of(scatter, X, Y, shift, EMPTY)
    numpy.testing.assert_allclose(numpy.triu(sums[:5, :5]), 2 * numpy.triu(once[:5, :5]), rtol=1e-12)


@pytest.mark.parametrize("real", REALS)
def test_column_sums_are_weighted_and_taken_in_float64(scatter, real):
    X, _, _, weight = draw(1000, 7, 0, real)
    for weights, expected in ((EMPTY, X.astype(float).sum(axis=0)), (weight, weight @ X.astype(float))):
        out = numpy.zeros(7)
        scatter.column_sums(X, weights, out)
        numpy.testing.assert_allclose(out, expected, rtol=1e-12)


def test_nan_reaches_the_sums_of_its_column_and_no_other(scatter):
    X, Y, shift, _ = draw(300, 20, 0, float)
    X[7, 3] = numpy.nan
    full = numpy.empty((20, 20))
    scatter.unfold(sums_of(scatter, X, Y, shift, EMPTY), full)
    assert numpy.isnan(full[3]).all()
    assert numpy.isnan(full[:, 3]).all()
    assert numpy.isfinite(numpy.delete(numpy.delete(full, 3, 0), 3, 1)).all()


def test_no_rows_give_zero(scatter):
    sums = sums_of(scatter, numpy.empty((0, 4)), numpy.empty((0, 0)), numpy.zeros(4), EMPTY)
    assert not sums.any()
