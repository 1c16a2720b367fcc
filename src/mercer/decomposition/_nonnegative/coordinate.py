"""Nonnegative factorisation under squared error, by coordinate descent on blocks of rows.

Given H, each row of W is a small quadratic program with the matrix H H^T, and given W each column of H one with W^T W.
Forming these products costs n d k operations and a sweep over all coordinates only n k^2, so that each product is used
for several sweeps (Gillis and Glineur, 2012, accelerated HALS). One pass over a block of X updates its rows of W and
adds to W^T X and W^T W, all that H needs: X is read once an iteration. Each iteration starts a little beyond the last
factors, on the line from those before (Ang and Gillis, 2019), which takes a third to two thirds of the iterations.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._native.factors import exact_rows, nonnegative_rows
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source
from mercer._source.threads import run_numbered
from mercer._statistic import Statistic
from mercer._statistic.statistic import Sums
from mercer._types import Array
from mercer.decomposition._nonnegative.problem import Extrapolation, Factors, Penalties, extrapolate

# Most sweeps over the coordinates for each product. For 4000 x 300 rows and 20 components, 4 sweeps reach in 10
# products the objective that one sweep reaches in 41; 8 and 20 sweeps need 10 and 11.
_SWEEPS = 4
# A row ends its sweeps when the squared moves fall to this share of those of the first sweep.
_SHARE = 0.01
# scikit-learn's tolerance is relative to the gradient of the start. On tables of 150 to 4000 rows its rule ended where
# the relative projected gradient below is 9 to 20 times the tolerance; the fit here ends at 5 times.
_UNIT = 5.0
# Where only the rows are solved for, squared moves relative to those of the first sweep at which a row is done.
_EXACT = 1e-18
# Most sweeps of such a solution, for each of max_iter: a sweep costs a small part of the product that starts it.
SWEEPS_PER_ITERATION = 10
# Sweeps before the linear systems of the entries above zero.
_SWEEPS_BEFORE = 16
# Linear systems for one row times the number of components at most: as many operations as some thousand sweeps.
_ROUNDS_TIMES_WIDTH = 6000
# Values of a tile of rows: 16384 float64 are 128 KiB, which the second-level cache holds for both of its products.
_TILE_VALUES = 2**14
# Multiplications of the products of a tile: up to this many, OpenBLAS multiplies without copying the factors first.
_TILE_PRODUCTS = 10**6
# Rows of a tile at most.
_MOST_ROWS = 1024
# Rows that are descended together: a tile is a multiple of them.
_LANES = 16
# Columns of H that one thread descends at a time: with 20 components and 4 sweeps some 0.4 ms, above what it takes to
# hand them to a thread, and a multiple of the lanes.
_PART = 1024
_STATEMENT = (
    "The larger of |gradient in W| / |X H^T| and |gradient in H| / |W^T X|, without the entries of the gradient that "
    "point out of the nonnegative numbers: zero at a stationary point. It bounds nothing globally."
)


def _certify(residual: float, tol: float) -> Certificate:
    """Return the certificate: the relative projected gradient."""
    return Certificate.of("projected gradient", residual, _UNIT * tol, _STATEMENT)


@dataclass(frozen=True)
class RowSums(Sums):
    """W^T X (transposed), W^T W, squares of the projected gradient in W and of X H^T, and the exact squared error."""

    images: Array
    gram: Array
    gradient: float
    products: float
    error: float

    def absorb(self, other: "RowSums") -> "RowSums":
        """Return the sum; the images, d x k, are added in place."""
        np.add(self.images, other.images, out=self.images)
        scalars = (self.gradient + other.gradient, self.products + other.products, self.error + other.error)
        return RowSums(self.images, self.gram + other.gram, *scalars)


@dataclass(frozen=True, eq=False)
class RowStep(Statistic):
    """Descend in the rows of W that belong to a block, and sum what H needs.

    The new rows are written to `out`, each block to its own. The last step (`final`) solves for the rows to nine
    digits, as ``transform`` does, and measures gradient and error of what it found.
    """

    W: Array
    before: Array
    length: float
    T: Array
    gram: Array
    l1: float
    out: Array
    sweeps: int
    final: bool = False

    def on(self, block: Block) -> RowSums:
        return self.of(block) if self.final or not block.is_native else self._descend_by_tiles(block)

    def of(self, block: Block) -> RowSums:
        rows = slice(block.start, block.start + block.n)
        W = self.out[rows]
        extrapolate(self.W[rows], self.before[rows], self.length, W)
        P = _multiply(block, self.T)
        error = 0.0
        if self.final:
            # The last pass solves each row exactly, and measures its gradient.
            _solve_exactly(P, self.gram, self.l1, W, self.sweeps)
            gradient = nonnegative_rows.descend_rows(P, self.gram, self.l1, W, _scratch(W), 0, _SHARE)
        else:
            gradient = nonnegative_rows.descend_rows(P, self.gram, self.l1, W, _scratch(W), self.sweeps, _SHARE)
        if self.final and not block.is_sparse:
            # Differences at the end: the algebra of squares would cancel for a good fit.
            gap = block.X - W.astype(block.X.dtype) @ self.T.T.astype(block.X.dtype)
            error = float(np.einsum("ij,ij->", gap, gap, dtype=np.float64))
        images = block.transpose_matmul(W.astype(block.X.dtype, copy=False)).astype(np.float64, copy=False)
        return RowSums(images, W.T @ W, gradient, float(np.vdot(P, P)), error)

    def _descend_by_tiles(self, block: Block) -> RowSums:
        """Compute what :meth:`of` does for a dense block, a tile of rows after the other, by compiled code."""
        rows = slice(block.start, block.start + block.n)
        W, (d, k) = self.out[rows], self.T.shape
        extrapolate(self.W[rows], self.before[rows], self.length, W)
        # The rows of a tile depend on the widths alone, so that each block is cut alike wherever it comes from.
        length = min(_TILE_VALUES // d, _TILE_PRODUCTS // (d * k), _MOST_ROWS) // _LANES * _LANES
        products, images, sums = np.empty((max(length, _LANES), k)), np.zeros((d, k)), np.zeros(2)
        T, scratch = np.ascontiguousarray(self.T), _scratch(W)
        # Rows in float32 are widened a piece at a time; others are one piece.
        piece = block.n if block.X.dtype == np.float64 else _MOST_ROWS
        for start in range(0, block.n, piece):
            X = np.asarray(block.X[start : start + piece], dtype=np.float64)
            given = (X, T, self.gram, self.l1, W[start : start + piece], products, scratch, self.sweeps, _SHARE)
            nonnegative_rows.descend_and_multiply(*given, images, sums)
        return RowSums(images, W.T @ W, float(sums[0]), float(sums[1]), 0.0)


@dataclass(frozen=True, eq=False)
class ColumnStep:
    """A request: descend in the columns of H, the rows of T, which are overwritten.

    The answer is the sum of squares of the projected gradient before any sweep. Parts of the columns are descended on
    all threads.
    """

    images: Array
    gram: Array
    l1: float
    T: Array
    sweeps: int

    def answer(self, source: Source) -> float:
        slopes: list[float] = []
        run_numbered(self.descend, -(-len(self.T) // _PART), source.threads, slopes.append)
        return sum(slopes)

    def descend(self, number: int) -> float:
        """Descend in part `number` of the columns, and return its sum of squares."""
        part = slice(number * _PART, (number + 1) * _PART)
        T = self.T[part]
        return nonnegative_rows.descend_rows(self.images[part], self.gram, self.l1, T, _scratch(T), self.sweeps, _SHARE)


def _solve_exactly(P: Array, gram: Array, l1: float, W: Array, sweeps: int) -> None:
    """Solve for the rows of `W`, from where they are.

    Some sweeps find the entries that are zero, and a linear system for each row the others. Rows for which it has no
    solution, because components are linearly dependent, descend for up to `sweeps` sweeps.
    """
    n, k = W.shape
    nonnegative_rows.descend_rows(P, gram, l1, W, _scratch(W), min(sweeps, _SWEEPS_BEFORE), _EXACT)
    solved, scratch = np.zeros(n, dtype=np.int8), np.empty((k + 2, k))
    rounds = min(3 * k, _ROUNDS_TIMES_WIDTH // k) + 1
    exact_rows.solve_rows(P, gram, l1, W, np.empty(k, dtype=np.intp), scratch, rounds, solved)
    left = np.flatnonzero(solved == 0)
    if len(left):
        rest = np.ascontiguousarray(W[left])
        nonnegative_rows.descend_rows(np.ascontiguousarray(P[left]), gram, l1, rest, _scratch(W), sweeps, _EXACT)
        W[left] = rest


def _multiply(block: Block, T: Array) -> Array:
    """Return X H^T of a block in float64."""
    return np.ascontiguousarray(block.matmul(T.astype(block.X.dtype, copy=False)), dtype=np.float64)


def _scratch(W: Array) -> Array:
    return np.empty((2 * W.shape[1] + 4, 16))


def solve_rows(block: Block, T: Array, l1: float, l2: float, sweeps: int) -> Array:
    """Return the best rows of W for fixed H, in float64, from zero."""
    W = np.zeros((block.n, T.shape[1]))
    gram = T.T @ T + l2 * np.eye(T.shape[1])
    _solve_exactly(_multiply(block, T), gram, l1, W, sweeps)
    return W


def _count_sweeps(entries: float, state: Factors) -> int:
    """Return the sweeps for each product: more where a product costs more than a sweep (Gillis and Glineur)."""
    sweep = float(len(state.W) + len(state.T)) * state.T.shape[1]
    return int(min(_SWEEPS, 1 + entries / sweep))


def descend(start: Factors, penalties: Penalties, squares: float, entries: float, tol: float, max_iter: int) -> Solver:
    """Alternate between W and H until the projected gradient is small.

    `squares` is |X|^2, and `entries` the number of entries of X that are not zero.
    """
    state, k = start, start.T.shape[1]
    sweeps = _count_sweeps(entries, start)
    ridge_W, ridge_H = penalties.l2_rows * np.eye(k), penalties.l2_parts * np.eye(k)
    while not state.stopped and state.step < max_iter:
        move = state.move or Extrapolation(state.W, state.T)
        out, T = np.empty_like(state.W), np.empty_like(state.T)
        # A step beyond the last point along the last move; it is taken back where the objective rises.
        extrapolate(state.T, move.T, move.length, T)
        sums = yield RowStep(state.W, move.W, move.length, T, T.T @ T + ridge_W, penalties.l1_rows, out, sweeps)
        gram = sums.gram + ridge_H
        columns = ColumnStep(sums.images, gram, penalties.l1_parts, T, sweeps)
        slope = (yield columns) if len(T) > _PART else columns.descend(0)
        residual = _measure(sums, slope)
        # |X - W H|^2 = |X|^2 - 2 <W^T X, H> + <W^T W, H H^T>: no further pass over X.
        objective = _error(squares, sums.images, sums.gram, T) / 2 + penalties.value(out, T)
        # The extrapolation went too far: drop this step and shorten the next.
        if objective > move.objective and move.length > 0:
            objective, state = move.objective, replace(state, step=state.step + 1, move=move.shrink())
        else:
            move, stopped = move.grow(state.W, state.T, objective), residual <= _UNIT * tol and tol > 0
            state = Factors(out, T, state.step + 1, residual, stopped=stopped, move=move)
        yield Step(objective, state, _certify(residual, tol), {"projected_gradient": residual})
    return (yield from _conclude(state, penalties, squares, tol, SWEEPS_PER_ITERATION * max_iter))


def _conclude(state: Factors, penalties: Penalties, squares: float, tol: float, sweeps: int) -> Any:
    """Return the solution: the rows solved for exactly, in one more pass, with projected gradient and error."""
    k = state.T.shape[1]
    gram = state.T.T @ state.T + penalties.l2_rows * np.eye(k)
    out = np.empty_like(state.W)
    sums = yield RowStep(state.W, state.W, 0.0, state.T, gram, penalties.l1_rows, out, sweeps, final=True)
    columns, gram = state.T.copy(), sums.gram + penalties.l2_parts * np.eye(k)
    slope = nonnegative_rows.descend_rows(sums.images, gram, penalties.l1_parts, columns, _scratch(columns), 0, _SHARE)
    residual = _measure(sums, slope)
    # Sparse rows would become dense: their error is a difference of sums, without the digits that cancel.
    error = sums.error or max(_error(squares, sums.images, sums.gram, state.T), 0.0)
    state = replace(state, W=out, residual=residual, divergence=error / 2)
    certificate = _certify(residual, tol)
    # Without a tolerance all iterations were asked for.
    reason = "converged" if state.stopped else "max_iter" if tol > 0 else "iterations"
    return Solution(state, state.stopped, certificate, reason)


def _error(squares: float, images: Array, gram: Array, T: Array) -> float:
    """Return |X - W H|^2 from |X|^2, (W^T X)^T and W^T W."""
    return squares - 2.0 * float(np.vdot(images, T)) + float(np.vdot(gram, T.T @ T))


def _measure(sums: RowSums, slope: float) -> float:
    """Return the relative projected gradient, from the sum of its squares in H and from the sums of the rows."""
    rows, columns = sums.products, float(np.vdot(sums.images, sums.images))
    in_rows = sums.gradient / rows if rows > 0 else sums.gradient
    return math.sqrt(max(in_rows, slope / columns if columns > 0 else slope))
