"""Limits of growth: trees against a grower of a few lines that tries every split of every node."""

import itertools

import numpy as np
import pytest

from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor, MultiwayTreeClassifier, impurity, split_gain

X = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 100.0, 0.01]
NUMBERS = np.sin(2 * X[:, 0]) + 0.01 * X[:, 1] + 0.3 * np.random.default_rng(1).normal(size=60)
LABELS = np.where(NUMBERS > 0.5, "high", np.where(NUMBERS < -0.5, "low", "mid"))
WEIGHT = np.random.default_rng(2).uniform(0.5, 2.0, size=60)


def find_split(rows, y, weight, criterion, least_rows, least_weight):
    """Return the best split of a node: its gain as a share of all weight, and the rows on either side; else None."""
    best = None
    for column in X.T:
        for threshold in np.unique(column[rows])[:-1]:
            left = column[rows] <= threshold
            sides = rows[left], rows[~left]
            if min(len(side) for side in sides) < least_rows or min(weight[s].sum() for s in sides) < least_weight:
                continue
            gain = split_gain(y[rows], left, criterion, sample_weight=weight[rows]) * weight[rows].sum() / weight.sum()
            if best is None or gain > best[0] + 1e-12:
                best = gain, sides
    return best


def grow(y, weight, criterion, *, max_depth=99, max_leaf_nodes=99, min_samples_split=2, min_samples_leaf=1,
         min_impurity_decrease=0.0, min_weight_fraction_leaf=0.0):  # fmt: skip
    """The leaves of a tree, each a set of rows, grown where the gain is largest."""
    limits = y, weight, criterion, min_samples_leaf, min_weight_fraction_leaf * weight.sum()
    leaves = [(np.arange(len(y)), 0)]
    while len(leaves) < max_leaf_nodes:
        offers = []
        for index, (rows, depth) in enumerate(leaves):
            pure = impurity(y[rows], criterion, sample_weight=weight[rows]) <= 1e-12
            if depth < max_depth and len(rows) >= min_samples_split and not pure:
                split = find_split(rows, *limits)
                if split is not None and split[0] >= min_impurity_decrease - 1e-12:
                    offers.append((split[0], index, split[1]))
        if not offers:
            break
        _, index, sides = max(offers, key=lambda offer: offer[0])
        depth = leaves.pop(index)[1] + 1
        leaves.extend((side, depth) for side in sides)
    return {frozenset(rows.tolist()) for rows, _ in leaves}


LIMITS = [
    {"max_depth": 1},
    {"max_depth": 3},
    {"max_leaf_nodes": 2},
    {"max_leaf_nodes": 5},
    {"min_samples_split": 15},
    {"min_samples_leaf": 6},
    {"min_impurity_decrease": 0.02},
    {"min_weight_fraction_leaf": 0.1},
    {"max_depth": 4, "max_leaf_nodes": 6, "min_samples_leaf": 3, "min_impurity_decrease": 0.005},
]


@pytest.mark.catalogue("TE-07")
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_leaves_are_those_of_every_split_tried(criterion, limits):
    classes = criterion != "squared_error"
    model, y = (DecisionTreeClassifier, LABELS) if classes else (DecisionTreeRegressor, NUMBERS)
    fitted = model(criterion=criterion, **limits).fit(X, y, sample_weight=WEIGHT)
    at = fitted.apply(X)
    found = {frozenset(np.flatnonzero(at == leaf).tolist()) for leaf in np.unique(at)}
    assert found == grow(y, WEIGHT, criterion, **limits)
    tree = fitted.tree_
    assert fitted.get_depth() <= limits.get("max_depth", 99)
    assert fitted.get_n_leaves() == len(found) <= limits.get("max_leaf_nodes", 99)
    # The number of splits is that of the leaves less one.
    assert np.count_nonzero(tree.children_left != -1) == len(found) - 1


@pytest.mark.catalogue("TE-07")
@pytest.mark.parametrize("share", [0.1, 0.35])
def test_shares_of_rows_are_rounded_up(share):
    by_share = DecisionTreeRegressor(min_samples_leaf=share, min_samples_split=share).fit(X, NUMBERS).tree_
    by_number = DecisionTreeRegressor(
        min_samples_leaf=int(np.ceil(60 * share)), min_samples_split=int(np.ceil(60 * share))
    ).fit(X, NUMBERS)
    np.testing.assert_array_equal(by_share.threshold, by_number.tree_.threshold)


