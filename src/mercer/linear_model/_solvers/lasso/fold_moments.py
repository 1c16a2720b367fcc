"""Moments of the rows that each fold of a cross-validation trains on, and the errors on those it is tested on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import Source, open_source
from mercer._source.namespace import is_sparse_matrix
from mercer._statistic import Moments, MomentSums
from mercer._types import Array
from mercer.errors import DataError


@dataclass(frozen=True, eq=False)
class Fold:
    """Moments of the training rows, their weights if rows are masked rather than cut, and the test rows."""

    moments: MomentSums
    weight: Array | None
    test: Any

    def error(self, w: Array) -> float:
        """Return the weighted mean squared error of coefficients on the test rows."""
        intercept = float(self.moments.y_mean[0] - self.moments.mean @ w)
        return self.test.error(w, intercept)


@dataclass(frozen=True, eq=False)
class SummedRows:
    """The moments of the test rows, which suffice for their squared error."""

    moments: MomentSums

    def error(self, w: Array, intercept: float) -> float:
        sums = self.moments
        # |y - X w|^2 of centred data, plus the error of the means.
        spread = sums.y_scatter[0] - w @ (2.0 * sums.cross[:, 0] - sums.scatter @ w)
        miss = sums.y_mean[0] - sums.mean @ w - intercept
        return max(0.0, float(spread)) / sums.weight + float(miss) ** 2


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Test rows, by index; sparse ones are copied once."""

    X: Any
    y: Array
    weight: Array | None
    rows: Array

    def error(self, w: Array, intercept: float) -> float:
        used = np.flatnonzero(w)
        fitted = self.X @ w if is_sparse_matrix(self.X) else self.X[self.rows[:, None], used] @ w[used]
        squares = (self.y - fitted - intercept) ** 2
        return float(np.average(squares, weights=self.weight))


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """A request: the folds, and last the moments of all rows.

    With `whole` moments, each row is summed up once where every row is tested once: the rows of a fold to train on are
    those of all other folds, and moments add up.
    """

    splits: list[tuple[Array, Array]]
    centre: bool
    whole: bool
    subject: str

    def answer(self, source: Source) -> tuple[list[Fold], MomentSums]:
        for train, test in self.splits:
            if source.weight is not None and not (source.weight[train].any() and source.weight[test].any()):
                raise DataError(
                    f"{self.subject}: every fold needs rows of positive weight to train and to test on; got none."
                )
        if not self.whole:
            # Columns are kept whole; folds differ by weights.
            return [self._mask(source, *split) for split in self.splits], self._sum_rows(source, None)
        tests = [self._sum_rows(source, test) for _, test in self.splits]
        # Every row is tested once: the training sums are sums of the other folds.
        if self._is_partition(source.n_rows):
            # Sums of the other folds, never the total less one fold: a difference would cancel.
            trains = [_total([*tests[:k], *tests[k + 1 :]]) for k in range(len(tests))]
            everything = _total(tests)
        else:
            trains = [self._sum_rows(source, train) for train, _ in self.splits]
            everything = self._sum_rows(source, None)
        folds = [Fold(train, None, SummedRows(test)) for train, test in zip(trains, tests, strict=True)]
        return folds, everything

    def _is_partition(self, n_rows: int) -> bool:
        counts = np.bincount(np.concatenate([test for _, test in self.splits]), minlength=n_rows)
        sizes = all(len(train) + len(test) == n_rows for train, test in self.splits)
        return (
            len(self.splits) > 1
            and sizes
            and bool((counts == 1).all())
            and all(not np.isin(test, train).any() for train, test in self.splits)
        )

    def _sum_rows(self, source: Source, rows: Array | None) -> MomentSums:
        if rows is not None:
            weight = None if source.weight is None else source.weight[rows]
            source = open_source(_rows(source.whole(), rows), source.y[rows], weight, source.threads)
        sums = source.reduce(Moments(self.centre, diagonal=not self.whole))
        return MomentSums(sums.weight, sums.mean, sums.scatter, sums.y_mean, sums.cross, sums.y_scatter)

    def _mask(self, source: Source, train: Array, test: Array) -> Fold:
        X, own = source.whole(), source.weight
        # Rows left out weigh nothing, and rows drawn twice weigh double: no fold copies the rows.
        weight = np.bincount(train, minlength=source.n_rows).astype(np.float64)
        weight = weight if own is None else weight * own
        sums = self._sum_rows(open_source(X, source.y, weight, source.threads), None)
        rows = X[test] if is_sparse_matrix(X) else X
        return Fold(sums, weight, ChosenRows(rows, source.y[test], None if own is None else own[test], test))


def _rows(X: Any, rows: Array) -> Any:
    """Return rows by index; consecutive ones without a copy."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (np.diff(rows) == 1).all():
        return X[rows[0] : rows[-1] + 1]
    return X[rows]


def _total(parts: list[MomentSums]) -> MomentSums:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
