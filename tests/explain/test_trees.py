"""Shapley values of trees: equal to sums over all coalitions, additive, the same on any number of threads, stable."""

from fractions import Fraction
from functools import partial
from math import comb

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._solver.tree.path_shares import share_paths
from mercer._solver.tree.tree_sum import NodeTable, pack_tables
from mercer.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mercer.explain import shapley
from tests.explain.games import play_mixtures, play_trees, solve_game


def make_rows(seed=0, n=120, d=4):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * random.normal(size=n)


def test_values_of_a_single_split_are_the_difference_from_the_mean():
    X, y = np.array([[0.0], [1.0], [1.0], [1.0]]), np.array([0.0, 4.0, 4.0, 4.0])
    found = shapley(sklearn.tree.DecisionTreeRegressor().fit(X, y), X)
    assert found.base_values.tolist() == [3.0] * 4
    np.testing.assert_allclose(found.values[:, 0], [-3.0, 1.0, 1.0, 1.0], atol=1e-15)


def test_two_columns_of_a_product_share_it_by_halves():
    # The tree of x0 and x1: 1 where both are 1. Worked by hand: the base is 1/4, and 3/4 is shared equally.
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    found = shapley(sklearn.tree.DecisionTreeRegressor(random_state=0).fit(X, [0.0, 0.0, 0.0, 1.0]), X)
    np.testing.assert_allclose(found.values[3], [0.375, 0.375], atol=1e-15)
    np.testing.assert_allclose(found.base_values, 0.25, atol=1e-15)
    pairs = shapley(sklearn.tree.DecisionTreeRegressor(random_state=0).fit(X, [0, 0, 0, 1]), X, interactions=True)
    # What both add beyond each alone: 1 - 1/2 - 1/2 + 1/4, half of it in each cell.
    np.testing.assert_allclose(pairs.values[3], [[0.25, 0.125], [0.125, 0.25]], atol=1e-15)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(3, max_depth=5, random_state=0),
        sklearn.ensemble.ExtraTreesRegressor(3, max_depth=4, random_state=0),
    ],
    ids=["mercer", "scikit-learn"],
)
def test_values_and_interactions_are_those_over_all_coalitions(model):
    X, y = make_rows()
    model.fit(X, y)
    trees = [member.tree_ for member in model.estimators_]
    single, pairs = shapley(model, X[:3]), shapley(model, X[:3], interactions=True)
    for row in range(3):
        expected, joint = solve_game(play_trees(trees, X[row].astype(np.float32), scale=1 / 3), 4)
        np.testing.assert_allclose(single.values[row], expected, atol=1e-12)
        off = ~np.eye(4, dtype=bool)
        np.testing.assert_allclose(pairs.values[row][off], joint[off] / 2, atol=1e-12)
    np.testing.assert_allclose(pairs.values.sum(axis=2), single.values, atol=1e-12)


def test_values_against_a_background_are_those_over_all_coalitions():
    X, y = make_rows()
    model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5).fit(X, y)
    background = X[50:58]
    single, pairs = shapley(model, X[:3], background), shapley(model, X[:3], background, interactions=True)
    assert single.method == "trees"
    for row in range(3):
        expected, joint = solve_game(play_mixtures(model.predict, X[row], background), 4)
        np.testing.assert_allclose(single.values[row], expected, atol=1e-12)
        off = ~np.eye(4, dtype=bool)
        np.testing.assert_allclose(pairs.values[row][off], joint[off] / 2, atol=1e-12)


def play_groups(game, members, players):
    """What groups of columns are worth."""
    return game([column for player in players for column in members[player]])


@pytest.mark.parametrize("background", [None, slice(40, 50)], ids=["paths", "background"])
def test_groups_are_players_that_become_known_together(background):
    X, y = make_rows(d=5)
    model = RandomForestRegressor(2, max_depth=5, random_state=0).fit(X, y)
    groups, members = {"pair": [0, "x3"], "rest": [1, 4]}, [[0, 3], [1, 4], [2]]
    rows = None if background is None else X[background]
    trees = [member.tree_ for member in model.estimators_]
    found = shapley(model, X[:2], rows, groups=groups)
    assert found.feature_names == ["pair", "rest", "x2"]
    for row in range(2):
        game = play_trees(trees, X[row], scale=1 / 2) if rows is None else play_mixtures(model.predict, X[row], rows)
        expected, _ = solve_game(partial(play_groups, game, members), 3)
        np.testing.assert_allclose(found.values[row], expected, atol=1e-12)


