"""Sums of squares of many values, at every level and uncompiled."""

import importlib

import numpy
import pytest


@pytest.fixture
def squares(level):
    return importlib.import_module(f"mercer._native.{level}.squares")


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 500])
def test_the_sum_of_squares_is_taken_in_float64(squares, dtype, n):
    values = numpy.random.default_rng(n).normal(size=n).astype(dtype)
    expected = sum(float(value) ** 2 for value in values)
    assert squares.sum_squares(values) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("place", [0, 16, 34])
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, 1e200])
def test_one_value_that_is_not_ordinary_makes_the_sum_so(squares, place, value):
    values = numpy.ones(35)
    values[place] = value
    assert not squares.sum_squares(values) < 1e300
