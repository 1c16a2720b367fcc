"""The best stump for given weights over columns that are sorted once; boosting searches one in every round.

Sorting costs O(d n log n) and 4 n d bytes, once; a search reads each column in its order, O(n d), columns on threads.

The growth of trees finds the same split. For two classes it takes two to four times as long up to 10 000 rows and as
long at 100 000, and sixteen times as long for sparse rows, which it makes dense: ``python -m benchmarks.stump_growth``
measures both.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._native.tree import stump_search
from mercer._plain import plain
from mercer._solver.request import run_large
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._stored import Stored, floats, integers, numbers

CRITERIA = {"gini": 0, "entropy": 1, "error": 2}
# Entries that one work item reads: a tenth of a millisecond, far above the cost of scheduling it.
_CHUNK = 2**17
# Entries are 2 row + 1 at most, in 32 bits with a sign.
_MOST_ROWS = 2**30


@plain
@dataclass(frozen=True)
class Stump:
    """One split: rows with ``X[:, feature] <= threshold`` are left; without a split all are, and feature is -2.

    ``weights`` are the class weights of the two sides, of shape (2, n_classes), ``counts`` their numbers of rows.
    """

    feature: int
    threshold: float
    missing_left: bool
    weights: Any
    counts: Any

    _stored: ClassVar[dict[str, Stored]] = {
        "feature": integers(low=-2, below="columns"),
        "weights": floats("2, classes"),
        "counts": numbers("2"),
    }

    @property
    def shares(self) -> np.ndarray:
        """Class shares of each side; those of all rows where a side is empty."""
        total = self.weights.sum(axis=1, keepdims=True)
        whole = self.weights.sum(axis=0) / self.weights.sum()
        return np.where(total > 0, self.weights / np.where(total > 0, total, 1.0), whole)

    def commonest(self) -> np.ndarray:
        """Return the index of the most frequent class of each side; the first among equals."""
        return self.shares.argmax(axis=1)

    def sides(self, X: Any) -> np.ndarray:
        """Return 0 for rows on the left, 1 for rows on the right."""
        if self.feature < 0:
            return np.zeros(X.shape[0], dtype=np.intp)
        values = X[:, [self.feature]].toarray()[:, 0] if is_sparse_matrix(X) else X[:, self.feature]
        right = ~(values <= self.threshold)
        if self.missing_left:
            right &= values == values
        return right.astype(np.intp)


def describe_stump(stump: Stump) -> dict[str, Any]:
    """Return the fitted attributes that a stump gives to a model."""
    wrong = stump.weights.sum() - stump.weights.max(axis=1).sum()
    return {
        "_stump": stump,
        "feature_": stump.feature,
        "threshold_": stump.threshold,
        "missing_left_": stump.missing_left,
        "value_": stump.shares,
        "error_": float(wrong / stump.weights.sum()),
    }


@dataclass(frozen=True, eq=False)
class SortedColumns:
    """Rows, and each column's rows in the order of its values; see :mod:`mercer._native.tree.stump_search`."""

    X: Any
    order: np.ndarray
    starts: np.ndarray
    complete: bool
    threads: int

    def find_best_stump(
        self, labels: np.ndarray, weight: np.ndarray, n_classes: int, criterion: str
    ) -> tuple[Stump, np.ndarray]:
        """Return the split of largest gain, and the side of each row, 0 or 1.

        Among equals it is the lowest column, and in it the lowest threshold.

        Parameters
        ----------
        labels : ndarray of shape (n,), int32
            Class numbers.
        weight : ndarray of shape (n,)
            Weights; the rows of weight zero are those of the sorting.
        n_classes : int
        criterion : {"gini", "entropy", "error"}
        """
        d = self.starts.shape[0] - 1
        scores, places, missing = np.zeros(d), np.empty(d, dtype=np.int64), np.zeros(d, dtype=np.int32)
        if n_classes == 2 and self.complete and criterion == "gini":
            signed, totals = np.empty(len(weight)), np.empty(2)
            stump_search.sign_weights(labels, weight, signed, totals)
            fixed = (signed, totals.sum(), totals[1])

            def work(first: int, last: int) -> None:
                sums = np.empty((len(labels) // 64 + 2, 2))
                stump_search.search_two(self.order, self.starts, first, last, *fixed, sums, scores, places)
        else:
            kind = CRITERIA[criterion]
            totals = np.asarray(np.bincount(labels, weight, n_classes), dtype=np.float64)

            def work(first: int, last: int) -> None:
                sums = np.empty((5, n_classes))
                given = (labels, weight, totals, kind, sums, scores, places, missing)
                stump_search.search(self.order, self.starts, first, last, *given)

        bounds = self._chunks()
        run_numbered(lambda number: work(*bounds[number]), len(bounds), self.threads)
        return self._stump(scores, places, missing, labels, weight, n_classes)

    def _chunks(self) -> list[tuple[int, int]]:
        d = self.starts.shape[0] - 1
        width = max(1, _CHUNK * d // max(1, self.order.shape[0]))
        n_items = -(-d // width)
        # An even number of items: of five, one of two threads would take three.
        width = -(-d // (n_items + n_items % 2)) if n_items > 1 else width
        return [(first, min(first + width, d)) for first in range(0, d, width)]

    def _stump(
        self, scores: Any, places: Any, missing: Any, labels: Any, weight: Any, n_classes: int
    ) -> tuple[Stump, np.ndarray]:
        scores = np.where(places < 0, -1.0, scores)
        largest = scores.max(initial=-1.0)
        feature, threshold, left = -2, np.inf, True
        # A smaller gain is a rounding error: parent and children are then equally pure.
        if largest > 1e-15:
            feature = int(np.flatnonzero(scores >= largest * (1 - 1e-10))[0])
            threshold = self._threshold(feature, int(places[feature]))
            left = bool(missing[feature])
        sums, counts = np.zeros((2, n_classes)), np.zeros(2, dtype=np.int64)
        if not is_sparse_matrix(self.X):
            sides = np.empty(len(weight), dtype=np.intp)
            stump_search.split_rows(self.X, feature, threshold, left, labels, weight, sides, sums, counts)
            return Stump(feature, threshold, left, sums, counts), sides
        sides = Stump(feature, threshold, left, None, None).sides(self.X)
        np.add.at(sums, (sides, labels), weight)
        # Rows of weight zero do not count.
        np.add.at(counts, sides[weight > 0], 1)
        return Stump(feature, threshold, left, sums, counts), sides

    def _threshold(self, feature: int, place: int) -> float:
        """Return the middle of the values beside the cut, or the lower value where the middle rounds to the upper."""
        if place + 1 == self.starts[feature + 1]:
            return float("inf")
        codes = self.order[place : place + 2]
        low, high = (0.0 if code < 0 else float(self.X[code >> 1, feature]) for code in codes.tolist())
        middle = low / 2 + high / 2
        return middle if low <= middle < high else low


def sort_columns(subject: str, X: Any, weight: np.ndarray | None, threads: int) -> SortedColumns:
    """Sort each column of `X`, dense with NaN where values are missing, or CSR; rows of weight zero are left out."""
    n, d = X.shape
    require_memory(subject, 12 * (X.nnz if is_sparse_matrix(X) else n * d), "the sorted columns", "fit to fewer rows")
    if n >= _MOST_ROWS:
        require_memory(subject, np.inf, f"{n} rows in 32-bit numbers", "fit to fewer than 2**30 rows")
    kept = None if weight is None or weight.all() else weight > 0
    columns: list[np.ndarray] = []
    table = X.tocsc() if is_sparse_matrix(X) else X

    def sort(j: int) -> np.ndarray:
        if is_sparse_matrix(table):
            return _sort_sparse(table, j, kept)
        rows = None if kept is None else np.flatnonzero(kept)
        values = np.ascontiguousarray(table[:, j] if rows is None else table[rows, j])
        return _sort_entries(values, rows)

    run_numbered(sort, d, threads, columns.append)
    starts = np.concatenate([[0], np.cumsum([len(column) for column in columns])]).astype(np.int64)
    n_kept = n if kept is None else int(np.count_nonzero(kept))
    complete = not is_sparse_matrix(X) and int(starts[-1]) == n_kept * d
    order = run_large(lambda: np.concatenate(columns), int(starts[-1]))
    return SortedColumns(X, order, starts, complete, threads)


def _sort_entries(values: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    present = values == values
    if not present.all():
        rows = np.flatnonzero(present) if rows is None else rows[present]
        values = values[present]
    order = np.argsort(values)
    inside = values[order]
    rising = np.empty(len(order), dtype=bool)
    rising[:-1] = inside[1:] > inside[:-1]
    rising[-1:] = False
    if not rising[:-1].all():
        # The order of equal values must not depend on the CPU, whose vector instructions an unstable sort may use.
        order = np.argsort(values, kind="stable")
    chosen = order if rows is None else rows[order]
    return (2 * chosen + rising).astype(np.int32)


def _sort_sparse(table: Any, j: int, kept: np.ndarray | None) -> np.ndarray:
    span = slice(table.indptr[j], table.indptr[j + 1])
    rows, values = table.indices[span], table.data[span]
    stored = values != 0 if kept is None else (values != 0) & kept[rows]
    rows, values = rows[stored], values[stored]
    order = np.argsort(rows, kind="stable")
    rows, values = rows[order], values[order]
    entries = _sort_entries(values, rows)
    n_kept = table.shape[0] if kept is None else int(np.count_nonzero(kept))
    if len(rows) == n_kept:
        return entries
    # One entry -1 for all zeros comes after the negative values, and a cut may follow the last of these.
    negative = int(np.count_nonzero(values < 0))
    if negative:
        entries[negative - 1] |= 1
    return np.insert(entries, negative, -1)