def test_missing_values_go_where_trees_send_them():
    X, y = make_rows()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    model = sklearn.ensemble.RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y)
    found = shapley(model, X[:20])
    np.testing.assert_allclose(found.predictions, model.predict(X[:20]), atol=1e-12)
    trees = [member.tree_ for member in model.estimators_]
    row = int(np.flatnonzero(np.isnan(X[:20]).any(axis=1))[0])
    expected, _ = solve_game(play_trees(trees, X[row], scale=1 / 3), 4)
    np.testing.assert_allclose(found.values[row], expected, atol=1e-7)


def test_categories_are_split_as_sets():
    X, y = make_rows(n=200)
    X[:, 0] = np.random.default_rng(5).choice([3.0, 17.0, 40.0, 90.0], size=200)
    model = RandomForestRegressor(3, max_depth=4, random_state=0, categorical_features=[0])
    model.fit(X, y + np.isin(X[:, 0], [3.0, 90.0]))
    found = shapley(model, X[:3], X[20:26])
    assert found.method == "trees"
    for row in range(3):
        expected, _ = solve_game(play_mixtures(model.predict, X[row], X[20:26]), 4)
        np.testing.assert_allclose(found.values[row], expected, atol=1e-12)


def make_chain(depth, d):
    """A tree that goes on to the right only, by one column after the other, with half of the rows at each split."""
    count = 2 * depth + 1
    inner = np.arange(count) % 2 == 0
    inner[-1] = False
    left, right = np.where(inner, np.arange(count) + 1, -1), np.where(inner, np.arange(count) + 2, -1)
    weight = 2.0 ** -np.ceil(np.arange(count) / 2)
    value = np.where(inner, 0.0, np.arange(count) / count)[:, None]
    column = np.arange(count) // 2 % d
    return NodeTable(left, right, column, np.zeros(count), np.zeros(count), value, weight)


def integrate(agreeing, rest):
    """The integral of ((1 + t) / 2)^agreeing ((1 - t) / 2)^rest from 0 to 1, for rest 0 or 1."""
    power = Fraction(2 ** (agreeing + 1) - 1, (agreeing + 1) * 2**agreeing)
    if rest == 0:
        return power
    moment = sum(Fraction(comb(agreeing, i), i + 2) for i in range(agreeing + 1)) / 2**agreeing
    return (power - moment) / 2


def test_deep_trees_of_sixty_columns_lose_no_digits():
    depth = 60
    forest, weights = pack_tables([make_chain(depth, depth)])
    found = share_paths(forest, weights, np.ones((1, depth)), 1).values[0, 0]
    # The row keeps to the path of every leaf up to the split before it. Exact fractions over the leaves of the chain:
    # with k columns that agree and one that does not, z = 1/2 each, the integral is a sum of binomial coefficients.
    expected = [Fraction(0)] * depth
    value = forest.values[:, 0]
    for leaf in range(depth):
        # It leaves the chain at split `leaf`, to the left: the row agrees at all earlier ones.
        for j in range(leaf):
            expected[j] += Fraction(float(value[2 * leaf + 1])) / 2 * integrate(leaf - 1, 1)
        expected[leaf] -= Fraction(float(value[2 * leaf + 1])) / 2 * integrate(leaf, 0)
    for j in range(depth):
        expected[j] += Fraction(float(value[-1])) / 2 * integrate(depth - 1, 0)
    np.testing.assert_allclose(found, [float(number) for number in expected], rtol=1e-11, atol=1e-16)


def test_a_forest_grown_to_its_last_row_adds_up():
    random = np.random.default_rng(0)
    X = np.exp(random.normal(scale=3.0, size=(400, 30)))
    y = np.cumsum(random.exponential(size=400) ** 4)
    model = sklearn.ensemble.ExtraTreesRegressor(3, random_state=0, max_features=1).fit(X, y)
    assert max(member.get_depth() for member in model.estimators_) > 18
    found = shapley(model, X[:50])
    np.testing.assert_allclose(found.predictions, model.predict(X[:50]), atol=1e-13 * y.max())


