"""Mean-field annealing: each update lowers the free energy, exact without interaction, means end at corners."""

import numpy as np
import pytest

from mercer.errors import DataError
from mercer.optim import GibbsDistribution, PairwiseEnergy, anneal_mean_field, list_states, mean_field_entropy
from mercer.optim._methods.mean_field import update_mean


def couplings(n, seed):
    J = np.triu(np.random.default_rng(seed).normal(size=(n, n)), 1)
    return J + J.T


def divergence(means, energy, beta):
    """KL(Q || P) by enumeration."""
    states = list_states(len(means))
    q = np.prod(0.5 * (1.0 + states * means), axis=1)
    p = GibbsDistribution.of(energy, states, beta).probabilities
    return float(np.sum(q[q > 0] * np.log(q[q > 0] / p[q > 0])))


@pytest.mark.catalogue("OP-18")
@pytest.mark.parametrize("seed", range(3))
def test_each_update_lowers_the_divergence_which_is_the_free_energy(seed):
    random, beta = np.random.default_rng(seed), 0.7
    energy = PairwiseEnergy(couplings(6, seed), random.normal(size=6))
    log_partition = GibbsDistribution.of(energy, list_states(6), beta).log_partition
    means = random.uniform(-0.9, 0.9, size=6)
    before = divergence(means, energy, beta)
    for k in list(range(6)) * 2:
        means[k] = update_mean(energy.field(means, k), beta)
        after = divergence(means, energy, beta)
        assert after <= before + 1e-12
        free = energy(means) - mean_field_entropy(means) / beta
        assert after == pytest.approx(beta * free + log_partition, abs=1e-9)
        before = after


@pytest.mark.catalogue("OP-18")
def test_the_mean_is_a_sum_over_the_values_of_the_variable():
    for field in (-1.3, 0.0, 0.4):
        weights = np.exp(-2.0 * field * np.array([-1.0, 1.0]))
        assert update_mean(field, 2.0) == pytest.approx(weights @ [-1.0, 1.0] / weights.sum())
    field = np.array([0.3, -1.0, 2.0])
    np.testing.assert_allclose(update_mean(field, 2.0), np.exp(-2.0 * field) / np.exp(-2.0 * field).sum())


@pytest.mark.catalogue("OP-18")
def test_the_field_is_the_derivative_of_the_mean_energy():
    random = np.random.default_rng(0)
    for external, means in ((random.normal(size=5), random.uniform(-1, 1, 5)), (random.normal(size=(5, 3)),) * 2):
        energy = PairwiseEnergy(couplings(5, 2), external)
        step = 1e-6 * random.normal(size=external[2].shape)
        above, below = means.copy(), means.copy()
        above[2], below[2] = above[2] + step, below[2] - step
        expected = 2.0 * np.sum(energy.field(means, 2) * step)
        assert energy(above) - energy(below) == pytest.approx(expected, rel=1e-6)


@pytest.mark.catalogue("OP-18")
def test_without_interaction_it_is_exact():
    external = np.array([0.3, -1.0, 2.0])
    energy = PairwiseEnergy(np.zeros((3, 3)), external)
    result = anneal_mean_field(energy, 3, betas=[0.8], random_state=0)
    exact = GibbsDistribution.of(energy, list_states(3), 0.8)
    np.testing.assert_allclose(result.x, exact.probabilities @ exact.states, rtol=1e-12)
    assert result.history["objective"][-1] == pytest.approx(exact.free_energy)
    assert result.converged
    rows = np.random.default_rng(1).normal(size=(4, 3))
    softened = anneal_mean_field(PairwiseEnergy(np.zeros((4, 4)), rows), (4, 3), betas=[1.5], random_state=0)
    np.testing.assert_allclose(softened.x, np.exp(1.5 * rows) / np.exp(1.5 * rows).sum(axis=1, keepdims=True))


@pytest.mark.catalogue("OP-18")
@pytest.mark.parametrize("seed", range(4))
def test_in_the_cold_means_are_spins_at_a_local_minimum(seed):
    energy = PairwiseEnergy(couplings(8, seed), 0.1 * np.random.default_rng(seed).normal(size=8))
    result = anneal_mean_field(energy, 8, random_state=0)
    # A weak field leaves a mean a little inside: it is tanh(beta field) for every spin.
    field = energy.couplings @ result.x + energy.external
    np.testing.assert_allclose(result.x, np.tanh(result.history["beta"][-1] * field), atol=1e-6)
    spins = np.sign(result.x)
    assert all(energy.flip_change(spins, k) >= 0 for k in range(8))
    assert "not the optimum for certain" in result.certificate.statement
    for beta in np.unique(result.history["beta"]):
        free = result.history["objective"][result.history["beta"] == beta]
        assert np.all(np.diff(free) <= 1e-10)


@pytest.mark.catalogue("OP-18")
def test_one_of_m_variables_end_one_hot_and_two_values_are_spins():
    n = 6
    ring = np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1)
    # Neighbours repel: a ring of even length has two colourings without cost.
    # The three fields of a node differ by a tenth: nothing is left undecided in the cold.
    field = np.random.default_rng(0).permuted(np.tile([0.0, 0.1, 0.2], (n, 1)), axis=1)
    energy = PairwiseEnergy(-ring, field)
    result = anneal_mean_field(energy, (n, 3), betas=np.geomspace(0.01, 1e4, 60), random_state=0)
    np.testing.assert_allclose(np.sort(result.x, axis=1)[:, -1], 1.0, atol=1e-4)
    colours = result.x.argmax(axis=1)
    assert np.all(colours != np.roll(colours, 1))
    J, h = couplings(5, 3), np.random.default_rng(3).normal(size=5)
    spins = anneal_mean_field(PairwiseEnergy(J, h), 5, betas=[0.3], random_state=0, tol=1e-12)
    # s = p_0 - p_1 turns one model into the other, but for a constant.
    shares = PairwiseEnergy(2 * J, np.stack([h - J.sum(axis=1), -h - J.sum(axis=1)], axis=1))
    pairs = anneal_mean_field(shares, (5, 2), betas=[0.3], random_state=0, tol=1e-12)
    np.testing.assert_allclose(pairs.x[:, 0] - pairs.x[:, 1], spins.x, atol=1e-8)


def test_same_seed_same_bits():
    energy = PairwiseEnergy(couplings(8, 1), np.zeros(8))
    assert np.array_equal(*(anneal_mean_field(energy, 8, random_state=2).x for _ in range(2)))


def test_bad_energies_and_temperatures_are_refused():
    with pytest.raises(DataError, match="couplings must be symmetric with a diagonal of zeros"):
        PairwiseEnergy(np.eye(2), np.zeros(2))
    with pytest.raises(DataError, match=r"couplings must have shape \(n, n\) for a field of n rows; got \(2, 2\)"):
        PairwiseEnergy(np.zeros((2, 2)), np.zeros(3))
    with pytest.raises(DataError, match=r"betas must be positive numbers, at least one; got \[\]"):
        anneal_mean_field(PairwiseEnergy(np.zeros((2, 2)), np.zeros(2)), 2, betas=[])
