"""Sums of losses with their residuals, at every level and uncompiled."""

import importlib

import numpy
import pytest

from mercer._objective import Logistic, Softmax

# Beyond the reach of exp, where only the careful forms stay finite.
FAR = [-800.0, 800.0, 0.0]


@pytest.fixture
def losses(level):
    return importlib.import_module(f"mercer._native.{level}.gradients")


def draw(n, k):
    generator = numpy.random.default_rng(0)
    scores = generator.normal(size=(n, k)) * 3
    scores[: min(n, 3), 0] = FAR[: min(n, 3)]
    return scores, generator.integers(0, max(2, k), size=n), generator.uniform(size=n)


@pytest.mark.parametrize("n", [1, 8, 21])
def test_logistic_sums_and_residuals_are_those_of_the_definition(losses, n):
    scores, y, weight = draw(n, 1)
    y = y.astype(float)
    value, residual = Logistic().value(scores, y, numpy), Logistic().residual(scores, y, numpy)[:, 0]
    plain, heavy = scores[:, 0].copy(), scores[:, 0].copy()
    assert losses.sum_rows(Logistic.native, 0.0, plain, y, numpy.empty(0)) == pytest.approx(value.sum(), rel=1e-13)
    assert losses.sum_rows(Logistic.native, 0.0, heavy, y, weight) == pytest.approx(weight @ value, rel=1e-13)
    numpy.testing.assert_allclose(plain, residual, rtol=1e-13, atol=1e-300)
    numpy.testing.assert_allclose(heavy, weight * residual, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(1, 3), (21, 4)])
def test_softmax_sums_and_residuals_are_those_of_the_definition(losses, shape, weighted):
    scores, y, weight = draw(*shape)
    size = weight if weighted else numpy.ones(len(y))
    value = Softmax(shape[1]).value(scores, y, numpy)
    residual = size[:, None] * Softmax(shape[1]).residual(scores, y, numpy)
    found, room = scores.copy(), numpy.full(len(y), numpy.nan)
    given = weight if weighted else numpy.empty(0)
    total = losses.softmax(found, found.reshape(-1), y.astype(numpy.intp), given, room)
    assert total == pytest.approx(size @ value, rel=1e-12)
    numpy.testing.assert_allclose(found, residual, rtol=1e-12, atol=1e-15)
