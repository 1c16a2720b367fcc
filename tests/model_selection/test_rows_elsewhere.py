"""Searches and cross-validation over pipelines that read files and streams: the scores of the rows in memory."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit

from mercer.compose import make_column_transformer
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression, Ridge
from mercer.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
)
from mercer.pipeline import make_pipeline
from mercer.preprocessing import OneHotEncoder, StandardScaler, TableEncoder, TargetEncoder

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
SPLITTERS = [KFold(3), KFold(3, shuffle=True, random_state=0), TimeSeriesSplit(3), GroupKFold(3)]


def draw(seed, n=240):
    random = np.random.default_rng(seed)
    frame = pandas.DataFrame(random.normal(size=(n, 2)), columns=["a", "b"])
    frame["maker"] = random.choice(["x", "y", "z"], n)
    frame["owner"] = random.integers(0, 6, n)
    frame["price"] = 2 * frame["a"] - frame["b"] + 3 * (frame["maker"] == "x") + 0.5 * random.normal(size=n)
    return frame


def make_model():
    columns = make_column_transformer((OneHotEncoder(), ["maker"]), (StandardScaler(), ["a", "b"]))
    return make_pipeline(columns, Ridge())


def read(frame):
    return frame[["a", "b", "maker"]], frame["price"].to_numpy()


@pytest.fixture(params=["Parquet", "CSV", "blocks"])
def table(request, tmp_path):
    """A table, and where it is."""
    frame = draw(0)
    if request.param == "blocks":
        return frame, [frame[:100], frame[100:130], frame[130:]]
    if request.param == "CSV":
        frame.to_csv(tmp_path / "cars.csv", index=False)
        return pandas.read_csv(tmp_path / "cars.csv"), tmp_path / "cars.csv"
    frame.to_parquet(tmp_path / "cars.parquet", row_group_size=70)
    return frame, tmp_path / "cars.parquet"


@pytest.mark.parametrize("cv", SPLITTERS, ids=lambda one: type(one).__name__)
def test_a_search_over_a_table_elsewhere_finds_what_it_finds_in_memory(table, cv):
    frame, where = table
    X, y = read(frame)
    grid = {"ridge__alpha": [0.1, 30.0]}
    here = GridSearchCV(make_model(), grid, cv=cv).fit(X, y, groups=frame["owner"])
    there = GridSearchCV(make_model(), grid, cv=cv).fit(where, "price", groups="owner")
    scores = [search.cv_results_["mean_test_score"] for search in (here, there)]
    assert scores[1] == pytest.approx(scores[0], rel=1e-9)
    assert there.best_params_ == here.best_params_
    assert there.predict(X) == pytest.approx(here.predict(X), rel=1e-9)
    assert np.asarray(there.predict(where)) == pytest.approx(here.predict(X), rel=1e-9)


@pytest.mark.parametrize("search", [RandomizedSearchCV, HalvingGridSearchCV])
def test_other_searches_read_tables_too(search, table):
    frame, where = table
    X, y = read(frame)
    options = {"random_state": 0} | ({"n_iter": 2} if search is RandomizedSearchCV else {"min_resources": 80})
    grid = {"ridge__alpha": [0.1, 3.0, 30.0]}
    here = search(make_model(), grid, cv=KFold(3), **options).fit(X, y)
    there = search(make_model(), grid, cv=KFold(3), **options).fit(where, "price")
    assert there.cv_results_["mean_test_score"] == pytest.approx(here.cv_results_["mean_test_score"], rel=1e-9)


def test_scores_of_classifiers_and_of_other_encoders_are_those_of_memory(tmp_path):
    frame = draw(1)
    frame["sold"] = np.where(frame.pop("price") > 0.5, "yes", "no")
    frame.to_parquet(tmp_path / "cars.parquet", row_group_size=50)
    X, y = frame.drop(columns="sold"), frame["sold"]
    for encoder in (TableEncoder(), TargetEncoder(random_state=0)):
        model = make_pipeline(encoder, LogisticRegression())
        for scoring in (None, "neg_log_loss"):
            here = cross_val_score(model, X, y, scoring=scoring, cv=3)
            there = cross_val_score(model, tmp_path / "cars.parquet", "sold", scoring=scoring, cv=3)
            assert there == pytest.approx(here, rel=1e-6)


def test_numbers_in_files_are_split_without_a_pipeline(tmp_path):
    frame = draw(2)[["a", "b", "price"]]
    frame.to_parquet(tmp_path / "cars.parquet", row_group_size=64)
    rows, y = frame[["a", "b"]].to_numpy(), frame["price"].to_numpy()
    np.save(tmp_path / "rows.npy", rows)
    cv = ShuffleSplit(4, test_size=0.3, random_state=0)
    here = cross_val_score(Ridge(), rows, y, cv=cv)
    assert cross_val_score(Ridge(), tmp_path / "cars.parquet", "price", cv=cv) == pytest.approx(here)
    assert cross_val_score(Ridge(), tmp_path / "rows.npy", y, cv=cv) == pytest.approx(here)
    blocks = [(rows[:100], y[:100]), (rows[100:], y[100:])]
    found = cross_validate(Ridge(), blocks, cv=cv, return_train_score=True, return_indices=True)
    assert found["test_score"] == pytest.approx(here)
    assert found["indices"]["test"][0].tolist() == sorted(next(cv.split(rows))[1].tolist())


def test_rows_that_can_be_read_once_only_are_refused():
    frame = draw(3)
    with pytest.raises(DataError, match="can be read only once"):
        cross_val_score(make_model(), iter([frame[:100], frame[100:]]), "price")
    with pytest.raises(DataError, match="no column 'prize'"):
        GridSearchCV(make_model(), {"ridge__alpha": [1.0]}).fit([frame[:100], frame[100:]], "prize")
