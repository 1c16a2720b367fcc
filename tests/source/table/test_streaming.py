"""Going through a table block by block gives what reading it whole gives, in pieces of bounded size."""

import sqlite3
from dataclasses import replace

import numpy as np
import pandas
import pyarrow
import pytest

from mercer._source.table import Stream, read_blocks, read_table
from mercer.app.table.writing import Writer
from mercer.errors import DataError
from tests.source.table.test_reading import FRAME, KINDS, write

TYPES = {"number": "number", "gap": "number", "city": "category", "day": "date", "open": "truth", "count": "numeral"}


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_every_format_are_the_rows_of_the_table(kind, tmp_path):
    path = write(tmp_path, kind)
    found = list(read_blocks(path, 7, kinds=TYPES))
    if kind in ("parquet", "folder", "arrow", "sqlite", "xlsx"):
        assert max(map(len, found)) <= 7
    whole = pandas.concat(found, ignore_index=True)
    expected = FRAME[list(TYPES)].astype({"open": int}) if kind == "sqlite" else FRAME[list(TYPES)]
    pandas.testing.assert_frame_equal(whole, expected, check_dtype=False)


def test_a_long_text_comes_in_several_blocks_of_the_same_types(tmp_path):
    path = tmp_path / "long.csv"
    pandas.DataFrame({"a": np.arange(900_000) * 1.25, "b": ["x", "y", "z"] * 300_000}).to_csv(path, index=False)
    found = list(read_blocks(path, kinds={"a": "number", "b": "category"}))
    assert len(found) > 1
    assert {str(frame["a"].dtype) for frame in found} == {"float64"}
    assert sum(map(len, found)) == 900_000
    assert found[-1]["a"].iloc[-1] == 899_999 * 1.25


def test_a_value_of_another_type_far_down_is_missing_and_no_row_is_lost_or_repeated(tmp_path):
    path = tmp_path / "long.csv"
    numbers = [str(k) for k in range(1_300_000)]
    numbers[1_200_000] = "many"
    path.write_text("a,b\n" + "".join(f"{value},w\n" for value in numbers), encoding="utf-8")
    found = pandas.concat(read_blocks(path, kinds={"a": "number"}), ignore_index=True)["a"]
    assert np.flatnonzero(found.isna()).tolist() == [1_200_000]
    known = found.drop(1_200_000)
    assert (known == known.index).all()


def test_a_ragged_line_ends_the_stream_for_answers_must_stand_beside_their_rows(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n" + "1,2\n" * 30 + "1,2,3\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(read_blocks(path))
    assert str(caught.value) == "ragged.csv: line `1,2,3` has 3 fields, the first line 2. Correct it."


def test_lines_of_json_may_lack_what_others_have(tmp_path):
    path = tmp_path / "t.jsonl"
    lines = ['{"a": 1, "b": "x"}'] * 400_000 + ['{"a": 2}'] * 400_000
    path.write_text("\n".join(lines), encoding="utf-8")
    found = list(read_blocks(path, kinds={"a": "number", "b": "category"}))
    assert len(found) > 2
    whole = pandas.concat(found, ignore_index=True)
    assert whole["a"].sum() == 1_200_000
    assert whole["b"].isna().sum() == 400_000


def test_truth_values_of_sqlite_are_truth_values_again(tmp_path):
    path = tmp_path / "t.sqlite"
    with sqlite3.connect(path) as connection:
        pandas.DataFrame({"open": [1, 0, 1]}).to_sql("t", connection, index=False)
    assert next(iter(read_blocks(path, kinds={"open": "truth"})))["open"].tolist() == [True, False, True]


def test_a_column_that_is_not_there_is_named(tmp_path):
    path = write(tmp_path, "parquet")
    with pytest.raises(DataError, match="there is no column `price`; the columns are `number`, `count`"):
        next(read_blocks(path, kinds={"price": "number"}))


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "jsonl"])
def test_what_is_written_block_by_block_is_read_back(ending, tmp_path):
    import pyarrow

    path = tmp_path / "deep" / f"out.{ending}"
    with Writer.open(path) as writer:
        for start in (0, 15):
            part = FRAME[["number", "city", "open"]][start : start + 15]
            writer.write(pyarrow.Table.from_pandas(part, preserve_index=False))
    assert [one.name for one in path.parent.iterdir()] == [f"out.{ending}"]
    found = read_table(path).frame
    pandas.testing.assert_frame_equal(found, FRAME[["number", "city", "open"]][:30], check_dtype=False)


def test_a_file_that_was_not_completed_leaves_the_earlier_one(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old", encoding="utf-8")

    def fail():
        with Writer.open(path) as writer:
            writer.write("no table")

    with pytest.raises(AttributeError):
        fail()
    assert path.read_text(encoding="utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["out.csv"]


HARD = """n,k,t,c,w,d,i
1.5,3,true, red ,some words here,2024-02-29,2020-01-02
inf,4,false,NA,,1999-12-31,
,-999,true,"a,b",?, ,2021-03-04
-999,3,false,-999,x - y,2024-01-01,2022-05-06
"""


def test_arrow_tables_hold_what_frames_hold(tmp_path):
    (tmp_path / "t.csv").write_text(HARD, encoding="utf-8")
    kinds = {"n": "number", "k": "numeral", "t": "truth", "c": "category", "w": "text"}
    kinds |= {"d": "date %Y-%m-%d", "i": "date"}
    stream = Stream.open(tmp_path / "t.csv", missing=["-999"]).select(kinds, [])
    (frame,), (table,) = list(stream), list(replace(stream, arrow=True))
    assert isinstance(table, pyarrow.Table)
    found = {name: table.column(name).to_pylist() for name in table.column_names}
    known = {name: [None if pandas.isna(value) else value for value in frame[name]] for name in frame.columns}
    nan = {name: [None if value != value else value for value in values] for name, values in found.items()}
    assert nan == known


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["1", "many"], "number"),  # a value that counts as missing, with a notice
        (["$1,200", "$3"], "number 1,234.5"),
        (["2024-02-31", "2024-02-01"], "date %Y-%m-%d"),
        (["0024-02-01", "2024-02-01"], "date %Y-%m-%d"),  # a year that is taken for a mistake
        (["3/4/2024", "5/6/2024"], "date %d/%m/%Y"),
        (["true", ""], "truth"),
    ],
)
def test_a_column_that_needs_more_than_its_kind_comes_as_a_frame(column, kind, tmp_path):
    pandas.DataFrame({"a": column, "b": "x"}).to_csv(tmp_path / "t.csv", index=False)
    stream = replace(Stream.open(tmp_path / "t.csv").select({"a": kind, "b": "category"}, []), arrow=True)
    (found,) = list(stream)
    assert isinstance(found, pandas.DataFrame)
