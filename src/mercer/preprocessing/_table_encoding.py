"""Encode blocks of rows by learnt codings, and say how the columns of a file are read for them."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack

from mercer._source import place_of
from mercer._source.table.encoded import Locate
from mercer.errors import DataError
from mercer.preprocessing._columns import Columns, open_columns
from mercer.preprocessing._summaries import start_summary

_NUMERALS = frozenset("0123456789.+-e")


class TableEncoding:
    """The encoding of blocks of a table by a fitted encoder; see `mercer._source.table.encoded`."""

    def __init__(self, encoder: Any, X: Any = None) -> None:
        """Encode by a fitted encoder; the type of the result is that for a Dask collection `X`."""
        self._encoder = encoder
        # Columns whose new categories were told: once is enough, however many passes and blocks there are.
        self._told: set[str] = set()
        known = vars(encoder).get("feature_names_in_")
        self.columns = None if known is None else [str(name) for name in known]
        self.kinds = {} if known is None else encoder.find_reading_kinds()
        self.names = encoder.get_feature_names_out().tolist()
        self.dtype = np.dtype(encoder.dtype or ("float64" if X is None else _find_dtype(X)))

    def __call__(self, rows: Any, locate: Locate, start: int) -> Any:
        if type(rows).__name__ == "RecordBatch":
            import pyarrow

            rows = pyarrow.Table.from_batches([rows])
        with telling_place("" if locate is None else locate(0)):
            columns = open_columns(self._encoder, rows, reset=False)
        self._encoder._check_schema(columns, str if locate is None else locate, self._told)
        with telling_place("" if locate is None else locate(0)):
            return self._encoder._encode(columns)

    def nothing(self, schema: Any) -> Any:
        """Return a matrix of no rows, of the type that a table of an Arrow schema gives."""
        rows = np.empty((0, len(self.names)), self.dtype if schema is None else self._find_dtype(schema))
        return csr_array(rows) if self._encoder.sparse_output_ else rows

    def _find_dtype(self, schema: Any) -> Any:
        """Return the type of the encoded rows of an Arrow table."""
        from pyarrow import types

        kinds = [field.type for field in schema if types.is_floating(field.type) or types.is_integer(field.type)]
        narrow = bool(kinds) and all(types.is_float32(kind) for kind in kinds)
        return self._encoder.dtype or ("float32" if narrow else "float64")


def _find_dtype(X: Any) -> str:
    """Return the type of the encoded rows of a Dask collection: float32 if all its numbers are."""
    kinds = list(X.dtypes) if hasattr(X, "dtypes") else [X.dtype]
    names = {str(kind).lower() for kind in kinds}
    wide = any(name.startswith(("int", "uint", "float64")) for name in names)
    return "float32" if "float32" in names and not wide else "float64"


def take_features(X: Any, targets: list[Any]) -> Any:
    """Return a Dask dataframe without the columns that are named as targets; other collections as they are."""
    named = [name for name in targets if isinstance(name, str)]
    return X.drop(columns=named) if named and hasattr(X, "columns") else X


def divide_columns(X: Any, y: Any) -> Any:
    """Return a frame in memory whose targets `y` names as a list of one block, which gives them by name; else `X`."""
    names = [y] if isinstance(y, str) else y if isinstance(y, list) else []
    if not names or not all(isinstance(name, str) for name in names) or not hasattr(X, "columns"):
        return X
    known = X.column_names if hasattr(X, "column_names") else list(X.columns)
    return [X] if place_of(X) == "memory" and set(names) <= set(known) else X


class Summaries:
    """The summaries of all columns of some rows, and their number, which add up."""

    def __init__(self, summaries: list[Any], n_rows: int) -> None:
        self.summaries = summaries
        self.n_rows = n_rows

    def __add__(self, other: "Summaries") -> "Summaries":
        total = copy.deepcopy(self)
        total.n_rows += other.n_rows
        for one, more in zip(total.summaries, other.summaries, strict=True):
            if one is not None:
                one.join(more)
        return total


class SummarisePartition:
    """Summarises the columns of a partition where it is."""

    def __init__(self, encoder: Any, kinds: list[str]) -> None:
        self.encoder, self.kinds = encoder, kinds

    def __call__(self, rows: Any, number: int) -> Summaries:
        found = Summaries([start_summary(kind) for kind in self.kinds], len(rows))
        if len(rows):
            where = f"partition {number}"
            with telling_place(where):
                columns = open_columns(self.encoder, rows, reset=False)
            self.encoder._summarise(found.summaries, columns, where, self.kinds)
        return found


@contextmanager
def telling_place(where: str) -> Iterator[None]:
    """Add where the rows are to a DataError; rows in memory have no place to tell."""
    try:
        yield
    except DataError as error:
        if not where:
            raise
        raise DataError(f"{error} It is in {where}.") from None


def make_sparse(codings: list[Any], columns: Columns, dtype: np.dtype) -> csr_array:
    """Return the encoded rows as a CSR array."""
    parts = []
    for index, coding in enumerate(codings):
        if coding is None:
            continue
        shape = (columns.n_rows, len(coding.names("")))
        if coding.kind == "text" or (coding.kind == "category" and not coding.codes):
            rows, places, values = _list_entries(coding, columns, index)
            parts.append(csr_array((values.astype(dtype), (rows, places)), shape=shape))
        else:
            # Numbers, dates and codes fill every row of a few columns: write them densely, then convert.
            dense = np.empty(shape, dtype=dtype)
            coding.write(columns, index, dense)
            parts.append(csc_array(dense))
    return csr_array(hstack(parts, format="csr", dtype=dtype))


def _list_entries(coding: Any, columns: Columns, index: int) -> tuple[Any, Any, np.ndarray]:
    """Return the rows, output columns and values of the indicators of a category or the words of a text."""
    if coding.kind == "text":
        return coding.list_entries(columns, index)
    places = coding.find_places(columns, index)
    rows = np.flatnonzero(places >= 0)
    return rows, places[rows], np.ones(len(rows))


def find_reading_kind(encoder: Any, place: int) -> str:
    """Return the kind of a column; categories that were numbers or booleans in the table are read as such again."""
    kind = encoder.kinds_[place]
    if kind in ("date", "number"):
        # As in the training table: 3/4 alone does not tell whether the day or the month comes first, and 1.234 alone
        # not whether the point separates thousands.
        form = encoder._codings[place].form
        return f"{kind} {form}" if form else kind
    if kind != "category":
        return kind
    names = set(encoder.categories_[place])
    if names and names <= {"True", "False"}:
        return "truth"
    return "numeral" if names and all(map(_is_numeral, names)) else kind


def _is_numeral(name: str) -> bool:
    """Return whether the name of a category is that of a number: 7, but not 007, nor more digits than a float has."""
    if not set(name) <= _NUMERALS or not name[-1:].isdigit():
        return False
    try:
        value = float(name)
    except ValueError:
        return False
    return name in (repr(value), str(int(value)) if value.is_integer() and abs(value) < 2.0**53 else "")
