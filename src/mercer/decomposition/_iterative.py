"""Iterative solvers that need only products with the scatter matrix S = X^T X of the rows, centred or as they are.

A product is one pass over the rows; each block is read once for both factors. If the d x d matrix S costs less than the
products would, it is formed in one pass and the iterations use it: the same values up to rounding, since a product X^T
(X q) squares the condition number as S does. Singular values below 1e-5 of the largest would lose their digits so, and
are found again without squares (:func:`_refine`).
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lu, solve_triangular
from scipy.linalg.lapack import dpotrf, dtrtri
from scipy.sparse.linalg import LinearOperator, eigsh

from mercer._solver import Dense, Solution, Solver, Step
from mercer._source import Source
from mercer._source.threads import one_blas_thread
from mercer._types import Array
from mercer.decomposition import _crossovers
from mercer.decomposition._axes import PrincipalAxes, Task, certify, residuals_of, settle
from mercer.decomposition._direct import measure
from mercer.decomposition._statistics import ScatterProduct, ScoreTriangle

_EPSILON = float(np.finfo(np.float64).eps)
# The tolerance of svd_solver="power" if tol is 0: ten digits of an eigenvector whose eigenvalue is well separated.
_POWER_TOLERANCE = 1e-10
# The share of the largest eigenvalue that rounding leaves in a residual of the power method.
_POWER_ROUNDING = 100.0 * _EPSILON
# The share of the tolerance that a component may use up itself.
_POWER_SHARE = 0.1
# Rounds without squares that follow the power method where some sizes are faint.
_POWER_ROUNDS = 20
# The least pivot of Cholesky's factor of columns of length one, the part of a column outside the span of those before
# it: below it their inner products have lost more than the second round restores.
_LEAST_PIVOT = 1e-5
# Eigenvalues of S below this share of the largest have fewer than six digits right: 2e-16 / 1e-10.
_FAINT = 1e-10


@dataclass(frozen=True)
class _Scatter:
    """S, as a matrix or as a product: weight, mean and scale of the rows, and the trace of S.

    ``shift`` is what S takes off the rows: their mean, or None for a singular value decomposition of the rows as given.
    """

    weight: float
    mean: Array
    scale: Array
    shift: Array
    total: float
    matrix: Array = None

    def times(self, basis: Array) -> Any:
        """Return the request for ``S basis``."""
        if self.matrix is not None:
            return Dense(lambda: self.matrix @ basis)
        return _ScaledProduct(self, basis)

    @property
    def unit(self) -> Any:
        """What the columns are divided by."""
        return 1.0 if self.scale is None else self.scale[:, None]


@dataclass(frozen=True)
class _ScaledProduct:
    """A request: S times a basis, by one pass over the rows."""

    scatter: _Scatter
    basis: Array

    def answer(self, source: Source) -> Array:
        unit = self.scatter.unit
        return source.reduce(ScatterProduct(self.scatter.shift, self.basis / unit)) / unit


@dataclass(frozen=True)
class _Scores:
    """A request: the triangular factor of the rows times a basis, by one pass over the rows."""

    scatter: _Scatter
    basis: Array

    def answer(self, source: Source) -> Array:
        return source.reduce(ScoreTriangle(self.scatter.shift, self.basis / self.scatter.unit)).factor


def _open(task: Task, n_products: int) -> Any:
    """Request the moments of the rows, and S itself if `n_products` products with single vectors would cost more."""
    # A product with one vector takes 4 n d operations, the symmetric S takes n d^2.
    form = not task.is_sparse and task.n_features <= min(4 * n_products, 4096)
    sums, squares, scale = yield from measure(task, diagonal=not form)
    total = float(squares.sum() if scale is None else (squares / scale**2).sum())
    matrix = None
    if form:
        matrix = sums.scatter if scale is None else sums.scatter / scale[:, None] / scale[None, :]
    if task.centred:
        return _Scatter(sums.weight, sums.mean, scale, sums.mean, total, matrix)
    # About zero: the centred sums plus w m m^T; both are positive, so that nothing cancels.
    total += sums.weight * float(sums.mean @ sums.mean)
    matrix = None if matrix is None else matrix + sums.weight * np.outer(sums.mean, sums.mean)
    return _Scatter(sums.weight, sums.mean, scale, None, total, matrix)


def iterate_subspace(task: Task, start: PrincipalAxes | None) -> Solver:
    """Iterate a subspace from random vectors (Halko, Martinsson and Tropp 2011), with Ritz values after each product.

    ``iterations`` power iterations make iterations + 2 products: the first gives the range, the last the Ritz values
    of the final subspace.
    """
    width = min(task.n_components + task.n_oversamples, task.n_features)
    scatter = yield from _open(task, width * (task.iterations + 2))
    if scatter.matrix is not None and task.n_features < _crossovers.NARROW_SUBSPACE:
        # The first Ritz values of all directions are exact.
        width = task.n_features
    state: Any = start
    if start is None:
        # The random start is drawn only for a fresh fit; a resumed one has its basis.
        random = np.random.default_rng(task.seed).standard_normal((task.n_features, width))
    basis, first = (random, 0) if start is None else (start.basis, start.steps)
    asked = task.tol or np.nan
    for step in range(first, task.iterations + 2):
        # Products of an orthonormal basis keep all directions; without it all columns would turn to the first axis.
        orthonormal, product = yield from _orthonormal_product(task, scatter, basis)
        axes, sizes, residuals, basis = yield Dense(partial(_ritz, task, orthonormal, product))
        rest = max(0.0, scatter.total - float(sizes.sum()))
        state = PrincipalAxes(
            scatter.weight, scatter.mean, scatter.scale, axes, sizes, rest, task.limit, residuals, basis, step + 1
        )
        yield _step(task, state, asked)
        # A basis of all columns spans every eigenvector: its Ritz values are exact, and no iteration improves them.
        if residuals.max() <= task.tol or width == task.n_features:
            break
    if _is_faint(state.sizes):
        orthonormal, _ = yield Dense(partial(_factorise, basis))
        state = replace((yield from _refine(task, scatter, orthonormal)), basis=basis, steps=state.steps)
        yield _step(task, state, asked)
    return Solution(state, converged=True, certificate=certify(state.residuals, asked))


def _is_faint(sizes: Array) -> bool:
    """Return whether a wanted eigenvalue is so small beside the largest that products with S lose it."""
    return sizes.size > 1 and bool(sizes.min() < _FAINT * sizes.max())


def _refine(task: Task, scatter: _Scatter, basis: Array) -> Any:
    """Find axes in all sizes again from an orthonormal basis, without squares: a generator that returns the state.

    With R the triangular factor of X Q, found by reflections, R = A diag(s) B^T gives Ritz vectors Q B and their
    singular values s. X (Q B / s) has orthonormal columns, so that its product with X^T, the next basis, has columns
    of length s, and none is lost in the rounding of the others. The axes that the products with S lost are noise at
    first; the rounds are as many as those iterations were.
    """
    for _ in range(max(2, task.iterations)):
        factor = yield _Scores(scatter, basis)
        vectors, values, known = yield Dense(partial(_turn, basis, factor))
        lifted = yield _ScaledProduct(scatter, vectors[:, known] / values[known])
        basis = yield Dense(partial(_follow, lifted / values[known], vectors[:, ~known]))
    sizes = np.where(known, values, 0.0)[: task.n_components] ** 2
    axes, sizes = yield Dense(lambda: settle(vectors.T[: task.n_components], sizes, len(sizes), 0.0, task.dtype))
    # The last product is X^T U, so that S v = s X^T u for each axis; those without variance have none.
    products = np.zeros_like(vectors.T)
    products[known] = (lifted * values[known]).T
    turned = np.sign((vectors.T[: len(sizes)] * axes).sum(axis=1)) * (sizes > 0)
    residuals = residuals_of(products[: len(sizes)] * turned[:, None], axes, sizes)
    rest = max(0.0, scatter.total - float(sizes.sum()))
    return PrincipalAxes(scatter.weight, scatter.mean, scatter.scale, axes, sizes, rest, task.limit, residuals)


def _turn(basis: Array, factor: Array) -> tuple[Array, Array, Array]:
    """Return Ritz vectors of the rows in a basis, their singular values, and which of these are more than rounding."""
    _, values, turns = np.linalg.svd(factor)
    # Fewer rows than columns of the basis leave directions without variance.
    values = np.append(values, np.zeros(len(turns) - len(values)))
    return basis @ turns.T, values, values > len(basis) * _EPSILON * values[0]


def _follow(columns: Array, others: Array) -> Array:
    """Return an orthonormal basis of columns, with directions without variance behind them."""
    return np.linalg.qr(np.concatenate([columns, others], axis=1))[0]


def _orthonormal_product(task: Task, scatter: _Scatter, basis: Array) -> Any:
    """Return an orthonormal Q with the span of `basis`, and S Q; a generator of requests."""
    orthonormal, triangle = yield Dense(partial(_factorise, basis))
    if task.normalizer == "QR":
        return orthonormal, (yield scatter.times(orthonormal))
    # basis = Q R, so that S Q = (S basis) R^-1.
    product = yield scatter.times(basis)
    return orthonormal, (yield Dense(lambda: solve_triangular(triangle, product.T, trans="T").T))


def _factorise(basis: Array) -> tuple[Array, Array]:
    """Return Q R = `basis` with orthonormal columns in Q and an upper triangle R.

    Two rounds of Cholesky's factor of the inner products (Yamamoto and others 2015) take a third of the time that
    Householder's reflections take for 5000 x 30, and are as orthonormal where no column, scaled to length one, is
    close to the span of those before it; elsewhere, and for few numbers, the reflections are used.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", basis, basis)) if basis.size >= _crossovers.CHOLESKY_BASIS else np.zeros(1)
    if not (np.isfinite(lengths).all() and lengths.all()):
        return np.linalg.qr(basis)
    Q, R = basis / lengths, np.diag(lengths)
    for _ in range(2):
        factor, failed = dpotrf(Q.T @ Q)
        if failed or np.diagonal(factor).min() < _LEAST_PIVOT:
            return np.linalg.qr(basis)
        # Q <- Q F^-1 with F^T F = Q^T Q; the second round takes off the rounding of the inverse too.
        Q, R = Q @ dtrtri(factor)[0], factor @ R
    return Q, R


