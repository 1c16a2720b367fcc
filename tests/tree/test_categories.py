"""Categorical columns: the best set of categories by trying all of them, unseen ones, frames."""

import itertools

import numpy as np
import pandas
import pytest

from mercer.errors import DataError, UnsupportedError
from mercer.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    MultiwayTreeClassifier,
    split_gain,
)
from tests.tree.test_splits import gain_of_root


def draw(seed, n=60, k=6):
    random = np.random.default_rng(seed)
    return random, random.integers(0, k, n).astype(float)


def best_set(codes, y, criterion):
    present = np.unique(codes)
    sets = itertools.chain(*(itertools.combinations(present, size) for size in range(1, len(present))))
    return max(split_gain(y, np.isin(codes, chosen), criterion) for chosen in sets)


@pytest.mark.catalogue("TE-06")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_no_set_of_categories_gains_more_than_the_one_found(criterion, seed, n_classes):
    random, codes = draw(seed)
    numbers = criterion in ("squared_error", "poisson")
    y = random.poisson(3.0, 60) + 0.5 if numbers else random.integers(0, n_classes, 60)
    model = DecisionTreeRegressor if numbers else DecisionTreeClassifier
    stump = model(criterion=criterion, max_depth=1, categorical_features=[0]).fit(codes[:, None], y)
    assert gain_of_root(stump.tree_) == pytest.approx(best_set(codes, y, criterion), abs=1e-12)


def test_many_categories_of_many_classes_are_told_apart():
    random, codes = draw(0, 4000, 300)
    y = random.integers(0, 5, 300)[codes.astype(int)]
    model = DecisionTreeClassifier(categorical_features=[0]).fit(codes[:, None], y)
    assert model.score(codes[:, None], y) == 1.0
    assert model.get_depth() < 20


def test_categories_and_numbers_grow_together_and_random_splits_know_categories():
    random, codes = draw(1, 2000, 12)
    X = np.column_stack([random.normal(size=2000), codes])
    y = (X[:, 0] > 0) & np.isin(codes, [1, 4, 7, 9])
    model = DecisionTreeClassifier(categorical_features=[False, True]).fit(X, y)
    assert model.get_n_leaves() == 3
    assert model.score(X, y) == 1.0
    assert set(model.tree_.feature[model.tree_.feature >= 0]) == {0, 1}
    assert ExtraTreeClassifier(categorical_features=[1], max_features=None, random_state=0).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_frames_bring_their_categories_and_unseen_ones_go_with_the_heavier_side(name):
    library = pytest.importorskip(name)
    colours = ["red", "green", "blue", "green", "red", "red"] * 5
    sizes = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] * 5
    column = pandas.Categorical(colours) if name == "pandas" else library.Series(colours, dtype=library.Categorical)
    frame = library.DataFrame({"colour": column, "size": sizes})
    y = np.array([colour == "red" for colour in colours]) * 2 + 1
    model = DecisionTreeClassifier(categorical_features="from_dtype", max_depth=1).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["colour", "size"]
    assert model.score(frame, y) == 1.0
    unseen = library.DataFrame({"colour": ["violet", "red", None], "size": [1.0, 1.0, 1.0]})
    # Half of the rows are red, so neither side is heavier: ties go right, where red is not.
    assert model.predict(unseen)[1] == 3
    named = DecisionTreeClassifier(categorical_features=["colour"]).fit(frame, y)
    np.testing.assert_array_equal(named.predict(frame), y)


def test_a_missing_category_is_a_category():
    codes = np.array([0.0, 0.0, 1.0, 1.0, np.nan, np.nan] * 4)[:, None]
    y = np.array([0, 0, 1, 1, 0, 0] * 4)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(codes, y)
    assert model.score(codes, y) == 1.0
    assert model.get_n_leaves() == 2


def test_names_that_are_no_columns_are_refused():
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    with pytest.raises(
        DataError, match=r"as integer indices must be in \[0, n_features - 1\]; got \[2\] for 2 columns"
    ):
        DecisionTreeClassifier(categorical_features=[2]).fit(X, y)
    with pytest.raises(DataError, match="'from_dtype' needs a frame"):
        DecisionTreeClassifier(categorical_features="from_dtype").fit(X, y)
    with pytest.raises(UnsupportedError, match="cannot be had together with criterion='absolute_error'"):
        DecisionTreeRegressor(criterion="absolute_error", categorical_features=[0]).fit(X, y)


@pytest.mark.parametrize("model", [DecisionTreeClassifier(categorical_features=["colour"]), MultiwayTreeClassifier()])
def test_the_missing_value_of_pandas_is_missing(model):
    colours = pandas.array(["red", "blue", pandas.NA, "red"], dtype=object)
    frame, y = pandas.DataFrame({"colour": colours, "size": [1.0, 1.0, 1.0, 1.0]}), [0, 1, 1, 0]
    assert model.fit(frame, y).predict(frame).tolist() == y
