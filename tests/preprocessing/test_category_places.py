"""Encoders of categories give the answers of rows in memory for files, streams and Dask dataframes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import mercer
import mercer.base
from mercer.errors import DataError
from mercer.linear_model import Ridge
from mercer.pipeline import make_pipeline
from mercer.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

_COLUMNS = ["maker", "doors", "sold"]


@pytest.fixture(scope="module")
def cars():
    rng = np.random.default_rng(0)
    n = 3000
    maker = np.array(["Audi", "BMW", "VW", "Fiat", None], dtype=object)[rng.integers(0, 5, n)]
    table = pd.DataFrame({"maker": maker, "doors": rng.integers(2, 6, n), "sold": rng.random(n) < 0.4})
    table["price"] = table.doors * 2.0 + (table.maker == "Audi") + rng.normal(size=n)
    return table


def places(cars, folder):
    """The same rows as a Parquet file, a folder of two, a CSV file, a list of frames and a Dask dataframe."""
    cars.to_parquet(folder / "cars.parquet", row_group_size=700)
    (folder / "cars").mkdir()
    for number, part in enumerate((cars[:1000], cars[1000:])):
        part.to_parquet(folder / "cars" / f"{number}.parquet")
    cars.to_csv(folder / "cars.csv", index=False)
    yield folder / "cars.parquet"
    yield folder / "cars"
    yield folder / "cars.csv"
    yield [cars[:500], cars[500:]]
    dask = pytest.importorskip("dask.dataframe")
    yield dask.from_pandas(cars, npartitions=3)


def dense(rows):
    rows = rows.compute() if hasattr(rows, "compute") else rows
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OneHotEncoder(min_frequency=0.25), OrdinalEncoder()], ids=repr)
def test_counted_encoders_answer_alike_in_every_place(encoder, cars, tmp_path):
    columns = ["maker", "doors", "price"]
    cars = cars.assign(price=cars.price.round())
    expected = encoder.fit_transform(cars[columns].drop(columns="price"))
    expected = expected.toarray() if hasattr(expected, "toarray") else expected
    for X in places(cars[columns], tmp_path):
        model = mercer.base.clone(encoder)
        rows = model.fit_transform(X, "price")
        assert model.n_features_in_ == 2
        np.testing.assert_array_equal(dense(rows), expected)
        np.testing.assert_array_equal(dense(model.transform(X)), expected)


def test_target_encodings_are_cross_fitted_alike_in_every_place(cars, tmp_path):
    encoder = TargetEncoder(cv=KFold(3, shuffle=True, random_state=0))
    expected = encoder.fit_transform(cars[_COLUMNS], cars.price)
    for X in places(cars, tmp_path):
        model = mercer.base.clone(encoder)
        rows = model.fit_transform(X, "price")
        np.testing.assert_allclose(dense(rows), expected, rtol=1e-10)
        for ours, theirs in zip(model.encodings_, encoder.encodings_, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10)
        np.testing.assert_allclose(dense(model.transform(X)), encoder.transform(cars[_COLUMNS]), rtol=1e-10)


def test_a_pipeline_reads_encoded_blocks_of_a_file_with_text(cars, tmp_path):
    cars.to_parquet(tmp_path / "cars.parquet", row_group_size=700)
    model = make_pipeline(OneHotEncoder(), Ridge(tol=1e-12)).fit(tmp_path / "cars.parquet", "price")
    expected = make_pipeline(OneHotEncoder(), Ridge(tol=1e-12)).fit(cars[_COLUMNS], cars.price)
    np.testing.assert_allclose(model.predict(tmp_path / "cars.parquet"), expected.predict(cars[_COLUMNS]), rtol=1e-8)
    cross_fitted = make_pipeline(TargetEncoder(cv=KFold(3)), Ridge(tol=1e-12)).fit(tmp_path / "cars.parquet", "price")
    expected = make_pipeline(TargetEncoder(cv=KFold(3)), Ridge(tol=1e-12)).fit(cars[_COLUMNS], cars.price)
    np.testing.assert_allclose(cross_fitted[-1].coef_, expected[-1].coef_, rtol=1e-8)


def test_an_unknown_category_in_a_file_is_named_with_its_row(cars, tmp_path):
    encoder = OneHotEncoder().fit(cars[["maker", "doors"]])
    new = cars[["maker", "doors"]].copy()
    new.loc[1234, "maker"] = "Saab"
    new.to_parquet(tmp_path / "new.parquet", row_group_size=500)
    with pytest.raises(DataError, match=r"'Saab'.* column 0 .*row 1234 of .*new\.parquet"):
        np.asarray(encoder.transform(tmp_path / "new.parquet"))


def test_a_missing_target_in_a_file_is_named_with_its_row(cars, tmp_path):
    cars.assign(price=cars.price.mask(cars.index == 77)).to_parquet(tmp_path / "cars.parquet")
    with pytest.raises(DataError, match="Input y contains NaN, the first in row 77"):
        TargetEncoder().fit(tmp_path / "cars.parquet", "price")


@pytest.mark.parametrize("encoder", [OneHotEncoder(drop="first", max_categories=3), OrdinalEncoder(), TargetEncoder()])
def test_encoders_survive_a_file(encoder, cars, tmp_path):
    encoder.fit(cars[_COLUMNS], cars.price)
    mercer.save(encoder, tmp_path / "encoder.mercer")
    loaded = mercer.load(tmp_path / "encoder.mercer")
    np.testing.assert_array_equal(dense(loaded.transform(cars[_COLUMNS])), dense(encoder.transform(cars[_COLUMNS])))
    assert loaded.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
