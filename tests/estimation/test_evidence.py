"""Evidence, model comparison and criteria."""

import numpy as np
import pytest
from scipy.special import betaln

from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    BetaGeometric,
    GaussianDensity,
    GaussianMean,
    GeometricDensity,
    JeffreysPrior,
    UniformDensity,
    akaike_criterion,
    bayes_factor,
    bayesian_criterion,
    compare_models,
    description_length,
    laplace_evidence,
    model_probabilities,
    monte_carlo_evidence,
    quadrature_evidence,
)

DATA = [0.2, -0.1, 0.3, 0.0, 0.1]


def geometric(x, theta):
    return GeometricDensity(*theta).logpdf(x)


@pytest.mark.catalogue("PE-22")
@pytest.mark.parametrize(("data", "evidence"), [([0, 2], 1 / 30), ([0, 2, 0, 1], 1 / 280)])
def test_quadrature_and_simulation_find_the_closed_form(data, evidence):
    assert np.exp(quadrature_evidence(geometric, UniformDensity(), data, [0.0], [1.0]).log_value) == pytest.approx(
        evidence
    )
    drawn = monte_carlo_evidence(geometric, UniformDensity(), data, random_state=0)
    assert abs(drawn.log_value - np.log(evidence)) < 4 * drawn.error
    assert np.exp(BetaGeometric().log_evidence(data)) == pytest.approx(evidence)


@pytest.mark.catalogue("PE-22")
def test_laplaces_error_falls_as_data_become_many():
    errors = []
    for n in (2, 20, 200):
        data = np.tile([0, 2, 0, 1], n)
        exact = BetaGeometric().log_evidence(data)
        errors.append(abs(laplace_evidence(geometric, UniformDensity(), data, [0.5]).log_value - exact))
        assert quadrature_evidence(geometric, UniformDensity(), data, [0.0], [1.0]).log_value == pytest.approx(exact)
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 1e-3


@pytest.mark.catalogue("PE-23")
def test_one_theta_explains_both_geometric_samples_better():
    evidence = BetaGeometric().log_evidence
    apart, together = evidence([0, 2]) + evidence([0, 2, 0, 1]), evidence([0, 2, 0, 2, 0, 1])
    assert np.exp(together) == pytest.approx(1 / 5544)
    assert bayes_factor(apart, together) == pytest.approx(33 / 50)
    assert bayes_factor(apart, together) * bayes_factor(together, apart) == pytest.approx(1.0)
    equal, uneven = model_probabilities([apart, together]), model_probabilities([apart, together], [0.9, 0.1])
    assert equal[0] / equal[1] == pytest.approx(0.66)
    assert uneven[0] / uneven[1] == pytest.approx(0.66 * 9)


@pytest.mark.catalogue("PE-24")
def test_the_narrow_model_wins_where_both_can_explain_the_data_and_loses_elsewhere():
    logs = {spread: GaussianMean(0.0, spread).log_evidence(DATA) for spread in (0.01, 1.0, 100.0)}
    assert list(logs.values()) == pytest.approx([-4.692897, -5.544739, -7.753046], abs=5e-7)
    away = [GaussianMean(0.0, spread).log_evidence(np.add(DATA, 6.0)) for spread in (0.01, 1.0, 100.0)]
    assert away[0] < away[1] < away[2]


@pytest.mark.catalogue("PL-36")
def test_the_evidence_of_a_model_integrates_to_one_over_the_data_there_can_be():
    for spread in (0.01, 1.0, 100.0):
        x = np.linspace(-80.0, 80.0, 20_001)
        evidence = np.exp(GaussianMean(0.0, spread).log_evidence(x[None]))
        assert np.trapezoid(evidence, x) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.catalogue("MS-15")
