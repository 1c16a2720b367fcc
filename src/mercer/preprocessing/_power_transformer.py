"""Columns nearer to a normal distribution, by a power of each that has the greatest likelihood."""

import warnings
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base.blockwise import BlockMap, ReversibleTransformer, refuse_infinite
from mercer._base.interface import OneToOneFeatureMixin
from mercer._base.parameter import Boolean, Choice, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer._statistic.column_moments import ColumnMoments
from mercer._statistic.extent import Extent
from mercer._statistic.pair import Pair
from mercer._statistic.power_moments import (
    LogMoments,
    PowerMoments,
    Powers,
    PowerSums,
    map_powers,
    unmap_powers,
)
from mercer._stored import Stored, alike, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.preprocessing._standard_scaler import find_flat

# The slope of the mean log-likelihood, in units of the root of its curvature: the likelihood still to be gained is half
# its square, below rounding.
_TOLERANCE = 1e-8
# Newton needs five to eight steps, a search between bounds at most one for each binary digit of the power.
_MOST_STEPS = 200
# A step changes powers by at most this over the largest logarithm: beyond, quadratic models of the likelihood fail.
_REACH = 4.0


_STATEMENT = "half the square of the value is the log-likelihood that a row can still gain in any column"


@plain
@dataclass(frozen=True, eq=False)
class PowerFit:
    """The powers so far, what stays as it is, moments of the transformed columns, and bounds of the powers."""

    powers: Array
    sides: Array
    pivots: Array
    means: Array
    deviations: Array
    low: Array
    high: Array