def _ritz(task: Task, orthonormal: Array, product: Array) -> tuple[Array, Array, Array, Array]:
    """Return the Ritz axes, sizes and residuals in the span of orthonormal Q, given S Q, and the next basis."""
    inner = orthonormal.T @ product
    values, mixing = np.linalg.eigh((inner + inner.T) / 2)
    chosen = mixing[:, ::-1][:, : task.n_components]
    sizes = np.maximum(values[::-1][: task.n_components], 0.0)
    raw = (orthonormal @ chosen).T
    axes, sizes = settle(raw, sizes, len(sizes), task.tiny, task.dtype)
    # If an axis changes its sign, its product does too; products of axes without variance are zero.
    turned = np.sign((raw * axes).sum(axis=1)) * (sizes > 0)
    residuals = residuals_of((product @ chosen).T * turned[:, None], axes, sizes)
    return axes, sizes, residuals, lu(product, permute_l=True)[0] if task.normalizer == "LU" else product


def power(task: Task, start: PrincipalAxes | None, first: Array = None) -> Solver:
    """Iterate v <- S v / |S v|, one component after the other, each orthogonal to those before it.

    For v orthogonal to the eigenvectors found, S v is the product with the deflated matrix S - sum_i s_i v_i v_i^T. The
    error shrinks at each step by the ratio of the next eigenvalue to this one; a start orthogonal to an eigenvector
    (`first`, by default random) never finds it. ``basis`` holds the vectors found and, last, the one to multiply next.
    """
    scatter = yield from _open(task, 0)
    random = np.random.default_rng(task.seed).standard_normal((task.n_components, task.n_features))
    random = random if first is None else np.concatenate([first[None, :], random[1:]])
    tolerance = task.tol or _POWER_TOLERANCE
    state: Any = start
    basis, steps = (_unit(random[:1]), 0) if start is None else (start.basis, start.steps)
    found = True
    while basis.shape[0] <= task.n_components:
        product = (yield scatter.times(basis[-1][:, None]))[:, 0]
        axes, sizes, residuals, left = yield Dense(partial(_with_current, task, state, basis, product))
        # Relative to its own size: beside the largest one a small component looks found from the first step on. The
        # errors of those before it are in its residual too.
        settled = left <= max(_POWER_SHARE * tolerance * sizes[-1], _POWER_ROUNDING * sizes.max())
        finished = settled or steps + 1 >= task.iterations
        found = found and (settled or not finished)
        kept = basis if finished else basis[:-1]
        # The next vector starts at random, or the product of this one goes on.
        following = random[basis.shape[0] % task.n_components] if finished else product
        # Orthogonal to the vectors found: the product with the deflated matrix.
        vector = yield Dense(partial(_project, following, kept))
        basis = np.concatenate([kept, _unit(vector[None, :], basis[-1:])])
        steps = 0 if finished else steps + 1
        rest = max(0.0, scatter.total - float(sizes.sum()))
        state = PrincipalAxes(
            scatter.weight, scatter.mean, scatter.scale, axes, sizes, rest, task.limit, residuals, basis, steps
        )
        yield _step(task, state, tolerance, component=axes.shape[0])
    found = found and bool(state.residuals.max() <= tolerance)
    if _is_faint(state.sizes):
        basis = yield Dense(lambda: np.linalg.qr(state.axes.T.astype(np.float64))[0])
        state = yield from _refine(replace(task, iterations=_POWER_ROUNDS), scatter, basis)
        yield _step(task, state, tolerance)
    return Solution(state, found, certify(state.residuals, tolerance))


