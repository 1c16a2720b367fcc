"""Native sweeps, clusters and tables, at every level and uncompiled, against the same steps in plain NumPy."""

import importlib

import numpy as np
import pytest

from mercer.energy import IsingModel, PottsModel
from mercer.energy._exact.plan import make_plan

MODEL = PottsModel.lattice((3, 4), 0.8, [0.2, 0.0, -0.1], n_states=3, beta=0.9)
SPINS = IsingModel.lattice((3, 4), np.linspace(-1.0, 1.0, 24), 0.3, beta=0.9)


@pytest.fixture
def load(level):
    return lambda name: importlib.import_module(f"mercer._native.{level}.{name}")


@pytest.mark.parametrize("model", [MODEL, SPINS], ids=["potts", "ising"])
def test_a_heat_bath_draws_each_site_from_its_conditional_distribution(load, model):
    form, random = model._form, np.random.default_rng(0)
    graph, q = form.graph, model.n_states
    states = random.integers(q, size=12, dtype=np.int16)
    order, chances = random.permutation(12), random.random((2, 12))
    expected = states.copy()
    for row in chances:
        for site, chance in zip(order, row, strict=True):
            near = slice(graph.starts[site], graph.starts[site + 1])
            logits = form.fields[site].copy()
            np.add.at(logits, expected[graph.neighbours[near]], form.slot_couplings[near])
            shares = np.exp(0.9 * logits)
            shares /= shares.sum()
            # Two states: the upper one is taken below its probability; more: states in their order.
            expected[site] = chance < shares[1] if q == 2 else np.searchsorted(np.cumsum(shares), chance, side="right")
    load("spin_sweeps").sweep_heat_bath(
        states,
        order,
        graph.starts,
        graph.neighbours,
        0.9 * form.slot_couplings,
        0.9 * form.fields,
        chances,
        np.empty(q),
    )
    np.testing.assert_array_equal(states, expected)


def test_metropolis_takes_offers_by_the_change_of_energy(load):
    form, random = MODEL._form, np.random.default_rng(1)
    graph = form.graph
    states = random.integers(3, size=12, dtype=np.int16)
    visits, chances = random.integers(12, size=(3, 12)), random.random((3, 12))
    offers = random.integers(1, 3, size=(3, 12), dtype=np.int16)
    expected, moved = states.copy(), 0
    for site, chance, offer in zip(visits.ravel(), chances.ravel(), offers.ravel(), strict=True):
        new = int((expected[site] + offer) % 3)
        if chance < np.exp(-0.9 * MODEL.energy_change(expected, int(site), new)):
            expected[site], moved = new, moved + 1
    board = (graph.starts, graph.neighbours, 0.9 * form.slot_couplings, 0.9 * form.fields, chances)
    assert load("spin_sweeps").sweep_metropolis(states, visits, *board, offers) == moved
    np.testing.assert_array_equal(states, expected)


@pytest.mark.fixed_seed("in some draws no cluster turns")
def test_clusters_turn_as_one(load):
    form, random = SPINS._form, np.random.default_rng(2)
    states = random.integers(2, size=12, dtype=np.int16)
    before = states.copy()
    closing = -np.expm1(-0.9 * np.abs(form.couplings)) * np.sign(form.couplings)
    bonds, sites = random.random(len(closing)), random.random(12)
    n_clusters = load("spin_clusters").turn_clusters(
        states,
        form.graph.edges,
        closing,
        0.9 * form.fields,
        bonds,
        sites,
        np.empty(12, dtype=np.int64),
        np.empty((12, 2)),
    )
    agree = before[form.graph.edges[:, 0]] == before[form.graph.edges[:, 1]]
    closed = np.where(agree, bonds < closing, bonds < -closing)
    labels = np.arange(12)
    for _ in range(12):
        for i, j in form.graph.edges[closed]:
            labels[[i, j]] = min(labels[i], labels[j])
    assert n_clusters == len(np.unique(labels))
    turned = states != before
    for label in np.unique(labels):
        assert len(np.unique(turned[labels == label])) == 1
    assert turned.any()


