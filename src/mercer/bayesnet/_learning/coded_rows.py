"""Coded rows: a table of discrete columns as small whole numbers, with equal rows merged.

Everything that a network learns from complete or incomplete rows is a function of the distinct rows and their weights.
The distinct rows of two sets of rows are those of their union, so that rows may be anywhere: one pass sums them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._source import Block
from mercer._source.namespace import to_numpy
from mercer._statistic import Statistic
from mercer._types import Array
from mercer.errors import DataError

# A code is one byte: 254 states, and one code for a missing value.
MOST_STATES = 254
# The code of a missing value in rows as a pass reads them.
MISSING = 255
# Mixed-radix codes of several columns stay below this: the range of int64.
_LARGEST_KEY = 2**62


def merge_equal_rows(codes: Array, weights: Array) -> tuple[Array, Array]:
    """Return the distinct rows of `codes` (n, d) in lexicographic order, and the summed weight of each."""
    n, d = codes.shape
    if n == 0 or d == 0:
        return codes[: min(n, 1)], np.array([weights.sum()]) if n else weights
    key, largest = np.zeros(n, np.int64), 1
    for column in range(d):
        size = int(codes[:, column].max()) + 1
        if largest > _LARGEST_KEY // size:
            # The ranks of the combinations so far have the same order as their codes, and are below n.
            distinct, key = np.unique(key, return_inverse=True)
            largest = len(distinct)
        # Mixed-radix numbers of rows: equal rows have equal keys, and the order is lexicographic.
        key = key * size + codes[:, column]
        largest *= size
    distinct, first, place = np.unique(key, return_index=True, return_inverse=True)
    return np.ascontiguousarray(codes[first]), np.bincount(place, weights, len(distinct))


@dataclass(frozen=True, eq=False)
class DistinctSums:
    """Distinct rows of codes (m, d), their weights, and the worst value met that cannot be a code (NaN if none)."""

    codes: Array
    weights: Array
    fault: float

    def __add__(self, other: "DistinctSums") -> "DistinctSums":
        codes = np.concatenate([self.codes, other.codes])
        codes, weights = merge_equal_rows(codes, np.concatenate([self.weights, other.weights]))
        return DistinctSums(codes, weights, self.fault if not np.isnan(self.fault) else other.fault)


@dataclass(frozen=True)
class DistinctRows(Statistic):
    """The distinct rows, whose values are whole numbers from 0 to 253 or NaN, and the weight of each."""

    def of(self, block: Block) -> DistinctSums:
        rows = to_numpy(block.X)
        weights = np.ones(block.n) if block.weight is None else to_numpy(block.weight).astype(np.float64)
        # A row of weight zero counts as absent: its states must not appear.
        rows, weights = rows[weights > 0], weights[weights > 0]
        if rows.dtype == np.uint8:
            codes, fault = rows, np.nan
        else:
            missing = np.isnan(rows)
            # Codes must be whole numbers below the number of states.
            wrong = ~missing & ((rows < 0) | (rows >= MOST_STATES) | (rows != np.floor(rows)))
            fault = float(rows[wrong][0]) if wrong.any() else np.nan
            codes = np.where(missing | wrong, MISSING, rows).astype(np.uint8)
        codes, weights = merge_equal_rows(codes, weights)
        return DistinctSums(codes, weights, fault)


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Distinct rows of discrete variables.

    Attributes
    ----------
    names : tuple of str
    states : tuple of tuple
        The states of each variable; code s of a column stands for its state s, and the code after the last for a
        missing value.
    columns : ndarray of uint8 of shape (d, m)
        Codes, one row per variable, so that one variable's codes lie together.
    weights : ndarray of shape (m,)
    """

    names: tuple[str, ...]
    states: tuple[tuple[Any, ...], ...]
    columns: Array
    weights: Array

    @classmethod
    def of(cls, names: Any, states: Any, codes: Array, weights: Array) -> "CodedRows":
        """Return the coded rows of codes (m, d) that are distinct already."""
        return cls(tuple(names), tuple(map(tuple, states)), np.ascontiguousarray(codes.T), weights)

    @cached_property
    def sizes(self) -> Array:
        """The number of states of each variable, (d,)."""
        return np.array([len(states) for states in self.states], dtype=np.intp)

    @cached_property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum())

    @cached_property
    def missing(self) -> Array:
        """Whether each variable has missing values, (d,)."""
        if not self.columns.shape[1]:
            return np.zeros(len(self.names), bool)
        return np.asarray(self.columns.max(axis=1) >= self.sizes)

    def find(self, name: str, subject: str) -> int:
        """Return the index of the variable `name`; raise if there is none."""
        if name not in self.names:
            known = ", ".join(self.names[:8])
            raise DataError(
                f"{subject}: {name!r} must be a column of X; the columns are {known}. Rename it, or drop it."
            )
        return self.names.index(name)

    def count_gaps_as_states(self) -> "CodedRows":
        """Return the rows with a missing value as one more state, None, of the columns that have any."""
        states = tuple(
            (*states, None) if has_gaps else states for states, has_gaps in zip(self.states, self.missing, strict=True)
        )
        return CodedRows(self.names, states, self.columns, self.weights)

    def require_complete(self, subject: str, cure: str) -> None:
        """Raise if a value is missing."""
        if self.missing.any():
            name = self.names[int(np.argmax(self.missing))]
            raise DataError(
                f"{subject}: Input X contains NaN: no value may be missing, and column {name!r} has gaps. {cure}"
            )
