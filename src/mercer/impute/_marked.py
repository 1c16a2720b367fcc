"""The base of transformers of rows with missing entries, which a value stands for."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.blockwise import BlockTransformer
from mercer._base.parameter import Rule, parameter
from mercer._base.validation import few_rows
from mercer._solver import Dense, Solver
from mercer._source import Block, Source, open_source, place_of
from mercer._source.namespace import is_sparse_matrix
from mercer._statistic.column_values import mark_missing
from mercer._statistic.statistic import Statistic
from mercer._types import Array
from mercer.errors import DataError


class _Mark(Rule):
    """What may stand for a missing entry."""

    text = "a number, NaN, a text, None or pandas.NA"

    def accepts(self, value: Any) -> bool:
        return value is None or isinstance(value, Real | str) or type(value).__name__ == "NAType"


class MarkedTransformer(BlockTransformer):
    """A transformer of rows in which a value stands for missing entries.

    Rows of floats are in any place. Rows of texts, objects and whole numbers keep their type: a transformer of
    scikit-learn, ``_theirs``, learns from them and transforms them in memory.
    """

    missing_values: Any = parameter(_Mark(), default=np.nan, doc="What stands for a missing entry.")

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _takes_sparse = True
    # Whether rows that are no floats keep their type.
    _keeps_kinds: ClassVar[bool] = True

    @property
    def _takes_gaps(self) -> bool:  # type: ignore[override]
        return is_nan(self.missing_values)

    def _make_theirs(self) -> Any:
        """Return scikit-learn's transformer with the same parameters."""
        raise NotImplementedError  # each transformer defines its own

    def _needs_theirs(self) -> bool:
        """Return whether the parameters ask for scikit-learn's transformer, whatever the rows are."""
        return not isinstance(self.missing_values, Real)

    def _read_theirs(self, theirs: Any) -> dict[str, Any]:
        """Return the fitted attributes that scikit-learn's transformer stands for."""
        raise NotImplementedError  # each transformer defines its own

    @fitting
    def fit(self, X: Any, y: Any = None) -> "MarkedTransformer":
        """Learn from the training rows which entries are missing."""
        if place_of(X) != "memory" or not (self._needs_theirs() or (self._keeps_kinds and not are_floats(X))):
            self._learn(X, y)
            return self
        theirs = self._make_theirs()

        def solve(start: Any) -> Solver:
            yield Dense(lambda: theirs.fit(X))
            return (yield from self._end(theirs))

        self._run(solve, open_source(np.zeros((1, 1)), threads=1))
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(theirs, name):
                setattr(self, name, getattr(theirs, name))
        return self

    def _fitted(self, state: Any) -> dict[str, Any]:
        if isinstance(state, dict):
            return state | {"_theirs": None}
        return self._read_theirs(state) | {"_theirs": state}

    def transform(self, X: Any) -> Any:
        """Transform rows by what the fit has learnt.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features_out)
            Where and what the rows are, as those of :meth:`mercer.preprocessing.StandardScaler.transform`.
        """
        if (rows := few_rows(self, X)) is not None and vars(self).get("_theirs") is None:
            return self._make_map().on_rows(rows)
        check_is_fitted(self)
        if self._theirs is not None:
            return self._theirs.transform(X)
        return self._map(X, not vars(self).get("copy", True))

    def _check_storage(self, source: Source) -> None:
        if source.is_sparse and self.missing_values == 0:
            raise DataError(
                f"{type(self).__name__}: Imputation not possible when missing_values == 0 and input is sparse. Provide "
                f"a dense array instead; got {source.n_features} sparse columns."
            )


def is_nan(value: Any) -> bool:
    """Return whether a value is NaN."""
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def are_floats(X: Any) -> bool:
    """Return whether rows in memory are floats: an array, lists, or a frame all of whose columns are."""
    if isinstance(X, np.ndarray) or is_sparse_matrix(X):
        return X.dtype.kind == "f"
    if isinstance(X, list | tuple):
        lengths = {len(row) if hasattr(row, "__len__") else -1 for row in X}
        return len(lengths) <= 1 and np.asarray(X).dtype.kind == "f"
    import narwhals

    frame = narwhals.from_native(X, eager_only=True, pass_through=True)
    return hasattr(frame, "schema") and all(kind.is_float() for kind in frame.schema.values())


def find_missing(rows: Array, mark: float) -> Array:
    """Return which entries are missing."""
    return np.isnan(rows) if is_nan(mark) else rows == mark


@dataclass(frozen=True, eq=False)
class Marked(Statistic):
    """A statistic of rows in which a number stands for missing entries, as NaN does."""

    statistic: Any
    mark: float

    def of(self, block: Block) -> Any:
        return self.statistic.on(mark_missing(block, self.mark))
