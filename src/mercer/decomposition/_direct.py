"""Exact solvers: eigenvectors of the covariance, singular vectors of the rows, eigenvectors of the Gram matrix.

Each is a generator with one step. ``covariance_eigh`` and ``gram`` square the condition number: a singular value below
1e-8 of the largest is lost in rounding. ``full`` factorises the rows themselves and keeps it.

That is said of columns of like spread. Where columns have units that differ by 1e5 and more, such as nanoseconds beside
metres, ``covariance_eigh`` and ``full`` keep small variances by :mod:`mercer._solver.graded`. Where the solver was
chosen for the rows, ``full`` takes over from ``covariance_eigh`` if an axis that is asked for would be lost.
"""

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh, svd
from scipy.linalg.lapack import dsyevd

from mercer._solver import Dense, Solution, Solver, Step, Tiles
from mercer._solver.graded import decompose_rows_of_any_size, find_graded_eigenpairs, is_graded
from mercer._solver.request import HEAVY_SPECTRUM
from mercer._source.memory import require_memory
from mercer._statistic import Moments, MomentSums
from mercer._statistic.triangle import Triangle
from mercer._types import Array
from mercer.decomposition import _crossovers
from mercer.decomposition._axes import PrincipalAxes, Task, certify, residuals_of, settle
from mercer.decomposition._dimension import choose_dimension
from mercer.decomposition._statistics import Lift, ScatterProduct, make_centred_gram

_EPSILON = float(np.finfo(np.float64).eps)
# An eigenvalue below this share of the largest has fewer than six digits: squares have sixteen.
_LOST = 1e-10


def measure(task: Task, *, diagonal: bool) -> Any:
    """Request the moments, and refuse rows whose moments are not finite; a generator that returns them."""
    if not diagonal:
        require_memory(
            task.subject,
            # The scatter, its copies and the partial sums of threads.
            8.0 * task.n_features**2 * 8,
            f"the sums for a {task.n_features} x {task.n_features} covariance matrix",
            "use svd_solver='randomized' with few components",
        )
    sums: MomentSums = yield Moments(diagonal=diagonal)
    squares = sums.scatter if diagonal else np.diagonal(sums.scatter)
    if not (np.isfinite(sums.mean).all() and np.isfinite(squares.sum())):
        task.refuse()
    return sums, squares, task.scale(sums.weight, sums.mean, squares)


def covariance_eigh(task: Task, start: PrincipalAxes | None) -> Solver:
    """Compute eigenvectors of the covariance matrix: one pass, then O(d^3) operations."""
    if start is None:
        sums, _, scale = yield from measure(task, diagonal=False)
        # Scaled columns: the correlation matrix in place of the covariance.
        scatter = sums.scatter if scale is None else sums.scatter / scale[:, None] / scale[None, :]
        graded = is_graded(np.diagonal(scatter))
        lead = _lead_graded if graded else _leading
        vectors, sizes, rest = yield Dense(lambda: lead(scatter, task, sums.weight), task.n_features > HEAVY_SPECTRUM)
        if task.may_change and _loses_axes(scatter, sizes, graded):
            return (yield from full(task, None))
        # Signs and zero variances are settled before residuals are measured.
        least = 0.0 if graded else task.tiny
        axes, sizes = yield Dense(lambda: settle(vectors, sizes, len(sizes), least, task.dtype))
        products = yield Dense(lambda: axes.astype(np.float64) @ scatter)
        residuals = residuals_of(products, axes, sizes)
        start = PrincipalAxes(sums.weight, sums.mean, scale, axes, sizes, rest, task.limit, residuals)
        yield _step(task, start)
    return _solution(task, start)


def full(task: Task, start: PrincipalAxes | None) -> Solver:
    """Compute singular vectors of the centred rows from their triangular factor: one pass, then O(d^3) operations."""
    if start is None:
        numbers = min(task.limit, task.n_features) * task.n_features
        require_memory(
            task.subject, 8.0 * 8 * numbers, "the triangular factor of the rows", "use svd_solver='randomized'"
        )
        sums = yield Triangle()
        if not (np.isfinite(sums.mean).all() and np.isfinite(sums.factor).all()):
            task.refuse()
        scale = task.scale(sums.weight, sums.mean, (sums.factor**2).sum(axis=0))
        factor = sums.factor if scale is None else sums.factor / scale
        graded = is_graded((factor**2).sum(axis=0))
        vectors, values = yield Dense(lambda: _find_axes(factor, graded), task.n_features > HEAVY_SPECTRUM)
        sizes, rest = _choose(values[: task.limit] ** 2, task, sums.weight)
        # The factor was never squared, so its rounding threshold applies to singular values; sizes are their squares.
        least = 0.0 if graded else task.tiny**2
        axes, sizes = yield Dense(lambda: settle(vectors[: len(sizes)], sizes, len(sizes), least, task.dtype))
        products = yield Dense(lambda: (axes.astype(np.float64) @ factor.T) @ factor)
        residuals = residuals_of(products, axes, sizes)
        start = PrincipalAxes(sums.weight, sums.mean, scale, axes, sizes, rest, task.limit, residuals, solver="full")
        yield _step(task, start)
    return _solution(task, start)


