"""Search for nearest rows by comparing every query with every row, both rounded to bytes, and measuring what is near.

On CPUs that multiply bytes (AVX-512 VNNI), a comparison takes a third of the time of one in float32. How many rows have
to be measured again depends on the data: where distances to the nearest rows are short beside the width of the table,
rounding hides them. Some queries are tried to see.

Rows lie in the order of a tree of boxes, so that a chunk of panels holds neighbours, and queries are compared with near
chunks first: what they find there leaves few rows of the others to be measured.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from mercer._native.nearest import row_scan
from mercer._solver.neighbours.panels import GROUP, PANEL, empty_heaps, frame_rows, list_answers
from mercer._solver.neighbours.space_tree import SpaceTree
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._types import Array

# Columns whose products share a word of 32 bits; the native code has the same constant.
_STEP = 4
# Columns up to which sums of products stay far inside int32, as the native code says.
_MOST_COLUMNS = 4096
# Bytes of queries in a block, so that they stay in the fastest cache beside a panel.
_BLOCK = 16384
# Panels in a chunk; the native code has the same constant.
_CHUNK = 16
# Operations on 64 products in one native call: about 30 ms.
_OPERATIONS = 2**26
# Groups of queries that are tried, in different places, to see how many rows are measured.
_TRIED = 4
# Panels packed in one item of work: 16 384 rows.
_PACKED = 256
# The largest whole number of a rounded value; the native code has the same constant.
_MOST = 127
# The share of values that are not clipped: normal ones end at 3.3 standard deviations, which one row in 30 exceeds.
_KEPT = 0.999
# Values that are looked at to find where this share ends.
_LOOKED_AT = 2**18
# The longest slack, in steps, with which rounded rows are of use; a rounding itself moves a row by some 0.3 sqrt(d).
_MOST_SLACK = 0.1


def are_bytes_fast() -> bool:
    """Return whether the native modules in use compare bytes faster than float32 numbers on this CPU."""
    return row_scan.are_bytes_fast()


class BytePanels:
    """Rows, rounded to bytes, that queries are compared with one by one.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64
    threads : int
    subject : str
        The name of the estimator, for the memory forecast.
    order : callable
        Returns the order of rows, (n,) of int32: neighbours side by side.
    """

    def __init__(self, rows: Array, threads: int, subject: str, order: Callable[[], Array]) -> None:
        self.rows, self.threads, self.subject, self.find_order = rows, threads, subject, order
        self.n, self.d = rows.shape
        self.steps = -(-self.d // _STEP)
        self.block = GROUP * max(4, min(64, _BLOCK // (GROUP * max(1, _STEP * self.steps))))

    @cached_property
    def frame(self) -> tuple[Array, float, float, float]:
        """The shift of columns, the power of two by which rows are scaled, the step, and the slack in steps."""
        shift, scale = frame_rows(self.rows)
        part = self.rows[:: max(1, -(-self.n * self.d // _LOOKED_AT))]
        sizes = np.abs(part * np.float64(scale) - shift)
        step = float(np.quantile(sizes, _KEPT)) / _MOST
        if step <= 0.0:
            return shift, scale, 0.0, np.inf
        # Values before clipping are at most one, and right to a few roundings of one; 127 steps to a few of those.
        slack = float(np.sqrt(self.d)) * (2.0**-50 / step + _MOST * 2.0**-50)
        return shift, scale, step, slack

    @property
    def is_possible(self) -> bool:
        """Whether rounded rows tell anything: columns are not too many, and values do not vanish beside their shift."""
        return 0 < self.d <= _MOST_COLUMNS and self.n > 0 and self.frame[3] <= _MOST_SLACK

    @cached_property
    def packed(self) -> tuple[Array, Array, Array, Array]:
        """The order of rows, the panels, what the sums of rows start from, and the longest rounding in each panel."""
        n_panels = -(-self.n // PANEL)
        size = n_panels * PANEL * (_STEP * self.steps + 4)
        require_memory(self.subject, size, f"panels of {self.n} rows", "fit fewer rows")
        shift, scale, step, _ = self.frame
        order = self.find_order()
        panels = np.empty((n_panels, self.steps, PANEL, _STEP), np.uint8)
        starts, errors = np.empty((n_panels, PANEL), np.int32), np.empty(n_panels)

        def pack(item: int) -> None:
            first = item * _PACKED
            stop = min(first + _PACKED, n_panels)
            row_scan.round_rows(self.rows, order, shift, scale, step, first, stop, panels, starts, errors)

        run_numbered(pack, -(-n_panels // _PACKED), self.threads)
        return order, panels, starts, errors

    @cached_property
    def centres(self) -> Array:
        """The means of the rounded rows of each chunk, (chunks, d), plus 128."""
        panels = self.packed[1]
        centres = np.empty((-(-len(panels) // _CHUNK), _STEP * self.steps))
        for chunk in range(len(centres)):
            part = panels[chunk * _CHUNK : (chunk + 1) * _CHUNK]
            centres[chunk] = part.mean(axis=(0, 2), dtype=np.float64).ravel()
        return centres[:, : self.d]

    def place(self, queries: Array) -> Array:
        """Return an order of queries: neighbours side by side."""
        if queries is self.rows:
            return self.packed[0]
        return SpaceTree(queries, self.threads, self.subject, pack=False).order

    def count_measured(self, queries: Array, places: Array, k: int) -> float:
        """Return the rows that a query is measured against, as a mean over some groups of queries."""
        starts = np.unique(np.linspace(0, max(0, len(places) - GROUP), _TRIED).astype(np.intp))
        parts = [places[start : start + GROUP] for start in starts]
        measured = count = 0
        for part in parts:
            measured += self._search(queries[part], np.full(len(part), -1), *empty_heaps(len(part), k))
            count += len(part)
        return measured / count

    def nearest(self, queries: Array, own: Array, places: Array, distances: Array, indices: Array) -> None:
        """Write the k nearest rows of each query and their squared distances; `places` is the order of queries."""
        k = distances.shape[1]
        self.centres  # noqa: B018 - made before threads share it

        def search(item: int) -> None:
            part = places[item * self.block : (item + 1) * self.block]
            near = empty_heaps(len(part), k)
            self._search(queries[part], own[part], *near)
            distances[part], indices[part] = near

        run_numbered(search, -(-len(places) // self.block), self.threads)

    def _search(self, queries: Array, own: Array, distances: Array, indices: Array) -> int:
        """Write the k nearest rows of a block of queries; return how many rows were measured."""
        slack = self.frame[3]
        queries = np.ascontiguousarray(queries, np.float64)
        block = self._open_block(queries, own, distances, indices)
        row_scan.round_queries(block, self.frame[0])
        run = max(1, _OPERATIONS // (len(queries) * (self.steps + 4) * PANEL * _CHUNK // 16))
        chunks, measured = self._sort_chunks(queries), 0
        for first in range(0, len(chunks), run):
            part = chunks[first : first + run]
            measured += row_scan.search_rounded(self.rows, self.packed, block, part, slack)
        row_scan.sort_heaps(distances, indices)
        return measured

    def _sort_chunks(self, queries: Array) -> Array:
        """Return the numbers of all chunks, those whose centres are near the mean of the queries first."""
        shift, scale, step, _ = self.frame
        values = np.clip((queries * scale - shift) / step, -_MOST, _MOST)
        gaps = self.centres - (values.mean(axis=0) + 128.0)
        return np.argsort(np.einsum("ij,ij->i", gaps, gaps), kind="stable")

    def _open_block(self, queries: Array, own: Array, distances: Array, indices: Array) -> row_scan.ByteBlock:
        groups = -(-len(queries) // GROUP)
        packing = (
            np.empty((groups, self.steps, GROUP, _STEP), np.int8),
            np.empty((3, groups * GROUP)),
            np.empty(groups * GROUP, np.int32),
        )
        _, scale, step, _ = self.frame
        return row_scan.ByteBlock(list_answers(queries, own, distances, indices), packing, scale, step)
