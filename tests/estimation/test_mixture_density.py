"""Mixtures of any densities, fitted by EM through the members' own weighted fits."""

import numpy as np
import pytest
import scipy.stats
from sklearn.exceptions import ConvergenceWarning

from mercer.decision import bhattacharyya_bound, chernoff_bound
from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    ExponentialDensity,
    GaussianDensity,
    GeometricDensity,
    LaplaceDensity,
    MixtureDensity,
    MultivariateGaussianDensity,
    PoissonDensity,
    data_log_likelihood,
    gaussian_divergence,
)
from mercer.mixture import GaussianMixture


@pytest.mark.catalogue("DE-06")
def test_em_over_gaussians_of_rows_ends_where_the_gaussian_mixture_does():
    random = np.random.default_rng(0)
    X = np.r_[random.normal([-4, 0], [1, 2], (80, 2)), random.normal([5, 1], [2, 1], (120, 2))]
    means = np.array([[-1.0, 0.0], [1.0, 0.0]])
    start = MixtureDensity([MultivariateGaussianDensity(mean, np.eye(2)) for mean in means], [0.5, 0.5])
    fitted = start.fit(X)
    model = GaussianMixture(2, means_init=means, reg_covar=0.0, tol=1e-10, max_iter=2000).fit(X)
    assert data_log_likelihood(fitted, X) / 200 == pytest.approx(model.score(X), abs=1e-5)
    np.testing.assert_allclose(fitted.weights, model.weights_, atol=1e-3)
    # At a maximum the responsibilities average to the weights, and the mean of a member is its weighted mean.
    joint = np.array([w * np.exp(d.logpdf(X)) for w, d in zip(fitted.weights, fitted.densities, strict=True)])
    shares = joint / joint.sum(axis=0)
    np.testing.assert_allclose(shares.mean(axis=1), fitted.weights, atol=1e-4)
    np.testing.assert_allclose(shares[0] @ X / shares[0].sum(), fitted.densities[0].mean, atol=1e-3)


@pytest.mark.parametrize("members", [
    [PoissonDensity(1.0), PoissonDensity(9.0)],
    [GeometricDensity(0.8), PoissonDensity(8.0)],
    [ExponentialDensity(1.0), GaussianDensity(9.0, 4.0)],
    [LaplaceDensity(0.0, 1.0), scipy.stats.norm(9.0, 2.0)],
])  # fmt: skip
def test_the_likelihood_never_falls_for_members_of_any_kind(members):
    truth = MixtureDensity(members, [0.3, 0.7])
    x = truth.sample(400, random_state=0)
    start = MixtureDensity(members, [0.5, 0.5])
    values = [data_log_likelihood(start, x)]
    for count in range(1, 6):
        with pytest.warns(ConvergenceWarning, match=f"did not converge in {count} iterations"):
            values.append(data_log_likelihood(start.fit(x, tol=0.0, max_iter=count), x))
    assert (np.diff(values) >= -1e-9).all()
    fitted = start.fit(x, tol=1e-6)
    assert fitted.weights[0] == pytest.approx(0.3, abs=0.1)
    # A weight of two is the observation twice.
    weight = np.arange(400) % 3
    weighted, repeated = start.fit(x, weight, tol=1e-6), start.fit(x.repeat(weight), tol=1e-6)
    assert data_log_likelihood(weighted, x) == pytest.approx(data_log_likelihood(repeated, x), abs=1e-6)


def test_what_em_cannot_begin_from_is_refused():
    with pytest.raises(DataError, match="every observation must be possible under some member"):
        MixtureDensity([ExponentialDensity(), ExponentialDensity(2.0)], [0.5, 0.5]).fit([-1.0, 2.0])
    with pytest.raises(DataError, match="Make members densities of rows by IndependentDensity"):
        MixtureDensity([GaussianDensity(), GaussianDensity(1.0)], [0.5, 0.5]).fit(np.zeros((5, 2)))


@pytest.mark.parametrize("function", [gaussian_divergence, chernoff_bound, bhattacharyya_bound])
def test_formulas_for_gaussians_take_gaussians_of_every_kind_and_nothing_else(function):
    wanted = function(GaussianDensity(0.0, 1.0), GaussianDensity(2.0, 4.0))
    assert function(scipy.stats.norm(0.0, 1.0), GaussianDensity(2.0, 4.0)) == pytest.approx(wanted)
    rows = MultivariateGaussianDensity([2.0], [[4.0]])
    assert function(scipy.stats.multivariate_normal([0.0], [[1.0]]), rows) == pytest.approx(wanted)
    # Columns with a shared variance: the divergence adds up over them.
    both = function(GaussianDensity([0.0, 0.0], 1.0), GaussianDensity([2.0, 2.0], 4.0))
    if function is gaussian_divergence:
        assert both == pytest.approx(2 * wanted)
    # Mean and variance are not enough: a Laplace density has both, and the formula would be wrong for it.
    for other in (LaplaceDensity(), PoissonDensity(), scipy.stats.laplace(), 3.0):
        with pytest.raises(ParameterError, match=r"both densities must be Gaussian; got"):
            function(GaussianDensity(), other)
