"""Tables of every format come out alike, what was guessed is said, and what is no table is refused in a sentence."""

import datetime
import gzip
import io
import sqlite3

import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import feather

from mercer._source.table import read_table
from mercer.app.table import guess_roles
from mercer.errors import DataError

N = 40
FRAME = pandas.DataFrame(
    {
        "number": [0.5 * k for k in range(N)],
        "count": range(N),
        "gap": [None if k % 5 == 0 else float(k) for k in range(N)],
        "city": ["Köln" if k % 3 else "Łódź, old town" for k in range(N)],
        "day": pandas.date_range("2020-01-30", periods=N).as_unit("s"),
        "open": [k % 2 == 0 for k in range(N)],
    }
)


def write(folder, kind):
    path = folder / f"table.{kind}"
    text = FRAME.to_csv(index=False)
    if kind == "csv":
        path.write_text(text, encoding="utf-8")
    elif kind == "bom.csv":
        path.write_text(text, encoding="utf-8-sig")
    elif kind == "tsv":
        path.write_text(FRAME.to_csv(index=False, sep="\t"), encoding="utf-16")
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif kind == "semicolons.csv":
        path.write_text(FRAME.to_csv(index=False, sep=";", decimal=","), encoding="utf-8")
    elif kind == "parquet":
        FRAME.to_parquet(path)
    elif kind == "arrow":
        feather.write_feather(FRAME, path)
    elif kind == "xlsx":
        FRAME.to_excel(path, index=False)
    elif kind == "jsonl":
        FRAME.astype({"day": str}).to_json(path, orient="records", lines=True)
    elif kind == "sqlite":
        with sqlite3.connect(path) as connection:
            FRAME.to_sql("things", connection, index=False)
    else:
        path.mkdir()
        FRAME[:15].to_parquet(path / "a.parquet")
        FRAME[15:].to_parquet(path / "b.parquet")
    return path


KINDS = ("csv", "bom.csv", "tsv", "csv.gz", "semicolons.csv", "parquet", "arrow", "xlsx", "jsonl", "sqlite", "folder")


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gives_the_same_columns(kind, tmp_path):
    table = read_table(write(tmp_path, kind))
    assert table.name == f"table.{kind}"
    assert len(table.digest) == 64
    expected = FRAME.astype({"open": int}) if kind == "sqlite" else FRAME
    pandas.testing.assert_frame_equal(table.frame, expected, check_dtype=False)
    kinds = "".join(dtype.kind for dtype in table.frame.dtypes if dtype.kind in "fiMb")
    assert kinds == ("fifMi" if kind == "sqlite" else "fifMb")


@pytest.mark.parametrize(
    "make",
    [pandas.DataFrame, lambda columns: pytest.importorskip("polars").DataFrame(columns), pyarrow.table],
    ids=["pandas", "polars", "Arrow"],
)
def test_frames_in_memory_are_tables_and_equal_values_have_equal_digests(make):
    columns = {"a": [1, 2], "b": ["x", None], "c": [datetime.datetime(2020, 1, 1), None]}
    table = read_table(make(columns))
    assert table.name == "frame"
    assert [dtype.kind for dtype in table.frame.dtypes.iloc[[0, 2]]] == ["i", "M"]
    assert table.frame["b"].isna().tolist() == [False, True]
    assert table.digest == read_table(make(columns)).digest
    assert table.digest != read_table(make(columns | {"a": [1, 3]})).digest


def test_standard_input_is_read_by_what_comes(monkeypatch, tmp_path):
    for kind in ("csv", "parquet"):
        content = io.TextIOWrapper(io.BytesIO(write(tmp_path, kind).read_bytes()))
        monkeypatch.setattr("sys.stdin", content)
        assert read_table("-").frame.shape == FRAME.shape


