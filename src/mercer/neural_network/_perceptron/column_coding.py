"""Tables with categories and gaps, as numbers that a network takes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.tree.categories import CategoryTable, is_frame, learn_categories, mark_categorical
from mercer._source import place_of
from mercer._types import Array
from mercer.errors import DataError, ParameterError

# The greatest length of a category's vector; wider ones gained nothing on tables of some hundred categories.
_WIDEST = 16


@plain
@dataclass(frozen=True, eq=False)
class ColumnCoding:
    """What is done to rows before the first layer.

    Codes c = 0, 1, ... of categories become c + 1; gaps and codes that the fit did not see become 0, a category of its
    own. Gaps among numbers become the mean of their column, and each column that had gaps in the fit gets a column of
    zeros and ones that says where they were, at the end. ``table`` holds the categories of a frame by name; without it
    the columns hold codes.
    """

    columns: np.ndarray
    sizes: np.ndarray
    means: np.ndarray
    gaps: np.ndarray
    table: CategoryTable | None = None

    def read(self, X: Any, subject: str) -> Any:
        """Return rows with codes for the categories of a frame; rows that hold codes as they are."""
        return X if self.table is None else self.table.encode(X, subject)

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


def encode_frame(
    subject: str, X: Any, categorical: Any, known: ColumnCoding | None
) -> tuple[Any, CategoryTable | None]:
    """Return the rows with codes for the categories of a frame, and the table of these codes, or None without any."""
    table = _learn_table(subject, X, categorical) if known is None else known.table
    return (X, None) if table is None else (table.encode(X, subject), table)


def _learn_table(subject: str, X: Any, categorical: Any) -> CategoryTable | None:
    """Learn the categories of a frame by name; return None where the chosen columns hold codes already."""
    if place_of(X) != "memory" or (not is_frame(X) and not isinstance(categorical, str)):
        return None
    if isinstance(categorical, str) or np.asarray(categorical).dtype.kind not in "iub":
        return learn_categories(categorical, X, subject)
    import narwhals

    frame = narwhals.from_native(X, eager_only=True)
    chosen = mark_categorical(subject, categorical, len(frame.columns), list(frame.columns))
    kinds = list(frame.schema.values())
    if all(kinds[column].is_numeric() for column in np.flatnonzero(chosen).tolist()):
        return None
    return learn_categories(categorical, X, subject)


def learn_coding(
    subject: str, X: np.ndarray, categorical: Any, table: CategoryTable | None = None
) -> ColumnCoding | None:
    """Return how the rows of a fit are to be coded; None if they have neither categories nor gaps."""
    d = X.shape[1]
    columns = _read_columns(subject, categorical if table is None else table.columns, d)
    missing = np.isnan(X)
    if not len(columns) and not missing.any():
        return None
    sizes = []
    for column in columns.tolist():
        codes = X[~missing[:, column], column]
        if len(codes) and (codes.min() < 0 or (codes != np.floor(codes)).any()):
            raise DataError(
                f"{subject}: categorical columns must hold codes 0, 1, 2...; column {column} holds "
                f"{codes[(codes < 0) | (codes != np.floor(codes))][0]:g}. Code it with OrdinalEncoder."
            )
        # Codes 0 to max, and one more for gaps and unknown codes.
        sizes.append(int(codes.max(initial=-1)) + 2)
    numbers = np.setdiff1d(np.arange(d), columns)
    # The mean of the known values fills gaps in numbers.
    counts = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0.0, X).sum(axis=0) / counts
    gaps = np.array([j for j in numbers.tolist() if missing[:, j].any()], dtype=np.int64)
    return ColumnCoding(columns, np.array(sizes, dtype=np.int64), means.astype(np.float64), gaps, table)


def _read_columns(subject: str, categorical: Any, d: int) -> np.ndarray:
    """Return the numbers of the columns with categories, from numbers or a mask."""
    if categorical is None:
        return np.empty(0, dtype=np.int64)
    given = np.asarray(categorical)
    # Booleans would count as the integers 0 and 1 below, so a mask is read first.
    if given.dtype == bool and given.shape == (d,):
        return np.flatnonzero(given)
    if given.dtype.kind not in "iu" or given.ndim != 1 or (given.size and not 0 <= given.min() <= given.max() < d):
        raise ParameterError(
            f"{subject}: categorical_features must be column numbers below {d}, or a mask of {d} booleans; "
            f"got {categorical!r}."
        )
    return np.unique(given).astype(np.int64)
