"""Missing values and mixed columns: every split with every way for gaps tried, and gaps that were never seen."""

import itertools

import numpy as np
import pandas
import pytest
import sklearn.tree
from sklearn.datasets import load_iris

from mercer.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from mercer.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    MultiwayTreeClassifier,
    split_gain,
)


def draw(seed):
    """A column of numbers and one of five categories, a third of both missing, labels and weights."""
    random = np.random.default_rng(seed)
    X = np.column_stack([np.round(100 * random.normal(size=16)), random.integers(0, 5, 16).astype(float)])
    X[random.random(X.shape) < 0.3] = np.nan
    return X, random.integers(0, 2, 16), random.uniform(0.5, 2.0, size=16)


def list_splits(X):
    """Every split: thresholds and sets of categories, with gaps on either side, and gaps against all the rest."""
    numbers, categories = X.T
    for column in (numbers, categories):
        yield np.isnan(column)
    for threshold, missing in itertools.product(np.unique(numbers[~np.isnan(numbers)]), (False, True)):
        yield np.where(np.isnan(numbers), missing, numbers <= threshold)
    known = np.unique(categories[~np.isnan(categories)])
    for size in range(1, len(known)):
        for chosen, missing in itertools.product(itertools.combinations(known, size), (False, True)):
            yield np.where(np.isnan(categories), missing, np.isin(categories, chosen))


@pytest.mark.catalogue("TE-09")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_no_split_of_mixed_columns_with_gaps_gains_more_than_the_stump(criterion, seed):
    X, y, weight = draw(seed)
    model = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    stump = model(criterion=criterion, max_depth=1, categorical_features=[1]).fit(X, y, sample_weight=weight)
    gains = [
        split_gain(y, left, criterion, sample_weight=weight) for left in list_splits(X) if 0 < left.sum() < len(left)
    ]
    sides = stump.apply(X)
    assert split_gain(y, sides, criterion, sample_weight=weight) == pytest.approx(max(gains), abs=1e-12)
    # Rows with gaps got the way that the gain was measured with; new rows with the same gaps take it too.
    for side in np.unique(sides):
        np.testing.assert_array_equal(stump.apply(X[sides == side]), side)


@pytest.mark.catalogue("TE-09")
def test_without_gaps_the_tree_is_the_one_that_knows_no_gaps():
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64) + 1e-3 * np.random.default_rng(0).normal(size=X.shape).astype(
        np.float32
    )
    ours = DecisionTreeClassifier(random_state=0).fit(X, y)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(np.sort(ours.tree_.impurity), np.sort(theirs.tree_.impurity), atol=1e-12)
    # A column of gaps alone tells nothing, and changes nothing.
    beside = DecisionTreeClassifier(random_state=0).fit(np.column_stack([X, np.full(150, np.nan)]), y)
    np.testing.assert_array_equal(beside.tree_.threshold, ours.tree_.threshold)
    np.testing.assert_array_equal(beside.tree_.feature, ours.tree_.feature)


MODELS = [
    DecisionTreeClassifier(),
    DecisionTreeRegressor(),
    ExtraTreeClassifier(random_state=0),
    RandomForestClassifier(5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5),
    MultiwayTreeClassifier(missing="branch"),
    MultiwayTreeClassifier(missing="fractional"),
]


@pytest.mark.catalogue("TE-09")
@pytest.mark.parametrize("gaps", [False, True], ids=["no gaps seen", "gaps seen"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}")
def test_a_row_of_gaps_is_answered_with_gaps_seen_or_not(model, gaps):
    random = np.random.default_rng(1)
    X = random.normal(size=(80, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    if gaps:
        X[random.random(X.shape) < 0.2] = np.nan
    fitted = model.fit(X, y)
    questions = np.array([[np.nan] * 3, [np.nan, 1.0, -1.0], [5.0, np.nan, np.nan]])
    answers = fitted.predict(questions)
    assert np.isfinite(answers).all()
    assert ((answers >= 0) & (answers <= 1)).all()
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_allclose(fitted.predict_proba(questions).sum(axis=1), 1.0)


@pytest.mark.catalogue("TE-09")
def test_gaps_that_tell_the_class_are_used():
    """A number is missing where the class is one, a category where it is two; values tell nothing."""
    random = np.random.default_rng(2)
    y = random.integers(0, 3, 300)
    frame = pandas.DataFrame(
        {
            "number": np.where(y == 1, np.nan, random.normal(size=300)),
            "name": pandas.Categorical(np.where(y == 2, None, random.choice(["a", "b", "c"], 300))),
        }
    )
    model = DecisionTreeClassifier(max_leaf_nodes=3, categorical_features="from_dtype").fit(frame, y)
    assert model.score(frame, y) == 1.0
