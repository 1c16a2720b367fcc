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
from mercer._source import Source, place_of
from mercer._types import Array
from mercer.errors import DataError

__all__ = ["Categories", "FrameCategories", "chance_gain", "learn_categories", "read_frame"]


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
            X[:, column] = _number_categories(X[:, column], values, numbers)
        return X


def _number_categories(column: Array, values: Array, numbers: Array) -> Array:
    """Return the bin of each category in a column, NaN for unknown ones."""
    if len(values) == 0:
        return np.full(len(column), np.nan)
    place = np.minimum(np.searchsorted(values, column), len(values) - 1)
    return np.where(values[place] == column, numbers[place], np.nan)


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
        use = known >= 0
        values, inverse = np.unique(known[use], return_inverse=True)
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
    if place_of(X) != "memory" or not hasattr(X, "columns") or not hasattr(X, "shape"):
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
        rows[:, j] = _column(estimator, frame[name], held)
    return rows, held, np.array([name in names for name in frame.columns])


def _categorical_names(estimator: Any, frame: Any, narwhals: Any) -> list[str]:
    """Return the names of the columns that hold categories: by their type, or as `categorical_features` says."""
    wanted = estimator.categorical_features
    if isinstance(wanted, str):
        kinds = (narwhals.Categorical, narwhals.Enum)
        return [name for name, kind in frame.schema.items() if isinstance(kind, kinds) or kind in kinds]
    mask = estimator._categorical_mask(frame.shape[1], [str(name) for name in frame.columns])
    return [name for name, yes in zip(frame.columns, mask, strict=True) if yes]


def _sort_values(column: Any) -> Array:
    """Return the distinct categories of a column, sorted, without missing ones."""
    values = column.drop_nulls().unique().to_list()
    values = [one for one in values if one == one]
    return np.array(sorted(values))


def _column(estimator: Any, column: Any, held: FrameCategories) -> Array:
    """Return a column of a frame as numbers: indices of categories where it holds them."""
    if column.name not in held.names:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    values = held.values[held.names.index(column.name)]
    place = {value: number for number, value in enumerate(values.tolist())}
    return np.array([place.get(one, np.nan) for one in column.to_list()], dtype=np.float64)


def categorical_mask(subject: str, given: Any, n_features: int, names: list[str] | None) -> Array:
    """Return a mask (d,) of the columns that `categorical_features` names: by mask, by index or by name."""
    mask = np.zeros(n_features, dtype=bool)
    if given is None or isinstance(given, str):
        return mask
    given = np.asarray(given)
    if given.size == 0:
        return mask
    if given.dtype.kind not in "iubUO":
        message = (
            f"{subject}: categorical_features must be an array-like of bool, int or str, got: {given.dtype.name}. Name "
            f"the columns."
        )
        raise DataError(message)
    if given.dtype.kind == "O":
        kinds = {type(one).__name__ for one in given.tolist()}
        if kinds != {"str"}:
            message = (
                f"{subject}: categorical_features must be an array-like of bool, int or str, got: "
                f"{', '.join(sorted(kinds))}. Name the columns in one way."
            )
            raise DataError(message)
    if given.dtype.kind == "b":
        if given.shape != (n_features,):
            message = (
                f"{subject}: categorical_features set as a boolean mask must have shape (n_features,), got: "
                f"{given.shape}; give one for each of {n_features} columns."
            )
            raise DataError(message)
        return given.astype(bool)
    if given.dtype.kind in "UO":
        return _find_named(subject, given, names, mask)
    if given.max() >= n_features or given.min() < 0:
        message = (
            f"{subject}: categorical_features set as integer indices must be in [0, n_features - 1]; got "
            f"{given.tolist()} for {n_features} columns."
        )
        raise DataError(message)
    mask[given] = True
    return mask


def _find_named(subject: str, given: Array, names: list[str] | None, mask: Array) -> Array:
    """Return the mask of columns given by their names; raise if a name is unknown."""
    if names is None:
        message = (
            f"{subject}: categorical_features should be passed as an array of integers or as a boolean mask when the "
            f"model is fitted on data without feature names. Got {given.tolist()}."
        )
        raise DataError(message)
    for name in given.tolist():
        if name not in names:
            message = (
                f"{subject}: categorical_features has an item value '{name}' which is not a valid feature name of the "
                f"training data. Observed feature names: {names}; correct it."
            )
            raise DataError(message)
        mask[names.index(name)] = True
    return mask
