"""The map between rows in their own units and rows in units of a column's standard deviation, about its mean."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.sums import columns
from mercer._source import Block
from mercer.errors import DataError

__all__ = ["ColumnMap"]

Array = Any


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """A function of blocks: (x - mean) / scale, or `back` from there; None stands for no mean, and for no scale.

    Mean and scale are wide, so that rows of a narrow type are rounded once, at the end.
    """

    mean: Array
    scale: Array
    back: bool
    subject: str

    @property
    def steps(self) -> list[tuple[str, Array]]:
        """Operations by their names in the standard, one after the other, each with a number for every column."""
        if self.back:
            steps = [("multiply", self.scale), ("add", self.mean)]
        else:
            steps = [("subtract", self.mean), ("divide", self.scale)]
        return [step for step in steps if step[1] is not None]

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        """The map of dense rows, in the type of the rows."""
        result = rows
        for name, numbers in self.steps:
            result = getattr(xp, name)(result, numbers)
        return xp.astype(result, rows.dtype, copy=result is rows)

    def __call__(self, block: Block) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            result = self.on_rows(block.X, block.xp)
        self._check(block.X, result, block.xp)
        return result

    def write(self, block: Block, out: Array) -> None:
        """The same of NumPy rows into `out`, which may be the rows themselves, by compiled code in one walk."""
        mean = np.zeros(block.X.shape[1]) if self.mean is None else self.mean
        scale = np.ones(block.X.shape[1]) if self.scale is None else self.scale
        (columns.from_units if self.back else columns.to_units)(block.X, mean, scale, out)
        self._check(block.X, out, np)

    def on_entries(self, X: Any, in_place: bool) -> Any:
        """The map of sparse rows, whose zeros stay zeros."""
        self._check(X.data, X.data, np)
        result = X if in_place else X.copy()
        for name, numbers in self.steps:
            result.data[:] = getattr(np, name)(result.data, np.take(numbers, result.indices))
        return result

    def _check(self, rows: Array, result: Array, xp: Any) -> None:
        """Raise for infinite rows. A sum is finite unless an entry is not; only then are the rows looked at."""
        with np.errstate(over="ignore", invalid="ignore"):
            doubtful = not bool(xp.isfinite(xp.sum(result)))
        if doubtful and bool(xp.any(xp.isinf(rows))):
            message = (
                f"{self.subject}: Input X contains infinity or a value too large for dtype({str(rows.dtype)!r}). Mark "
                f"missing entries by NaN, and drop or clip the others."
            )
            raise DataError(message)
