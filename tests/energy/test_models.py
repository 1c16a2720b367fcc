"""Energies, graphs, closed forms, annealing, learning, and errors by their text."""

import numpy as np
import pytest

from mercer.energy import (
    IsingModel,
    PottsModel,
    anneal_model,
    critical_beta,
    find_ground_state,
    fit_couplings,
    onsager_energy,
    onsager_magnetisation,
    regress_couplings,
)
from mercer.errors import DataError, ParameterError
from mercer.linear_model import Lasso
from mercer.optim import anneal_mean_field
from tests.energy.models import MODELS


@pytest.mark.catalogue("GM-16")
def test_energies_of_small_states_by_hand():
    chain = IsingModel.chain(4, [1.0, 2.0, -1.0], [0.5, 0.0, 0.0, 0.0])
    # -(1 * -1 + 2 * 1 + -1 * -1) - 0.5 = -2.5
    assert chain.energy([1, -1, -1, 1]) == -2.5
    square = IsingModel.lattice((3, 3))
    assert square.energy(np.ones((3, 3))) == -18.0
    potts = PottsModel([(0, 1), (1, 2)], [1.0, 3.0], [[0.0, 0.5], [0.0, 0.0], [1.0, 0.0]], n_states=2)
    assert potts.energy([1, 1, 0]) == -2.5
    np.testing.assert_array_equal(potts.energy([[1, 1, 0], [0, 0, 0]]), [-2.5, -5.0])


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_change_of_energy_is_the_difference_of_energies(name):
    model, random = MODELS[name], np.random.default_rng(0)
    for state in model.sample(5, random_state=1):
        site = int(random.integers(model.n_sites))
        other = state.copy()
        other[site] = -state[site] if isinstance(model, IsingModel) else (state[site] + 1) % 3
        change = model.energy(other) - model.energy(state)
        assert model.energy_change(state, site, int(other[site])) == pytest.approx(change)
        if isinstance(model, IsingModel):
            assert model.flip_change(state, site) == pytest.approx(change)


def test_a_periodic_side_of_two_sites_has_a_double_bond():
    assert IsingModel.ring(2, 0.5).couplings.tolist() == [1.0]
    assert len(IsingModel.lattice((4, 4)).edges) == 32
    assert len(IsingModel.lattice((4, 4), periodic=(True, False)).edges) == 28


def test_a_matrix_gives_the_model_of_its_edges():
    matrix = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, -2.0], [0.0, -2.0, 0.0]])
    model = IsingModel.from_matrix(matrix, 0.1)
    assert model.edges.tolist() == [[0, 1], [1, 2]]
    assert model.energy([1, 1, 1]) == pytest.approx(0.7)
    assert model.to_pairwise_energy()(np.ones(3)) == pytest.approx(0.7)
    assert anneal_mean_field(model.to_pairwise_energy(), 3, random_state=0).value == pytest.approx(-3.1, abs=1e-3)


def test_colours_of_a_lattice_are_a_checkerboard():
    even, odd = IsingModel.lattice((4, 6))._graph.colours
    np.testing.assert_array_equal(np.sort(even), np.flatnonzero(np.indices((4, 6)).sum(axis=0).ravel() % 2 == 0))
    assert len(even) == len(odd) == 12
    # An odd ring has an odd cycle: three colours.
    assert len(IsingModel.ring(5)._graph.colours) == 3


def test_onsager_meets_both_limits_and_the_critical_point():
    beta = critical_beta(2, 2.0)
    assert np.sinh(2 * beta) == pytest.approx(1.0)
    assert onsager_energy(beta) == pytest.approx(-np.sqrt(2.0))
    assert onsager_energy(0.0) == 0.0
    assert onsager_energy(20.0) == pytest.approx(-2.0)
    # Duality: J coth(2 K) (1 + ...) at K and at its dual K* with sinh(2 K) sinh(2 K*) = 1 are linked by
    # u(K*) tanh(2 K*) + u(K) tanh(2 K) = -2.
    dual = 0.5 * np.arcsinh(1.0 / np.sinh(2 * 0.3))
    assert onsager_energy(0.3) * np.tanh(0.6) + onsager_energy(dual) * np.tanh(2 * dual) == pytest.approx(-2.0)
    np.testing.assert_allclose(onsager_magnetisation([0.1, 10.0]), [0.0, 1.0])


