"""Rows by label: the checks that every measure of a clustering begins with, and rows in the order of their groups."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_X_y, column_or_1d

from mercer._types import Array
from mercer.errors import DataError


@dataclass(frozen=True, eq=False)
class Grouping:
    """Labels as indices from zero, and the number of rows of each."""

    labels: Array
    counts: Array

    @classmethod
    def of(cls, subject: str, labels: Any, most: int | None = None) -> "Grouping":
        """Check labels: at least two groups, and fewer than rows, or at most `most`."""
        _, numbers, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
        # With one row per group nothing is left to measure within groups.
        limit = len(numbers) - 1 if most is None else most
        if not 2 <= len(counts) <= limit:
            raise DataError(
                f"{subject}: Number of labels is {len(counts)}. Valid values are 2 to n_samples - 1 (inclusive); "
                f"cluster into more groups, or fewer."
            )
        return cls(numbers.astype(np.int64), counts)

    @property
    def n_groups(self) -> int:
        return len(self.counts)

    @cached_property
    def order(self) -> Array:
        """The rows, group after group."""
        return np.argsort(self.labels, kind="stable")

    @cached_property
    def starts(self) -> Array:
        """Where each group begins in that order, and the number of rows."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    def means(self, X: Array) -> Array:
        """Return the mean of each group's rows, (n_groups, d)."""
        # Rows in the order of their groups make each sum one run, in one order whatever the labels are called.
        ordered = np.asarray(X, dtype=np.float64)[self.order]
        return np.add.reduceat(ordered, self.starts[:-1], axis=0) / self.counts[:, None]


def group_rows(subject: str, X: Any, labels: Any) -> tuple[Array, Grouping]:
    """Check dense rows and their labels."""
    X, labels = check_X_y(X, labels, dtype=[np.float64, np.float32], estimator=subject)
    return X, Grouping.of(subject, labels)


def _check_pair(subject: str, labels_true: Any, labels_pred: Any) -> tuple[Array, Array]:
    """Check two labellings of the same rows."""
    pair = [column_or_1d(np.asarray(labels)) for labels in (labels_true, labels_pred)]
    if len(pair[0]) != len(pair[1]) or not len(pair[0]):
        raise DataError(
            f"{subject}: the two labellings must be of the same rows, at least one; got {len(pair[0])} and "
            f"{len(pair[1])} labels."
        )
    return pair[0], pair[1]


@dataclass(frozen=True, eq=False)
class PairCounts:
    """How many rows have each pair of a class and a cluster; pairs that no row has are left out."""

    counts: Array
    """Rows of each pair that occurs."""
    cluster_of: Array
    """The number of the cluster of each of these pairs."""
    of_classes: Array
    """Rows of each class."""
    of_clusters: Array
    """Rows of each cluster."""

    @property
    def total(self) -> float:
        """The number of rows."""
        return float(self.of_classes.sum())


def count_pairs(subject: str, labels_true: Any, labels_pred: Any) -> PairCounts:
    """Count the rows with each pair of labels."""
    true, pred = (
        np.unique(labels, return_inverse=True)[1] for labels in _check_pair(subject, labels_true, labels_pred)
    )
    # The pair (i, j) has the number i * n_clusters + j.
    n_classes, n_clusters = int(true.max()) + 1, int(pred.max()) + 1
    numbers = true.astype(np.int64) * n_clusters + pred
    found, counts = np.unique(numbers, return_counts=True)
    return tabulate_pairs(found // n_clusters, found % n_clusters, counts, (n_classes, n_clusters))


def tabulate_pairs(classes: Array, clusters: Array, counts: Array, shape: tuple[int, int]) -> PairCounts:
    """Add up the counts of pairs by class and by cluster."""
    amounts = counts.astype(np.float64)
    return PairCounts(
        amounts,
        clusters,
        np.bincount(classes, amounts, minlength=shape[0]),
        np.bincount(clusters, amounts, minlength=shape[1]),
    )
