"""Sums of rows by label in array operations: no rows-by-labels matrix, no atomic additions, one summation order.

A stable sort brings the rows of each label together. They are cut into chunks. The sums of whole chunks make a shorter
table of the same kind, and the rows that are left at the end of each label are summed directly; this is repeated until
no label has a whole chunk. All shapes depend only on the number of rows and labels, so that a device never waits for
the host.
"""

from functools import cached_property
from typing import Any, NamedTuple

from mercer._types import Array


class _Level(NamedTuple):
    """One table cut into chunks, by row indices.

    ``ends`` (k, chunk) are the rows of each label after its last whole chunk; ``inside`` is False for padding.
    ``chunks`` (m, chunk) are the rows of whole chunks; entries after the last whole chunk are arbitrary rows.
    """

    ends: Array
    inside: Array
    chunks: Array


class Groups:
    """Rows by label.

    Parameters
    ----------
    labels : array of shape (n,), integers in [0, k)
    k : int
    xp : module
        The namespace of `labels`.
    device : object
        Their device.
    """

    def __init__(self, labels: Array, k: int, xp: Any, device: Any = None) -> None:
        self.xp, self.device, self.k = xp, device, k
        # A stable sort keeps the order of the rows of a label, and with it the order of additions.
        self.order = xp.argsort(labels, stable=True)
        gathered = xp.take(labels, self.order)
        bounds = xp.arange(k + 1, dtype=labels.dtype, device=device)
        self.starts = xp.astype(xp.searchsorted(gathered, bounds), xp.int64, copy=False)

    def counts(self, wide: Any) -> Array:
        """Return the number of rows of each label."""
        return self.xp.astype(self.starts[1:] - self.starts[:-1], wide)

    def sums(self, values: Array, wide: Any) -> Array:
        """Sum the rows of `values` (n,) or (n, q) by label, to the shape (k,) or (k, q)."""
        xp = self.xp
        table: Array = values if values.ndim == 2 else values[:, None]
        total: Array = None
        for level in self._levels:
            rows = self._gather(table, level.ends)
            # Padding counts as zero, since every label gets the same width.
            rest = xp.sum(xp.where(level.inside[:, :, None], rows, xp.zeros_like(rows)), axis=1, dtype=wide)
            total = rest if total is None else total + rest
            if level.chunks is not None:
                # Sums of whole chunks are the rows of the next level,
                # so n rows of a label take about log n levels and no loop.
                table = xp.sum(self._gather(table, level.chunks), axis=1, dtype=wide)
        return total if values.ndim == 2 else total[:, 0]

    def _gather(self, table: Array, places: Array) -> Array:
        """Return the rows of `table` at `places`, in the shape of `places`."""
        rows = self.xp.take(table, self.xp.reshape(places, (-1,)), axis=0)
        return self.xp.reshape(rows, (*places.shape, table.shape[1]))

    @cached_property
    def _levels(self) -> list[_Level]:
        """How the rows, then the sums of their chunks, and so on are cut up."""
        levels: list[_Level] = []
        starts, n_rows = self.starts, self.order.shape[0]
        while True:
            chunk = self._chunk(n_rows)
            ends, inside = self._cut_ends(starts, chunk)
            chunks, begins = (None, starts) if n_rows < chunk else self._cut_chunks(starts, chunk, n_rows)
            # Places past the end are masked by `inside`; clipped, they can be read.
            places = [None if index is None else self.xp.clip(index, 0, n_rows - 1) for index in (ends, chunks)]
            if not levels:
                # Only the first level reads the rows, through the order of their labels; later ones read sums in place.
                places = [None if index is None else self._in_order(index) for index in places]
            levels.append(_Level(places[0], inside, places[1]))
            if chunks is None:
                return levels
            starts, n_rows = begins, n_rows // chunk

    def _chunk(self, n_rows: int) -> int:
        """Return the rows of a chunk: a power of two near the rows per label, so that ends need no more memory than
        rows.
        """
        share = n_rows // max(1, self.k)
        return 2 ** min(max(share.bit_length(), 2), 5)

    def _cut_ends(self, starts: Array, chunk: int) -> tuple[Array, Array]:
        """Return the rows after the last whole chunk of each label, padded to a chunk, and which are no padding."""
        begin = starts[1:] - (starts[1:] - starts[:-1]) % chunk
        places = begin[:, None] + self._counting(chunk)[None, :]
        return places, places < starts[1:, None]

    def _cut_chunks(self, starts: Array, chunk: int, n_rows: int) -> tuple[Array, Array]:
        """Return the rows of whole chunks, label by label, and where each label begins in the next table."""
        xp = self.xp
        begins = xp.cumulative_sum((starts[1:] - starts[:-1]) // chunk, include_initial=True)
        numbers = self._counting(n_rows // chunk)
        label = xp.clip(xp.searchsorted(begins, numbers, side="right") - 1, 0, self.k - 1)
        # A chunk begins at its label's first row plus the chunks of that label before it.
        first = xp.take(starts, label) + (numbers - xp.take(begins, label)) * chunk
        return first[:, None] + self._counting(chunk)[None, :], begins

    def _in_order(self, places: Array) -> Array:
        """Convert positions in the order of labels to row indices."""
        xp = self.xp
        return xp.reshape(xp.take(self.order, xp.reshape(places, (-1,))), places.shape)

    def _counting(self, stop: int) -> Array:
        """Return the integers below `stop`."""
        return self.xp.arange(stop, dtype=self.xp.int64, device=self.device)
