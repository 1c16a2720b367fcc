"""The task of every solver of independent components, and the state that it leaves."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgesdd

from mercer._plain import plain
from mercer._solver import Certificate
from mercer._source.array import ArraySource
from mercer._types import Array
from mercer.decomposition._separation.scores import Score
from mercer.decomposition._separation.statistics import ScoreSums, ScoreTotals
from mercer.decomposition._separation.whitening import Whitener, WhiteSpace, keep_white_rows, whiten
from mercer.errors import ParameterError


@dataclass(frozen=True)
class SeparationTask:
    """What a solver is asked for: the white space, the score, and where to stop."""

    whitener: Whitener
    score: Score
    tol: float
    max_iter: int
    seed: Any
    orthogonal: bool = False
    extended: bool = True
    start: Array = None
    white: WhiteSpace | None = None
    learning_rate: float = 0.1
    rows_per_step: int | None = None
    n_rows: int | None = None
    n_init: int = 1
    n_directions: int | None = None
    dtype: Any = np.float64


@plain
@dataclass(frozen=True)
class Unmixing:
    """The unmixing matrix W of white rows, with what the solver needs to go on from here.

    ``curvature[i]`` is the mean of g'(y_i) times that of y_i^2, less that of g(y_i) y_i: zero for a Gaussian source.
    ``signs`` are +1 for heavy tails and -1 for light ones; ``flips`` counts their changes. ``stage`` 0 is the
    fixed-point start. ``pairs`` are the steps and the gradient changes of the quasi-Newton method, ``value`` the means
    of G.
    """

    white: WhiteSpace
    W: Array
    offset: Array
    curvature: Array
    signs: Array
    flips: Array
    stage: int = 0
    steps: int = 0
    pairs: Array = None
    value: Array = None


@dataclass(frozen=True)
class Evaluation:
    """Means over the rows: of G, g' and g of each component, and of g(y_i) y_j."""

    value: Array
    slope: Array
    first: Array
    products: Array

    @classmethod
    def of(cls, totals: ScoreTotals) -> "Evaluation":
        """Divide the sums by the total weight."""
        weight = totals.weight
        return cls(totals.value / weight, totals.slope / weight, totals.first / weight, totals.products / weight)


@dataclass(frozen=True)
class Rows:
    """Where white rows come from: the given rows through K, or a narrow copy of them in memory."""

    white: WhiteSpace
    score: Score
    inner: ArraySource | None

    def request(self, W: Array, offset: Array, extra: Array = None) -> Any:
        """Return the request for the sums of the components W u + offset; rows of `extra` are not scored."""
        below = W if extra is None else np.concatenate([W, extra])
        shift = np.zeros(len(below))
        if offset is not None:
            shift[: len(W)] = offset
        if self.inner is None:
            return ScoreSums(below @ self.white.matrix, self.white.mean, shift, self.score, len(W))
        zero = np.zeros(self.white.n_components)
        return _Inside(ScoreSums(below, zero, shift, self.score, len(W)), self.inner)


@dataclass(frozen=True)
class _Inside:
    """A statistic of white rows that are a source of their own."""

    statistic: ScoreSums
    inner: ArraySource

    def answer(self, source: Any) -> Any:
        return self.inner.reduce(self.statistic)


def begin(task: SeparationTask, start: Unmixing | None) -> Any:
    """Request the white axes, unless a state has them, and return where rows come from and the state; a generator."""
    if start is not None:
        white = start.white
    else:
        white = task.white if task.white is not None else (yield from whiten(task.whitener))
    inner = yield keep_white_rows(white, task.whitener.subject)
    rows = Rows(white, task.score, inner)
    if start is not None:
        return rows, start
    k = white.n_components
    count = k if task.n_directions is None else task.n_directions
    W = task.start
    if W is None:
        W = np.random.default_rng(task.seed).normal(size=(count, k))
    elif np.shape(W) != (count, k):
        raise ParameterError(
            f"{task.whitener.subject}: w_init has invalid shape -- should be ({count}, {k}), one row for each "
            f"component; got {np.shape(W)}. Pass a matrix of that shape, or None."
        )
    zero = np.zeros(count)
    return rows, Unmixing(white, np.asarray(W, dtype=np.float64), zero, zero, np.ones(count), zero)


def evaluate(rows: Rows, W: Array, offset: Array = None, extra: Array = None) -> Any:
    """Request one pass, and return the means over the rows; a generator."""
    totals = yield rows.request(W, offset, extra)
    return Evaluation.of(totals)


def decorrelate(W: Array) -> Array:
    """Return the orthogonal matrix nearest to W: (W W^T)^(-1/2) W."""
    # LAPACK's routine itself: for ten components, what NumPy does around it takes half as long as the factorisation.
    left, _, right, failed = dgesdd(W, full_matrices=0)
    if failed:
        raise np.linalg.LinAlgError(
            "The singular values of the unmixing matrix did not converge. Scale the rows, or look for NaN."
        )
    return left @ right


def measure_curvature(W: Array, now: Evaluation) -> Array:
    """Return the curvature of each component scaled to unit variance; W u has the variance |W_i|^2."""
    squares = np.einsum("ij,ij->i", W, W)
    return now.slope * squares - now.products.diagonal()


def rate_at_unit_variance(rows: Rows, state: Unmixing) -> Any:
    """Request one more pass, and return the state with the curvatures of sources of variance one; a generator."""
    scaled = replace(state, W=state.W / np.linalg.norm(state.W, axis=1)[:, None])
    now = yield from evaluate(rows, scaled.W)
    return replace(state, curvature=measure_curvature(scaled.W, now))


_STATEMENT = (
    "Largest entry of the relative gradient of the contrast by {}; it has no unit and does not depend on the mixing "
    "matrix. It bounds the distance to a stationary point, not to the best one of several."
)
_STATEMENTS = {
    False: _STATEMENT.format("the unmixing matrix"),
    True: _STATEMENT.format("rotations of the unmixing matrix"),
}


def certify_gradient(size: float, tol: float, *, orthogonal: bool) -> Certificate:
    """Return the certificate of a stationary point of the likelihood, by all matrices or by rotations."""
    return Certificate.of("gradient norm", size if math.isfinite(size) else math.inf, tol, _STATEMENTS[orthogonal])
