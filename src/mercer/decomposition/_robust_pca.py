"""Robust principal components: rows as a matrix of low rank plus a sparse one, by principal component pursuit."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import svd

from mercer._base import LimitedEstimator, fitting
from mercer._base.linear_map import CentredMap
from mercer._base.parameter import Integer, Nothing, Real, attribute, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats, size
from mercer._types import Array
from mercer.decomposition._axes import fix_signs
from mercer.errors import DataError

# Singular values of the part of low rank below this share of the largest are not counted in its rank.
_RANK = 1e-3
# Factor by which the weight of the constraint grows from step to step. With 1.5 and no limit, as is common, the duality
# gap stays at 39 % on 100 x 30 rows with 5 % errors; with this factor and the limit below it vanishes.
_GROWTH = 1.02
# The most that the weight grows by in all: a larger limit takes more steps, and none at all ends with a gap.
_MOST = 10.0
# Iterations between two measurements of the duality gap, each about as costly as an iteration.
_EVERY = 10
# |X - L - S| / |X| below which every iteration measures the gap.
_NEAR = 1e-7
_STATEMENT = (
    "The duality gap of the convex program over its objective, at L with S = X - L: no other parts have an objective "
    "lower by more than this share."
)


@plain
@dataclass(frozen=True, eq=False)
class PursuitState:
    """Location, both parts in units of the largest entry, the constraint's multiplier, its weight and its limit."""

    location: Array
    low: Array
    sparse: Array
    multiplier: Array
    penalty: float
    most: float
    unit: float
    residual: float = np.inf
    step: int = 0
    stopped: bool = False


class RobustPCA(CentredMap, LimitedEstimator):
    r"""Robust PCA: rows as a matrix of low rank plus a sparse matrix of gross errors, by a convex program.

    .. math:: \min_{L, S} \lVert L \rVert_* + \lambda \lVert S \rVert_1
              \quad \text{subject to} \quad L + S = X - 1 m^\top

    with the sum of singular values :math:`\lVert L \rVert_*` and the sum of absolute values
    :math:`\lVert S \rVert_1`. Where rows of low rank have gross errors at few random entries, however large, the
    minimum is exactly those rows and those errors (Candes et al.). One gross error can turn every axis of :class:`PCA`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal axes of the part of low rank, by falling size.
    singular_values_ : ndarray of shape (n_components_,)
    mean_ : ndarray of shape (n_features,)
        m: the median of each column, plus the mean of the part of low rank, about which the axes are taken.
    low_rank_, sparse_ : ndarray of shape (n_samples, n_features)
        Both parts, whose sum is the rows to rounding of the fit; ``sparse_`` holds the outlying entries, and zeros.
    n_components_ : int
    history_ : dict of ndarray
        The objective of the program, and the duality gap measured last.

    Notes
    -----
    Each iteration has a singular value decomposition, O(n d min(n, d)); memory for four matrices of the size of the
    rows, which must be in memory.

    References
    ----------
    Candes, Li, Ma and Wright (2011), Robust principal component analysis? Lin, Chen and Ma (2010), The augmented
    Lagrange multiplier method for exact recovery of corrupted low-rank matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import RobustPCA
    >>> random = np.random.default_rng(0)
    >>> clean = random.normal(size=(100, 2)) @ random.normal(size=(2, 30))
    >>> X = clean + np.where(random.uniform(size=clean.shape) < 0.05, 50.0, 0.0)
    >>> model = RobustPCA().fit(X)
    >>> model.n_components_, bool(np.abs(model.low_rank_ - clean).max() < 0.01)
    (2, True)
    """

    _needs_rows: ClassVar[str] = "its factors have an entry for each row"

    n_components: int | None = parameter(
        Integer(1) | Nothing(), default=None, kw_only=False, doc="Axes kept of the part of low rank; None for its rank."
    )
    weight: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="Lambda; None for 1 / sqrt(max(n_samples, n_features)).",
    )
    tol: float = parameter(
        Real(0), default=1e-4, doc="The fit stops when the duality gap is at most this share of the objective."
    )
    max_iter: int = parameter(Integer(1), default=1000, doc="Most iterations.")

    _documents = {
        "n_jobs": "Threads of ``transform``; never changes a result.",
    }

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the two parts of the rows, the multiplier and the rows themselves are four matrices of one size"
    }
    # The augmented Lagrangian method satisfies the constraint in the limit only, and the objective may rise to it.
    _objective_moves: ClassVar[str | None] = None
    mean_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "singular_values_": floats("components"),
        "mean_": floats("columns"),
        "low_rank_": floats("rows, columns"),
        "sparse_": floats("rows, columns"),
        "n_components_": size("components"),
    }
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None) -> "RobustPCA":
        """Split the rows into low rank and gross errors."""
        source = self._open(X)
        n, d = source.n_rows, source.n_features
        if self.n_components is not None and self.n_components > min(n, d):
            raise DataError(
                f"RobustPCA: n_components must be at most min(n_samples, n_features) = {min(n, d)}; got "
                f"{self.n_components} with n_samples={n}. Lower it."
            )
        require_memory("RobustPCA", 8.0 * 8 * n * d, "the two parts of the rows", "give fewer rows or columns")
        fitted = partial(self._attributes_of, dtype=source.host_dtype)
        outcome = self._drive(partial(self._solve, source), source, fitted=fitted, max_steps=self.max_iter)
        self._conclude(outcome)
        return self

    def _solve(self, source: Source, start: PursuitState | None) -> Solver:
        """Alternate between the two parts, each a proximal step, and move the multiplier of the constraint."""
        rows = np.asarray(source.whole(), dtype=np.float64)
        location = np.median(rows, axis=0)
        X = rows - location
        # In units of the largest entry: the program is homogeneous, and squares must not overflow.
        unit = float(np.abs(X).max()) or 1.0
        X = X / unit
        # The weight of Candes and others (2011), 1 / sqrt(max(n, d)).
        weight = self.weight or 1.0 / np.sqrt(max(X.shape))
        size = float(np.linalg.norm(X)) or 1.0
        state: PursuitState
        if start is None:
            # The start of the inexact augmented Lagrangian method of Lin and others (2010).
            largest = float(np.linalg.norm(X, 2)) or 1.0
            multiplier = X / max(largest, float(np.abs(X).max()) / weight, 1e-300)
            zero, penalty = np.zeros_like(X), 1.25 / largest
            state = PursuitState(location, zero, zero, multiplier, penalty, penalty * _MOST, unit)
        else:
            state = start
        while not state.stopped and state.step < self.max_iter:
            state = yield Dense(partial(_advance, X, state, weight, size), heavy=X.size > 10_000)
            state = replace(state, stopped=bool(state.residual <= self.tol))
            objective = unit * (_sum_values(state.low) + weight * float(np.abs(state.sparse).sum()))
            yield Step(objective, state, self._certify(state), {"gap": state.residual})
        return Solution(state, state.stopped, self._certify(state))

    def _certify(self, state: PursuitState) -> Certificate:
        return Certificate.of("duality gap", state.residual, self.tol, _STATEMENT)

    def _attributes_of(self, state: PursuitState, dtype: Any) -> dict[str, Any]:
        low = state.low * state.unit
        centre = low.mean(axis=0)
        _, values, axes = np.linalg.svd(low - centre, full_matrices=False)
        # Singular values within rounding of zero do not count.
        rank = max(1, int(np.sum(values > _RANK * max(float(values[0]), 1e-300))))
        count = rank if self.n_components is None else self.n_components
        return {
            "components_": np.ascontiguousarray(fix_signs(axes[:count]), dtype=dtype),
            "singular_values_": values[:count].astype(dtype),
            "mean_": (state.location + centre).astype(dtype),
            "low_rank_": (low + state.location).astype(dtype),
            "sparse_": (state.sparse * state.unit).astype(dtype),
            "n_components_": count,
        }


