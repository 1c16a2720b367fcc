"""Losses and residuals of a run of blocks with their gradients, at every level and uncompiled."""

import importlib

import numpy
import pytest

from mercer._objective import Logistic, Softmax

REALS = [numpy.float64, numpy.float32]
EMPTY = numpy.empty(0)
# Rows of a block, and of a tile within it.
UNIT = 32
TILE = 16


@pytest.fixture
def gradients(level):
    return importlib.import_module(f"mercer._native.{level}.gradients")


def draw(n, d, k, real):
    generator = numpy.random.default_rng(n + d + k)
    X = generator.normal(size=(n, d)).astype(real)
    return X, generator.normal(size=(k, d + 1)), generator.integers(0, max(2, k), size=n), generator.random(n)


def sum_plainly(loss, X, y, weight, parameters, part):
    rows = X[part].astype(float)
    scores = rows @ parameters[:, :-1].T + parameters[:, -1]
    residual = weight[part, None] * loss.residual(scores, y[part], numpy)
    return residual.T @ rows, residual.sum(axis=0), weight[part] @ loss.value(scores, y[part], numpy)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (50, 11), (64, 8)])
def test_logistic_sums_are_those_of_the_definition(gradients, shape, real, weighted):
    X, parameters, y, weight = draw(*shape, 1, real)
    X[0, 0] = 900.0  # beyond the reach of exp
    y = y.astype(float)
    sums = numpy.zeros((-(-len(X) // UNIT), X.shape[1] + 2))
    given = weight if weighted else EMPTY
    gradients.row_run(Logistic.native, 0.0, X, UNIT, y, given, parameters[0], numpy.empty(TILE), sums)
    size = weight if weighted else numpy.ones(len(X))
    for block, row in enumerate(sums):
        part = slice(block * UNIT, (block + 1) * UNIT)
        by_coefficients, by_intercept, value = sum_plainly(Logistic(), X, y, size, parameters, part)
        numpy.testing.assert_allclose(row[:-2], by_coefficients[0], rtol=1e-11, atol=1e-11)
        assert row[-2] == pytest.approx(by_intercept[0], rel=1e-11, abs=1e-12)
        assert row[-1] == pytest.approx(value, rel=1e-11)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_softmax_sums_are_those_of_the_definition(gradients, real, weighted):
    X, parameters, y, weight = draw(50, 7, 4, real)
    sums, scores = numpy.zeros((2, 4, 9)), numpy.empty((TILE, 4))
    W, intercept = numpy.ascontiguousarray(parameters[:, :-1]), numpy.ascontiguousarray(parameters[:, -1])
    given = weight if weighted else EMPTY
    scratch = (numpy.empty((TILE, 7)), scores, scores.reshape(-1), numpy.empty(TILE))
    gradients.softmax_run(X, UNIT, y.astype(numpy.intp), given, W, intercept, *scratch, sums)
    size = weight if weighted else numpy.ones(len(X))
    for block in range(2):
        part = slice(block * UNIT, (block + 1) * UNIT)
        by_coefficients, by_intercept, value = sum_plainly(Softmax(4), X, y, size, parameters, part)
        numpy.testing.assert_allclose(sums[block, :, :7], by_coefficients, rtol=1e-11, atol=1e-12)
        numpy.testing.assert_allclose(sums[block, :, 7], by_intercept, rtol=1e-11, atol=1e-12)
        assert sums[block, 0, 8] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_and_their_products_are_those_of_the_definition(gradients, real, weighted):
    X, parameters, _, weight = draw(50, 7, 3, real)
    Y = numpy.random.default_rng(0).normal(size=(50, 3))
    coef, mean, y_mean = (
        numpy.ascontiguousarray(parameters[:, :-1]),
        parameters[0, :-1].copy(),
        parameters[:, -1].copy(),
    )
    sums, given = numpy.zeros((2, 3, 9)), weight if weighted else EMPTY
    gradients.residual_run(X, UNIT, Y, given, coef, mean, y_mean, numpy.empty((TILE, 7)), numpy.empty((TILE, 3)), sums)
    size = weight if weighted else numpy.ones(len(X))
    rows = X.astype(float) - mean
    r = Y - y_mean - rows @ coef.T
    for block in range(2):
        part = slice(block * UNIT, (block + 1) * UNIT)
        heavy = size[part, None] * r[part]
        numpy.testing.assert_allclose(sums[block, :, :7], heavy.T @ rows[part], rtol=1e-11, atol=1e-12)
        numpy.testing.assert_allclose(sums[block, :, 7], heavy.sum(axis=0), rtol=1e-11, atol=1e-12)
        numpy.testing.assert_allclose(sums[block, :, 8], (heavy * r[part]).sum(axis=0), rtol=1e-11)
