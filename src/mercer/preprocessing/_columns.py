"""Read the columns of a frame or an array, one at a time, as numbers, dates, categories or texts."""

from collections.abc import Sequence
from datetime import UTC, datetime
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer._base.opening import check_place
from mercer._base.validation import inspect_rows
from mercer._source import place_of
from mercer._source.arrow_values import read_arrow
from mercer._source.namespace import is_sparse_matrix
from mercer._source.table.numerals import read_numeral
from mercer.errors import DataError


def open_columns(estimator: Any, X: Any, reset: bool) -> "Columns":
    """Check what the user gave by scikit-learn's rules and open its columns."""
    subject = type(estimator).__name__
    check_place(estimator, place_of(X))
    if _is_frame(X):
        X = X if reset else _drop_other_columns(estimator, X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return FloatColumns(subject, X) if _holds_floats(X) else FrameColumns(subject, X)
    options = {"dtype": None, "ensure_all_finite": "allow-nan"}
    if not is_sparse_matrix(X) and not hasattr(X, "dtype"):
        # NumPy would turn a list of rows of several types into an array of texts.
        X = _make_array(X)
    return ArrayColumns(subject, inspect_rows(estimator, X, reset=reset, **options))


def _drop_other_columns(estimator: Any, X: Any) -> Any:
    """Return the frame without columns that were not there in ``fit``, such as the target."""
    import narwhals

    known = set(vars(estimator).get("feature_names_in_", ()))
    frame = narwhals.from_native(X, eager_only=True)
    others = [name for name in frame.columns if name not in known]
    return frame.drop(others).to_native() if others and known <= set(frame.columns) else X


def _is_frame(X: Any) -> bool:
    """Return whether `X` is a frame of pandas, polars or Arrow."""
    return hasattr(X, "columns") and (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__"))


def _holds_floats(X: Any) -> bool:
    """Return whether a frame of pandas has rows and columns, all of one NumPy type of floats."""
    if not type(X).__module__.startswith("pandas") or 0 in X.shape:
        return False
    kinds = set(X.dtypes)
    return len(kinds) == 1 and next(iter(kinds)) in (np.float64, np.float32)


def _make_array(X: Any) -> Any:
    """Return a list of rows as an array of objects if it holds texts; other values unchanged."""
    flat = [value for row in X if isinstance(row, Sequence) for value in row] if isinstance(X, Sequence) else []
    return np.array(X, dtype=object) if any(isinstance(value, str) for value in flat) else X


class Columns:
    """Columns of a table; missing values are NaN, and have the code -1."""

    def __init__(self, subject: str, names: list[str], n_rows: int) -> None:
        self.subject = subject
        self.names = names
        self.n_rows = n_rows

    @property
    def dtype(self) -> type:
        """float32 if all numeric columns are, else float64."""
        raise NotImplementedError

    def kind(self, index: int) -> str:
        """Return "number", "category" or "date", by the type of the values."""
        raise NotImplementedError

    def numbers(self, index: int) -> np.ndarray:
        """Return the values of a column as floats."""
        raise NotImplementedError

    def values(self, index: int, form: str | None = None) -> np.ndarray:
        """Return the values of a column as floats; texts are read as numbers of the form `form`."""
        if form is None or self.kind(index) != "category":
            return self.numbers(index)
        texts, codes = self.factorise(index)
        # Each distinct text is read once. The code -1 of missing values takes the last entry, which is NaN.
        return np.array([*(read_numeral(text, form) for text in texts), np.nan])[codes]

    def seconds(self, index: int, form: str | None = None) -> np.ndarray:
        """Return dates as seconds since the start of 1970, in float64.

        Texts are read by the format `form`, or as ISO 8601 writes dates.
        """
        return self._read_by(form, index) if self.kind(index) == "category" else self._read_seconds(index)

    def _read_seconds(self, index: int) -> np.ndarray:
        raise NotImplementedError

    def _read_by(self, form: str | None, index: int) -> np.ndarray:
        """Return dates that are written as texts in the format `form`, or as ISO 8601 has it, in seconds."""
        values, codes = self.factorise(index)
        # Each distinct text is parsed once. The code -1 of missing values takes the last entry, which is NaN.
        moments = np.full(len(values) + 1, np.nan)
        for place, text in enumerate(values):
            try:
                moment = datetime.fromisoformat(text.strip()) if form is None else datetime.strptime(text.strip(), form)
            except ValueError:
                rule = "dates" if form is None else f"dates written as {form}"
                raise self._refuse(index, rule, text) from None
            # A time with a zone is compared in UTC, and one without is taken to be of it.
            moments[place] = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
        return moments[codes]

    def factorise(self, index: int) -> tuple[list[str], np.ndarray]:
        """Return the distinct values as texts, and the index of the value of each row among them."""
        raise NotImplementedError

    def texts(self, index: int) -> list[str | None]:
        """Return the values as texts."""
        values, codes = self.factorise(index)
        # The code -1 of missing values takes the last entry, None.
        named = np.array([*values, None], dtype=object)
        return list(named[codes])

    def _refuse(self, index: int, rule: str, example: Any) -> DataError:
        """Return the error that a column does not hold what its kind needs."""
        message = (
            f"{self.subject}: column {self.names[index]!r} must hold {rule}; got {str(example)[:40]!r}. "
            f"Give it another kind."
        )
        return DataError(message)

    def _check_finite(self, index: int, values: np.ndarray) -> np.ndarray:
        """Return the values; DataError if one is infinite."""
        if np.isinf(values).any():
            raise DataError(
                f"{self.subject}: column {self.names[index]!r} contains infinity. Mark missing values by NaN."
            )
        return values


class ArrayColumns(Columns):
    """The columns of a NumPy array of any type."""

    def __init__(self, subject: str, rows: np.ndarray) -> None:
        super().__init__(subject, [f"x{index}" for index in range(rows.shape[1])], rows.shape[0])
        self.rows = rows

    @property
    def dtype(self) -> type:
        return np.float32 if self.rows.dtype == np.float32 else np.float64

    def kind(self, index: int) -> str:
        if self.rows.dtype.kind in "fiu":
            return "number"
        if self.rows.dtype.kind in "bM":
            return "category" if self.rows.dtype.kind == "b" else "date"
        return "number" if _convert_floats(self.rows[:, index]) is not None else "category"

    def numbers(self, index: int) -> np.ndarray:
        column = self.rows[:, index]
        if column.dtype.kind == "f":
            return column
        floats = _convert_floats(column)
        if floats is None:
            odd = next((value for value in column if not isinstance(value, Real)), column[0])
            raise self._refuse(index, "numbers", odd)
        return self._check_finite(index, floats)

    def _read_seconds(self, index: int) -> np.ndarray:
        try:
            return _read_seconds(self.rows[:, index])
        except (TypeError, ValueError):
            raise self._refuse(index, "dates", self.rows[0, index]) from None

    def factorise(self, index: int) -> tuple[list[str], np.ndarray]:
        return _factorise(self.rows[:, index])


class FloatColumns(ArrayColumns):
    """The columns of a frame of pandas that are all floats: an array is 20 times as quick to open as its columns."""

    def __init__(self, subject: str, X: Any) -> None:
        # Each column lies in one piece, as the columns of the frame do.
        super().__init__(subject, np.asfortranarray(X.to_numpy()))
        self.names = list(X.columns)

    def numbers(self, index: int) -> np.ndarray:
        return self._check_finite(index, self.rows[:, index])


class FrameColumns(Columns):
    """The columns of a frame of pandas, polars or Arrow."""

    def __init__(self, subject: str, X: Any) -> None:
        import narwhals

        self.frame = narwhals.from_native(X, eager_only=True)
        n_rows, n_columns = self.frame.shape
        if n_rows == 0 or n_columns == 0:
            what = "0 sample(s)" if n_rows == 0 else "0 feature(s)"
            raise DataError(
                f"{subject}: Found a frame with {what} (shape={self.frame.shape}) while a minimum of 1 is required."
            )
        super().__init__(subject, list(self.frame.columns), n_rows)
        # Asking the frame for one column at a time would list the names of all columns each time.
        self.columns = list(self.frame.iter_columns())

    @property
    def dtype(self) -> type:
        import narwhals

        numbers = [kind for kind in self.frame.schema.values() if kind.is_numeric()]
        return np.float32 if numbers and all(kind == narwhals.Float32 for kind in numbers) else np.float64

    def kind(self, index: int) -> str:
        import narwhals

        kind = self.columns[index].dtype
        if kind.is_numeric():
            return "number"
        if kind in (narwhals.Date, narwhals.Datetime):
            return "date"
        if kind == narwhals.Duration:
            return "number"
        if kind in (narwhals.Object, narwhals.Unknown):
            return "number" if _convert_floats(self.columns[index].to_numpy()) is not None else "category"
        return "category"

    def numbers(self, index: int) -> np.ndarray:
        column = self.columns[index]
        values = _read_values(column)
        if values.dtype.kind == "m":
            # A duration is a number of seconds; NaT becomes NaN.
            values = values / np.timedelta64(1, "s")
        if values.dtype.kind not in "fiub":
            floats = _convert_floats(values)
            if floats is None:
                raise self._refuse(index, "numbers", column.drop_nulls()[0])
            values = floats
        if values.dtype.kind != "f":
            values = values.astype(np.float64)
        return self._check_finite(index, values)

    def _read_seconds(self, index: int) -> np.ndarray:
        import narwhals

        column = self.columns[index]
        if column.dtype == narwhals.Datetime and column.dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        try:
            return _read_seconds(_read_values(column))
        except (TypeError, ValueError):
            raise self._refuse(index, "dates", column.drop_nulls()[0]) from None

    def factorise(self, index: int) -> tuple[list[str], np.ndarray]:
        import narwhals

        column = self.columns[index]
        if column.dtype in (narwhals.String, narwhals.Categorical, narwhals.Enum):
            coded = _factorise_by_arrow(column)
            if coded is not None:
                return coded
        return _factorise(_read_values(column))


def _read_values(column: Any) -> np.ndarray:
    """Return the values of a column of a frame."""
    native = column.to_native()
    values = read_arrow(native) if type(native).__module__.startswith("pyarrow") else None
    return column.to_numpy() if values is None else values


def _read_seconds(values: np.ndarray) -> np.ndarray:
    dates = values.astype("datetime64[s]")
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))


