"""Rows of length one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.blockwise import BlockMap, StatelessTransformer
from mercer._base.parameter import Choice, parameter
from mercer._source import Block
from mercer._types import Array


class Normalizer(StatelessTransformer):
    r"""Divide each row by its norm.

    .. math:: z = x / \|x\|, \qquad \|x\| = \sum_j |x_j|, \; \sqrt{\textstyle\sum_j x_j^2} \text{ or } \max_j |x_j|

    A row of zeros stays as it is.

    Attributes
    ----------
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is learnt.

    Notes
    -----
    Two operations a value. Nothing is learnt: ``fit`` only notes the columns, and ``transform`` works without it.
    Squares that would overflow or vanish are taken of the row over its largest magnitude. Sparse rows stay sparse.
    Rows: NumPy, sparse, frames, files, streams, Dask, devices.

    Examples
    --------
    >>> from mercer.preprocessing import Normalizer
    >>> Normalizer().transform([[3.0, 4.0], [0.0, 2.0]])
    array([[0.6, 0.8],
           [0. , 1. ]])
    """

    norm: str = parameter(Choice("l1", "l2", "max"), default="l2", kw_only=False, doc="The norm of a row.")

    def _make_map(self, back: bool = False) -> "_UnitRows":
        return _UnitRows(type(self).__name__, self.norm)


@dataclass(frozen=True, eq=False)
class _UnitRows(BlockMap):
    """Rows over their norms."""

    norm: str

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        rows, norms = self._measure(rows, xp)
        return rows / xp.astype(norms, rows.dtype)[:, None]

    def write(self, block: Block, out: Array) -> None:
        rows, norms = self._measure(block.X, np)
        np.divide(rows, norms.astype(out.dtype, copy=False)[:, None], out=out)

    def _measure(self, rows: Array, xp: Any) -> tuple[Array, Array]:
        """Return rows of the same directions, and their norms; 1 for a row of zeros."""
        norms = self._sum(rows, xp)
        # Rows whose squares have overflowed, or fallen below the normal range, are divided by their largest value.
        info = xp.finfo(norms.dtype)
        if self.norm != "max" and not bool(xp.all((norms > 8 * info.smallest_normal**0.5) & (norms < info.max / 8))):
            largest = xp.max(xp.abs(rows), axis=1)
            rows = rows / xp.where(largest > 0, largest, xp.ones_like(largest))[:, None]
            norms = self._sum(rows, xp)
        return rows, xp.where(norms > 0, norms, xp.ones_like(norms))

    def _sum(self, rows: Array, xp: Any) -> Array:
        """Return the norms of the rows as they are; those of float32 in NumPy are summed in float64."""
        if self.norm == "max":
            return xp.max(xp.abs(rows), axis=1)
        wide: dict[str, Any] = {"dtype": np.float64} if xp is np else {}
        with np.errstate(over="ignore"):
            if self.norm == "l1":
                return xp.sum(xp.abs(rows), axis=1, **wide)
            return xp.sqrt(np.einsum("ij,ij->i", rows, rows, **wide) if xp is np else xp.sum(rows * rows, axis=1))

    def on_entries(self, X: Any, in_place: bool) -> Any:
        result = X if in_place else X.copy()
        result.sum_duplicates()
        counts = np.diff(result.indptr)
        some = counts > 0
        if some.any():
            # Runs of stored values of the rows that have any follow one another without a gap.
            starts = result.indptr[:-1][some]
            sizes = np.abs(result.data)
            largest = np.maximum.reduceat(sizes, starts)
            largest[largest == 0] = 1.0
            # Values over the largest of their row: squares neither overflow nor vanish.
            result.data /= np.repeat(largest, counts[some])
            if self.norm != "max":
                sizes = np.abs(result.data) if self.norm == "l1" else result.data**2
                sums = np.add.reduceat(sizes, starts)
                norms = sums if self.norm == "l1" else np.sqrt(sums)
                norms[norms == 0] = 1.0
                result.data /= np.repeat(norms, counts[some])
        return result
