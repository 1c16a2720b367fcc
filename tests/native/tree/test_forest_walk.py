"""Walks down packed trees, against a walk row by row in Python: rows few and many, trees shallow and deep."""

import importlib

import numpy as np
import pytest

from mercer._solver.tree.packed_forest import join_trees
from mercer.ensemble import RandomForestRegressor


@pytest.fixture
def forest_walk(level):
    return importlib.import_module(f"mercer._native.{level}.forest_walk")


@pytest.fixture(scope="module", params=[(1, None), (3, None), (None, None), (None, [0])], ids=str)
def forest(request):
    """Twelve trees grown on rows with gaps, shallow ones, deep ones and some with categories, and those rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    X[random.random(X.shape) < 0.1] = np.nan
    depth, categorical = request.param
    if categorical:
        X[:, 0] = random.integers(0, 40, 80)
    y = np.nan_to_num(X) @ [1.0, -2.0, 0.5]
    model = RandomForestRegressor(12, max_depth=depth, random_state=0, categorical_features=categorical)
    trees = [member.tree_ for member in model.fit(X, np.column_stack([y, y**2])).estimators_]
    return join_trees(trees), trees, X


def find_leaf(tree, row):
    """Walk down a tree as scikit-learn's arrays describe it; the nodes on the path."""
    path = [0]
    while tree.children_left[path[-1]] >= 0:
        node = path[-1]
        value, left = row[tree.feature[node]], bool(tree.missing_go_to_left[node])
        start = tree.categories[node] if len(tree.categories) else -1
        if start >= 0:
            pair = start + 1 + 2 * (int(value) // 32) if value >= 0 and value < 32 * tree.words[start] else None
            if pair is not None and tree.words[pair] >> int(value) % 32 & 1:
                left = bool(tree.words[pair + 1] >> int(value) % 32 & 1)
        elif not np.isnan(value):
            left = value <= tree.threshold[node]
        path.append(tree.children_left[node] if left else tree.children_right[node])
    return path


def walk(native, packed, X, sums=None, leaves=None, deep=False):
    roots, depths, outputs, nodes, *others = packed._arrays
    # Eight go down together: groups that are full, and a last one that is not.
    scratch = np.empty(8, np.int64), np.empty(8, np.int32)
    none = np.empty((0, 0)), np.empty((0, 0), np.int64)
    depths = np.full_like(depths, -1) if deep else depths
    kept = none[0] if sums is None else sums, none[1] if leaves is None else leaves
    native.walk(X, roots, depths, outputs, nodes.view(np.recarray), *others, *scratch, *kept)


@pytest.mark.parametrize("real", [np.float64, np.float32])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("n", "deep"), [(1, False), (31, False), (32, False), (32, True), (80, False), (80, True)])
def test_rows_go_to_the_leaves_that_their_values_name(forest_walk, forest, n, deep, gaps, real):
    packed, trees, X = forest
    rows = (X if gaps else np.nan_to_num(X))[:n].astype(real)
    expected = np.array([[find_leaf(tree, row)[-1] for tree in trees] for row in rows])
    leaves, sums, start = np.empty((n, 12), np.int64), np.ones((n, 2)), np.ones((n, 2))
    walk(forest_walk, packed, rows, leaves=leaves, deep=deep)
    np.testing.assert_array_equal(leaves, expected)
    walk(forest_walk, packed, rows, sums=sums, deep=deep)
    for tree, column in zip(trees, expected.T, strict=True):
        start += tree.value[column, :, 0]
    np.testing.assert_array_equal(sums, start)


def test_bins_go_down_as_numbers_do(forest_walk, forest):
    packed, _, X = forest
    rows = np.abs(np.nan_to_num(X)).astype(np.uint8)
    found, expected = np.empty((80, 12), np.int64), np.empty((80, 12), np.int64)
    walk(forest_walk, packed, rows, leaves=found)
    walk(forest_walk, packed, rows.astype(float), leaves=expected)
    np.testing.assert_array_equal(found, expected)


def test_each_tree_adds_to_the_output_that_is_its_own(forest_walk, forest):
    packed, trees, X = forest
    turns = join_trees(trees, 3)
    sums, each = np.zeros((80, 4)), np.zeros((80, 4))
    walk(forest_walk, turns, X, sums=sums)
    for number in range(12):
        part = np.zeros((80, 2))
        walk(forest_walk, packed.select(number, number + 1), X, sums=part)
        each[:, number % 3 : number % 3 + 2] += part
    np.testing.assert_allclose(sums, each, rtol=1e-13)


def test_paths_hold_every_node_from_the_root_to_the_leaf(forest_walk, forest):
    packed, trees, X = forest
    roots = packed.roots.tolist()
    expected = [[root + node for tree, root in zip(trees, roots) for node in find_leaf(tree, row)] for row in X]
    ends = np.cumsum([0, *map(len, expected)])
    paths = np.empty(ends[-1], np.int64)
    forest_walk.mark_paths(X, packed.roots, packed.nodes.view(np.recarray), packed.words, ends[:-1], paths)
    np.testing.assert_array_equal(paths, np.concatenate(expected))
    np.testing.assert_array_equal(packed.find_paths(X, 1).indices, paths)


def test_rows_take_as_many_steps_as_a_small_tree_is_deep(forest):
    """Rows walk down the others until they reach a leaf: a tree of few rows in which one side is long."""
    packed, trees, _ = forest
    for found, tree in zip(packed._arrays[1].tolist(), trees, strict=True):
        assert found == tree.max_depth or (found == -1 and tree.max_depth > 15)
