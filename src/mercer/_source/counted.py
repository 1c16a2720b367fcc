"""Sources that count the rows that are read of them, and the seconds it takes."""

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mercer._source.block import Block
from mercer._source.source import Source
from mercer._types import Array

__all__ = ["KINDS", "Readings", "counted"]

KINDS = ("passes", "parts", "tiles")


@dataclass
class Readings:
    """Rows read, and the seconds it took, by kind: in whole passes, in parts of the rows, and rows against rows."""

    rows: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))
    passes: int = 0
    within: bool = False

    @contextmanager
    def reading(self, kind: str, rows: int) -> Iterator[None]:
        """Count what a verb reads; verbs that it calls in turn read the same rows."""
        if self.within:
            yield
            return
        self.rows[kind] += rows
        self.passes += kind == "passes"
        self.within, begin = True, time.perf_counter()
        try:
            yield
        finally:
            self.within = False
            self.seconds[kind] += time.perf_counter() - begin


def counted(source: Source, readings: Readings, n_rows: int) -> Source:
    """The same source with verbs that write into `readings`; one of fewer than `n_rows` rows is a part of the data."""
    cls = type(source)
    other = copy.copy(source)
    members = {"readings": readings, "all_rows": n_rows}
    other.__class__ = type(cls.__name__, (_Counted, cls), members)
    return other


class _Counted(Source):
    readings: Readings
    all_rows: int

    def _reads(self) -> Any:
        return self.readings.reading("passes" if self.n_rows >= self.all_rows else "parts", self.n_rows)

    def reduce(self, statistic: Any) -> Any:
        with self._reads():
            return super().reduce(statistic)

    def each(self, function: Callable[[Block], Any], receive: Callable[[Any], None] | None = None) -> None:
        with self._reads():
            super().each(function, receive)

    def on_blocks(self, work: dict[int, Callable[[Block], Any]]) -> dict[int, Any]:
        with self.readings.reading("parts", len(work) * self.block_rows):
            return super().on_blocks(work)

    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        with self.readings.reading("parts", stop - start):
            return super().on_rows(start, stop, function)  # type: ignore[safe-super]

    def tiles(self, function: Callable[[Block, Block], Array], out: Array) -> Array:
        with self.readings.reading("tiles", self.n_rows * self.n_blocks):
            return super().tiles(function, out)

    def labelled(self, labelling: Any) -> Source:
        return counted(_plain(self).labelled(labelling), self.readings, self.all_rows)

    def part(self, rows: Array) -> Source:
        return counted(_plain(self).part(rows), self.readings, self.all_rows)


def _plain(source: Source) -> Source:
    """The source as it was before it was counted."""
    other = copy.copy(source)
    other.__class__ = type(source).__mro__[2]
    return other