@pytest.mark.catalogue("TE-07")
def test_branches_of_a_multiway_tree_obey_its_limits():
    table = np.round(X / [1.0, 100.0, 0.01]).astype(int)
    for limits in ({"max_depth": 1}, {"min_samples_split": 20}, {"min_samples_leaf": 4}, {"min_gain": 0.3}):
        model = MultiwayTreeClassifier(categorical_features=[0, 1, 2], **limits).fit(table, LABELS)
        free = MultiwayTreeClassifier(categorical_features=[0, 1, 2]).fit(table, LABELS)
        assert model.tree_.n_leaves <= free.tree_.n_leaves
        inner, weights = model.tree_.feature >= 0, model.tree_.weights.sum(axis=1)
        assert model.tree_.depths.max() <= limits.get("max_depth", np.inf)
        assert (weights[inner] >= limits.get("min_samples_split", 2)).all()
        assert (weights[~inner] >= limits.get("min_samples_leaf", 1)).all()
        assert (np.nanmax(model.tree_.gains[inner], axis=1) >= limits.get("min_gain", 0.0)).all()
    nothing = MultiwayTreeClassifier(categorical_features=[0, 1, 2], max_depth=0).fit(table, LABELS)
    names, counts = np.unique(LABELS, return_counts=True)
    assert set(nothing.predict(table)) == {names[counts.argmax()]}
    np.testing.assert_allclose(nothing.predict_proba(table), [counts / 60] * 60)


@pytest.mark.catalogue("TE-02")
@pytest.mark.parametrize("seed", range(5))
def test_the_entropy_gain_is_the_mutual_information_of_label_and_part(seed):
    """Weights and parts of any number; the information from the joint table, in bits."""
    random = np.random.default_rng(seed)
    y, parts = random.integers(0, 4, 80), random.integers(0, 5, 80)
    weight = random.uniform(0.1, 3.0, size=80)
    joint = np.zeros((4, 5))
    np.add.at(joint, (y, parts), weight)
    joint /= joint.sum()
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    information = (joint[joint > 0] * np.log2(joint[joint > 0] / independent[joint > 0])).sum()
    assert split_gain(y, parts, sample_weight=weight) == pytest.approx(information)
    assert split_gain(parts, y, sample_weight=weight) == pytest.approx(information)
    assert split_gain(y, parts, sample_weight=weight, base=np.e) == pytest.approx(information * np.log(2))


@pytest.mark.catalogue("TE-02")
@pytest.mark.parametrize("criterion", ["entropy", "gini", "misclassification", "squared_error"])
def test_gains_are_never_negative_and_zero_for_independent_parts(criterion):
    crossed = np.array(list(itertools.product([0, 1, 2], [0, 1], range(4))))
    weight = np.array([1.0, 2.0, 5.0])[crossed[:, 0]] * np.array([3.0, 1.0])[crossed[:, 1]]
    # Label and part are independent under these weights, and not under equal ones once a row is gone.
    assert split_gain(crossed[:, 0], crossed[:, 1], criterion, sample_weight=weight) == pytest.approx(0.0, abs=1e-12)
    for seed in range(30):
        random = np.random.default_rng(seed)
        y, parts = random.integers(0, 3, 20), random.integers(0, 4, 20)
        gain = split_gain(y, parts, criterion, sample_weight=random.uniform(0, 2, size=20))
        assert gain >= -1e-12
        # A finer split gains at least as much.
        assert split_gain(y, 2 * parts + (np.arange(20) % 2), criterion) >= split_gain(y, parts, criterion) - 1e-12


@pytest.mark.catalogue("TE-02")
def test_the_gain_of_numbers_is_the_variance_between_parts():
    random = np.random.default_rng(3)
    y, parts = random.normal(size=50) * 30, random.integers(0, 4, size=50)
    weight = random.uniform(0.2, 2.0, size=50)
    mean = np.average(y, weights=weight)
    between = sum(
        weight[parts == part].sum() * (np.average(y[parts == part], weights=weight[parts == part]) - mean) ** 2
        for part in range(4)
    )
    assert split_gain(y, parts, "squared_error", sample_weight=weight) == pytest.approx(between / weight.sum())
    gini = split_gain((y > 0).astype(int), parts, "gini", sample_weight=weight)
    assert gini == pytest.approx(2 * split_gain((y > 0) * 1.0, parts, "squared_error", sample_weight=weight))
