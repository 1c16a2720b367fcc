"""Rows made ready for a kernel: what depends on one set of rows alone, computed once."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

__all__ = ["Prepared", "floating", "lengths", "same_rows"]

Array = Any


@dataclass(frozen=True)
class Prepared:
    """Rows as a kernel wants them.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n, p)
        The rows: scaled, shifted or mapped.
    squares : ndarray of shape (n,) or None
        Their squared lengths.
    unit : ndarray or None
        What columns were divided by.
    shift : ndarray of shape (p,) or None
        What was subtracted from the rows; distances do not depend on it, but their rounding does.
    numbers : ndarray of shape (n,) or None
        Which rows of the set these are; None means all of them, in order.
    token : object
        The identity of the set: a row is itself only within its own set.
    parts : tuple of Prepared
        For the parts of a kernel made of others.
    """

    rows: Array
    squares: Array = None
    shift: Array = None
    numbers: Array = None
    token: Any = field(default_factory=object, repr=False, compare=False)
    parts: "tuple[Prepared, ...]" = ()
    unit: Array = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def dtype(self) -> Any:
        """Of the rows, hence of the values."""
        return self.rows.dtype

    def take(self, index: Any) -> "Prepared":
        """The rows of an index array or a slice."""
        if isinstance(index, slice) and self.numbers is None:
            numbers = np.arange(*index.indices(len(self)))
        else:
            numbers = np.asarray(index) if self.numbers is None else self.numbers[index]
            numbers = np.flatnonzero(numbers) if numbers.dtype == bool else numbers
        squares = None if self.squares is None else self.squares[index]
        parts = tuple(part.take(index) for part in self.parts)
        return replace(self, rows=self.rows[index], squares=squares, numbers=numbers, parts=parts)


def floating(X: Array) -> Array:
    """Rows as C-ordered float32 or float64, dense or CSR."""
    if type(X) is np.ndarray and X.dtype.char in "fd" and X.ndim == 2 and X.flags.c_contiguous:
        return X
    if issparse(X):
        X = csr_array(X)
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    X = np.asarray(X)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return np.ascontiguousarray(X if X.ndim == 2 else np.atleast_2d(X))


def lengths(rows: Array) -> Array:
    """Squared lengths of rows, summed in float64."""
    if issparse(rows):
        squares = rows.astype(np.float64, copy=False).power(2).sum(axis=1)
        return np.asarray(squares).ravel().astype(rows.dtype)
    if rows.dtype == np.float64:
        return np.vecdot(rows, rows)
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64).astype(rows.dtype)


def _apart(numbers: Array, others: Array) -> bool:
    """Whether all of some numbers lie beyond all others: true of most pairs of tiles, and found fast."""
    return bool(numbers.min() > others.max() or numbers.max() < others.min())


def same_rows(rows: Prepared, others: Prepared) -> tuple[Array, Array]:
    """Positions in `rows` and in `others` of the rows that are in both, being the same row of the same set."""
    none = np.empty(0, dtype=np.intp)
    if rows.token is not others.token:
        return none, none
    if others.numbers is None:
        here = np.arange(len(rows))
        return here, here if rows.numbers is None else rows.numbers
    if rows.numbers is None:
        return others.numbers, np.arange(len(others))
    if not (len(rows) and len(others)) or _apart(rows.numbers, others.numbers):
        return none, none
    order = np.argsort(others.numbers, kind="stable")
    ordered = others.numbers[order]
    begin = np.searchsorted(ordered, rows.numbers, side="left")
    end = np.searchsorted(ordered, rows.numbers, side="right")
    counts = end - begin
    here = np.repeat(np.arange(len(rows)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return here, order[np.repeat(begin, counts) + within]
