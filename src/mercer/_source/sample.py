"""A sample of the rows of a source, in whole blocks, brought to where the computation is."""

import itertools
import time
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse, vstack

from mercer._source.block import Block
from mercer._source.source import Source
from mercer._types import Array, Rows


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows with their targets and weights, and the seconds that reading one row took where rows are not in memory."""

    X: Rows
    y: Array
    weight: Array
    seconds_per_row: float = 0.0

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def bytes_per_row(self) -> float:
        """Bytes that one row takes as it is stored."""
        parts = (self.X.data, self.X.indices, self.X.indptr) if issparse(self.X) else (self.X,)
        return sum(part.nbytes for part in parts) / self.n_rows

    def half(self) -> "Sample":
        """Return every other row."""
        X = self.X[::2]
        X = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
        y, weight = (None if part is None else part[::2] for part in (self.y, self.weight))
        return Sample(X, y, weight)


def take_sample(source: Source, most_rows: int) -> Sample:
    """Return about `most_rows` rows: blocks spread over all rows, or the first ones where only those can be reached."""
    begin = time.perf_counter()
    # A stream that does not know its length is read once to count it, which also measures the time of reading best.
    counts = source.known_rows is None
    n_rows = source.n_rows
    counting = (time.perf_counter() - begin) / n_rows
    if source.place == "memory" and n_rows <= most_rows:
        return Sample(source.whole(), source.y, source.weight)
    n_blocks = min(source.n_blocks, max(1, -(-most_rows // source.block_rows)))
    begin = time.perf_counter()
    if source.random_access:
        # Blocks spread evenly from the first to the last: rows may be sorted.
        numbers = np.unique(np.linspace(0, source.n_blocks - 1, n_blocks).astype(int)).tolist()
        blocks = [source.block(number) for number in numbers]
    else:
        blocks = list(itertools.islice(source.blocks(), n_blocks))
    sample = _join(blocks)
    reading = (time.perf_counter() - begin) / sample.n_rows
    if source.place == "memory":
        return sample
    return Sample(sample.X, sample.y, sample.weight, counting if counts else reading)


def _join(blocks: list[Block]) -> Sample:
    """Join blocks into one sample."""
    first = blocks[0]
    X = vstack([block.X for block in blocks], format="csr") if first.is_sparse else _concat(blocks, "X")
    return Sample(X, _concat(blocks, "y"), _concat(blocks, "weight"))


def _concat(blocks: list[Block], name: str) -> Array:
    """Join one attribute of all blocks; None where they have none."""
    parts = [getattr(block, name) for block in blocks]
    return None if parts[0] is None else blocks[0].xp.concat(parts)
