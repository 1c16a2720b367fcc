"""The distinct values of a column, and the number of each row's value: what every coding of categories begins with."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer._native.sums import distinct_texts
from mercer._source.arrow_values import read_arrow
from mercer._types import Array

# Rows of one native call: some 10 ms of work.
_RUN = 2**20
# Slots of the first table of texts; a column with fewer distinct values never needs another.
_SLOTS = 2**10


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct values of a column.

    Attributes
    ----------
    values : ndarray
        In the order of their first rows, without missing ones. Objects may hold None and NaN beside others.
    codes : ndarray of int32
        The index of the value of each row; -1 where it is missing.
    counts : ndarray of int64
        The number of missing rows, and the rows of each value.
    gap : object
        What a missing value is: NaN or None.
    """

    values: Array
    codes: Array
    counts: Array
    gap: Any = np.nan

    def list_values(self) -> tuple[Array, Array]:
        """Return the values and their counts; a missing value, if there is one, comes last."""
        if not self.counts[0]:
            return self.values, self.counts[1:]
        values = self.values
        if values.dtype.kind in "iub":
            values = values.astype(np.float64 if self.gap is not None else object)
        elif values.dtype.kind not in "fO" and not (values.dtype.kind == "M" and self.gap is not None):
            values = values.astype(object)
        missing = np.empty(1, values.dtype)
        missing[0] = self.gap if values.dtype.kind != "M" else np.datetime64("NaT")
        return np.concatenate([values, missing]), np.append(self.counts[1:], self.counts[0])


def is_nan(value: Any) -> bool:
    """Return whether a value is NaN, NaT or pandas' NA."""
    different = value != value
    # Comparing pandas' NA with itself gives NA, not a boolean.
    return bool(different) if isinstance(different, bool | np.bool_) else type(value).__name__ == "NAType"


def find_distinct(column: Any) -> Distinct:
    """Find the distinct values of an array, or of a column of a frame of pandas, polars or Arrow."""
    if isinstance(column, np.ndarray):
        return _of_array(column)
    library = type(column).__module__.split(".")[0]
    if library == "pandas":
        return _of_pandas(column)
    # A missing value of a frame is NaN, as in pandas: the same rows are the same categories in every place.
    arrow = column.to_arrow() if library == "polars" else column
    found = _of_arrow(arrow, np.nan)
    if found is not None:
        return found
    values = read_arrow(arrow)
    return _of_array(column.to_numpy() if values is None else values)


def _of_pandas(column: Any) -> Distinct:
    """Find the distinct values of a series of pandas."""
    dtype = column.dtype
    if hasattr(dtype, "categories") and hasattr(column, "cat"):
        return _of_codes(np.asarray(column.cat.codes), np.asarray(column.cat.categories), np.nan)
    if getattr(dtype, "storage", "") == "pyarrow":
        found = _of_arrow(column.array.__arrow_array__(), np.nan)
        if found is not None:
            return found
    return _of_array(check_array(column, ensure_2d=False, dtype=None, ensure_all_finite=False))