class PowerTransformer(OneToOneFeatureMixin, ReversibleTransformer):
    r"""Bend each column by a power so that it is as close to a normal distribution as possible.

    .. math:: \psi_\lambda(x) = \frac{(x + 1)^\lambda - 1}{\lambda} \;(x \ge 0), \qquad
        \psi_\lambda(x) = -\frac{(1 - x)^{2 - \lambda} - 1}{2 - \lambda} \;(x < 0)

    (Yeo and Johnson), or :math:`(x^\lambda - 1) / \lambda` of positive columns (Box and Cox). Lambda maximises the
    log-likelihood of a normal distribution, :math:`-\tfrac{n}{2} \log \operatorname{var} \psi_\lambda(x) +
    (\lambda - 1) \sum_i \operatorname{sign}(x_i) \log(1 + |x_i|)`, in each column by itself.

    Attributes
    ----------
    lambdas_ : ndarray of shape (n_features,)
        The powers; 1 for a constant column.
    history_, converged_, n_iter_, certificate_
        As every estimator has them. The objective is the mean over the columns of minus the log-likelihood of a row,
        up to a constant. The certificate is the slope of this likelihood by lambda, divided by the root of its
        curvature: half its square is the log-likelihood that a row can still gain.

    Notes
    -----
    The likelihood has one maximum (Marchand et al., 2022). Newton steps between bounds find it, each from the sums of
    one pass over the rows, seven passes or so in all. Powers of columns on one side of zero are taken of the logarithms
    less their mean, so that columns far from zero (years, for example) neither overflow nor lose digits. Missing
    entries (NaN) are left out, and stay missing. Rows: NumPy, frames, files, streams, Dask.

    References
    ----------
    G. E. P. Box and D. R. Cox, An analysis of transformations, 1964.
    I.-K. Yeo and R. A. Johnson, A new family of power transformations to improve normality or symmetry, 2000.
    T. Marchand, B. Muzellec, C. Beguier, J. Ogier du Terrail and M. Andreux, SecureFedYJ: a safe feature
    Gaussianization protocol for federated learning, 2022.

    See Also
    --------
    QuantileTransformer : Reaches any distribution, by ranks.
    StandardScaler : Moves and stretches columns only.

    Examples
    --------
    A column of exponentials of evenly spaced numbers is best logged: lambda is 0.

    >>> import numpy as np
    >>> from mercer.preprocessing import PowerTransformer
    >>> scaler = PowerTransformer("box-cox").fit(np.exp([[-1.0], [0.0], [1.0]]))
    >>> abs(scaler.lambdas_.round(6))
    array([0.])
    >>> scaler.transform(np.exp([[0.0], [1.0], [2.0]])).ravel().round(3) + 0.0
    array([0.   , 1.225, 2.449])
    """

    method: str = parameter(
        Choice("yeo-johnson", "box-cox"),
        default="yeo-johnson",
        kw_only=False,
        doc="The family of powers; ``'box-cox'`` needs positive values.",
    )
    standardize: bool = parameter(
        Boolean(), default=True, doc="Whether transformed columns get mean zero and variance one."
    )
    copy: bool = parameter(
        Boolean(), default=True, doc="Whether results are new arrays; False writes those of NumPy floats over the rows."
    )

    _documents = {
        "max_time": "Seconds after which the fit stops, with the powers that it has then; None sets no limit."
    }
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _stored: ClassVar[dict[str, Stored]] = {
        **alike(floats("columns"), "lambdas_", "_sides", "_pivots", "_means", "_deviations")
    }
    _takes_gaps = True
    # Powers may be assigned, as a list or as whole numbers: no native code reads them.
    _checks_assigned = True

    @property
    def _depends_on_units(self) -> tuple[str, ...]:  # type: ignore[override]
        # Yeo and Johnson's curves bend near 1 and -1; those of Box and Cox are the same in all units.
        return ("scale", "place") if self.method == "yeo-johnson" else ()

    def _run(self, solve: Callable[[Any], Solver], source: Source) -> None:
        outcome = self._drive(self._search, source, max_steps=_MOST_STEPS)
        self._conclude(outcome, "drop rows that are far from all others")

    def _search(self, start: PowerFit | None) -> Solver:
        return (yield from maximise(*(yield from self._inspect()), start))

    def _inspect(self) -> Generator[Any, Any, tuple[Powers, Array, Array, Array]]:
        """Return the first powers, which columns are not constant, their mean logarithms and how far steps may go."""
        shape = yield Pair(Extent(), ColumnMoments())
        if shape.first.is_infinite:
            refuse_infinite(self)
        (low, high), moments = shape.first.known, shape.second
        positive = self.method == "box-cox"
        if positive:
            if np.isnan(low).any():
                column = int(np.flatnonzero(np.isnan(low))[0])
                raise DataError(f"PowerTransformer: Column must not be all nan; column {column} is. Leave it out.")
            refuse_not_positive(low)
        known = np.where(moments.weights > 0, moments.weights, np.nan)
        active = (low < high) & ~find_flat(moments.scatter / known, moments.mean, moments.weights)
        sides = np.where((high <= 0) & (not positive), -1.0, 1.0)
        whole = Powers(np.ones(len(low)), sides, np.zeros(len(low)), 0.0 if positive else 1.0)
        sums = yield LogMoments(whole)
        drift = sums.logs / np.maximum(sums.counts, 1.0)
        # Columns on one side of zero: less their mean logarithm, powers neither overflow nor lose digits.
        moved = active & (positive | (low >= 0) | (high <= 0))
        pivots = np.where(moved, drift, 0.0)
        ends = np.where(active, np.stack([low, high]), 0.5)
        logs = np.stack([_take_log(whole, end) - pivots for end in ends])
        reach = _REACH / np.where(active, np.abs(logs).max(axis=0), 1.0)
        # Of moved columns the mean logarithm is zero.
        drift = np.where(moved, 0.0, drift)
        return Powers(whole.powers, sides, pivots, whole.offset), active, drift, reach

    def _fitted(self, state: PowerFit) -> dict[str, Any]:
        powers, sides = state.powers, state.sides
        return {
            "lambdas_": np.where(sides < 0, 2.0 - powers, powers),
            "_sides": sides,
            "_pivots": state.pivots,
            "_means": state.means,
            "_deviations": state.deviations,
        }

    def _make_map(self, back: bool = False) -> "_PowerMap":
        lambdas = np.asarray(to_numpy(self.lambdas_), np.float64)
        if lambdas.shape != (self.n_features_in_,):
            raise DataError(
                f"PowerTransformer: lambdas_ was assigned and has shape {lambdas.shape}, but there are "
                f"{self.n_features_in_} columns. Give one power for each."
            )
        offset, zeros = (0.0 if self.method == "box-cox" else 1.0), np.zeros(len(lambdas))
        if not self.standardize:
            return _PowerMap(type(self).__name__, Powers(lambdas, zeros + 1.0, zeros, offset), zeros, zeros + 1.0, back)
        sides, pivots, means, deviations = (
            to_numpy(getattr(self, name)) for name in ("_sides", "_pivots", "_means", "_deviations")
        )
        powers = Powers(np.where(sides < 0, 2.0 - lambdas, lambdas), sides, pivots, offset)
        return _PowerMap(type(self).__name__, powers, means, deviations, back)


def refuse_not_positive(low: Array) -> None:
    """Raise if the least value of a column has no logarithm; NaN is no value."""
    if (low <= 0).any():
        column = int(np.flatnonzero(low <= 0)[0])
        raise DataError(
            f"PowerTransformer: The Box-Cox transformation can only be applied to strictly positive data; got "
            f"{low[column]:g} in column {column}. Set method='yeo-johnson'."
        )


