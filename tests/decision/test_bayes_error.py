"""The risk of the best decider, and bounds on it."""

import numpy as np
import pytest
from scipy.stats import norm

from mercer.decision import (
    ClassDensities,
    accuracy_costs,
    bhattacharyya_bound,
    chernoff_bound,
    neighbor_bounds,
    prior_bounds,
)
from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    GaussianDensity,
    GeometricDensity,
    MixtureDensity,
    MultivariateGaussianDensity,
    integrate_box,
)


def gaussians(distance, priors=(0.5, 0.5)):
    return ClassDensities([GaussianDensity(0.0, 1.0), GaussianDensity(distance, 1.0)], priors)


@pytest.mark.catalogue("DT-15")
@pytest.mark.parametrize(("distance", "error"), [(1, 0.308538), (2, 0.158655), (4, 0.022750)])
def test_equal_gaussians_err_by_the_normal_tail(distance, error):
    found = gaussians(distance).bayes_error()
    assert found.method == "quadrature"
    assert found.value == pytest.approx(error, abs=5e-7)
    assert found.value == pytest.approx(norm.cdf(-distance / 2), rel=1e-8)


@pytest.mark.catalogue("DT-15")
@pytest.mark.parametrize(("prior", "error"), [(0.2, 0.112067), (0.05, 0.040459)])
def test_unequal_priors_lower_the_error(prior, error):
    assert gaussians(2.0, [prior, 1 - prior]).bayes_error().value == pytest.approx(error, abs=5e-7)


@pytest.mark.catalogue("DT-15")
def test_two_dimensions_and_simulation_agree_with_the_mahalanobis_distance():
    covariance = np.array([[2.0, 1.5], [1.5, 2.0]])
    rows = [MultivariateGaussianDensity(mean, covariance) for mean in ([0.0, 0.0], [2.0, 1.0])]
    world = ClassDensities(rows, [0.5, 0.5])
    distance = np.sqrt([2.0, 1.0] @ np.linalg.solve(covariance, [2.0, 1.0]))
    exact = norm.cdf(-distance / 2)
    assert world.bayes_error(tol=1e-6).value == pytest.approx(exact, rel=1e-5)
    simulated = world.bayes_error(method="monte_carlo", random_state=0)
    assert abs(simulated.value - exact) < 4 * simulated.error


@pytest.mark.parametrize(("prior", "threshold"), [(0.2, 0.306853), (0.05, -0.472219)])
def test_priors_shift_the_boundary_of_equal_gaussians(prior, threshold):
    world = gaussians(2.0, [prior, 1 - prior])
    assert world.decide([threshold - 1e-5, threshold + 1e-5]).tolist() == [0, 1]
    assert 1 + 0.5 * np.log(prior / (1 - prior)) == pytest.approx(threshold, abs=5e-7)


@pytest.mark.catalogue("DT-13")
def test_the_best_decider_pays_no_more_than_any_fixed_action_and_errs_by_the_bayes_error():
    world, costs = gaussians(2.0, [0.3, 0.7]), np.array([[0.0, 10.0], [3.0, 0.0], [1.0, 1.0]])
    risk = world.risk(costs).value
    assert risk < (costs @ world.priors).min()
    assert world.risk(accuracy_costs(2)).value == pytest.approx(world.bayes_error().value)
    X, classes = world.sample(200_000, random_state=1)
    action = (world.posterior(X) @ costs.T).argmin(axis=1)
    incurred = costs[action, classes]
    assert incurred.mean() == pytest.approx(risk, abs=4 * incurred.std() / np.sqrt(len(X)))


@pytest.mark.catalogue("DT-16")
def test_priors_bound_the_error_of_random_problems():
    random = np.random.default_rng(0)
    for _ in range(10):
        prior = random.uniform(0.05, 0.95)
        densities = [GaussianDensity(random.normal(), random.uniform(0.2, 3.0)) for _ in range(2)]
        error = ClassDensities(densities, [prior, 1 - prior]).bayes_error().value
        bounds = prior_bounds([prior, 1 - prior])
        assert error <= bounds["smaller"] + 1e-12
        assert bounds["smaller"] <= min(bounds["twice_smaller"], bounds["guess"])
        assert error <= chernoff_bound(*densities, [prior, 1 - prior]) + 1e-12
    assert prior_bounds([0.1, 0.2, 0.7]) == pytest.approx({"guess": 2 / 3, "smaller": 0.3})


