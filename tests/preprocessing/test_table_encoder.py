"""A table of mixed columns as numbers: each kind of column, what is missing, rare or new, and where it comes from."""

import datetime

import numpy as np
import pandas
import pyarrow
import pytest
from sklearn.pipeline import make_pipeline

import mercer
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression
from mercer.preprocessing import TableEncoder


def names(encoder):
    return encoder.get_feature_names_out().tolist()


@pytest.mark.catalogue("WF-02")
def test_three_car_makers_are_coded_one_of_three_and_read_back():
    makers = ["Audi", "BMW", "VW", "BMW", "Audi", "VW"]
    cars = pandas.DataFrame({"maker": makers})
    encoder = TableEncoder(min_frequency=1).fit(cars)
    codes = encoder.transform(cars)
    np.testing.assert_array_equal(codes[:3], np.eye(3))
    assert (codes.sum(axis=1) == 1).all()
    assert encoder.categories_[0][codes.argmax(axis=1)].tolist() == makers
    # A maker that was not there belongs to none of the three.
    assert encoder.transform(pandas.DataFrame({"maker": ["Opel"]})).tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.catalogue("WF-02")
def test_three_makers_that_come_once_each_are_still_three():
    cars = pandas.DataFrame({"maker": ["Audi", "BMW", "VW"]})
    encoder = TableEncoder().fit(cars)
    np.testing.assert_array_equal(encoder.transform(cars), np.eye(3))
    assert encoder.get_feature_names_out().tolist() == ["maker=Audi", "maker=BMW", "maker=VW"]
    # Where there are rows enough, names that come once each are names of rows and no categories.
    many = pandas.DataFrame({"name": [f"row {number}" for number in range(500)]})
    assert TableEncoder().fit(many).transform(many).shape == (500, 1)


@pytest.mark.catalogue("WF-02")
def test_rare_and_unseen_categories_are_coded_alike_and_missing_apart():
    column = ["red"] * 5 + ["blue"] * 4 + ["pink", None]
    encoder = TableEncoder(min_frequency=3).fit(pandas.DataFrame({"c": column}))
    assert names(encoder) == ["c=blue", "c=red", "c=(other)", "c=(missing)"]
    found = encoder.transform(pandas.DataFrame({"c": ["pink", "never seen", None, "red"]}))
    assert found.tolist() == [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]]
    most = TableEncoder(min_frequency=1, max_categories=1).fit(pandas.DataFrame({"c": column}))
    assert names(most) == ["c=red", "c=(other)", "c=(missing)"]


@pytest.mark.catalogue("WF-03")
def test_a_text_becomes_the_presence_of_known_words():
    mails = ["Cheap pills, cheap!", "cheap PILLS now", "meet at noon", "see you at noon"]
    encoder = TableEncoder({"mail": "text"}, min_frequency=2).fit(pandas.DataFrame({"mail": mails}))
    assert encoder.words_[0].tolist() == ["at", "cheap", "noon", "pills"]
    found = encoder.transform(pandas.DataFrame({"mail": ["CHEAP cheap unknown words", None]}))
    assert found.tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]


def test_a_column_of_which_no_category_is_frequent_keeps_those_that_come_twice():
    makers = pandas.DataFrame({"maker": ["Audi", "BMW", "VW"] * 2 + ["Fiat"]})
    encoder = TableEncoder().fit(makers)
    assert names(encoder) == ["maker=Audi", "maker=BMW", "maker=VW", "maker=(other)"]
    np.testing.assert_array_equal(encoder.transform(makers).sum(axis=1), 1.0)
    # One frequent category is enough to set the rest apart from it.
    assert names(TableEncoder().fit(pandas.DataFrame({"c": ["a"] * 5 + ["b"] * 2}))) == ["c=a", "c=(other)"]
    # Categories that all differ, as numbers of orders, get no column each.
    assert names(TableEncoder().fit(pandas.DataFrame({"c": list("abcdef")}))) == ["c=(other)"]
    mails = pandas.DataFrame({"mail": ["cheap pills", "cheap shoes", "dinner today", "dinner tomorrow"]})
    assert names(TableEncoder({"mail": "text"}).fit(mails)) == ["mail: cheap", "mail: dinner"]


# polars keeps lists only.
@pytest.mark.parametrize(
    ("library", "cell"), [("pandas", list), ("pandas", tuple), ("pandas", np.array), ("polars", list)]
)
def test_a_list_of_words_is_taken_as_it_is(library, cell):
    tokens = [["R", "b-tree"], ["R", "C"], ["b-tree", "C", "C"], ["Go"]]
    frame = pytest.importorskip(library).DataFrame({"tags": [cell(words) for words in tokens]})
    encoder = TableEncoder({"tags": "text"}, min_frequency=2).fit(frame)
    assert encoder.words_[0].tolist() == ["C", "R", "b-tree"]
    assert encoder.transform(frame).tolist() == [[0, 1, 1], [1, 1, 0], [1, 0, 1], [0, 0, 0]]


