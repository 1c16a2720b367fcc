"""The maximisation of the evidence over hyper-parameters: Newton steps in a trust region, from one or several starts.

Hyper-parameters are few, so the whole matrix of curvatures is kept, and each move goes to the maximum of the quadratic
model within the bounds and a radius about the current point. Far from a maximum the curvatures are those that the
evidence gives at each point (see `Evidence.measure`). Close to one, and where it gives none, they are learnt from the
slopes (BFGS). The length scale of an irrelevant column has no curvature: its move ends at the bound or the radius, not
in many small steps. One evaluation of every start that goes on is a step, and the state between two steps holds
all that the next one needs.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._base.parameter import describe_value
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Source
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.gaussian_process._covariance import find_scale
from mercer.gaussian_process._evidence import Evidence, Measurement
from mercer.gaussian_process._trust_region import (
    KNOWN,
    begin_at,
    certify_maximum,
    describe_point,
    determines,
    judge_step,
    project_slope,
    rescale,
)
from mercer.kernels import Kernel

ESTIMATED = "The evidence and its derivatives are estimates with random probes: their slope bounds nothing."
KEPT = "Hyper-parameters were kept as given: nothing was optimised."
# The search on fewer rows ends where this is left to gain, in nats: its maximum deviates from that of all rows by more.
_ENOUGH = 0.1
# The share of the change from one number of rows to twice as many that is expected from there to twice as many again.
# Where a kernel explains noise by a short length, lengths fall with the rows, by about half as much each time.
_AHEAD = 0.5
# The most evaluations of a search on fewer rows.
_MOST_LOOKS = 30
# The arrays of a state that have an entry for each start.
_POINT = ("theta", "value", "slope", "move", "radius", "curvature", "prospect", "rounding", "status")
# Up to this many rows, starts are evaluated in parallel, a thread each; above, all threads share the tiles of one.
_SIDE_BY_SIDE = 1500


@plain
@dataclass(frozen=True, eq=False)
class MaximumState:
    """The point of each start: (r, p) arrays of the best point and its slope, the next move, and the curvatures.

    ``radius`` is the largest change of a logarithm in the next move. ``prospect`` is the gain that is predicted from
    the point, and ``rounding`` about the largest error of its value, zero where that is not known.

    ``status`` is 0 on the way, 1 at a maximum, 2 where no step gains any more, 3 where the evidence is not finite.
    The starts of each of the ``n_problems`` problems follow one another.
    """

    theta: Array
    value: Array
    slope: Array
    move: Array
    radius: Array
    curvature: Array
    prospect: Array
    rounding: Array
    status: Array
    n_evaluations: int
    n_problems: int

    @property
    def best(self) -> Array:
        """The index of the start with the highest evidence, for each problem; of equal ones the first."""
        if len(self.value) == 1:
            return np.zeros(1, dtype=np.intp)
        # argmax would take NaN for the largest value.
        highest = np.where(np.isnan(self.value), -np.inf, self.value).reshape(self.n_problems, -1).argmax(axis=1)
        return np.arange(self.n_problems) * (len(self.value) // self.n_problems) + highest


@dataclass(frozen=True)
class Evaluations:
    """A request for the evidence, its gradient and, where known, its curvatures at several hyper-parameters."""

    evidences: list[Evidence]
    kernels: list[Kernel]
    slope: bool = True

    def answer(self, source: Source) -> list[Any]:
        threads, numbers = source.threads, range(len(self.kernels))
        if len(self.kernels) == 1 or source.n_rows > _SIDE_BY_SIDE:
            return [self._evaluate(number, threads) for number in numbers]
        measurements: list[Any] = []
        run_numbered(self._evaluate, len(self.kernels), threads, measurements.append)
        return measurements

    def _evaluate(self, number: int, threads: int = 1) -> Any:
        evidence, kernel = self.evidences[number], self.kernels[number]
        return evidence.measure(kernel, threads) if self.slope else evidence.evaluate(kernel, False, threads)


@dataclass(frozen=True)
class Outside:
    """A request to call a function of the user's."""

    function: Callable[[int], Any]

    def answer(self, source: Source) -> Any:
        return self.function(source.threads)


