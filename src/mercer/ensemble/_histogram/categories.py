"""Categories: which columns hold them, and the bin of each.

The categories of a frame, text or any other type, are replaced by their indices in sorted order when the frame is read.
Each category has a bin of its own; where there are more categories than bins, the most frequent ones have, and the
others share the last bin. Missing, negative and unknown categories are missing values.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer._plain import plain
from mercer._solver.tree.categories import find_codes, is_frame, mark_categorical
from mercer._source import Source, place_of
from mercer._types import Array


@plain
@dataclass(frozen=True)
class Categories:
    """The categories of some columns, as numeric values, and the bin of each.

    Attributes
    ----------
    columns : list of int
    values : list of arrays
        Ascending.
    numbers : list of arrays
        The bin of each value.
    """

    columns: list[int]
    values: list[Array]
    numbers: list[Array]

    def count(self, column: int) -> int:
        """Return the number of bins of a column; at least one."""
        numbers = self.numbers[self.columns.index(column)]
        return int(numbers.max(initial=0)) + 1

    def on(self, X: Array) -> Array:
        """Return a copy of rows with bins in place of categories, and NaN for those that are missing or unknown."""
        X = X.copy()
        for column, values, numbers in zip(self.columns, self.values, self.numbers, strict=True):
            X[:, column] = find_codes(X[:, column], values, np.nan, numbers)
        return X


@plain
@dataclass(frozen=True)
class FrameCategories:
    """The names of the columns of a frame that hold categories, and the sorted categories of each."""

    names: list[str]
    values: list[Array]


def learn_categories(source: Source, rows: Array, weight: Array | None, categorical: Array, max_bins: int) -> Any:
    """Learn the categories of some rows; return None where no column holds any.

    `rows` (m,) are indices, `weight` (m,) or None their weights, and `categorical` (d,) marks the columns.
    """
    columns = np.flatnonzero(categorical).tolist()
    if not columns:
        return None
    X = source.whole() if source.place == "memory" and not source.is_sparse else source.take(rows)
    found, numbers = [], []
    for column in columns:
        known = X[:, column] if len(rows) == len(X) else X[rows, column]
        # Negative codes and NaN are missing values.
        use = known >= 0
        values, inverse = np.unique(known[use], return_inverse=True)
        # The most frequent categories get bins of their own, by weight.
        share = np.bincount(inverse, weights=None if weight is None else weight[use], minlength=len(values))
        found.append(values.astype(np.float64))
        numbers.append(_bins_of(share, max_bins))
    return Categories(columns, found, numbers)


def _bins_of(share: Array, max_bins: int) -> Array:
    """Return the bin of each category; with more than `max_bins` categories the rarer ones share the last."""
    if len(share) <= max_bins:
        return np.arange(len(share), dtype=np.int64)
    frequent = np.sort(np.argsort(-share, kind="stable")[: max_bins - 1])
    numbers = np.full(len(share), max_bins - 1, dtype=np.int64)
    numbers[frequent] = np.arange(max_bins - 1)
    return numbers


def chance_gain(gradients: Array, weight: Array | None) -> float:
    """Return the gain that a category makes by chance: sum_i g_i^2 / sum_i h_i.

    It is about one if the loss is a likelihood, and the variance of the residuals if it is squared.

    Parameters
    ----------
    gradients : (n, 2)
        Gradients and curvatures, weighted.
    weight : (n,) or None
        A row of weight w stands for w rows, each with a w-th of its gradient.
    """
    squares = gradients[:, 0] * gradients[:, 0]
    if weight is not None:
        squares /= weight
    curvature = gradients[:, 1].sum()
    # Rounded to float32: the rounding errors of the sums depend on the order of the rows and must decide no split.
    return float(np.float32(squares.sum() / curvature)) if curvature > 0 else 0.0


def read_frame(estimator: Any, X: Any, known: FrameCategories | None, reset: bool) -> tuple[Any, Any, Array | None]:
    """Return the rows of a frame as numbers, its categories, and which columns hold them.

    Other rows, and a frame without categories, are returned as they are, with None for the rest.
    """
    if place_of(X) != "memory" or not is_frame(X):
        return X, None, None
    import narwhals

    frame = narwhals.from_native(X, eager_only=True)
    names = _categorical_names(estimator, frame, narwhals) if reset else (known.names if known else [])
    if not names:
        return X, None, None
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    values = [_sort_values(frame[name]) for name in names] if known is None or reset else known.values
    held = FrameCategories(list(names), values)
    rows = np.empty(frame.shape, dtype=np.float64)
    for j, name in enumerate(frame.columns):
        rows[:, j] = _read_column(frame[name], held)
    return rows, held, np.array([name in names for name in frame.columns])


def _categorical_names(estimator: Any, frame: Any, narwhals: Any) -> list[str]:
    """Return the names of the columns that hold categories: by their type, or as `categorical_features` says."""
    wanted = estimator.categorical_features
    if isinstance(wanted, str):
        kinds = (narwhals.Categorical, narwhals.Enum)
        return [name for name, kind in frame.schema.items() if isinstance(kind, kinds) or kind in kinds]
    names = [str(name) for name in frame.columns]
    mask = mark_categorical(type(estimator).__name__, wanted, len(names), names)
    return [name for name, yes in zip(frame.columns, mask, strict=True) if yes]


def _sort_values(column: Any) -> Array:
    """Return the distinct categories of a column, sorted, without missing ones."""
    values = column.drop_nulls().unique().to_list()
    return np.array(sorted(value for value in values if value == value))


def _read_column(column: Any, held: FrameCategories) -> Array:
    """Return a column of a frame as floats: its values, or the indices of its categories if it holds categories."""
    if column.name not in held.names:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    values = held.values[held.names.index(column.name)]
    # A dictionary takes values of any type: the rows to predict for may come in a frame of other types.
    codes = {value: code for code, value in enumerate(values.tolist())}
    return np.array([codes.get(value, np.nan) for value in column.to_list()], dtype=np.float64)
