"""Rows in other places for estimators that need all of them at once: brought to memory, within what is allowed."""

import dask.array as da
import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest

import mercer
from mercer.cluster import DBSCAN
from mercer.decomposition import KernelPCA
from mercer.ensemble import RandomForestClassifier
from mercer.errors import DataError, MemoryForecastError
from mercer.linear_model import Ridge
from mercer.neighbors import KernelDensity
from mercer.pipeline import make_pipeline
from mercer.svm import SVC, SVR


@pytest.fixture
def cars(tmp_path):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"age": rng.gamma(3, 2, 300), "power": rng.normal(100, 20, 300)})
    frame["sold"] = np.where(frame.age + rng.normal(size=300) > 6, "yes", "no")
    frame["w"] = rng.integers(1, 3, 300).astype(float)
    frame.to_parquet(tmp_path / "cars.parquet", row_group_size=70)
    return frame, tmp_path / "cars.parquet"


def test_labels_and_weights_are_columns_and_the_model_knows_the_names(cars):
    frame, path = cars
    model = RandomForestClassifier(5, random_state=0).fit(path, "sold", sample_weight="w")
    expected = RandomForestClassifier(5, random_state=0).fit(frame[["age", "power"]], frame.sold, sample_weight=frame.w)
    assert model.feature_names_in_.tolist() == ["age", "power"]
    assert np.array_equal(model.predict_proba(path), expected.predict_proba(frame[["age", "power"]]))
    assert model.score(path, "sold") == pytest.approx((model.predict(path) == frame.sold).mean())


def test_a_fit_that_would_not_fit_says_so_before_it_reads():
    def blocks():
        read.append(1)
        yield np.zeros((1000, 4))

    read = []
    rows = da.zeros((10_000_000, 40), chunks=(1_000_000, 40))
    with mercer.config_context(max_memory=2**28), pytest.raises(MemoryForecastError, match=r"DBSCAN: all rows of"):
        DBSCAN().fit(rows)
    with mercer.config_context(max_memory=2**12), pytest.raises(MemoryForecastError, match="DBSCAN: holding all rows"):
        DBSCAN().fit(blocks)
    assert len(read) == 1


def test_a_gap_in_a_file_is_named_with_its_row(cars, tmp_path):
    frame, _ = cars
    frame.loc[123, "power"] = np.nan
    frame.drop(columns=["sold", "w"]).to_parquet(tmp_path / "gaps.parquet")
    with pytest.raises(DataError, match=r"Input X contains NaN.* column 'power', row 123 of .*gaps.parquet"):
        KernelDensity().fit(tmp_path / "gaps.parquet")


def test_predictions_of_a_file_hold_a_few_blocks_at_a_time(cars, monkeypatch):
    frame, path = cars
    model = SVC(random_state=0).fit(frame[["age", "power"]], frame.sold)
    expected = model.predict(frame[["age", "power"]])
    long = pyarrow.concat_tables([pyarrow.parquet.read_table(path)] * 300)
    pyarrow.parquet.write_table(long, path, row_group_size=5000)
    asked = []
    predict = SVC.predict

    def record(self, X):
        asked.append(1 if isinstance(X, str) or not hasattr(X, "shape") else len(X))
        return predict(self, X)

    monkeypatch.setattr(SVC, "predict", record)
    assert np.array_equal(model.predict(path), np.tile(expected, 300))
    assert len(asked) > 5
    assert max(asked) <= 2**14


def test_a_transformer_that_needs_all_rows_streams_to_the_next_step(cars):
    frame, path = cars
    steps = KernelPCA(2, kernel="rbf", gamma=1e-3), Ridge()
    columns = frame[["age", "power"]]
    other = path.with_name("numbers.parquet")
    columns.assign(price=frame.age * 2).to_parquet(other)
    model = make_pipeline(*steps).fit(other, "price")
    expected = make_pipeline(*steps).fit(columns, frame.age * 2)
    np.testing.assert_allclose(model.predict(other), expected.predict(columns), rtol=1e-9)


def test_text_in_a_column_is_refused_with_the_encoder_as_the_cure(cars):
    with pytest.raises(DataError, match=r"SVR: .* has text or categories .* in column 'sold'; encode the table by"):
        SVR().fit(cars[1], "age")
