"""The rows of one class, wherever the rows of all are: an array in memory, or blocks that are read again and again."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._types import Array


@dataclass(frozen=True, eq=False)
class ClassRows:
    """The rows of `source` whose label is `label` and whose weight is not zero; called, it begins a pass over them."""

    source: Source
    label: Any
    n_rows: int  # of all classes, for the memory forecast

    def __call__(self) -> Iterator[Any]:
        for rows, weight in self._parts():
            yield rows if weight is None else (rows, None, weight)

    def for_density(self, density: Any) -> tuple[Any, Array]:
        """Return rows and weights as `density` takes them: block by block where it can, else as arrays."""
        if self.source.place != "memory" and "stream" in getattr(density, "_places", ()):
            return self, None
        return self.arrays()

    def arrays(self) -> tuple[Array, Array]:
        """Return all rows of the class, and their weights or None."""
        if self.source.place != "memory":
            # Twice: the parts, and the array that they are joined to.
            n_bytes = 2 * self.n_rows * self.source.n_features * self.source.host_dtype.itemsize
            cure = "use a density that is fitted block by block, such as OAS or GaussianMixture"
            require_memory(self.source.subject, n_bytes, f"the rows of class {self.label}", cure)
        parts = list(self._parts())
        rows = np.concatenate([part for part, _ in parts])
        return rows, None if parts[0][1] is None else np.concatenate([weight for _, weight in parts])

    def first(self, count: int) -> Array:
        """Return at most `count` rows of the class."""
        return np.concatenate([rows for rows, _ in islice(self._parts(), 1)])[:count]

    def _parts(self) -> Iterator[tuple[Array, Array]]:
        for block in self._blocks():
            chosen = block.y == self.label
            if block.weight is not None:
                chosen = chosen & (block.weight > 0)
            if chosen.any():
                yield block.dense()[chosen], None if block.weight is None else block.weight[chosen]

    def _blocks(self) -> Iterator[Block]:
        if hasattr(self.source, "blocks"):
            yield from self.source.blocks()
            return
        for number in range(self.source.n_blocks):
            yield self.source.block(number)
