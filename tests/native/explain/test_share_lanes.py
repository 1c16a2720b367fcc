"""Shapley values of trees at every CPU level and uncompiled, against sums over all coalitions."""

import importlib

import numpy as np
import pytest

from mercer._solver.tree import path_shares as solver
from mercer._solver.tree.packed_forest import join_trees
from mercer.ensemble import RandomForestRegressor
from tests.explain.games import play_mixtures, play_trees, solve_game


@pytest.fixture
def at_level(level, monkeypatch):
    """Let the solvers call the native modules of a level."""
    for name in ("path_shares", "background_shares"):
        monkeypatch.setattr(solver, name, importlib.import_module(f"mercer._native.{level}.{name}"))
        monkeypatch.setattr(solver, "lend", lambda nodes: nodes.view(np.recarray) if level == "interpreted" else nodes)
    return level


def grow(categorical):
    random = np.random.default_rng(3)
    X = random.normal(size=(60, 4))
    X[random.random(X.shape) < 0.1] = np.nan
    if categorical:
        X[:, 0] = random.integers(0, 40, 60)
    y = np.nan_to_num(X) @ [1.0, -2.0, 0.5, 0.0] + np.nan_to_num(X[:, 0] * X[:, 1])
    model = RandomForestRegressor(2, max_depth=5, random_state=0, categorical_features=[0] if categorical else None)
    trees = [member.tree_ for member in model.fit(X, np.column_stack([y, y**2])).estimators_]
    return join_trees(trees), trees, X


def test_values_along_paths_are_those_over_all_coalitions(at_level):
    forest, trees, X = grow(categorical=False)
    weights = np.concatenate([tree.weighted_n_node_samples for tree in trees])
    found = solver.share_paths(forest, weights, X[:3], 2, pairs=True)
    for row in range(3):
        for output in range(2):
            single, pairs = solve_game(play_trees(trees, X[row], output), 4)
            np.testing.assert_allclose(found.values[row, output], single, atol=1e-12)
            np.testing.assert_allclose(found.pairs[row, output], pairs, atol=1e-12)


@pytest.mark.parametrize("categorical", [False, True])
def test_values_against_a_background_are_those_over_all_coalitions(at_level, categorical):
    forest, _, X = grow(categorical)
    found = solver.share_background(forest, X[:3], X[10:16], 2, pairs=True)
    for row in range(3):
        for output in range(2):
            single, pairs = solve_game(play_mixtures(lambda Z: forest.sum_leaves(Z, 1), X[row], X[10:16], output), 4)
            np.testing.assert_allclose(found.values[row, output], single, atol=1e-12)
            np.testing.assert_allclose(found.pairs[row, output], pairs, atol=1e-12)


def test_all_levels_give_the_same_bits(at_level, monkeypatch):
    forest, trees, X = grow(categorical=True)
    weights = np.concatenate([tree.weighted_n_node_samples for tree in trees])
    found = solver.share_paths(forest, weights, X[:5], 2, pairs=True)
    plain = importlib.import_module("mercer._native.interpreted.path_shares")
    monkeypatch.setattr(solver, "path_shares", plain)
    monkeypatch.setattr(solver, "lend", lambda nodes: nodes.view(np.recarray))
    expected = solver.share_paths(forest, weights, X[:5], 2, pairs=True)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.pairs, expected.pairs)