def test_chernoffs_bound_is_the_integral_it_stands_for():
    first, second, s = GaussianDensity(0.0, 1.0), GaussianDensity(1.0, 4.0), 0.3
    overlap = integrate_box(
        lambda x: np.exp(s * first.logpdf(x[:, 0]) + (1 - s) * second.logpdf(x[:, 0])), [-20.0], [20.0]
    )
    assert chernoff_bound(first, second, [0.4, 0.6], exponent=s) == pytest.approx(
        0.4**s * 0.6 ** (1 - s) * overlap.value
    )
    assert chernoff_bound(first, second) <= bhattacharyya_bound(first, second) + 1e-12
    rows = [MultivariateGaussianDensity([m], [[v]]) for m, v in ((0.0, 1.0), (1.0, 4.0))]
    assert chernoff_bound(*rows) == pytest.approx(chernoff_bound(first, second))


def test_nearest_neighbours_bracket_the_bayes_error():
    X, y = gaussians(2.0).sample(6000, random_state=0)
    bounds = neighbor_bounds(X[:, None], np.array(["sea bass", "salmon"])[y])
    assert bounds.lower - 3 * bounds.standard_error < norm.cdf(-1) < bounds.upper
    assert bounds.lower < bounds.upper == bounds.neighbor_error


@pytest.mark.catalogue("DT-09")
def test_fish_with_two_sizes_have_more_than_one_boundary_and_more_priors_a_larger_region():
    salmon = MixtureDensity([GaussianDensity(56.0, 12.0), GaussianDensity(78.0, 20.0)], [0.55, 0.45])
    lengths = np.linspace(30.0, 100.0, 2001)
    shares = []
    for prior in (0.3, 0.5, 0.7):
        world = ClassDensities([salmon, GaussianDensity(66.0, 25.0)], [prior, 1 - prior])
        np.testing.assert_allclose(world.posterior(lengths).sum(axis=1), 1.0)
        decided = world.decide(lengths)
        assert np.abs(np.diff(decided)).sum() >= 2
        shares.append((decided == 0).mean())
    assert shares[0] < shares[1] < shares[2]


def test_whole_numbers_are_simulated_and_quadrature_of_them_is_refused():
    world = ClassDensities([GeometricDensity(0.5), GeometricDensity(4 / 7)], [0.5, 0.5])
    assert world.bayes_error(n_samples=1000, random_state=0).method == "monte_carlo"
    with pytest.raises(DataError, match=r"1 columns of whole numbers. Use method='monte_carlo'"):
        world.bayes_error(method="quadrature")


def test_densities_narrower_than_any_cell_are_noticed():
    """Two sharp classes in one place, a third far away: no cell of a box around all three has a point on them."""
    sharp = [GaussianDensity(0.3712, 1e-8), GaussianDensity(0.3712, 4e-8), GaussianDensity(1e4, 1.0)]
    world = ClassDensities(sharp, [0.4, 0.4, 0.2])
    found = world.bayes_error(random_state=0)
    assert found.method == "monte_carlo"
    near = ClassDensities(sharp[:2], [0.5, 0.5]).bayes_error(limits=([0.3702], [0.3722]))
    assert found.value == pytest.approx(0.8 * near.value, abs=5 * found.error)
    with pytest.raises(DataError, match=r"too narrow, or too far apart, for quadrature"):
        world.bayes_error(method="quadrature")


def test_what_has_no_risk_is_refused():
    with pytest.raises(ParameterError, match=r"priors must have 2 entries"):
        ClassDensities([GaussianDensity(), GaussianDensity()], [1.0])
    with pytest.raises(ParameterError, match=r"Give one matrix"):
        gaussians(1.0).risk(np.zeros((3, 2, 2)))
    with pytest.raises(ParameterError, match=r"method must be 'auto', 'quadrature' or 'monte_carlo'"):
        gaussians(1.0).bayes_error(method="guess")
    with pytest.raises(DataError, match=r"at least two classes; got 1"):
        neighbor_bounds([[0.0], [1.0]], [1, 1])