def _take_log(powers: Powers, values: Array) -> Array:
    """Return the signed logarithms of one value of each column."""
    if not powers.offset:
        return np.log(values)
    return powers.sides * np.sign(values) * np.log1p(np.abs(values))


def maximise(powers: Powers, active: Array, drift: Array, reach: Array, start: PowerFit | None) -> Solver:
    """Find the power of greatest likelihood of each active column, by Newton steps between bounds, as a solver."""
    now, low, high = powers.powers, np.full(len(active), -np.inf), np.full(len(active), np.inf)
    if start is not None:
        now, low, high = start.powers, start.low, start.high
    while True:
        sums = yield PowerMoments(Powers(now, powers.sides, powers.pivots, powers.offset))
        variances = sums.scatters[0] / np.maximum(sums.counts, 1.0)
        slope, curvature = _measure(sums, drift)
        low, high = np.where(slope > 0, now, low), np.where(slope > 0, high, now)
        deviations = np.where(active & (variances > 0), np.sqrt(variances), 1.0)
        ratio = np.where(active, np.abs(slope) / np.sqrt(curvature), 0.0)
        value = float(ratio.max())
        certificate = Certificate.of("slope", np.inf if np.isnan(value) else value, _TOLERANCE, _STATEMENT)
        cost = np.where(active, np.log(deviations) - (now - 1.0) * drift, 0.0)
        state = PowerFit(now, powers.sides, powers.pivots, sums.means[0], deviations, low, high)
        if start is None:
            yield Step(float(cost.mean()), state, certificate)
        # A fit that goes on from a state has told of it before.
        start = None
        then = _advance(now, slope, curvature, (low, high), reach)
        # A column that is done keeps its power, whatever the others need.
        then = np.where(active & ~(ratio <= _TOLERANCE), then, now)
        if certificate.satisfied or (then == now).all():
            return Solution(state, certificate.satisfied, certificate, "" if certificate.satisfied else "stalled")
        now = then


def _measure(sums: PowerSums, drift: Array) -> tuple[Array, Array]:
    """Return the slope of the mean log-likelihood of each column by its power, and minus its second derivative."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        both = sums.scatters[1] / sums.scatters[0]
        curvature = (sums.scatters[2] + sums.scatters[3]) / sums.scatters[0] - 2.0 * both**2
    return drift - both, curvature


def _advance(now: Array, slope: Array, curvature: Array, bounds: tuple[Array, Array], reach: Array) -> Array:
    """Return the next powers: a Newton step, no longer than `reach`, or the middle of the bounds if it leaves them."""
    with np.errstate(invalid="ignore", divide="ignore"):
        step = np.where(curvature > 0, slope / curvature, np.sign(slope) * reach)
        then = now + np.clip(step, -reach, reach)
        middle = 0.5 * (bounds[0] + bounds[1])
        # Where t overflows nothing is known but that the power is too far from the pivot: go back towards one.
        then = np.where(np.isfinite(slope), then, 0.5 * (now + 1.0))
        return np.where((then <= bounds[0]) | (then >= bounds[1]), np.where(np.isfinite(middle), middle, then), then)


@dataclass(frozen=True, eq=False)
class _PowerMap(BlockMap):
    """From values to powers of mean zero and variance one, or `back`."""

    powers: Powers
    means: Array
    deviations: Array
    back: bool

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        result = np.empty_like(rows)
        if not self.powers.offset and not self.back and (rows <= 0).any():
            refuse_not_positive(np.where(np.isnan(rows), np.inf, rows).min(axis=0))
        with np.errstate(all="ignore"):
            for index in range(rows.shape[1]):
                result[:, index] = self._map(rows[:, index].astype(np.float64), index)
        if self.back:
            self._warn_of_gaps(rows, result)
        return result

    def write(self, block: Any, out: Array) -> None:
        out[...] = self.on_rows(block.X)
        self.check(block.X, out, np)

    def _map(self, values: Array, index: int) -> Array:
        mean, deviation, side = self.means[index], self.deviations[index], self.powers.sides[index]
        if self.back:
            return unmap_powers(self.powers, side * values * deviation + mean, index)
        return side * (map_powers(self.powers, values, index) - mean) / deviation

    def _warn_of_gaps(self, rows: Array, result: Array) -> None:
        """Warn of columns in which no value has the transformed one that is given."""
        lost = np.isnan(result).any(axis=0)
        for column in np.flatnonzero(lost):
            if (np.isnan(result[:, column]) & ~np.isnan(rows[:, column])).any():
                warnings.warn(
                    f"Some values in column {column} of the inverse-transformed data are NaN: no value has such a "
                    f"power, {self.powers.powers[column]:g}. Give rows that transform has made.",
                    UserWarning,
                    stacklevel=2,
                )
