"""The summed E step: compiled against its definition, about one shift or the components' means, complete or not."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal

from mercer._source import open_source
from mercer._source.block import DenseBlock
from mercer._statistic.expectation import FORMS, Expectation, n_features_of
from mercer.mixture._components import GaussianComponents, GaussianMoments, natural
from mercer.mixture._gaussian_expectation import CentredExpectation, MissingExpectation, ObservedCounts

KINDS = ("full", "tied", "diag", "spherical")


def draw(kind, k=3, d=4, seed=0):
    generator = np.random.default_rng(seed)
    roots = generator.normal(size=(k, d, d)) / 2 + np.eye(d)
    full = roots @ np.swapaxes(roots, 1, 2)
    covariances = {"full": full, "tied": full[0], "diag": np.einsum("kii->ki", full), "spherical": full[:, 0, 0]}[kind]
    means = generator.normal(size=(k, d)) * 2
    return GaussianComponents.of(kind, generator.dirichlet(np.ones(k)), means, covariances)


def log_joint(components, X):
    parts = zip(components.weights, components.means, components.each_covariance())
    return np.array([np.log(w) + multivariate_normal(m, C).logpdf(X) for w, m, C in parts]).T


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_compiled_twin_sums_what_the_definition_says(form, hard, weighted):
    generator = np.random.default_rng(1)
    X, weight = generator.normal(size=(3000, 4)), generator.random(3000) if weighted else None
    theta = generator.normal(size=(5, n_features_of(form, 4)))
    statistic = Expectation(theta, generator.normal(size=4), form, hard)
    block = DenseBlock(X, 0, None, weight)
    ours, definition = statistic.native_run(block, 256), statistic.of(block)
    np.testing.assert_allclose(ours.table, definition.table, rtol=1e-10, atol=1e-10)
    assert ours.bound == pytest.approx(definition.bound, rel=1e-12)
    np.testing.assert_allclose(statistic.scores(block), theta_scores(statistic, X), rtol=1e-10, atol=1e-10)


def theta_scores(statistic, X):
    from mercer._statistic.expectation import features

    block = DenseBlock(X, 0)
    return features(block, block.centre(statistic.shift), statistic.form) @ statistic.theta.T


@pytest.mark.catalogue("DE-05", "DE-06")
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_log_shares_plus_log_densities(kind):
    components, X = draw(kind), np.random.default_rng(2).normal(size=(50, 4))
    expected = log_joint(components, X)
    form = {"full": "full", "tied": "full", "diag": "diagonal", "spherical": "spherical"}[kind]
    centre = np.full(4, 0.3)
    np.testing.assert_allclose(
        Expectation(natural(components, centre, form), centre, form).scores(DenseBlock(X, 0)), expected, rtol=1e-10
    )
    factors = np.ascontiguousarray(components.each_factor())
    centred = CentredExpectation(components.offsets(), components.means, factors, form)
    # The inverse of a covariance has as many digits fewer as its condition has.
    digits = max(1e-11, 10 * np.finfo(float).eps * max(map(np.linalg.cond, components.each_covariance())))
    np.testing.assert_allclose(centred.scores(DenseBlock(X, 0)), expected, rtol=digits)
    many = np.tile(X, (50, 1))
    np.testing.assert_allclose(centred.scores(DenseBlock(many, 0)), np.tile(expected, (50, 1)), rtol=digits)


@pytest.mark.fixed_seed("a covariance drawn nearly singular loses the digits that are compared here")
@pytest.mark.parametrize("kind", KINDS)
def test_sums_about_a_shift_and_about_the_means_give_the_same_moments(kind):
    components, X = draw(kind), np.random.default_rng(3).normal(size=(500, 4))
    form = {"full": "full", "tied": "full", "diag": "diagonal", "spherical": "spherical"}[kind]
    centre, source = X.mean(axis=0), open_source(X)
    factors = np.ascontiguousarray(components.each_factor())
    one = source.reduce(Expectation(natural(components, centre, form), centre, form))
    other = source.reduce(CentredExpectation(components.offsets(), components.means, factors, form))
    first = GaussianMoments.of(one.table, form, centre, components)
    second = GaussianMoments.of(other.table, form, components.means, components)
    assert one.bound == pytest.approx(other.bound, rel=1e-12)
    for name in ("weights", "means", "covariances"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-9, atol=1e-11)
    shares = softmax(log_joint(components, X), axis=1)
    np.testing.assert_allclose(first.weights, shares.mean(axis=0), rtol=1e-11)
    np.testing.assert_allclose(first.means, shares.T @ X / shares.sum(axis=0)[:, None], rtol=1e-9, atol=1e-11)


@pytest.mark.catalogue("DE-10")
def test_missing_entries_have_the_conditional_moments_that_integration_gives():
    """One row, one component, one missing entry: moments of p(x2 | x1) on a fine grid."""
    components = GaussianComponents.of(
        "full", np.ones(1), np.array([[0.5, -1.0]]), np.array([[[2.0, 0.8], [0.8, 1.0]]])
    )
    row = np.array([[1.7, np.nan]])
    sums = MissingExpectation(components.weights, components.means, components.covariances, "full").of(
        DenseBlock(row, 0)
    )
    grid = np.linspace(-12, 12, 200001)
    joint = multivariate_normal(components.means[0], components.covariances[0])
    density = joint.pdf(np.column_stack([np.full_like(grid, 1.7), grid]))
    marginal = np.trapezoid(density, grid)
    gaps = grid + 1.0
    first, second = (np.trapezoid(density * gaps**power, grid) / marginal for power in (1, 2))
    assert sums.bound == pytest.approx(np.log(marginal), rel=1e-9)
    np.testing.assert_allclose(sums.table[0], [1.0, 1.2, first, 1.44, 1.2 * first, second], rtol=1e-7)


@pytest.mark.catalogue("DE-10")
@pytest.mark.parametrize("form", ["full", "diagonal", "spherical"])
def test_complete_rows_are_the_same_to_the_missing_statistic(form):
    components, X = draw("full"), np.random.default_rng(4).normal(size=(200, 4))
    weight = np.random.default_rng(5).random(200)
    block = DenseBlock(X, 0, None, weight)
    ours = MissingExpectation(components.weights, components.means, components.covariances, form).of(block)
    theirs = CentredExpectation(components.offsets(), components.means, components.factors, form).of(block)
    np.testing.assert_allclose(ours.table, theirs.table, rtol=1e-9, atol=1e-10)
    assert ours.bound == pytest.approx(theirs.bound, rel=1e-12)


def test_densities_of_rows_with_gaps_are_marginal_densities():
    components, X = draw("full"), np.random.default_rng(6).normal(size=(20, 4))
    X[:, [1, 3]] = np.nan
    scores = MissingExpectation(components.weights, components.means, components.covariances, "full").scores(
        DenseBlock(X, 0)
    )
    kept = [0, 2]
    parts = zip(components.weights, components.means[:, kept], components.covariances[:, [[0], [2]], kept])
    expected = np.array([np.log(w) + multivariate_normal(m, C).logpdf(X[:, kept]) for w, m, C in parts]).T
    np.testing.assert_allclose(logsumexp(scores, axis=1), logsumexp(expected, axis=1), rtol=1e-11)


def test_what_was_observed_is_counted():
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan], [np.inf, 4.0]])
    seen = ObservedCounts().of(DenseBlock(X, 0, None, np.array([1.0, 2.0, 1.0, 1.0])))
    assert seen.weights.tolist() == [3.0, 1.0]
    np.testing.assert_allclose(seen.means, [7 / 3, 4.0])
    assert (seen.n_infinite, seen.n_empty) == (1, 1)


@pytest.mark.parametrize("form", FORMS)
def test_the_definition_runs_in_the_strict_array_api(form):
    xp = pytest.importorskip("array_api_strict")
    generator = np.random.default_rng(7)
    X, theta, shift = generator.normal(size=(40, 3)), generator.normal(size=(2, n_features_of(form, 3))), np.ones(3)
    for hard in (False, True):
        strict = Expectation(xp.asarray(theta), xp.asarray(shift), form, hard).of(DenseBlock(xp.asarray(X), 0, xp=xp))
        plain = Expectation(theta, shift, form, hard).of(DenseBlock(X, 0))
        np.testing.assert_allclose(np.asarray(strict.table), plain.table, rtol=1e-12, atol=1e-12)
    components = draw("full", 2, 3)
    centred = CentredExpectation(components.offsets(), components.means, components.factors, "full")
    strict = CentredExpectation(*map(xp.asarray, (centred.offset, centred.means, centred.factors)), "full")
    table = strict.of(DenseBlock(xp.asarray(X), 0, xp=xp)).table
    np.testing.assert_allclose(np.asarray(table), centred.of(DenseBlock(X, 0)).table, rtol=1e-10, atol=1e-10)
