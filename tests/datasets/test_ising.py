"""The Ising model: energies, rank of pair products, exact averages of a small lattice, couplings and phases found."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import r2_score

from mercer.datasets import ising_critical_temperature, make_ising_chain, make_ising_lattice, pair_products
from mercer.errors import ParameterError
from mercer.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge


def test_energies_are_those_of_neighbours_on_a_ring():
    spins, energy = make_ising_chain(50, 6, coupling=2.0)
    expected = [-2.0 * sum(row[j] * row[(j + 1) % 6] for j in range(6)) for row in spins]
    np.testing.assert_array_equal(energy, expected)
    assert set(np.unique(spins)) == {-1.0, 1.0}


@pytest.mark.catalogue("LM-11")
def test_pair_products_have_rank_46_for_ten_spins():
    products = pair_products(make_ising_chain(1000, 10)[0])
    assert products.shape == (1000, 100)
    assert np.linalg.matrix_rank(products) == 10 * 9 // 2 + 1 == 46


@pytest.mark.catalogue("LM-11")
@pytest.mark.filterwarnings("ignore:LinearRegression. 100 columns have rank")
def test_least_squares_of_least_norm_puts_half_of_the_coupling_on_each_of_two_columns():
    spins, energy = make_ising_chain(400, 10)
    model = LinearRegression(fit_intercept=False).fit(pair_products(spins), energy)
    J = model.coef_.reshape(10, 10)
    expected = 0.5 * (np.roll(np.eye(10), 1, axis=1) + np.roll(np.eye(10), -1, axis=1))
    np.testing.assert_allclose(J, expected, atol=1e-10)
    fresh, truth = make_ising_chain(200, 10, random_state=1)
    assert r2_score(truth, model.predict(pair_products(fresh))) == pytest.approx(1.0)


@pytest.mark.catalogue("LM-11")
def test_lasso_may_put_all_of_it_on_one():
    spins, energy = make_ising_chain(400, 10)
    X, alpha = pair_products(spins), 1e-3
    J = Lasso(alpha, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, energy).coef_.reshape(10, 10)
    pairs = np.array([(J[j, (j + 1) % 10], J[(j + 1) % 10, j]) for j in range(10)])
    np.testing.assert_allclose(pairs.sum(axis=1), 1.0, atol=0.01)
    assert np.sum(pairs.max(axis=1) > 0.98) >= 5
    # Columns (j, k) and (k, j) are the same, so that no split of their sum between them costs more than another.
    one_each = np.triu(J + J.T, 1) + np.diag(np.diagonal(J))

    def objective(w):
        return np.mean((energy - X @ w.ravel()) ** 2) / 2 + alpha * np.abs(w).sum()

    assert objective(one_each) == pytest.approx(objective(J), abs=1e-9)


@pytest.mark.catalogue("LM-11")
@pytest.mark.filterwarnings("ignore:LinearRegression. 100 columns have rank")
def test_fewer_samples_than_the_rank_overfit():
    (spins, energy), (fresh, truth) = make_ising_chain(25, 10), make_ising_chain(300, 10, random_state=1)
    model = LinearRegression(fit_intercept=False).fit(pair_products(spins), energy)
    assert model.score(pair_products(spins), energy) == pytest.approx(1.0)
    assert r2_score(truth, model.predict(pair_products(fresh))) < 0.7


@pytest.mark.catalogue("LM-11", "MS-12")
def test_the_score_centres_on_the_mean_of_the_truth():
    """Ten above the truth is worse than its mean by far; centred on the mean of the predictions it would look fine."""
    y = np.array([1.0, 2.0, 3.0, 4.0])
    model = Ridge(0.0, fit_intercept=False).fit(np.eye(4), y + 10.0)
    assert model.score(np.eye(4), y) == pytest.approx(-79.0)


def test_a_small_lattice_has_its_exact_mean_energy():
    """All 65536 states of four by four, summed."""
    states = np.array(list(product([-1, 1], repeat=16))).reshape(-1, 4, 4)
    energies = -np.sum(states * (np.roll(states, 1, axis=1) + np.roll(states, 1, axis=2)), axis=(1, 2))
    for temperature in (2.0, 3.0):
        weights = np.exp(-(energies - energies.min()) / temperature)
        mean = np.average(energies, weights=weights)
        spread = np.sqrt(np.average((energies - mean) ** 2, weights=weights))
        spins, _, _ = make_ising_lattice(2000, 4, temperature=temperature, n_sweeps=100)
        grid = spins.reshape(-1, 4, 4)
        found = -np.sum(grid * (np.roll(grid, 1, axis=1) + np.roll(grid, 1, axis=2)), axis=(1, 2))
        assert found.mean() == pytest.approx(mean, abs=4 * spread / np.sqrt(2000))


@pytest.mark.catalogue("LM-12")
def test_the_critical_temperature_is_onsagers():
    assert ising_critical_temperature() == pytest.approx(2.269185, abs=1e-6)
    assert np.sinh(2 / ising_critical_temperature()) == pytest.approx(1.0)


@pytest.mark.catalogue("LM-12")
def test_raw_spins_tell_phases_poorly_and_the_magnetisation_tells_them_well():
    spins, _, ordered = make_ising_lattice(400, 8, n_sweeps=100)
    train, test = np.arange(400) % 2 == 0, np.arange(400) % 2 == 1
    raw = LogisticRegression(C=0.1, max_iter=500).fit(spins[train], ordered[train]).score(spins[test], ordered[test])
    size = np.abs(spins.mean(axis=1, keepdims=True))
    found = LogisticRegression(C=100.0).fit(size[train], ordered[train]).score(size[test], ordered[test])
    assert raw < 0.75
    assert found > 0.9


def test_what_cannot_be_a_lattice_is_refused():
    with pytest.raises(ParameterError, match="size must be an even number of at least 2; got 5"):
        make_ising_lattice(size=5)
    with pytest.raises(ParameterError, match="n_spins must be at least 3; got 2"):
        make_ising_chain(n_spins=2)
    with pytest.raises(ParameterError, match=r"temperature must be a number in \(0, inf\); got"):
        make_ising_lattice(temperature=0.0)
