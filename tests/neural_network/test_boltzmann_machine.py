"""Boltzmann machines against enumeration, finite differences and the models of mercer.energy."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chisquare
from sklearn.exceptions import ConvergenceWarning

from mercer.energy import IsingModel
from mercer.errors import DataError, InterruptWarning
from mercer.estimation import as_density
from mercer.neural_network import BoltzmannMachine, Hopfield
from mercer.neural_network._boltzmann import likelihood, machine
from mercer.neural_network._boltzmann.enumeration import anneal_spins, list_spins, sum_spins
from mercer.neural_network._boltzmann.likelihood import CountedStates, _Likelihood, _merge


def draw_machine(n, seed=0, scale=0.5):
    random = np.random.default_rng(seed)
    weights = np.triu(scale * random.normal(size=(n, n)), 1)
    return weights + weights.T, scale * random.normal(size=n)


def list_shares(weights, biases):
    """Every state with its probability, straight from the definition."""
    states = np.array(list(itertools.product((-1.0, 1.0), repeat=len(biases))))
    logs = 0.5 * np.einsum("ij,jk,ik->i", states, weights, states) + states @ biases
    return states, np.exp(logs) / np.exp(logs).sum(), np.log(np.exp(logs).sum())


@pytest.mark.catalogue("NN-22")
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_sums_over_two_halves_are_sums_over_all_states(n):
    weights, biases = draw_machine(n)
    states, shares, total = list_shares(weights, biases)
    sums = sum_spins(weights, biases)
    assert sums.log_partition == pytest.approx(total, rel=1e-13)
    np.testing.assert_allclose(sums.means, shares @ states, rtol=1e-11)
    np.testing.assert_allclose(sums.products, np.einsum("s,si,sj->ij", shares, states, states), rtol=1e-10, atol=1e-14)


@pytest.mark.catalogue("NN-22")
@pytest.mark.parametrize("n_hidden", [0, 2])
def test_the_exact_gradient_is_that_of_finite_differences(n_hidden):
    random = np.random.default_rng(0)
    codes = np.packbits(list_spins(4)[[1, 3, 7, 12]] > 0, axis=1)
    data = CountedStates(codes, np.array([0.1, 0.4, 0.3, 0.2]), 4, 0.0)
    loss = _Likelihood(data, n_hidden, 0.01)
    parameters = 0.4 * random.normal(size=len(loss.pairs[0]) + loss.n_units)
    place = loss.measure(parameters)
    for index in range(len(parameters)):
        step = np.zeros(len(parameters))
        step[index] = 1e-5
        rise = loss.measure(parameters + step).objective - loss.measure(parameters - step).objective
        assert place.gradient[index] == pytest.approx(rise / 2e-5, abs=1e-8)


@pytest.mark.catalogue("NN-22")
def test_learning_finds_the_machine_that_made_the_rows():
    weights, biases = draw_machine(4)
    states, shares, _ = list_shares(weights, biases)
    model = BoltzmannMachine(alpha=0.0, tol=1e-9).fit(states, sample_weight=shares)
    np.testing.assert_allclose(model.weights_, weights, atol=1e-6)
    np.testing.assert_allclose(model.biases_, biases, atol=1e-6)
    np.testing.assert_allclose(model.score_samples(states), np.log(shares), atol=1e-6)
    assert model.converged_
    assert model.certificate_.kind == "gradient norm"
    assert np.all(np.diff(model.history_["log_likelihood"]) >= -1e-12)


def test_hidden_units_raise_the_likelihood_and_probabilities_sum_to_one():
    rows = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    pairs = BoltzmannMachine().fit(rows)
    hidden = BoltzmannMachine(n_hidden=2, alpha=1e-4, random_state=0).fit(rows)
    assert pairs.score(rows) == pytest.approx(-3 * np.log(2), abs=1e-6)
    assert hidden.score(rows) > -1.5
    every = np.array(list(itertools.product((0, 1), repeat=3)))
    assert np.exp(hidden.score_samples(every)).sum() == pytest.approx(1.0)
    assert hidden.coding_ == "bits"
    assert set(np.unique(hidden.sample(20, random_state=0))) == {0.0, 1.0}


@pytest.mark.catalogue("NN-22")
def test_the_stationary_distribution_of_the_heat_bath_is_the_enumeration():
    weights, biases = draw_machine(5)
    states, shares, total = list_shares(weights, biases)
    model = BoltzmannMachine(alpha=0.0, tol=1e-8).fit(states, sample_weight=shares)
    ising = model.to_ising()
    assert isinstance(ising, IsingModel)
    assert ising.solve().log_partition == pytest.approx(total, abs=1e-4)
    chain = ising.simulate(20_000, random_state=0).states.reshape(-1, 5).astype(float)
    np.testing.assert_allclose(chain.mean(axis=0), shares @ states, atol=0.04)
    np.testing.assert_allclose(chain.T @ chain / 20_000.0, np.einsum("s,si,sj->ij", shares, states, states), atol=0.05)
    np.testing.assert_allclose(model.energy(states), -np.log(shares) - total, atol=1e-4)


@pytest.mark.catalogue("NN-22")
@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_sweeps_at_any_temperature_leave_the_boltzmann_distribution_as_it_is(temperature):
    """Chains that begin with exact draws are exact draws after any number of updates: a test of counts by state."""
    weights, biases = draw_machine(4, seed=3)
    states, shares, _ = list_shares(weights / temperature, biases / temperature)
    ising = BoltzmannMachine(max_iter=1).fit(states)
    ising.weights_, ising.biases_ = weights, biases
    first = np.random.default_rng(0).choice(16, 20_000, p=shares)
    chains = ising.to_ising(beta=1 / temperature).simulate(
        1, burn_in=3, n_chains=20_000, start=states[first], random_state=1
    )
    codes = ((chains.states[:, -1, :] > 0) @ (1 << np.arange(3, -1, -1))).astype(int)
    counts = np.bincount(codes, minlength=16)
    assert chisquare(counts, 20_000 * shares).pvalue > 1e-4
    # They moved: a chain that stays where it begins would pass the counts.
    assert (codes != first).mean() > 0.1


@pytest.mark.catalogue("NN-22")
@pytest.mark.parametrize("coding", [(-1, 1), (0, 1)])
def test_the_machine_of_given_rows_is_the_maximum_that_a_search_without_gradients_of_ours_finds(coding):
    random = np.random.default_rng(1)
    rows = random.integers(0, 2, size=(60, 4))
    rows[:, 3] = rows[:, 0] ^ (random.random(60) < 0.2)
    model = BoltzmannMachine(alpha=0.0, tol=1e-9).fit(np.asarray(coding)[rows])
    spins, pairs = 2.0 * rows - 1, np.triu_indices(4, 1)

    def lose(p):
        weights = np.zeros((4, 4))
        weights[pairs] = p[:6]
        weights += weights.T
        _, _, total = list_shares(weights, p[6:])
        return total - np.mean(0.5 * np.einsum("ij,jk,ik->i", spins, weights, spins) + spins @ p[6:])

    best = minimize(lose, np.zeros(10), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(model.weights_[pairs], best.x[:6], atol=1e-4)
    np.testing.assert_allclose(model.biases_, best.x[6:], atol=1e-4)
    assert model.score(np.asarray(coding)[rows]) == pytest.approx(-best.fun, abs=1e-8)
    np.testing.assert_array_equal(np.diag(model.weights_), 0.0)
    # At the maximum the model's means of products are those of the rows.
    states, shares, _ = list_shares(model.weights_, model.biases_)
    np.testing.assert_allclose((states.T * shares) @ states, spins.T @ spins / 60, atol=1e-6)


@pytest.mark.catalogue("NN-22")
def test_a_cold_machine_only_goes_downhill_and_rests_where_every_unit_follows_its_field():
    """Hopfield's dynamics, from their definition: s_i becomes the sign of its field; from all 64 states."""
    weights, biases = draw_machine(6, seed=2)
    states, _, _ = list_shares(weights, biases)
    machine = BoltzmannMachine(max_iter=1).fit(states)
    machine.weights_, machine.biases_ = weights, biases
    cold = machine.to_ising(beta=1e6).simulate(12, burn_in=0, n_chains=64, start=states, random_state=0)
    paths = np.concatenate([states[:, None, :], cold.states], axis=1).astype(float)
    energies = -0.5 * np.einsum("cti,ij,ctj->ct", paths, weights, paths) - paths @ biases
    assert (np.diff(energies, axis=1) <= 1e-12).all()
    last = paths[:, -1]
    np.testing.assert_array_equal(np.sign(last @ weights + biases), last)
    # A state at rest stays.
    at_rest = (np.sign(states @ weights + biases) == states).all(axis=1)
    assert at_rest.any()
    np.testing.assert_array_equal(paths[at_rest, 1], states[at_rest])


