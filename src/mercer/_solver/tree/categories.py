"""Columns of categories: which they are, what they hold, and the codes that stand for their values.

The categories of a column are sorted; the code of a category is its index. Every tree reads its categories with these
functions. They differ in the code of a category that the fit did not see: the number of known ones, which no branch
has, in decision trees and multiway trees; NaN, a missing value, in histogram boosting.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._types import Array
from mercer.errors import DataError


@plain
@dataclass(frozen=True, eq=False)
class CategoryTable:
    """The indices of the categorical columns, ascending, and the sorted categories of each."""

    columns: Array
    categories: list[Array]

    def mark_columns(self, d: int) -> Array:
        """Return an array (d,) with 1 for categorical columns and 0 for others."""
        kinds = np.zeros(d, np.uint8)
        kinds[self.columns] = 1
        return kinds

    def encode(self, X: Any, subject: str) -> Any:
        """Return `X` with codes for categories: NaN for missing ones, the number of known ones for unknown ones."""
        given = _take_columns(X, self.columns.tolist(), subject)
        codes = [_encode_column(values, known) for values, known in zip(given, self.categories)]
        return _replace_columns(X, self.columns.tolist(), codes)


def learn_categories(wish: Any, X: Any, subject: str) -> CategoryTable:
    """Learn the categories of the columns of `X` that `wish`, the parameter ``categorical_features``, names."""
    columns = _choose_columns(wish, X, subject)
    categories = []
    for values, column in zip(_take_columns(X, columns, subject), columns):
        try:
            categories.append(np.unique(values[~find_missing(values)]))
        except TypeError as error:
            raise DataError(
                f"{subject}: categories of a column must be of one type that can be sorted; column {column} mixes "
                f"them. Make them strings."
            ) from error
    return CategoryTable(np.array(columns, np.int64), categories)


def is_frame(X: Any) -> bool:
    """Return whether rows are a table in memory with named columns, each of a type of its own."""
    return hasattr(X, "columns") and hasattr(X, "shape")


def find_missing(values: Array) -> Array:
    """Return a mask (n,) of the values that are None, NaN, NaT or the NA of pandas."""
    if values.dtype.kind in "fmM":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), bool)
    # NA comes first: comparing it with itself gives NA, which has no truth value.
    return np.array(
        [value is None or type(value).__name__ == "NAType" or value != value for value in values], dtype=bool
    )


def find_codes(values: Array, known: Array, unknown: float, codes: Array | None = None) -> Array:
    """Return the code of each of `values`, or `unknown` for values that are not among the sorted `known`.

    The code of ``known[i]`` is ``codes[i]``, or i without `codes`.
    """
    if len(known) == 0:
        return np.full(len(values), unknown)
    # The index of a value if it is known; a value beyond the last one, NaN among them, is compared with the last one.
    indices = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[indices] == values, indices if codes is None else codes[indices], unknown)


def _choose_columns(wish: Any, X: Any, subject: str) -> list[int]:
    """Return the indices of the columns that `wish` names, ascending; ``'from_dtype'`` goes by the types of a frame."""
    frame = _read_frame(X)
    names = None if frame is None else list(frame.columns)
    if not isinstance(wish, str):
        d = np.shape(X)[1] if names is None else len(names)
        return np.flatnonzero(mark_categorical(subject, wish, d, names)).tolist()
    if wish != "from_dtype" or frame is None:
        got = "an array" if wish == "from_dtype" else repr(wish)
        raise DataError(
            f"{subject}: categorical_features='from_dtype' needs a frame with columns of a categorical type; got "
            f"{got}. Give the indices of the columns."
        )
    import narwhals

    kinds = (narwhals.Categorical, narwhals.Enum, narwhals.String, narwhals.Object)
    return [column for column, kind in enumerate(frame.schema.values()) if isinstance(kind, kinds)]


def mark_categorical(subject: str, given: Any, n_features: int, names: list[str] | None) -> Array:
    """Return a mask (d,) of the columns that `given` lists: by a mask, by indices, or by `names` of columns."""
    mask = np.zeros(n_features, dtype=bool)
    if given is None or isinstance(given, str):
        return mask
    given = np.asarray(given)
    if given.size == 0:
        return mask
    if given.dtype.kind not in "iubUO":
        raise DataError(
            f"{subject}: categorical_features must be an array-like of bool, int or str, got: {given.dtype.name}. Name "
            f"the columns."
        )
    if given.dtype.kind == "O":
        kinds = {type(name).__name__ for name in given.tolist()}
        if kinds != {"str"}:
            raise DataError(
                f"{subject}: categorical_features must be an array-like of bool, int or str, got: "
                f"{', '.join(sorted(kinds))}. Name the columns in one way."
            )
    if given.dtype.kind == "b":
        if given.shape != (n_features,):
            raise DataError(
                f"{subject}: categorical_features set as a boolean mask must have shape (n_features,), got: "
                f"{given.shape}; give one for each of {n_features} columns."
            )
        return given.astype(bool)
    if given.dtype.kind in "UO":
        return _mark_named(subject, given, names, mask)
    if given.max() >= n_features or given.min() < 0:
        raise DataError(
            f"{subject}: categorical_features set as integer indices must be in [0, n_features - 1]; got "
            f"{given.tolist()} for {n_features} columns."
        )
    mask[given] = True
    return mask


def _mark_named(subject: str, given: Array, names: list[str] | None, mask: Array) -> Array:
    """Set `mask` at the columns that `given` names, and return it; raise if a name is not among `names`."""
    if names is None:
        raise DataError(
            f"{subject}: categorical_features should be passed as an array of integers or as a boolean mask when the "
            f"model is fitted on data without feature names. Got {given.tolist()}."
        )
    for name in given.tolist():
        if name not in names:
            raise DataError(
                f"{subject}: categorical_features has an item value '{name}' which is not a valid feature name of the "
                f"training data. Observed feature names: {names}; correct it."
            )
        mask[names.index(name)] = True
    return mask


def _read_frame(X: Any) -> Any:
    """Return a frame as narwhals sees it; None if `X` is no frame."""
    if not is_frame(X):
        return None
    import narwhals

    return narwhals.from_native(X, eager_only=True)


def _take_columns(X: Any, columns: list[int], subject: str) -> list[Array]:
    if (frame := _read_frame(X)) is not None:
        return [frame[:, column].to_numpy() for column in columns]
    rows = np.asarray(X)
    if rows.ndim != 2:
        raise DataError(
            f"{subject}: rows must be a table of two dimensions; got an array of shape {rows.shape}. Reshape it."
        )
    return [rows[:, j] for j in columns]


def _replace_columns(X: Any, columns: list[int], codes: list[Array]) -> Any:
    """Return a copy of `X` with `codes` in `columns`, as a frame if it is one."""
    if (frame := _read_frame(X)) is not None:
        import narwhals

        replaced = {frame.columns[column]: code for column, code in zip(columns, codes)}
        # The frames of pandas have an index, which new series would have to share.
        if hasattr(X, "index") and hasattr(X, "assign"):
            return X.assign(**replaced)
        space = narwhals.get_native_namespace(frame)
        series = [narwhals.new_series(name, code, backend=space) for name, code in replaced.items()]
        return frame.with_columns(*series).to_native() if series else X
    rows = np.asarray(X)
    other = np.array(rows, dtype=object) if rows.dtype.kind in "OUS" else rows.astype(np.result_type(rows, np.float32))
    for column, code in zip(columns, codes):
        other[:, column] = code
    return other.astype(np.float64) if other.dtype == object else other


def _encode_column(values: Array, known: Array) -> Array:
    codes = np.full(len(values), np.nan)
    given = ~find_missing(values)
    present = values[given].astype(str if known.dtype.kind == "U" or len(known) == 0 else known.dtype)
    codes[given] = find_codes(present, known, len(known))
    return codes


def pack_categories(codes: Array, is_left: Array) -> Array:
    """Return the categories of a split as [n_pairs, seen_0, left_0, seen_1, left_1, ...], all int64.

    Bit b of ``seen_p`` is set if category 32 p + b is among `codes`, and bit b of ``left_p`` if `is_left` holds for it.
    """
    n_pairs = int(codes.max()) // 32 + 1
    words = np.zeros((n_pairs, 2), np.int64)
    bits = np.int64(1) << (codes % 32)
    np.bitwise_or.at(words[:, 0], codes // 32, bits)
    np.bitwise_or.at(words[:, 1], (codes // 32)[is_left], bits[is_left])
    return np.concatenate([[n_pairs], words.ravel()])
