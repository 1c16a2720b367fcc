"""Native samples of rows, and trees of random splits grown on them, at every CPU level and uncompiled."""

import importlib

import numpy as np
import pytest

from mercer._solver.tree import search, whole_growth
from mercer._solver.tree.growth import mix_seeds
from mercer._solver.tree.search import Room
from mercer._solver.tree.whole_growth import grow_apart

SEEDS = np.random.SeedSequence(3).generate_state(12).reshape(-1, 2)


@pytest.fixture
def sampling(level):
    return importlib.import_module(f"mercer._native.{level}.sample_rows")


@pytest.fixture(autouse=True)
def native(level, monkeypatch):
    """The growth at one level."""
    node_search = importlib.import_module(f"mercer._native.{level}.node_search")
    for module in (search, whole_growth):
        monkeypatch.setattr(module, "node_search", node_search)
    monkeypatch.setattr(whole_growth, "tree_order", importlib.import_module(f"mercer._native.{level}.tree_order"))
    monkeypatch.setattr("mercer._native.records.level", lambda: level)


def draw(sampling, n, m, repeated=False, seeds=SEEDS):
    rows = np.empty((len(seeds), m), np.int64)
    sampling.draw_rows(n, seeds, repeated, np.empty(1 << (2 * m).bit_length(), np.int64), rows)
    return rows


def grow(X, m, drawn=None, depth=4, n_trees=6):
    rows = np.stack([np.random.default_rng(t).choice(len(X), m, replace=False) for t in range(n_trees)])
    sizes, nodes = grow_apart(X, rows, np.arange(n_trees) * 7919, drawn, depth, Room())
    ends = np.cumsum(sizes)
    return rows, [{name: values[a:b] for name, values in nodes.items()} for a, b in zip(ends - sizes, ends)]


def test_rows_drawn_without_repetition_are_distinct_and_uniform(sampling):
    seeds = np.random.SeedSequence(0).generate_state(400).reshape(-1, 2)
    rows = draw(sampling, 10, 4, seeds=seeds)
    assert all(len(set(row)) == 4 for row in rows.tolist())
    # Each of 10 rows is in a sample with probability 0.4: 80 of 200 samples, with a standard deviation of 6.9.
    assert np.abs(np.bincount(rows.ravel(), minlength=10) - 80).max() < 4 * 6.9


def test_all_rows_are_drawn_where_as_many_are_asked_for(sampling):
    assert (np.sort(draw(sampling, 7, 7), axis=1) == np.arange(7)).all()


def test_rows_drawn_with_repetition_lie_within_the_table(sampling):
    rows = draw(sampling, 3, 50, repeated=True)
    assert rows.min() == 0
    assert rows.max() == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_node_holds_the_rows_that_its_splits_send_there(dtype):
    X = np.random.default_rng(1).normal(size=(60, 3)).astype(dtype)
    X[::7, 1] = np.nan
    rows, trees = grow(X, 20)
    for own, tree in zip(rows, trees):
        counts, depths = np.zeros(len(tree["feature"]), int), np.zeros(len(tree["feature"]), int)
        for row in own:
            node, depth = 0, 0
            counts[node] += 1
            while tree["children_right"][node] >= 0:
                value = X[row, tree["feature"][node]]
                is_left = tree["missing_go_to_left"][node] if np.isnan(value) else value <= tree["threshold"][node]
                node, depth = node + 1 if is_left else tree["children_right"][node], depth + 1
                counts[node] += 1
                depths[node] = depth
        assert (counts == tree["n_node_samples"]).all()
        assert counts.min() > 0
        assert (depths == tree["depths"]).all()
        assert depths.max() <= 4


def test_rows_are_alone_or_equal_in_leaves_of_trees_without_a_limit():
    X = np.random.default_rng(1).integers(0, 3, size=(60, 2)).astype(float)
    rows, trees = grow(X, 40, depth=60)
    for own, tree in zip(rows, trees):
        leaves = {}
        for row in own:
            node = 0
            while tree["children_right"][node] >= 0:
                is_left = X[row, tree["feature"][node]] <= tree["threshold"][node]
                node = node + 1 if is_left else tree["children_right"][node]
            leaves.setdefault(node, set()).add(tuple(X[row]))
        assert all(len(seen) == 1 for seen in leaves.values())


def test_a_constant_column_is_never_split():
    X = np.random.default_rng(2).normal(size=(30, 4))
    X[:, [0, 2]] = 5.0
    assert {int(f) for tree in grow(X, 16)[1] for f in tree["feature"]} == {-2, 1, 3}


def test_a_tree_splits_only_the_columns_drawn_for_it():
    X = np.random.default_rng(2).normal(size=(30, 6))
    drawn = np.array([[0, 1], [2, 3], [4, 5], [0, 5], [1, 4], [2, 4]], np.int32)
    for own, tree in zip(drawn, grow(X, 16, drawn)[1]):
        assert {int(f) for f in tree["feature"]} == {-2, *own.tolist()}


def test_a_tree_depends_neither_on_the_others_nor_on_their_columns():
    X = np.random.default_rng(2).normal(size=(30, 6))
    together = grow(X, 16)[1]
    for t in range(6):
        rows = np.random.default_rng(t).choice(30, 16, replace=False)[None]
        sizes, alone = grow_apart(X, rows, np.array([t * 7919]), None, 4, Room())
        assert all(np.array_equal(alone[name], values) for name, values in together[t].items())
        # The columns that are drawn stand for themselves, in another order of draws.
        assert grow_apart(X, rows, np.array([t * 7919]), np.arange(6, dtype=np.int32)[None], 4, Room())[0] == sizes


def test_roots_split_each_column_equally_often_at_uniform_places():
    X = np.array([[0.0, 0.0], [1.0, 4.0]])
    rows = np.tile([0, 1], (2000, 1))
    sizes, nodes = grow_apart(X, rows, mix_seeds(np.arange(2000)), None, 1, Room())
    assert (sizes == 3).all()
    features, cuts = nodes["feature"][::3], nodes["threshold"][::3]
    # A share of a half, with a deviation of 0.011; a mean of uniform numbers, with one of 0.0065.
    assert abs(features.mean() - 0.5) < 0.05
    assert abs((cuts / np.where(features == 1, 4.0, 1.0)).mean() - 0.5) < 0.03
