"""Sums of targets by category and fold, and the encodings that follow from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._types import Array


@dataclass(frozen=True)
class Grid:
    """Rounds numbers to a coarse and a fine part, whose sums over any of the rows have no rounding error.

    Sums are then the same in any order, in memory, by blocks and on a cluster (Demmel and Nguyen, 2013), and more
    accurate than plain ones: both parts have 52 bits less the logarithm of the number of rows.
    """

    coarse: float
    fine: float

    @classmethod
    def of(cls, values: Array) -> "Grid":
        """Return the grid for sums of as many values of their size."""
        most = float(np.abs(values).max(initial=0.0))
        room = np.ceil(np.log2(len(values) + 1)) - 51
        coarse = 2.0 ** (np.ceil(np.log2(most)) + room) if most > 0 else 1.0
        return cls(coarse, 2.0 ** (np.log2(coarse) + room))

    def split(self, values: Array) -> tuple[Array, Array]:
        """Return the two parts of each value."""
        upper = np.rint(values / self.coarse) * self.coarse
        return upper, np.rint((values - upper) / self.fine) * self.fine


@dataclass(frozen=True)
class Targets:
    """Targets as numbers, (n, targets), less a shift; `grids` are those of each target and of its squares.

    Zeros and ones, and whatever else has `grids` of None, are summed as they are, and their squares not at all.
    """

    values: Array
    shift: Array
    grids: list[tuple[Grid, Grid]] | None

    def addends(self, target: int, start: int, stop: int) -> list[Array]:
        """Return what is summed of some rows: the targets, or coarse and fine parts of them and of their squares."""
        values = self.values[start:stop, target]
        if self.grids is None:
            return [values]
        plain, square = self.grids[target]
        return [*plain.split(values), *square.split(values * values)]


@dataclass
class TargetSums:
    """Rows and sums of what is added up of the targets, by target, fold and category of each column.

    The last category of a column stands for values that are none. ``whole`` are the sums of all rows, (addends,
    targets, folds).
    """

    columns: list[Array]  # (addends, targets, folds, categories + 1)
    whole: Array

    @classmethod
    def of(
        cls, places: list[Array], sizes: list[int], targets: Targets, folds: Array | None, n_folds: int, start: int = 0
    ) -> "TargetSums":
        """Sum the targets of rows from `start` on, whose categories are `places`, one array for each column."""
        n = len(places[0])
        parts = [targets.addends(target, start, start + n) for target in range(targets.values.shape[1])]
        whole = [_sum_cells(np.zeros(n, np.intp) if folds is None else folds, n_folds, part) for part in parts]
        columns = []
        for place, size in zip(places, sizes, strict=True):
            width = size + 1
            cells = place if folds is None else folds.astype(np.int64) * width + place
            sums = [_sum_cells(cells, n_folds * width, part).reshape(-1, n_folds, width) for part in parts]
            columns.append(np.stack(sums, axis=1))
        return cls(columns, np.stack(whole, axis=1))

    def __add__(self, other: "TargetSums") -> "TargetSums":
        columns = [one + two for one, two in zip(self.columns, other.columns, strict=True)]
        return TargetSums(columns, self.whole + other.whole)

    def join_folds(self) -> "TargetSums":
        """Return the sums of all rows, as one fold."""
        return TargetSums(
            [column.sum(axis=2, keepdims=True) for column in self.columns], self.whole.sum(axis=2, keepdims=True)
        )

    def leave_out(self) -> "TargetSums":
        """Return for each fold the sums of the rows of all other folds."""
        whole = self.join_folds()
        pairs = zip(whole.columns, self.columns, strict=True)
        return TargetSums([every - one for every, one in pairs], whole.whole - self.whole)

    def encode(self, smooth: Any, shift: Array) -> list[Array]:
        """Return the encoding of each category in each fold, (targets, folds, categories + 1), for each column."""
        rows, sums, squares = _join_parts(self.whole)
        centre = (sums / rows)[:, :, None]
        spread = (squares / rows)[:, :, None] - centre**2
        found = []
        for column in self.columns:
            rows, sums, squares = _join_parts(column)
            with np.errstate(divide="ignore", invalid="ignore"):
                if smooth == "auto":
                    mean = sums / rows
                    # The spread within a category, against that of all rows: few or scattered rows tell little of it.
                    scatter = np.maximum(squares - sums * mean, 0.0)
                    evidence = spread * rows
                    trust = evidence / (evidence + scatter / rows)
                    encoding = np.where(np.isnan(trust), centre, trust * mean + (1.0 - trust) * centre)
                else:
                    encoding = (sums + smooth * centre) / (rows + smooth)
                    encoding = np.where(rows + smooth == 0, centre, encoding)
            encoding[:, :, -1] = centre[:, :, 0]
            found.append(encoding + shift[:, None, None])
        return found


def _join_parts(parts: Array) -> tuple[Array, Array, Array]:
    """Return rows, sums and sums of squares; those of zeros and ones are the same."""
    if len(parts) == 2:
        return parts[0], parts[1], parts[1]
    return parts[0], parts[1] + parts[2], parts[3] + parts[4]


def _sum_cells(cells: Array, n_cells: int, parts: list[Array]) -> Array:
    """Return the rows and the sums of what is added up by cell, (1 + addends, cells)."""
    rows = np.bincount(cells, minlength=n_cells).astype(np.float64)
    return np.stack([rows, *(np.bincount(cells, weights=part, minlength=n_cells) for part in parts)])
