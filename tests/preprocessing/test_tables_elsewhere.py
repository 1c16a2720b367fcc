"""Tables in files and streams: TableEncoder learns them block by block, and a pipeline behind it streams."""

import gzip

import numpy as np
import pandas
import pyarrow
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
from sklearn.pipeline import make_pipeline

from mercer._statistic import column_values
from mercer._statistic.column_values import NumberSummary
from mercer.cluster import KMeans
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression, Ridge
from mercer.preprocessing import TableEncoder, _summaries
from mercer.preprocessing._summaries import NameSummary


def cars(n=40_000):
    """A table of every kind of column, with gaps."""
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "maker": random.choice(["Audi", "BMW", "VW", "Škoda", None], n),
            "age": np.where(random.random(n) < 0.1, np.nan, random.normal(size=n).round(3)),
            "seats": random.integers(2, 7, n),
            "sold": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(random.integers(0, 900, n), "D"),
            "new": random.random(n) < 0.5,
        }
    )
    frame["price"] = (frame["age"].fillna(2.0) + frame["seats"] + random.normal(size=n)).round(3)
    frame["dear"] = np.where(frame["price"] > 4.5, "dear", "cheap")
    return frame


CARS = cars()
ROWS = CARS.drop(columns=["price", "dear"])


def list_tables(folder, frame):
    frame.to_csv(folder / "cars.csv", index=False)
    yield folder / "cars.csv"
    (folder / "cars.csv.gz").write_bytes(gzip.compress((folder / "cars.csv").read_bytes()))
    yield folder / "cars.csv.gz"
    german = frame.assign(sold=frame["sold"].dt.strftime("%d.%m.%Y"))
    german.to_csv(folder / "german.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    yield folder / "german.csv"
    table = pyarrow.Table.from_pandas(frame)
    pyarrow.parquet.write_table(table, folder / "cars.parquet", row_group_size=7_000)
    yield folder / "cars.parquet"
    pyarrow.feather.write_feather(table, folder / "cars.feather")
    yield folder / "cars.feather"
    yield pyarrow.dataset.dataset(folder / "cars.parquet")
    yield [frame[:9_000], frame[9_000:9_001], frame[9_001:]]
    yield lambda: iter([frame[:33], frame[33:]])
    yield lambda: (pyarrow.Table.from_pandas(part) for part in (frame[:20_000], frame[20_000:]))


# Truth


@pytest.mark.filterwarnings("ignore:.*cp1252")
def test_a_pipeline_over_every_kind_of_table_is_that_of_the_frame(tmp_path):
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(ROWS, CARS["dear"])
    shares = model.predict_proba(ROWS)
    for table in list_tables(tmp_path, CARS.drop(columns="price")):
        found = make_pipeline(TableEncoder(), LogisticRegression()).fit(table, "dear")
        assert found[0].kinds_ == ["category", "number", "number", "date", "category"], table
        assert np.array_equal(found[1].coef_, model[1].coef_), table
        assert np.array_equal(found.predict_proba(table), shares), table


def test_targets_may_be_numbers_and_lie_beside_the_table(tmp_path):
    CARS.drop(columns="dear").to_parquet(tmp_path / "cars.parquet")
    ROWS.to_parquet(tmp_path / "rows.parquet")
    expected = make_pipeline(TableEncoder(), Ridge()).fit(ROWS, CARS["price"])[1].coef_
    for path, y in (("cars.parquet", "price"), ("rows.parquet", CARS["price"].to_numpy())):
        assert np.array_equal(make_pipeline(TableEncoder(), Ridge()).fit(tmp_path / path, y)[1].coef_, expected)


def test_sparse_rows_stream_too(tmp_path):
    CARS.drop(columns="price").to_csv(tmp_path / "cars.csv", index=False)
    options = {"sparse_output": True, "missing": "fill"}
    model = make_pipeline(TableEncoder(**options), LogisticRegression()).fit(ROWS, CARS["dear"])
    found = make_pipeline(TableEncoder(**options), LogisticRegression()).fit(tmp_path / "cars.csv", "dear")
    np.testing.assert_allclose(found[1].coef_, model[1].coef_, rtol=1e-3, atol=1e-4)
    blocks = list(found[0].transform(tmp_path / "cars.csv"))
    assert all(block.format == "csr" for block in blocks)
    assert np.array_equal(np.vstack([block.toarray() for block in blocks]), model[0].transform(ROWS).toarray())


def test_what_transform_gives_for_a_file_is_read_in_blocks_or_whole(tmp_path):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    encoder = TableEncoder().fit(tmp_path / "rows.csv")
    table = encoder.transform(tmp_path / "rows.csv")
    assert repr(table).startswith("EncodedTable(")
    blocks = list(table)
    assert len(blocks) > 1
    expected = TableEncoder().fit_transform(ROWS)
    assert np.array_equal(np.concatenate(blocks), expected)
    assert np.array_equal(np.asarray(table), expected)
    assert KMeans(2, n_init=1, random_state=0).fit(table).n_features_in_ == expected.shape[1]


def test_durations_are_numbers_of_seconds():
    frame = pandas.DataFrame({"taken": pandas.to_timedelta([60, None, 90], "s")})
    assert TableEncoder().fit_transform(frame).tolist() == [[60, 0], [75, 1], [90, 0]]


def test_kinds_that_were_given_decide_how_a_text_file_is_read(tmp_path):
    (tmp_path / "rows.csv").write_text("code,size\n" + '1.0,"1,000"\n2.50,"2,500"\n' * 10)
    encoder = TableEncoder(kinds={"code": "category"}).fit(tmp_path / "rows.csv")
    assert encoder.categories_[0].tolist() == ["1.0", "2.50"]
    assert encoder.find_reading_kinds() == {"code": "category", "size": "number 1,234.5"}
    assert np.asarray(encoder.transform(tmp_path / "rows.csv"))[:2].tolist() == [[1, 0, 1000], [0, 1, 2500]]


# Summaries


def test_the_median_of_blocks_is_that_of_all_values_in_any_order(monkeypatch):
    monkeypatch.setattr(column_values, "MOST", 500)
    random = np.random.default_rng(0)
    few, many = random.integers(-90, 90, 4_001).astype(float), random.normal(size=4_001)
    for values in (few, many):
        found = []
        for order in (np.arange(4_001), random.permutation(4_001)):
            parts = [NumberSummary() for _ in range(3)]
            for number, block in enumerate(np.array_split(values[order], 30)):
                parts[number % 3].add(block)
            parts[0].join(parts[1])
            parts[0].join(parts[2])
            parts[0].compress()
            found.append((parts[0].median(), parts[0].error))
        assert found[0] == found[1]
        median, error = found[0]
        assert (error == 0) == (values is few)
        assert abs(median - np.median(values)) <= error * abs(np.median(values))
        assert error < 0.01


def test_counts_of_many_names_are_too_small_by_at_most_the_error(monkeypatch):
    monkeypatch.setattr(_summaries, "MOST", 100)
    names = [f"rare {number}" for number in range(900)] + ["often"] * 500
    summary, other = NameSummary(), NameSummary()
    for number, name in enumerate(np.random.default_rng(0).permutation(names)):
        (summary, other)[number % 2].add({str(name): 1}, 1, 0)
    summary.join(other)
    assert summary.n_rows == 1_400
    assert len(summary.counts) <= 100
    assert 500 - summary.error <= summary.counts["often"] <= 500
    assert summary.error <= 1_400 / 50


def test_more_names_than_are_counted_are_told(monkeypatch, tmp_path):
    monkeypatch.setattr(_summaries, "MOST", 100)
    pandas.DataFrame({"name": [f"n{number}" for number in range(400)]}).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.warns(UserWarning, match=r"column 'name' has more than .* different values, so that counts of its"):
        TableEncoder().fit(tmp_path / "rows.csv")


# Errors


def test_a_later_value_of_another_kind_is_told_with_its_place(tmp_path):
    text = "maker,age\n" + "Audi,1\n" * 200_000
    (tmp_path / "rows.csv").write_text(text + "BMW,old\n")
    with pytest.raises(DataError, match=r"rows\.csv: column 'age' holds numbers, but row 200000 has 'old'"):
        TableEncoder().fit(tmp_path / "rows.csv")
    (tmp_path / "rows.csv").write_text(text)
    model = make_pipeline(TableEncoder(), KMeans(1)).fit(tmp_path / "rows.csv")
    (tmp_path / "new.csv").write_text("maker,age\nAudi,old\n")
    with pytest.raises(DataError, match=r"new\.csv: column 'age' holds numbers, but row 0 has 'old'"):
        model.predict(tmp_path / "new.csv")
    frames = [pandas.DataFrame({"age": [1.0, 2.0]}), pandas.DataFrame({"age": ["old"]})]
    with pytest.raises(DataError, match=r"column 'age' must hold numbers; got 'old'.* It is in block 1"):
        TableEncoder().fit(frames)


def test_columns_that_vanish_are_named_with_their_file(tmp_path):
    ROWS[:100].to_parquet(tmp_path / "rows.parquet")
    model = make_pipeline(TableEncoder(), KMeans(2)).fit(tmp_path / "rows.parquet")
    ROWS[:100].drop(columns="age").to_parquet(tmp_path / "new.parquet")
    with pytest.raises(DataError, match=r"the Parquet file .*new\.parquet has no column 'age'; its columns are maker"):
        model.predict(tmp_path / "new.parquet")
    with pytest.raises(DataError, match=r"there is no file or folder .*none"):
        model.fit(tmp_path / "none.csv")


def test_targets_beside_blocks_are_refused():
    frames = [pandas.DataFrame({"a": [1.0, 2.0], "y": [0, 1]})]
    with pytest.raises(DataError, match="y must come with the blocks, or name a column of them"):
        make_pipeline(TableEncoder(), LogisticRegression()).fit(frames, np.array([0, 1]))
    with pytest.raises(DataError, match="block 0 has no column 'z'; its columns are a, y"):
        make_pipeline(TableEncoder(), LogisticRegression()).fit(frames, "z")
