"""Dummies are scikit-learn's, and take tables that are elsewhere."""

import numpy as np
import pandas as pd
import pytest
import sklearn.dummy as theirs

import mercer
from mercer.dummy import DummyClassifier, DummyRegressor


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(500, 2)), columns=["a", "b"])
    frame["kind"], frame["size"] = (
        random.choice(["ash", "birch", "cedar"], 500, p=[0.2, 0.5, 0.3]),
        random.gamma(2.0, size=500),
    )
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=100)
    frame[["a", "b"]].to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    return frame, tmp_path


@pytest.mark.parametrize("strategy", ["prior", "most_frequent", "stratified", "uniform"])
def test_classes_of_a_file_are_counted_as_those_of_the_frame(table, strategy):
    frame, folder = table
    frame.drop(columns="size").to_parquet(folder / "kinds.parquet", row_group_size=100)
    model = DummyClassifier(strategy=strategy, random_state=0).fit(folder / "kinds.parquet", y="kind")
    other = theirs.DummyClassifier(strategy=strategy, random_state=0).fit(frame[["a", "b"]], frame.kind)
    assert np.allclose(model.class_prior_, other.class_prior_)
    assert np.array_equal(model.predict(folder / "rows.parquet"), other.predict(frame[["a", "b"]]))
    assert np.allclose(model.predict_proba(folder / "rows.parquet"), other.predict_proba(frame[["a", "b"]]))
    assert model.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("given", [{}, {"strategy": "median"}, {"strategy": "quantile", "quantile": 0.9}])
def test_numbers_of_a_file_are_those_of_the_frame(table, given):
    frame, folder = table
    frame.drop(columns="kind").to_parquet(folder / "sizes.parquet", row_group_size=100)
    model = DummyRegressor(**given).fit(folder / "sizes.parquet", y="size")
    other = theirs.DummyRegressor(**given).fit(frame[["a", "b"]], frame["size"])
    assert np.allclose(model.constant_, other.constant_)
    assert np.allclose(model.predict(folder / "rows.parquet"), other.predict(frame[["a", "b"]]))


def test_a_saved_dummy_is_the_same(tmp_path):
    X, y = np.zeros((4, 1)), np.array([0, 1, 1, 1])
    for model in (DummyClassifier().fit(X, y), DummyRegressor().fit(X, y)):
        mercer.save(model, tmp_path / "dummy.mercer")
        assert np.array_equal(mercer.load(tmp_path / "dummy.mercer").predict(X), model.predict(X))
