"""How often intervals or sets held the truth: overall, by group and over time, with what chance explains."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.binomial import share_interval
from mercer.conformal._quantile import check_level
from mercer.errors import DataError

# The probability with which the interval of a measured coverage holds the true one.
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Coverage:
    """A measured coverage with its uncertainty.

    Attributes
    ----------
    coverage : float
        The share of rows whose truth was held.
    low, high : float
        The exact 95 % interval of that share for new rows (Clopper and Pearson), if rows are independent.
    n_rows : int
        Rows counted.
    size : float
        The mean width of the intervals, or the mean number of classes of the sets.
    groups : dict of Coverage
        By group, if groups were given.
    periods : tuple of Coverage
        Over time: the rows cut into equal runs in their order.
    """

    coverage: float
    low: float
    high: float
    n_rows: int
    size: float
    groups: dict[Any, "Coverage"]
    periods: tuple["Coverage", ...]

    def holds(self, promised: float) -> bool:
        """Return whether the interval of the measured coverage reaches a promised one."""
        return self.high >= check_level("Coverage", promised)

    def __str__(self) -> str:
        text = f"{self.coverage:.1%} of {self.n_rows} rows [{self.low:.1%}, {self.high:.1%}], mean size {self.size:.4g}"
        lines = [text, *(f"  {name}: {one}" for name, one in self.groups.items())]
        return "\n".join([*lines, *(f"  part {number}: {one}" for number, one in enumerate(self.periods, start=1))])


def check_coverage(y: Any, predicted: Any, *, classes: Any = None, groups: Any = None, n_periods: int = 0) -> Coverage:
    """Count how often intervals or sets held the truth.

    Parameters
    ----------
    y : array-like of shape (n,)
        True values or labels.
    predicted : array-like of shape (n, 2), or of bool of shape (n, n_classes)
        The ends of intervals, as ``predict_interval`` returns them, or sets, as ``predict_set`` does.
    classes : array-like of shape (n_classes,) or None, default=None
        The classes of the columns of sets.
    groups : array-like of shape (n,) or None, default=None
        Counted by themselves too: a promise that holds overall may fail in a group.
    n_periods : int, default=0
        Into how many runs the rows are cut, in their order.

    Returns
    -------
    Coverage

    Examples
    --------
    >>> from mercer.conformal import check_coverage
    >>> measured = check_coverage([1.0, 2.0, 3.0], [[0.0, 2.0], [0.0, 1.0], [2.0, 4.0]])
    >>> round(measured.coverage, 3), measured.size
    (0.667, 1.6666666666666667)
    """
    truth, table = np.asarray(y), np.asarray(predicted)
    if table.ndim != 2 or len(table) != len(truth) or not len(truth):
        raise DataError(
            f"check_coverage: predicted must have a row for each of {len(truth)} values of y; got the shape "
            f"{table.shape}. Give what predict_interval or predict_set returned."
        )
    if table.dtype == bool:
        held, size = _look_up(truth, table, classes), table.sum(axis=1).astype(np.float64)
    elif table.shape[1] == 2:
        held, size = (table[:, 0] <= truth) & (truth <= table[:, 1]), table[:, 1] - table[:, 0]
    else:
        raise DataError(f"check_coverage: intervals have two columns; got {table.shape[1]}. Sets are of bool.")
    parts: dict[Any, Coverage] = {}
    if groups is not None:
        names = np.asarray(groups)
        if len(names) != len(truth):
            raise DataError(f"check_coverage: groups must have {len(truth)} values; got {len(names)}.")
        parts = {name: _count(held[names == name], size[names == name]) for name in np.unique(names).tolist()}
    runs = np.array_split(np.arange(len(truth)), n_periods) if n_periods else []
    return _count(held, size, parts, tuple(_count(held[run], size[run]) for run in runs if len(run)))


def _look_up(truth: np.ndarray, table: np.ndarray, classes: Any) -> np.ndarray:
    if classes is None or len(classes) != table.shape[1]:
        raise DataError(f"check_coverage: sets of {table.shape[1]} classes need their names; give classes=.")
    names = np.asarray(classes)
    order = np.argsort(names)
    place = order[np.searchsorted(names, truth, sorter=order).clip(0, len(names) - 1)]
    # A label that was never seen is in no set.
    return np.asarray((names[place] == truth) & table[np.arange(len(truth)), place])


def _count(
    held: np.ndarray, size: np.ndarray, groups: dict[Any, Coverage] | None = None, periods: tuple[Coverage, ...] = ()
) -> Coverage:
    n, hits = len(held), int(held.sum())
    low, high = share_interval(hits, n, _CONFIDENCE)
    return Coverage(hits / n, low, high, n, float(size.mean()), groups or {}, periods)
