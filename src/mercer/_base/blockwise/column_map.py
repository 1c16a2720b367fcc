"""Functions of blocks: one new value for each old one, by what a transformer has learnt of its column."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.sums import columns
from mercer._source import Block
from mercer._types import Array
from mercer.errors import DataError


@dataclass(frozen=True, eq=False)
class BlockMap:
    """A function of blocks: :meth:`on_rows` maps dense rows, and :meth:`on_entries` sparse ones.

    ``subject`` is the transformer, for errors.
    """

    subject: str

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        """Map dense rows to new ones; the result never shares memory with the rows."""
        raise NotImplementedError  # each map defines its own

    def on_entries(self, X: Any, in_place: bool) -> Any:
        """Map sparse rows, those of SciPy; zeros stay zeros."""
        raise NotImplementedError  # each map that takes sparse rows defines its own

    def write(self, block: Block, out: Array) -> None:
        """Write the mapped rows of a NumPy block into `out`, which may be the rows themselves."""
        out[...] = self.on_rows(block.X)

    def __call__(self, block: Block) -> Array:
        if block.is_sparse:
            return self.on_entries(block.X, False)
        with np.errstate(over="ignore", invalid="ignore"):
            result = self.on_rows(block.X, block.xp)
        self.check(block.X, result, block.xp)
        return result

    def check(self, rows: Array, result: Array, xp: Any) -> None:
        """Raise if rows are infinite; they are searched only if the sum of the result is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            # One sum is cheaper than a test of each entry; NaN, which is allowed, also makes it NaN.
            doubtful = not bool(xp.isfinite(xp.sum(result)))
        if doubtful and bool(xp.any(xp.isinf(rows))):
            raise DataError(
                f"{self.subject}: Input X contains infinity or a value too large for dtype({str(rows.dtype)!r}). Mark "
                f"missing entries by NaN, and drop or clip the others."
            )


@dataclass(frozen=True, eq=False)
class ColumnMap(BlockMap):
    """(x - mean) / scale, or `back` from there; None means no mean, or no scale. `limits` cut off what is beyond them.

    Mean and scale are float64, so that float32 rows are rounded only once, at the end.
    """

    mean: Array
    scale: Array
    back: bool = False
    limits: tuple[float, float] | None = None

    @property
    def steps(self) -> list[tuple[str, Array]]:
        """Array-API names of the operations, in order, each with one value per column."""
        if self.back:
            steps = [("multiply", self.scale), ("add", self.mean)]
        else:
            steps = [("subtract", self.mean), ("divide", self.scale)]
        return [step for step in steps if step[1] is not None]

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        result = rows
        for name, values in self.steps:
            result = getattr(xp, name)(result, values)
        if self.limits is not None:
            result = xp.clip(result, *self.limits)
        # Without steps the result is the input itself: copy it, so that the caller may write into it.
        return xp.astype(result, rows.dtype, copy=result is rows)

    def write(self, block: Block, out: Array) -> None:
        """Map NumPy rows by compiled code in one pass."""
        mean = np.zeros(block.X.shape[1]) if self.mean is None else self.mean
        scale = np.ones(block.X.shape[1]) if self.scale is None else self.scale
        (columns.from_units if self.back else columns.to_units)(block.X, mean, scale, out)
        self.check(block.X, out, np)
        if self.limits is not None:
            np.clip(out, *self.limits, out=out)

    def on_entries(self, X: Any, in_place: bool) -> Any:
        self.check(X.data, X.data, np)
        result = X if in_place else X.copy()
        for name, values in self.steps:
            result.data[:] = getattr(np, name)(result.data, np.take(values, result.indices))
        if self.limits is not None:
            np.clip(result.data, *self.limits, out=result.data)
        return result
