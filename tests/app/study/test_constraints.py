"""Predictions that may only rise, or only fall, with a column."""

import numpy as np
import pandas
import pytest

import mercer
from mercer.errors import DataError

QUICK = {"quick": True, "folds": 3, "inner": 2, "n_jobs": 1, "splits": "random"}
TREES = ["one tree", "boosted trees"]


def _make_table(n: int = 150) -> pandas.DataFrame:
    """A price that mostly rises with the area and falls with the age; noise makes free trees break both rules."""
    rng = np.random.default_rng(0)
    area, age = rng.uniform(20, 120, n), rng.uniform(0, 60, n)
    area[::11] = np.nan
    city = rng.choice(["Ulm", "Bonn"], n)
    price = 3 * np.nan_to_num(area, nan=70.0) - 2 * age + 60 * rng.normal(size=n)
    day = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(rng.integers(0, 900, n), "D")
    return pandas.DataFrame({"area": area, "age": age, "city": city, "day": day, "price": price})


def _vary(frame: pandas.DataFrame, name: str) -> list[pandas.DataFrame]:
    """Return copies of the first rows with one column at 30 rising values."""
    return [frame.head(20).assign(**{name: value}) for value in np.linspace(*frame[name].quantile([0.01, 0.99]), 30)]


@pytest.mark.parametrize("candidate", TREES)
def test_predicted_numbers_hold_the_constraints(candidate):
    frame = _make_table()
    options = {"increasing": "area", "decreasing": "age", "candidates": [candidate]}
    study = mercer.run(frame, "price", **options, **QUICK)
    assert study.record.sureness.score > 0.2
    for name, sign in {"area": 1, "age": -1}.items():
        moved = np.array([study.model.predict(rows) for rows in _vary(frame, name)])
        assert (sign * np.diff(moved, axis=0) >= -1e-9).all()
        assert np.ptp(moved) > 0


@pytest.mark.parametrize("positive", ["dear", "cheap"])
def test_the_probability_of_the_positive_class_holds_them_whichever_it_is(positive):
    frame = _make_table()
    frame["price"] = np.where(frame["price"] > frame["price"].median(), "dear", "cheap")
    flag = "increasing" if positive == "dear" else "decreasing"
    options = {flag: "area", "positive": positive, "candidates": ["boosted trees"]}
    study = mercer.run(frame, "price", **options, **QUICK)
    place = list(study.model.classes_).index(positive)
    moved = np.array([study.model.predict_proba(rows)[:, place] for rows in _vary(frame, "area")])
    assert ((1 if flag == "increasing" else -1) * np.diff(moved, axis=0) >= -1e-9).all()


def test_candidates_that_cannot_hold_them_are_left_out_with_the_reason():
    record = mercer.run(_make_table(), "price", increasing="area", candidates=["ridge regression"], **QUICK).record
    ridge = next(candidate for candidate in record.candidates if candidate.name == "ridge regression")
    assert (ridge.status, ridge.text) == ("skipped", "cannot hold --increasing and --decreasing")


def test_what_cannot_be_constrained_is_refused():
    frame = _make_table()
    with pytest.raises(DataError, match="--increasing: `city` must be a column of numbers that models use; it is cat"):
        mercer.run(frame, "price", increasing="city", **QUICK)
    with pytest.raises(DataError, match="`age` is given to both --increasing and --decreasing"):
        mercer.run(frame, "price", increasing="age", decreasing="age", **QUICK)
    frame["price"] = pandas.cut(frame["price"], 3, labels=["a", "b", "c"]).astype(str)
    with pytest.raises(DataError, match="need a target of numbers or of two classes; it has 3 classes"):
        mercer.run(frame, "price", increasing="age", **QUICK)
