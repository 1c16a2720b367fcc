"""Principal components of rows that arrive in batches, in memory for one batch.

k scaled axes, ``singular_values_[:, None] * components_``, stand for the rows seen so far: a k x d matrix with their
scatter, minus the part that was cut off. A new batch, centred on its own mean, and one row for the distance between the
two means are put under it; the leading singular vectors of the stack are the new axes (Ross, Lim, Lin and Yang 2008).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import svd

from mercer._base import LimitedEstimator, fitting
from mercer._base.parameter import Boolean, Integer, Nothing, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._solver.request import HEAVY
from mercer._source import Block, Source, open_source
from mercer._source.namespace import is_sparse_matrix, to_numpy
from mercer._source.threads import one_blas_thread
from mercer._statistic.triangle import reduce_rows
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.decomposition._axes import fix_signs
from mercer.decomposition._projection import Projection
from mercer.errors import DataError

# Ratio of squared singular values up to which axes of the Gram matrix are right to some 1e-10.
_SPAN = 1e6
# Sums of squares below this lose digits: float64 has its full precision down to 1e-308.
_LEAST = 1e-280


@plain
@dataclass(frozen=True)
class RunningAxes:
    """The number, mean and variances of the rows seen, and the axes with their singular values."""

    n_seen: float
    mean: Array
    variance: Array
    axes: Array
    values: Array
    dtype: str = "float64"

    def with_batch(self, block: Block, count: int) -> "Stack":
        """Return the sums after one more batch, for `count` axes, by array operations where its rows are."""
        xp, n_batch = block.xp, block.n
        rows = xp.astype(block.X, block.wide, copy=False)
        batch_mean = xp.mean(rows, axis=0)
        rows = rows - batch_mean
        total = self.n_seen + n_batch
        step = batch_mean - self.mean
        # Scatter between two groups of n and m rows: n m / (n + m) step step^T.
        between = math.sqrt(self.n_seen * n_batch / total) * step
        # The axes so far, scaled by their singular values, stand for all earlier rows.
        earlier = xp.concat([self.values[:, None] * self.axes, between[None, :]]) if self.n_seen else rows[:0, :]
        factor, squares = _reduce_stack(xp, earlier, rows, count)
        scatter = self.variance * self.n_seen + squares + between**2
        mean = self.mean + n_batch / total * step
        return Stack(total, mean, scatter / total, factor)


@dataclass(frozen=True)
class Stack:
    """Number, mean and variances of the rows, and a factor of the axes with the batch below them.

    The factor has the leading singular values and axes of the whole stack and is at most d x d, however long the batch.
    """

    n_seen: float
    mean: Array
    variance: Array
    factor: Array

    def axes(self, count: int, dtype: str) -> RunningAxes:
        """Return the state with the leading `count` axes."""
        _, values, axes = svd(self.factor, full_matrices=False, check_finite=False)
        axes = fix_signs(axes[:count])
        return RunningAxes(self.n_seen, self.mean, self.variance, axes, values[:count], dtype)


def _reduce_stack(xp: Any, earlier: Array, rows: Array, count: int) -> tuple[Array, Array]:
    """Return few rows with the `count` leading singular values and axes of two stacked matrices, and squares of `rows`.

    The squares are summed over the rows, for each column. Few axes are found from the Gram matrix of the columns, in
    half the time of the triangular factor and without a stacked copy. Its rounding moves an axis of singular value s by
    some 1e-16 (s_1 / s)^2, so that it serves while the squares of the values asked for span less than `_SPAN`; else,
    and where rows are on a device, the triangular factor is taken.
    """
    n, d = rows.shape
    if isinstance(rows, np.ndarray) and 4 * count <= d <= min(n + earlier.shape[0], HEAVY):
        with np.errstate(over="ignore", invalid="ignore"):
            gram = rows.T @ rows
            squares = gram.diagonal().copy()
            gram += earlier.T @ earlier
        # No entry of a Gram matrix exceeds the largest on its diagonal.
        if _LEAST < np.trace(gram) < np.inf:
            values, vectors = find_eigenpairs(gram, d - count)
            if values[0] * _SPAN > values[-1]:
                return np.sqrt(values[::-1])[:, None] * vectors.T[::-1], squares
    # `earlier` has one row of differences of means, which the stack has below the batch.
    stacked = xp.concat([earlier[:-1, :], rows, earlier[-1:, :]]) if earlier.shape[0] else rows
    return reduce_rows(stacked), xp.sum(rows**2, axis=0)


@dataclass(frozen=True, eq=False)
class _WithBatch:
    """A request: the state after one more batch, computed where its rows are."""

    state: RunningAxes
    batch: slice
    count: int

    def answer(self, source: Source) -> RunningAxes:
        with one_blas_thread():
            stack = source.on_rows(self.batch.start, self.batch.stop, self)
            return stack.axes(self.count, self.state.dtype)

    def __call__(self, block: Block) -> Stack:
        return self.state.with_batch(block, self.count)


@dataclass(frozen=True)
class _Available:
    """A request: the number of rows from `start` on, at most `count`."""

    start: int
    count: int

    def answer(self, source: Source) -> int:
        return source.available(self.start, self.count)


def follow(size: int, least: int, count: Callable[[int], int], state: RunningAxes) -> Solver:
    """Take batches of `size` rows, one after the other, with a step for each.

    If fewer than `least` rows remain at the end, they join the batch before them. `count` gives the number of
    components from the length of the first batch.
    """
    while True:
        start = int(state.n_seen)
        available = yield _Available(start, size + least)
        if available == 0:
            return Solution(state, converged=True, certificate=_CERTIFICATE)
        # A short rest joins the last batch: it would be too small to hold the components.
        stop = start + (size if available == size + least else available)
        state = yield _WithBatch(state, slice(start, stop), count(stop - start) if start == 0 else len(state.values))
        captured = float((state.values**2).sum() / max(state.n_seen - 1, 1))
        yield Step(captured, state, _CERTIFICATE, {"rows": float(state.n_seen)})


_CERTIFICATE = Certificate.none(
    "What is cut off after each batch is lost, and nothing bounds how far the axes are from those of all rows at once; "
    "with n_components = n_features nothing is cut off and they are the same."
)


class IncrementalPCA(Projection, LimitedEstimator):
    """Principal component analysis in batches: one pass, in memory for one batch and the components.

    After each batch the axes are the leading right singular vectors of the old axes, scaled by their singular values,
    with the centred batch below them::

        [S V ; X_batch - mean_batch ; sqrt(n m / (n + m)) (mean - mean_batch)]

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, by falling variance; the entry of largest magnitude in each is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (n_components_,)
        Variance along each component, its share of the total, and the norm of the scores.
    mean_, var_ : ndarray of shape (n_features,)
        Mean and variance (divided by the number of rows) of each column.
    noise_variance_ : float
        Mean variance along the directions left out, with what was cut off on the way.
    n_components_, batch_size_ : int
    n_samples_seen_ : int
        Rows seen by ``fit``, or by all calls of ``partial_fit`` since.
    history_ : dict of ndarray
        The captured variance (``objective``) and the rows seen, batch by batch, of ``fit``.

    Notes
    -----
    A batch of b rows takes O((b + k) d^2) time, or O((b + k)^2 d) for fewer rows than features, and O(b d) memory. The
    result depends on the order of the batches, since each cut forgets the least of what was seen; with ``n_components``
    equal to the number of features nothing is cut and it equals :class:`PCA`. Sparse rows are made dense a batch at a
    time, in ``fit`` only.

    References
    ----------
    Ross, Lim, Lin and Yang (2008), Incremental learning for robust visual tracking. Levy and Lindenbaum (2000),
    Sequential Karhunen-Loeve basis extraction.

    Examples
    --------
    >>> from mercer.decomposition import IncrementalPCA
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> model = IncrementalPCA(n_components=10, batch_size=200).fit(X)
    >>> round(float(model.explained_variance_ratio_.sum()), 2)
    0.73
    """

    n_components: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        kw_only=False,
        doc="How many components; None for all that the first batch has.",
    )
    whiten: bool = parameter(Boolean(), default=False, doc="Divide scores by their standard deviations.")
    copy: bool = parameter(
        Boolean(),
        default=True,
        doc="The rows are never overwritten, whatever this says; it is here so that scikit-learn's code runs.",
    )
    batch_size: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="Rows in a batch of ``fit``; None for five times the number of features.",
    )

    _documents = {
        "max_time": "Seconds after which ``fit`` stops, with the batches taken so far.",
        "n_jobs": "Threads of ``transform``; batches follow one another. Never changes a result.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("axes, columns"),
        "mean_": floats("columns"),
        "explained_variance_": floats("axes"),
        "singular_values_": floats("axes"),
        "batch_size_": integers(low=0),
        "var_": floats("columns"),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "each cut to n_components forgets a little of the batches before it, so their order shows"
    }
    # Without targets and weights there is nothing to be on another device.
    _check_exceptions: ClassVar[dict[str, str]] = {}
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    # The captured variance is a mean over the rows, which a quiet batch lowers.
    _objective_moves: ClassVar[str | None] = None
    _takes_sparse = True
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None) -> "IncrementalPCA":
        """Forget what was seen, and take `X` batch by batch."""
        source = self._open(X, accept_sparse="csr")
        size = self.batch_size or 5 * source.n_features
        empty = _nothing_seen(source.n_features, source.host_dtype)

        def count(first: int) -> int:
            return self._count(first, source.n_features, None)

        def solve(start: RunningAxes | None) -> Solver:
            return follow(size, self.n_components or 0, count, start or empty)

        most = None if source.known_rows is None else -(-source.n_rows // size)
        outcome = self._drive(solve, source, max_steps=most, attributes={"batch_size_": size})
        self._conclude(outcome)
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, check_input: bool = True) -> "IncrementalPCA":
        """Take `X` as one more batch.

        Parameters
        ----------
        check_input : bool, default=True
            Whether to check `X`; False for a float array that has been checked before.
        """
        seen = self.__dict__.get("components_") is not None
        if is_sparse_matrix(X):
            raise TypeError(
                "IncrementalPCA.partial_fit does not support sparse input. Either convert data to dense or use "
                "IncrementalPCA.fit to do so in batches."
            )
        unchecked = not check_input and isinstance(X, np.ndarray)
        source = open_source(X) if unchecked else self._open(X, reset=not seen)
        count = self._count(source.n_rows, source.n_features, self.components_ if seen else None)
        state = self._state() if seen else _nothing_seen(source.n_features, source.host_dtype)
        try:
            state = _WithBatch(state, slice(0, source.n_rows), count).answer(source)
        finally:
            source.release()
        for name, value in self._fitted(state).items():
            setattr(self, name, value)
        return self

    def _count(self, n_rows: int, n_features: int, axes: Array) -> int:
        """Return the number of components, checked against the batch and the axes so far."""
        wish = self.n_components
        if wish is None:
            return min(n_rows, n_features) if axes is None else axes.shape[0]
        if wish > n_features:
            raise DataError(
                f"IncrementalPCA: n_components={wish} invalid for n_features={n_features}, need more rows than columns "
                f"for IncrementalPCA processing; lower it."
            )
        if axes is None and wish > n_rows:
            raise DataError(
                f"IncrementalPCA: n_components={wish} must be less or equal to the batch number of samples {n_rows} "
                f"for the first partial_fit call; give a longer first batch."
            )
        if axes is not None and wish != axes.shape[0]:
            raise DataError(
                f"IncrementalPCA: n_components must not change between calls of partial_fit; got {wish} after "
                f"{axes.shape[0]}. Set it back, or call fit to start afresh."
            )
        return wish

    def _state(self) -> RunningAxes:
        arrays = [to_numpy(value) for value in (self.mean_, self.var_, self.components_, self.singular_values_)]
        mean, variance, axes, values = (value.astype(np.float64) for value in arrays)
        return RunningAxes(float(self.n_samples_seen_), mean, variance, axes, values, arrays[2].dtype.name)

    def _fitted(self, state: RunningAxes) -> dict[str, Any]:
        degrees = max(state.n_seen - 1, 1)
        squares, total = state.values**2, float(state.variance.sum()) * state.n_seen
        # Directions left over share what the components do not explain.
        left = min(int(state.n_seen), state.axes.shape[1]) - len(squares)
        rest = max(0.0, total - float(squares.sum()))
        return {
            "components_": state.axes.astype(state.dtype),
            "mean_": state.mean.astype(state.dtype),
            "var_": state.variance.astype(state.dtype),
            "singular_values_": state.values.astype(state.dtype),
            "explained_variance_": (squares / degrees).astype(state.dtype),
            "explained_variance_ratio_": (squares / (total or 1.0)).astype(state.dtype),
            "noise_variance_": rest / degrees / left if left > 0 else 0.0,
            "n_components_": len(squares),
            "n_samples_seen_": int(state.n_seen),
        }


def _nothing_seen(n_features: int, dtype: Any) -> RunningAxes:
    zero = np.zeros(n_features)
    return RunningAxes(0.0, zero, zero, np.empty((0, n_features)), np.empty(0), str(np.dtype(dtype)))
