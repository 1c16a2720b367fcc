"""The map between rows in their own units and rows in units of a column's standard deviation, about its mean."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import Block
from mercer.errors import DataError

__all__ = ["ColumnMap", "from_units", "to_units"]

Array = Any


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """A function of blocks: operations by name, one after the other, each with a number for every column.

    The numbers are wide, so that rows of a narrow type are rounded once, at the end.
    """

    steps: tuple[tuple[str, Array], ...]
    subject: str

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        """The map of dense rows, in the type of the rows."""
        result = rows
        for name, numbers in self.steps:
            result = getattr(xp, name)(result, numbers)
        return xp.astype(result, rows.dtype, copy=not self.steps)

    def __call__(self, block: Block) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            result = self.on_rows(block.X, block.xp)
        self._check(block.X, result, block.xp)
        return result

    def write(self, block: Block, out: Array) -> None:
        """The same of NumPy rows into `out`, which may be the rows themselves."""
        result = block.X
        with np.errstate(over="ignore", invalid="ignore"):
            for number, (name, numbers) in enumerate(self.steps, start=1):
                # Only the last result is narrow; wide ones need no memory but that of the output.
                there = out.dtype == np.float64 or number == len(self.steps)
                result = getattr(np, name)(result, numbers, out=out if there else None, casting="same_kind")
        if not self.steps and out is not result:
            out[...] = result
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


def to_units(mean: Array, scale: Array, subject: str) -> ColumnMap:
    """(x - mean) / scale; None stands for no mean, and for no scale."""
    steps = [("subtract", mean), ("divide", scale)]
    return ColumnMap(tuple(step for step in steps if step[1] is not None), subject)


def from_units(mean: Array, scale: Array, subject: str) -> ColumnMap:
    """The other way round: z * scale + mean."""
    steps = [("multiply", scale), ("add", mean)]
    return ColumnMap(tuple(step for step in steps if step[1] is not None), subject)