def test_one_part_of_several_is_chosen_by_name(tmp_path):
    path = tmp_path / "many.sqlite"
    with sqlite3.connect(path) as connection:
        for name in ("cats", "dogs"):
            pandas.DataFrame({name: [1, 2]}).to_sql(name, connection, index=False)
    assert list(read_table(f"{path}::dogs").frame) == ["dogs"]
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert str(caught.value) == (
        "many.sqlite: the database holds several tables: `cats`, `dogs`. Give many.sqlite::TABLE."
    )
    book = tmp_path / "book.xlsx"
    with pandas.ExcelWriter(book) as writer:
        pandas.DataFrame({"a": [1]}).to_excel(writer, sheet_name="first", index=False)
        pandas.DataFrame({"b": [1]}).to_excel(writer, sheet_name="second", index=False)
    assert list(read_table(book, sheet="second").frame) == ["b"]
    assert read_table(book).notices[0].text == "The first sheet, `first`, was read; the sheets are `first`, `second`."


def test_a_view_of_a_database_is_read_only_where_it_is_named(tmp_path):
    """A view is a program of the file: this one gives rows without end."""
    path = tmp_path / "endless.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE VIEW rows AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r"
        )
    connection.close()
    with pytest.raises(DataError, match=r"holds no table but the view `rows`. Give endless.sqlite::VIEW"):
        read_table(path)


def say(folder, text, encoding="utf-8", **options):
    path = folder / "t.csv"
    path.write_bytes(text.encode(encoding))
    return read_table(path, **options)


def test_what_is_guessed_of_the_text_is_said(tmp_path):
    rows = "\n".join(f"{k};{k},5;x" for k in range(9))
    table = say(tmp_path, f"größe;b;c\n{rows}\n", "cp1252")
    assert [notice.text for notice in table.notices] == [
        "The file is not encoded in UTF-8. It is read as cp1252.",
        "The columns are separated by a semicolon, by the look of the first lines.",
        "Numbers are read with a decimal comma.",
    ]
    assert table.frame["b"].tolist()[:2] == [0.5, 1.5]
    assert table.frame.columns[0] == "größe"
    numbers = say(tmp_path, "1,2\n3,4\n5,6\n")
    assert numbers.notices[0].text == (
        "The first line holds values instead of names. The columns are called `column_1`, `column_2`."
    )
    assert len(numbers.frame) == 3


def test_a_letter_that_is_not_utf_8_far_down_the_file_is_found(tmp_path):
    path = tmp_path / "late.csv"
    path.write_bytes(b"a,b\n" + b"1,x\n" * 200_000 + "2,ü\n".encode("latin-1"))
    table = read_table(path)
    assert table.frame["b"].iloc[-1] == "ü"
    assert table.notices[0].text == "The file is not encoded in UTF-8. It is read as cp1252."


def test_a_few_ragged_lines_are_skipped_and_quoted_lines_kept(tmp_path):
    rows = "".join(f'{k},"two\nlines, {k}"\n' for k in range(50))
    table = say(tmp_path, f"a,b\n{rows}1,2,3\n")
    assert len(table.frame) == 50
    assert table.frame["b"].iloc[7] == "two\nlines, 7"
    assert table.notices[0].text == (
        "1 line does not have as many fields as the first line (2) and was skipped, such as `1,2,3`."
    )


def test_a_few_wrong_values_among_numbers_are_missing_and_said(tmp_path):
    values = ["?"] * 3 + ["lots"] + [str(k) for k in range(40)]
    table = say(tmp_path, "a,b\n" + "".join(f"{value},1\n" for value in values))
    assert table.frame["a"].isna().sum() == 4
    assert table.notices[0].text == "1 of 41 values is not a number (`lots`) and counts as missing."
    kept = say(tmp_path, "a,b\n" + "".join(f"{value},1\n" for value in values), kinds={"a": "category"})
    assert kept.frame["a"].iloc[3] == "lots"
    half = say(tmp_path, "a,b\n" + "".join(f"{k if k % 3 else 'x'},1\n" for k in range(30)))
    assert half.notices[0].text.startswith("Only 67 % of the values are numbers; others are `x`")
    assert half.frame["a"].dtype.kind not in "if"