@pytest.mark.parametrize("background", [None, slice(0, 5)], ids=["paths", "background"])
def test_threads_do_not_change_bits(background):
    X, y = make_rows(n=700)
    model = RandomForestClassifier(20, max_depth=6, random_state=0).fit(X, np.digitize(y, [-0.5, 0.5]))
    rows = None if background is None else X[background]
    one, four = (shapley(model, X, rows, n_jobs=n_jobs) for n_jobs in (1, 4))
    assert one.values.tobytes() == four.values.tobytes()
    np.testing.assert_allclose(one.predictions, model.predict_proba(X), atol=1e-12)


def test_rows_do_not_depend_on_what_else_is_explained():
    X, y = make_rows(n=300)
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, y)
    assert shapley(model, X).values[17:40].tobytes() == shapley(model, X[17:40]).values.tobytes()


def test_a_row_without_training_weight_on_its_path_has_values():
    # All weight is on one side of the root: nothing is expected of the other.
    table = NodeTable(
        np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1]), np.array([0, 0, 1, 0, 0]), np.zeros(5), np.zeros(5),
        np.array([[0.0], [1.0], [0.0], [2.0], [3.0]]), np.array([1.0, 1.0, 0.0, 0.0, 0.0]),
    )  # fmt: skip
    forest, weights = pack_tables([table])
    found = share_paths(forest, weights, np.array([[1.0, 1.0], [-1.0, 1.0]]), 1).values[:, 0]
    np.testing.assert_allclose(found.sum(axis=1), [2.0, 0.0], atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 5), st.booleans())
def test_axioms_hold_for_random_forests(seed, depth, against):
    random = np.random.default_rng(seed)
    X = random.normal(size=(60, 4)).round(1)
    # Column 3 is a dummy: the trees never see it vary.
    X[:, 3] = 0.0
    y = random.normal(size=60) + X[:, 0]
    models = [RandomForestRegressor(2, max_depth=depth, random_state=i).fit(X, y) for i in (0, 1)]
    rows = X[:5] if against else None
    first, second = (shapley(model, X[:8], rows) for model in models)
    # Efficiency, dummy, and linearity: a forest of all trees has the mean of the values.
    np.testing.assert_allclose(first.predictions, models[0].predict(X[:8]), atol=1e-10)
    assert np.abs(first.values[:, 3]).max() == 0.0
    both = RandomForestRegressor(2, max_depth=depth, random_state=0).fit(X, y)
    both.estimators_ = models[0].estimators_ + models[1].estimators_
    np.testing.assert_allclose(shapley(both, X[:8], rows).values, (first.values + second.values) / 2, atol=1e-10)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31))
def test_columns_that_play_the_same_part_have_the_same_value(seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=(40, 2))
    # The tree splits by each column in the same way, on rows where both agree.
    table = NodeTable(
        np.array([1, 3, 5, -1, -1, -1, -1]), np.array([2, 4, 6, -1, -1, -1, -1]), np.array([0, 1, 1, 0, 0, 0, 0]),
        np.zeros(7), np.zeros(7), np.array([0, 0, 0, 1.0, 2.0, 2.0, 5.0])[:, None],
        np.array([4.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0]),
    )  # fmt: skip
    forest, weights = pack_tables([table])
    x[:, 1] = x[:, 0]
    found = share_paths(forest, weights, x, 1).values[:, 0]
    np.testing.assert_allclose(found[:, 0], found[:, 1], atol=1e-14)


def test_boosted_classes_are_explained_in_their_scores():
    X, y = make_rows(n=300)
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, np.digitize(y, [-0.5, 0.5]))
    found = shapley(model, X[:10])
    assert found.output == "score"
    assert found.output_names == [0, 1, 2]
    np.testing.assert_allclose(found.values, model.contributions(X[:10])[:, :, :-1].swapaxes(1, 2), atol=1e-12)
    np.testing.assert_allclose(found.predictions, model.decision_function(X[:10]), atol=1e-12)