def test_a_spin_glass_is_annealed_to_its_ground_state():
    random = np.random.default_rng(4)
    glass = IsingModel.lattice((6, 6), random.normal(size=60), periodic=False)
    exact = find_ground_state(glass)
    assert exact.exact
    found = find_ground_state(glass, method="anneal", random_state=0)
    assert not found.exact
    assert found.energy == pytest.approx(exact.energy)
    small = IsingModel.ring(8, random.normal(size=8))
    assert anneal_model(small, random_state=0).value == pytest.approx(find_ground_state(small).energy)


def test_pseudo_likelihood_recovers_couplings_and_has_a_vanishing_gradient():
    truth = IsingModel([(0, 1), (1, 2), (2, 3), (0, 3)], [0.4, -0.5, 0.3, 0.6], [0.2, 0.0, -0.1, 0.0])
    fit = fit_couplings(truth.sample(30_000, random_state=0))
    np.testing.assert_allclose(fit.couplings[[0, 1, 2, 0], [1, 2, 3, 3]], truth.couplings[[0, 2, 3, 1]], atol=0.03)
    np.testing.assert_allclose(fit.couplings[[0, 1], [2, 3]], 0.0, atol=0.03)
    np.testing.assert_allclose(fit.model.fields, truth.fields, atol=0.03)
    assert fit.result.converged
    assert np.abs(fit.result.gradient).max() <= 1e-6


def test_pseudo_likelihood_of_potts_states_on_known_edges():
    truth = PottsModel.chain(4, [0.8, -0.6, 0.4], [0.3, 0.0, -0.3])
    fit = fit_couplings(truth.sample(30_000, random_state=0), truth.edges, n_states=3)
    np.testing.assert_allclose(fit.model.couplings, truth.couplings, atol=0.06)
    np.testing.assert_allclose(fit.model.fields, truth.fields, atol=0.06)


@pytest.mark.catalogue("LM-11")
@pytest.mark.fixed_seed("24 random states tell all eight bonds in most draws, not in all")
def test_energies_on_pair_products_give_the_couplings():
    random = np.random.default_rng(0)
    spins = random.choice([-1, 1], size=(200, 8))
    truth = IsingModel.ring(8, random.normal(size=8), random.normal(size=8))
    fit = regress_couplings(spins, truth.energy(spins), fields=True)
    np.testing.assert_allclose(fit.model.energy(spins), truth.energy(spins), atol=1e-8)
    # Fewer states than the 28 pairs: the lasso still finds the eight bonds.
    ring = IsingModel.ring(8)
    sparse = regress_couplings(spins[:24], ring.energy(spins[:24]), Lasso(0.02))
    assert set(map(tuple, np.argwhere(np.triu(sparse.couplings) > 0.5))) == set(map(tuple, ring.edges))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: IsingModel([(0, 0)]), DataError, "edge 0 joins site 0 with itself"),
        (lambda: IsingModel([(0, 3)], n_sites=2), DataError, "site numbers must lie in 0 to 1; got 0 to 3"),
        (lambda: IsingModel([]), DataError, "Give n_sites"),
        (
            lambda: IsingModel([(0, 1)], [1.0, 2.0]),
            DataError,
            r"couplings must be one number or an array of shape \(1,\)",
        ),
        (lambda: IsingModel([(0, 1)], np.nan), DataError, "couplings must be finite; got nan"),
        (lambda: IsingModel([(0, 1)], beta=-1.0), ParameterError, "beta must be a number in"),
        (lambda: IsingModel.ring(1), ParameterError, "n_sites must be an integer in"),
        (lambda: IsingModel.lattice((2, 0)), ParameterError, "shape must be positive integers"),
        (lambda: IsingModel.chain(3).energy([1, 0, 1]), DataError, "spins must be -1 or 1; got 0"),
        (lambda: IsingModel.chain(3).energy([1, 1]), DataError, r"states must have shape \(3,\)"),
        (lambda: PottsModel.chain(3).energy([0, 1, 3]), DataError, "integers from 0 to 2"),
        (lambda: IsingModel.from_matrix([[0.0, 1.0], [2.0, 0.0]]), DataError, "symmetric"),
        (lambda: fit_couplings([1, -1]), DataError, r"shape \(n_samples, n_sites\)"),
    ],
)
def test_wrong_input_is_named(make, error, text):
    with pytest.raises(error, match=text):
        make()
