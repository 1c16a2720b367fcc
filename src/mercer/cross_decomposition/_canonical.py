"""Canonical correlations from moments: whiten both tables, and take the singular values of what is left between them.

With whitening matrices W_x^T S_xx W_x = I and W_y^T S_yy W_y = I, the correlations are the singular values of
M = W_x^T S_xy W_y, and the directions a = W_x u, b = W_y v for its singular vectors (u, v).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._solver.request import HEAVY_SPECTRUM
from mercer._types import Array
from mercer.cross_decomposition._deflation import PairedAxes, first_axes
from mercer.cross_decomposition._moments import Side, TwoTables

STATEMENT = (
    "Largest of |S_xy b - r S_xx a| / |S_xx a| and |S_yx a - r S_yy b| / |S_yy b| over the pairs (a, b) with "
    "singular value r, and of the correlation between variates of different pairs."
)
# Below this reciprocal condition number eigenvectors replace a Cholesky factor, and those of rounding are dropped.
_WELL_CONDITIONED = 1e-10
# Correlations closer than this are equal: rounding errors of a decomposition are some 1e-15.
_EQUAL = 1e-10


@dataclass(frozen=True)
class CanonicalTask:
    """What a canonical correlation analysis is asked for."""

    n_components: int
    algorithm: str
    max_iter: int
    tol: float
    shrinkage: tuple[float, float]
    warn_rank: Callable[[int], None]


def solve_canonical(task: CanonicalTask, tables: TwoTables, start: PairedAxes | None) -> Solver:
    """Find all pairs at once; a solver of one step."""
    if start is None:
        heavy = max(tables.cross.shape) > HEAVY_SPECTRUM
        # A small problem is solved in less time than handing it out takes.
        start = (yield Dense(partial(_find_pairs, task, tables), heavy)) if heavy else _find_pairs(task, tables)
        yield Step(start.gain, start, _certify(task, start))
    return Solution(start, start.converged, _certify(task, start), "" if start.converged else "max_iter")


def whiten(side: Side, shrinkage: float) -> Array:
    """Return W with W^T S W = I, where S = (1 - shrinkage) scatter + shrinkage tr(scatter) / d I.

    Directions in which the table has no variance are left out where nothing regularises them.
    """
    level = shrinkage * side.trace() / side.width
    if side.scatter is not None:
        S = (1.0 - shrinkage) * side.scatter
        S.ravel()[:: side.width + 1] += level
        factor, failed = lapack.dpotrf(S, lower=True)
        norm = np.abs(S).sum(axis=0).max(initial=0.0)
        # Well conditioned: the inverse of the Cholesky factor whitens, for a third of the cost of eigenvectors.
        if not failed and norm > 0 and lapack.dpocon(factor, norm, uplo="L")[0] > _WELL_CONDITIONED:
            return lapack.dtrtri(factor, lower=True)[0].T
        values, vectors = find_eigenpairs(side.scatter)
        values, vectors = values[::-1], vectors[:, ::-1]
        # Directions without variance within rounding are left out.
        known = values > max(10, side.width) * np.finfo(np.float64).eps * max(float(values[0]), 0.0)
    else:
        # With fewer rows than columns the rows themselves are decomposed: no matrix of all columns is formed.
        _, roots, vectors = np.linalg.svd(side.rows, full_matrices=False)
        values, vectors = roots**2, vectors.T
        known = roots > max(side.rows.shape) * np.finfo(np.float64).eps * roots.max(initial=0.0)
    return vectors[:, known] / np.sqrt((1.0 - shrinkage) * values[known] + level)


def shrunk_product(side: Side, shrinkage: float, vectors: Array) -> Array:
    """Return S @ vectors with the regularised scatter S."""
    return (1.0 - shrinkage) * side.times(vectors) + shrinkage * side.trace() / side.width * vectors


def _find_pairs(task: CanonicalTask, tables: TwoTables) -> PairedAxes:
    """Compute every pair of directions, and the attributes that scikit-learn's deflation would give them."""
    x_share, y_share = task.shrinkage
    x_white, y_white = whiten(tables.x, x_share), whiten(tables.y, y_share)
    if tables.x.scatter is None:
        # W_x^T X^T Y W_y, by way of the white rows.
        between = (tables.x.rows @ x_white).T @ (tables.y.rows @ y_white)
    else:
        between = x_white.T @ tables.cross @ y_white
    if min(between.shape) == 0:
        left, spectrum, right = np.empty((len(between), 0)), np.empty(0), np.empty((0, between.shape[1]))
    else:
        left, spectrum, right = np.linalg.svd(between, full_matrices=False)
    if max(task.shrinkage) == 0:
        # Correlations of unregularised tables are at most one; rounding may leave them above.
        spectrum = np.clip(spectrum, 0.0, 1.0)
    n_iter, converged = [1], True
    k = min(task.n_components, len(spectrum))
    if task.algorithm == "nipals":
        left, right, n_iter, converged = _iterate_pairs(task, between, x_white, y_white, k)
    A, B = x_white @ left, y_white @ right.T
    if task.algorithm == "svd":
        _settle_ties(A, B, spectrum, k)
    A, B = A[:, :k], B[:, :k]
    if k < task.n_components:
        task.warn_rank(k)
    x_weights, A = _normalise(A)
    # The sign of a direction is that by which the largest weight of X is positive; Y follows, so that r > 0.
    signs = _find_signs(x_weights)
    x_weights, A = x_weights * signs, A * signs
    y_weights, B = _normalise(B * signs)
    SA, SB = tables.x.times(A), tables.y.times(B)
    state = replace(
        first_axes(tables, 0),
        x_weights=x_weights,
        y_weights=y_weights,
        x_rotations=A,
        y_rotations=B,
        x_loadings=_regress(SA, A, SA),
        y_loadings=_regress(SB, B, SB),
        inner=_regress(tables.cross.T @ A, A, SA),
        correlations=spectrum[:k] if max(task.shrinkage) == 0 else _correlate(A, B, SA, SB, tables.cross),
        spectrum=spectrum,
        n_iter=n_iter,
        converged=converged,
        shrinkage=list(task.shrinkage),
        gain=float(spectrum[:k].sum()),
    )
    state = replace(state, residuals=_find_residuals(task, tables, state))
    return _pad_pairs(state, task.n_components - k)