def _of_arrow(column: Any, gap: Any) -> Distinct | None:
    """Find the distinct texts or categories of an Arrow array or chunked array; None if it holds something else."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        if hasattr(column, "chunks"):
            column = column.unify_dictionaries()
            column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
            column = column.chunk(0) if hasattr(column, "chunks") else column
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return _of_codes(codes, _make_array(column.dictionary.to_pylist()), gap)
    if types.is_string_view(kind):
        column = column.cast("large_string")
    elif not (types.is_string(kind) or types.is_large_string(kind)):
        return None
    if hasattr(column, "chunks"):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if hasattr(column, "chunks"):
            # Texts of more than 2 GB stay in several pieces, where their places are 32 bits wide.
            column = column.cast("large_string").combine_chunks()
    return _of_text_buffers(column, gap)


def _of_text_buffers(column: Any, gap: Any) -> Distinct:
    """Find the distinct texts of one Arrow array by its buffers."""
    n, at = len(column), column.offset
    if n == 0:
        return Distinct(np.empty(0, object), np.empty(0, np.int32), np.zeros(1, np.int64), gap)
    bits, places, data = column.buffers()
    starts = np.frombuffer(places, np.int64 if str(column.type) == "large_string" else np.int32)[at : at + n + 1]
    known = np.empty(0, np.uint8)
    if column.null_count:
        known = np.unpackbits(np.frombuffer(bits, np.uint8), count=at + n, bitorder="little")[at:]
    letters = np.empty(0, np.uint8) if data is None or data.size == 0 else np.frombuffer(data, np.uint8)
    codes, places, counts = _number(letters, starts, known)
    content = letters.data
    texts = [str(content[begin : begin + size], "utf-8") for begin, size in places.tolist()]
    return Distinct(_make_array(texts), codes, counts, gap)


def _of_codes(codes: Array, values: Array, gap: Any) -> Distinct:
    """Return the values that occur among coded ones; -1 is the code of a missing value."""
    codes = codes.astype(np.int32, copy=False)
    counts = np.bincount(codes + 1, minlength=len(values) + 1)
    if (counts[1:] > 0).all():
        return Distinct(values, codes, counts, gap)
    used = counts[1:] > 0
    table = np.concatenate([[-1], np.where(used, np.cumsum(used) - 1, -1)]).astype(np.int32)
    return Distinct(values[used], table[codes + 1], np.concatenate([counts[:1], counts[1:][used]]), gap)


def _of_array(column: Array) -> Distinct:
    """Find the distinct values of a NumPy array of one dimension."""
    kind = column.dtype.kind
    if kind == "O":
        return _of_objects(column)
    missing: Any = None
    if kind == "f":
        # Zeros of both signs are one value, and so are all NaN.
        column = column + 0.0 if column.dtype.itemsize in (4, 8) else column.astype(np.float64)
        missing = np.isnan(column)
    elif kind in "mM":
        missing = np.isnat(column)
    column = np.ascontiguousarray(column)
    width = column.dtype.itemsize
    if not len(column) or not width:
        return _of_objects(column.astype(object))
    known = (~missing).view(np.uint8) if missing is not None and missing.any() else np.empty(0, np.uint8)
    starts = np.arange(0, (len(column) + 1) * width, width, dtype=np.int64)
    codes, places, counts = _number(column.view(np.uint8), starts, known)
    return Distinct(column[places[:, 0] // width], codes, counts)


def _number(letters: Array, starts: Array, known: Array) -> tuple[Array, Array, Array]:
    """Return the number of the text of each row, where each text begins and its size, and how many rows have it."""
    n = len(starts) - 1
    codes = np.empty(n, np.int32)
    slots = np.full(min(_SLOTS, 2 << (2 * n).bit_length()), -1, np.int32)
    texts, counts = _make_tables(len(slots) // 2)
    row = found = 0
    while row < n:
        stop = min(n, row + _RUN)
        row, found = distinct_texts.number_texts(letters, starts, known, row, stop, slots, texts, counts, found, codes)
        if row < stop:
            slots = np.empty(4 * len(slots), np.int32)
            more = _make_tables(len(slots) // 2)
            for old, new in zip((texts, counts), more, strict=True):
                new[: len(old)] = old
            texts, counts = more
            distinct_texts.take_slots(texts, found, slots)
    return codes, texts[:found, 1:].astype(np.int64), counts[: found + 1]


def _make_tables(capacity: int) -> tuple[Array, Array]:
    """Return arrays for the hashes and places, and the counts, of as many texts."""
    return np.empty((capacity, 3), np.uint64), np.zeros(capacity + 1, np.int64)


class Numbers(dict[Any, int]):
    """Numbers keys in the order in which they are asked for."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number

    def number(self, keys: list[Any]) -> Array:
        """Return the number of each key."""
        return np.fromiter(map(self.__getitem__, keys), np.int64, len(keys))


