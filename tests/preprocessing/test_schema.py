"""Schemas of tables: read once in any place, printed, saved, and what new rows are held to."""

import sqlite3
import warnings

import dask.dataframe
import numpy as np
import pandas
import pytest

import mercer
from mercer.errors import DataError
from mercer.linear_model import Ridge
from mercer.pipeline import make_pipeline
from mercer.preprocessing import TableEncoder, read_schema


def make_cars(n=90, seed=0):
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame({"maker": np.resize(["Audi", "BMW", "VW"], n).astype(object), "age": rng.gamma(3, 2, n)})
    frame["day"] = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(np.arange(n), unit="D")
    frame["price"] = 30 - frame.age + rng.normal(size=n)
    frame.loc[::9, "maker"] = None
    frame.loc[::10, "age"] = np.nan
    return frame


def test_kinds_ranges_categories_and_gaps_are_those_of_the_table():
    frame = make_cars()
    schema = read_schema(frame, "price")
    assert schema.names == ["maker", "age", "day"]
    assert [column.kind for column in schema] == ["category", "number", "date"]
    assert (schema["age"].low, schema["age"].high) == (frame.age.min(), frame.age.max())
    assert schema["maker"].missing_share == pytest.approx(1 / 9)
    assert schema["maker"].categories.tolist() == ["BMW", "VW", "Audi"]
    assert str(schema).splitlines()[0] == "90 rows, 3 columns"
    assert "2024-01-01 to 2024-03-30" in str(schema)
    assert "<table>" in schema._repr_html_()


def test_every_place_has_the_same_schema(tmp_path):
    frame = make_cars()
    frame.to_parquet(tmp_path / "cars.parquet")
    places = [
        [frame.iloc[:40], frame.iloc[40:]],
        str(tmp_path / "cars.parquet"),
        dask.dataframe.from_pandas(frame, npartitions=3),
    ]
    for place in places:
        assert str(read_schema(place, "price")) == str(read_schema(frame, "price"))


def test_a_folder_that_is_partitioned_by_a_column_is_one_table(tmp_path):
    frame = make_cars().dropna().reset_index(drop=True)
    frame.to_parquet(tmp_path / "cars", partition_cols=["maker"])
    found = make_pipeline(TableEncoder(), Ridge()).fit(str(tmp_path / "cars"), "price")
    ordered = frame.sort_values("maker", kind="stable")[["age", "day", "maker", "price"]]
    expected = make_pipeline(TableEncoder(), Ridge()).fit(ordered, "price")
    np.testing.assert_allclose(found.predict(ordered), expected.predict(ordered), rtol=1e-9)


def test_targets_of_a_frame_in_memory_are_named_as_those_of_a_file():
    frame = make_cars()
    named = make_pipeline(TableEncoder(), Ridge()).fit(frame, "price")
    beside = make_pipeline(TableEncoder(), Ridge()).fit(frame.drop(columns="price"), frame.price)
    assert named.predict(frame).tobytes() == beside.predict(frame).tobytes()


def test_a_saved_model_knows_its_schema(tmp_path):
    model = make_pipeline(TableEncoder(), Ridge()).fit(make_cars(), "price")
    mercer.save(model, tmp_path / "model.mercer")
    assert str(mercer.load(tmp_path / "model.mercer")[0].schema_) == str(model[0].schema_)


def put(frame, tmp_path, place):
    if place == "Parquet":
        frame.to_parquet(tmp_path / "new.parquet", row_group_size=7)
        return str(tmp_path / "new.parquet"), "row 33 of .*new.parquet"
    if place == "blocks":
        return [frame.iloc[:30], frame.iloc[30:]], "row 3 of block 1"
    if place == "Dask":
        return dask.dataframe.from_pandas(frame, npartitions=2), "row 33 of partition 0"
    return frame, "row 33"


FIRST_ROWS = {
    "memory": "row 0",
    "Parquet": "row 0 of .*new.parquet",
    "blocks": "row 0 of block 0",
    # Whichever partition is encoded first.
    "Dask": "row 0 of partition [01]",
}
PLACES = list(FIRST_ROWS)


def ask(model, rows):
    answer = model.predict(rows)
    return answer.compute() if hasattr(answer, "compute") else answer


@pytest.mark.parametrize("place", PLACES)
def test_a_new_category_is_named_with_its_file_and_first_row(place, tmp_path):
    frame = make_cars()
    frame["price"] = 1.0
    model = make_pipeline(TableEncoder(min_frequency=1), Ridge()).fit(frame, "price")
    frame.loc[33:40, "maker"] = "Fiat"
    rows, where = put(frame, tmp_path, place)
    words = f"column 'maker' has a category that no training row had: 'Fiat'; the first is in {where}"
    with pytest.warns(UserWarning, match=words):
        ask(model, rows)
    with pytest.raises(DataError, match=words):
        ask(model.set_params(tableencoder__handle_unknown="error"), rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(model.set_params(tableencoder__handle_unknown="ignore"), rows)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("age", "old", "column 'age' held numbers in the training rows, and holds 'old' now"),
        ("day", 7, "column 'day' held dates in the training rows, and holds '7' now"),
        ("maker", 7, "column 'maker' held texts in the training rows, and holds '7' now"),
    ],
)
def test_a_column_of_another_kind_is_named_with_its_file_and_first_row(column, values, words, place, tmp_path):
    frame = make_cars()
    model = make_pipeline(TableEncoder(), Ridge()).fit(frame, "price")
    frame[column] = values
    rows, _ = put(frame, tmp_path, place)
    with pytest.raises(DataError, match=f"{words}; the first is in {FIRST_ROWS[place]}"):
        ask(model, rows)


@pytest.mark.parametrize("place", PLACES)
def test_a_column_that_vanished_is_named(place, tmp_path):
    frame = make_cars()
    model = make_pipeline(TableEncoder(), Ridge()).fit(frame, "price")
    rows, _ = put(frame.drop(columns="age"), tmp_path, place)
    with pytest.raises(ValueError, match="age"):
        ask(model, rows)


def test_a_rare_category_of_the_training_rows_is_not_new():
    frame = make_cars()
    frame.loc[1, "maker"] = "Lada"
    model = TableEncoder(min_frequency=5).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform(frame)


def test_queries_and_files_of_databases_are_tables(tmp_path):
    frame = make_cars().drop(columns="day")
    connection = sqlite3.connect(tmp_path / "cars.db")
    frame.to_sql("cars", connection, index=False)
    expected = make_pipeline(TableEncoder(), Ridge()).fit(frame, "price").predict(frame)
    for rows in (tmp_path / "cars.db", f"{tmp_path / 'cars.db'}::cars", (connection, "SELECT * FROM cars")):
        model = make_pipeline(TableEncoder(), Ridge()).fit(rows, "price")
        assert np.array_equal(model.predict(rows), expected)
    once = connection.execute("SELECT age, price FROM cars WHERE age IS NOT NULL")
    assert Ridge().fit(once, "price").coef_.shape == (1,)
    with pytest.raises(DataError, match="the cursor has no rows left: it was read before"):
        make_pipeline(TableEncoder(), Ridge()).fit(connection.execute("SELECT * FROM cars"), "price")
    with pytest.raises(
        DataError, match=r"must have a table 'lorries'; its tables are cars. Give the path as .*::TABLE"
    ):
        read_schema(f"{tmp_path / 'cars.db'}::lorries")
    connection.execute("UPDATE cars SET age = 'old' WHERE rowid = 34")
    with pytest.raises(DataError, match=r"column 'age' of the query .* row 33 holds 'old', a str"):
        read_schema((connection, "SELECT * FROM cars"))
