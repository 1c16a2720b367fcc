"""Rows prepared for a kernel: all that depends on one set of rows, computed once."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows


@dataclass(frozen=True)
class Prepared:
    """Rows in the form that a kernel needs.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n, p)
        The rows: scaled, shifted or mapped.
    squares : ndarray of shape (n,) or None
        Their squared lengths.
    unit : ndarray or None
        The length scales that columns were divided by.
    shift : ndarray of shape (p,) or None
        The vector that was subtracted from the rows; distances do not depend on it, but their rounding does.
    numbers : ndarray of shape (n,) or None
        The indices of these rows in their set; None means all of them, in order.
    token : object
        The identity of the set: white noise is zero between rows of different sets.
    parts : tuple of Prepared
        The rows prepared for each part of a composite kernel.
    """

    rows: Rows
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
        """The type of the rows, hence of the values."""
        return self.rows.dtype

    def take(self, index: Any) -> "Prepared":
        """Return the rows at an index array, a mask or a slice."""
        if isinstance(index, slice) and index.indices(len(self)) == (0, len(self), 1):
            # All rows: with no numbers of their own, the diagonal of their tile is found without a search.
            return self
        # Numbers count the rows that were prepared first, however often parts are taken from parts.
        if isinstance(index, slice) and self.numbers is None:
            numbers = np.arange(*index.indices(len(self)))
        else:
            numbers = np.asarray(index) if self.numbers is None else self.numbers[index]
            numbers = np.flatnonzero(numbers) if numbers.dtype == bool else numbers
        squares = None if self.squares is None else self.squares[index]
        parts = tuple(part.take(index) for part in self.parts)
        return replace(self, rows=self.rows[index], squares=squares, numbers=numbers, parts=parts)


def floating(X: Array) -> Array:
    """Return rows as C-ordered float32 or float64, dense or CSR."""
    if type(X) is np.ndarray and X.dtype.char in "fd" and X.ndim == 2 and X.flags.c_contiguous:
        return X
    if is_sparse_matrix(X):
        X = csr_array(X)
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    X = np.asarray(X)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return np.ascontiguousarray(X if X.ndim == 2 else np.atleast_2d(X))


def lengths(rows: Rows) -> Array:
    """Compute the squared lengths of rows, summed in float64."""
    if is_sparse_matrix(rows):
        squares = rows.astype(np.float64, copy=False).power(2).sum(axis=1)
        return np.asarray(squares).ravel().astype(rows.dtype)
    # vecdot of float32 would sum in float32.
    if rows.dtype == np.float64:
        return np.vecdot(rows, rows)
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64).astype(rows.dtype)


def _are_apart(numbers: Array, others: Array) -> bool:
    """Return whether two sets of indices have disjoint ranges, as most pairs of tiles do; this check is fast."""
    return bool(numbers.min() > others.max() or numbers.max() < others.min())


def find_same_rows(rows: Prepared, others: Prepared) -> tuple[Array, Array]:
    """Return the positions in `rows` and in `others` of the rows that are in both: the same row of the same set."""
    none = np.empty(0, dtype=np.intp)
    if rows.token is not others.token:
        return none, none
    # A whole set holds row i at place i.
    if others.numbers is None:
        here = np.arange(len(rows))
        return here, here if rows.numbers is None else rows.numbers
    if rows.numbers is None:
        return others.numbers, np.arange(len(others))
    if not (len(rows) and len(others)) or _are_apart(rows.numbers, others.numbers):
        return none, none
    # Indices may repeat on both sides: a sorted search gives the range of equal ones for each row.
    order = np.argsort(others.numbers, kind="stable")
    ordered = others.numbers[order]
    begin = np.searchsorted(ordered, rows.numbers, side="left")
    end = np.searchsorted(ordered, rows.numbers, side="right")
    counts = end - begin
    here = np.repeat(np.arange(len(rows)), counts)
    # Numbers 0, 1, ... within the range of each row.
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return here, order[np.repeat(begin, counts) + within]
