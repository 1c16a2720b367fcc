"""The histogram splitter: cuts between at most 255 steps of a column, by weight, and nothing else that is new."""

import numpy as np
import pytest

from mercer.errors import UnsupportedError
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor

SHAPE, SUMS = ("children_left", "feature", "threshold"), ("value", "impurity", "weighted_n_node_samples")


def draw(n, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * random.normal(size=n)


def assert_same_trees(one, other):
    for name in SHAPE:
        np.testing.assert_array_equal(getattr(one.tree_, name), getattr(other.tree_, name), err_msg=name)
    # Means are of the targets as they are, hence of their order, too.
    for name in SUMS:
        np.testing.assert_allclose(getattr(one.tree_, name), getattr(other.tree_, name), atol=1e-12, err_msg=name)


def test_the_root_takes_the_best_cut_between_steps():
    X, y = draw(5100)
    X = X[:, :1]
    stump = DecisionTreeRegressor(splitter="histogram", max_depth=1).fit(X, y)
    order = np.argsort(X[:, 0])
    # 5100 distinct values make 255 steps of 20 rows.
    costs = [np.var(y[order[:cut]]) * cut + np.var(y[order[cut:]]) * (5100 - cut) for cut in range(20, 5100, 20)]
    cut = 20 * (1 + int(np.argmin(costs)))
    assert stump.tree_.threshold[0] == pytest.approx(X[order[cut - 1 : cut + 1], 0].mean(), abs=1e-12)


@pytest.mark.parametrize("model", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_columns_of_few_values_lose_nothing(model):
    X, y = draw(2000)
    X, y = np.round(20 * X), y if model is DecisionTreeRegressor else np.digitize(y, [-1.0, 0.0, 1.0])
    X[:, 2] = np.random.default_rng(1).permutation(2000) // 8
    # A column beside them has so many values that codes need more than a byte.
    X = np.column_stack([X, np.arange(2000) % 997])
    several = {"max_features": 3, "random_state": 0}
    for rules in ({}, {"min_samples_leaf": 40}):
        exact, steps = (model(splitter=one, **rules).fit(X[:, :3], y) for one in ("best", "histogram"))
        assert_same_trees(steps, exact)
    assert model(splitter="histogram", **several).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("best_first", [None, 40])
def test_a_weight_of_two_is_the_row_twice_and_none_no_row(best_first):
    X, y = draw(1500)
    weight = np.random.default_rng(2).integers(0, 4, 1500)
    rows = np.random.default_rng(3).permutation(np.repeat(np.arange(1500), weight))
    tree = DecisionTreeRegressor(splitter="histogram", min_samples_leaf=1, max_leaf_nodes=best_first)
    weighted = DecisionTreeRegressor(**tree.get_params()).fit(X, y, sample_weight=weight)
    assert_same_trees(tree.fit(X[rows], y[rows]), weighted)


def test_a_tree_of_steps_predicts_as_well_as_the_exact_one():
    X, y = draw(8000)
    given, loss = {"min_samples_leaf": 10}, []
    for splitter in ("best", "histogram"):
        model = DecisionTreeRegressor(splitter=splitter, **given).fit(X[:4000], y[:4000])
        loss.append(np.square(model.predict(X[4000:]) - y[4000:]) / y[4000:].var())
    assert np.mean(loss[0]) < 0.4
    # Losses of one tree differ from those of the other by the rows' side of cuts that are a step away.
    extra = loss[1] - loss[0]
    assert np.mean(extra) < 0.01 + 6 * np.std(extra) / np.sqrt(4000)


def test_missing_values_and_sparse_rows_are_cut_alike():
    from scipy.sparse import csr_array

    X, y = draw(1200)
    X[np.abs(X) < 0.4] = 0.0
    dense, sparse = (DecisionTreeRegressor(splitter="histogram").fit(rows, y) for rows in (X, csr_array(X)))
    assert_same_trees(dense, sparse)
    X[X == 0.0] = np.nan
    tree = DecisionTreeRegressor(splitter="histogram", min_samples_leaf=3).fit(X, y)
    assert tree.score(X, y) > 0.8


def test_medians_have_no_histogram():
    X, y = draw(50)
    message = (
        r"DecisionTreeRegressor: splitter='histogram' cannot be had together with criterion='absolute_error', whose "
        r"medians no histogram holds; use splitter='best' or criterion='squared_error'\."
    )
    with pytest.raises(UnsupportedError, match=message):
        DecisionTreeRegressor(splitter="histogram", criterion="absolute_error").fit(X, y)
