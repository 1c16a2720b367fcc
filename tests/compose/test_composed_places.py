"""Composites give the answers of rows in memory for tables in files, streams and Dask dataframes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import mercer
from mercer.base import clone
from mercer.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from mercer.errors import DataError
from mercer.impute import SimpleImputer
from mercer.linear_model import Ridge
from mercer.pipeline import FeatureUnion, make_pipeline
from mercer.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

_N = 2000


@pytest.fixture(scope="module")
def cars():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"maker": rng.choice(["Audi", "BMW", "VW", "Fiat"], _N), "age": rng.gamma(3.0, size=_N)})
    table["doors"] = rng.integers(2, 6, _N).astype(float)
    table["price"] = 3.0 + table.doors + (table.maker == "Audi") + 0.1 * rng.normal(size=_N)
    table.loc[::7, "age"] = np.nan
    return table


def places(cars, folder):
    cars.to_parquet(folder / "cars.parquet", row_group_size=300)
    cars.to_csv(folder / "cars.csv", index=False)
    yield folder / "cars.parquet"
    yield folder / "cars.csv"
    yield [cars[:700], cars[700:]]


def by_column(encoder):
    return ColumnTransformer(
        [
            ("code", encoder, ["maker"]),
            ("fill", make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(pattern="age")),
            ("rest", "passthrough", ["doors"]),
        ]
    )


@pytest.mark.parametrize("encoder", [OneHotEncoder(), TargetEncoder(cv=KFold(3))], ids=repr)
def test_columns_are_transformed_alike_in_every_place(encoder, cars, tmp_path):
    rows = cars.drop(columns="price")
    expected = by_column(clone(encoder))
    training = expected.fit_transform(rows, cars.price)
    for X in places(cars, tmp_path):
        model = by_column(clone(encoder))
        np.testing.assert_allclose(np.asarray(model.fit_transform(X, "price")), training, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.asarray(model.transform(X)), expected.transform(rows), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.transform(rows), expected.transform(rows), rtol=1e-9, atol=1e-12)
        assert model.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()


def test_a_pipeline_over_a_file_predicts_what_one_in_memory_does(cars, tmp_path):
    make = lambda: make_pipeline(by_column(TargetEncoder(cv=KFold(3))), Ridge(tol=1e-12))  # noqa: E731
    expected = make().fit(cars.drop(columns="price"), cars.price)
    for X in places(cars, tmp_path):
        model = make().fit(X, "price")
        np.testing.assert_allclose(model.predict(X), expected.predict(cars.drop(columns="price")), rtol=1e-7)


def test_dask_dataframes_are_encoded_by_partitions(cars):
    frame = pytest.importorskip("dask.dataframe").from_pandas(cars, npartitions=3)
    expected = make_column_transformer((OneHotEncoder(), ["maker"]), (MinMaxScaler(), ["doors"])).fit(cars)
    model = clone(expected)
    rows = model.fit_transform(frame)
    np.testing.assert_allclose(np.asarray(rows.compute()), expected.transform(cars), rtol=1e-12)
    fitted = make_pipeline(clone(expected), Ridge(tol=1e-12)).fit(frame, frame["price"])
    whole = make_pipeline(clone(expected), Ridge(tol=1e-12)).fit(cars, cars.price)
    np.testing.assert_allclose(fitted[-1].coef_, whole[-1].coef_, rtol=1e-8)


def test_a_union_of_transformers_is_fitted_to_a_file(cars, tmp_path):
    numbers = cars[["doors", "price"]]
    numbers.to_parquet(tmp_path / "numbers.parquet")
    union = FeatureUnion([("scale", StandardScaler()), ("range", MinMaxScaler())])
    expected = clone(union).fit_transform(numbers)
    np.testing.assert_allclose(np.asarray(union.fit_transform(tmp_path / "numbers.parquet")), expected, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(union.transform(tmp_path / "numbers.parquet")), expected, rtol=1e-12)


def test_transformed_targets_of_a_file_are_those_of_memory(cars, tmp_path):
    make = lambda: TransformedTargetRegressor(  # noqa: E731
        make_pipeline(OneHotEncoder(), Ridge(tol=1e-12)), func=np.log, inverse_func=np.exp
    )
    table = cars.drop(columns="age")
    expected = make().fit(table.drop(columns="price"), table.price).predict(table.drop(columns="price"))
    for X in list(places(table, tmp_path))[:2]:
        np.testing.assert_allclose(make().fit(X, "price").predict(X), expected, rtol=1e-8)


def test_a_composite_fitted_to_a_file_survives_a_model_file(cars, tmp_path):
    cars.to_parquet(tmp_path / "cars.parquet")
    model = by_column(OneHotEncoder()).fit(tmp_path / "cars.parquet", "price")
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    rows = cars.drop(columns="price")
    np.testing.assert_array_equal(loaded.transform(rows), model.transform(rows))
    np.testing.assert_array_equal(np.asarray(loaded.transform(tmp_path / "cars.parquet")), model.transform(rows))


def test_a_stream_that_is_read_once_is_refused(cars):
    with pytest.raises(DataError, match="can be read only once"):
        by_column(OneHotEncoder()).fit(iter([cars]), "price")


@pytest.mark.parametrize(
    "transformer",
    [
        PolynomialFeatures(2),
        SplineTransformer(4),
        SplineTransformer(4, knots="quantile", sparse_output=True),
        FunctionTransformer(np.log1p),
    ],
    ids=repr,
)
def test_functions_of_columns_answer_alike_in_every_place(transformer, cars, tmp_path):
    numbers = cars[["doors", "price"]]
    expected = dense(transformer.fit_transform(numbers))
    weights = np.arange(_N, dtype=float)
    for X in [*places(numbers, tmp_path), pytest.importorskip("dask.dataframe").from_pandas(numbers, npartitions=2)]:
        model = clone(transformer)
        np.testing.assert_allclose(dense(model.fit_transform(X)), expected, rtol=1e-9, atol=1e-12)
    pipeline = make_pipeline(clone(transformer), Ridge(tol=1e-12)).fit(tmp_path / "cars.parquet", weights)
    whole = make_pipeline(clone(transformer), Ridge(tol=1e-12)).fit(numbers, weights)
    np.testing.assert_allclose(pipeline.predict(numbers), whole.predict(numbers), rtol=1e-6)


def dense(rows):
    rows = rows.compute() if hasattr(rows, "compute") else rows
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


def test_a_function_of_frames_gives_texts_to_the_next_step(cars, tmp_path):
    cars.to_parquet(tmp_path / "cars.parquet", row_group_size=300)
    upper = FunctionTransformer(lambda frame: frame[["maker"]].apply(lambda column: column.str[:1]))
    model = make_pipeline(upper, OneHotEncoder(), Ridge(tol=1e-12)).fit(tmp_path / "cars.parquet", "price")
    expected = make_pipeline(upper, OneHotEncoder(), Ridge(tol=1e-12)).fit(cars.drop(columns="price"), cars.price)
    np.testing.assert_allclose(model[-1].coef_, expected[-1].coef_, rtol=1e-8)
    np.testing.assert_allclose(model.predict(tmp_path / "cars.parquet"), expected.predict(cars), rtol=1e-8)
