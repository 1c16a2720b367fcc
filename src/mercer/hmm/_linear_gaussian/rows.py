"""Sequences and controls as the user gives them: one table with lengths, or a list of tables."""

import itertools
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError


def read_sequences(subject: str, X: Any, lengths: Any) -> tuple[Any, Any]:
    """Return rows and lengths; a list of tables is joined."""
    if not isinstance(X, list | tuple) or not len(X) or np.ndim(X[0]) != 2:
        return X, lengths
    if lengths is not None:
        raise DataError(f"{subject}: sequences must be given as a list or by `lengths`; got both. Leave one out.")
    tables = [np.asarray(table) for table in X]
    for number, table in enumerate(tables):
        if table.ndim != 2 or table.shape[1] != tables[0].shape[1] or not len(table):
            raise DataError(
                f"{subject}: every sequence of a list must have at least one row and {tables[0].shape[1]} columns; "
                f"sequence {number} has shape {table.shape}."
            )
    return np.concatenate(tables), [len(table) for table in tables]


def cut_sequences(
    subject: str, rows: Array, lengths: Any, controls: Any, n_controls: int | None = None
) -> list[tuple[Array, Array]]:
    """Return the rows and the controls of each sequence."""
    counts = np.array([len(rows)]) if lengths is None else np.atleast_1d(np.asarray(lengths))
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or counts.min(initial=1) < 1 or counts.sum() != len(rows):
        total = int(counts.sum()) if counts.dtype.kind in "iu" else lengths
        raise DataError(
            f"{subject}: `lengths` must be positive integers that sum to the number of rows, {len(rows)}; got {total}. "
            f"Pass one length per sequence."
        )
    if isinstance(controls, list | tuple) and len(controls) and np.ndim(controls[0]) == 2:
        controls = np.concatenate([np.asarray(table, dtype=np.float64) for table in controls])
    U = read_controls(subject, "controls", controls, len(rows), n_controls)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    return [(rows[a:b], U[a:b]) for a, b in itertools.pairwise(bounds)]


def read_controls(subject: str, name: str, controls: Any, n_rows: int, n_controls: int | None = None) -> Array:
    """Return controls as a table with one row per step; a table without columns where there are none."""
    if controls is None:
        if n_controls:
            raise DataError(
                f"{subject}: the model has {n_controls} controls; give `{name}` of shape ({n_rows}, {n_controls})."
            )
        return np.empty((n_rows, 0))
    table = np.asarray(controls, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    width = table.shape[-1] if n_controls is None else n_controls
    if table.shape != (n_rows, width) or not np.all(np.isfinite(table)):
        raise DataError(
            f"{subject}: `{name}` must be finite and have shape ({n_rows}, {width}); got shape {np.shape(controls)}."
        )
    return table
