"""The online map at every level and uncompiled, against the rule written out."""

import importlib

import numpy
import pytest


@pytest.mark.parametrize("real", [numpy.float64, numpy.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_units_follow_rows_as_the_rule_says(level, real, weighted):
    module = importlib.import_module(f"mercer._native.{level}.map_steps")
    random = numpy.random.default_rng(0)
    X, centres = random.normal(size=(9, 3)).astype(real), random.normal(size=(4, 3))
    weight = random.integers(0, 3, size=9).astype(float) if weighted else numpy.empty(0)
    across, up = random.uniform(size=(2, 2)), random.uniform(size=(2, 2))
    columns, rows = numpy.array([0, 1, 0, 1], numpy.int32), numpy.array([0, 0, 1, 1], numpy.int32)
    expected, order = centres.copy(), random.permutation(9)
    for i in order:
        winner = ((X[i].astype(float) - expected) ** 2).sum(axis=1).argmin()
        share = 0.4 * across[columns[winner], columns] * up[rows[winner], rows]
        share = 1 - (1 - share) ** (weight[i] if weighted else 1.0)
        expected += share[:, None] * (X[i] - expected)
    module.follow_rows(X, order, weight, across, up, columns, rows, 0.4, numpy.empty(3), centres)
    numpy.testing.assert_allclose(centres, expected, rtol=1e-12)
