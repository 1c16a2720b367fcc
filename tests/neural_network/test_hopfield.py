"""Hopfield networks: energies that never rise, fixed points, and the load at which recall breaks."""

import numpy as np
import pytest

from mercer.errors import DataError
from mercer.neural_network import Hopfield, hopfield_capacity, hopfield_flip_probability


def draw_patterns(n, d, seed=0):
    return np.where(np.random.default_rng(seed).random((n, d)) < 0.5, -1.0, 1.0)


def flip(patterns, share, seed=1):
    noise = np.random.default_rng(seed).random(patterns.shape) < share
    return np.where(noise, -patterns, patterns)


@pytest.mark.catalogue("NN-21")
def test_hebbs_weights_are_the_sum_of_outer_products():
    patterns = np.array([[1, 1, -1], [1, -1, -1]])
    expected = np.array([[0, 0, -2], [0, 0, 0], [-2, 0, 0]]) / 3
    np.testing.assert_allclose(Hopfield().fit(patterns).weights_, expected)


@pytest.mark.catalogue("NN-21")
@pytest.mark.parametrize("rule", ["hebb", "pseudo_inverse", "storkey"])
def test_a_single_pattern_and_its_negative_are_fixed_points(rule):
    pattern = draw_patterns(1, 40)
    memory = Hopfield(rule).fit(pattern)
    assert memory.is_fixed_point(np.vstack([pattern, -pattern])).all()
    assert not memory.is_fixed_point(flip(pattern, 0.2)).any()
    assert np.array_equal(memory.predict(flip(pattern, 0.2)), pattern)
    assert memory.energy(pattern) == pytest.approx(memory.energy(-pattern))
    assert memory.certificate_.satisfied


@pytest.mark.catalogue("NN-21")
@pytest.mark.parametrize("rule", ["hebb", "pseudo_inverse", "storkey"])
def test_the_energy_never_rises_when_units_are_set_one_at_a_time(rule):
    memory = Hopfield(rule, max_iter=50).fit(draw_patterns(30, 60))
    answer = memory.recall(draw_patterns(40, 60, seed=3))
    assert answer.energies.shape == (answer.n_sweeps + 1, 40)
    assert (np.diff(answer.energies, axis=0) <= 1e-12).all()
    assert answer.converged.all()
    assert memory.is_fixed_point(answer.states).all()
    np.testing.assert_allclose(memory.energy(answer.states), answer.energies[-1])


@pytest.mark.catalogue("NN-21")
def test_damaged_patterns_are_recalled_at_low_load_and_lost_above_the_capacity():
    overlaps = {}
    for load in (0.05, 0.3):
        patterns = draw_patterns(int(load * 400), 400)
        memory = Hopfield().fit(patterns)
        overlaps[load] = (memory.predict(flip(patterns, 0.1)) * patterns).mean()
    assert overlaps[0.05] > 0.999
    assert overlaps[0.3] < 0.6
    assert hopfield_capacity(400) == pytest.approx(55.2)
    assert 0.05 * 400 < hopfield_capacity(400, exact=True) < 0.3 * 400


def test_the_certificate_is_the_share_of_unstable_units_that_theory_predicts():
    load, d = 0.3, 600
    memory = Hopfield().fit(draw_patterns(int(load * d), d))
    assert memory.certificate_.value == pytest.approx(hopfield_flip_probability(load), rel=0.1)
    assert not memory.certificate_.satisfied


def test_the_other_rules_store_more_than_hebbs():
    patterns = draw_patterns(40, 100)
    unstable = {rule: Hopfield(rule).fit(patterns).certificate_.value for rule in ("hebb", "storkey", "pseudo_inverse")}
    assert unstable["pseudo_inverse"] == 0
    assert unstable["storkey"] < unstable["hebb"]


def test_synchronous_updates_can_cycle_and_say_so():
    memory = Hopfield(updates="synchronous", max_iter=7).fit(np.array([[1.0, -1.0]]))
    answer = memory.recall(np.array([[1.0, 1.0], [1.0, -1.0]]))
    assert answer.n_sweeps == 7
    assert answer.converged.tolist() == [False, True]
    assert Hopfield(max_iter=7).fit(np.array([[1.0, -1.0]])).recall(np.array([[1.0, 1.0]])).converged.all()


def test_bits_are_read_and_written_as_bits():
    patterns = draw_patterns(3, 50)
    bits = ((patterns + 1) / 2).astype(int)
    memory = Hopfield().fit(bits)
    np.testing.assert_array_equal(memory.weights_, Hopfield().fit(patterns).weights_)
    assert memory.coding_ == "bits"
    assert np.array_equal(memory.predict(bits), bits)
    assert np.array_equal(memory.transform(bits.astype(np.float32)), bits)


def test_weights_of_patterns_are_repetitions():
    patterns = draw_patterns(4, 30)
    for rule in ("hebb", "storkey"):
        weighted = Hopfield(rule).fit(patterns, sample_weight=[1, 2, 0, 1])
        repeated = Hopfield(rule).fit(patterns[[0, 1, 1, 3]])
        np.testing.assert_allclose(weighted.weights_, repeated.weights_)


def test_capacities_need_two_units():
    with pytest.raises(DataError, match="n_units must be at least 2; got 1"):
        hopfield_capacity(1)
