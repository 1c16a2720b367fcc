"""Probabilistic PCA: the closed form is the maximum, EM reaches it, and missing entries are filled from the others."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer.decomposition import PCA, ProbabilisticPCA
from mercer.errors import DataError
from mercer.estimation import Density

X = (
    np.random.default_rng(0).normal(size=(300, 2)) @ [[3.0, 2.0, 1.0, 3.0, -2.0], [1.0, -2.0, 1.5, 0.5, 1.0]]
    + 0.4 * np.random.default_rng(2).normal(size=(300, 5))
    + 1.0
)


def test_the_closed_form_is_that_of_tipping_and_bishop():
    model = ProbabilisticPCA(2).fit(X)
    values = np.linalg.eigvalsh(np.cov(X.T, ddof=0))[::-1]
    assert model.noise_variance_ == pytest.approx(values[2:].mean())
    np.testing.assert_allclose(model.explained_variance_, values[:2])
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(model.get_covariance()))[::-1][:2], values[:2])
    # The same density as that of PCA's own probabilistic model, with divisor n.
    assert model.score(X) == pytest.approx(PCA(2, ddof=0).fit(X).score(X))
    density = multivariate_normal(model.mean_, model.get_covariance())
    np.testing.assert_allclose(model.logpdf(X), density.logpdf(X))


def test_em_climbs_to_the_closed_form():
    closed = ProbabilisticPCA(2).fit(X)
    climbed = ProbabilisticPCA(2, method="em", tol=1e-13, max_iter=20_000, random_state=0).fit(X)
    assert climbed.score(X) == pytest.approx(closed.score(X), abs=1e-9)
    np.testing.assert_allclose(climbed.components_, closed.components_, atol=1e-4)
    assert (np.diff(climbed.history_["objective"]) >= -1e-12).all()
    assert climbed.certificate_.kind == "likelihood ascent"


def test_the_likelihood_of_a_row_with_missing_entries_is_the_marginal():
    model = ProbabilisticPCA(2).fit(X)
    row = X[:1].copy()
    row[0, [1, 4]] = np.nan
    kept = [0, 2, 3]
    C = model.get_covariance()
    marginal = multivariate_normal(model.mean_[kept], C[np.ix_(kept, kept)])
    assert model.score_samples(row)[0] == pytest.approx(marginal.logpdf(row[0, kept]))
    # The expectation of missing entries, given the others, of a joint Gaussian; noise is not predicted.
    expected = model.mean_[[1, 4]] + C[np.ix_([1, 4], kept)] @ np.linalg.solve(
        C[np.ix_(kept, kept)], row[0, kept] - model.mean_[kept]
    )
    np.testing.assert_allclose(model.impute(row)[0, [1, 4]], expected)


def test_missing_entries_at_random_are_filled_and_the_density_is_found():
    rows = X.copy()
    rows[np.random.default_rng(3).uniform(size=rows.shape) < 0.15] = np.nan
    model = ProbabilisticPCA(2, random_state=0, tol=1e-9, max_iter=5000).fit(rows)
    whole = ProbabilisticPCA(2).fit(X)
    assert model.score(X) > whole.score(X) - 0.1
    gaps = np.isnan(rows)
    error = np.sqrt(np.mean((model.impute(rows) - X)[gaps] ** 2))
    by_mean = np.sqrt(np.mean((np.nanmean(rows, axis=0) - X)[gaps] ** 2))
    assert error < 0.4 * by_mean
    np.testing.assert_array_equal(model.impute(rows)[~gaps], X[~gaps])


def test_the_m_step_is_a_maximum_with_missing_entries():
    rows = X[:60].copy()
    rows[::3, 0] = np.nan
    model = ProbabilisticPCA(1, random_state=0, tol=1e-13, max_iter=20_000).fit(rows)
    best = model.score(rows)
    for name in ("components_", "mean_"):
        for change in (-1e-3, 1e-3):
            other = ProbabilisticPCA(1, random_state=0).fit(rows)
            vars(other).update(vars(model))
            setattr(other, name, getattr(model, name) * (1 + change))
            assert other.score(rows) < best


def test_weights_are_repetitions_for_both_methods():
    weight = np.random.default_rng(1).integers(0, 3, 300)
    rows = X.copy()
    rows[::4, 1] = np.nan
    for table, settings in ((X, {}), (rows, {"tol": 1e-12, "max_iter": 5000})):
        weighted = ProbabilisticPCA(1, random_state=0, **settings).fit(table, sample_weight=weight)
        repeated = ProbabilisticPCA(1, random_state=0, **settings).fit(np.repeat(table, weight, axis=0))
        np.testing.assert_allclose(weighted.get_covariance(), repeated.get_covariance(), atol=1e-5)


def test_it_is_a_density_and_its_samples_follow_it():
    model = ProbabilisticPCA(2).fit(X)
    assert isinstance(model, Density)
    np.testing.assert_allclose(np.cov(model.sample(200_000, random_state=0).T), model.get_covariance(), atol=0.15)
    mean, covariance = model.posterior(X[:3])
    np.testing.assert_allclose(mean, model.transform(X[:3]))
    assert covariance.shape == (2, 2)


def test_the_number_of_factors_by_evidence():
    assert ProbabilisticPCA("mle").fit(X).n_components_ == 2


def test_wrong_input_is_a_sentence():
    rows = X.copy()
    rows[:, 2] = np.nan
    with pytest.raises(DataError, match=r"column 2 contains NaN only. Drop it"):
        ProbabilisticPCA(2).fit(rows)
    with pytest.raises(DataError, match="below the number of columns, 5, so that noise is left; got 5"):
        ProbabilisticPCA(5).fit(X)
    with pytest.raises(DataError, match=r"missing entries \(NaN\) need method='em'"):
        ProbabilisticPCA(2, method="closed_form").fit(rows)
    with pytest.raises(ValueError, match="infinity"):
        ProbabilisticPCA(2).fit(np.where(np.isnan(rows), np.inf, rows))