def _settle_ties(A: Array, B: Array, spectrum: Array, k: int) -> None:
    """Give pairs whose correlations are equal but for rounding a basis of their own, in place, if among the first k.

    Any rotation of such pairs does as well, and a decomposition returns one that depends on rounding. The basis taken
    here depends on their span only: its first direction is that of the row of B that is first among the longest, and
    each next one is that of what earlier ones leave.
    """
    if len(spectrum) < 2:
        return
    # Groups of correlations that are equal but for rounding.
    edges = np.flatnonzero(-np.diff(spectrum) > _EQUAL) + 1
    for group in np.split(np.arange(len(spectrum)), edges):
        if len(group) < 2 or group[0] >= k:
            continue
        rows, basis = B[:, group].copy(), np.zeros((len(group), len(group)))
        for column in range(len(group)):
            squares = np.einsum("ij,ij->i", rows, rows)
            # The first row that is at least half as long as the longest squared: stable under rounding.
            row = rows[np.argmax(squares >= squares.max() / 2)]
            basis[:, column] = row / np.linalg.norm(row)
            rows = rows - np.outer(rows @ basis[:, column], basis[:, column])
        A[:, group], B[:, group] = A[:, group] @ basis, B[:, group] @ basis


def _normalise(directions: Array) -> tuple[Array, Array]:
    """Return the weights and rotations of a deflation that finds these directions.

    Deflation leaves the table orthogonal to earlier directions, so that the weight of a pair is what Gram and Schmidt
    leave of its direction, of length one; the rotation is the direction divided by the length of that rest.
    """
    if directions.shape[1] == 0:
        return directions, directions
    weights, triangle = np.linalg.qr(directions)
    lengths = np.diagonal(triangle)
    return weights * np.sign(lengths), directions / np.abs(lengths)


def _find_signs(weights: Array) -> Array:
    """Return, for each column, the sign of its entry of largest magnitude."""
    if weights.shape[1] == 0:
        return np.empty(0)
    return np.where(weights[np.abs(weights).argmax(axis=0), np.arange(weights.shape[1])] < 0, -1.0, 1.0)


