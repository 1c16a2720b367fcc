"""BayesianGaussianMixture: the exact evidence of one component, scikit-learn's posterior, ascent, weights, errors."""

import numpy as np
import pytest
import sklearn.mixture
from scipy.special import multigammaln
from sklearn.datasets import make_blobs

from mercer.errors import DataError
from mercer.mixture import BayesianGaussianMixture

KINDS = ("full", "tied", "diag", "spherical")


def draw(n=300, seed=1):
    return make_blobs(n, 3, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 9]], cluster_std=1.0, random_state=seed)[0]


def log_evidence(X, beta, mean, dof, scatter):
    """The marginal likelihood of normal rows whose mean and precision have a normal-Wishart prior (Murphy, 2007)."""
    n, d = X.shape
    step, centred = X.mean(axis=0) - mean, X - X.mean(axis=0)
    after = scatter + centred.T @ centred + beta * n / (beta + n) * np.outer(step, step)
    logs = [np.linalg.slogdet(matrix)[1] for matrix in (scatter, after)]
    value = multigammaln((dof + n) / 2, d) - multigammaln(dof / 2, d) - n * d / 2 * np.log(np.pi)
    return value + dof / 2 * logs[0] - (dof + n) / 2 * logs[1] + d / 2 * np.log(beta / (beta + n))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["full", "tied"])
def test_the_lower_bound_of_one_component_is_the_exact_log_evidence(kind, scale):
    X = draw(40) * scale
    scatter = np.array([[3.0, 0.5, 0.0], [0.5, 2.0, 0.1], [0.0, 0.1, 1.0]]) * scale**2
    prior = {"mean_precision_prior": 0.7, "mean_prior": scale * np.ones(3), "degrees_of_freedom_prior": 4.5}
    model = BayesianGaussianMixture(
        covariance_type=kind,
        weight_concentration_prior_type="dirichlet_distribution",
        covariance_prior=scatter,
        reg_covar=0.0,
        **prior,
    ).fit(X)
    assert model.lower_bound_ == pytest.approx(log_evidence(X, 0.7, scale * np.ones(3), 4.5, scatter), rel=1e-9)
    assert model.certificate_.value < 1e-6
    np.testing.assert_allclose(model.means_[0], (0.7 * scale + 40 * X.mean(axis=0)) / 40.7)


@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_one_column_has_the_exact_log_evidence_whatever_the_covariance_type(kind):
    X = draw(40)[:, :1]
    prior = np.array([2.0]) if kind == "diag" else 2.0
    model = BayesianGaussianMixture(
        covariance_type=kind,
        weight_concentration_prior_type="dirichlet_distribution",
        covariance_prior=prior,
        reg_covar=0.0,
    ).fit(X)
    assert model.lower_bound_ == pytest.approx(log_evidence(X, 1.0, X.mean(axis=0), 1.0, np.array([[2.0]])))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("process", [True, False])
def test_the_posterior_is_that_of_scikit_learn(kind, process):
    X = draw()
    name = "dirichlet_process" if process else "dirichlet_distribution"
    settings = {"n_components": 3, "covariance_type": kind, "weight_concentration_prior_type": name, "tol": 1e-8}
    settings |= {"max_iter": 500, "weight_concentration_prior": 2.0}
    ours = BayesianGaussianMixture(**settings, random_state=0).fit(X)
    theirs = sklearn.mixture.BayesianGaussianMixture(**settings, random_state=0).fit(X)
    own, other = np.argsort(ours.means_ @ [1, 2, 3]), np.argsort(theirs.means_ @ [1, 2, 3])
    np.testing.assert_allclose(ours.means_[own], theirs.means_[other], rtol=1e-4, atol=1e-4)
    if kind != "tied":
        np.testing.assert_allclose(ours.covariances_[own], theirs.covariances_[other], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(ours.degrees_of_freedom_[own], theirs.degrees_of_freedom_[other], rtol=1e-4)
    np.testing.assert_allclose(ours.covariance_prior_, theirs.covariance_prior_)
    if not process:
        # The sticks of a process depend on the order of the components.
        np.testing.assert_allclose(ours.weights_[own], theirs.weights_[other], rtol=1e-4)
        np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_never_falls_and_components_that_nothing_needs_lose_their_share(kind):
    model = BayesianGaussianMixture(
        8, covariance_type=kind, weight_concentration_prior=1e-3, reg_covar=0.0, max_iter=300, random_state=0
    ).fit(draw())
    assert (np.diff(model.lower_bounds_) > -1e-9 * abs(model.lower_bound_)).all()
    assert (np.sort(model.weights_)[:2] < 0.01).all()
    assert model.converged_
    assert model.certificate_.satisfied


def test_weights_are_repetitions():
    X = draw(100)
    weight = np.random.default_rng(0).integers(1, 4, 100)
    start = {"n_components": 3, "tol": 1e-6, "max_iter": 500, "random_state": 0}
    weighted = BayesianGaussianMixture(**start).fit(X, sample_weight=weight)
    repeated = BayesianGaussianMixture(**start).fit(X.repeat(weight, axis=0))
    assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, abs=1e-3)
    np.testing.assert_allclose(np.sort(weighted.weights_), np.sort(repeated.weights_), atol=1e-3)


def test_a_fit_goes_on_from_the_last_posterior():
    X = draw()
    whole = BayesianGaussianMixture(4, random_state=0, tol=1e-9, max_iter=30).fit(X)
    steps = BayesianGaussianMixture(4, random_state=0, tol=1e-9, max_iter=10, warm_start=True)
    for _ in range(3):
        steps.fit(X)
    np.testing.assert_allclose(steps.means_, whole.means_, rtol=1e-6)
    assert steps.lower_bound_ == pytest.approx(whole.lower_bound_, rel=1e-9)


def test_priors_of_the_wrong_shape_are_refused_with_the_cure():
    X = draw(50)
    with pytest.raises(DataError, match=r"'degrees_of_freedom_prior' should be greater than 2, but got 1\.500"):
        BayesianGaussianMixture(degrees_of_freedom_prior=1.5).fit(X)
    with pytest.raises(DataError, match=r"'means' should have the shape of \(3,\)"):
        BayesianGaussianMixture(mean_prior=[0.0]).fit(X)
    with pytest.raises(DataError, match="should be symmetric, positive-definite"):
        BayesianGaussianMixture(covariance_prior=-np.eye(3)).fit(X)
