"""Ranks of columns, depth-first order of nodes and sums by level, at every level of the CPU and uncompiled."""

import importlib

import numpy
import pytest

from mercer._native.records import GROWN_NODE, make_records


@pytest.fixture
def tree_order(level):
    return importlib.import_module(f"mercer._native.{level}.tree_order")


@pytest.mark.parametrize("real", [numpy.float64, numpy.float32])
def test_ranks_are_those_of_distinct_values_and_nan_comes_last(tree_order, real):
    nan = numpy.nan
    columns = numpy.array([[2.0, -1.0, 2.0, 0.5], [nan, 3.0, nan, 1.0], [nan] * 4, [7.0] * 4], real)
    codes, values = numpy.empty((4, 4), numpy.intc), numpy.empty(17)
    offsets, missing = numpy.empty(5, numpy.int64), numpy.empty(4, numpy.intc)
    assert tree_order.rank_columns(columns, numpy.argsort(columns, axis=1), codes, values, offsets, missing) == 3
    assert codes.tolist() == [[2, 0, 2, 1], [2, 1, 2, 0], [0] * 4, [0] * 4]
    assert offsets.tolist() == [0, 3, 5, 5, 6]
    assert values[:7].tolist() == [-1.0, 0.5, 2.0, 1.0, 3.0, 7.0, 0.0]
    assert missing.tolist() == [-1, 2, 0, -1]


def order(tree_order, rows, described, values, offsets, is_drawn):
    """Order the nodes; return the arrays of the tree by name."""
    n, grown = len(rows), make_records(len(rows), GROWN_NODE)
    for node, fields in enumerate(rows):
        grown[node] = tuple(fields)
    names = ("children_left", "children_right", "feature", "n_node_samples")
    made = {name: numpy.empty(n, numpy.intc) for name in names}
    made |= {name: numpy.empty(n) for name in ("threshold", "weighted_n_node_samples")}
    made |= {name: numpy.empty(n, numpy.uint8) for name in ("missing_go_to_left", "pure")}
    made |= {"described": numpy.empty(described.shape), "depths": numpy.empty(n, numpy.int64)}
    places, sizes = numpy.empty((2, n), numpy.int64)
    tree_order.order_nodes(grown, described, values, offsets, is_drawn, 1, sizes, places, tree_order.Nodes(made))
    return {name: column.tolist() for name, column in made.items()} | {"places": places.tolist()}


# The root is split into nodes 1 and 2, and node 1 into 3 and 4, by columns 1 and 0; the last split has no value above.
# Left child, feature, greatest code left, least right, side, rows, pure, depth, threshold, weight.
LEAF = [-1, 0, 0, 0, 0]
NODES = [
    [1, 1, 0, 1, 2, 9, 0, 0, 0.5, 9.0],
    [3, 0, 1, 2, 1, 4, 0, 1, 0.75, 4.0],
    [*LEAF, 5, 1, 1, 0.0, 5.0],
    [*LEAF, 3, 0, 2, 0.0, 3.0],
    [*LEAF, 0, 0, 2, 0.0, 1.0],
]


@pytest.mark.parametrize("is_drawn", [False, True])
def test_nodes_are_numbered_depth_first_with_thresholds_midway(tree_order, is_drawn):
    values, described = numpy.array([1.0, 2.0, 4.0, 6.0, 0.0]), numpy.array([[1.0], [3.0], [2.0], [4.0], [5.0]])
    found = order(tree_order, NODES, described, values, numpy.array([0, 2, 4]), is_drawn)
    assert found["places"] == [0, 1, 4, 2, 3]
    assert found["children_left"] == [1, 2, -1, -1, -1]
    assert found["children_right"] == [4, 3, -1, -1, -1]
    assert found["feature"] == [1, 0, -2, -2, -2]
    assert found["depths"] == [0, 1, 2, 2, 1]
    assert found["n_node_samples"] == [9, 4, 3, 0, 5]
    assert found["weighted_n_node_samples"] == [9.0, 4.0, 3.0, 1.0, 5.0]
    assert found["described"] == [[1.0], [3.0], [4.0], [5.0], [2.0]]
    # The root had no missing values: later ones go to the heavier child, here the right one.
    assert found["missing_go_to_left"] == [0, 1, 0, 0, 0]
    assert found["pure"] == [0, 0, 0, 0, 1]
    assert found["threshold"] == ([0.5, 0.75] if is_drawn else [5.0, numpy.inf]) + [-2.0] * 3


def test_a_threshold_between_neighbouring_numbers_is_the_lower_one(tree_order):
    low = 1.0
    values = numpy.array([low, numpy.nextafter(low, 2.0), 0.0])
    nodes = [[1, 0, 0, 1, 0, 2, 0, 0, 0.0, 2.0], [*LEAF, 1, 1, 1, 0.0, 1.0], [*LEAF, 1, 1, 1, 0.0, 1.0]]
    found = order(tree_order, nodes, numpy.ones((3, 1)), values, numpy.array([0, 2]), False)
    assert found["threshold"][0] == low


def test_a_level_counts_its_nodes_and_the_leaves_above(tree_order):
    left = numpy.array([1, 2, -1, -1, -1], numpy.intc)
    depths, costs = numpy.array([0, 1, 2, 2, 1]), numpy.array([16.0, 8.0, 1.0, 2.0, 4.0])
    sums, leaves = numpy.zeros((2, 6)), numpy.zeros((2, 6), numpy.int64)
    assert tree_order.sum_levels(left, depths, costs, sums, leaves) == 3
    assert sums[0, :3].tolist() == [16.0, 12.0, 7.0]
    assert leaves[0, :3].tolist() == [1, 2, 3]


def test_targets_are_counted_in_steps_from_their_origin(tree_order):
    targets = numpy.array([[1.0, -3.0], [2.0, 5.0], [99.0, -99.0]])
    low, high = numpy.empty((2, 2))
    assert tree_order.find_range(targets, numpy.array([1.0, 2.0, 0.0]), low, high)
    assert (low.tolist(), high.tolist()) == ([1.0, -3.0], [2.0, 5.0])
    assert not tree_order.find_range(targets, numpy.array([1.0, 2.5, 0.0]), low, high)
    amounts, slots = numpy.empty((3, 2)), numpy.empty((3, 2), numpy.intc)
    weight, origin = numpy.array([1.0, 3.0, 0.0]), numpy.array([0.0, 1.0])
    tree_order.scale_targets(targets, weight, origin, 0.8, True, amounts, slots)
    # Steps of 0.8: 1.25, -5, 2.5 and 5, rounded to even, times the weight.
    assert amounts[:2].tolist() == [[1.0, -5.0], [6.0, 15.0]]
    assert slots.tolist() == [[0, 1]] * 3
    tree_order.scale_targets(targets, weight, origin, 0.8, False, amounts, slots)
    assert amounts[:2].tolist() == [[1.0, -5.0], [8.0, 15.0]]
