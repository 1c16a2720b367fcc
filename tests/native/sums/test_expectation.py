"""The E step of a mixture over a run of blocks, at every level and uncompiled."""

import importlib

import numpy
import pytest
from scipy.special import logsumexp, softmax

FORMS = {
    0: lambda x: numpy.r_[1, x],
    1: lambda x: numpy.r_[1, x, x @ x],
    2: lambda x: numpy.r_[1, x, x * x],
    3: lambda x: numpy.r_[1, x, numpy.outer(x, x)[numpy.triu_indices(len(x))]],
}
# Rows of a block, and of a tile within it.
UNIT = 32
TILE = 16


@pytest.fixture
def expectation(level):
    return importlib.import_module(f"mercer._native.{level}.expectation")


def draw(form, n, d, k, real):
    generator = numpy.random.default_rng(n + d + form)
    X, shift = generator.normal(size=(n, d)).astype(real), generator.normal(size=d)
    known = numpy.array([FORMS[form](x - shift) for x in X.astype(float)])
    return X, shift, known, generator.normal(size=(k, known.shape[1])), generator.random(n)


@pytest.mark.parametrize("real", [numpy.float64, numpy.float32])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (50, 3, 4), (64, 5, 2)])
def test_soft_shares_weigh_features_block_by_block(expectation, form, real, n, d, k):
    X, shift, known, theta, weight = draw(form, n, d, k, real)
    m, p = -(-n // UNIT), theta.shape[1]
    sums, bounds = numpy.zeros((m, k, p)), numpy.zeros(m)
    scratch = numpy.empty((p, TILE)), numpy.empty((k, TILE)), numpy.empty((3, TILE))
    expectation.expect_run(X, UNIT, weight, theta, shift, form, False, *scratch, sums, bounds)
    scores = known @ theta.T
    for block in range(m):
        part = slice(block * UNIT, (block + 1) * UNIT)
        shares = weight[part, None] * softmax(scores[part], axis=1)
        numpy.testing.assert_allclose(sums[block], shares.T @ known[part], rtol=1e-11, atol=1e-12)
        assert bounds[block] == pytest.approx(weight[part] @ logsumexp(scores[part], axis=1), rel=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_hard_shares_go_to_the_first_of_the_best(expectation, form):
    X, shift, known, theta, _ = draw(form, 40, 3, 4, numpy.float64)
    theta[2] = theta[1]
    sums, bounds = numpy.zeros((2, 4, theta.shape[1])), numpy.zeros(2)
    scratch = numpy.empty((theta.shape[1], TILE)), numpy.empty((4, TILE)), numpy.empty((3, TILE))
    expectation.expect_run(X, UNIT, numpy.empty(0), theta, shift, form, True, *scratch, sums, bounds)
    scores = known @ theta.T
    shares = numpy.eye(4)[scores.argmax(axis=1)]
    numpy.testing.assert_allclose(sums.sum(axis=0), shares.T @ known, rtol=1e-11, atol=1e-12)
    assert sums[:, 2].any() == numpy.False_
    assert bounds.sum() == pytest.approx(scores.max(axis=1).sum(), rel=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_scores_are_products_with_the_features(expectation, form):
    X, shift, known, theta, _ = draw(form, 37, 3, 5, numpy.float64)
    out = numpy.empty((37, 5))
    expectation.score_rows(X, theta, shift, form, numpy.empty((theta.shape[1], TILE)), numpy.empty((5, TILE)), out)
    numpy.testing.assert_allclose(out, known @ theta.T, rtol=1e-11, atol=1e-12)


def test_scores_far_below_zero_neither_overflow_nor_vanish(expectation):
    X = numpy.array([[0.0], [1.0]])
    theta = numpy.array([[-1e4, 3.0], [-1e4, 3.0]])
    sums, bounds = numpy.zeros((1, 2, 2)), numpy.zeros(1)
    scratch = numpy.empty((2, TILE)), numpy.empty((2, TILE)), numpy.empty((3, TILE))
    expectation.expect_run(X, UNIT, numpy.empty(0), theta, numpy.zeros(1), 0, False, *scratch, sums, bounds)
    numpy.testing.assert_allclose(sums[0], [[1.0, 0.5], [1.0, 0.5]], rtol=1e-15)
    assert bounds[0] == pytest.approx(-2e4 + 3.0 + 2 * numpy.log(2), rel=1e-14)
