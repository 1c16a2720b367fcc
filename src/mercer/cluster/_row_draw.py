"""Rows drawn with replacement, in proportion to their weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import Source

__all__ = ["RowDraw", "WeightedRows"]

Array = Any


class RowDraw:
    """Draws rows with replacement, in proportion to their weights."""

    def __init__(self, source: Source) -> None:
        self.n_rows = source.n_rows
        self.ends = None if source.weight is None else np.cumsum(source.weight)

    def rows(self, generator: np.random.Generator, count: int) -> Array:
        """Row numbers; unit weights draw the same ones as no weights."""
        return self.at(generator.random(count))

    def at(self, places: Array) -> Array:
        """Row numbers at `places` in [0, 1) along the weights."""
        if self.ends is None:
            return np.minimum((places * self.n_rows).astype(np.int64), self.n_rows - 1)
        # Searching to the right passes over rows of weight zero; rounding may lead past the last other one.
        found = np.searchsorted(self.ends, places * self.ends[-1], side="right")
        return np.minimum(found, np.searchsorted(self.ends, self.ends[-1]))


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """A request: the row numbers at `places` in [0, 1) along the weights."""

    places: Array

    def answer(self, source: Source) -> Array:
        return RowDraw(source).at(self.places)