def test_none_is_a_word_among_words_and_missing_among_numbers(tmp_path):
    file = tmp_path / "patients.csv"
    file.write_text("pain,dose\nnone,1.5\nsevere,none\nmild,none\nnone,none\nNone,2\n")
    frame = read_table(file).frame
    assert frame["pain"].isna().tolist() == [False, False, False, False, True]
    assert (frame["pain"] == "none").sum() == 2
    np.testing.assert_array_equal(frame["dose"], [1.5, np.nan, np.nan, np.nan, 2.0])


def test_dates_are_read_in_common_forms_and_impossible_ones_are_said(tmp_path):
    days = [f"{k % 28 + 1}.{k % 12 + 1}.2021" for k in range(60)]
    table = say(tmp_path, "d,b\n" + "".join(f"{day},1\n" for day in [*days, "31.2.2021"]))
    assert table.frame["d"].iloc[1] == pandas.Timestamp(2021, 2, 2)
    assert table.frame["d"].isna().tolist()[-1]
    assert table.notices[0].text == "1 date is out of range (`31.2.2021`) and counts as missing."
    table = say(tmp_path, "d,b\n" + "2020-01-01,1\n" * 20 + "9999-12-31,1\n")
    assert table.notices[0].text == "1 date is out of range (`9999-12-31`) and counts as missing."
    far = np.full(20, "2020-01-01", "datetime64[s]")
    far[3] = np.datetime64(4 * 10**18, "s")  # a year beyond 32 bits
    table = read_table(pandas.DataFrame({"d": far, "b": 1}))
    assert table.notices[0].text.startswith("1 date is out of range (`126754955997-")
    assert table.frame["d"].isna().sum() == 1
    slashes = [f"{k % 12 + 1}/{k % 12 + 1}/2021" for k in range(24)]
    table = say(tmp_path, "d,b\n" + "".join(f"{day},1\n" for day in slashes))
    assert "day or the month first" in table.notices[0].text
    table = say(tmp_path, "d,b\n" + "".join(f"{k % 28 + 1}/5/2021,1\n" for k in range(56)))
    assert table.frame["d"].dt.month.unique().tolist() == [5]


def test_infinities_and_what_people_write_for_nothing_are_missing(tmp_path):
    table = say(tmp_path, "a,b,c\n1, x ,inf\nNA,?,2\n3,null,3\n4,y,4\n")
    assert table.frame["a"].isna().tolist() == [False, True, False, False]
    assert table.frame["b"].tolist()[::3] == ["x", "y"]
    assert table.frame["b"].isna().sum() == 2
    assert np.isnan(table.frame["c"].iloc[0])


@pytest.mark.parametrize("kind", ["parquet", "arrow", "xlsx", "sqlite", "csv.gz", "jsonl", "csv"])
def test_a_damaged_file_is_refused_in_a_sentence_or_read(kind, tmp_path):
    """Bytes changed at random places: a reader may notice or not, but neither crashes nor raises anything else."""
    whole = write(tmp_path, kind).read_bytes()
    random = np.random.default_rng(0)
    refused = 0
    for number in range(30):
        torn = bytearray(whole)
        for place in random.integers(0, len(torn), 5):
            torn[place] = random.integers(0, 256)
        path = tmp_path / f"torn{number}"
        path.write_bytes(bytes(torn[: random.integers(len(torn) // 4, len(torn))] if number % 3 == 0 else torn))
        try:
            table = read_table(path)
            roles, _ = guess_roles(table, target=str(table.frame.columns[-1]))
            # A table that can be read, but to which no model can be fitted, is refused with a reason too.
            refused += bool(roles.obstacle)
        except (DataError, MemoryError):
            refused += 1
    # Text without marks of its form may be a table whatever its letters are.
    assert refused > 0 or kind == "csv"
