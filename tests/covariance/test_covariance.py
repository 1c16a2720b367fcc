"""Covariances: closed forms, rank and condition, shrinkage against scikit-learn, weights, and singular ones."""

import numpy as np
import pytest
import sklearn.covariance
from scipy.stats import multivariate_normal

from mercer.covariance import (
    OAS,
    EmpiricalCovariance,
    LedoitWolf,
    ShrunkCovariance,
    empirical_covariance,
    ledoit_wolf,
    ledoit_wolf_shrinkage,
    log_likelihood,
    oas,
    shrunk_covariance,
)
from mercer.errors import DataError, ParameterError

CLASSES = [EmpiricalCovariance, ShrunkCovariance, LedoitWolf, OAS]
X = np.random.default_rng(0).normal(size=(60, 4)) @ np.random.default_rng(1).normal(size=(4, 4)) + 3.0


@pytest.mark.parametrize("make", CLASSES)
@pytest.mark.parametrize("shape", [(60, 4), (10, 30), (40, 1)])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.filterwarnings("ignore:.*no inverse")
def test_estimates_are_scikit_learns(make, shape, centred):
    rows = np.random.default_rng(2).normal(size=shape) + 0.5
    theirs = getattr(sklearn.covariance, make.__name__)(assume_centered=centred).fit(rows)
    model = make(assume_centered=centred).fit(rows)
    np.testing.assert_allclose(model.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.location_, theirs.location_, atol=1e-12)
    if hasattr(theirs, "shrinkage_"):
        assert model.shrinkage_ == pytest.approx(theirs.shrinkage_)
    if model.precision_ is not None:
        np.testing.assert_allclose(model.precision_, theirs.precision_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(model.mahalanobis(rows), theirs.mahalanobis(rows), rtol=1e-6)
        assert model.score(rows) == pytest.approx(theirs.score(rows))


@pytest.mark.catalogue("DT-21")
def test_rank_is_below_the_number_of_rows_and_shrinking_restores_it():
    rows = np.random.default_rng(2).normal(size=(10, 30))
    with pytest.warns(UserWarning, match="the covariance has rank 9 of 30 and no inverse, so precision_ is None"):
        model = EmpiricalCovariance().fit(rows)
    assert model.rank_ == 9
    assert model.condition_ == np.inf
    for shrunk in (ShrunkCovariance(), LedoitWolf(), OAS()):
        shrunk.fit(rows)
        assert shrunk.rank_ == 30
        values = np.linalg.eigvalsh(shrunk.covariance_)
        assert shrunk.condition_ == pytest.approx(values[-1] / values[0])


@pytest.mark.catalogue("DT-21")
def test_a_singular_covariance_is_not_inverted_silently():
    rows = np.c_[X, X[:, 0]]
    with pytest.warns(UserWarning, match="no inverse"):
        model = EmpiricalCovariance().fit(rows)
    for ask in (model.get_precision, lambda: model.mahalanobis(rows), lambda: model.score(rows)):
        with pytest.raises(DataError, match="must have full rank to be inverted; got rank 4 of 5: use LedoitWolf"):
            ask()


@pytest.mark.catalogue("DT-21")
def test_extreme_eigenvalues_of_few_rows_are_too_extreme_and_shrinking_mends_it():
    largest, smallest, mended = [], [], []
    for seed in range(30):
        rows = np.random.default_rng(seed).normal(size=(40, 20))
        values = np.linalg.eigvalsh(empirical_covariance(rows))
        largest.append(values[-1])
        smallest.append(values[0])
        mended.append(np.linalg.eigvalsh(ledoit_wolf(rows)[0]))
    assert np.mean(largest) > 2
    assert np.mean(smallest) < 0.3
    assert np.all(np.abs(np.mean(mended, axis=0) - 1) < 0.3)


@pytest.mark.catalogue("DT-21")
@pytest.mark.parametrize("shape", [(5, 3), (4, 9), (30, 1)])
def test_the_unbiased_estimate_is_right_on_average_and_a_ridge_adds_to_every_eigenvalue(shape):
    random = np.random.default_rng(2)
    rows = 100.0 * random.normal(size=shape)
    unbiased = empirical_covariance(rows, ddof=1)
    np.testing.assert_allclose(unbiased, np.atleast_2d(np.cov(rows.T)), rtol=1e-10)
    model = EmpiricalCovariance(ddof=1, ridge=7.0).fit(rows)
    np.testing.assert_allclose(np.linalg.eigvalsh(model.covariance_), np.linalg.eigvalsh(unbiased) + 7.0, rtol=1e-8)
    np.testing.assert_allclose(model.get_precision() @ model.covariance_, np.eye(shape[1]), atol=1e-8)
    assert model.rank_ == shape[1]
    assert model.condition_ == pytest.approx(np.linalg.cond(unbiased + 7.0 * np.eye(shape[1])), rel=1e-6)
    assert EmpiricalCovariance(store_precision=False, ddof=1).fit(rows).rank_ == min(shape[1], shape[0] - 1)
    weight = random.integers(1, 4, shape[0])
    np.testing.assert_allclose(
        empirical_covariance(rows, sample_weight=weight, ddof=1, ridge=2.0),
        empirical_covariance(rows.repeat(weight, axis=0), ddof=1) + 2.0 * np.eye(shape[1]),
        rtol=1e-10,
    )


@pytest.mark.catalogue("DT-21")
def test_division_by_n_is_biased_and_by_n_less_one_is_not():
    truth = np.array([[4.0, 1.0], [1.0, 0.25 + 1.0]])
    root = np.linalg.cholesky(truth)
    sets = np.random.default_rng(3).normal(size=(4000, 4, 2)) @ root.T
    for ddof, factor in ((0, 3 / 4), (1, 1.0)):
        mean = np.mean([empirical_covariance(rows, ddof=ddof) for rows in sets[:1500]], axis=0)
        np.testing.assert_allclose(mean, factor * truth, atol=0.25)
    text = r"EmpiricalCovariance: the sum of the rows' weights must be larger than ddof=5; got 4\. Give more rows"
    with pytest.raises(DataError, match=text):
        empirical_covariance(sets[0], ddof=5)
    with pytest.raises(ParameterError, match=r"ridge must be a number in \[0, inf\); got -1"):
        empirical_covariance(sets[0], ridge=-1)


@pytest.mark.catalogue("DT-04")
def test_log_densities_are_those_of_the_gaussian_and_their_mean_is_the_score():
    model = EmpiricalCovariance().fit(X)
    expected = multivariate_normal(model.location_, model.covariance_).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-9)
    assert model.score(X) == pytest.approx(expected.mean())
    assert model.history_["objective"][0] == pytest.approx(expected.mean())
    assert log_likelihood(np.eye(2), np.eye(2)) == pytest.approx(-1 - np.log(2 * np.pi))


