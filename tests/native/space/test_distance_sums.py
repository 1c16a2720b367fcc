"""Sums of distances to groups, at every level and uncompiled, against distances taken directly."""

import importlib

import numpy
import pytest


@pytest.mark.parametrize("tile", [1, 3, 16])
def test_sums_are_those_of_the_direct_distances(level, tile):
    module = importlib.import_module(f"mercer._native.{level}.distance_sums")
    random = numpy.random.default_rng(0)
    # Equal rows and near ones: products alone would leave nothing of their distances.
    X = 100.0 + random.integers(0, 2, size=(12, 3)) + 1e-6 * random.integers(0, 2, size=(12, 3))
    starts = numpy.array([0, 5, 6, 12])
    rows, sums = X[[2, 7]].copy(), numpy.zeros((2, 3))
    norms = (X**2).sum(axis=1)
    for first, last in ((0, 4), (4, 12)):
        scratch = numpy.empty((2, tile))
        module.add_distances(X, norms, first, last, starts, rows, norms[[2, 7]], scratch, sums)
    direct = numpy.linalg.norm(rows[:, None] - X[None], axis=2)
    numpy.testing.assert_allclose(sums, numpy.add.reduceat(direct, starts[:-1], axis=1), rtol=1e-10)
