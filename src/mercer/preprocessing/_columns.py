"""The columns of a frame or an array, one at a time, as numbers, dates, values or texts."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from mercer._base.opening import check_place
from mercer._source import place_of
from mercer.errors import DataError

__all__ = ["Columns", "open_columns"]


def open_columns(estimator: Any, X: Any, reset: bool) -> "Columns":
    """Check what the user gave by scikit-learn's rules and open its columns."""
    subject = type(estimator).__name__
    check_place(estimator, place_of(X))
    if _is_frame(X):
        X = X if reset else _without_others(estimator, X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return FrameColumns(subject, X)
    options = {"dtype": None, "ensure_all_finite": "allow-nan"}
    if not issparse(X) and not hasattr(X, "dtype"):
        # A list of rows of several types would become an array of text.
        X = _array_of_lists(X)
    return ArrayColumns(subject, validate_data(estimator, X, reset=reset, **options))


def _without_others(estimator: Any, X: Any) -> Any:
    """The frame without the columns that were not there when the estimator was fitted, such as the target."""
    import narwhals

    known = set(vars(estimator).get("feature_names_in_", ()))
    frame = narwhals.from_native(X, eager_only=True)
    others = [name for name in frame.columns if name not in known]
    return frame.drop(others).to_native() if others and known <= set(frame.columns) else X


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__"))


def _array_of_lists(X: Any) -> Any:
    flat = [value for row in X if isinstance(row, Sequence) for value in row] if isinstance(X, Sequence) else []
    return np.array(X, dtype=object) if any(isinstance(value, str) for value in flat) else X


class Columns:
    """What every table of columns can say; missing values are NaN, and have the code -1."""

    def __init__(self, subject: str, names: list[str], n_rows: int) -> None:
        self.subject = subject
        self.names = names
        self.n_rows = n_rows

    @property
    def dtype(self) -> type:
        """float32 if all numbers are, else float64."""
        raise NotImplementedError

    def kind(self, number: int) -> str:
        """ "number", "category" or "date", by the type of the values."""
        raise NotImplementedError

    def numbers(self, number: int) -> np.ndarray:
        """The values as floats."""
        raise NotImplementedError

    def seconds(self, number: int, form: str | None = None) -> np.ndarray:
        """Dates as seconds since the start of 1970, as float64; texts are read by the form, if there is one."""
        if form is not None and self.kind(number) == "category":
            return self._read_by(form, number)
        return self._seconds(number)

    def _seconds(self, number: int) -> np.ndarray:
        raise NotImplementedError

    def _read_by(self, form: str, number: int) -> np.ndarray:
        values, codes = self.factorised(number)
        moments = np.full(len(values) + 1, np.nan)
        for place, text in enumerate(values):
            try:
                moments[place] = datetime.strptime(text.strip(), form).replace(tzinfo=UTC).timestamp()
            except ValueError:
                raise self._refuse(number, f"dates written as {form}", text) from None
        return moments[codes]

    def factorised(self, number: int) -> tuple[list[str], np.ndarray]:
        """The distinct values as texts, and the place of each row's value among them."""
        raise NotImplementedError

    def texts(self, number: int) -> list[str | None]:
        """The values as texts."""
        values, codes = self.factorised(number)
        named = np.array([*values, None], dtype=object)
        return list(named[codes])

    def _refuse(self, number: int, rule: str, example: Any) -> DataError:
        message = (
            f"{self.subject}: column {self.names[number]!r} must hold {rule}; got {str(example)[:40]!r}. "
            f"Give it another kind."
        )
        return DataError(message)

    def _finite(self, number: int, values: np.ndarray) -> np.ndarray:
        if np.isinf(values).any():
            message = f"{self.subject}: column {self.names[number]!r} contains infinity; write what is missing as NaN."
            raise DataError(message)
        return values


class ArrayColumns(Columns):
    """The columns of a NumPy array: of floats, or of anything."""

    def __init__(self, subject: str, rows: np.ndarray) -> None:
        super().__init__(subject, [f"x{number}" for number in range(rows.shape[1])], rows.shape[0])
        self.rows = rows

    @property
    def dtype(self) -> type:
        return np.float32 if self.rows.dtype == np.float32 else np.float64

    def kind(self, number: int) -> str:
        if self.rows.dtype.kind in "fiu":
            return "number"
        if self.rows.dtype.kind in "bM":
            return "category" if self.rows.dtype.kind == "b" else "date"
        return "number" if _as_floats(self.rows[:, number]) is not None else "category"

    def numbers(self, number: int) -> np.ndarray:
        column = self.rows[:, number]
        if column.dtype.kind == "f":
            return column
        floats = _as_floats(column)
        if floats is None:
            raise self._refuse(number, "numbers", next(value for value in column if isinstance(value, str)))
        return self._finite(number, floats)

    def _seconds(self, number: int) -> np.ndarray:
        try:
            return _seconds(self.rows[:, number])
        except (TypeError, ValueError):
            raise self._refuse(number, "dates", self.rows[0, number]) from None

    def factorised(self, number: int) -> tuple[list[str], np.ndarray]:
        return _factorised(self.rows[:, number])


class FrameColumns(Columns):
    """The columns of a frame of pandas, polars or Arrow."""

    def __init__(self, subject: str, X: Any) -> None:
        import narwhals

        self.frame = narwhals.from_native(X, eager_only=True)
        n_rows, n_columns = self.frame.shape
        if n_rows == 0 or n_columns == 0:
            what = "0 sample(s)" if n_rows == 0 else "0 feature(s)"
            message = (
                f"{subject}: Found a frame with {what} (shape={self.frame.shape}) while a minimum of 1 is required."
            )
            raise DataError(message)
        super().__init__(subject, list(self.frame.columns), n_rows)

    @property
    def dtype(self) -> type:
        import narwhals

        numbers = [kind for kind in self.frame.schema.values() if kind.is_numeric()]
        return np.float32 if numbers and all(kind == narwhals.Float32 for kind in numbers) else np.float64

    def kind(self, number: int) -> str:
        import narwhals

        kind = self.frame[:, number].dtype
        if kind.is_numeric():
            return "number"
        if kind in (narwhals.Date, narwhals.Datetime):
            return "date"
        if kind in (narwhals.Object, narwhals.Unknown):
            return "number" if _as_floats(self.frame[:, number].to_numpy()) is not None else "category"
        return "category"

    def numbers(self, number: int) -> np.ndarray:
        column = self.frame[:, number]
        values = column.to_numpy()
        if values.dtype.kind not in "fiub":
            floats = _as_floats(values)
            if floats is None:
                raise self._refuse(number, "numbers", column.drop_nulls()[0])
            values = floats
        if values.dtype.kind != "f":
            values = values.astype(np.float64)
        return self._finite(number, values)

    def _seconds(self, number: int) -> np.ndarray:
        import narwhals

        column = self.frame[:, number]
        if column.dtype == narwhals.Datetime and column.dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        try:
            return _seconds(column.to_numpy())
        except (TypeError, ValueError):
            raise self._refuse(number, "dates", column.drop_nulls()[0]) from None

    def factorised(self, number: int) -> tuple[list[str], np.ndarray]:
        import narwhals

        column = self.frame[:, number]
        if column.dtype in (narwhals.String, narwhals.Categorical, narwhals.Enum):
            found = _arrow_factorised(column)
            if found is not None:
                return found
        return _factorised(column.to_numpy())


def _seconds(values: np.ndarray) -> np.ndarray:
    dates = values.astype("datetime64[s]")
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))


