"""Splits: exhaustive search by the definition, for every criterion, with weights, missing values and ties."""

import itertools

import numpy as np
import pytest
import sklearn.tree

from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor, impurity, split_gain

NUMBERS = ["squared_error", "friedman_mse", "absolute_error", "poisson"]
CLASSES = ["gini", "entropy", "log_loss"]
NAMES = {"friedman_mse": "squared_error", "log_loss": "entropy"}


def draw(seed, classes):
    """Few rows of few columns, some full of ties, with whole weights, some of them zero."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(14, 3))
    X = np.round(X) if seed % 2 else X
    y = random.integers(0, 3, 14) if classes else random.poisson(2.0, 14) + 1.0 * (random.random(14) < 0.5)
    return X, y, random.integers(0, 4, 14).astype(float)


def best_gain(X, y, weight, criterion):
    """The largest gain of any threshold of any column."""
    gains = []
    for column in X.T:
        for threshold in np.unique(column[weight > 0])[:-1]:
            left = column <= threshold
            if criterion == "poisson" and min(weight[left] @ y[left], weight[~left] @ y[~left]) <= 0:
                continue
            gains.append(split_gain(y, left, criterion, sample_weight=weight))
    return max(gains)


def gain_of_root(tree):
    left, right = tree.children_left[0], tree.children_right[0]
    shares = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    return tree.impurity[0] - shares[left] * tree.impurity[left] - shares[right] * tree.impurity[right]


@pytest.mark.catalogue("TE-11")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("criterion", [*NUMBERS, *CLASSES])
def test_no_threshold_of_any_column_gains_more_than_a_stump(criterion, seed):
    model = DecisionTreeClassifier if criterion in CLASSES else DecisionTreeRegressor
    X, y, weight = draw(seed, criterion in CLASSES)
    stump = model(criterion=criterion, max_depth=1).fit(X, y, sample_weight=weight)
    name = NAMES.get(criterion, criterion)
    assert stump.tree_.impurity[0] == pytest.approx(impurity(y, name, sample_weight=weight), abs=1e-12)
    assert gain_of_root(stump.tree_) == pytest.approx(best_gain(X, y, weight, name), abs=1e-12)


@pytest.mark.catalogue("TE-05")
def test_the_stump_of_eight_points_splits_after_the_fourth():
    X, y = np.arange(8.0)[:, None], np.array([4.0, 0.0, 5.0, 0.0, 5.0, 5.0, 5.0, 5.0])
    stump = DecisionTreeRegressor(max_depth=1).fit(X, y)
    assert stump.tree_.threshold[0] == 3.5
    assert ((stump.predict(X) - y) ** 2).sum() == pytest.approx(20.75)


@pytest.mark.catalogue("TE-01", "TE-02")
def test_impurity_and_gain_are_those_of_the_hiking_table():
    outlook = np.repeat(["sunny", "overcast", "rain"], [5, 4, 5])
    hike = np.array([1, 1, 0, 0, 0, *[1] * 4, 1, 1, 1, 0, 0])
    assert impurity(hike) == pytest.approx(0.940286, abs=1e-6)
    assert impurity(hike, base=np.e) == pytest.approx(0.651757, abs=1e-6)
    assert impurity(hike, "gini") == pytest.approx(0.459184, abs=1e-6)
    assert split_gain(hike, outlook) == pytest.approx(0.246750, abs=1e-6)
    assert split_gain(hike, outlook, "gini") == pytest.approx(0.116327, abs=1e-6)
    assert split_gain(hike, outlook == "overcast") == pytest.approx(0.226000, abs=1e-6)
    assert impurity([3, 3, 3]) == impurity([3, 3, 3], "squared_error") == 0.0
    assert impurity(["a", "b"], "misclassification") == 0.5


@pytest.mark.parametrize("criterion", [*NUMBERS, *CLASSES])
@pytest.mark.fixed_seed("without ties between splits, which scikit-learn breaks at random")
def test_trees_grown_to_the_end_are_those_of_scikit_learn(criterion):
    """On values without ties between splits: the same questions and the same values."""
    kind = "Classifier" if criterion in CLASSES else "Regressor"
    random = np.random.default_rng(1)
    X = random.normal(size=(400, 4)).astype(np.float32)
    y = X @ [2.0, 1.0, -1.0, 0.5] + random.normal(size=400)
    y = (y > 0) + (y > 1.5) if criterion in CLASSES else np.exp(y)
    settings = {"criterion": criterion.replace("friedman_mse", "squared_error"), "min_samples_leaf": 8, "max_depth": 4}
    theirs = getattr(sklearn.tree, f"DecisionTree{kind}")(**settings, random_state=0).fit(X, y).tree_
    ours = {"Classifier": DecisionTreeClassifier, "Regressor": DecisionTreeRegressor}[kind](
        **settings | {"criterion": criterion}
    )
    ours = ours.fit(X, y).tree_
    assert ours.node_count == theirs.node_count
    for name in ("children_left", "children_right", "feature", "n_node_samples"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    for name in ("threshold", "impurity", "value", "weighted_n_node_samples"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_another_order_or_repeated_give_the_same_tree_where_splits_tie(weighted):
    """Small nodes are full of splits that are equally good: sums of whole numbers tell them apart by nothing else."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 6)), random.normal(size=300) + 1e6
    weight = random.integers(1, 4, 300)
    order = random.permutation(300)
    first = DecisionTreeRegressor().fit(X, y, sample_weight=weight).tree_
    if weighted:
        second = DecisionTreeRegressor().fit(X.repeat(weight, axis=0), y.repeat(weight)).tree_
    else:
        second = DecisionTreeRegressor().fit(X[order], y[order], sample_weight=weight[order]).tree_
    np.testing.assert_array_equal(first.feature, second.feature)
    np.testing.assert_array_equal(first.threshold, second.threshold)