@pytest.mark.catalogue("NN-22")
def test_a_cold_machine_moves_as_a_hopfield_network_does():
    patterns = np.where(np.random.default_rng(0).random((2, 16)) < 0.5, -1.0, 1.0)
    memory = Hopfield().fit(patterns)
    machine = BoltzmannMachine(max_iter=1, alpha=1.0).fit(patterns)
    machine.weights_, machine.biases_ = memory.weights_, np.zeros(16)
    damaged = patterns.copy()
    damaged[:, :3] *= -1
    cold = machine.to_ising(beta=1e4).simulate(1, burn_in=20, n_chains=2, start=damaged, random_state=0)
    np.testing.assert_array_equal(cold.states[:, -1, :], memory.predict(damaged))


def test_annealed_importance_sampling_comes_near_the_exact_partition_function():
    weights, biases = draw_machine(8)
    estimate, error = anneal_spins(weights, biases, 400, 100, 0)
    assert estimate == pytest.approx(sum_spins(weights, biases).log_partition, abs=4 * error)
    assert 0 < error < 0.1


def test_sampled_learning_comes_near_the_exact_maximum():
    weights, biases = draw_machine(6, scale=0.4)
    states, shares, _ = list_shares(weights, biases)
    exact = BoltzmannMachine().fit(states, sample_weight=shares)
    sampled = BoltzmannMachine(solver="sampled", random_state=0, max_iter=200).fit(states, sample_weight=shares)
    assert sampled.solver_used_ == "sampled"
    assert exact.score(states) - 0.1 < shares @ sampled.score_samples(states)
    assert np.abs(sampled.weights_ - weights).max() < 0.15


