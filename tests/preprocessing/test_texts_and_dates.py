"""Dates in parts, and texts by similarity: by the calendar, by the share of common runs, and alike in every place."""

from datetime import datetime, timedelta

import numpy as np
import pytest

import mercer
from mercer.errors import DataError
from mercer.linear_model import Ridge
from mercer.pipeline import make_pipeline
from mercer.preprocessing import DatetimeEncoder, MinHashEncoder

pandas = pytest.importorskip("pandas")


def draw_dates(seed, n=200):
    random = np.random.default_rng(seed)
    return [datetime(1950, 1, 1) + timedelta(seconds=int(s)) for s in random.integers(0, 4 * 10**9, n)]


def test_parts_of_a_date_are_those_of_the_calendar():
    dates = draw_dates(0)
    encoder = DatetimeEncoder(resolution="second", add_weekday=True, add_day_of_year=True)
    found = encoder.fit_transform(pandas.DataFrame({"d": pandas.to_datetime(dates)}))
    first = datetime(1970, 1, 1)
    wanted = [
        [
            *(one.year, one.month, one.day, one.hour, one.minute, one.second, (one - first).total_seconds()),
            *(one.isoweekday(), one.timetuple().tm_yday),
        ]
        for one in dates
    ]
    assert (found == np.array(wanted)).all()


def test_december_lies_between_november_and_january_on_the_circle():
    months = pandas.DataFrame({"d": pandas.to_datetime(["2023-11-01", "2023-12-01", "2024-01-01"])})
    encoder = DatetimeEncoder("month", add_total_seconds=False, periodic_encoding="circular").fit(months)
    circle = encoder.transform(months)[:, 1:]
    assert encoder.get_feature_names_out().tolist() == ["d_year", "d_month_sin", "d_month_cos"]
    steps = np.linalg.norm(np.diff(circle, axis=0), axis=1)
    assert steps == pytest.approx(2 * np.sin(np.pi / 12))


def test_a_missing_date_gives_missing_numbers():
    rows = pandas.DataFrame({"d": pandas.to_datetime(["2024-01-01", None])})
    assert np.isnan(DatetimeEncoder().fit_transform(rows)).tolist() == [[False] * 5, [True] * 5]


def share(one, other, sizes=(2, 3, 4)):
    """The share of runs that both texts have."""

    def list_runs(text):
        return {text[k : k + n] for n in sizes for k in range(len(text) - n + 1)}

    first, second = list_runs(f" {one} "), list_runs(f" {other} ")
    return len(first & second) / len(first | second)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("minmax", [False, True])
def test_numbers_agree_as_often_as_texts_share_their_runs(seed, minmax):
    texts = ["accountant", "accountants", "senior accountant", "nurse", "Krankenschwester"]
    made = MinHashEncoder(4000, random_state=seed, minmax_hash=minmax).fit_transform([[text] for text in texts])
    for i, one in enumerate(texts):
        for j, other in enumerate(texts):
            wanted = share(one, other)
            # Five standard errors of a share of 2 000 independent agreements.
            assert (made[i] == made[j]).mean() == pytest.approx(wanted, abs=5 * np.sqrt(wanted * (1 - wanted) / 2000))


def test_hashes_are_spread_evenly():
    """The least of n even hashes has mean 1 / (n + 1): a text of one run shows the hash itself."""
    made = MinHashEncoder(3000, ngram_range=(3, 3)).fit_transform([["a"], ["abc"]])
    for row, n in zip(made, (1, 3), strict=True):
        assert row.mean() == pytest.approx(1 / (n + 1), abs=5 * row.std() / np.sqrt(len(row)))


def test_the_same_text_gives_the_same_numbers_with_any_rows_around_it():
    random = np.random.default_rng(1)
    texts = ["".join(random.choice(list("abcdefg "), size)) for size in random.integers(0, 40, 300)]
    whole = MinHashEncoder().fit_transform(np.array(texts, object)[:, None])
    one_by_one = np.vstack([MinHashEncoder().fit_transform([[text]]) for text in texts[:20]])
    assert (whole[:20] == one_by_one).all()


def test_missing_and_empty_texts_give_zeros():
    made = MinHashEncoder().fit_transform(np.array([["a"], [""], [None]], object))
    assert (made[1:] == 0).all()
    assert (made[0] > 0).all()


@pytest.mark.parametrize("encoder", [DatetimeEncoder("day", add_weekday=True), MinHashEncoder(5)], ids=repr)
def test_tables_in_files_streams_and_dask_give_what_a_frame_gives(encoder, tmp_path):
    frames = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pyarrow")
    if isinstance(encoder, DatetimeEncoder):
        rows = pandas.DataFrame({"v": pandas.to_datetime(draw_dates(2))})
    else:
        random = np.random.default_rng(3)
        rows = pandas.DataFrame({"v": [f"kind-{k}-of-{m}" for k, m in random.integers(0, 30, (200, 2))]})
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    here = encoder.fit(rows).transform(rows)
    halves = [rows[:90], rows[90:]]
    for where in (tmp_path / "rows.parquet", tmp_path / "rows.csv", halves):
        assert (np.asarray(encoder.fit(where).transform(where)) == here).all()
    there = frames.from_pandas(rows, npartitions=3)
    assert (encoder.fit(there).transform(there).compute(scheduler="sync") == here).all()


def test_a_pipeline_reads_texts_of_a_file_behind_the_encoder(tmp_path):
    pytest.importorskip("pyarrow")
    random = np.random.default_rng(4)
    kinds = random.integers(0, 3, 300)
    rows = pandas.DataFrame({"job": [f"{['nurse', 'clerk', 'pilot'][k]} {n}" for n, k in enumerate(kinds)]})
    target = np.array([1.0, 2.0, 5.0])[kinds]
    rows.assign(pay=target).to_parquet(tmp_path / "jobs.parquet")
    there = make_pipeline(MinHashEncoder(20), Ridge()).fit(tmp_path / "jobs.parquet", "pay")
    here = make_pipeline(MinHashEncoder(20), Ridge()).fit(rows, target)
    assert there.predict(rows) == pytest.approx(here.predict(rows))


@pytest.mark.parametrize("encoder", [DatetimeEncoder(), MinHashEncoder()], ids=repr)
def test_a_saved_encoder_gives_the_same_numbers(encoder, tmp_path):
    rows = pandas.DataFrame({"v": pandas.to_datetime(draw_dates(5))})
    encoder.fit(rows)
    mercer.save(encoder, tmp_path / "encoder.mercer")
    assert (mercer.load(tmp_path / "encoder.mercer").transform(rows) == encoder.transform(rows)).all()


def test_texts_that_are_no_dates_are_named():
    with pytest.raises(DataError, match="column 'v' must hold dates; got 'tomorrow'"):
        DatetimeEncoder().fit(pandas.DataFrame({"v": ["tomorrow"]}))