def test_numbers_are_kept_and_missing_ones_are_the_median_and_said():
    frame = pandas.DataFrame({"a": [1.0, np.nan, 4.0, 100.0], "b": [1, 2, 3, 4]})
    encoder = TableEncoder().fit(frame)
    assert names(encoder) == ["a", "a is missing", "b"]
    assert encoder.transform(frame)[:, :2].tolist() == [[1, 0], [4, 1], [4, 0], [100, 0]]
    assert names(TableEncoder(missing="fill").fit(frame)) == ["a", "b"]
    assert np.isnan(TableEncoder(missing="keep").fit_transform(frame)[1, 0])


def test_dates_as_text_are_read_as_they_are_said_to_be_written():
    written = pandas.DataFrame({"d": ["03/04/1970", None, "05/01/1970"]})
    for form, days in (("%d/%m/%Y", [92.0, 48.0, 4.0]), ("%m/%d/%Y", [62.0, 91.0, 120.0])):
        encoder = TableEncoder({"d": f"date {form}"}).fit(written)
        assert encoder.kinds_ == ["date"]
        assert encoder.transform(written)[:, 0].tolist() == days
        assert TableEncoder({0: f"date {form}"}).fit_transform(written.to_numpy())[:, 0].tolist() == days
        # Dates that are dates need no form.
        moments = pandas.to_datetime(written["d"], format=form).to_frame()
        assert encoder.transform(moments)[:, 0].tolist() == days


def test_texts_in_the_form_of_iso_8601_are_dates_without_a_word():
    moments = pandas.DataFrame({"d": pandas.to_datetime(["1970-04-03", None, "1970-01-05 12:00"], format="mixed")})
    encoder = TableEncoder({"d": "date"}).fit(moments)
    days = encoder.transform(moments)
    for texts in (["1970-04-03", None, "1970-01-05 12:00"], ["1970-04-03T02:00+02:00", None, "1970-01-05T12:00:00Z"]):
        np.testing.assert_array_equal(encoder.transform(pandas.DataFrame({"d": texts})), days)
    with pytest.raises(DataError, match=r"column 'd' must hold dates; got '3/4/1970'"):
        encoder.transform(pandas.DataFrame({"d": ["3/4/1970"]}))


def test_dates_give_days_and_the_cycles_that_were_seen_twice():
    days = pandas.DataFrame({"d": pandas.date_range("1970-01-01", periods=800)})
    encoder = TableEncoder().fit(days)
    assert names(encoder) == ["d days", "d year sine", "d year cosine", "d week sine", "d week cosine"]
    rows = encoder.transform(days)
    assert rows[:3, 0].tolist() == [0.0, 1.0, 2.0]
    np.testing.assert_allclose(rows[:-7, 3:], rows[7:, 3:], atol=1e-12)
    # The first day of 1970 was a Thursday, and Monday is the start of the week.
    np.testing.assert_allclose(rows[4, 3:], [0.0, 1.0], atol=1e-12)
    assert names(TableEncoder().fit(days[:10])) == ["d days"]
    moments = pandas.DataFrame({"d": [datetime.datetime(2020, 1, 1, 6), datetime.datetime(2020, 1, 1, 12)]})
    np.testing.assert_allclose(TableEncoder().fit_transform(moments)[:, 1:], [[1, 0], [0, -1]], atol=1e-12)
    assert names(TableEncoder(dates=False).fit(moments)) == ["d days"]


def test_codes_are_places_in_the_order_of_names_with_others_and_missing_last():
    column = ["b"] * 3 + ["a"] * 3 + ["c", None]
    frame = pandas.DataFrame({"c": column})
    assert TableEncoder(categories="code", min_frequency=2).fit_transform(frame)[:, 0].tolist() == [1] * 3 + [0] * 3 + [
        2,
        3,
    ]
    kept = TableEncoder(categories="code", min_frequency=2, missing="keep").fit_transform(frame)
    assert np.isnan(kept[-1, 0])


def test_output_columns_know_the_column_they_come_from_and_ignored_ones_give_none():
    frame = pandas.DataFrame({"a": [1.0, None], "skip": ["x", "y"], "c": ["u", "v"]})
    encoder = TableEncoder({"skip": "ignored"}, min_frequency=1).fit(frame)
    assert encoder.feature_columns_.tolist() == [0, 0, 2, 2]
    assert encoder.kinds_ == ["number", "ignored", "category"]
    assert encoder.transform(frame).shape == (2, 4)


def test_columns_that_were_not_there_are_left_out_and_those_that_lack_are_named():
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    encoder = TableEncoder().fit(frame)
    more = pandas.DataFrame({"a": [5.0], "y": ["new"], "b": [6.0]})
    assert encoder.transform(more).tolist() == [[5.0, 6.0]]
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- b"):
        encoder.transform(more[["a", "y"]])