def test_large_machines_learn_by_samples_and_estimate_their_probabilities():
    rows = np.random.default_rng(0).random((40, 22)) < 0.5
    model = BoltzmannMachine(max_iter=5, n_chains=10, random_state=0).fit(rows)
    assert model.solver_used_ == "sampled"
    assert model.sample(3, n_sweeps=5, random_state=0).shape == (3, 22)
    assert model.log_partition_error_ > 0
    assert np.isfinite(model.score_samples(rows)).all()
    with pytest.raises(DataError, match=r"at most 20 units; got 22. Pass solver='sampled'"):
        BoltzmannMachine(solver="exact").fit(rows)
    with pytest.raises(DataError, match=r"states must have shape \(n_samples, 22\), hidden units last; got \(40, 3\)"):
        model.energy(rows[:, :3])


def test_ctrl_c_keeps_a_large_machine_with_a_short_estimate(monkeypatch):
    rows = np.random.default_rng(0).random((40, 200)) < 0.5
    asked = []
    monkeypatch.setattr(machine, "anneal_spins", lambda *given: asked.append(given[2:4]) or anneal_spins(*given))
    moved = []
    move = likelihood.move_chains

    def move_twice(*given):
        if len(moved) == 2:
            raise KeyboardInterrupt
        return moved.append(given) or move(*given)

    monkeypatch.setattr(likelihood, "move_chains", move_twice)
    model = BoltzmannMachine(max_iter=5, n_chains=10, random_state=0)
    with pytest.warns(InterruptWarning), pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    assert asked == [(100, 7)]
    assert model.log_partition_error_ > 0
    monkeypatch.undo()
    whole = BoltzmannMachine(max_iter=2, n_chains=10, random_state=0).fit(rows)
    assert np.array_equal(np.isfinite(whole.score_samples(rows)), np.ones(40, bool))


@pytest.mark.parametrize("n_units", [21, 50, 200, 400, 1000, 5000])
def test_the_work_of_a_short_estimate_is_bounded(n_units):
    chains, levels = machine._choose_short(n_units)
    assert 1 <= levels <= 100
    # Multiplications of one level for one chain, half the square of the units, are the least there can be.
    assert levels == 1 or levels * chains * n_units**2 // 2 <= machine._SHORT_WORK
    assert chains == 100 or n_units >= 1000


@pytest.mark.parametrize("width", [1, 3, 8, 9, 25])
def test_distinct_states_are_counted_in_the_order_of_their_bytes(width):
    random = np.random.default_rng(width)
    codes = random.integers(0, 3, (200, width), dtype=np.uint8) * 120
    codes[100:] = codes[:100]
    weights = random.random(200)
    distinct, place = np.unique(codes, axis=0, return_inverse=True)
    found, sums = _merge(codes, weights)
    np.testing.assert_array_equal(found, distinct)
    np.testing.assert_array_equal(sums, np.bincount(place.ravel(), weights))


def test_the_machine_is_a_density():
    rows = np.random.default_rng(0).random((50, 4)) < 0.3
    density = as_density(BoltzmannMachine().fit(rows))
    assert density.logpdf(rows[:3]).shape == (3,)
    assert density.sample(5, random_state=0).shape == (5, 4)


def test_sampled_learning_that_ends_too_early_says_so():
    weights, biases = draw_machine(6, scale=0.8)
    states, shares, _ = list_shares(weights, biases)
    machine = BoltzmannMachine(solver="sampled", random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter after 20 steps, not converged; gradient norm"):
        short = machine.set_params(max_iter=20).fit(states, sample_weight=shares)
    assert not short.converged_
    bound = short.certificate_.value
    long = machine.set_params(max_iter=800).fit(states, sample_weight=shares)
    assert long.converged_
    assert long.certificate_.value < bound
