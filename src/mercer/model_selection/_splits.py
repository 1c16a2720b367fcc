"""Split rows by scikit-learn's splitters, chosen by classes, groups and time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GroupKFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)
from sklearn.utils import check_random_state

from mercer.errors import DataError
from mercer.model_selection._trial import Rows

Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Splitting:
    """What a split of the rows must respect.

    Attributes
    ----------
    labels : ndarray or None
        Classes; every fold keeps their shares. None in regression.
    groups : ndarray or None
        Rows of the same group are never on both sides of a split.
    time : ndarray or None
        Training rows come before test rows.
    """

    labels: np.ndarray | None = None
    groups: np.ndarray | None = None
    time: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> "Splitting":
        """Return the same for some of the rows."""
        parts = (self.labels, self.groups, self.time)
        return Splitting(*(None if part is None else part[rows] for part in parts))


def split_rows(n_rows: int, known: Splitting, folds: int, repeats: int = 1, seed: int = 0) -> list[Split]:
    """Return training and test rows of each split, repeat after repeat."""
    if known.time is not None:
        return _split_forward(known.time, folds)
    # Splitters look at the number of rows alone: a column of zeros stands for them.
    rows = np.zeros(n_rows)
    if known.groups is None:
        _check_classes(known.labels, folds)
        kind = RepeatedKFold if known.labels is None else RepeatedStratifiedKFold
        splitter: Any = kind(n_splits=folds, n_repeats=repeats, random_state=seed)
        return list(splitter.split(rows, known.labels))
    n_groups = len(np.unique(known.groups))
    if n_groups < folds:
        raise DataError(
            f"splits: there must be at least {folds} groups, one per fold; got {n_groups}. Ask for fewer folds."
        )
    splits: list[Split] = []
    # scikit-learn has no repeated splitters for groups.
    for repeat in range(repeats):
        grouped = GroupKFold if known.labels is None else StratifiedGroupKFold
        splitter = grouped(n_splits=folds, shuffle=True, random_state=seed + repeat)
        splits += list(splitter.split(rows, known.labels, known.groups))
    return splits


def _check_classes(labels: np.ndarray | None, folds: int) -> None:
    """Raise if no class has a row for each fold."""
    if labels is None:
        return
    names, counts = np.unique(labels, return_counts=True)
    # scikit-learn only warns about classes with fewer rows than folds, as long as one class has enough.
    if counts.max() < folds:
        raise DataError(
            f"splits: a class must have at least {folds} rows, one per fold; the largest, {names[counts.argmax()]!r}, "
            f"has {counts.max()}. Ask for fewer folds."
        )


def _split_forward(time: np.ndarray, folds: int) -> list[Split]:
    """Return splits whose training rows come before the test rows; rows of equal time keep their order."""
    # TimeSeriesSplit splits by place, so rows are sorted first and indices mapped back.
    order = np.argsort(time, kind="stable")
    if len(order) <= folds:
        raise DataError(f"splits: there must be more rows than folds, {folds}; got {len(order)}. Ask for fewer folds.")
    return [(order[train], order[test]) for train, test in TimeSeriesSplit(n_splits=folds).split(order)]


def prepare_splits(
    estimator: Any,
    X: Any,
    y: Any,
    scoring: Any,
    folds: int,
    repeats: int,
    groups: Any,
    time: Any,
    sample_weight: Any,
    random_state: Any,
) -> tuple[Rows, list[Split], int]:
    """Return the rows with their scorer, the splits, and the seed that drew them."""
    y = np.asarray(y)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    rows = Rows(X, y, weight, check_scoring(estimator, scoring=scoring))
    known = Splitting(
        y if is_classifier(estimator) else None,
        None if groups is None else np.asarray(groups),
        None if time is None else np.asarray(time),
    )
    # The margin of 2^20 below the largest seed leaves room for `seed + place` of each split.
    seed = int(check_random_state(random_state).randint(2**31 - 2**20))
    return rows, split_rows(len(y), known, folds, repeats, seed), seed
