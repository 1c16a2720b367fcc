"""Contributions: Shapley values that add up, and equal the definition over all coalitions."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

from mercer.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def compute_value(tree, x, known, node=0):
    """Return the value of a tree where only some columns are known: the definition of the game."""
    left = tree.left[node]
    if left == 0:
        return tree.value[node]
    column = tree.feature[node]
    if column in known:
        goes_left = tree.missing_left[node] if np.isnan(x[column]) else x[column] <= tree.threshold[node]
        return compute_value(tree, x, known, left if goes_left else left + 1)
    parts = [tree.count[child] * compute_value(tree, x, known, child) for child in (left, left + 1)]
    return sum(parts) / tree.count[node]


def test_contributions_are_shapley_values_over_all_coalitions():
    X, y = data()
    model = HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=5).fit(X, y)
    for x, shares in zip(X[:6], model.contributions(X[:6]), strict=True):
        for j in range(4):
            total = 0.0
            for size in range(4):
                weight = factorial(size) * factorial(3 - size) / factorial(4)
                for known in combinations([k for k in range(4) if k != j], size):
                    for tree in model._state.trees:
                        gain = compute_value(tree, x, {*known, j}) - compute_value(tree, x, set(known))
                        total += weight * gain
            assert shares[j] == pytest.approx(total, abs=1e-12)


def test_contributions_add_up_to_the_score():
    X, y = data()
    regressor = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    np.testing.assert_allclose(regressor.contributions(X).sum(axis=1), regressor.predict(X), atol=1e-12)
    classifier = HistGradientBoostingClassifier(max_iter=5).fit(X, np.digitize(y, [-0.5, 0.5]))
    found = classifier.contributions(X)
    assert found.shape == (300, 3, 5)
    np.testing.assert_allclose(found.sum(axis=2), classifier.decision_function(X), atol=1e-12)


def test_the_last_contribution_is_the_mean_score_of_the_training_rows():
    X, y = data()
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, y)
    assert model.contributions(X[:1])[0, -1] == pytest.approx(model.predict(X).mean(), abs=1e-12)


def test_a_column_that_no_split_asks_for_contributes_nothing():
    X, y = data()
    X[:, 3] = 1.0
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    assert np.all(model.contributions(X)[:, 3] == 0)
    assert model.feature_importances_[3] == 0
    assert model.feature_importances_.sum() == pytest.approx(1.0)