def _advance(X: Array, state: PursuitState, weight: float, size: float) -> PursuitState:
    """Return the state after one step of the inexact augmented Lagrangian method."""
    mu, Y = state.penalty, state.multiplier
    # The proximal map of the l1 norm: entries shrink towards zero.
    sparse = _shrink(X - state.low + Y / mu, weight / mu)
    # That of the nuclear norm: singular values shrink.
    left, values, right = svd(X - sparse + Y / mu, full_matrices=False, check_finite=False)
    kept = np.maximum(values - 1.0 / mu, 0.0)
    low = (left * kept) @ right
    gap = X - low - sparse
    # The multiplier moves by the penalty times what the two parts miss.
    Y = Y + mu * gap
    step = state.step + 1
    residual = state.residual
    # The duality gap costs a decomposition, so it is measured now and then.
    if step % _EVERY == 0 or float(np.linalg.norm(gap)) <= _NEAR * size:
        residual = _measure_gap(X, low, float(kept.sum()), Y, weight)
    penalty = min(mu * _GROWTH, state.most)
    return replace(state, low=low, sparse=sparse, multiplier=Y, penalty=penalty, residual=residual, step=step)


def _measure_gap(X: Array, low: Array, nuclear: float, Y: Array, weight: float) -> float:
    """Return the duality gap over the objective, at L with S = X - L and at the multiplier made feasible."""
    value = nuclear + weight * float(np.abs(X - low).sum())
    excess = max(float(np.linalg.norm(Y, 2)), float(np.abs(Y).max()) / weight, 1e-300)
    dual = float(np.vdot(Y, X)) / excess
    return max(value - dual, 0.0) / value if value > 0 else 0.0


def _shrink(values: Array, amount: float) -> Array:
    """Move values towards zero by `amount`; those that are nearer become zero."""
    return np.sign(values) * np.maximum(np.abs(values) - amount, 0.0)


def _sum_values(matrix: Array) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).sum())