def gram(task: Task, start: PrincipalAxes | None, n_rows: int = 0) -> Solver:
    """Compute eigenvectors of the n x n inner products and map them to feature space: for d much larger than n."""
    if start is None:
        require_memory(
            task.subject, 3.0 * 8 * n_rows**2, f"the {n_rows} x {n_rows} Gram matrix", "use svd_solver='randomized'"
        )
        sums, _, scale = yield from measure(task, diagonal=True)
        inner = yield Tiles(make_centred_gram(sums.mean, scale), np.empty((n_rows, n_rows)))
        vectors, sizes, rest = yield Dense(lambda: _leading(inner, task, sums.weight), n_rows > HEAVY_SPECTRUM)
        unit = 1.0 if scale is None else scale[:, None]
        # An eigenvector of the Gram matrix maps to the axis X^T u.
        lifted = (yield Lift(sums.mean, vectors.T)) / unit
        # Rounding of the largest vector disturbs the orthogonality of the small ones; QR restores it.
        axes = yield Dense(lambda: np.linalg.qr(lifted)[0].T)
        axes, sizes = yield Dense(lambda: settle(axes, sizes, len(sizes), task.tiny, task.dtype))
        products = (yield ScatterProduct(sums.mean, axes.T.astype(np.float64) / unit)) / unit
        residuals = residuals_of(products.T, axes, sizes)
        start = PrincipalAxes(sums.weight, sums.mean, scale, axes, sizes, rest, task.limit, residuals)
        yield _step(task, start)
    return _solution(task, start)


def _loses_axes(scatter: Array, sizes: Array, graded: bool) -> bool:
    """Return whether a direction of columns that vary has lost its digits in the squares."""
    squares = np.diagonal(scatter)
    varying = squares > 0
    found = sizes[: int(np.count_nonzero(varying))]
    if not len(found):
        return False
    if graded:
        # What units hide is not lost; what columns of length one have too little of is.
        if len(found) < np.count_nonzero(varying):
            return False
        roots = np.sqrt(squares[varying])
        found = np.linalg.eigvalsh(scatter[np.ix_(varying, varying)] / roots[:, None] / roots)[::-1]
    return bool(found[-1] < _LOST * found[0])


def _leading(matrix: Array, task: Task, weight: float) -> tuple[Array, Array, float]:
    """Return the leading eigenvectors (as rows) and eigenvalues of a scatter or Gram matrix, and the sum of the rest.

    The weights of the rows may promise more eigenvalues than a Gram matrix has; those are zero, and have no vector
    here.
    """
    wish, size = task.n_components, matrix.shape[0]
    fixed = not isinstance(wish, str) and (wish >= 1 or wish == 0)
    most = min(int(wish) if fixed else task.limit, size)
    total = float(np.trace(matrix))
    if most == 0:
        return np.empty((0, size)), np.empty(0), total
    # Bisection for a few of many; divide-and-conquer for all is faster from about half of them.
    some = {"subset_by_index": [size - most, size - 1]} if most < size / 2 else {"driver": "evd"}
    values, vectors = _decompose_few(matrix) if size < _crossovers.CHOSEN_DRIVER else eigh(matrix, **some)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1].T
    sizes, rest = _choose(values[: task.limit], task, weight)
    # Of few eigenvalues the rest is known from the trace.
    if len(values) < min(task.limit, size):
        rest = max(0.0, total - float(sizes.sum()))
    return vectors[: len(sizes)], sizes, rest


def _lead_graded(matrix: Array, task: Task, weight: float) -> tuple[Array, Array, float]:
    """Return what :func:`_leading` does for a scatter matrix of columns in very different units."""
    vectors, values = find_graded_eigenpairs(matrix, task.tiny)
    sizes, rest = _choose(values[: task.limit], task, weight)
    return vectors[: len(sizes)], sizes, rest


def _find_axes(factor: Array, graded: bool) -> tuple[Array, Array]:
    """Return the right singular vectors of a factor of the rows, as rows, and its singular values."""
    if not graded:
        _, values, vectors = svd(factor, full_matrices=False)
        return vectors, values
    lengths = np.sqrt((factor**2).sum(axis=0))
    unit = np.where(lengths > 0, lengths, 1.0)
    # Of columns of length one the values that are rounding are known; the others are put back into their units.
    _, values, vectors = svd(factor / unit, full_matrices=False)
    known = values > factor.shape[1] * _EPSILON * values[0]
    return decompose_rows_of_any_size((values[known, None] * vectors[known] * unit).T)[:2]


def _decompose_few(matrix: Array) -> tuple[Array, Array]:
    """Return all eigenvalues, in rising order, and eigenvectors of a small symmetric matrix."""
    values, vectors, failed = dsyevd(np.asarray(matrix, dtype=np.float64))
    if failed:
        raise LinAlgError(
            f"the eigenvalues of a {len(matrix)} x {len(matrix)} matrix were not found (dsyevd: {failed})"
        )
    return values, vectors


def _choose(values: Array, task: Task, weight: float) -> tuple[Array, float]:
    """Return the leading sizes, padded with zeros if the data has fewer, and the sum of the others."""
    spectrum = np.append(values, np.zeros(task.limit - len(values)))
    count = choose_dimension(spectrum, task.n_components, weight)
    return spectrum[:count], float(spectrum[count:].sum())


def _step(task: Task, state: PrincipalAxes) -> Step:
    return Step(float(state.sizes.sum()) / task.degrees(state.weight), state, _certificate(task, state))


def _solution(task: Task, state: PrincipalAxes) -> Solution:
    return Solution(state, converged=True, certificate=_certificate(task, state))


def _certificate(task: Task, state: PrincipalAxes) -> Any:
    # Backward stability: rounding leaves a small multiple of eps times the norm, which grows with the dimension.
    return certify(state.residuals, max(100, task.n_features) * float(np.finfo(task.dtype).eps))
