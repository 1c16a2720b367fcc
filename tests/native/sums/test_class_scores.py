"""Chosen classes, probabilities and squared gaps from scores, at every level and uncompiled."""

import importlib

import numpy
import pytest
import scipy.special

REALS = [numpy.float64, numpy.float32]


@pytest.fixture
def scores(level):
    return importlib.import_module(f"mercer._native.{level}.class_scores")


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_the_first_of_the_largest_scores_is_chosen(scores, real, k):
    # Few distinct values, so that many rows have ties; infinities are scores too.
    S = numpy.random.default_rng(0).integers(0, 3, (50, k)).astype(real)
    S[3], S[4, 0] = -numpy.inf, numpy.inf
    chosen = numpy.full(50, -1)
    scores.choose_largest(S, chosen)
    numpy.testing.assert_array_equal(chosen, S.argmax(axis=1))


@pytest.mark.parametrize("real", REALS)
def test_pairs_of_probabilities_keep_their_digits_at_both_ends(scores, real):
    gaps = numpy.array([-80.0, -3.0, -0.0, 0.0, 1e-9, 2.5, 80.0, numpy.inf, -numpy.inf], dtype=real)
    out = numpy.empty((len(gaps), 2), real)
    scores.pair_shares(gaps, out)
    expected = scipy.special.expit(numpy.stack([-gaps, gaps], axis=1).astype(float))
    numpy.testing.assert_allclose(out, expected, rtol=8 * numpy.finfo(real).eps)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("k", [1, 3, 10])
def test_shares_are_those_of_softmax(scores, real, k):
    S = (30 * numpy.random.default_rng(1).normal(size=(40, k))).astype(real)
    S[5] += 1000
    S[6, 0] = -numpy.inf if k > 1 else 0.0
    out = numpy.empty(S.size, real)
    scores.share_rows(S.ravel(), k, out)
    expected = scipy.special.softmax(S.astype(float), axis=1)
    # A difference of scores is rounded by half a unit of its size, and its exponential by that factor.
    tiny, eps = float(numpy.finfo(real).tiny), float(numpy.finfo(real).eps)
    spread = float(numpy.ptp(S[7:], axis=1).max())
    numpy.testing.assert_allclose(out.reshape(S.shape), expected, rtol=(spread / 2 + 5) * eps, atol=tiny)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("d", [1, 8, 19])
def test_scores_are_offsets_less_squared_gaps(scores, real, d):
    draw = numpy.random.default_rng(2)
    X = draw.normal(size=(12, d)).astype(real)
    centres, scales, offsets = draw.normal(size=(3, d)), draw.uniform(1, 2, (3, d)), draw.normal(size=3)
    out = numpy.empty((12, 3))
    scores.score_gaps(X, centres, scales, offsets, out)
    gaps = (X.astype(float)[:, None] - centres) * scales
    numpy.testing.assert_allclose(out, offsets - (gaps**2).sum(axis=2), rtol=1e-13)