def _of_objects(column: Array) -> Distinct:
    """Find the distinct objects of a NumPy array by a dictionary; NaN of all kinds are one value."""
    numbers = Numbers()
    try:
        codes = np.fromiter(map(numbers.__getitem__, column.tolist()), np.int32, len(column))
    except TypeError:
        raise _refuse_types(column) from None
    keys = list(numbers)
    gaps = [number for number, key in enumerate(keys) if key is not None and is_nan(key)]
    if gaps:
        unknown = np.zeros(len(keys), bool)
        unknown[gaps] = True
        codes = np.where(unknown, -1, np.cumsum(~unknown) - 1).astype(np.int32)[codes]
        keys = [key for key, drop in zip(keys, unknown.tolist(), strict=True) if not drop]
    counts = np.bincount(codes + 1, minlength=len(keys) + 1)
    return Distinct(_make_array(keys), codes, counts)


def _refuse_types(values: Any) -> Exception:
    """Return the error that a column holds values that cannot be compared."""
    types = sorted({type(value).__qualname__ for value in values})
    return TypeError(
        f"Encoders require their input argument must be uniformly strings or numbers. Got {types}. Convert the column "
        f"to one type."
    )


def sort_values(values: Array) -> Array:
    """Return the order that sorts values; None and NaN come last."""
    if values.dtype.kind != "O":
        return np.argsort(values, kind="stable")
    keys = values.tolist()
    gaps = [place for place, key in enumerate(keys) if key is None or is_nan(key)]
    # None comes before NaN.
    gaps.sort(key=lambda place: keys[place] is not None)
    known = [place for place in range(len(keys)) if place not in set(gaps)] if gaps else range(len(keys))
    try:
        order = sorted(known, key=keys.__getitem__)
    except TypeError:
        raise _refuse_types(keys) from None
    return np.array([*order, *gaps], dtype=np.intp)


def find_places(categories: Array, values: Array) -> Array:
    """Return the index of each value among `categories`, -1 where it is none of them; NaN is equal to itself."""
    if categories.dtype.kind in "iubf" and values.dtype.kind in "iubf":
        # Categories that are numbers are sorted, with NaN last.
        if not len(categories):
            return np.full(len(values), -1)
        places = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
        same = categories[places] == values
        if categories.dtype.kind == "f" and values.dtype.kind == "f":
            same |= np.isnan(categories[places]) & np.isnan(values)
        return np.where(same, places, -1)
    known = {_one_nan(value): place for place, value in enumerate(categories.tolist())}
    return np.fromiter((known.get(_one_nan(value), -1) for value in values.tolist()), np.int64, len(values))


def _one_nan(value: Any) -> Any:
    """Return the value; every NaN as the same object, which a dictionary finds."""
    return np.nan if value is not None and type(value) is not str and is_nan(value) else value


def _make_array(values: list[Any]) -> Array:
    """Return a list as an array of objects of one dimension."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def list_columns(X: Any) -> list[Any]:
    """Return the columns of an array, or of a frame of pandas, polars or Arrow."""
    if isinstance(X, np.ndarray):
        return [X[:, index] for index in range(X.shape[1])]
    if hasattr(X, "iloc"):
        return [X.iloc[:, index] for index in range(X.shape[1])]
    if hasattr(X, "column_names"):
        return list(X.columns)
    if hasattr(X, "get_columns"):
        return X.get_columns()
    import narwhals

    return [column.to_native() for column in narwhals.from_native(X, eager_only=True).iter_columns()]


def find_all_distinct(columns: list[Any], threads: int, keep: bool = True) -> list[Distinct]:
    """Find the distinct values of each column, on all threads; without `keep` the codes are left out."""
    from mercer._source.threads import run_numbered

    found: list[Any] = [None] * len(columns)

    def find(index: int) -> None:
        one = find_distinct(columns[index])
        found[index] = one if keep else replace(one, codes=np.empty(0, np.int32))

    short = not columns or len(columns[0]) < _RUN // 16
    run_numbered(find, len(columns), 1 if short else threads, lambda done: None)
    return found