def _convert_floats(column: np.ndarray) -> np.ndarray | None:
    """Return the values as float64, or None if one of them is a text."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64)
    if column.dtype.kind in "USMm" or any(isinstance(value, str) for value in column):
        return None
    missing = np.array([_is_missing(value) for value in column], dtype=bool)
    return np.where(missing, np.nan, column).astype(np.float64)


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or NA."""
    if value is None:
        return True
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return False
    same = value == value
    # Comparing pandas' NA with itself gives NA, not a boolean.
    return not same if isinstance(same, bool | np.bool_) else True


def _factorise_by_arrow(column: Any) -> tuple[list[str], np.ndarray] | None:
    """Factorise texts by Arrow, about five times as fast as a dictionary; None if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        return None
    values = column.to_arrow()
    if not pyarrow.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    if isinstance(values, pyarrow.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if isinstance(values, pyarrow.ChunkedArray):
        values = values.unify_dictionaries().chunk(0)
    # Arrow marks missing values by nulls; -1 stands for them here, as in pandas.
    codes = read_arrow(values.indices, gap=-1)
    if codes is None:
        codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return [_spell_value(value) for value in values.dictionary.to_pylist()], codes.astype(np.intp, copy=False)


def _factorise(column: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the distinct values of an array as texts, and the index of the value of each row."""
    if column.dtype.kind in "fiubU":
        values, codes = np.unique(column, return_inverse=True)
        return _spell_values(values, codes)
    if column.dtype.kind == "M":
        return _spell_values(*np.unique(column.astype("datetime64[s]"), return_inverse=True))
    places: dict[str, int] = {}
    codes = np.empty(len(column), dtype=np.intp)
    # Values of mixed types cannot be sorted: they are numbered as they appear.
    for row, value in enumerate(column):
        codes[row] = -1 if _is_missing(value) else places.setdefault(_spell_value(value), len(places))
    return list(places), codes


def _spell_values(values: np.ndarray, codes: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return sorted values as texts, and the codes with -1 for NaN and NaT, which come last."""
    missing = np.isnan(values) if values.dtype.kind == "f" else np.isnat(values) if values.dtype.kind == "M" else None
    if missing is not None and missing.any():
        known = int(np.flatnonzero(missing)[0])
        return [_spell_value(value) for value in values[:known].tolist()], np.where(codes < known, codes, -1)
    return [_spell_value(value) for value in values.tolist()], codes.reshape(-1)


class Tokens(str):
    """A list of words as text, which remembers the words: they need not be found in the text again."""

    words: tuple[str, ...]

    @classmethod
    def read(cls, value: Any) -> "Tokens":
        """Return the words of a list, tuple, set or array."""
        tokens = cls(list(value))
        tokens.words = tuple(str(word) for word in value)
        return tokens


def _spell_value(value: Any) -> str:
    """Return a value as the name of a category; whole numbers have no decimal point, even as floats."""
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return Tokens.read(value)
    if isinstance(value, float | np.floating) and value == np.floor(value):
        return str(int(value))
    return str(value)