def _as_floats(column: np.ndarray) -> np.ndarray | None:
    """The values as float64, or None if one of them is a text."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64)
    if column.dtype.kind in "USMm" or any(isinstance(value, str) for value in column):
        return None
    missing = np.array([_is_missing(value) for value in column], dtype=bool)
    return np.where(missing, np.nan, column).astype(np.float64)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    same = value == value
    # pandas' NA is neither equal to itself nor different.
    return not same if isinstance(same, bool | np.bool_) else True


def _arrow_factorised(column: Any) -> tuple[list[str], np.ndarray] | None:
    """By Arrow, which is some five times as fast as a dictionary; None where it is not installed."""
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
    codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return [str(value) for value in values.dictionary.to_pylist()], codes.astype(np.intp, copy=False)


def _factorised(column: np.ndarray) -> tuple[list[str], np.ndarray]:
    if column.dtype.kind in "fiubU":
        values, codes = np.unique(column, return_inverse=True)
        return _spelled(values, codes)
    if column.dtype.kind == "M":
        return _spelled(*np.unique(column.astype("datetime64[s]"), return_inverse=True))
    places: dict[str, int] = {}
    codes = np.empty(len(column), dtype=np.intp)
    for row, value in enumerate(column):
        codes[row] = -1 if _is_missing(value) else places.setdefault(_spelling(value), len(places))
    return list(places), codes


def _spelled(values: np.ndarray, codes: np.ndarray) -> tuple[list[str], np.ndarray]:
    """NaN and NaT, which come last, are missing."""
    missing = np.isnan(values) if values.dtype.kind == "f" else np.isnat(values) if values.dtype.kind == "M" else None
    if missing is not None and missing.any():
        known = int(np.flatnonzero(missing)[0])
        return [_spelling(value) for value in values[:known].tolist()], np.where(codes < known, codes, -1)
    return [_spelling(value) for value in values.tolist()], codes.reshape(-1)


def _spelling(value: Any) -> str:
    """A value as the name of a category: whole numbers without a point, for a missing value turns them into floats."""
    if isinstance(value, float | np.floating) and value == np.floor(value):
        return str(int(value))
    return str(value)
