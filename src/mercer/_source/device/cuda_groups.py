"""Sums of rows by label on an NVIDIA GPU by a CUDA program: each row is read once, and nothing is written but sums."""

from typing import Any

from mercer._source.device.cuda_program import cuda_program, device_of
from mercer._source.groups import Groups
from mercer._types import Array

# Threads of a block, as in the CUDA program.
_THREADS = 256
# Rows of a chunk: enough blocks for a GPU from some 100 000 rows on.
_CHUNK = 512
# Rows that each thread of a group reads at least, so that a block has work for longer than its start takes.
_LEAST_ROWS = 16


class CudaGroups(Groups):
    """Rows of a torch tensor by label; sums in float64, in an order that depends on the labels alone.

    The array operations of :class:`Groups` are its definition, and do what the program cannot.
    """

    def sums(self, values: Array, wide: Any) -> Array:
        table: Any = values if values.ndim == 2 else values[:, None]
        xp = self.xp
        if wide != xp.float64 or table.dtype not in (xp.float32, xp.float64) or table.stride(1) != 1:
            return super().sums(values, wide)
        total = self._sum_by_program(table)
        if total is None:
            return super().sums(values, wide)
        return total if values.ndim == 2 else total[:, 0]

    def _sum_by_program(self, table: Any) -> Any:
        """Return the sums (k, q) of a table (n, q); None where there is no program for its device."""
        xp, (n, width) = self.xp, table.shape
        lanes = min(_THREADS, 2 ** max(0, width - 1).bit_length())
        real = "float" if table.dtype == xp.float32 else "double"
        programs = [self._find_program(table, kind, lanes, ordered) for kind, ordered in ((real, 1), ("double", 0))]
        if device_of(table) is None or None in programs:
            return None
        chunk = max(_CHUNK, _LEAST_ROWS * (_THREADS // lanes))
        counts = self.starts[1:] - self.starts[:-1]
        begins = xp.cumulative_sum((counts + (chunk - 1)) // chunk, include_initial=True)
        # At most one chunk of each label is not full: a bound that needs no number from the device.
        blocks = n // chunk + self.k
        parts = xp.empty((blocks, width), dtype=xp.float64, device=table.device)
        given = [table, table.stride(0), width, self.order, self.starts, begins, self.k, chunk, parts]
        programs[0].launch((blocks, 1), _THREADS, given, table)
        total = xp.empty((self.k, width), dtype=xp.float64, device=table.device)
        # One chunk for each label, as long as it needs to be.
        numbers = xp.arange(self.k + 1, dtype=xp.int64, device=table.device)
        given = [parts, width, width, self.order, begins, numbers, self.k, blocks, total]
        programs[1].launch((self.k, 1), _THREADS, given, table)
        return total

    @staticmethod
    def _find_program(table: Any, real: str, lanes: int, ordered: int) -> Any:
        constants = {"REAL": real, "LANES": lanes, "ORDERED": ordered}
        return cuda_program("mercer._source.device", "group_sums.cu", "sum_chunks", table, constants)
