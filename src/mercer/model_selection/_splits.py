"""Splitting rows: scikit-learn's splitters, chosen by what is known of the rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)

from mercer.errors import DataError

__all__ = ["Split", "Splitting", "split_rows"]

Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Splitting:
    """What is known of the rows that a split must respect.

    Attributes
    ----------
    labels : ndarray or None
        Classes, whose shares every fold keeps; None in regression.
    groups : ndarray or None
        Rows of one group stay on one side.
    time : ndarray or None
        Training rows come before test rows.
    """

    labels: np.ndarray | None = None
    groups: np.ndarray | None = None
    time: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> "Splitting":
        """The same of some of the rows."""
        return Splitting(*(None if one is None else one[rows] for one in (self.labels, self.groups, self.time)))


def split_rows(n_rows: int, known: Splitting, folds: int, repeats: int = 1, seed: int = 0) -> list[Split]:
    """Training and test rows of each split, repeat after repeat."""
    if known.time is not None:
        return _forward(known.time, folds)
    rows = np.zeros(n_rows)
    if known.groups is None:
        _check_classes(known.labels, folds)
        kind = RepeatedKFold if known.labels is None else RepeatedStratifiedKFold
        splitter: Any = kind(n_splits=folds, n_repeats=repeats, random_state=seed)
        return list(splitter.split(rows, known.labels))
    n_groups = len(np.unique(known.groups))
    if n_groups < folds:
        message = f"splits: the groups must be at least {folds}, one per fold; got {n_groups}. Ask for fewer folds."
        raise DataError(message)
    splits: list[Split] = []
    for repeat in range(repeats):
        grouped = GroupKFold if known.labels is None else StratifiedGroupKFold
        splitter = grouped(n_splits=folds, shuffle=True, random_state=seed + repeat)
        splits += list(splitter.split(rows, known.labels, known.groups))
    return splits


def _check_classes(labels: np.ndarray | None, folds: int) -> None:
    if labels is None:
        return
    names, counts = np.unique(labels, return_counts=True)
    if counts.max() < folds:
        message = (
            f"splits: a class must have at least {folds} rows, one per fold; the largest, {names[counts.argmax()]!r}, "
            f"has {counts.max()}. Ask for fewer folds."
        )
        raise DataError(message)


def _forward(time: np.ndarray, folds: int) -> list[Split]:
    """Training rows that come before the test rows; rows of equal time stay in the order they were given."""
    order = np.argsort(time, kind="stable")
    if len(order) <= folds:
        message = f"splits: rows in time order must be more than {folds}, the folds; got {len(order)}."
        raise DataError(message)
    return [(order[train], order[test]) for train, test in TimeSeriesSplit(n_splits=folds).split(order)]
