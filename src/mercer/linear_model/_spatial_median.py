"""Theil-Sen regression: the spatial median of the planes through few rows each."""

import math
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy.special import binom

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.linear.prediction import LinearRegressor, SingleTarget
from mercer._base.parameter import Boolean, Integer, Nothing, Real, Seed, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.errors import DataError, ParameterError

_STATEMENT = (
    "The length of the subgradient of the mean distance to all planes, the shortest there is: zero proves the spatial "
    "median, and it is at most one."
)
# Planes that a batched solution finds at once: fixed, so that threads change no bit.
_BATCH = 512


@plain
@dataclass(frozen=True, eq=False)
class SpatialMedianState:
    """A point, the mean distance to it, the next step from there, and the length of the subgradient."""

    point: Array
    distance: float
    following: Array
    slope: float


def look_from(points: Array, point: Array) -> SpatialMedianState:
    """Return what Weiszfeld's step from a point sees, with the change of Vardi and Zhang where points lie on it."""
    gaps = points - point
    lengths = np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
    apart = lengths > 0
    inverse = np.where(apart, 1.0 / np.where(apart, lengths, 1.0), 0.0)
    pull, total, here = inverse @ gaps, float(inverse.sum()), float(len(points) - np.count_nonzero(apart))
    force = float(np.linalg.norm(pull))
    # Points at this very place hold it with a force of one each.
    left = max(force - here, 0.0)
    step = (left / force) * pull / total if force > 0 and total > 0 else np.zeros_like(point)
    return SpatialMedianState(point, float(lengths.mean()), point + step, left / len(points))


def find_median(
    points: Array, tol: float, max_iter: int, state: SpatialMedianState | None
) -> Solver[SpatialMedianState]:
    """Look for the spatial median of points, from their mean."""
    state = look_from(points, points.mean(axis=0)) if state is None else state
    for _ in range(max_iter):
        known = state
        state = yield Dense.over(lambda: look_from(points, known.following), points.size)  # noqa: B023
        certificate = Certificate.of("gradient norm", state.slope, tol, _STATEMENT)
        yield Step(state.distance, state, certificate)
        if state.slope <= tol:
            break
    certificate = Certificate.of("gradient norm", state.slope, tol, _STATEMENT)
    return Solution(state, state.slope <= tol, certificate)


def fit_planes(X: Array, y: Array, chosen: Array) -> Array:
    """Return the least squares of several sets of rows of the same size; of least norm where rows do not suffice."""
    A, b = X[chosen], y[chosen]
    if A.shape[1] == A.shape[2]:
        try:
            return np.linalg.solve(A, b[..., None])[..., 0]
        except np.linalg.LinAlgError:
            pass  # a set of rows that depend on one another
    return np.stack([np.linalg.lstsq(rows, targets, rcond=None)[0] for rows, targets in zip(A, b, strict=True)])


