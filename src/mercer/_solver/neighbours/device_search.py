"""Nearest rows among rows on a device: products find candidates, and exact distances of these decide."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from mercer._solver.neighbours.candidate_search import CandidateSearch, can_list
from mercer._source.device.source import full_precision
from mercer._source.namespace import namespace_of, to_numpy
from mercer._source.placement import Placement
from mercer._types import Array
from mercer.errors import DataError

# Scores of queries and rows held at a time: 256 MiB of float64.
_TABLE = 2**25
# Candidates beside the k nearest: enough for ties and rounding of most queries.
_SPARE = 12
# How many times more candidates are taken for queries where these did not do.
_GROWTH = 8
# The least power of two of the largest entry that CUDA programs take: squares of smaller numbers lose digits.
_LEAST_EXPONENT = -400.0


class DeviceSearch:
    """Euclidean rows on a device, compared with every query, a block of queries at a time.

    The score |y|^2 / 2 - x . y of all rows y is one product. The rows of the least scores are candidates; their
    distances are computed again from differences, column by column, as the CPU does. Where rounding could hide a
    neighbour among the other rows, more candidates are taken: so the answer is that of the CPU, and ties go to the
    lower index. A device without float64 answers to the precision of float32. On NVIDIA GPUs, CUDA programs find the
    candidates without storing scores (see :class:`CandidateSearch`), in a seventh to a fifteenth of the time of array
    operations (``benchmarks/results/device_neighbours_h200.json``).

    Parameters
    ----------
    rows : array of shape (n, d), of torch, CuPy or array-api-strict
    subject : str
        The name of the estimator, for errors.
    """

    def __init__(self, rows: Array, subject: str) -> None:
        self.rows, self.subject = rows, subject
        self.xp, self.placement = namespace_of(rows), Placement.of(rows)
        self.n, self.d = rows.shape
        self.shift = self.xp.mean(self.xp.astype(rows, self.placement.wide), axis=0)
        # The rounding of a sum of d products, and of what is added to it.
        self.unit = (self.d + 8.0) * (2.0**-24 if self.placement.is_narrow else 2.0**-53)

    @cached_property
    def centred(self) -> Array:
        """The rows minus their mean, in the wide type."""
        return self.xp.astype(self.rows, self.placement.wide) - self.shift

    @cached_property
    def halves(self) -> Array:
        """Half the squared lengths of the centred rows."""
        return 0.5 * self.xp.sum(self.centred * self.centred, axis=1)

    @cached_property
    def longest(self) -> float:
        """The largest of the halves."""
        return float(self.xp.max(self.halves)) if self.n else 0.0

    def nearest(self, queries: Array, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        """Return the distances to the k nearest rows of each query, (m, k), and their indices, as NumPy arrays."""
        if can_list(self.rows, k):
            squares, indices = self.find_there(queries, k, leave_out_self=leave_out_self)
            return np.sqrt(to_numpy(squares)), to_numpy(indices).astype(np.intp, copy=False)
        m, size = queries.shape[0], max(1, _TABLE // max(1, self.n))
        distances, indices = np.empty((m, k)), np.empty((m, k), np.intp)
        with full_precision(self.placement):
            for start in range(0, m, size):
                part = slice(start, min(start + size, m))
                own = np.arange(part.start, part.stop) if leave_out_self else None
                distances[part], indices[part] = self._search(queries[part, :], own, k, _SPARE)
        return distances, indices

    def nearest_there(self, queries: Array, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        """Return what :meth:`nearest` returns; answers of CUDA programs stay on the device."""
        if not can_list(self.rows, k):
            return self.nearest(queries, k, leave_out_self=leave_out_self)
        squares, indices = self.find_there(queries, k, leave_out_self=leave_out_self)
        return self.xp.sqrt(squares), indices

    def find_there(self, queries: Any, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        """Return the squared distances, float64, and the indices of the k nearest rows as arrays on the device.

        CUDA programs find them for all queries but those whose answer they cannot prove; array operations do the rest.
        """
        xp, m = self.xp, queries.shape[0]
        reach = max(float(xp.max(xp.abs(part - self.shift))) if part.shape[0] else 0.0 for part in (self.rows, queries))
        own = xp.arange(m, device=queries.device) if leave_out_self else xp.full((m,), -1, device=queries.device)
        with full_precision(self.placement):
            small = not math.isfinite(reach) or reach == 0.0 or math.log2(reach) < _LEAST_EXPONENT
            if small or not can_list(self.rows, k):
                return self._find_by_arrays(queries, own if leave_out_self else None, k)
            found = CandidateSearch(self.rows, reach, self.shift).find(queries, own, k)
            rest = xp.nonzero(~found.proved)[0]
            if rest.shape[0]:
                lines = xp.take(queries, rest, axis=0)
                answer = self._find_by_arrays(lines, xp.take(own, rest) if leave_out_self else None, k)
                found.squares[rest], found.indices[rest] = answer
        return found.squares, found.indices

    def _find_by_arrays(self, queries: Array, own: Array, k: int) -> tuple[Array, Array]:
        """Return what `find_there` returns, by array operations; `own` (m,) are rows to leave out, or None."""
        m, size = queries.shape[0], max(1, _TABLE // max(1, self.n))
        host = None if own is None else to_numpy(own)
        squares, indices = np.empty((m, k)), np.empty((m, k), np.int64)
        for start in range(0, m, size):
            part = slice(start, min(start + size, m))
            found = self._search(queries[part, :], None if host is None else host[part], k, _SPARE)
            squares[part], indices[part] = found[0] ** 2, found[1]
        return self.placement.put(squares), self.placement.put(indices)

    def _search(self, queries: Array, own: Array, k: int, spare: int) -> tuple[Array, Array]:
        """Return the distances and indices of the k nearest rows of a block of queries."""
        xp = self.xp
        points = xp.astype(queries, self.placement.wide) - self.shift
        # |y|^2 / 2 - x.y orders rows as their distances from x do.
        scores = self.halves - xp.matmul(points, xp.permute_dims(self.centred, (1, 0)))
        # The row itself may be among the candidates, and is dropped from them.
        width = min(self.n, k + (own is not None) + spare)
        chosen = self._choose(scores, width)
        squares, places = to_numpy(self._measure(queries, chosen)).astype(np.float64), to_numpy(chosen)
        if own is not None:
            squares = np.where(places == own[:, None], np.inf, squares)
        # By distance, then by index: ties go to the lower row.
        order = np.lexsort((places, squares), axis=1)[:, :k]
        squares, places = (np.take_along_axis(table, order, axis=1) for table in (squares, places))
        if width < self.n:
            # Rounding of the products may have kept a nearer row out of the candidates.
            open_lines = self._find_uncertain(points, scores, chosen, squares[:, -1])
            if len(open_lines):
                lines = self.placement.put(open_lines)
                again = self._search(
                    xp.take(queries, lines, axis=0), None if own is None else own[open_lines], k, _GROWTH * width
                )
                squares[open_lines], places[open_lines] = again[0] ** 2, again[1]
        return np.sqrt(squares), places.astype(np.intp)

    def _choose(self, scores: Array, width: int) -> Array:
        """Return the rows of the `width` least scores of each query, in any order."""
        if self.placement.library == "torch":
            import torch

            return torch.topk(scores, width, dim=1, largest=False).indices  # type: ignore[arg-type]
        if self.placement.library == "cupy" and width < self.n:
            import cupy

            return cupy.argpartition(scores, width - 1, axis=1)[:, :width]
        return self.xp.argsort(scores, axis=1)[:, :width]

    def _measure(self, queries: Array, chosen: Array) -> Array:
        """Return the squared distances from each query to its candidates, summed in the order of columns."""
        xp, flat = self.xp, self.xp.reshape(chosen, (-1,))
        total = xp.zeros(chosen.shape, dtype=self.placement.wide, device=self.placement.device)
        for column in range(self.d):
            values = xp.reshape(xp.take(self.rows[:, column], flat), chosen.shape)
            step = xp.astype(values, self.placement.wide) - xp.astype(queries[:, column], self.placement.wide)[:, None]
            total = total + step * step
        return total

    def _find_uncertain(self, points: Array, scores: Array, chosen: Array, squares: Array) -> Array:
        """Return the queries for which rounding may hide a row as near as the k-th among the other rows."""
        xp = self.xp
        own = to_numpy(xp.sum(points * points, axis=1)).astype(np.float64)
        width = chosen.shape[1]
        # The scores of the other rows are at least the largest one of the candidates.
        gathered = xp.take(xp.reshape(scores, (-1,)), xp.reshape(self._flatten(chosen), (-1,)))
        last = to_numpy(xp.max(xp.reshape(gathered, (-1, width)), axis=1)).astype(np.float64)
        error = self.unit * (np.sqrt(own) * np.sqrt(2.0 * self.longest) + self.longest + own)
        # |x - y|^2 / 2 = score + |x|^2 / 2.
        return np.flatnonzero(last - error <= 0.5 * squares - 0.5 * own + error)

    def _flatten(self, chosen: Array) -> Array:
        """Return the places of candidates in the table of scores, one row of it after the other."""
        lines = self.xp.arange(chosen.shape[0], dtype=chosen.dtype, device=self.placement.device)
        return chosen + lines[:, None] * self.n

    def within(
        self, queries: Any, radius: float, *, leave_out_self: bool = False, by_distance: bool = False
    ) -> tuple[Array, Array, Array]:
        """Raise: lists of any length are made in memory."""
        raise DataError(
            f"{self.subject}: a list of neighbours of any length needs all rows in memory; got rows on "
            f"{self.placement}. Move the model and the rows: mercer.to_device(model, 'cpu')."
        )