def test_whole_numbers_are_the_same_category_as_integers_and_as_floats():
    whole = pandas.DataFrame({"c": [1, 2, 1, 2]})
    holey = pandas.DataFrame({"c": [1.0, 2.0, None, 2.0]})
    encoder = TableEncoder({"c": "category"}, min_frequency=1).fit(whole)
    assert names(encoder) == ["c=1", "c=2"]
    assert encoder.transform(holey).tolist() == [[1, 0], [0, 1], [0, 0], [0, 1]]


def test_every_frame_and_an_array_of_objects_give_the_same_numbers():
    polars = pytest.importorskip("polars")
    columns = {
        "n": [1.5, None, 3.0, 4.0],
        "c": ["u", "v", None, "u"],
        "b": [True, False, True, True],
        "d": [datetime.datetime(2020, 1, day) for day in (1, 2, 3, 4)],
    }
    frames = [pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)]
    frames.append(pandas.DataFrame(columns).astype({"c": "category", "n": "Float64"}))
    frames.append(pandas.DataFrame(columns).astype({"c": object}))
    found = [TableEncoder(min_frequency=1).fit_transform(frame) for frame in frames]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    rows = np.array([columns["n"], columns["c"]], dtype=object).T
    np.testing.assert_array_equal(TableEncoder(min_frequency=1).fit_transform(rows), found[0][:, :5])


def test_many_rare_entries_come_out_sparse_with_the_same_numbers():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({f"c{k}": rng.integers(0, 40, 500).astype(str) for k in range(4)} | {"n": rng.random(500)})
    encoder = TableEncoder(max_categories=40).fit(frame)
    assert encoder.sparse_output_
    dense = TableEncoder(max_categories=40, sparse_output=False).fit(frame)
    np.testing.assert_array_equal(encoder.transform(frame).toarray(), dense.transform(frame))


def test_a_pipeline_on_a_frame_is_saved_whole(tmp_path):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"n": rng.normal(size=60), "c": rng.choice(["u", "v"], 60), "t": ["some words"] * 60})
    frame["d"] = pandas.date_range("2020-01-01", periods=60)
    model = make_pipeline(TableEncoder({"t": "text"}), LogisticRegression()).fit(frame, frame["c"] == "u")
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))


def test_a_column_that_is_all_missing_and_a_frame_of_one_row_are_taken():
    frame = pandas.DataFrame({"a": [np.nan, np.nan], "c": [None, None]})
    assert TableEncoder().fit_transform(frame).tolist() == [[0, 1, 1], [0, 1, 1]]
    assert TableEncoder(min_frequency=1).fit_transform(pandas.DataFrame({"c": ["u"]})).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("kinds", "frame", "words"),
    [
        ({"x": "number"}, {"a": [1.0]}, "kinds must name columns of the table; got 'x', and the columns are a."),
        ({"a": "digit"}, {"a": [1.0]}, "kinds['a'] must be one of number, category, date, text, ignored; got 'digit'."),
        ({"a": "number"}, {"a": ["u"]}, "column 'a' must hold numbers; got 'u'. Give it another kind."),
        ({"a": "date"}, {"a": ["u"]}, "column 'a' must hold dates; got 'u'. Give it another kind."),
        (
            {"a": "date %d/%m/%Y"},
            {"a": ["13/1/20x"]},
            "column 'a' must hold dates written as %d/%m/%Y; got '13/1/20x'. Give it another kind.",
        ),
        ("auto", {"a": [np.inf]}, "column 'a' contains infinity. Mark missing values by NaN."),
    ],
)
def test_what_cannot_be_coded_is_refused_with_the_column(kinds, frame, words):
    with pytest.raises(ValueError) as caught:
        TableEncoder(kinds).fit(pandas.DataFrame(frame))
    assert str(caught.value) == f"TableEncoder: {words}"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_frame_of_floats_is_encoded_as_with_a_column_of_another_type(dtype):
    random = np.random.default_rng(5)
    frame = pandas.DataFrame(random.normal(size=(30, 4)).astype(dtype), columns=list("abcd"))
    frame.iloc[3, 1] = np.nan
    kinds = {"c": "category"}
    alone = TableEncoder(kinds, min_frequency=1).fit(frame)
    mixed = TableEncoder({**kinds, "e": "ignored"}, min_frequency=1).fit(frame.assign(e="x"))
    found, expected = alone.transform(frame), mixed.transform(frame.assign(e="x"))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert alone.get_feature_names_out().tolist() == mixed.get_feature_names_out().tolist()
    with pytest.raises(DataError, match="column 'a' contains infinity"):
        alone.transform(frame.replace(frame.iloc[0, 0], np.inf))