class TheilSenRegressor(SingleTarget, LimitedEstimator, LinearRegressor):
    """Theil-Sen regression: the spatial median of the least squares of many small sets of rows.

    Each set has ``n_subsamples`` rows: all sets, or as many as ``max_subpopulation`` drawn at random. Of the planes
    through them the spatial median is taken, the coefficients, with the intercept, of the least mean distance to those
    of all planes. As long as fewer than a share ``breakdown_`` of the rows are wrong, most sets have none of these.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    breakdown_ : float
        The share of wrong rows from which the fit may go anywhere.
    n_subpopulation_ : int
        Sets of rows.
    n_iter_ : int
        Steps of Weiszfeld's method.
    history_, converged_, certificate_
        How the fit went: the objective is the mean distance. The certificate is the length of the subgradient.

    See Also
    --------
    RANSACRegressor : The largest set of rows that agree.
    HuberRegressor : Errors count linearly beyond a threshold.

    Notes
    -----
    Costs the least squares of each set, solved many at a time, and m d for each step, with m sets. Distances between
    coefficients depend on the units of the columns. Rows in memory.

    References
    ----------
    X. Dang, H. Peng, X. Wang and H. Zhang, Theil-Sen estimators in a multiple linear regression model, 2008. Y. Vardi
    and C. Zhang, The multivariate L1-median and associated data depth, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import TheilSenRegressor
    >>> x = np.arange(20.0)
    >>> y = 2.0 * x + 1.0
    >>> y[::7] = 100.0
    >>> model = TheilSenRegressor(random_state=0).fit(x[:, None], y)
    >>> round(float(model.coef_[0]), 2), round(float(model.breakdown_), 2)
    (2.0, 0.28)
    """

    _needs_rows: ClassVar[str] = "it draws subsets of rows again and again"

    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit an intercept.")
    max_subpopulation: Any = parameter(Integer(1) | Real(1), default=1e4, doc="The most sets of rows.")
    n_subsamples: int | None = parameter(
        Integer(1) | Nothing(), default=None, doc="Rows of a set; None takes as many as there are coefficients."
    )
    max_iter: int = parameter(Integer(0), default=300, doc="Most steps.")
    tol: float = parameter(Real(0), default=1e-3, doc="The length of the subgradient that ends the fit.")
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the sets.")
    verbose: int = parameter(Integer(0) | Boolean(), default=False, doc="Whether lines say how the fit goes.")

    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _takes_sparse = False
    _depends_on_units = ("columns", "scale", "place", "target")
    _stored: ClassVar[dict[str, Stored]] = {"breakdown_": floats(), "n_subpopulation_": integers(low=1)}
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "sets of rows are drawn by their numbers: equal in distribution only",
        "memory": "the least squares of all sets are held; max_subpopulation says how many",
    }

    @fitting
    def fit(self, X: Any, y: Any) -> "TheilSenRegressor":
        """Fit the planes through sets of rows, and find their spatial median."""
        source = self._open(X, y, targets="numbers", multi_output=False)
        size, count = self._plan(source)
        planes = self._find_planes(source, size, count)
        wrong = 1 - (0.5 ** (1 / size) * (source.n_rows - size + 1) + size - 1) / source.n_rows
        outcome = self._drive(
            partial(find_median, planes, float(self.tol), int(self.max_iter)),
            source,
            fitted=partial(self._read, dtype=source.host_dtype),
            max_steps=int(self.max_iter),
            attributes={"breakdown_": float(wrong), "n_subpopulation_": count},
        )
        self._conclude(outcome)
        return self

    def _plan(self, source: Source) -> tuple[int, int]:
        """Return the rows of a set, and the number of sets."""
        n, unknowns = source.n_rows, source.n_features + bool(self.fit_intercept)
        size = self.n_subsamples
        if size is None:
            size = min(unknowns, n)
        elif size > n:
            raise ParameterError(
                f"TheilSenRegressor: Invalid parameter since n_subsamples > n_samples ({size} > {n}). Lower it."
            )
        elif n >= source.n_features and size < unknowns:
            plus = "+1" if self.fit_intercept else ""
            raise ParameterError(
                f"TheilSenRegressor: Invalid parameter since n_features{plus} > n_subsamples ({unknowns} > {size}). "
                f"Raise it."
            )
        elif n < source.n_features and size != n:
            raise ParameterError(
                f"TheilSenRegressor: Invalid parameter since n_subsamples != n_samples ({size} != {n}) while n_samples "
                f"< n_features. Leave it out."
            )
        count = int(max(1.0, min(float(self.max_subpopulation), binom(n, size))))
        return int(size), count

    def _find_planes(self, source: Source, size: int, count: int) -> Array:
        """Return the coefficients, and the intercepts before them, of all sets."""
        n, d = source.n_rows, source.n_features + bool(self.fit_intercept)
        what, cure = f"{count} sets of {size} rows", "lower max_subpopulation"
        require_memory("TheilSenRegressor", 8.0 * count * (size + d), what, cure)
        rows, y = source.whole().astype(np.float64, copy=False), np.asarray(source.y, dtype=np.float64).ravel()
        X = np.column_stack([np.ones(n), rows]) if self.fit_intercept else np.ascontiguousarray(rows)
        if math.comb(n, size) <= self.max_subpopulation:
            sets = np.fromiter((one for chosen in combinations(range(n), size) for one in chosen), np.int64)
            sets = sets.reshape(-1, size)
        else:
            sets = _draw_sets(np.random.default_rng(seed_sequence(self.random_state)), n, size, count)
        planes = np.empty((count, d))

        def solve(number: int) -> None:
            part = slice(number * _BATCH, (number + 1) * _BATCH)
            planes[part] = fit_planes(X, y, sets[part])

        run_numbered(solve, -(-count // _BATCH), self._threads())
        if not np.isfinite(planes).all():
            raise DataError("TheilSenRegressor: planes through rows must be finite; some overflow. Scale the columns.")
        return planes

    def _read(self, state: SpatialMedianState, dtype: Any) -> dict[str, Any]:
        """Return the coefficients and the intercept, in the precision of the rows."""
        point = state.point.astype(dtype)
        if self.fit_intercept:
            return {"coef_": point[1:].copy(), "intercept_": float(point[0])}
        return {"coef_": point.copy(), "intercept_": 0.0}


def _draw_sets(random: np.random.Generator, n: int, size: int, count: int) -> Array:
    """Draw sets of different rows."""
    if size * size <= n:
        # Few sets have a row twice: those are drawn again.
        sets = random.integers(0, n, (count, size))
        while True:
            ordered = np.sort(sets, axis=1)
            twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
            if not len(twice):
                return sets
            sets[twice] = random.integers(0, n, (len(twice), size))
    return np.stack([random.choice(n, size, replace=False) for _ in range(count)])
