"""Columns of a table as few states: numbers in bins, anything else as it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from mercer._native.graph import blanket_scores
from mercer._plain import plain
from mercer._types import Array
from mercer.bayesnet._learning.coded_rows import MISSING
from mercer.bayesnet._learning.columns import ColumnStates, code_column, find_states
from mercer.errors import DataError


@plain
@dataclass(frozen=True, eq=False)
class TableCoding:
    """The states of every column of a table.

    Attributes
    ----------
    columns : list of ColumnStates
    """

    columns: list[ColumnStates]

    @cached_property
    def sizes(self) -> Array:
        """The number of states of each column."""
        return np.array([len(column.states) for column in self.columns], dtype=np.intp)

    @cached_property
    def edges(self) -> tuple[Array, Array] | None:
        """The edges of all columns one after the other and where each begins; None if a column has no edges."""
        if any(column.edges is None for column in self.columns):
            return None
        starts = np.concatenate([[0], np.cumsum([len(column.edges) for column in self.columns])]).astype(np.intp)
        return np.concatenate([column.edges for column in self.columns]).astype(np.float64), starts

    def code_numbers(self, X: Array) -> Array:
        """Return the codes of rows of numbers, (n, d); a missing value has the code after the last state."""
        edges, starts = self.edges  # type: ignore[misc]
        codes = np.empty(X.shape, np.uint8)
        blanket_scores.bin_rows(X, edges, starts, codes)
        return codes

    def code(self, subject: str, table: Mapping[str, Any], unknown: str) -> Array:
        """Return the codes of the columns of a table, (n, d); a missing value has the code after the last state."""
        codes = np.empty((len(next(iter(table.values()))), len(table)), np.uint8)
        for index, (name, column) in enumerate(table.items()):
            values = code_column(subject, name, column, self.columns[index], unknown)
            codes[:, index] = np.where(values == MISSING, self.sizes[index], values)
        return codes


def learn_coding(subject: str, table: Mapping[str, Any], weight: Array, n_bins: int) -> TableCoding:
    """Return the states of each column: bins of equal weight for numbers, the distinct values for anything else."""
    columns = []
    for name, column in table.items():
        numbers = _read_numbers(column)
        if numbers is None:
            columns.append(find_states(subject, name, column))
            continue
        edges = find_edges(subject, name, numbers, weight, n_bins)
        columns.append(ColumnStates(_name_bins(edges), edges, True))
    for name, known in zip(table, columns, strict=True):
        if not known.states:
            raise DataError(f"{subject}: column {name!r} must have a value in some row; all are missing. Drop it.")
    return TableCoding(columns)


def _read_numbers(column: Any) -> Array:
    """Return a column's values if they are numbers; None for anything else."""
    values = column if isinstance(column, np.ndarray) else None
    if values is None:
        if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
            return None
        values = column.to_numpy()
    if values.dtype.kind in "fiub":
        return values if values.dtype.kind == "f" else values.astype(np.float64)
    if values.dtype.kind != "O" or any(isinstance(value, str) for value in values):
        return None
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except (TypeError, ValueError):
        return None


def find_edges(subject: str, name: str, values: Array, weight: Array, n_bins: int) -> Array:
    """Return the edges between bins of a column: between its values if they are few, else quantiles.

    A value is in the bin whose number is that of the edges below it. Quantiles are values of the column, so that their
    order decides the bins and float32 gives the bins of float64.
    """
    present = ~np.isnan(values)
    if not present.all():
        values, weight = values[present], None if weight is None else weight[present]
    if np.isinf(values).any():
        raise DataError(f"{subject}: Input X contains infinity in column {name!r}. Mark missing values by NaN.")
    if not len(values):
        return np.empty(0)
    order = np.sort(values) if weight is None else None
    if order is None:
        place = np.argsort(values, kind="stable")
        order, heavy = values[place], np.cumsum(weight[place])
    steps = np.flatnonzero(order[1:] > order[:-1])
    # Few distinct values: edges midway between neighbours.
    if len(steps) < n_bins:
        low, high = order[steps].astype(np.float64), order[steps + 1].astype(np.float64)
        # Halves first: the sum of two large values could overflow.
        return low / 2 + high / 2
    shares = np.arange(1, n_bins) / n_bins
    if weight is None:
        # The smallest value below or at which that share of the rows lies.
        chosen = np.ceil(shares * len(order) - 1e-9).astype(int) - 1
    else:
        chosen = np.searchsorted(heavy, shares * heavy[-1] * (1 - 1e-12))
    edges = np.unique(order[np.clip(chosen, 0, len(order) - 1)].astype(np.float64))
    # An edge at the largest value would leave the last bin empty.
    return edges[edges < order[-1]]


def _name_bins(edges: Array) -> list[str]:
    """Return names of the bins between edges."""
    texts = [f"{edge:.6g}" for edge in edges]
    if len(set(texts)) < len(texts):
        texts = [repr(float(edge)) for edge in edges]
    if not texts:
        return ["any"]
    middle = [f"({low}, {high}]" for low, high in pairwise(texts)]
    return [f"<= {texts[0]}", *middle, f"> {texts[-1]}"]
