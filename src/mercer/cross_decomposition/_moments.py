"""The joint second moments of two tables: all that canonical correlations and partial least squares need of rows."""

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._solver import Dense
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._statistic import Moments, MomentSums, Statistic
from mercer._statistic.moments import PackedMoments, targets
from mercer._types import Array
from mercer.errors import DataError


@dataclass(frozen=True)
class JointMoments(Statistic):
    """Weight, mean and scatter of the rows (x_i, y_i): the columns of X and then those of y, as one table."""

    sums_all_values = True

    def of(self, block: Block) -> MomentSums:
        xp, parts = block.xp, Moments().of(block)
        gaps = targets(block) - parts.y_mean
        y_scatter = gaps.T @ block.weigh(gaps)
        upper = xp.concat([parts.scatter, parts.cross], axis=1)
        lower = xp.concat([parts.cross.T, y_scatter], axis=1)
        return MomentSums(parts.weight, xp.concat([parts.mean, parts.y_mean]), xp.concat([upper, lower]))

    def native_run(self, block: Block, unit: int) -> PackedMoments:
        """Compute the moments in one pass; native code joins the columns of X and y already."""
        sums: Any = Moments().native_run(block, unit)
        return PackedMoments(sums.weight, sums.means, sums.packed, len(sums.means))


@dataclass(frozen=True, eq=False)
class Side:
    """The second moments of one table, centred and scaled: its scatter, or fewer rows than columns.

    With the rows F, each times the root of its weight, the scatter is F^T F; one of the two is given.
    """

    scatter: Array = None
    rows: Array = None

    @property
    def width(self) -> int:
        return (self.rows if self.scatter is None else self.scatter).shape[1]

    def times(self, vectors: Array) -> Array:
        """Return scatter @ vectors."""
        return self.rows.T @ (self.rows @ vectors) if self.scatter is None else self.scatter @ vectors

    def trace(self) -> float:
        """Return the sum of squares of the table."""
        return float(np.vdot(self.rows, self.rows) if self.scatter is None else np.trace(self.scatter))


@dataclass(frozen=True, eq=False)
class TwoTables:
    """Two centred and scaled tables as solvers see them: the moments of each, and those between them."""

    weight: float
    x_mean: Array
    y_mean: Array
    x_scale: Array
    y_scale: Array
    x: Side
    y: Side
    cross: Array


def measure(subject: str, source: Source, scale: bool) -> Generator[Any, Any, TwoTables]:
    """Request the moments of both tables; a generator that returns them.

    With fewer rows than columns, rows in memory are kept instead of the larger matrix of products of columns.
    """
    p, q = source.n_features, source.n_targets
    n_rows = source.known_rows
    if source.place == "memory" and source.n_rows < max(p, q):
        n_bytes = 16.0 * source.n_rows * (p + q)
        require_memory(subject, n_bytes, "the centred rows", "select columns")
        tables: TwoTables = yield Dense(partial(_read_rows, subject, source, scale))
        return tables
    cure = "select columns, or load the rows into memory" if n_rows and n_rows < p else "select columns"
    require_memory(subject, 24.0 * (p + q) ** 2, f"the products of {p + q} columns", cure)
    sums = yield JointMoments()
    return _from_sums(subject, sums, p, scale)


def _from_sums(subject: str, sums: Any, p: int, scale: bool) -> TwoTables:
    """Scale the moments; a constant column has moments of zero and is divided by one."""
    mean, scatter = np.asarray(sums.mean), sums.scatter
    squares = np.diagonal(scatter).copy()
    scales, constant = _find_scales(subject, sums.weight, mean, squares, scale)
    if constant.any():
        scatter = scatter.copy()
        # What rounding has left of a constant column must not be scaled up.
        scatter[constant] = 0.0
        scatter[:, constant] = 0.0
    if scale:
        scatter = scatter / scales[:, None] / scales[None, :]
    x, y = Side(scatter=np.ascontiguousarray(scatter[:p, :p])), Side(scatter=np.ascontiguousarray(scatter[p:, p:]))
    cross = np.ascontiguousarray(scatter[:p, p:])
    return TwoTables(sums.weight, mean[:p].copy(), mean[p:].copy(), scales[:p], scales[p:], x, y, cross)


def _read_rows(subject: str, source: Source, scale: bool) -> TwoTables:
    """Centre, scale and weigh the rows of both tables."""
    rows = source.whole()
    X = rows.toarray() if is_sparse_matrix(rows) else rows
    y = source.y if source.y.ndim == 2 else source.y[:, None]
    weights = source.row_weights() if source.has_weight else np.ones(len(X))
    total = float(weights.sum())
    sides = []
    for table in (X, y):
        mean = weights @ np.asarray(table, dtype=np.float64) / total
        gaps = (table - mean).astype(np.float64, copy=False)
        if source.has_weight:
            # Rows times the root of their weight make sums of squares weighted.
            gaps *= np.sqrt(weights)[:, None]
        scales, constant = _find_scales(subject, total, mean, np.einsum("ij,ij->j", gaps, gaps), scale)
        gaps[:, constant] = 0.0
        gaps /= scales
        sides.append((mean, scales, gaps))
    (x_mean, x_scale, x_rows), (y_mean, y_scale, y_rows) = sides
    return TwoTables(total, x_mean, y_mean, x_scale, y_scale, Side(rows=x_rows), Side(rows=y_rows), x_rows.T @ y_rows)


def _find_scales(subject: str, weight: float, mean: Array, squares: Array, scale: bool) -> tuple[Array, Array]:
    """Return the standard deviation of each column, 1 where it is not asked for or zero, and which are constant."""
    if not np.isfinite(squares.sum()):
        raise DataError(f"{subject}: the squares of the values overflow float64; divide the columns by a constant.")
    # In a constant column only the rounding of its mean is left: about eps |mean| in each row.
    constant = squares <= weight * (8 * np.finfo(np.float64).eps * mean) ** 2
    if not scale:
        return np.ones(len(mean)), constant
    if weight <= 1:
        raise DataError(
            f"{subject}: a standard deviation needs a total weight above 1; got {weight:g}. Give more rows."
        )
    return np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, squares) / (weight - 1.0))), constant
