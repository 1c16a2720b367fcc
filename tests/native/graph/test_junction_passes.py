"""Messages along a junction tree, at every CPU level and uncompiled: the bits of the interpreted source."""

import importlib

import numpy as np

from mercer.bayesnet import make_network
from mercer.bayesnet._inference import workspace


def propagate(level, monkeypatch, codes):
    """Return the marginals, the evidence and the best states that one build computes."""
    passes = importlib.import_module(f"mercer._native.{level}.junction_passes")
    monkeypatch.setattr(workspace, "passes", passes)
    network = make_network("asia_size")
    tree = network.compile()
    space = tree.take_workspace()
    space.enter(codes, {1: np.array([0.3, 0.9])})
    log_evidence = space.collect(tree.everything)
    space.distribute(tree.everything)
    best = workspace.Workspace(tree.plan, tree.native, tree.flat_tables, best=True)
    best.enter(codes, {})
    states, log_best = best.explain()
    return space.marginals.copy(), log_evidence, states, log_best


def test_every_level_gives_the_bits_of_the_interpreted_source(level, monkeypatch):
    for codes in ({}, {7: 1}, {7: 0, 3: 1, 0: 0}):
        marginals, log_evidence, states, log_best = propagate(level, monkeypatch, codes)
        expected = propagate("interpreted", monkeypatch, codes)
        np.testing.assert_array_equal(marginals, expected[0])
        assert log_evidence == expected[1]
        np.testing.assert_array_equal(states, expected[2])
        assert log_best == expected[3]
