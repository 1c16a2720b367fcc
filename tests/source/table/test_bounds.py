"""A small file can describe a table of any size: cells are counted before they take memory."""

import gzip
import sqlite3
import zipfile

import openpyxl
import pyarrow
import pytest
from pyarrow import parquet

from mercer._source.table import bounds, read_blocks, read_table
from mercer.errors import DataError

SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'


def workbook(folder, cells):
    book = openpyxl.Workbook()
    for place, value in cells.items():
        book.active[place] = value
    book.save(folder / "book.xlsx")
    return folder / "book.xlsx"


def database(folder, query):
    connection = sqlite3.connect(folder / "rows.db")
    connection.execute("CREATE TABLE small (a)")
    connection.execute("INSERT INTO small VALUES (1), (2)")
    connection.execute(
        f"CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) {query}"
    )
    connection.execute("CREATE VIEW both AS SELECT a, 2 * a AS b FROM small")
    connection.commit()
    connection.close()
    return folder / "rows.db"


def test_a_sheet_with_a_cell_in_its_last_corner_is_refused_with_numbers(tmp_path):
    head = {"A1": "a", "B1": "b", "A2": 1, "B2": 2}
    assert read_table(workbook(tmp_path, head)).frame.shape == (1, 2)
    path = workbook(tmp_path, head | {"XFD1048576": 1})
    with pytest.raises(DataError, match=r"ends at row 1048576, column 16384 take at least 2\.2e\+03 GB .*1\.07 GB are"):
        read_table(path)


def test_cells_that_only_have_a_colour_do_not_count_in_gaps(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, 2])
    book.active["XFD1048576"].fill = openpyxl.styles.PatternFill("solid", fgColor="FF0000")
    book.save(tmp_path / "book.xlsx")
    assert read_table(tmp_path / "book.xlsx").frame.to_numpy().tolist() == [[1, 2]]


def test_many_cells_of_few_bytes_are_refused(tmp_path):
    path = workbook(tmp_path, {"A1": "a"})
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    rows = (b"<row>" + b"<c><v>1</v></c>" * 20 + b"</row>") * 5_000
    members["xl/worksheets/sheet1.xml"] = SHEET % rows
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert path.stat().st_size < 20_000
    with pytest.raises(DataError, match=r"the \d+ cells of a sheet .* 0\.01 GB are allowed\. Give --max-unpacked SIZE"):
        read_table(path, max_unpacked="10 MB")


def rewrite(path, name, content):
    """Replace or add a member of a workbook."""
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()} | {name: content}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)


@pytest.mark.parametrize(
    ("member", "content", "words"),
    [
        ("xl/worksheets/sheet1.xml", SHEET % (b"<row/>" * 100_000), "the 100000 rows of a sheet"),
        ("xl/styles.xml", b"<styleSheet><cellXfs>" + b"<xf/>" * 50_000, r"the \d+ elements of xl/styles\.xml"),
        ("xl/sharedStrings.xml", b"<sst>" + b"<si><t>a</t></si>" * 100_000, r"elements of xl/sharedStrings\.xml"),
    ],
    ids=["rows", "styles", "texts"],
)
def test_what_a_workbook_holds_beside_cells_is_counted(tmp_path, member, content, words):
    """5 million empty formats took 3.1 GB from a file of 41 KB, 8 million empty rows 1.3 GB from 75 KB."""
    path = workbook(tmp_path, {"A1": "a", "A2": 1})
    rewrite(path, member, content)
    with pytest.raises(DataError, match=words + r" take at least 0\.\d+ GB in memory"):
        read_table(path, max_unpacked="10 MB")


def test_repeated_values_of_parquet_are_counted_while_they_unpack(tmp_path):
    """Texts that repeat take next to nothing in the file: 4 GB came from 0.2 MB."""
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.table({"a": pyarrow.array(["x" * 1000] * 50_000)}), path)
    assert path.stat().st_size < 10_000
    assert len(read_table(path).frame) == 50_000
    with pytest.raises(DataError, match=r"\d+ rows or more take at least 0\.\d+ GB in memory, from a file of"):
        read_table(path, max_unpacked="10 MB")
    with pytest.raises(DataError, match="rows or more take at least"):
        read_table(tmp_path, max_unpacked="10 MB")


