"""Tables as programs write them: row names, titles, comments, blanks and repeated names; what was done is said."""

import pandas
import pytest

from mercer._source.table import Stream, read_table
from mercer._source.table.header import find_header
from mercer.app.table import guess_roles

ROWS = [f"{k},{k * 0.5},{'ab'[k % 2]}" for k in range(30)]
BODY = "\n".join(ROWS)
SKIPPED = "skipped as a title or a comment"
# The text of a file, its column names, and words of the notice.
FILES = {
    "pandas' index": (f",b,y\n{BODY}", ["column_1", "b", "y"], "A column has no name. It is called `column_1`."),
    "one name twice": (f"a,a,y\n{BODY}", ["a", "a_2", "y"], "the name of an earlier column. It is called `a_2`."),
    "a made-up name is taken": (f"a,a,a_2\n{BODY}", ["a", "a_3", "a_2"], "It is called `a_3`."),
    "comments": (
        f"# from x\n# a, b\na,b,y\n{BODY}",
        ["a", "b", "y"],
        f"The first 2 lines were {SKIPPED} (`# from x`).",
    ),
    "a title": (f"Sales, 2020\n\na,b,y\n{BODY}", ["a", "b", "y"], f"The first line was {SKIPPED} (`Sales 2020`)."),
    "a padded title": (f"Sales,,\n,,\na,b,y\n{BODY}", ["a", "b", "y"], f"The first 2 lines were {SKIPPED} (`Sales`)."),
    "names after a mark": (f"#a,b,y\n{BODY}", ["a", "b", "y"], ""),
    "R's row names": (f"b,y\n{BODY}", ["column_1", "b", "y"], "A column has no name."),
    "a delimiter at the end": ("a,b,y\n" + ",\n".join(ROWS) + ",", ["a", "b", "y", "column_4"], "called `column_4`."),
    "blanks": ("  a   b  y\n" + BODY.replace(",", "   "), ["a", "b", "y"], "The columns are separated by blanks"),
    "R's write.table": (
        '"b" "y"\n' + "\n".join(f'"row {row.replace(",", chr(34) + " ", 1).replace(",", " ")}' for row in ROWS),
        ["column_1", "b", "y"],
        "A column has no name.",
    ),
    "no names": (BODY, ["column_1", "column_2", "column_3"], "The first line holds values instead of names."),
    "years as names": ("y,2019,2020\n" + "\n".join(f"q,{k},{k}" for k in range(30)), ["y", "2019", "2020"], ""),
}


@pytest.mark.parametrize("kind", FILES)
def test_the_column_names_are_found_and_every_row_is_kept(kind, tmp_path):
    text, names, words = FILES[kind]
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    table = read_table(path)
    assert list(table.frame.columns) == names
    assert len(table.frame) == 30
    said = " ".join(notice.text for notice in table.notices)
    assert words in said
    assert bool(words) == bool(said)
    stream = Stream.open(path)
    assert stream.names == names
    blocks = list(stream.select(dict.fromkeys(names[1:], "text"), []))
    assert sum(map(len, blocks)) == 30
    assert list(blocks[0].columns) == names[1:]


def test_row_names_are_ids_and_not_used(tmp_path):
    frame = pandas.DataFrame({"x": range(0, 60, 2), "y": ["u", "v"] * 15})
    frame.to_csv(tmp_path / "t.csv")
    roles, _ = guess_roles(read_table(tmp_path / "t.csv"), target="y")
    assert {column.name: column.role for column in roles.columns} == {"column_1": "id", "x": "number", "y": "target"}


def test_years_that_count_up_are_no_row_numbers():
    frame = pandas.DataFrame({"year": range(1950, 1990), "row": range(40), "x": [0.5, 1.5] * 20, "y": ["u", "v"] * 20})
    roles, _ = guess_roles(read_table(frame), target="y")
    assert {column.name: column.role for column in roles.columns if column.name != "x"} == {
        "year": "number",
        "row": "id",
        "y": "target",
    }


def test_titles_and_empty_columns_of_a_sheet_are_skipped(tmp_path):
    cells = [[None, "Sales of 2020", None, None], [None] * 4, [None, "a", "b", "y"]]
    cells += [[None, k, k * 0.5, "x"] for k in range(30)]
    pandas.DataFrame(cells).to_excel(tmp_path / "t.xlsx", index=False, header=False)
    table = read_table(tmp_path / "t.xlsx")
    assert list(table.frame.columns) == ["a", "b", "y"]
    assert [column.dtype.kind for _, column in table.frame.items()][:2] == ["i", "f"]
    assert [notice.text for notice in table.notices] == ["The first 2 rows were skipped as a title (`Sales of 2020`)."]


def test_a_parquet_file_with_names_that_are_no_names_is_read_in_blocks(tmp_path):
    import pyarrow
    from pyarrow import parquet

    arrays = [pyarrow.array([1, 2]), pyarrow.array([3, 4]), pyarrow.array(["u", "v"])]
    parquet.write_table(pyarrow.table(arrays, names=["a", "", " c "]), tmp_path / "t.parquet")
    stream = Stream.open(tmp_path / "t.parquet")
    assert stream.names == ["a", "column_2", "c"]
    frame = next(iter(stream.select({"column_2": "number"}, ["c"])))
    assert frame.to_dict("list") == {"column_2": [3, 4], "c": ["u", "v"]}


def test_names_below_headings_with_gaps_are_found(tmp_path):
    """A sheet may have a remark and headings of several columns above the names."""
    cells = [["Sales", None, None], [None] * 3, ["confidential", None, "draft"], ["a", "b", "y"]]
    cells += [[k, k * 0.5, "x"] for k in range(30)]
    pandas.DataFrame(cells).to_excel(tmp_path / "t.xlsx", index=False, header=False)
    assert list(read_table(tmp_path / "t.xlsx").frame.columns) == ["a", "b", "y"]
    seasons = [["", "spring", "", "autumn"], ["shop", "sold", "cost", "sold"], ["u", "3", "4", "5"]]
    assert find_header(seasons).place == 1
    # A row with all fields below names with a gap is no line of names: it holds a number, or the row below has none.
    assert find_header([["a", "", "y"], ["u", "1", "v"], ["u", "2", "v"]]).place == 0
    assert find_header([["a", "", "y"], ["u", "w", "v"], ["u", "w", "v"]]).place == 0
    assert find_header([["", "a", "y"], ["u", "w", "v"], ["u", "3", "v"]]).place == 0
