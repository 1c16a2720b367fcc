"""Nearest rows on an NVIDIA GPU by two CUDA programs: products in half precision list candidates, distances rank them.

With 11 bits of mantissa, |x . y - x' . y'| <= |x - x'| |y| + |x'| |y - y'| for the rounded x' and y'. Both terms are
products of a number of the query and a number of the row, so that two more columns make the matrix product itself an
upper bound; two further columns subtract |y|^2 / 2. A row whose bound stays below a limit cannot be nearer than the
limit says. A sample of the rows gives the limit: its j-th nearest row, with j such that more than k rows are expected
below it. The answer is proved afterwards: if the k-th exact distance is within the limit, no other row is nearer.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from mercer._source.device.cuda_program import CudaProgram, capability_of, cuda_program, device_of
from mercer._types import Array

# Queries and rows of a tile, as in the CUDA program.
_TILE = 128
# Threads of a block, as in the CUDA programs.
_THREADS = 256
# Most candidates of a query: 48 KiB of shared memory hold their distances and indices.
_CAPACITY = 4096
# Most neighbours that are asked for: lists must be several times as long.
_MOST_NEIGHBOURS = 1024
# Most products of 16 entries for a pair: the queries' entries then fill half of the registers.
_MOST_STEPS = 16
# Columns that hold bounds and half squares.
_EXTRA = 4
# Fewer rows than this take less time by array operations.
_FEWEST_ROWS = 8192
# The least sample of rows that gives limits.
_LEAST_SAMPLE = 4096
# Rows for each row of the sample, where there are many: lists then have about 1300 entries.
_ROWS_PER_SAMPLE = 128
# Scores of queries and sampled rows held at a time: 4 GiB of float32.
_SCORES = 2**30
# Queries of a batch: their lists of 4096 take 2 GiB, and their 1024 tiles keep a GPU busy.
_BATCH = 2**17
# Blocks that keep a large GPU busy: two for each of 132 multiprocessors.
_BUSY = 264
# Rows that are converted at a time.
_ROWS_AT_ONCE = 2**20
# Largest entry of a scaled line is at most 2**12 / sqrt(d), so that half squares stay below 2**23.
_LARGEST = 2.0**12
# What half squares are divided by, and the queries' columns for them hold: 2**23 / 2**10 is within half precision.
_DIVISOR = 2.0**10
# The entry for |y|^2 / 2 of padding: beyond all limits, within half precision.
_FARTHEST = 60000.0
# Bound on the rounding of a product of two lines and of its limit, relative to |x| |y| + |y|^2 / 2.
_ROUNDING = 2.0**-18
# Searches for queries whose lists overflowed or stopped short; what is left then goes to array operations.
_ROUNDS = 3
# The least compute capability with these matrix instructions and asynchronous copies.
_LEAST_CAPABILITY = 80


class Answers(NamedTuple):
    """Squared distances (m, k), float64, indices (m, k), and which lines (m,) are proved to be right."""

    squares: Any
    indices: Any
    proved: Any


def can_list(rows: Array, k: int) -> bool:
    """Return whether the programs serve these rows: torch on an NVIDIA GPU, enough of them, not too wide."""
    device = device_of(rows)
    if device is None or not hasattr(rows, "data_ptr") or capability_of(device) < _LEAST_CAPABILITY:
        return False
    n, d = rows.shape
    return n >= _FEWEST_ROWS and d + _EXTRA <= 16 * _MOST_STEPS and 2 * k <= min(n, 2 * _MOST_NEIGHBOURS)


class CandidateSearch:
    """Rows of a torch tensor on an NVIDIA GPU, laid out for the programs.

    Parameters
    ----------
    rows : tensor of shape (n, d), float32 or float64
    reach : float
        The largest absolute entry of rows and queries, each minus `shift`.
    shift : tensor of shape (d,), float64
    """

    def __init__(self, rows: Any, reach: float, shift: Any) -> None:
        import torch

        self.torch, self.rows, self.shift = torch, rows, shift
        self.n, self.d = rows.shape
        # A power of two changes no digit of an entry.
        exponent = math.floor(math.log2(_LARGEST / math.sqrt(self.d) / reach)) if reach > 0 else 0
        self.scale = 2.0**exponent
        self.steps = -(-(self.d + _EXTRA) // 16)
        self.table, self.longest = self._lay_rows()
        self.padded = self._pad(rows)
        self.sample = self._draw_sample()
        self.stages = 3 if self.steps <= 8 else 2

    def find(self, queries: Any, own: Any, k: int) -> Answers:
        """Return the k nearest rows of each query; `own` (m,) is the row to leave out, -1 for none."""
        torch, m = self.torch, queries.shape[0]
        squares = torch.empty((m, k), dtype=torch.float64, device=queries.device)
        indices = torch.empty((m, k), dtype=torch.int64, device=queries.device)
        proved = torch.zeros(m, dtype=torch.bool, device=queries.device)
        size = min(_BATCH, max(_TILE, _SCORES // len(self.sample)))
        for start in range(0, m, size):
            part = slice(start, min(start + size, m))
            found = self._find_batch(queries[part], own[part], k)
            squares[part], indices[part], proved[part] = found
        return Answers(squares, indices, proved)

    def _find_batch(self, queries: Any, own: Any, k: int) -> Answers:
        """Search for a batch: by limits of the sample, then again by the k-th distances found where these failed."""
        lines, lengths = self._lay_queries(queries)
        limits = self._estimate_limits(queries, k)
        answers = self._list_and_rank(queries, own, lines, lengths, limits, k)
        for _ in range(_ROUNDS - 1):
            again = (~answers.proved & self.torch.isfinite(answers.squares[:, -1])).nonzero()[:, 0]
            if not len(again):
                break
            # A distance that k rows are known to have is a limit that cannot be too low.
            limits = self._score(answers.squares[again, -1], lengths[again])
            given = queries[again], own[again], lines[again], lengths[again], limits, k
            for whole, part in zip(answers, self._list_and_rank(*given), strict=True):
                whole[again] = part
        return answers

    def _score(self, squares: Any, lengths: Any) -> Any:
        """Return |y|^2 / 2 - x . y in scaled units, which is (|x - y|^2 - |x|^2) / 2."""
        return 0.5 * (self.scale * self.scale * squares - lengths * lengths)

    def _list_and_rank(self, queries: Any, own: Any, lines: Any, lengths: Any, limits: Any, k: int) -> Answers:
        """Return the k nearest of the rows within the limits, float64."""
        torch, (m, width) = self.torch, lines.shape
        blocks, tiles = -(-m // _TILE), self.table.shape[0] // _TILE
        slices = max(1, min(8, _BUSY // blocks, tiles // 8))
        height = -(-tiles // slices)
        slices = -(-tiles // height)
        padded = torch.zeros((blocks * _TILE, width), dtype=torch.float16, device=lines.device)
        padded[:m] = lines
        # The rounding of sums is added to limits, not to each sum.
        slack = _ROUNDING * (lengths * self.longest + 0.5 * self.longest * self.longest)
        ends = torch.full((blocks * _TILE,), -math.inf, dtype=torch.float32, device=lines.device)
        ends[:m] = (limits + slack).to(torch.float32)
        counts = torch.empty((slices, blocks * _TILE), dtype=torch.int32, device=lines.device)
        lists = torch.empty((slices, blocks * _TILE, _CAPACITY), dtype=torch.int32, device=lines.device)
        given = [padded, ends, self.table, tiles, height, _CAPACITY, counts, lists]
        self._listing.launch((blocks, slices), _THREADS, given, lines)
        squares = torch.empty((m, k), dtype=torch.float64, device=lines.device)
        indices = torch.empty((m, k), dtype=torch.int64, device=lines.device)
        known = torch.empty(m, dtype=torch.int32, device=lines.device)
        given = [self.padded, self._pad(queries), own.contiguous(), self.padded.shape[1], counts, lists]
        given += [blocks * _TILE, slices, _CAPACITY, k, squares, indices, known]
        self._ranking.launch((m, 1), _THREADS, given, lines)
        proved = (known > 0) & (self._score(squares[:, -1], lengths) <= limits)
        return Answers(squares, indices, proved)

    @property
    def _listing(self) -> CudaProgram:
        constants = {"STEPS": self.steps, "STAGES": self.stages}
        shared = self.stages * _TILE * (16 * self.steps + 8) * 2
        return self._compile("nearest_rows.cu", "find_candidates", constants, shared)

    @property
    def _ranking(self) -> CudaProgram:
        wide = self.rows.dtype == self.torch.float64
        constants = {"REAL": "double" if wide else "float", "WIDE": int(wide)}
        shared = 8 * self.padded.shape[1] + 12 * _CAPACITY
        return self._compile("rank_candidates.cu", "rank_candidates", constants, shared)

    def _compile(self, name: str, function: str, constants: dict[str, Any], shared: int) -> CudaProgram:
        program = cuda_program("mercer._solver.neighbours", name, function, self.rows, constants, shared)
        if program is None:
            raise RuntimeError(f"{name} cannot be compiled.")
        return program

    def _pad(self, rows: Any) -> Any:
        """Return rows with zeros in further columns up to a multiple of 4, which loads of 16 bytes need."""
        pad = -rows.shape[1] % 4
        return rows.contiguous() if not pad else self.torch.nn.functional.pad(rows, (0, pad))

    def _round(self, rows: Any) -> tuple[Any, Any, Any, Any]:
        """Return scaled rows in half precision, their lengths, those of the rounded rows and of the rounding."""
        torch = self.torch
        exact = (rows.to(torch.float64) - self.shift) * self.scale
        short = exact.to(torch.float16)
        rounded = short.to(torch.float64)
        lengths = [torch.linalg.vector_norm(table, dim=1) for table in (exact, rounded, exact - rounded)]
        return short, *lengths

    def _round_up(self, values: Any) -> Any:
        """Return numbers in half precision that are at least `values`."""
        # Half precision rounds by at most 2**-11, and numbers from 2**-14 on have all digits.
        return (values * (1.0 + 2.0**-9) + 2.0**-14).to(self.torch.float16)

    def _lay_rows(self) -> tuple[Any, Any]:
        """Return the table of rows for the program, padded to whole tiles, and the largest length."""
        torch, d = self.torch, self.d
        long = -(-self.n // _TILE) * _TILE
        table = torch.zeros((long, 16 * self.steps), dtype=torch.float16, device=self.rows.device)
        table[self.n :, d + 2] = -_FARTHEST
        longest = torch.zeros((), dtype=torch.float64, device=self.rows.device)
        for start in range(0, self.n, _ROWS_AT_ONCE):
            part = slice(start, min(start + _ROWS_AT_ONCE, self.n))
            short, length, _, error = self._round(self.rows[part])
            half = -0.5 * length * length / _DIVISOR
            high = half.to(torch.float16)
            low = (half - high.to(torch.float64)).to(torch.float16)
            table[part, :d] = short
            table[part, d : d + 4] = torch.stack([self._round_up(length), self._round_up(error), high, low], dim=1)
            longest = torch.maximum(longest, length.max())
        return table, longest

    def _lay_queries(self, queries: Any) -> tuple[Any, Any]:
        """Return the lines of queries for the program, and their lengths."""
        torch, d = self.torch, self.d
        short, length, rounded, error = self._round(queries)
        lines = torch.zeros((len(queries), 16 * self.steps), dtype=torch.float16, device=queries.device)
        lines[:, :d] = short
        lines[:, d], lines[:, d + 1] = self._round_up(error), self._round_up(rounded)
        lines[:, d + 2 : d + 4] = _DIVISOR
        return lines, length

    def _draw_sample(self) -> Any:
        """Return the numbers of rows that stand for all in the estimate of limits; the same in every run."""
        size = min(self.n, max(_LEAST_SAMPLE, self.n // _ROWS_PER_SAMPLE))
        drawn = np.random.default_rng(0).choice(self.n, size, replace=False, shuffle=False)
        return self.torch.asarray(np.sort(drawn), device=self.rows.device)

    def _estimate_limits(self, queries: Any, k: int) -> Any:
        """Return scores that more than k rows are expected to have at most, from those of the sample."""
        torch = self.torch
        others = ((self.rows[self.sample].to(torch.float64) - self.shift) * self.scale).to(torch.float32)
        points = ((queries.to(torch.float64) - self.shift) * self.scale).to(torch.float32)
        scores = torch.addmm(0.5 * (others * others).sum(1), points, others.T, alpha=-1.0)
        # Of k rows, a share is in the sample, give or take its root: 3 roots and 6 rows make fewer a rare event. The
        # query itself may be one.
        share = k * len(self.sample) / self.n
        rank = min(len(self.sample), math.ceil(share + 3.0 * math.sqrt(share) + 6.0) + 1)
        return torch.topk(scores, rank, dim=1, largest=False, sorted=False).values.amax(1).to(torch.float64)
