"""Sums over rows: float64 accumulators in a fixed order."""

import numpy
import pytest
from scipy.special import logsumexp

from mercer._native.shared import inline

REALS = [numpy.float64, numpy.float32]
LENGTHS = [1, 2, 7, 8, 9, 15, 16, 17, 64, 101]


def draw_rows(real, length, seed=0):
    generator = numpy.random.default_rng(seed)
    scale = 10.0 ** generator.uniform(-8, 8, (2, 5, length))
    return (generator.normal(size=(2, 5, length)) * scale).astype(real)


@pytest.mark.parametrize("real", REALS)
def test_dot_products_and_distances_are_exact_on_small_whole_numbers(elementary, real):
    X, Y = numpy.arange(1, 13, dtype=real).reshape(1, 12), numpy.full((1, 12), 2, dtype=real)
    out = numpy.empty(1)
    elementary.dot(X, Y, out)
    assert out[0] == 2 * 78
    elementary.distance_squared(X, Y, out)
    assert out[0] == sum((i - 2) ** 2 for i in range(1, 13))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("real", REALS)
def test_every_level_gives_the_bits_of_the_uncompiled_sums(elementary, real, length):
    X, Y = draw_rows(real, length)
    out = numpy.empty(len(X))
    for name in ("dot", "distance_squared"):
        getattr(elementary, name)(X, Y, out)
        expected = [getattr(inline, name)(x, y) for x, y in zip(X, Y)]
        numpy.testing.assert_array_equal(out, expected)
    Z = numpy.asarray(numpy.random.default_rng(1).normal(scale=30, size=(6, length)), dtype=real)
    out = numpy.empty(len(Z))
    elementary.logsumexp(Z, out)
    numpy.testing.assert_array_equal(out, [inline.logsumexp(row) for row in Z])


def test_float32_rows_are_summed_in_float64(elementary):
    X, Y = numpy.full((1, 100_000), 0.1, dtype=numpy.float32), numpy.ones((1, 100_000), dtype=numpy.float32)
    out = numpy.empty(1)
    elementary.dot(X, Y, out)
    assert out[0] == pytest.approx(100_000 * float(numpy.float32(0.1)), rel=1e-14)


@pytest.mark.parametrize("real", REALS)
def test_logsumexp_agrees_with_scipy(elementary, real):
    Z = numpy.asarray(numpy.random.default_rng(2).normal(scale=100, size=(50, 37)), dtype=real)
    out = numpy.empty(50)
    elementary.logsumexp(Z, out)
    numpy.testing.assert_allclose(
        out, logsumexp(Z.astype(float), axis=1), rtol=1e-15 if real is numpy.float64 else 1e-6
    )


@pytest.mark.parametrize("real", REALS)
def test_logsumexp_of_infinities_is_what_limits_say(elementary, real):
    infinity, nan = numpy.inf, numpy.nan
    Z = numpy.array([[-infinity, -infinity], [infinity, 0], [-infinity, 3], [nan, 1], [infinity, nan]], dtype=real)
    out = numpy.empty(5)
    elementary.logsumexp(Z, out)
    numpy.testing.assert_array_equal(out, [-infinity, infinity, 3, nan, nan])


def test_rows_without_elements_have_empty_sums(elementary):
    out = numpy.empty(3)
    elementary.dot(numpy.empty((3, 0)), numpy.empty((3, 0)), out)
    numpy.testing.assert_array_equal(out, 0)
    elementary.logsumexp(numpy.empty((3, 0)), out)
    numpy.testing.assert_array_equal(out, -numpy.inf)


def test_read_only_rows_are_accepted(elementary):
    X = numpy.ones((2, 3))
    X.flags.writeable = False
    out = numpy.empty(2)
    elementary.dot(X, X, out)
    numpy.testing.assert_array_equal(out, 3)
