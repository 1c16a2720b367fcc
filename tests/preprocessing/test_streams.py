"""Pipelines over files, streams and Dask: each transformer reads and maps a few blocks at a time, as often as asked."""

import itertools
import tracemalloc

import numpy as np
import pandas
import pytest
from sklearn.pipeline import make_pipeline

from mercer.decomposition import PCA
from mercer.errors import DataError
from mercer.feature_selection import VarianceThreshold
from mercer.linear_model import LogisticRegression, Ridge
from mercer.preprocessing import (
    Binarizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialBasis,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TableEncoder,
)

NAMES = ["a", "b", "c", "d"]
ROWS = np.random.default_rng(0).normal(size=(20_000, 4)) * [1.0, 1e6, 1e-6, 1.0] + [0.0, 0.0, 0.0, 1e4]
TARGETS = (ROWS - [0.0, 0.0, 0.0, 1e4]) @ [1.0, 2e-6, 3e6, 4.0] + np.random.default_rng(1).normal(size=20_000)
TRANSFORMERS = (
    StandardScaler(),
    VarianceThreshold(),
    MinMaxScaler(),
    PolynomialBasis(2),
    MaxAbsScaler(),
    RobustScaler(),
    QuantileTransformer(n_quantiles=30, subsample=5_000, random_state=0),
    Normalizer("l1"),
)


def chain(*last):
    return make_pipeline(*TRANSFORMERS, *last)


def put(folder, name):
    """Rows in a place, and what names their targets."""
    frame = pandas.DataFrame(ROWS, columns=NAMES).assign(target=TARGETS)
    match name:
        case "CSV":
            frame.to_csv(folder / "rows.csv", index=False)
            return folder / "rows.csv", "target"
        case "Parquet":
            frame.to_parquet(folder / "rows.parquet", row_group_size=3_000)
            return folder / "rows.parquet", "target"
        case "npy":
            np.save(folder / "rows.npy", ROWS)
            np.save(folder / "targets.npy", TARGETS)
            return folder / "rows.npy", folder / "targets.npy"
    cuts = [0, 1, 7_000, 7_001, 20_000]
    return [(ROWS[a:b], TARGETS[a:b]) for a, b in itertools.pairwise(cuts)], None


@pytest.mark.parametrize("place", ["CSV", "Parquet", "npy", "blocks"])
def test_a_pipeline_over_a_file_has_the_bits_of_one_over_an_array(place, tmp_path):
    X, y = put(tmp_path, place)
    inside, outside = chain(Ridge()).fit(ROWS, TARGETS), chain(Ridge()).fit(X, y)
    np.testing.assert_array_equal(outside[-1].coef_, inside[-1].coef_)
    np.testing.assert_array_equal(outside.predict(X), inside.predict(ROWS))
    if place in ("CSV", "Parquet"):
        assert outside[0].feature_names_in_.tolist() == NAMES
        assert outside.score(X, y) == pytest.approx(inside.score(ROWS, TARGETS), rel=1e-12)


def test_a_pipeline_over_a_dask_array_gives_the_answer_of_one_over_an_array():
    dask = pytest.importorskip("dask.array")
    X, y = dask.from_array(ROWS, chunks=(6_500, 4)), dask.from_array(TARGETS, chunks=6_500)
    inside, outside = chain(Ridge()).fit(ROWS, TARGETS), chain(Ridge()).fit(X, y)
    np.testing.assert_allclose(outside[-1].coef_, inside[-1].coef_, rtol=1e-6)


def test_texts_are_targets_and_a_table_of_texts_goes_before_a_scaler(tmp_path):
    frame = pandas.DataFrame(ROWS[:500], columns=NAMES).assign(kind=np.where(ROWS[:500, 1] > 0, "oak", "ash"))
    labels = np.where(TARGETS[:500] > 0, "yes", "no")
    frame.assign(sold=labels).to_csv(tmp_path / "rows.csv", index=False)
    for steps in ((TableEncoder(), StandardScaler()), (TableEncoder(), MinMaxScaler(), Binarizer(threshold=0.5))):
        outside = make_pipeline(*steps, LogisticRegression()).fit(tmp_path / "rows.csv", "sold")
        inside = make_pipeline(*steps, LogisticRegression()).fit(frame, labels)
        assert (outside.predict(tmp_path / "rows.csv") == inside.predict(frame)).mean() > 0.99


def test_a_pipeline_holds_a_few_blocks_of_a_file(tmp_path):
    rows = np.random.default_rng(2).normal(size=(60_000, 40))
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "targets.npy", rows[:, 0])
    steps = (StandardScaler(n_jobs=1), MinMaxScaler(n_jobs=1), VarianceThreshold(n_jobs=1), Ridge(n_jobs=1))
    peaks = []
    for _ in range(2):  # the first fit of a process loads modules
        tracemalloc.start()
        make_pipeline(*steps).fit(tmp_path / "rows.npy", tmp_path / "targets.npy")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert min(peaks) < rows.nbytes / 2


def test_rows_that_can_be_read_once_are_read_once():
    scaler = StandardScaler().fit(ROWS)
    later = scaler.transform(block for block in np.array_split(ROWS, 5))
    np.testing.assert_array_equal(np.asarray(later), scaler.transform(ROWS))
    with pytest.raises(DataError, match="yielded nothing"):
        np.asarray(later)


def test_later_rows_are_checked_when_they_are_read(tmp_path):
    scaler = MinMaxScaler().fit(pandas.DataFrame(ROWS, columns=NAMES))
    pandas.DataFrame(ROWS[:50, :3], columns=NAMES[:3]).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(DataError, match="'d'"):
        Ridge().fit(scaler.transform(tmp_path / "rows.csv"), "a")
    np.save(tmp_path / "rows.npy", np.where(ROWS > 1e6, np.nan, ROWS))
    with pytest.raises(DataError, match=r"Normalizer: Input X contains NaN; it is in column 1, row \d+ of"):
        np.asarray(Normalizer().fit(tmp_path / "rows.npy").transform(tmp_path / "rows.npy"))


def test_a_projection_is_a_step_of_such_a_pipeline(tmp_path):
    labels = np.where(TARGETS > 0, "yes", "no")
    pandas.DataFrame(ROWS, columns=NAMES).assign(sold=labels).to_parquet(tmp_path / "rows.parquet")
    inside = make_pipeline(StandardScaler(), PCA(3), LogisticRegression()).fit(ROWS, labels)
    outside = make_pipeline(StandardScaler(), PCA(3), LogisticRegression()).fit(tmp_path / "rows.parquet", "sold")
    np.testing.assert_allclose(outside[-1].coef_, inside[-1].coef_, rtol=1e-6)
    assert outside.score(tmp_path / "rows.parquet", "sold") == pytest.approx(inside.score(ROWS, labels), abs=1e-4)
