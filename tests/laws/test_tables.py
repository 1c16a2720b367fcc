"""Promise 3 for tables: texts, dates, gaps and truth values in any place, for every estimator behind the encoder."""

import sqlite3
import warnings

import dask
import dask.dataframe
import numpy as np
import pandas
import pytest
import scipy.sparse

from mercer.pipeline import make_pipeline
from mercer.preprocessing import StandardScaler, TableEncoder
from tests.laws.subjects import digest, fitted, outputs, subjects
from tests.laws.test_elsewhere import SHUFFLED

FIRST = {subject.name: subject for subject in reversed(subjects())}
# Rows of a table that has every kind of column: enough for folds and for neighbours.
N = 120
# A product of the same rows may round another way where they lie in memory in the order of columns.
ROUNDED = ("FastICA",)


def make_table(subject):
    """A frame of all kinds of columns, and the name of its column of targets; None where there are none."""
    X, y = subject.data(N, 5)
    rng = np.random.default_rng(0)
    maker = np.where(X[:, 0] > np.median(X[:, 0]), "Audi", "BMW").astype(object)
    frame = pandas.DataFrame({"maker": maker, "sold": np.asarray(X[:, 1] > np.median(X[:, 1]))})
    # A gap in a text and one in the numbers.
    frame.loc[::9, "maker"] = None
    tags = subject.make().__sklearn_tags__().input_tags
    if not (tags.categorical or tags.positive_only or subject.name == "SkewedChi2Sampler"):
        frame["age"] = X[:, 2]
        frame["power"] = X[:, 3]
        frame["day"] = pandas.Timestamp("2021-03-04") + pandas.to_timedelta(rng.integers(0, 900, N), unit="D")
        frame.loc[::7, "age"] = np.nan
    if y is None:
        return frame, None
    if y.ndim == 1:
        return frame.assign(target=y), "target"
    return frame.assign(**{f"target{number}": one for number, one in enumerate(y.T)}), "several"


def put_in_database(frame, folder):
    """An SQLite file of the frame, which keeps texts, numbers and gaps."""
    with sqlite3.connect(folder / "cars.db") as connection:
        frame.to_sql("cars", connection, index=False)
    return folder / "cars.db"


def put_in_folder(frame, folder):
    """A folder of two Parquet files."""
    (folder / "cars").mkdir()
    for number, part in enumerate((frame.iloc[:50], frame.iloc[50:])):
        part.to_parquet(folder / "cars" / f"part-{number}.parquet", row_group_size=20)
    return folder / "cars"


PLACES = {
    "Parquet folder": put_in_folder,
    "blocks": lambda frame, folder: [frame.iloc[:50], frame.iloc[50:]],
    "Dask": lambda frame, folder: dask.dataframe.from_pandas(frame, npartitions=1),
    "SQLite": put_in_database,
}


def make(subject):
    """The estimator behind what makes numbers of a table."""
    tags = subject.make().__sklearn_tags__().input_tags
    plain = tags.categorical or tags.positive_only or subject.name == "SkewedChi2Sampler"
    encoder = TableEncoder(categories="code", missing="fill", sparse_output=False, min_frequency=1)
    return make_pipeline(encoder, *([] if plain else [StandardScaler()]), subject.make(max_iter=20))


def learnt(model):
    """All that the last step has learnt, but the labels of rows that are not at hand."""
    return {k: v for k, v in fitted(model[-1]).items() if k not in ("labels_", "outliers_", "feature_names_in_")}


@pytest.mark.parametrize("name", FIRST)
def test_an_estimator_learns_from_a_table_in_any_place_as_in_memory(name, tmp_path):
    subject = FIRST[name]
    if subject.needs_memory:
        pytest.skip("its first setting reaches rows one by one")
    frame, target = make_table(subject)
    X = frame.drop(columns=[column for column in frame if column.startswith("target")])
    y = subject.data(N, 5)[1]
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(subject).fit(X, y)
        expected = digest(learnt(model)), digest(outputs(model, X))
        for place, put in PLACES.items():
            rows = frame
            if place == "SQLite":
                # It has neither dates nor truth values.
                rows = frame.drop(columns=[one for one in ("day",) if one in frame]).astype({"sold": float})
                least = X.drop(columns=[one for one in ("day",) if one in X]).astype({"sold": float})
                model = make(subject).fit(least, y)
                expected = digest(learnt(model)), digest(outputs(model, least))
            if target == "several":
                # Targets of several columns stand beside rows in memory alone.
                continue
            given = put(rows, tmp_path)
            found = make(subject).fit(given, target)
            answers = {k: _compute(v) for k, v in _ask(found, given).items()}
            if name in ROUNDED:
                told = outputs(model, X if place != "SQLite" else least)
                for method, values in told.items():
                    np.testing.assert_allclose(answers[method], values, rtol=1e-7, atol=1e-9)
            elif name not in SHUFFLED and name != "MiniBatchKMeans":
                assert (digest(learnt(found)), digest(answers)) == expected, place


def _ask(model, X):
    """What a model says of rows outside of memory, by every method it has."""
    methods = ("predict", "predict_proba", "decision_function", "transform", "score_samples", "mahalanobis")
    return {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}


def _compute(values):
    """An answer as an array."""
    values = values.compute() if hasattr(values, "compute") else values
    values = np.asarray(values) if hasattr(values, "encode") else values
    return values.toarray() if scipy.sparse.issparse(values) else np.asarray(values)