def test_the_table_of_models_agrees_with_the_criterion_where_data_are_many():
    """Is the mean zero, or free? With many data the evidence and Schwarz's criterion order models alike."""
    random = np.random.default_rng(0)
    for truth in (0.0, 0.3):
        x = random.normal(truth, 1.0, size=2000)
        fixed = GaussianDensity(0.0, 1.0).logpdf(x).sum()
        table = compare_models({"zero": fixed, "free": GaussianMean(0.0, 1.0).log_evidence(x)})
        free = GaussianDensity(x.mean(), 1.0).logpdf(x).sum()
        criteria = bayesian_criterion(np.array([fixed, free]), np.array([0, 1]), 2000)
        assert table.best == ("zero", "free")[int(criteria.argmin())] == ("zero" if truth == 0 else "free")
        assert table.probabilities.sum() == pytest.approx(1.0)
        assert "log evidence" in str(table)


@pytest.mark.catalogue("MS-07")
def test_criteria_of_gaussian_regression_find_the_order_of_a_polynomial():
    n, k, rss = 50, 3, 12.0
    likelihood = -0.5 * n * (np.log(2 * np.pi * rss / n) + 1)
    constant = n * (np.log(2 * np.pi) + 1)
    assert bayesian_criterion(likelihood, k, n) == pytest.approx(n * np.log(rss / n) + k * np.log(n) + constant)
    assert description_length(likelihood, k, n) == pytest.approx(bayesian_criterion(likelihood, k, n) / 2)
    assert akaike_criterion(likelihood, k) == pytest.approx(2 * k - 2 * likelihood)
    hits = [sum(best_order(n, seed) == 2 for seed in range(40)) for n in (15, 60, 400)]
    assert hits[0] < hits[2]
    assert hits[2] >= 36


def best_order(n, seed):
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, n)
    y = 1 - x + 0.8 * x**2 + 0.5 * random.normal(size=n)
    criteria = []
    for order in range(6):
        design = np.vander(x, order + 1)
        rss = np.square(y - design @ np.linalg.lstsq(design, y, rcond=None)[0]).sum()
        criteria.append(bayesian_criterion(-0.5 * n * np.log(rss / n), order + 2, n))
    return int(np.argmin(criteria))


def test_several_parameters_are_integrated_too():
    x = GaussianDensity(1.0, 1.0).sample(20, random_state=0)

    def model(x, t):
        return -0.5 * (np.log(2 * np.pi) + t[1] + (x - t[0]) ** 2 * np.exp(-t[1]))

    def flat(t):
        return -0.125 * (t @ t) - np.log(8 * np.pi)

    prior = GaussianDensity(0.0, 4.0)
    exact = quadrature_evidence(model, flat, x, [-3.0, -4.0], [5.0, 4.0], tol=1e-3)
    assert laplace_evidence(model, prior, x, [0.0, 0.0]).log_value == pytest.approx(exact.log_value, abs=0.1)
    drawn = monte_carlo_evidence(model, prior, x, 5000, n_parameters=2, random_state=0)
    assert abs(drawn.log_value - exact.log_value) < 5 * drawn.error


def test_what_has_no_evidence_is_refused():
    def improper(theta):
        return -np.log(theta[0]) if theta[0] > 0 else -np.inf

    with pytest.raises(DataError, match=r"does not settle .* the posterior may be improper. Use a proper prior"):
        quadrature_evidence(lambda x, theta: np.zeros(1), improper, [0], [0.0], [1.0])
    with pytest.raises(DataError, match=r"zero between the limits. Move them"):
        quadrature_evidence(geometric, UniformDensity(), [0], [2.0], [3.0])
    with pytest.raises(DataError, match=r"must have a maximum with negative curvature"):
        laplace_evidence(lambda x, theta: np.zeros(1), lambda theta: 0.0, [0], [0.5])
    with pytest.raises(DataError, match=r"one a model and one finite"):
        model_probabilities([-np.inf, -np.inf])
    with pytest.raises(ParameterError, match=r"priors must have 2 entries"):
        model_probabilities([0.0, 1.0], [1.0])


@pytest.mark.catalogue("PE-15")
def test_the_posterior_under_jeffreys_prior_of_the_geometric_is_proper_after_one_observation():
    found = quadrature_evidence(geometric, JeffreysPrior(GeometricDensity()), [0, 2], [0.0], [1.0])
    assert found.log_value == pytest.approx(betaln(2, 2.5), abs=1e-6)
