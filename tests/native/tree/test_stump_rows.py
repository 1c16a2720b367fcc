"""Class weights before a stump is searched, and the two sides after it, at every level and uncompiled."""

import importlib

import numpy
import pytest


@pytest.fixture
def rows(level):
    return importlib.import_module(f"mercer._native.{level}.stump_search")


def test_weights_get_the_sign_of_their_class_and_are_summed(rows):
    draw = numpy.random.default_rng(0)
    labels, weight = draw.integers(0, 2, 50).astype(numpy.int32), draw.uniform(size=50)
    signed, totals = numpy.empty(50), numpy.empty(2)
    rows.sign_weights(labels, weight, signed, totals)
    numpy.testing.assert_array_equal(signed, numpy.where(labels == 1, weight, -weight))
    numpy.testing.assert_array_equal(totals, numpy.bincount(labels, weight))


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_split_at_the_threshold(rows, dtype, missing_left, order):
    draw = numpy.random.default_rng(1)
    X = numpy.array(draw.normal(size=(60, 3)), dtype=dtype, order=order)
    X[::7, 1] = numpy.nan
    X[3, 1] = 0.25
    labels, weight = draw.integers(0, 3, 60).astype(numpy.int32), draw.uniform(size=60)
    weight[::5] = 0.0
    sides, sums, counts = numpy.empty(60, numpy.intp), numpy.zeros((2, 3)), numpy.zeros(2, numpy.int64)
    rows.split_rows(X, 1, 0.25, missing_left, labels, weight, sides, sums, counts)
    with numpy.errstate(invalid="ignore"):
        left = (X[:, 1] <= 0.25) | (numpy.isnan(X[:, 1]) & bool(missing_left))
    numpy.testing.assert_array_equal(sides, ~left)
    numpy.testing.assert_array_equal(sums.ravel(), numpy.bincount(3 * sides + labels, weight, 6))
    numpy.testing.assert_array_equal(counts, [(left & (weight > 0)).sum(), (~left & (weight > 0)).sum()])


def test_without_a_column_all_rows_are_left(rows):
    sides, sums, counts = numpy.empty(4, numpy.intp), numpy.zeros((2, 2)), numpy.zeros(2, numpy.int64)
    labels = numpy.array([0, 1, 1, 0], numpy.int32)
    rows.split_rows(numpy.ones((4, 1)), -2, numpy.inf, 1, labels, numpy.ones(4), sides, sums, counts)
    numpy.testing.assert_array_equal(sides, 0)
    numpy.testing.assert_array_equal(sums, [[2.0, 2.0], [0.0, 0.0]])
    numpy.testing.assert_array_equal(counts, [4, 0])
