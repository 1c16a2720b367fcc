"""Exact sums: closed forms, and equality with enumeration for every kind of graph."""

import numpy as np
import pytest

from mercer.energy import IsingModel, PottsModel, find_ground_state, onsager_energy, ring_log_partition
from mercer.errors import MemoryForecastError
from tests.energy.models import MODELS, read_states


@pytest.fixture(params=sorted(MODELS))
def model(request):
    return MODELS[request.param]


@pytest.mark.catalogue("GM-16")
@pytest.mark.parametrize("n", [2, 3, 4, 7, 12])
@pytest.mark.parametrize("strength", [0.3, -0.3, 2.0, -2.0])
def test_the_ring_has_its_closed_form(n, strength):
    closed = np.log((2 * np.cosh(strength)) ** n + (2 * np.sinh(strength)) ** n)
    assert ring_log_partition(n, 1.0, strength) == pytest.approx(closed, rel=1e-12)
    assert IsingModel.ring(n, strength).solve().log_partition == pytest.approx(closed, rel=1e-12)


def test_a_long_cold_ring_of_odd_length_and_negative_couplings_neither_overflows_nor_cancels():
    # Each of 2 n ground states leaves one of n bonds unsatisfied: log Z = log(2 n) + (n - 2) beta at low temperature.
    assert ring_log_partition(1001, 40.0, -1.0) == pytest.approx(np.log(2002) + 999 * 40.0, rel=1e-13)
    assert IsingModel.ring(1001, -40.0).solve(marginals=False).log_partition == pytest.approx(np.log(2002) + 39960)


@pytest.mark.catalogue("GM-16", "OP-17")
def test_sums_equal_enumeration(model):
    states, p, energies = read_states(model)
    exact = model.solve()
    magnetisation = model._form.magnetisations(states)
    assert exact.log_partition == pytest.approx(model.enumerate().log_partition, rel=1e-12)
    assert exact.mean_energy == pytest.approx(p @ energies)
    assert exact.heat_capacity == pytest.approx(model.beta**2 * (p @ (energies - p @ energies) ** 2))
    assert exact.magnetisation == pytest.approx(p @ magnetisation / model.n_sites, abs=1e-12)
    variance = p @ (magnetisation - p @ magnetisation) ** 2
    assert exact.susceptibility == pytest.approx(model.beta * variance / model.n_sites)
    assert exact.entropy == pytest.approx(model.enumerate().entropy)
    assert exact.method == ("tree" if model._graph.is_forest else "transfer")


def test_marginals_and_pairs_equal_enumeration(model):
    states, p, _ = read_states(model)
    exact = model.solve()
    member = states[:, :, None] == np.arange(model.n_states)
    np.testing.assert_allclose(exact.marginals, np.einsum("s,sia->ia", p, member), atol=1e-12)
    for (i, j), pair in zip(model.edges, exact.pair_probabilities, strict=True):
        np.testing.assert_allclose(pair, np.einsum("s,sa,sb->ab", p, member[:, i], member[:, j]), atol=1e-12)
    agreement = np.array([p @ (states[:, 1] == states[:, j]) for j in range(model.n_sites)])
    np.testing.assert_allclose(model.correlations(1), model._correlate(agreement), atol=1e-12)


def test_exact_samples_have_the_frequencies_of_the_states(model):
    states, p, _ = read_states(model)
    drawn = model._encode(model.sample(20_000, random_state=3))
    place = model.n_states ** np.arange(model.n_sites)[::-1]
    order = np.argsort(states @ place)
    counts = np.bincount(np.searchsorted((states @ place)[order], drawn @ place), minlength=len(p))
    expected = 20_000 * p[order]
    # Pearson's statistic has the mean and half the variance of its degrees of freedom; rare states are pooled.
    rare = expected < 5
    pooled = [(counts[rare].sum() - expected[rare].sum()) ** 2 / max(expected[rare].sum(), 1e-9)] if rare.any() else []
    terms = [*((counts[~rare] - expected[~rare]) ** 2 / expected[~rare]), *pooled]
    assert sum(terms) < len(terms) + 5 * np.sqrt(2 * len(terms))


def test_the_ground_state_is_the_least_of_all(model):
    _, _, energies = read_states(model)
    ground = find_ground_state(model)
    assert ground.exact
    assert ground.energy == pytest.approx(energies.min())
    assert model.energy(ground.state) == pytest.approx(ground.energy)
    assert find_ground_state(model, method="anneal", random_state=0).energy == pytest.approx(energies.min())


def test_slopes_of_log_z_are_the_observables():
    model, step = IsingModel.lattice((3, 5), 0.7, 0.1, periodic=(False, True), beta=0.6), 1e-4
    below, here, above = (model.with_beta(0.6 + shift).solve() for shift in (-step, 0.0, step))
    assert (above.log_partition - below.log_partition) / (2 * step) == pytest.approx(-here.mean_energy, rel=1e-6)
    slope = (above.mean_energy - below.mean_energy) / (2 * step)
    assert -(0.6**2) * slope == pytest.approx(here.heat_capacity, rel=1e-6)
    pushed = IsingModel.lattice((3, 5), 0.7, 0.1 + step, periodic=(False, True), beta=0.6).solve().magnetisation
    assert (pushed - here.magnetisation) / step == pytest.approx(here.susceptibility, rel=1e-3)


def test_two_potts_states_of_twice_the_coupling_are_ising_spins():
    potts = PottsModel.lattice((3, 4), 1.4, n_states=2, beta=0.5).solve()
    ising = IsingModel.lattice((3, 4), 0.7, beta=0.5)
    assert potts.log_partition == pytest.approx(ising.solve().log_partition + 0.5 * ising.couplings.sum())
    assert potts.heat_capacity == pytest.approx(ising.solve().heat_capacity)


def test_wide_strips_approach_the_infinite_lattice():
    strip = IsingModel.lattice((8, 60), periodic=(True, False), beta=0.2)
    longer = IsingModel.lattice((8, 120), periodic=(True, False), beta=0.2)
    # The difference of two lengths has no ends; correlations around a section of 8 spins are below 1e-3 here.
    energy = (longer.solve(marginals=False).mean_energy - strip.solve(marginals=False).mean_energy) / (8 * 60)
    assert energy == pytest.approx(onsager_energy(0.2), rel=5e-4)


def test_long_chains_keep_all_digits():
    chain = IsingModel.chain(20_000, 1.0, beta=0.44)
    exact = chain.solve()
    assert exact.log_partition == pytest.approx(np.log(2) + 19_999 * np.log(2 * np.cosh(0.44)), rel=1e-11)
    assert exact.energy_variance == pytest.approx(19_999 / np.cosh(0.44) ** 2, rel=1e-8)
    np.testing.assert_allclose(exact.pair_correlations, np.tanh(0.44), rtol=1e-9)


def test_an_infinite_temperature_makes_all_states_alike():
    exact = IsingModel.lattice((3, 3), beta=0.0).solve()
    assert exact.log_partition == pytest.approx(9 * np.log(2))
    np.testing.assert_allclose(IsingModel.lattice((3, 3), beta=0.0).correlations(0)[1:], 0.0, atol=1e-15)


def test_a_frontier_that_does_not_fit_memory_is_refused_with_a_cure():
    with pytest.raises(MemoryForecastError, match="simulate"):
        IsingModel.lattice((30, 30), beta=0.4).solve()
