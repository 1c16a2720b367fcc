"""Give columns of Arrow tables plain types without pandas, which takes longer to load than a small table to predict."""

from typing import Any

import numpy as np

from mercer._source.arrow_values import make_arrow, make_arrow_table, read_arrow
from mercer._source.table.dialect import MISSING

# The format in which dates are converted here; pandas reads all others.
_ISO_DATE = "%Y-%m-%d"
_ISO_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
# Years outside which a date is taken for a mistake, which pandas' way of reading reports.
_YEARS = np.array(["1500-01-01", "2501-01-01"], dtype="datetime64[s]")


def convert_arrow(table: Any, kinds: dict[str, str], missing: list[str]) -> Any:
    """Return the table with the plain columns that :func:`type_columns` makes for known `kinds`.

    None if a column needs more than that: a notice, a written number, or a date in another format.
    """
    marks = [*MISSING, *missing]
    columns = {
        name: _convert(_join(column), kinds.get(name), marks) for name, column in zip(table.column_names, table.columns)
    }
    return None if any(column is None for column in columns.values()) else make_arrow_table(columns)


def _join(column: Any) -> Any:
    """Return the chunks of a column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _convert(column: Any, kind: str | None, marks: list[str]) -> Any:
    """Return one column with a plain type, or None."""
    import pyarrow

    if pyarrow.types.is_floating(column.type) and kind in ("number", "numeral"):
        return _convert_numbers(column, marks)
    if pyarrow.types.is_boolean(column.type) and kind == "truth":
        # With gaps, booleans become texts.
        return None if column.null_count else column
    if column.type == pyarrow.timestamp("s") and kind == "date":
        return _keep_near(read_arrow(column))
    if not pyarrow.types.is_string(column.type):
        return None
    if kind in ("category", "text"):
        return _drop_marks(column, marks)
    return _convert_dates(_drop_marks(column, marks)) if kind == f"date {_ISO_DATE}" else None


def _convert_numbers(column: Any, marks: list[str]) -> Any:
    """Return numbers with NaN for missing values, infinities and numbers that mark a missing value."""
    values = read_arrow(column)
    assert values is not None  # they are floats
    missing = ~np.isfinite(values)
    for mark in marks:
        try:
            missing |= values == float(mark)
        except ValueError:  # a text such as "NA"
            continue
    return make_arrow(np.where(missing, np.nan, values))


def _drop_marks(column: Any, marks: list[str]) -> Any:
    """Return texts without surrounding blanks, and null for spellings of a missing value."""
    import pyarrow
    from pyarrow import compute

    texts = compute.utf8_trim_whitespace(column)
    known = compute.invert(compute.is_in(texts, value_set=make_arrow(np.array(marks))))
    return compute.if_else(known, texts, pyarrow.NULL)


def _convert_dates(texts: Any) -> Any:
    """Return texts such as 2024-02-29 as dates; None if one is no such text, or no date."""
    from pyarrow import compute

    written = compute.match_substring_regex(texts, _ISO_PATTERN)
    if not compute.all(written, min_count=0).as_py():
        return None
    try:
        dates = np.array([text or "NaT" for text in texts.to_pylist()], dtype="datetime64[s]")
    except ValueError:  # the 31st of February
        return None
    return _keep_near(dates)


def _keep_near(dates: Any) -> Any:
    """Return dates as an Arrow array; None if one of them is taken for a mistake."""
    known = dates[~np.isnat(dates)]
    return make_arrow(dates) if ((known >= _YEARS[0]) & (known < _YEARS[1])).all() else None
