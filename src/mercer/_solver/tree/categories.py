"""Columns of categories: learnt as numbers from zero on, and found again in rows to predict for."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._types import Array
from mercer.errors import DataError

__all__ = ["CategoryTable", "learn_categories", "words_of"]


@plain
@dataclass(frozen=True, eq=False)
class CategoryTable:
    """The categories of each categorical column, sorted; a category's number is its place."""

    columns: Array
    categories: list[Array]

    def kinds(self, d: int) -> Array:
        """Return one for categorical columns, zero for others."""
        kinds = np.zeros(d, np.uint8)
        kinds[self.columns] = 1
        return kinds

    def encode(self, X: Any, subject: str) -> Any:
        """Return rows with codes for categories: NaN where one is missing, the code after the last if it is unknown."""
        given = _take_columns(X, self.columns.tolist(), subject)
        codes = [_codes(values, known) for values, known in zip(given, self.categories)]
        return _replace_columns(X, self.columns.tolist(), codes)


def learn_categories(wish: Any, X: Any, subject: str) -> CategoryTable:
    """Return the categories of the columns that a user named: by number, mask, name, or the types of a frame."""
    names, categorical = _types(X)
    d = len(names) if names is not None else np.shape(X)[1]
    columns = _find_columns(wish, names, categorical, d, subject)
    found = []
    for values, column in zip(_take_columns(X, columns, subject), columns):
        known = values[~_missing(values)]
        try:
            found.append(np.unique(known))
        except TypeError as error:
            message = (
                f"{subject}: categories of a column must be of one type that can be sorted; column {column} mixes "
                f"them. Make them strings."
            )
            raise DataError(message) from error
    return CategoryTable(np.array(columns, np.int64), found)


def _types(X: Any) -> tuple[list[str] | None, list[int]]:
    """Return the names of a frame's columns and the indices of those of categories; None and [] if `X` is no frame."""
    if not hasattr(X, "columns") and not hasattr(X, "column_names"):
        return None, []
    import narwhals

    frame = narwhals.from_native(X, eager_only=True)
    words = (narwhals.Categorical, narwhals.Enum, narwhals.String, narwhals.Object)
    return list(frame.columns), [j for j, kind in enumerate(frame.schema.values()) if isinstance(kind, words)]


def _find_columns(wish: Any, names: list[str] | None, categorical: list[int], d: int, subject: str) -> list[int]:
    if isinstance(wish, str):
        if wish != "from_dtype" or names is None:
            got = "an array" if wish == "from_dtype" else repr(wish)
            message = (
                f"{subject}: categorical_features='from_dtype' needs a frame with columns of a categorical type; got "
                f"{got}. Give the numbers of the columns."
            )
            raise DataError(message)
        return categorical
    wanted = np.asarray(wish)
    if wanted.dtype == bool and wanted.shape == (d,):
        return np.flatnonzero(wanted).tolist()
    if wanted.dtype.kind in "UO" and names is not None and all(name in names for name in wanted):
        return sorted(names.index(name) for name in wanted)
    if wanted.size == 0 or (wanted.dtype.kind in "iu" and (wanted >= 0).all() and (wanted < d).all()):
        return sorted(set(wanted.astype(int).tolist()))
    message = (
        f"{subject}: categorical_features must name columns by numbers below {d}, by a mask of {d} booleans, or by the "
        f"names of a frame's columns; got {wish!r}."
    )
    raise DataError(message)


def _take_columns(X: Any, columns: list[int], subject: str) -> list[Array]:
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        import narwhals

        frame = narwhals.from_native(X, eager_only=True)
        return [frame[:, j].to_numpy() for j in columns]
    rows = np.asarray(X)
    if rows.ndim != 2:
        message = f"{subject}: rows must be a table of two dimensions; got an array of shape {rows.shape}. Reshape it."
        raise DataError(message)
    return [rows[:, j] for j in columns]


def _replace_columns(X: Any, columns: list[int], codes: list[Array]) -> Any:
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        import narwhals

        frame = narwhals.from_native(X, eager_only=True)
        space = narwhals.get_native_namespace(frame)
        series = [narwhals.new_series(frame.columns[j], one, backend=space) for j, one in zip(columns, codes)]
        index = getattr(X, "index", None)
        if index is not None and hasattr(X, "assign"):
            return X.assign(**{frame.columns[j]: one for j, one in zip(columns, codes)})
        return frame.with_columns(*series).to_native() if series else X
    rows = np.asarray(X)
    other = np.array(rows, dtype=object) if rows.dtype.kind in "OUS" else rows.astype(np.result_type(rows, np.float32))
    for j, one in zip(columns, codes):
        other[:, j] = one
    return other.astype(np.float64) if other.dtype == object else other


def _missing(values: Array) -> Array:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), bool)
    return np.array([value is None or value != value for value in values], bool)


def _codes(values: Array, known: Array) -> Array:
    codes = np.full(len(values), np.nan)
    given = ~_missing(values)
    if len(known) == 0:
        codes[given] = 0.0
        return codes
    found = values[given].astype(known.dtype) if known.dtype.kind != "U" else values[given].astype(str)
    places = np.minimum(np.searchsorted(known, found), len(known) - 1)
    codes[given] = np.where(known[places] == found, places, len(known))
    return codes


def words_of(numbers: Array, is_left: Array) -> Array:
    """Return the number of pairs of words, and the pairs: bits of the categories seen and of those that go left."""
    n_pairs = int(numbers.max()) // 32 + 1
    words = np.zeros((n_pairs, 2), np.int64)
    bits = np.int64(1) << (numbers % 32)
    np.bitwise_or.at(words[:, 0], numbers // 32, bits)
    np.bitwise_or.at(words[:, 1], (numbers // 32)[is_left], bits[is_left])
    return np.concatenate([[n_pairs], words.ravel()])