@pytest.mark.parametrize("make", CLASSES)
def test_weights_are_repetitions(make):
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    weighted = make().fit(X, sample_weight=weight.astype(float))
    repeated = make().fit(X.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-10)


def test_rows_far_from_zero_and_tiny_or_huge_ones_keep_their_digits():
    near = LedoitWolf().fit(X)
    np.testing.assert_allclose(LedoitWolf().fit(X + 1e6).covariance_, near.covariance_, rtol=1e-7)
    for scale in (1e-120, 1e120):
        model = LedoitWolf().fit(X * scale)
        assert model.shrinkage_ == pytest.approx(near.shrinkage_)
        np.testing.assert_allclose(model.covariance_ / scale**2, near.covariance_, rtol=1e-9)


def test_functions_give_what_the_classes_give():
    np.testing.assert_array_equal(empirical_covariance(X), EmpiricalCovariance().fit(X).covariance_)
    covariance, share = ledoit_wolf(X)
    np.testing.assert_array_equal(covariance, LedoitWolf().fit(X).covariance_)
    assert ledoit_wolf_shrinkage(X) == share
    assert oas(X)[1] == OAS().fit(X).shrinkage_
    stack = shrunk_covariance(np.stack([np.diag([1.0, 3.0]), np.eye(2)]), 0.5)
    np.testing.assert_allclose(stack, [np.diag([1.5, 2.5]), np.eye(2)])
    with pytest.raises(ParameterError, match=r"shrinkage must be a number in \[0, 1\]; got 2"):
        shrunk_covariance(np.eye(2), 2)
    with pytest.raises(NotImplementedError, match="norm must be one of 'frobenius', 'spectral'; got 'foo'"):
        LedoitWolf().fit(X).error_norm(np.eye(4), norm="foo")


@pytest.mark.parametrize("make", [EmpiricalCovariance, ShrunkCovariance, OAS])
@pytest.mark.parametrize("centred", [False, True])
def test_batches_give_the_estimate_of_one_fit(make, centred):
    model = make(assume_centered=centred)
    for rows in (X[:25], X[25:26], X[26:]):
        model.partial_fit(rows)
    np.testing.assert_allclose(model.covariance_, make(assume_centered=centred).fit(X).covariance_, rtol=1e-10)
    assert model.n_samples_seen_ == 60
    assert not hasattr(LedoitWolf(), "partial_fit")
