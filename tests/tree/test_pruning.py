"""Size control and pruning: limits kept, and the smallest tree of least cost by trying all of them."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor

X, Y = load_iris(return_X_y=True)


def pruned_trees(tree, node=0):
    """Every tree that cutting branches can leave: lists of leaves."""
    if tree.children_left[node] == -1:
        return [[node]]
    left, right = (pruned_trees(tree, child[node]) for child in (tree.children_left, tree.children_right))
    return [[node], *(a + b for a, b in itertools.product(left, right))]


@pytest.mark.catalogue("TE-08")
def test_the_pruned_tree_is_the_smallest_of_least_cost():
    tree = DecisionTreeClassifier(max_depth=4).fit(X, Y).tree_
    own = tree.impurity * tree.weighted_n_node_samples / len(Y)
    choices = [(own[leaves].sum(), len(leaves)) for leaves in pruned_trees(tree)]
    for alpha in (0.001, 0.008, 0.02, 0.1, 0.3, 0.5):
        cost, size = min((round(cost + alpha * size, 12), size) for cost, size in choices)
        pruned = DecisionTreeClassifier(max_depth=4, ccp_alpha=alpha).fit(X, Y).tree_
        leaf = pruned.children_left == -1
        found = (pruned.impurity * pruned.weighted_n_node_samples)[leaf].sum() / len(Y) + alpha * leaf.sum()
        assert (round(found, 12), leaf.sum()) == (cost, size)


@pytest.mark.catalogue("TE-08")
def test_the_path_rises_from_the_full_tree_to_the_root_and_is_nested():
    rows, y = load_breast_cancer(return_X_y=True)
    path = DecisionTreeClassifier().cost_complexity_pruning_path(rows, y)
    assert (np.diff(path.ccp_alphas) >= -1e-15).all()
    assert (np.diff(path.impurities) > 0).all()
    trees = [DecisionTreeClassifier(ccp_alpha=alpha).fit(rows, y) for alpha in path.ccp_alphas[::4]]
    regions = [set(zip(one.tree_.feature.tolist(), one.tree_.threshold.tolist())) - {(-2, -2.0)} for one in trees]
    assert all(later <= earlier for earlier, later in itertools.pairwise(regions))
    assert DecisionTreeClassifier(ccp_alpha=1.0).fit(rows, y).tree_.node_count == 1


@pytest.mark.catalogue("TE-07")
def test_limits_are_kept():
    def fitted(**settings):
        return DecisionTreeClassifier(**settings).fit(X, Y)

    assert fitted(max_depth=2).get_depth() == 2
    assert fitted(max_leaf_nodes=4).get_n_leaves() == 4
    tree = fitted(min_samples_leaf=7).tree_
    assert tree.n_node_samples.min() >= 7
    tree = fitted(min_samples_split=40).tree_
    assert tree.n_node_samples[tree.children_left != -1].min() >= 40
    assert fitted(min_impurity_decrease=0.4).get_n_leaves() == 1
    tree = DecisionTreeClassifier(min_weight_fraction_leaf=0.2).fit(X, Y, sample_weight=Y + 1.0).tree_
    assert tree.weighted_n_node_samples.min() >= 0.2 * (Y + 1.0).sum()
    stub = fitted(min_samples_split=1.0, min_samples_leaf=0.49)
    assert stub.get_n_leaves() <= 2


def test_with_leaves_to_spare_best_first_growth_gives_the_tree_that_grows_by_levels():
    settings = {"max_features": 2, "random_state": 3}
    by_level = DecisionTreeClassifier(**settings).fit(X, Y).tree_
    best_first = DecisionTreeClassifier(**settings, max_leaf_nodes=1000).fit(X, Y).tree_
    np.testing.assert_array_equal(by_level.feature, best_first.feature)
    np.testing.assert_array_equal(by_level.threshold, best_first.threshold)


def test_each_leaf_of_best_first_growth_gains_most():
    gains = []
    for leaves in range(2, 8):
        tree = DecisionTreeRegressor(max_leaf_nodes=leaves).fit(X, Y).tree_
        leaf = tree.children_left == -1
        gains.append((tree.impurity * tree.weighted_n_node_samples)[leaf].sum())
    assert (np.diff(gains) <= 0).all()


def test_training_rows_fall_into_the_leaves_that_count_them():
    model = DecisionTreeClassifier().fit(X, Y)
    leaves = model.apply(X)
    counts = np.bincount(leaves, minlength=model.tree_.node_count)
    leaf = model.tree_.children_left == -1
    np.testing.assert_array_equal(counts[leaf], model.tree_.n_node_samples[leaf])
    paths = model.decision_path(X)
    np.testing.assert_array_equal(np.asarray(paths.sum(axis=0)).ravel(), model.tree_.n_node_samples)
    assert (paths[np.arange(len(X)), leaves] == 1).all()


def test_monotone_constraints_hold_everywhere():
    random = np.random.default_rng(0)
    rows = random.uniform(size=(500, 2))
    y = rows[:, 0] + np.sin(9 * rows[:, 0]) + rows[:, 1] + 0.3 * random.normal(size=500)
    model = DecisionTreeRegressor(monotonic_cst=[1, -1]).fit(rows, y)
    grid = np.linspace(0, 1, 101)
    for fixed in (0.1, 0.5, 0.9):
        rising = model.predict(np.column_stack([grid, np.full(101, fixed)]))
        falling = model.predict(np.column_stack([np.full(101, fixed), grid]))
        assert (np.diff(rising) >= 0).all()
        assert (np.diff(falling) <= 0).all()
