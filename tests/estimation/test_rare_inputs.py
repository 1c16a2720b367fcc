"""Estimation on inputs that other tests leave out: no data, no candidates, priors that are zero in places, defaults."""

import numpy as np
import pytest

from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    AveragedDensity,
    BetaDensity,
    BinomialDensity,
    DirichletCategorical,
    GammaPoisson,
    GaussianDensity,
    GaussianMean,
    UniformDensity,
    grid_posterior,
    log_likelihood_gradient,
    maximum_a_posteriori,
    optimal_prediction,
    select_density,
    simulate_risk,
)


@pytest.mark.parametrize("candidates", [{}, [GaussianDensity()], None])
def test_candidates_are_a_dict_that_is_not_empty(candidates):
    with pytest.raises(ParameterError, match="candidates must be a dict"):
        select_density(candidates, np.random.default_rng(3).normal(size=20))


def test_modes_of_gamma_and_dirichlet_beliefs_are_their_formulas():
    assert GammaPoisson(3.0, 2.0).mode == 1.0
    assert GammaPoisson(1.5, 2.0).mode == 0.25
    assert GammaPoisson(0.5, 2.0).mode == 0.0
    np.testing.assert_allclose(DirichletCategorical([2.0, 3.0, 4.0]).mode, np.array([1, 2, 3]) / 6)
    assert np.isnan(DirichletCategorical([0.5, 2.0, 2.0]).mode).all()


@pytest.mark.parametrize("X", [[], 1.0])
def test_a_gradient_needs_observations(X):
    with pytest.raises(DataError, match="at least one observation"):
        log_likelihood_gradient(lambda x, theta: -((x - theta[0]) ** 2), X, [0.0])


def test_points_of_a_grid_that_the_prior_or_the_family_forbids_are_left_out():
    # The prior forbids means above 1; the family forbids deviations that are not positive.
    prior = [UniformDensity(-1.0, 1.0), None]
    averaged = AveragedDensity.on_grid(GaussianDensity, prior, np.linspace(-2, 2, 5), np.array([-1.0, 0.5, 1.0, 2.0]))
    assert set(averaged.points[:, 0]) == {-1.0, 0.0, 1.0}
    assert set(averaged.points[:, 1]) == {0.5, 1.0, 2.0}


def test_no_trials_can_only_give_zero():
    assert BinomialDensity(0.3, 0).logpdf(0.0) == 0.0


def test_a_beta_fit_refuses_one_constant_column_among_others():
    X = np.column_stack([np.full(10, 0.5), np.random.default_rng(3).uniform(0.1, 0.9, 10)])
    with pytest.raises(DataError, match="not all be equal"):
        BetaDensity().fit(X)


def test_the_noise_of_a_mean_is_one_unless_given():
    assert GaussianMean(0.0, 1.0).update([4.0]).location == pytest.approx(2.0)


def test_the_evidence_of_no_data_is_one():
    axis = np.linspace(0.0, 1.0, 101)
    posterior = grid_posterior(lambda x, p: x, UniformDensity(0.0, 1.0), np.zeros(0), axis)
    assert posterior.log_evidence == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("given", [True, False])
def test_the_map_of_a_gaussian_mean_is_the_same_with_and_without_its_score(given):
    x = np.random.default_rng(3).normal(1.0, 1.0, 15)
    estimate = maximum_a_posteriori(
        lambda X, theta: -0.5 * (X - theta[0]) ** 2,
        GaussianDensity(0.0, 0.5),
        x,
        [0.0],
        score=(lambda X, theta: (X - theta[0])[:, None]) if given else None,
    )
    # Precision of the prior 2, of each observation 1.
    assert estimate.parameters[0] == pytest.approx(x.sum() / (len(x) + 2), abs=1e-6)


def test_a_quantile_lies_between_zero_and_one():
    outcomes, beliefs = np.array([1.0, 2.0, 3.0]), np.array([0.2, 0.5, 0.3])
    assert optimal_prediction(outcomes, beliefs, loss="absolute") == 2.0
    for quantile in (0.0, 1.0, 1.5):
        with pytest.raises((DataError, ParameterError), match="quantile"):
            optimal_prediction(outcomes, beliefs, loss="quantile", quantile=quantile)


def test_an_estimator_may_be_simulated_on_one_observation():
    risk = simulate_risk(np.mean, GaussianDensity(0.0, 1.0), 0.0, n_samples=1, n_repeats=4000, random_state=0)
    assert risk.mean_squared_error == pytest.approx(1.0, abs=0.1)
    with pytest.raises((DataError, ParameterError), match="n_repeats 2 or more"):
        simulate_risk(np.mean, GaussianDensity(0.0, 1.0), 0.0, n_samples=1, n_repeats=1)