def test_packed_text_is_counted_while_it_unpacks(tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"0\n" * 500_000))
    assert len(read_table(path).frame) == 500_000
    with pytest.raises(DataError, match=r"rows\.csv\.gz: the \d+ cells or more take at least 0\.0\d+ GB in memory"):
        read_table(path, max_unpacked="5 MB")


def test_a_view_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "_LEAST_WORK", 10**7)
    monkeypatch.setattr(bounds, "_WORK_PER_BYTE", 1)
    path = database(tmp_path, "SELECT i, i AS j FROM n")
    assert read_table(path, query="both").frame.to_numpy().tolist() == [[1, 2], [2, 4]]
    with pytest.raises(DataError, match=r"rows\.db: the view takes more than 10000000 steps of SQLite"):
        read_table(path, query="endless")
    with pytest.raises(DataError, match="the view takes more than 10000000 steps"):
        list(read_blocks(path, query="endless"))
    with pytest.raises(DataError, match=r"\d+ rows of 2 columns and more to come take at least"):
        read_table(path, query="endless", max_unpacked="5 MB")


def test_long_texts_that_a_view_makes_are_counted(tmp_path):
    """A view of 2 000 texts of 2 MB took 7 GB from a file of 4 KB, and one value of 900 MB 4.5 GB."""
    path = database(tmp_path, "SELECT hex(zeroblob(50000)) AS t FROM n LIMIT 1000")
    with pytest.raises(DataError, match=r"\d+ rows of 1 columns and more to come take at least 0\.0\d+ GB"):
        read_table(path, query="endless", max_unpacked="10 MB")
    with pytest.raises(DataError, match=r"\d+ rows of 1 columns and more to come take at least 0\.0\d+ GB"):
        list(read_blocks(path, query="endless", max_unpacked="10 MB"))
    (tmp_path / "rows.db").unlink()
    with pytest.raises(DataError, match="too big"):
        read_table(database(tmp_path, "SELECT zeroblob(900000000) AS t FROM n LIMIT 1"), query="endless")


def test_columns_that_a_table_computes_are_counted_as_those_of_a_view(tmp_path):
    connection = sqlite3.connect(tmp_path / "rows.db")
    connection.execute("CREATE TABLE t (a, b AS (hex(zeroblob(50000))))")
    connection.executemany("INSERT INTO t VALUES (?)", [(k,) for k in range(1000)])
    connection.commit()
    connection.close()
    with pytest.raises(DataError, match=r"\d+ rows of 2 columns and more to come take at least 0\.0\d+ GB"):
        read_table(tmp_path / "rows.db", max_unpacked="10 MB")


def test_a_view_that_gives_no_row_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "_LEAST_WORK", 10**6)
    monkeypatch.setattr(bounds, "_WORK_PER_BYTE", 1)
    with pytest.raises(DataError, match="the view takes more than 1000000 steps"):
        read_table(database(tmp_path, "SELECT count(*) AS i FROM n"), query="endless")


def test_a_line_of_millions_of_fields_is_not_split(tmp_path):
    (tmp_path / "rows.csv").write_bytes(b"a" + b"," * 3_000_000 + b"\n1,2\n")
    with pytest.raises(DataError, match="at most 20000 columns; a line has 3000000 delimiters"):
        read_table(tmp_path / "rows.csv")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-32", "utf-16"])
def test_wide_texts_are_read_with_and_without_a_mark(tmp_path, encoding):
    (tmp_path / "rows.csv").write_bytes("größe;b\n1,5;2\n2,5;3\n".encode(encoding))
    table = read_table(tmp_path / "rows.csv")
    assert table.frame.columns.tolist() == ["größe", "b"]
    assert table.frame.to_numpy().tolist() == [[1.5, 2], [2.5, 3]]
    assert any(f"encoded in {encoding[:6].upper()}" in notice.text for notice in table.notices)


def test_zeros_between_bytes_that_are_no_text_stay_refused(tmp_path):
    for content in (b"\x00\x01" * 100, b"a\x00\x00\x00\x00\x00b\x00" * 50, b"abc\x00def,1\n"):
        (tmp_path / "rows.csv").write_bytes(content)
        with pytest.raises(DataError, match="neither text nor a known format"):
            read_table(tmp_path / "rows.csv")
