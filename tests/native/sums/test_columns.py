"""Means and squares of columns, at every level and uncompiled."""

import importlib

import numpy
import pytest


@pytest.fixture
def columns(level):
    return importlib.import_module(f"mercer._native.{level}.columns")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weight", [numpy.empty(0), numpy.array([0.0, 0.5, 1.0, 3.0])], ids=["plain", "weighted"])
def test_moments_are_those_of_the_weighted_rows(columns, dtype, weight):
    X = (numpy.random.default_rng(0).normal(size=(4, 70)) + 50).astype(dtype)
    w = weight if len(weight) else numpy.ones(4)
    mean, squares = numpy.full((2, 70), 7.0)
    columns.column_moments(X, weight, w.sum(), mean, squares)
    expected = numpy.average(X.astype(float), axis=0, weights=w)
    numpy.testing.assert_allclose(mean, expected, rtol=1e-14)
    numpy.testing.assert_allclose(squares, w @ (X - expected) ** 2, rtol=1e-11)


def test_a_constant_column_has_its_value_for_a_mean_and_no_squares(columns):
    X, weight = numpy.full((7, 2), 0.1), numpy.array([0.0, 0.3, 0.7, 0.1, 0.2, 0.9, 0.6])
    X[0, 1] = 1e300  # of weight zero: no row to take differences to
    mean, squares = numpy.empty((2, 2))
    columns.column_moments(X, weight, weight.sum(), mean, squares)
    assert mean.tolist() == [0.1, 0.1]
    assert squares.tolist() == [0.0, 0.0]


def test_rows_of_no_weight_give_zeros_and_what_is_not_finite_shows_in_its_column(columns):
    X = numpy.array([[1.0, 2.0, 3.0], [1.0, numpy.nan, numpy.inf]])
    mean, squares = numpy.empty((2, 3))
    columns.column_moments(X, numpy.zeros(2), 0.0, mean, squares)
    assert not mean.any()
    assert not squares.any()
    with numpy.errstate(invalid="ignore"):
        columns.column_moments(X, numpy.empty(0), 2.0, mean, squares)
    assert numpy.isfinite(mean).tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_go_to_units_and_back_in_place_too(columns, dtype):
    rows = (numpy.random.default_rng(0).normal(size=(9, 5)) + 100).astype(dtype)
    mean, scale = numpy.linspace(90.0, 110.0, 5), numpy.array([1e-3, 0.1, 1.0, 3.0, 1e5])
    out = numpy.empty_like(rows)
    columns.to_units(rows, mean, scale, out)
    numpy.testing.assert_array_equal(out, ((rows - mean) / scale).astype(dtype))
    again = rows.copy()
    columns.to_units(again, mean, scale, again)
    numpy.testing.assert_array_equal(again, out)
    columns.from_units(again, mean, scale, again)
    numpy.testing.assert_array_equal(again, (out * scale + mean).astype(dtype))