def _with_current(task: Task, state: Any, basis: Array, product: Array) -> tuple[Array, Array, Array, float]:
    """Return axes, sizes and residuals of the components already converged and of the vector just multiplied.

    Last, the length of its residual in the complement of the components before it.
    """
    n_done = basis.shape[0] - 1
    vector, size = basis[-1], max(0.0, float(basis[-1] @ product))
    sizes = np.append(state.sizes[:n_done] if n_done else np.empty(0), size)
    gaps = product - size * vector
    gap = np.linalg.norm(gaps) / (sizes.max() or 1.0)
    residuals = np.append(state.residuals[:n_done] if n_done else np.empty(0), gap)
    left = float(np.linalg.norm(_project(gaps, basis[:-1])))
    axes, sizes = settle(basis, sizes, len(sizes), task.tiny, task.dtype)
    return axes, sizes, residuals, left


def _project(vector: Array, basis: Array) -> Array:
    """Return the projection of `vector` on the complement of the rows of `basis`, computed twice against rounding."""
    for _ in range(2):
        vector = vector - (basis @ vector) @ basis
    return vector


def _unit(row: Array, otherwise: Array = None) -> Array:
    """Return `row` over its length, or `otherwise` if that is zero: a direction without variance stays as it is."""
    length = float(np.sqrt((row**2).sum()))
    return row / length if length > 0 else otherwise


