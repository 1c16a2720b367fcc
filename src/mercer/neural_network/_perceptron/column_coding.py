"""Tables with categories and gaps, as numbers that a network takes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._types import Array
from mercer.errors import DataError, ParameterError

__all__ = ["ColumnCoding", "learn_coding"]

# The greatest length of a category's vector; wider ones gained nothing on tables of some hundred categories.
_WIDEST = 16


@plain
@dataclass(frozen=True, eq=False)
class ColumnCoding:
    """What is done to rows before the first layer.

    Codes c = 0, 1, ... of categories become c + 1; gaps and codes that the fit did not see become 0, a category of its
    own. Gaps among numbers become the mean of their column, and each column that had gaps in the fit gets a column of
    zeros and ones that says where they were, at the end.
    """

    columns: np.ndarray
    sizes: np.ndarray
    means: np.ndarray
    gaps: np.ndarray

    def apply(self, X: Array) -> np.ndarray:
        """Return the rows as the network takes them."""
        missing = np.isnan(X)
        rows = np.where(missing, self.means.astype(X.dtype), X)
        for column, size in zip(self.columns.tolist(), self.sizes.tolist(), strict=True):
            codes = np.where(missing[:, column], -1, X[:, column])
            known = (codes >= 0) & (codes < size - 1) & (codes == np.floor(codes))
            rows[:, column] = np.where(known, codes + 1, 0)
        return np.ascontiguousarray(np.concatenate([rows, missing[:, self.gaps].astype(X.dtype)], axis=1))

    @property
    def widths(self) -> tuple[int, ...]:
        """The lengths of the categories' vectors: half their number, at most 16."""
        return tuple(min(_WIDEST, max(1, (int(size) + 1) // 2)) for size in self.sizes)


def learn_coding(subject: str, X: np.ndarray, categorical: Any) -> ColumnCoding | None:
    """Return how the rows of a fit are to be coded; None if they have neither categories nor gaps."""
    d = X.shape[1]
    columns = _read_columns(subject, categorical, d)
    missing = np.isnan(X)
    if not len(columns) and not missing.any():
        return None
    sizes = []
    for column in columns.tolist():
        codes = X[~missing[:, column], column]
        if len(codes) and (codes.min() < 0 or (codes != np.floor(codes)).any()):
            message = (
                f"{subject}: categorical columns must hold codes 0, 1, 2...; column {column} holds "
                f"{codes[(codes < 0) | (codes != np.floor(codes))][0]:g}. Code it with OrdinalEncoder."
            )
            raise DataError(message)
        # Codes 0 to max, and one more for gaps and unknown codes.
        sizes.append(int(codes.max(initial=-1)) + 2)
    numbers = np.setdiff1d(np.arange(d), columns)
    # The mean of the known values fills gaps in numbers.
    counts = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0.0, X).sum(axis=0) / counts
    gaps = np.array([j for j in numbers.tolist() if missing[:, j].any()], dtype=np.int64)
    return ColumnCoding(columns, np.array(sizes, dtype=np.int64), means.astype(np.float64), gaps)


def _read_columns(subject: str, categorical: Any, d: int) -> np.ndarray:
    """Return the numbers of the columns with categories, from numbers or a mask."""
    if categorical is None:
        return np.empty(0, dtype=np.int64)
    given = np.asarray(categorical)
    # Booleans would count as the integers 0 and 1 below, so a mask is read first.
    if given.dtype == bool and given.shape == (d,):
        return np.flatnonzero(given)
    if given.dtype.kind not in "iu" or given.ndim != 1 or (given.size and not 0 <= given.min() <= given.max() < d):
        message = (
            f"{subject}: categorical_features must be column numbers below {d}, or a mask of {d} booleans; "
            f"got {categorical!r}."
        )
        raise ParameterError(message)
    return np.unique(given).astype(np.int64)
