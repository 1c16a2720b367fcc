"""The map from rows to centred rows in units of the standard deviation of each column, and back."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.sums import columns
from mercer._source import Block
from mercer._types import Array
from mercer.errors import DataError


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """A function of blocks: (x - mean) / scale, or `back` from there; None means no mean, or no scale.

    Mean and scale are float64, so that float32 rows are rounded only once, at the end.
    """

    mean: Array
    scale: Array
    back: bool
    subject: str

    @property
    def steps(self) -> list[tuple[str, Array]]:
        """Array-API names of the operations, in order, each with one value per column."""
        if self.back:
            steps = [("multiply", self.scale), ("add", self.mean)]
        else:
            steps = [("subtract", self.mean), ("divide", self.scale)]
        return [step for step in steps if step[1] is not None]

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        """Map dense rows; the result has their type."""
        result = rows
        for name, values in self.steps:
            result = getattr(xp, name)(result, values)
        # Without steps the result is the input itself: copy it, so that the caller may write into it.
        return xp.astype(result, rows.dtype, copy=result is rows)

    def __call__(self, block: Block) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            result = self.on_rows(block.X, block.xp)
        self._check(block.X, result, block.xp)
        return result

    def write(self, block: Block, out: Array) -> None:
        """Map NumPy rows into `out`, which may be the rows themselves, by compiled code in one pass."""
        mean = np.zeros(block.X.shape[1]) if self.mean is None else self.mean
        scale = np.ones(block.X.shape[1]) if self.scale is None else self.scale
        (columns.from_units if self.back else columns.to_units)(block.X, mean, scale, out)
        self._check(block.X, out, np)

    def on_entries(self, X: Any, in_place: bool) -> Any:
        """Map sparse rows; zeros stay zeros."""
        self._check(X.data, X.data, np)
        result = X if in_place else X.copy()
        for name, values in self.steps:
            result.data[:] = getattr(np, name)(result.data, np.take(values, result.indices))
        return result

    def _check(self, rows: Array, result: Array, xp: Any) -> None:
        """Raise if rows are infinite; they are searched only if the sum of the result is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            # One sum is cheaper than a test of each entry; NaN, which is allowed, also makes it NaN.
            doubtful = not bool(xp.isfinite(xp.sum(result)))
        if doubtful and bool(xp.any(xp.isinf(rows))):
            raise DataError(
                f"{self.subject}: Input X contains infinity or a value too large for dtype({str(rows.dtype)!r}). Mark "
                f"missing entries by NaN, and drop or clip the others."
            )