def arpack(task: Task, start: PrincipalAxes | None) -> Solver:
    """Run ARPACK's implicitly restarted Lanczos method (Lehoucq, Sorensen and Yang 1998) on products with S."""
    state = start
    tolerance = max(task.tol, max(100, task.n_features) * float(np.finfo(task.dtype).eps))
    if state is None:
        # Lanczos with its usual restarts makes some 10 products per component, each of one vector and so bound by the
        # speed of memory, at which it does about a tenth of the arithmetic that forming S does.
        scatter = yield from _open(task, 100 * task.n_components)
        first = np.random.default_rng(task.seed).uniform(-1, 1, task.n_features)
        vectors, values = yield _Lanczos(task, scatter, first)
        axes, _ = yield Dense(lambda: settle(vectors, values, len(values), task.tiny, task.dtype))
        products = (yield scatter.times(axes.T.astype(np.float64))).T
        sizes = np.where(values > task.tiny * values[0], (products * axes).sum(axis=1), 0.0)
        rest = max(0.0, scatter.total - float(sizes.sum()))
        residuals = residuals_of(products, axes, sizes)
        state = PrincipalAxes(scatter.weight, scatter.mean, scatter.scale, axes, sizes, rest, task.limit, residuals)
        if _is_faint(sizes):
            state = yield from _refine(task, scatter, axes.T.astype(np.float64))
        yield _step(task, state, tolerance)
    return Solution(state, converged=True, certificate=certify(state.residuals, tolerance))


@dataclass(frozen=True)
class _Lanczos:
    """A request: the leading eigenvectors of S, largest first, as rows, and their eigenvalues, by ARPACK."""

    task: Task
    scatter: _Scatter
    first: Array

    def answer(self, source: Source) -> tuple[Array, Array]:
        count, size = self.task.n_components, self.task.n_features
        if self.scatter.total == 0:
            return np.eye(count, size), np.zeros(count)

        def multiply(vector: Array) -> Array:
            return self.scatter.times(vector.reshape(size, 1)).answer(source)

        operator = LinearOperator((size, size), matvec=multiply, dtype=np.float64)
        with one_blas_thread():
            values, vectors = eigsh(operator, k=count, tol=self.task.tol, v0=self.first)
            # ARPACK's vectors of a repeated eigenvalue are orthogonal to its tolerance only.
            order = np.argsort(values)[::-1]
            return np.linalg.qr(vectors[:, order])[0].T, np.maximum(values[order], 0.0)


def _step(task: Task, state: PrincipalAxes, tolerance: float, **extra: float) -> Step:
    captured = float(state.sizes.sum()) / task.degrees(state.weight)
    return Step(captured, state, certify(state.residuals, tolerance), extra)
