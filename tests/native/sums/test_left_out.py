"""Squared errors of rows that were left out, at every level and uncompiled."""

import importlib

import numpy
import pytest


@pytest.fixture
def native(level):
    return importlib.import_module(f"mercer._native.{level}.left_out")


@pytest.mark.parametrize("weight", [numpy.empty(0), numpy.array([0.0, 0.5, 1.0, 3.0])], ids=["plain", "weighted"])
def test_errors_are_residuals_over_what_is_left_of_the_leverage(native, weight):
    draw = numpy.random.default_rng(0)
    leverages, fits, right = draw.uniform(size=(4, 3)) / 10, draw.normal(size=(4, 6)), draw.uniform(size=(3, 5))
    y, sums = draw.normal(size=(4, 2)), numpy.ones((2, 5))
    native.add_squared_errors(leverages, fits, right, y, weight, 0.25, numpy.empty((2, 5)), sums)
    w = weight if len(weight) else numpy.ones(4)
    left = 1 - numpy.minimum(w, 1)[:, None] * (leverages @ right + 0.25)
    for target in range(2):
        errors = (y[:, target, None] - fits[:, 3 * target : 3 * target + 3] @ right) / left
        numpy.testing.assert_allclose(sums[target], 1 + w @ errors**2, rtol=1e-13)


def test_a_row_that_alone_determines_its_fit_has_no_error(native):
    sums, one = numpy.zeros((1, 1)), numpy.ones((1, 1))
    native.add_squared_errors(one, 3 * one, one, 3 * one, numpy.empty(0), 0.0, numpy.empty((2, 1)), sums)
    assert sums[0, 0] == 0.0
