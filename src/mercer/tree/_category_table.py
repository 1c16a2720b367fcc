"""Columns of words or numbers as one table of floats: categories are numbered, missing values are NaN."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer._base.validation import FLOATS
from mercer.errors import DataError, ParameterError

__all__ = ["CategoryTable", "is_frame"]


def is_frame(X: Any) -> bool:
    """Return whether rows are a table with named columns of different kinds."""
    return hasattr(X, "columns") and hasattr(X, "shape")


class CategoryTable:
    """Reads rows for an estimator with ``categorical_features``; knows the categories of the fit.

    Attributes
    ----------
    categories : list
        For each column the categories in rising order, or None for a numeric column.
    """

    def __init__(self, estimator: Any, categories: list[Any] | None = None) -> None:
        self.estimator, self.categories = estimator, categories

    def learn(self, X: Any) -> np.ndarray:
        """Read the rows of a fit, and learn their categories."""
        chosen = self.estimator.categorical_features
        words = chosen is not None and not isinstance(chosen, str)
        if not is_frame(X) and not words:
            values = self._numbers(X, reset=True)
            self.categories = [None] * values.shape[1]
            return values
        columns = self._columns(X, reset=True)
        marked = self._mark_columns(X, columns)
        self.categories = [
            np.unique(_present(column)) if mark else None for column, mark in zip(columns, marked, strict=True)
        ]
        return self._table(columns)

    def read(self, X: Any) -> np.ndarray:
        """Read rows for a fitted model; unknown categories become codes that no branch has."""
        if all(known is None for known in self.categories or []) and not is_frame(X):
            return self._numbers(X, reset=False)
        return self._table(self._columns(X, reset=False))

    def _numbers(self, X: Any, reset: bool) -> np.ndarray:
        return validate_data(
            self.estimator, X, reset=reset, dtype=list(FLOATS), order="C", ensure_all_finite="allow-nan"
        )

    def _columns(self, X: Any, reset: bool) -> list[np.ndarray]:
        if is_frame(X):
            import narwhals

            validate_data(self.estimator, X, reset=reset, skip_check_array=True)
            frame = narwhals.from_native(X, eager_only=True)
            return [_plain(column.to_numpy()) for column in frame.iter_columns()]
        table = validate_data(self.estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
        return [_plain(table[:, j]) for j in range(table.shape[1])]

    def _mark_columns(self, X: Any, columns: list[np.ndarray]) -> list[bool]:
        chosen = self.estimator.categorical_features
        if isinstance(chosen, str) or chosen is None:
            return [column.dtype.kind not in "iufb" for column in columns]
        names = [str(name) for name in X.columns] if is_frame(X) else []
        marked = [False] * len(columns)
        given = list(chosen)
        if len(given) == len(columns) and all(isinstance(one, bool | np.bool_) for one in given):
            return [bool(one) for one in given]
        for one in given:
            number = names.index(one) if isinstance(one, str) and one in names else one
            if isinstance(number, str) or not -len(columns) <= number < len(columns):
                message = (
                    f"{type(self.estimator).__name__}: categorical_features must name columns of X; got {one!r} for "
                    f"{len(columns)} columns."
                )
                raise ParameterError(message)
            marked[number] = True
        return marked

    def _table(self, columns: list[np.ndarray]) -> np.ndarray:
        categories = self.categories or []
        table = np.empty((len(columns[0]), len(columns)))
        for j, (column, known) in enumerate(zip(columns, categories, strict=True)):
            table[:, j] = self._read_numbers(column, j) if known is None else _codes(column, known)
        if np.isinf(table).any():
            message = f"{type(self.estimator).__name__}: Input X contains infinity. Drop or replace those values."
            raise DataError(message)
        return table

    def _read_numbers(self, column: np.ndarray, j: int) -> np.ndarray:
        try:
            return np.array([np.nan if _is_missing(one) else one for one in column], dtype=np.float64)
        except (TypeError, ValueError) as error:
            message = (
                f"{type(self.estimator).__name__}: could not convert string to float in column {j}. Name it in "
                f"categorical_features, or give a frame and categorical_features='from_dtype'."
            )
            raise DataError(message) from error


def _plain(column: np.ndarray) -> np.ndarray:
    return column if column.dtype.kind in "iufb" else np.array(column.tolist(), dtype=object)


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ == "NAType"


def _present(column: np.ndarray) -> np.ndarray:
    return np.array([one if column.dtype.kind in "iufb" else str(one) for one in column if not _is_missing(one)])


def _codes(column: np.ndarray, known: np.ndarray) -> np.ndarray:
    missing = np.array([_is_missing(one) for one in column], dtype=bool)
    codes = np.full(len(column), np.nan)
    words = _present(column)
    if len(known) and len(words):
        words = words.astype(str) if known.dtype.kind == "U" else words
        place = np.searchsorted(known, words).clip(0, len(known) - 1)
        codes[~missing] = np.where(known[place] == words, place, len(known))
    return codes