def test_a_grown_cluster_is_connected_and_counts_its_numbers(load):
    form, random = MODEL._form, np.random.default_rng(3)
    graph = form.graph
    closing = -np.expm1(-0.9 * form.slot_couplings)
    states = np.zeros(12, dtype=np.int16)
    counts, pool = np.array([1, 0, 0, 0]), random.random(3 + len(closing))
    load("spin_clusters").grow_clusters(
        states,
        graph.starts,
        graph.neighbours,
        closing,
        np.zeros((12, 3)),
        pool,
        np.empty(12, dtype=np.int64),
        np.zeros(12, dtype=np.int64),
        counts,
    )
    assert counts[0] == 0
    assert counts[2] == np.sum(states > 0) >= 1
    assert len(np.unique(states[states > 0])) == 1
    assert 3 <= counts[1] <= len(pool)


def test_tables_of_a_frontier_add_and_sum_like_arrays(load):
    module, form = load("frontier_tables"), MODEL._form
    step = make_plan(form.graph).steps[2]
    tables = np.random.default_rng(4).normal(size=(1, 9))
    out = np.empty((1, 27))
    strides = np.array([3 ** (step.size - 2 - place) for place in step.neighbours])
    couplings = np.full(len(strides), 0.8)
    module.add_site(tables, strides, couplings, form.fields[0], form.values, 0.9, out)
    digits = np.indices((3, 3, 3))
    gains = form.fields[0][digits[2]] + sum(
        0.8 * (digits[1 - int(np.log(s) / np.log(3) + 0.5)] == digits[2]) for s in strides
    )
    np.testing.assert_allclose(out.reshape(3, 3, 3), tables.reshape(3, 3, 1) + 0.9 * gains, rtol=1e-14)
    summed = np.empty((1, 9))
    module.sum_site(out, 3, 3, summed)
    np.testing.assert_allclose(summed.reshape(3, 3), np.log(np.exp(out.reshape(3, 3, 3)).sum(axis=1)), rtol=1e-13)
    best, choices = np.empty(9), np.empty(9, dtype=np.int16)
    module.choose_states(out[0], 9, 3, best, choices)
    np.testing.assert_array_equal(best.reshape(3, 3), out.reshape(3, 3, 3).max(axis=0))
    np.testing.assert_array_equal(choices.reshape(3, 3), out.reshape(3, 3, 3).argmax(axis=0))


def test_messages_of_a_forest_sum_over_all_states(load):
    module = load("tree_tables")
    chain = PottsModel.chain(3, [0.5, -0.4], [0.1, 0.0, 0.2], beta=1.1)
    tables = np.zeros((3, 3, 5))
    tables[:, :, 0] = 1.1 * chain.fields
    tables[:, :, 1] = -chain.fields
    messages = np.zeros((3, 3))
    order, parent = np.arange(3), np.array([-1, 0, 1])
    couplings = np.array([0.0, 0.5, -0.4])
    taken = module.collect_sums(order, parent, couplings, 1.1, tables, messages, np.empty(5))
    total = taken + np.log(np.exp(tables[0, :, 0]).sum())
    assert total == pytest.approx(chain.enumerate().log_partition)
    marginals, pairs = np.empty((3, 3)), np.zeros((3, 3, 3))
    weights = np.ascontiguousarray(tables[:, :, 0])
    module.distribute_sums(order, parent, 1.1 * couplings, weights, messages, marginals, pairs)
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0)
    np.testing.assert_allclose(pairs[1:].sum(axis=1), marginals[1:])
    states = np.empty((1, 3), dtype=np.int16)
    module.draw_forest(order, parent, 1.1 * couplings, weights, np.zeros((1, 3)), states)
    np.testing.assert_array_equal(states, 0)
    best = np.empty(3, dtype=np.int16)
    gain = module.collect_best(order, parent, couplings, chain.fields.copy(), np.empty((3, 3), dtype=np.int16), best)
    assert -gain == pytest.approx(chain.enumerate().energies.min())
    assert chain.energy(best) == pytest.approx(-gain)