def maximise_evidence(
    evidences: list[Evidence], kernel: Kernel, starts: Array, tol: float, max_iter: int, state: MaximumState | None
) -> Solver:
    """Maximise each problem's evidence from all `starts`, shape (r, p), at once; return the highest point of each."""
    bounds, exact = kernel.bounds, all(evidence.exact for evidence in evidences)
    if state is None:
        given = _begin(np.clip(starts, bounds[:, 0], bounds[:, 1]), len(evidences))
        state = yield from _look_for_starts(evidences, kernel, given, bounds)
        if state is not given:
            state = yield from _take_step(evidences, kernel, state, bounds, tol)
            owners = [evidences[start * len(evidences) // len(state.value)] for start in range(len(state.value))]
            asked = [kernel.with_theta(theta) for theta in given.theta]
            values = [value for value, _ in (yield Evaluations(owners, asked, slope=False))]
            # A covariance of all rows may have no factor, a low evidence or one that rounding hides, where that of few
            # rows has its maximum.
            if ((state.value > values) & (state.rounding <= KNOWN)).all():
                yield _make_step(state, bounds, tol, exact)
            else:
                state = given
    while (state.status == 0).any() and state.n_evaluations < max_iter:
        state = yield from _take_step(evidences, kernel, state, bounds, tol)
        _check_evidence(state, kernel)
        yield _make_step(state, bounds, tol, exact)
    certificate = _certify(state, bounds, tol, exact)
    return Solution(state, bool(np.isin(state.status[state.best], (1, 2)).all()), certificate)


def _take_step(
    evidences: list[Evidence], kernel: Kernel, state: MaximumState, bounds: Array, tol: float
) -> Generator[Any, Any, MaximumState]:
    """Evaluate all starts that still go on, together; return the state after that."""
    going, trials = np.flatnonzero(state.status == 0), _list_trials(state, bounds)
    asked = [evidences[start * len(evidences) // len(state.value)] for start in going]
    measurements = yield Evaluations(asked, [kernel.with_theta(trials[start]) for start in going])
    points, scale = list(zip(trials[going], measurements, strict=True)), find_scale(kernel)
    if scale is not None:
        sizes = [evidence.n_scaled for evidence in asked]
        points = [rescale(*point, scale, size, bounds) for point, size in zip(points, sizes, strict=True)]
    return _advance(state, going, trials, points, bounds, tol)


def _look_for_starts(
    evidences: list[Evidence], kernel: Kernel, given: MaximumState, bounds: Array
) -> Generator[Any, Any, MaximumState]:
    """Maximise the evidence of fewer rows first, where it can be had; return a state that starts where that ended."""
    levels = list(zip(*(evidence.list_parts(kernel) for evidence in evidences), strict=True))
    found, last, known = given.theta, None, np.ones(len(given.theta), dtype=bool)
    for parts in levels:
        state = replace(given, theta=found, status=np.where(known, 0, 2))
        while (state.status == 0).any() and state.n_evaluations < _MOST_LOOKS:
            state = yield from _take_step(list(parts), kernel, state, bounds, 0.0)
            done = (state.status == 0) & (state.prospect <= _ENOUGH)
            state = replace(state, status=np.where(done, 1, state.status))
        # Fewer rows may leave hyper-parameters undetermined, which then go to a bound or anywhere.
        rooms = np.minimum(state.theta - bounds[:, 0], bounds[:, 1] - state.theta)
        known &= [determines(B, room) for B, room in zip(state.curvature, rooms, strict=True)]
        if not known.any():
            return given
        ahead = state.theta if last is None else state.theta + _AHEAD * (state.theta - last)
        found = np.where(known[:, None], np.clip(ahead, bounds[:, 0], bounds[:, 1]), given.theta)
        last = state.theta
    return replace(given, theta=found) if levels else given


def evaluate_once(evidences: list[Evidence], kernel: Kernel) -> Solver:
    """Evaluate the evidence at the hyper-parameters as they are, without a search."""
    measurements = yield Evaluations(evidences, [kernel] * len(evidences), slope=False)
    values = np.array([value for value, _ in measurements])
    state = replace(_begin(kernel.theta[None], len(evidences)), value=values, n_evaluations=1)
    _check_evidence(state, kernel)
    certificate = Certificate.none(KEPT)
    yield Step(float(values.sum()), state, certificate)
    return Solution(state, True, certificate)


def maximise_by(
    optimizer: Callable[..., Any], evidences: list[Evidence], kernel: Kernel, starts: Array, tol: float
) -> Solver:
    """Maximise by the user's `optimizer`, which minimises a function within bounds, as in scikit-learn."""
    bounds, state = kernel.bounds, _begin(starts, len(evidences))
    for number in range(len(state.theta)):
        evidence, start = evidences[number // len(starts)], state.theta[number]
        theta, measurement = yield Outside(partial(_run_optimizer, optimizer, evidence, kernel, start))
        changed = describe_point(theta, measurement, measurement.information, 0.0, bounds) | {"status": 1}
        state = _apply_changes(state, {number: changed})
    _check_evidence(state, kernel)
    yield _make_step(state, bounds, tol)
    return Solution(state, True, _certify(state, bounds, tol))


def _run_optimizer(
    optimizer: Callable[..., Any], evidence: Evidence, kernel: Kernel, start: Array, threads: int
) -> tuple[Array, Measurement]:
    """Run the user's `optimizer` from `start`; return where it ends, and the evidence there."""

    def objective(theta: Array, eval_gradient: bool = True) -> Any:
        value, slope = evidence.evaluate(kernel.with_theta(theta), eval_gradient, threads)
        return (-value, -slope) if eval_gradient else -value

    found = optimizer(objective, start, bounds=kernel.bounds)
    try:
        theta = np.asarray(found[0], dtype=np.float64)
    except (TypeError, ValueError, IndexError, KeyError):
        theta = np.empty(0)
    if theta.shape != start.shape or not np.isfinite(theta).all():
        raise ParameterError(
            f"optimizer must return theta of shape {start.shape} and the value there; got {describe_value(found)}."
        )
    return theta, evidence.measure(kernel.with_theta(theta), threads)


def _check_evidence(state: MaximumState, kernel: Kernel) -> None:
    """Raise if no start of a problem has a finite evidence; all starts have their first evaluation together."""
    if not np.isfinite(state.value[state.best]).all():
        raise DataError(
            f"The kernel, {kernel}, is not returning a positive definite matrix of these rows. Try gradually "
            f"increasing the 'alpha' parameter of your estimator, or start from other hyper-parameters."
        )


def _begin(starts: Array, n_problems: int) -> MaximumState:
    starts = np.tile(starts, (n_problems, 1))
    r, p = starts.shape
    zeros, nothing, status = np.zeros((r, p)), np.zeros(r), np.zeros(r, dtype=np.int64)
    value, curvature = np.full(r, -np.inf), np.zeros((r, p, p))
    return MaximumState(starts, value, zeros, zeros, nothing, curvature, nothing, nothing, status, 0, n_problems)


def _list_trials(state: MaximumState, bounds: Array) -> Array:
    return np.clip(state.theta + state.move, bounds[:, 0], bounds[:, 1])


def _apply_changes(state: MaximumState, changes: dict[int, dict[str, Any]]) -> MaximumState:
    """Return the state after an evaluation, with `changes` by start and by array."""
    names = {name for change in changes.values() for name in change}
    arrays = {name: getattr(state, name).copy() for name in names}
    for start, change in changes.items():
        for name, new in change.items():
            arrays[name][start] = new
    return replace(state, n_evaluations=state.n_evaluations + 1, **arrays)


def _advance(
    state: MaximumState,
    going: Array,
    trials: Array,
    points: list[tuple[Array, Measurement]],
    bounds: Array,
    tol: float,
) -> MaximumState:
    """Return the state after an evaluation of every start that still goes on (`going`)."""
    changes = {}
    for start, (reached, measured) in zip(going, points, strict=True):
        point = {name: getattr(state, name)[start] for name in _POINT}
        if point["value"] == -np.inf:
            changes[int(start)] = begin_at(reached, measured, tol, bounds)
        else:
            changes[int(start)] = judge_step(point, trials[start], reached, measured, tol, bounds)
    return _apply_changes(state, changes)


def _certify(state: MaximumState, bounds: Array, tol: float, exact: bool = True) -> Certificate:
    if not exact:
        return Certificate.none(ESTIMATED)
    best = state.best
    slopes = project_slope(state.theta[best], state.slope[best], bounds)
    return certify_maximum(slopes, state.prospect[best], state.rounding[best], tol)


def _make_step(state: MaximumState, bounds: Array, tol: float, exact: bool = True) -> Step:
    """Return a step of the history: the evidence, its largest slope, and the certificate."""
    best = state.best
    slopes = project_slope(state.theta[best], state.slope[best], bounds)
    extra = {"gradient": float(np.abs(slopes).max(initial=0.0))}
    return Step(float(state.value[best].sum()), state, _certify(state, bounds, tol, exact), extra)
