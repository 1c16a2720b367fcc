"""White rows u = K (x - mean): the axes of the covariance, each divided by its standard deviation."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import svd

from mercer._plain import plain
from mercer._solver import Dense
from mercer._solver.request import HEAVY_SPECTRUM
from mercer._source import Block, Source
from mercer._source.array import ArraySource
from mercer._source.memory import require_memory
from mercer._statistic import Moments
from mercer._statistic.triangle import Triangle
from mercer._types import Array
from mercer.decomposition._axes import fix_signs
from mercer.errors import DataError

# Rows are copied to white rows once if they are wider by this factor: a pass is then cheaper by at least as much.
_MUCH_WIDER = 4
# A least variance above this share of the largest has half of its digits after squaring.
_WELL_CONDITIONED = 1e-8


@dataclass(frozen=True)
class Whitener:
    """How rows are made white.

    ``strict`` refuses more components than the rows have rank; otherwise there are as many components as the rank, with
    a warning. ``n_needed`` asks for all axes that have variance, and for that many at least.
    """

    subject: str
    n_components: int | None
    n_features: int
    refuse: Callable[[], None]
    solver: str = "svd"
    strict: bool = True
    n_needed: int | None = None


@plain
@dataclass(frozen=True)
class WhiteSpace:
    """The map to white rows: total weight, mean (d,), K (k, d), and the variance along each of its axes (k,)."""

    weight: float
    mean: Array
    matrix: Array
    variances: Array

    @property
    def n_components(self) -> int:
        """Number of white columns."""
        return len(self.matrix)

    @property
    def inverse(self) -> Array:
        """The pseudo-inverse of K, (d, k): K has orthogonal rows of length 1 / standard deviation."""
        return self.matrix.T * self.variances


@dataclass(frozen=True)
class _WhiteRows:
    """A request for the white rows as a source of their own, where they are in memory and much narrower than X."""

    white: WhiteSpace
    subject: str

    def answer(self, source: Source) -> ArraySource | None:
        k, d = self.white.matrix.shape
        if source.place != "memory" or source.is_sparse or _MUCH_WIDER * k > d:
            return None
        require_memory(self.subject, 8.0 * source.n_rows * k, "the white rows", "give the rows as a file")
        rows = source.map(lambda block: _apply(self.white, block), np.empty((source.n_rows, k)))
        inner = ArraySource(rows, weight=source.weight, threads=source.threads)
        inner.readings = source.readings
        return inner


def _apply(white: WhiteSpace, block: Block) -> Array:
    return block.centre(white.mean) @ white.matrix.T


def keep_white_rows(white: WhiteSpace, subject: str) -> _WhiteRows:
    """Return the request that makes white rows once, where that saves work in every later pass."""
    return _WhiteRows(white, subject)


def whiten(task: Whitener) -> Any:
    """Request what the white axes need, and return the map to white rows; a generator.

    The covariance takes one pass and loses half of the digits. ``solver="svd"`` therefore factorises the rows
    themselves where the condition number of the covariance is above 1e8, and only there.
    """
    d = task.n_features
    require_memory(task.subject, 8.0 * 4 * d * d, f"a {d} x {d} covariance matrix", "give fewer columns")
    sums = yield Moments()
    if not (np.isfinite(sums.mean).all() and np.isfinite(np.trace(sums.scatter))):
        task.refuse()
    values, vectors = yield Dense(lambda: np.linalg.eigh(sums.scatter), d > HEAVY_SPECTRUM)
    values, axes, tiny = values[::-1], vectors[:, ::-1].T, max(10, d) * float(np.finfo(np.float64).eps)
    last = min(d, task.n_components or d) - 1
    if task.solver == "svd" and values[last] < _WELL_CONDITIONED * values[0]:
        factor = yield Triangle()
        _, roots, axes = yield Dense(lambda: svd(factor.factor, full_matrices=False), d > HEAVY_SPECTRUM)
        # The factor is not squared, so rounding leaves singular values of eps times the largest.
        values, tiny = roots**2, tiny**2
    # A column that is constant up to the rounding of its mean has this sum of squares.
    noise = sums.weight * (8 * np.finfo(np.float64).eps * np.abs(sums.mean).max()) ** 2
    rank = int(np.count_nonzero(values > max(tiny * values.max(initial=0.0), noise)))
    k = _count(task, rank)
    variances = values[:k] / sums.weight
    matrix = fix_signs(axes[:k]) / np.sqrt(variances)[:, None]
    return WhiteSpace(float(sums.weight), np.asarray(sums.mean, dtype=np.float64), matrix, variances)


def _count(task: Whitener, rank: int) -> int:
    """Return the number of components: what was asked for, within the rank of the centred rows."""
    wish = task.n_features if task.n_components is None else task.n_components
    if rank == 0:
        raise DataError(f"{task.subject}: the rows must vary; got n_samples=1 distinct row. Give rows that differ.")
    if (needed := task.n_needed) is not None:
        if needed <= rank:
            return rank
        task, wish = replace(task, n_components=needed), needed
    if wish <= rank:
        return wish
    rule = f"the centred rows have rank {rank} in {task.n_features} columns"
    if task.n_components is not None and task.strict:
        raise DataError(
            f"{task.subject}: n_components must be at most {rank}, because {rule}; got {wish}. Lower n_components, "
            f"give more rows than columns, or drop columns that are constant or sums of others."
        )
    warnings.warn(
        f"{task.subject}: {rule}; {rank} components are found, not {wish}. Set n_components={rank}, give more rows "
        f"than columns, or drop columns that are constant or sums of others.",
        UserWarning,
        stacklevel=2,
    )
    return rank
