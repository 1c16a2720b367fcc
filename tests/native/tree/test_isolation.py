"""Native growth of isolation trees, at every CPU level and uncompiled."""

import importlib

import numpy as np
import pytest

from mercer._native.records import BRANCH, ISOLATION_NODE, make_records

SEEDS = np.random.SeedSequence(3).generate_state(12).reshape(-1, 2)


@pytest.fixture
def growth(level):
    return importlib.import_module(f"mercer._native.{level}.isolation_growth")


def draw(growth, n, m, repeated=False, seeds=SEEDS):
    rows = np.empty((len(seeds), m), np.int64)
    growth.draw_rows(n, seeds, repeated, np.empty(1 << (2 * m).bit_length(), np.int64), rows)
    return rows


def grow(growth, X, m, n_columns=None, depth=4):
    rows = draw(growth, len(X), m)
    n_trees, d = len(rows), X.shape[1]
    columns = np.repeat(np.arange(d, dtype=np.int32)[None], n_trees, axis=0)
    nodes, stack = make_records((n_trees, 2 * m), ISOLATION_NODE), make_records(depth + 2, BRANCH)
    sizes, values = np.empty(n_trees, np.int64), np.empty(m + 2)
    growth.grow_trees(X, rows, SEEDS, columns, n_columns or d, depth, nodes, stack, values, sizes)
    return rows, columns, nodes, sizes


def test_rows_drawn_without_repetition_are_distinct_and_uniform(growth):
    seeds = np.random.SeedSequence(0).generate_state(400).reshape(-1, 2)
    rows = draw(growth, 10, 4, seeds=seeds)
    assert all(len(set(row)) == 4 for row in rows.tolist())
    # Each of 10 rows is in a sample with probability 0.4: 80 of 200 samples, with a standard deviation of 6.9.
    assert np.abs(np.bincount(rows.ravel(), minlength=10) - 80).max() < 4 * 6.9


def test_all_rows_are_drawn_where_as_many_are_asked_for(growth):
    assert (np.sort(draw(growth, 7, 7), axis=1) == np.arange(7)).all()


def test_rows_drawn_with_repetition_lie_within_the_table(growth):
    rows = draw(growth, 3, 50, repeated=True)
    assert rows.min() == 0
    assert rows.max() == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_node_holds_the_rows_that_its_splits_send_there(growth, dtype):
    X = np.random.default_rng(1).normal(size=(60, 3)).astype(dtype)
    X[::7, 1] = np.nan
    rows, _, nodes, sizes = grow(growth, X, 20)
    for t in range(len(SEEDS)):
        counts = np.zeros(sizes[t], int)
        for row in rows[t]:
            node = 0
            counts[node] += 1
            while nodes[t, node].right >= 0:
                value = X[row, nodes[t, node].feature]
                is_left = bool(nodes[t, node].missing_left) if np.isnan(value) else value <= nodes[t, node].threshold
                node = node + 1 if is_left else nodes[t, node].right
                counts[node] += 1
        assert (counts == nodes[t, : sizes[t]].rows).all()
        assert counts.min() > 0
        assert nodes[t, : sizes[t]].depth.max() <= 4


def test_a_constant_column_is_never_split(growth):
    X = np.random.default_rng(2).normal(size=(30, 4))
    X[:, [0, 2]] = 5.0
    _, _, nodes, sizes = grow(growth, X, 16)
    used = {int(f) for t in range(len(SEEDS)) for f in nodes[t, : sizes[t]].feature}
    assert used == {-2, 1, 3}


def test_a_tree_splits_only_the_columns_drawn_for_it(growth):
    X = np.random.default_rng(2).normal(size=(30, 6))
    _, columns, nodes, sizes = grow(growth, X, 16, n_columns=2)
    for t in range(len(SEEDS)):
        assert {int(f) for f in nodes[t, : sizes[t]].feature} <= {-2, *columns[t, :2].tolist()}
        assert sorted(columns[t]) == list(range(6))
