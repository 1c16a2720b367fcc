"""Factor analysis: loadings and noise of maximum likelihood, the same from rows, weights and batches."""

import numpy as np
import pytest
import sklearn.decomposition
from scipy.stats import multivariate_normal

from mercer.decomposition import FactorAnalysis, rotate_loadings
from mercer.errors import DataError

LOADINGS = np.array([[1.5, 1.0, -0.5, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.5, -1.0, 0.5]])
NOISE = np.array([0.1, 0.3, 0.5, 1.0, 2.0, 0.2])
X = (
    np.random.default_rng(1).normal(size=(4000, 2)) @ LOADINGS
    + np.random.default_rng(2).normal(size=(4000, 6)) * np.sqrt(NOISE)
    + 3.0
)


def test_the_covariance_that_made_the_rows_is_found():
    random, n = np.random.default_rng(3), 40_000
    rows = random.normal(size=(n, 2)) @ LOADINGS + random.normal(size=(n, 6)) * np.sqrt(NOISE)
    model, expected = FactorAnalysis(2, tol=1e-8).fit(rows), LOADINGS.T @ LOADINGS + np.diag(NOISE)
    # Six deviations of the entries of a sample covariance; the model's vary less.
    variances = np.diag(expected)
    allowed = 6 * np.sqrt((np.outer(variances, variances) + expected**2) / n)
    assert (np.abs(model.get_covariance() - expected) < allowed).all()
    np.testing.assert_allclose(model.noise_variance_, NOISE, atol=0.12)
    np.testing.assert_allclose(model.get_covariance() @ model.get_precision(), np.eye(6), atol=1e-10)
    assert (np.diff(model.loglike_) >= 0).all()


def test_it_reaches_the_likelihood_of_scikit_learn_and_its_formula():
    mine = FactorAnalysis(2, tol=1e-8).fit(X)
    theirs = sklearn.decomposition.FactorAnalysis(2, tol=1e-8, svd_method="lapack").fit(X)
    assert mine.score(X) == pytest.approx(theirs.score(X), abs=1e-7)
    density = multivariate_normal(mine.mean_, mine.get_covariance())
    np.testing.assert_allclose(mine.score_samples(X[:50]), density.logpdf(X[:50]))
    np.testing.assert_allclose(
        mine.transform(X), theirs.transform(X) * np.sign((mine.components_ * theirs.components_).sum(axis=1)), atol=1e-2
    )
    assert mine.loglike_[-1] == pytest.approx(mine.score_samples(X).sum())


def test_the_posterior_is_that_of_the_joint_gaussian():
    model = FactorAnalysis(2).fit(X)
    W, C = model.components_, model.get_covariance()
    mean, covariance = model.posterior(X[:5])
    np.testing.assert_allclose(mean, (X[:5] - model.mean_) @ np.linalg.solve(C, W.T))
    np.testing.assert_allclose(covariance, np.eye(2) - W @ np.linalg.solve(C, W.T), atol=1e-12)


def test_factors_do_not_depend_on_the_units_of_the_columns():
    units = np.array([1.0, 10.0, 0.1, 5.0, 2.0, 100.0])
    plain = FactorAnalysis(2).fit(X)
    scaled = FactorAnalysis(2).fit(X * units)
    np.testing.assert_allclose(scaled.noise_variance_ / units**2, plain.noise_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(scaled.transform(X * units)), np.abs(plain.transform(X)), atol=1e-9)


def test_weights_are_repetitions_and_batches_add_up():
    weight = np.random.default_rng(3).integers(0, 3, 300)
    weighted = FactorAnalysis(2).fit(X[:300], sample_weight=weight)
    repeated = FactorAnalysis(2).fit(np.repeat(X[:300], weight, axis=0))
    np.testing.assert_allclose(weighted.noise_variance_, repeated.noise_variance_, rtol=1e-8)
    batches = FactorAnalysis(2)
    for start in range(0, 4000, 1000):
        batches.partial_fit(X[start : start + 1000])
    np.testing.assert_allclose(batches.noise_variance_, FactorAnalysis(2).fit(X).noise_variance_, rtol=1e-8)


def test_samples_have_the_model_s_covariance():
    model = FactorAnalysis(2).fit(X)
    rows = model.sample(100_000, random_state=0)
    np.testing.assert_allclose(np.cov(rows.T), model.get_covariance(), atol=0.12)
    assert set(model.parameters()) == {"mean", "components", "noise_variance"}


@pytest.mark.parametrize("method", ["varimax", "quartimax"])
def test_rotations_keep_the_covariance_and_no_small_turn_raises_the_criterion(method):
    L = np.random.default_rng(3).normal(size=(3, 8))
    rotated = rotate_loadings(L, method=method)
    np.testing.assert_allclose(rotated.T @ rotated, L.T @ L, atol=1e-10)

    def criterion(loadings):
        within = (loadings**2).sum(axis=1) ** 2 / 8 if method == "varimax" else 0.0
        return float(((loadings**4).sum(axis=1) - within).sum())

    best = criterion(rotated)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        for angle in (-0.01, 0.01):
            turn = np.eye(3)
            turn[[first, second], [first, second]] = np.cos(angle)
            turn[first, second], turn[second, first] = np.sin(angle), -np.sin(angle)
            assert criterion(turn @ rotated) < best


def test_rotation_changes_loadings_and_not_the_density():
    rows = X
    plain, rotated = FactorAnalysis(2).fit(rows), FactorAnalysis(2, rotation="varimax").fit(rows)
    assert rotated.score(rows) == pytest.approx(plain.score(rows))
    assert not np.allclose(np.abs(rotated.components_), np.abs(plain.components_), atol=0.005)


def test_wrong_input_is_a_sentence():
    with pytest.raises(DataError, match=r"at most the number of columns, 6; got 7. Lower it"):
        FactorAnalysis(7).fit(X)
    with pytest.raises(DataError, match="columns are constant"):
        FactorAnalysis(1).fit(np.ones((10, 3)))
    with pytest.raises(DataError, match=r"positive number for each column, 6; got shape \(2,\)"):
        FactorAnalysis(1, noise_variance_init=[1.0, 1.0]).fit(X)
