"""Annealing and the Gibbs distribution: acceptance, ground states by enumeration, detailed balance, sampling."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.optim import (
    GibbsDistribution,
    MaxIter,
    PairwiseEnergy,
    acceptance_probability,
    anneal,
    list_states,
    sample_states,
)


def spin_glass(n, seed):
    random = np.random.default_rng(seed)
    J = np.triu(random.normal(size=(n, n)), 1)
    return PairwiseEnergy(J + J.T, 0.1 * random.normal(size=n))


def flip(spins, random):
    spins[random.integers(len(spins))] *= -1
    return spins


@pytest.mark.catalogue("OP-16", "PL-30")
def test_acceptance_is_one_half_without_heat_or_change_and_strict_in_the_cold():
    changes = np.array([-3.0, -0.1, 0.0, 0.1, 3.0])
    np.testing.assert_allclose(acceptance_probability(changes, 0.0), 0.5)
    np.testing.assert_allclose(acceptance_probability(changes, np.inf), [1.0, 1.0, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(acceptance_probability(changes, 2.0), 1.0 / (1.0 + np.exp(2.0 * changes)))
    assert acceptance_probability(0.0, 7.0) == 0.5
    metropolis = acceptance_probability(changes, 2.0, "metropolis")
    np.testing.assert_allclose(metropolis, np.minimum(1.0, np.exp(-2.0 * changes)))
    assert np.all(np.isfinite(acceptance_probability(np.array([-1e6, 1e6]), 1e3, "metropolis")))


@pytest.mark.catalogue("OP-16")
@pytest.mark.parametrize("rule", ["heat bath", "metropolis"])
@pytest.mark.parametrize("seed", range(3))
def test_the_ground_state_of_a_small_spin_glass_is_found(rule, seed):
    energy = spin_glass(10, seed)
    least = min(energy(state) for state in list_states(10))
    result = anneal(energy, flip, np.ones(10, dtype=int), rule=rule, random_state=0)
    assert result.value == pytest.approx(least)
    assert energy(result.x) == pytest.approx(result.value)
    assert result.certificate.kind == "none"
    assert "heuristic" in result.certificate.statement
    assert np.all(np.diff(result.history["objective"]) <= 0)
    np.testing.assert_allclose(result.history["beta"][1:] / result.history["beta"][:-1], 1.05)
    assert result.history["accepted"][0] > result.history["accepted"][-1]


@pytest.mark.catalogue("OP-16")
def test_a_partition_problem_is_solved_with_the_logarithmic_schedule():
    numbers = np.array([31, 17, 12, 9, 8, 5, 3, 3])

    def energy(signs):
        return abs(float(signs @ numbers))

    least = min(energy(signs) for signs in list_states(8))
    result = anneal(energy, flip, np.ones(8, dtype=int), factor=None, depth=8.0, stop=MaxIter(400), random_state=0)
    assert result.value == least
    np.testing.assert_allclose(result.history["beta"], np.log(np.arange(2, 402)) / 8.0)


@pytest.mark.catalogue("OP-16")
def test_changes_of_energy_will_do_for_energies():
    energy = spin_glass(12, 5)
    chosen = []

    def propose(spins, random):
        chosen.append(random.integers(12))
        spins[chosen[-1]] *= -1
        return spins

    def change(before, after):
        return energy.flip_change(before, chosen[-1])

    start = np.ones(12, dtype=int)
    whole = anneal(energy, propose, start, stop=MaxIter(30), random_state=3)
    parts = anneal(energy, propose, start, change=change, stop=MaxIter(30), random_state=3)
    assert np.array_equal(whole.x, parts.x)
    assert whole.value == pytest.approx(parts.value)


def test_same_seed_same_bits_and_a_run_goes_on():
    energy = spin_glass(9, 1)
    whole = anneal(energy, flip, np.ones(9, dtype=int), stop=MaxIter(40), random_state=4)
    again = anneal(energy, flip, np.ones(9, dtype=int), stop=MaxIter(40), random_state=4)
    part = anneal(energy, flip, np.ones(9, dtype=int), stop=MaxIter(15), random_state=4)
    rest = anneal(energy, flip, part, stop=MaxIter(25))
    assert np.array_equal(whole.history["energy"], again.history["energy"])
    assert np.array_equal(whole.history["energy"][15:], rest.history["energy"])
    with pytest.raises(ParameterError, match="anneal: factor or depth must be given; got None for both"):
        anneal(energy, flip, np.ones(9), factor=None)
    with pytest.raises(ParameterError, match=r"anneal: factor must be a number in \(1, inf\) or None; got 0\.9\."):
        anneal(energy, flip, np.ones(9), factor=0.9)


@pytest.mark.catalogue("OP-17")
def test_the_gibbs_distribution_is_uniform_when_hot_and_on_the_minima_when_cold():
    energies = np.array([1.0, -2.0, 3.0, -2.0])
    np.testing.assert_allclose(GibbsDistribution(energies, 0.0).probabilities, 0.25)
    for beta in (1e3, np.inf):
        np.testing.assert_allclose(GibbsDistribution(energies, beta).probabilities, [0, 0.5, 0, 0.5], atol=1e-300)
    warm = GibbsDistribution(energies, 0.7)
    weights = np.exp(-0.7 * energies)
    np.testing.assert_allclose(warm.probabilities, weights / weights.sum())
    assert warm.log_partition == pytest.approx(np.log(weights.sum()))
    assert warm.entropy == pytest.approx(0.7 * warm.mean_energy + warm.log_partition)
    assert warm.free_energy == pytest.approx(-warm.log_partition / 0.7)
    assert np.isfinite(GibbsDistribution(1e300 * energies, 1.0).probabilities).all()


@pytest.mark.catalogue("OP-17")
def test_the_slope_of_log_z_is_minus_the_mean_energy():
    energies = np.random.default_rng(0).normal(size=50)
    above, below = (GibbsDistribution(energies, 1.3 + h).log_partition for h in (1e-5, -1e-5))
    assert (above - below) / 2e-5 == pytest.approx(-GibbsDistribution(energies, 1.3).mean_energy, rel=1e-8)


@pytest.mark.catalogue("OP-17")
@pytest.mark.parametrize("rule", ["heat bath", "metropolis"])
def test_detailed_balance_holds_with_the_walk(rule):
    states = list_states(4)
    neighbours = np.sum(states[:, None] != states[None], axis=2) == 1
    distribution = GibbsDistribution.of(spin_glass(4, 0), states, beta=0.8)
    walk = distribution.transition_matrix(neighbours, rule)
    np.testing.assert_allclose(walk.sum(axis=1), 1.0)
    flow = distribution.probabilities[:, None] * walk
    np.testing.assert_allclose(flow, flow.T, atol=1e-16)
    if rule == "heat bath":
        change = distribution.energies[None] - distribution.energies[:, None]
        np.testing.assert_allclose(walk[neighbours], (1.0 / (1.0 + np.exp(0.8 * change)) / 4)[neighbours])


@pytest.mark.catalogue("OP-17")
def test_a_long_walk_reproduces_the_distribution_and_so_do_independent_draws():
    states = list_states(3)
    energy = spin_glass(3, 7)
    distribution = GibbsDistribution.of(energy, states, beta=0.6)
    walked, energies = sample_states(energy, flip, states[0], beta=0.6, n_samples=6000, thin=6, random_state=0)
    drawn = distribution.sample(6000, random_state=0)
    np.testing.assert_allclose(energies, [energy(state) for state in walked], atol=1e-9)
    for sample in (walked, drawn):
        counts = np.array([np.mean(np.all(sample == state, axis=1)) for state in states])
        np.testing.assert_allclose(counts, distribution.probabilities, atol=0.03)
