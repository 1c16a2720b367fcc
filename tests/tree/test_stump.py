"""The decision stump: exhaustive search by other code, weights, missing values, sparse rows."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.tree import DecisionTreeClassifier

from mercer.errors import DataError
from mercer.tree import DecisionStump


def data(n=120, n_classes=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)).round(1)
    y = random.integers(0, n_classes, n)
    y = np.where(X[:, 2] + 0.7 * random.normal(size=n) > 0.3, (y + 1) % n_classes, 0)
    return X, y, random.random(n)


def weighted_error(X, y, weight, column, value):
    left = X[:, column] <= value
    sums = np.array([[weight[side & (y == k)].sum() for k in np.unique(y)] for side in (left, ~left)])
    return 1 - sums.max(axis=1).sum() / weight.sum()


@pytest.mark.catalogue("TE-11")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_threshold_of_any_column_errs_less(n_classes):
    X, y, weight = data(n_classes=n_classes)
    stump = DecisionStump(criterion="error").fit(X, y, weight)
    least = min(weighted_error(X, y, weight, j, value) for j in range(4) for value in X[:, j])
    assert stump.error_ == pytest.approx(least)
    assert stump.error_ == pytest.approx(np.average(stump.predict(X) != y, weights=weight))
    assert stump.error_ <= 1 - 1 / n_classes


@pytest.mark.catalogue("TE-11")
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_scikit_learns_tree_of_depth_one(criterion, n_classes):
    X, y, weight = data(n_classes=n_classes)
    X = X + 1e-3 * np.random.default_rng(1).normal(size=X.shape)
    X = X.astype(np.float32).astype(np.float64)
    ours = DecisionStump(criterion=criterion).fit(X, y, weight)
    theirs = DecisionTreeClassifier(max_depth=1, criterion=criterion).fit(X, y, weight)
    assert ours.feature_ == theirs.tree_.feature[0]
    assert ours.threshold_ == pytest.approx(theirs.tree_.threshold[0])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    for name in ("impurity", "weighted_n_node_samples", "n_node_samples", "children_left", "children_right"):
        np.testing.assert_allclose(getattr(ours.tree_, name), getattr(theirs.tree_, name), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))


def test_missing_values_go_where_they_gain_more():
    random = np.random.default_rng(3)
    X = random.normal(size=(200, 1))
    y = (X[:, 0] > 0).astype(int)
    lost = random.random(200) < 0.3
    X[lost] = np.nan
    y[lost] = 1
    stump = DecisionStump().fit(X, y)
    assert not stump.missing_left_
    assert stump.score(X, y) == 1.0
    assert stump.predict([[np.nan]])[0] == 1


def test_a_column_may_be_split_by_its_presence_alone():
    X = np.array([[1.0], [1.0], [np.nan], [np.nan]])
    stump = DecisionStump().fit(X, [0, 0, 1, 1])
    assert stump.score(X, [0, 0, 1, 1]) == 1.0


def test_sparse_rows_give_the_dense_stump():
    X, y, weight = data(n_classes=3)
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    dense = DecisionStump().fit(X, y, weight)
    for store in (scipy.sparse.csr_array, scipy.sparse.csc_array):
        sparse = DecisionStump().fit(store(X), y, weight)
        assert (sparse.feature_, sparse.threshold_) == (dense.feature_, dense.threshold_)
        np.testing.assert_array_equal(sparse.predict(store(X)), dense.predict(X))


def test_rows_of_weight_zero_set_no_threshold():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    stump = DecisionStump().fit(X, [0, 0, 1, 1], [1.0, 0.0, 0.0, 1.0])
    assert stump.threshold_ == 1.5
    assert stump.tree_.n_node_samples.tolist() == [2, 1, 1]


def test_constant_columns_leave_a_leaf():
    stump = DecisionStump().fit(np.ones((4, 2)), [0, 1, 1, 1])
    assert stump.feature_ == -2
    assert (stump.get_depth(), stump.get_n_leaves()) == (0, 1)
    np.testing.assert_allclose(stump.predict_proba([[5.0, 5.0]]), [[0.25, 0.75]])
    assert not stump.feature_importances_.any()


def test_thresholds_between_neighbouring_floats_part_them():
    low = 1.0
    high = np.nextafter(low, 2.0)
    stump = DecisionStump().fit([[low], [high]], [0, 1])
    assert stump.predict([[low], [high]]).tolist() == [0, 1]


def test_rows_without_a_value_are_refused():
    with pytest.raises(DataError) as caught:
        DecisionStump().fit(np.full((3, 2), np.nan), [0, 1, 0])
    assert str(caught.value) == ("DecisionStump: X must have a value in some column; got NaN only. Give other columns.")
