"""Encode blocks of rows by learnt codings, and say how the columns of a file are read for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack

from mercer._source.table.encoded import Locate
from mercer.errors import DataError
from mercer.preprocessing._columns import Columns, open_columns

_NUMERALS = frozenset("0123456789.+-e")


class TableEncoding:
    """The encoding of blocks of a table by a fitted encoder; see `mercer._source.table.encoded`."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        known = vars(encoder).get("feature_names_in_")
        self.columns = None if known is None else [str(name) for name in known]
        self.kinds = {} if known is None else encoder.find_reading_kinds()
        self.names = encoder.get_feature_names_out().tolist()

    def __call__(self, rows: Any, locate: Locate, start: int) -> Any:
        if type(rows).__name__ == "RecordBatch":
            import pyarrow

            rows = pyarrow.Table.from_batches([rows])
        with telling_place("" if locate is None else locate(0)):
            return self._encoder._encode(open_columns(self._encoder, rows, reset=False))

    def nothing(self, schema: Any) -> Any:
        """Return a matrix of no rows, of the type that a table of an Arrow schema gives."""
        from pyarrow import types

        kinds = [field.type for field in schema if types.is_floating(field.type) or types.is_integer(field.type)]
        narrow = bool(kinds) and all(types.is_float32(kind) for kind in kinds)
        dtype = self._encoder.dtype or ("float32" if narrow else "float64")
        rows = np.empty((0, len(self.names)), dtype)
        return csr_array(rows) if self._encoder.sparse_output_ else rows


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