def _correlate(A: Array, B: Array, SA: Array, SB: Array, cross: Array) -> Array:
    """Return the correlations of the variates, which regularised deviations do not give."""
    squares = np.einsum("ij,ij->j", A, SA) * np.einsum("ij,ij->j", B, SB)
    shared = np.einsum("ij,ij->j", A, cross @ B)
    return np.clip(shared / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0, 1.0)


def _regress(products: Array, rotations: Array, scattered: Array) -> Array:
    """Return the coefficients of a regression on the scores, given the moments between them and what is regressed."""
    if rotations.shape[1] == 0:
        return products
    return np.linalg.solve(rotations.T @ scattered, products.T).T


def _iterate_pairs(
    task: CanonicalTask, between: Array, x_white: Array, y_white: Array, k: int
) -> tuple[Array, Array, list[int], bool]:
    """Find the pairs by alternating products, as scikit-learn's deflation does, in whitened coordinates."""
    left, right = np.zeros((between.shape[0], k)), np.zeros((k, between.shape[1]))
    basis = np.empty((len(x_white), 0))
    M, n_iter, all_converged = between.copy(), [], True
    first = np.linalg.pinv(y_white)[:, 0]
    for pair in range(k):
        # The start is made orthogonal to the directions found.
        v, before, converged = first - right[:pair].T @ (right[:pair] @ first), None, between.shape[1] == 1
        rounds = 0
        while rounds < task.max_iter:
            rounds += 1
            u = M @ v
            u /= np.linalg.norm(u) or 1.0
            v = M.T @ u
            v /= np.linalg.norm(v) or 1.0
            weight = x_white @ u
            weight -= basis @ (basis.T @ weight)
            weight /= np.linalg.norm(weight) or 1.0
            # scikit-learn compares the weights of X between rounds.
            if converged or (before is not None and np.sum((weight - before) ** 2) < task.tol):
                converged = True
                break
            before = weight
        n_iter.append(rounds)
        all_converged &= converged
        left[:, pair], right[pair] = u, v
        basis = np.column_stack([basis, weight])
        # Deflation in white coordinates: what is left is orthogonal to both directions.
        M = M - np.outer(u, u @ M)
        M = M - np.outer(M @ v, v)
    return left, right, n_iter, all_converged


def _find_residuals(task: CanonicalTask, tables: TwoTables, state: PairedAxes) -> Array:
    """Return what the certificate states, for each pair."""
    A, B = state.x_rotations, state.y_rotations
    r = state.spectrum[: A.shape[1]]
    SA, SB = shrunk_product(tables.x, task.shrinkage[0], A), shrunk_product(tables.y, task.shrinkage[1], B)
    # The scales of a and b are free: both are brought to a^T S_xx a = 1.
    x_units, y_units = np.sqrt(np.einsum("ij,ij->j", A, SA)), np.sqrt(np.einsum("ij,ij->j", B, SB))
    A, SA, B, SB = A / x_units, SA / x_units, B / y_units, SB / y_units
    gaps = np.linalg.norm(tables.cross @ B - r * SA, axis=0) / np.linalg.norm(SA, axis=0)
    y_gaps = np.linalg.norm(tables.cross.T @ A - r * SB, axis=0) / np.linalg.norm(SB, axis=0)
    others = 1.0 - np.eye(len(r))
    mixed = [np.abs(product * others).max(axis=0, initial=0.0) for product in (A.T @ SA, B.T @ SB)]
    return np.max([gaps, y_gaps, *mixed], axis=0)


def _pad_pairs(state: PairedAxes, count: int) -> PairedAxes:
    """Append pairs of zeros: the tables have no more directions."""
    if count == 0:
        return state
    names = ("x_weights", "y_weights", "x_loadings", "y_loadings", "x_rotations", "y_rotations", "inner")
    zeros: dict[str, Any] = {name: np.pad(getattr(state, name), ((0, 0), (0, count))) for name in names}
    zeros |= {name: np.pad(getattr(state, name), (0, count)) for name in ("correlations", "residuals")}
    return replace(state, **zeros)


def _certify(task: CanonicalTask, state: PairedAxes) -> Certificate:
    # Whitening divides by the smallest standard deviation, which rounding errors are multiplied with.
    tolerance = 1e-6 if task.algorithm == "svd" else max(1e-6, 10 * float(np.sqrt(task.tol)))
    return Certificate.of("residual", float(state.residuals.max(initial=0.0)), tolerance, STATEMENT)
