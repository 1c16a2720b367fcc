"""Sums over the leaves of many trees: packed records give the bits of the plain walk, for rows few and many."""

import importlib

import numpy
import pytest

from mercer.ensemble import RandomForestRegressor
from mercer.ensemble._forest.packed_forest import PackedForest


@pytest.fixture
def forest_walk(level):
    return importlib.import_module(f"mercer._native.{level}.forest_walk")


@pytest.fixture(scope="module", params=[1, 3, None])
def forest(request):
    """Twelve trees grown on rows with gaps, shallow ones and deep ones, and those rows."""
    random = numpy.random.default_rng(0)
    X = random.normal(size=(80, 3))
    X[random.random(X.shape) < 0.1] = numpy.nan
    y = numpy.nan_to_num(X) @ [1.0, -2.0, 0.5]
    model = RandomForestRegressor(12, max_depth=request.param, random_state=0).fit(X, numpy.column_stack([y, y**2]))
    return PackedForest.join([member.tree_ for member in model.estimators_]), X


@pytest.mark.parametrize("real", [numpy.float64, numpy.float32])
@pytest.mark.parametrize("n", [1, 31, 32, 80])
def test_packed_records_give_the_bits_of_the_plain_walk(forest_walk, forest, n, real):
    packed, X = forest
    rows = X[:n].astype(real)
    # Eight go down together: groups that are full, and a last one that is not.
    at, walks = numpy.empty(8, numpy.int32), numpy.empty(8, numpy.int64)
    found, expected = numpy.ones((n, 2)), numpy.ones((n, 2))
    forest_walk.add_packed_values(rows, packed.roots, packed._depths, *packed._records, packed.values, walks, at, found)
    everything = numpy.zeros(0, numpy.int32)
    forest_walk.add_values(rows, everything, *packed._list_arrays(), packed.values, at, expected)
    numpy.testing.assert_array_equal(found, expected)


def test_depths_are_those_of_shallow_trees(forest):
    packed, _ = forest
    nodes = numpy.diff([*packed.roots, len(packed.features)])
    expected = []
    for root, count in zip(packed.roots, nodes, strict=True):
        depth = numpy.zeros(count, int)
        for node in range(count):
            if packed.rights[root + node] >= 0:
                depth[[node + 1, packed.rights[root + node]]] = depth[node] + 1
        expected.append(depth.max() if depth.max() <= 6 else -1)
    assert packed._depths.tolist() == expected
