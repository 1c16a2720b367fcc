"""Checks of trees from files, against their definition: a walk that looks at every node."""

import numpy as np
import pytest

from mercer._solver.tree.soundness import are_depths, check_nodes, check_tree_list
from mercer.errors import ModelFileError

COLUMNS = 3


def grow(count, random):
    """Return the right children and columns of a random tree of `count` inner nodes, and the depths of all nodes."""
    right, feature, depths = [], [], []

    def add(inner, depth):
        place = len(right)
        right.append(-1)
        feature.append(int(random.integers(COLUMNS)) if inner else -1)
        depths.append(depth)
        if inner:
            share = int(random.integers(inner))
            add(share, depth + 1)
            right[place] = len(right)
            add(inner - 1 - share, depth + 1)

    add(count, 0)
    return np.array(right), np.array(feature), np.array(depths)


def is_tree(left, right, feature):
    """Walk from the root: all nodes are met once, children come after parents, columns exist, and leaves have none."""
    met, pending = [], [0]
    while pending:
        node = pending.pop()
        if not 0 <= node < len(feature) or len(met) > len(feature):
            return False
        met.append(node)
        if left[node] < 0:
            if right[node] >= 0 or feature[node] >= 0:
                return False
        elif left[node] != node + 1 or right[node] <= left[node] or not 0 <= feature[node] < COLUMNS:
            return False
        else:
            pending += [left[node], right[node]]
    return sorted(met) == list(range(len(feature)))


def is_accepted(check, *arguments):
    try:
        check("Tree", *arguments, COLUMNS)
    except ModelFileError:
        return False
    return True


def test_a_tree_is_accepted_exactly_if_a_walk_meets_every_node_once():
    random = np.random.default_rng(0)
    outcomes = []
    for case in range(1500):
        right, feature, _ = grow(case % 4, random)
        left = np.where(right >= 0, np.arange(1, len(right) + 1), -1)
        arrays = [left, right, feature]
        for _ in range(case % 3):
            arrays[random.integers(3)][random.integers(len(right))] = random.integers(-2, len(right) + 2)
        outcomes.append(is_tree(*arrays))
        assert is_accepted(check_nodes, *arrays) == outcomes[-1], arrays
    assert 400 < sum(outcomes) < 1200


def test_a_list_of_trees_is_accepted_exactly_if_each_of_them_is_a_tree():
    random = np.random.default_rng(0)
    outcomes = []
    for case in range(1500):
        trees = [grow(int(random.integers(4)), random)[:2] for _ in range(3)]
        sizes = np.array([len(right) for right, _ in trees])
        right, feature = (np.concatenate(parts) for parts in zip(*trees, strict=True))
        for _ in range(case % 3):
            (right, feature)[random.integers(2)][random.integers(len(right))] = random.integers(-1, 6)
        parts = zip(np.split(right, np.cumsum(sizes)[:-1]), np.split(feature, np.cumsum(sizes)[:-1]), strict=True)
        lefts = [(np.where(one >= 0, np.arange(1, len(one) + 1), -1), one, columns) for one, columns in parts]
        outcomes.append(all(is_tree(*arrays) for arrays in lefts))
        assert is_accepted(check_tree_list, sizes, right, feature) == outcomes[-1], (sizes, right, feature)
    assert 400 < sum(outcomes) < 1200


@pytest.mark.parametrize("sizes", [[], [1], [1, 2], [4]])
def test_sizes_that_do_not_add_up_to_the_nodes_are_refused(sizes):
    right, feature, _ = grow(2, np.random.default_rng(0))
    with pytest.raises(ModelFileError, match="a node for each of `sizes`"):
        check_tree_list("Trees", np.array(sizes, dtype=int), right, feature, COLUMNS)


def test_depths_are_those_of_the_walk():
    random = np.random.default_rng(0)
    trees = [grow(count, random) for count in (0, 3, 1, 6)]
    sizes = np.array([len(tree[0]) for tree in trees])
    right, feature, depths = (np.concatenate(parts) for parts in zip(*trees, strict=True))
    places = check_tree_list("Trees", sizes, right, feature, COLUMNS)
    assert are_depths(depths, *places)
    for node in range(len(depths)):
        # Every other depth of every node is noticed.
        for change in (-1, 1, 7):
            assert not are_depths(depths + change * (np.arange(len(depths)) == node), *places)
