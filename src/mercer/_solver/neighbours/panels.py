"""Search for nearest rows by comparing every query with every row, a panel of rows at a time."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mercer._native.nearest import row_scan
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._types import Array

# Takes pairs of a query and a row, and their squared distances.
Receive = Callable[[tuple[Array, Array]], None]
# Rows in a panel and queries in a group; the native code has the same constants.
PANEL = 64
GROUP = 6
# Candidates that one query can have waiting: 16 and those of one panel.
_WAITING = 80
# Values of queries in a block: 16 KiB of float32, so that they stay in the fastest cache beside a panel.
_BLOCK = 4096
# Products in one native call: about 30 ms at the speed of AVX-512.
_PRODUCTS = 2**30
# Panels packed in one item of work: 16 384 rows.
_PACKED = 256
# Pairs that one call of the search within a radius may list: 6 MiB of indices and distances.
_PAIRS = 2**18


def empty_heaps(n_queries: int, k: int) -> tuple[Array, Array]:
    """Return heaps without rows: infinite distances, and an index above all others."""
    return np.full((n_queries, k), np.inf), np.full((n_queries, k), np.iinfo(np.intp).max, np.intp)


def frame_rows(rows: Array) -> tuple[Array, float]:
    """Return a shift of columns, (d,), and a power of two: rows times it, less the shift, are small numbers."""
    largest = max(float(rows.max()), -float(rows.min()))
    # A power of two changes no digit; the largest value becomes one at most.
    scale = 2.0 ** -min(1000, max(-1000, int(np.frexp(largest)[1])))
    with np.errstate(over="ignore", invalid="ignore"):
        mean = rows.mean(axis=0, dtype=np.float64)
    if not np.isfinite(mean).all():
        mean = (rows * scale).mean(axis=0, dtype=np.float64) / scale
    return mean * scale, scale


class RowPanels:
    """Rows that queries are compared with one by one.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64
    threads : int
    subject : str
        The name of the estimator, for the memory forecast.
    """

    def __init__(self, rows: Array, threads: int, subject: str) -> None:
        self.rows, self.threads, self.subject = rows, threads, subject
        self.n, self.d = rows.shape
        # At least four groups, so that a panel in the second cache is used more than once.
        self.block = GROUP * max(4, min(64, _BLOCK // (GROUP * max(1, self.d))))

    @cached_property
    def packed(self) -> tuple[Array, Array, Array, float]:
        """The panels, the largest norm in each, the shift of columns, and the power of two by which rows are scaled."""
        n_panels = -(-self.n // PANEL)
        # Four bytes for each column and the norm of each row, padded to whole panels.
        size = 4 * n_panels * PANEL * (self.d + 1)
        require_memory(self.subject, size, f"panels of {self.n} rows", "fit fewer rows")
        shift, scale = frame_rows(self.rows)
        panels = np.empty((n_panels, self.d + 1, PANEL), np.float32)
        reach = np.empty(n_panels)

        def pack(item: int) -> None:
            first = item * _PACKED
            row_scan.pack_rows(self.rows, shift, scale, first, min(first + _PACKED, n_panels), panels, reach)

        run_numbered(pack, -(-n_panels // _PACKED), self.threads)
        return panels, reach, shift, scale

    def nearest(self, queries: Array, own: Array, distances: Array, indices: Array) -> None:
        """Write the k nearest rows of each query and their squared distances, by panels on all threads."""
        panels, reach, shift, scale = self.packed
        # Panels in one native call, so that it lasts at most some milliseconds.
        run = max(1, _PRODUCTS // (self.block * PANEL * (self.d + 8)))

        def search(item: int) -> None:
            part = slice(item * self.block, (item + 1) * self.block)
            block = _open_block(queries[part], own[part], distances[part], indices[part], scale)
            row_scan.pack_queries(block, shift)
            for first in range(0, len(panels), run):
                row_scan.search_panels(self.rows, panels, reach, block, first, min(first + run, len(panels)))
            row_scan.sort_heaps(distances[part], indices[part])

        run_numbered(search, -(-len(queries) // self.block), self.threads)

    def nearest_of_few(self, queries: Array, own: Array, distances: Array, indices: Array) -> None:
        """Write what `nearest` writes, by exact distances to all rows: no panels are needed."""
        run = max(1, _PRODUCTS // (8 * (self.d + 8)))
        for query in range(0, len(queries), self.block):
            part = slice(query, query + self.block)
            answers = row_scan.Answers(*list_answers(queries[part], own[part], distances[part], indices[part]))
            for first in range(0, self.n, run):
                row_scan.search_all(self.rows, answers, first, min(first + run, self.n))
            row_scan.sort_heaps(distances[part], indices[part])

    def within(self, queries: Array, own: Array, square: float, receive: Receive) -> None:
        """Pass on pairs of a query and a row within squared distance `square`, (c, 2), and these, in parts."""
        panels, reach, shift, scale = self.packed
        # Queries in an item, so that all pairs of an item fit the list.
        size = GROUP * max(1, min(self.block // GROUP, _PAIRS // (4 * PANEL * GROUP)))
        run = max(1, _PAIRS // (size * PANEL))

        def search(item: int) -> tuple[Array, Array]:
            part = slice(item * size, (item + 1) * size)
            block = _open_block(queries[part], own[part], *empty_heaps(0, 1), scale)
            row_scan.pack_queries(block, shift)
            pairs, squares = np.empty((size * PANEL * run, 2), np.intp), np.empty(size * PANEL * run)
            lists = []
            for first in range(0, len(panels), run):
                stop = min(first + run, len(panels))
                count = row_scan.search_within(self.rows, panels, reach, block, first, stop, square, pairs, squares)
                lists.append((pairs[:count] + np.array([item * size, 0]), squares[:count].copy()))
            return np.concatenate([pairs for pairs, _ in lists]), np.concatenate([squares for _, squares in lists])

        run_numbered(search, -(-len(queries) // size), self.threads, receive)


def _open_block(queries: Array, own: Array, distances: Array, indices: Array, scale: float) -> row_scan.Block:
    n_queries, d = queries.shape
    groups = -(-n_queries // GROUP)
    packing = np.empty((groups, d, GROUP), np.float32), np.empty(groups * GROUP), np.empty(groups * GROUP, np.float32)
    return row_scan.Block(list_answers(queries, own, distances, indices), packing, scale)


def list_answers(queries: Array, own: Array, distances: Array, indices: Array) -> tuple[Any, ...]:
    """Return the parameters of the native record of answers: queries, heaps and scratch."""
    n_queries = len(queries)
    scratch = (
        np.empty((n_queries, _WAITING), np.int32),
        np.zeros(n_queries, np.intp),
        np.empty(GROUP, np.uint64),
        np.empty(4, np.intp),
        np.empty(4),
    )
    return queries, own, (distances, indices), scratch
