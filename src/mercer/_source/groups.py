"""Sums of rows by label in array operations: no matrix of rows by labels, no atomic additions, one order of summation.

A stable sort brings the rows of each label together. They are cut into chunks, whole ones are summed and make a shorter
table of the same kind, and the rows left over at each label's end are summed beside it; so on until nothing is whole.
All shapes follow from the number of rows and labels alone, so that a device never waits for the host.
"""

from typing import Any

__all__ = ["Groups"]

Array = Any


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
        self.order = xp.argsort(labels, stable=True)
        gathered = xp.take(labels, self.order)
        bounds = xp.arange(k + 1, dtype=labels.dtype, device=device)
        self.starts = xp.astype(xp.searchsorted(gathered, bounds), xp.int64, copy=False)

    def counts(self, wide: Any) -> Array:
        """How many rows each label has."""
        return self.xp.astype(self.starts[1:] - self.starts[:-1], wide)

    def sums(self, values: Array, wide: Any) -> Array:
        """The sum of the rows of `values` (n,) or (n, q) of each label, of shape (k,) or (k, q)."""
        table = values if values.ndim == 2 else values[:, None]
        order, starts, total = self.order, self.starts, None
        while True:
            n_rows, chunk = table.shape[0], self._chunk(table.shape[0])
            rest = self._sum_ends(table, order, starts, chunk, wide)
            total = rest if total is None else total + rest
            if n_rows < chunk:
                return total if values.ndim == 2 else total[:, 0]
            table, starts = self._sum_chunks(table, order, starts, chunk, wide)
            order = None

    def _chunk(self, n_rows: int) -> int:
        """Rows in a chunk: a power of two near the rows of a label, so that ends take no more memory than the rows."""
        share = n_rows // max(1, self.k)
        return 2 ** min(max(share.bit_length(), 2), 5)

    def _sum_ends(self, table: Array, order: Array, starts: Array, chunk: int, wide: Any) -> Array:
        """The sum of what whole chunks leave of each label."""
        xp = self.xp
        begin = starts[1:] - (starts[1:] - starts[:-1]) % chunk
        places = begin[:, None] + self._counting(chunk)[None, :]
        inside = (places < starts[1:, None])[:, :, None]
        rows = self._gathered(table, order, places)
        return xp.sum(xp.where(inside, rows, xp.zeros_like(rows)), axis=1, dtype=wide)

    def _sum_chunks(self, table: Array, order: Array, starts: Array, chunk: int, wide: Any) -> tuple[Array, Array]:
        """The sums of whole chunks, label by label, and where each label's begin; what is past the last is no sum."""
        xp = self.xp
        begins = xp.cumulative_sum((starts[1:] - starts[:-1]) // chunk, include_initial=True)
        numbers = self._counting(table.shape[0] // chunk)
        label = xp.clip(xp.searchsorted(begins, numbers, side="right") - 1, 0, self.k - 1)
        first = xp.take(starts, label) + (numbers - xp.take(begins, label)) * chunk
        places = first[:, None] + self._counting(chunk)[None, :]
        return xp.sum(self._gathered(table, order, places), axis=1, dtype=wide), begins

    def _gathered(self, table: Array, order: Array, places: Array) -> Array:
        """Rows of the table at `places` (m, chunk) along the order of labels; any row where there is none."""
        xp = self.xp
        flat = xp.reshape(xp.clip(places, 0, table.shape[0] - 1), (-1,))
        rows = xp.take(table, flat if order is None else xp.take(order, flat), axis=0)
        return xp.reshape(rows, (*places.shape, table.shape[1]))

    def _counting(self, stop: int) -> Array:
        return self.xp.arange(stop, dtype=self.xp.int64, device=self.device)
