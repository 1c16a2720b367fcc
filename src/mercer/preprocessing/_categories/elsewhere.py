"""Rows outside of memory with their targets, read twice: the values and targets first, then sums by category."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np

from mercer._base.opening import check_place
from mercer._solver import Dense
from mercer._source.table.encoded import read_with_targets
from mercer._types import Array
from mercer.errors import DataError
from mercer.preprocessing._categories.encoder import LevelCounts, count_frame
from mercer.preprocessing._categories.reading import learn_partitions, read_columns

_Sums = Callable[[Any, int], Any]


def open_targets(encoder: Any, X: Any, y: Any, place: str) -> Any:
    """Open rows in a file, a stream or Dask; `y` are their targets, or names the column of these."""
    check_place(encoder, place)
    return PartitionTargets(encoder, X, y) if place == "dask" else BlockTargets(encoder, X, y)


class BlockTargets:
    """Blocks of a table in a file or a stream."""

    def __init__(self, encoder: Any, X: Any, y: Any) -> None:
        self.encoder, self.X, self.y = encoder, X, y

    def _read(self) -> Any:
        return read_with_targets(self.X, self.y, type(self.encoder).__name__, self.encoder._threads())

    def gather(self) -> Generator[Any, Any, tuple[LevelCounts, Array]]:
        """Return the counts of all values, and the targets of all rows, as a solver."""
        sums, targets = LevelCounts(), []
        for number, (rows, y, _) in enumerate(self._read()):
            columns = read_columns(self.encoder, rows, reset=number == 0)
            yield Dense(partial(self.encoder._count_block, sums, columns))
            targets.append(np.asarray(y))
        return sums, _join(targets, type(self.encoder).__name__)

    def add_up(self, function: _Sums) -> Generator[Any, Any, Any]:
        """Return the sum of ``function(rows, start)`` over all blocks, as a solver."""
        total, start = None, 0
        for rows, y, _ in self._read():
            one = yield Dense(partial(function, rows, start))
            total = one if total is None else total + one
            start += len(y)
        return total


class PartitionTargets:
    """Partitions of a Dask dataframe."""

    def __init__(self, encoder: Any, X: Any, y: Any) -> None:
        from mercer._source.dask.frames import count_rows, list_partitions

        self.subject = type(encoder).__name__
        self.columns = learn_partitions(encoder, X, y)
        self.parts = list_partitions(X, self.subject)
        if isinstance(y, str):
            # Rows that were encoded know the columns that they come from.
            self.targets = list_partitions(getattr(X, "given", X)[[y]], self.subject)
        elif hasattr(y, "to_delayed"):
            self.targets = list(np.ravel(y.to_delayed()))
        elif y is None:
            raise DataError(f"{self.subject}: requires y to be passed, but the target y is None. Give the targets.")
        else:
            lengths = count_rows(self.parts, self.subject)
            ends = np.cumsum(lengths)
            y = np.asarray(y)
            if len(y) != ends[-1]:
                raise DataError(f"{self.subject}: y must have a target for each of the {ends[-1]} rows; got {len(y)}.")
            self.targets = [y[end - length : end] for end, length in zip(ends, lengths, strict=True)]
        if len(self.targets) != len(self.parts):
            raise DataError(
                f"{self.subject}: y must have the partitions of the rows, {len(self.parts)}; got {len(self.targets)}."
            )

    def gather(self) -> Generator[Any, Any, tuple[LevelCounts, Array]]:
        """Return the counts of all values, and the targets of all rows, as a solver."""
        import dask

        from mercer._source.dask.frames import sum_partitions
        from mercer._source.dask.graph import compute

        count = partial(count_frame, self.columns)
        sums = yield Dense(lambda: sum_partitions(self.parts, count, self.subject), heavy=True)
        found = yield Dense(lambda: compute(dask.delayed(list)(self.targets), self.subject), heavy=True)
        arrays = [np.asarray(one).reshape(-1) for one in found]
        self.starts = np.concatenate([[0], np.cumsum([len(one) for one in arrays])])
        return sums, _join(arrays, self.subject)

    def add_up(self, function: _Sums) -> Generator[Any, Any, Any]:
        """Return the sum of ``function(rows, start)`` over all partitions, as a solver."""
        from mercer._source.dask.frames import sum_partitions

        parts = [(part, int(start)) for part, start in zip(self.parts, self.starts[:-1], strict=True)]
        work = _Selected(function, self.columns)
        return (yield Dense(lambda: sum_partitions(parts, work, self.subject), heavy=True))


class _Selected:
    """Calls a function with some columns of a partition."""

    def __init__(self, function: _Sums, columns: list[str] | None) -> None:
        self.function, self.columns = function, columns

    def __call__(self, rows: Any, start: int) -> Any:
        return self.function(rows if self.columns is None else rows[self.columns], start)


def _join(parts: list[Array], subject: str) -> Array:
    """Return the targets of all blocks; raise if one is missing."""
    y = np.concatenate([part for part in parts if len(part)])
    missing = np.isnan(y) if y.dtype.kind == "f" else np.array([one is None or one != one for one in y.tolist()])
    if missing.any():
        raise DataError(
            f"{subject}: Input y contains NaN, the first in row {int(np.flatnonzero(missing)[0])}. Drop these rows."
        )
    return y