@pytest.mark.parametrize("transform", [np.exp, np.arctan, lambda x: x**3], ids=["exp", "arctan", "cube"])
@pytest.mark.catalogue("TE-05")
def test_increasing_functions_of_columns_leave_the_partition_as_it_is(transform):
    random = np.random.default_rng(2)
    X, y = random.normal(size=(200, 3)), random.normal(size=200)
    plain, bent = (DecisionTreeRegressor(max_depth=6).fit(rows, y).tree_ for rows in (X, transform(X)))
    np.testing.assert_array_equal(plain.feature, bent.feature)
    np.testing.assert_array_equal(plain.n_node_samples, bent.n_node_samples)


@pytest.mark.catalogue("TE-09")
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_missing_values_go_where_they_gain_most(criterion):
    random = np.random.default_rng(3)
    X, y = np.round(random.normal(size=(12, 2)), 1), random.normal(size=12)
    X[random.random(X.shape) < 0.3] = np.nan
    gains = []
    for column in X.T:
        for threshold, missing in itertools.product(np.unique(column[~np.isnan(column)]), (False, True)):
            left = np.where(np.isnan(column), missing, column <= threshold)
            gains.append(split_gain(y, left, criterion) if 0 < left.sum() < 12 else -1.0)
    stump = DecisionTreeRegressor(max_depth=1, criterion=criterion).fit(X, y)
    assert gain_of_root(stump.tree_) == pytest.approx(max(gains), abs=1e-12)
    assert np.isfinite(stump.predict(np.full((1, 2), np.nan))).all()


def test_where_nothing_was_missing_a_missing_value_goes_to_the_heavier_side():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 0.0, 1.0])
    assert DecisionTreeRegressor().fit(X, y).predict([[np.nan]])[0] == 0.0
    assert DecisionTreeRegressor().fit(X, y, sample_weight=[1, 1, 3]).predict([[np.nan]])[0] == 1.0


def test_values_beyond_float32_are_told_apart():
    X, y = 1.0 + np.arange(4.0)[:, None] * 1e-12, np.array([0, 1, 0, 1])
    assert DecisionTreeClassifier().fit(X, y).score(X, y) == 1.0


def test_many_codes_and_few_codes_give_the_same_splits():
    """Columns of few values are summed by value, others sorted: the answer is one."""
    random = np.random.default_rng(4)
    X = random.integers(0, 12, (3000, 4)).astype(float)
    y = (X[:, 0] * X[:, 1] + 10 * random.normal(size=3000) > 30).astype(int)
    few = DecisionTreeClassifier(max_depth=5).fit(X, y)
    # A far-off value in every column widens the range of ranks only by one, of values by a million.
    many = DecisionTreeClassifier(max_depth=5).fit(np.vstack([X] * 1), y, sample_weight=np.full(3000, 0.7))
    np.testing.assert_array_equal(few.tree_.feature, many.tree_.feature)
    np.testing.assert_array_equal(few.tree_.threshold, many.tree_.threshold)
