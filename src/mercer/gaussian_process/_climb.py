"""The climb to the hyper-parameters of the largest evidence: Newton steps in a trust region, from one start or several.

Hyper-parameters are few, so the whole matrix of curvatures is kept, and each move goes to the maximum of the quadratic
model within the bounds and a radius about the current place. Far from a maximum the curvatures are those that the
evidence gives at each place (see `Evidence.measure`). Close to one, and where it gives none, they are learnt from the
slopes (BFGS). The length scale of an irrelevant column has no curvature: its move ends at the bound or the radius, not
in many small steps. One evaluation of every start that still climbs is a step, and the state between two steps holds
all that the next one needs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Source
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.errors import DataError
from mercer.gaussian_process._evidence import Evidence, Measurement
from mercer.gaussian_process._quadratic import correct_flat_directions, maximise_model, update_by_secant
from mercer.gaussian_process._summit import KNOWN, certify_climb, predict_gain, project_slope
from mercer.kernels import Kernel

__all__ = ["ClimbState", "climb", "climb_by", "stand_still"]

ESTIMATED = "The evidence and its derivatives are estimates with random probes: their slope bounds nothing."
KEPT = "Hyper-parameters were kept as given: nothing was optimised."
# The share of the gain predicted by the model that a move must reach.
_SUFFICIENT = 1e-4
# The smallest factor by which a failed move cuts the radius.
_CUT = 0.1
# Radii are changes of logarithms. The radius about the start.
_FIRST_RADIUS = 0.5
# The largest radius far from a maximum: if some hyper-parameters reach a bound before the others are near their values,
# slopes vanish and the climb may end low.
_FAR_RADIUS = 2.0
# The largest radius near a maximum: the whole range of the usual bounds is one move.
_LAST_RADIUS = 12.0
# The radius where curvatures are not given but learnt: first moves are short anyway.
_BLIND_RADIUS = 3.0
# The share of the predicted gain below which the radius is halved.
_POOR = 0.25
# The share above which it is doubled.
_GOOD = 0.75
# The share above which it is tripled.
_GREAT = 0.9
# A predicted gain of more than this, in nats, is far from a maximum: curvatures learnt so far are of little use there.
# Eleven problems of 400 rows (sums, products, a length scale for each column, noise alone, bad starts) took 314
# evaluations, and 603 by BFGS alone, at evidences as high or higher.
_FAR = 0.5
# A gain of more than this times the predicted one: the curvature on the way was less than half of the model's. Where a
# prior explains little, the curvature that the evidence gives may be a hundred times too large; the move corrects it.
_STIFF = 1.5
# The factor of curvatures after a move along which the slope has not fallen.
_WIDER = 0.25
# Shares of the evidence that count as rounding where the rounding is not known: a predicted gain that is not reached,
_NO_PROMISE = 1e-9
# and a gain.
_NO_GAIN = 1e-11
# The share of the bound on rounding, about its standard deviation, below which a gain counts as none.
_SCATTER = 1.0 / 16.0
# The arrays of a state that have an entry for each start.
_PLACE = ("theta", "value", "slope", "move", "radius", "curvature", "prospect", "rounding", "status")
# Up to this many rows, starts are evaluated in parallel, a thread each; above, all threads share the tiles of one.
_SIDE_BY_SIDE = 1500


@plain
@dataclass(frozen=True, eq=False)
class ClimbState:
    """The place of each start: (r, p) arrays of the best place and its slope, the next move, and the curvatures.

    ``radius`` is the largest change of a logarithm in the next move. ``prospect`` is the gain that is predicted from
    the place, and ``rounding`` about the largest error of its value, zero where that is not known.

    ``status`` is 0 while climbing, 1 at a maximum, 2 where no move gains any more, 3 where the evidence is not finite.
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


def climb(
    evidences: list[Evidence], kernel: Kernel, starts: Array, tol: float, max_iter: int, state: ClimbState | None
) -> Solver:
    """Climb each problem's evidence from all `starts`, shape (r, p), at once; return the highest place of each."""
    bounds, exact = kernel.bounds, all(evidence.exact for evidence in evidences)
    if state is None:
        state = _begin(np.clip(starts, bounds[:, 0], bounds[:, 1]), len(evidences))
    while (state.status == 0).any() and state.n_evaluations < max_iter:
        going = np.flatnonzero(state.status == 0)
        # All climbs that still go on are evaluated together.
        trials = _list_trials(state, bounds)
        asked = [evidences[start // len(starts)] for start in going]
        measurements = yield Evaluations(asked, [kernel.with_theta(trials[start]) for start in going])
        state = _advance(state, going, trials, measurements, bounds, tol)
        _check_evidence(state, kernel)
        yield _make_step(state, bounds, tol, exact)
    certificate = _certify(state, bounds, tol, exact)
    return Solution(state, bool(np.isin(state.status[state.best], (1, 2)).all()), certificate)


def stand_still(evidences: list[Evidence], kernel: Kernel) -> Solver:
    """Evaluate the evidence at the hyper-parameters as they are, without a climb."""
    measurements = yield Evaluations(evidences, [kernel] * len(evidences), slope=False)
    values = np.array([value for value, _ in measurements])
    state = replace(_begin(kernel.theta[None], len(evidences)), value=values, n_evaluations=1)
    _check_evidence(state, kernel)
    certificate = Certificate.none(KEPT)
    yield Step(float(values.sum()), state, certificate)
    return Solution(state, True, certificate)


def climb_by(
    optimizer: Callable[..., Any], evidences: list[Evidence], kernel: Kernel, starts: Array, tol: float
) -> Solver:
    """Climb by the user's `optimizer`, which minimises a function within bounds, as in scikit-learn."""
    bounds, state = kernel.bounds, _begin(starts, len(evidences))
    for number in range(len(state.theta)):
        evidence, start = evidences[number // len(starts)], state.theta[number]
        theta, measurement = yield Outside(partial(_run_optimizer, optimizer, evidence, kernel, start))
        changed = _describe_place(theta, measurement, measurement.information, 0.0, bounds) | {"status": 1}
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

    theta = np.asarray(optimizer(objective, start, bounds=kernel.bounds)[0], dtype=np.float64)
    return theta, evidence.measure(kernel.with_theta(theta), threads)


def _check_evidence(state: ClimbState, kernel: Kernel) -> None:
    """Raise if no start of a problem has a finite evidence; all starts have their first evaluation together."""
    if not np.isfinite(state.value[state.best]).all():
        message = (
            f"The kernel, {kernel}, is not returning a positive definite matrix of these rows. Try gradually "
            f"increasing the 'alpha' parameter of your estimator, or start from other hyper-parameters."
        )
        raise DataError(message)


def _begin(starts: Array, n_problems: int) -> ClimbState:
    starts = np.tile(starts, (n_problems, 1))
    r, p = starts.shape
    zeros, nothing, status = np.zeros((r, p)), np.zeros(r), np.zeros(r, dtype=np.int64)
    value, curvature = np.full(r, -np.inf), np.zeros((r, p, p))
    return ClimbState(starts, value, zeros, zeros, nothing, curvature, nothing, nothing, status, 0, n_problems)


def _list_trials(state: ClimbState, bounds: Array) -> Array:
    return np.clip(state.theta + state.move, bounds[:, 0], bounds[:, 1])


def _apply_changes(state: ClimbState, changes: dict[int, dict[str, Any]]) -> ClimbState:
    """Return the state after an evaluation, with `changes` by start and by array."""
    names = {name for change in changes.values() for name in change}
    arrays = {name: getattr(state, name).copy() for name in names}
    for start, change in changes.items():
        for name, new in change.items():
            arrays[name][start] = new
    return replace(state, n_evaluations=state.n_evaluations + 1, **arrays)


def _advance(
    state: ClimbState, going: Array, trials: Array, measurements: list[Measurement], bounds: Array, tol: float
) -> ClimbState:
    """Return the state after an evaluation of every start that still climbs (`going`)."""
    changes = {}
    for start, measured in zip(going, measurements, strict=True):
        place = {name: getattr(state, name)[start] for name in _PLACE}
        if place["value"] == -np.inf:
            changes[int(start)] = _place_start(trials[start], measured, tol, bounds)
        else:
            changes[int(start)] = _judge_move(place, trials[start], measured, tol, bounds)
    return _apply_changes(state, changes)


def _place_start(trial: Array, measured: Measurement, tol: float, bounds: Array) -> dict[str, Any]:
    """Return the place of a start after its first evaluation."""
    if not np.isfinite(measured.value):
        return {"status": 3}
    B, radius = measured.information, _FIRST_RADIUS
    if B is None:
        B, radius = np.eye(len(measured.slope)) * max(1.0, float(np.linalg.norm(measured.slope))), _BLIND_RADIUS
    return _continue_from(_describe_place(trial, measured, B, radius, bounds), tol, bounds)


def _describe_place(
    theta: Array, measured: Measurement, B: Array | None, radius: float, bounds: Array
) -> dict[str, Any]:
    """Return a place with the gain predicted from it, by the learnt curvatures and those that the evidence gives."""
    given = None if measured.information is B else measured.information
    curvatures = [matrix for matrix in (B, given) if matrix is not None]
    prospect = predict_gain(theta, measured.slope, curvatures, bounds)
    place = {"theta": theta, "value": measured.value, "slope": measured.slope, "radius": radius}
    place |= {"prospect": prospect, "rounding": measured.rounding}
    return place if B is None else place | {"curvature": B}


def _judge_move(
    place: dict[str, Any], trial: Array, measured: Measurement, tol: float, bounds: Array
) -> dict[str, Any]:
    """Return the changes of a start's place after the evaluation of its trial: a new place, or a shorter move."""
    value, slope, information, rounding = measured
    B, step, gain = place["curvature"], trial - place["theta"], value - place["value"]
    # The gain that the quadratic model predicted: g.s - s^T B s / 2, with B minus the second derivative.
    promised = float(place["slope"] @ step - 0.5 * step @ B @ step)
    kept = gain >= _SUFFICIENT * max(promised, 0.0) and gain > 0.0
    # Along the step, minus the curvature is the fall of the slope: B s = g_old - g_new.
    learnt = update_by_secant(B, step, place["slope"] - slope) if np.isfinite(value) else B
    if not kept:
        # The curvature along a failed move is of a distant place; if nothing corrects it later, it does harm.
        known = learnt is not None and information is not None
        return _shorten_move(place, step, gain, promised, learnt if known else B, bounds)
    radius = _update_radius(float(place["radius"]), float(np.abs(step).max()), gain, promised)
    # The slope has not fallen on the way: the model was too curved, and the next move may be longer.
    B = B * _WIDER if learnt is None else learnt
    if information is None:
        radius = _BLIND_RADIUS
    elif promised > _FAR and gain > _POOR * promised:
        B = information
        if gain > _STIFF * promised:
            learnt = update_by_secant(information, step, place["slope"] - slope)
            B = information * _WIDER if learnt is None else learnt
    else:
        B = correct_flat_directions(B, information, place["slope"] * slope > 0.0)
    reached = _describe_place(trial, measured, B, radius, bounds)
    if rounding:
        spent = gain <= _SCATTER * min(rounding, KNOWN) and reached["prospect"] <= rounding
    else:
        spent = gain <= _NO_GAIN * max(1.0, abs(value))
    return reached | {"status": 2} if spent else _continue_from(reached, tol, bounds)


def _update_radius(radius: float, size: float, gain: float, promised: float) -> float:
    """Return the radius after a move of length `size`: smaller if its gain was badly predicted, larger if well."""
    if gain < _POOR * promised:
        return max(0.5 * size, 1e-6)
    # Only a move that the radius cut short says that the radius may grow.
    if gain > _GOOD * promised and size >= 0.99 * radius:
        most = _FAR_RADIUS if promised > _FAR else _LAST_RADIUS
        return min(most, (3.0 if gain > _GREAT * promised else 2.0) * radius)
    return radius


def _shorten_move(
    place: dict[str, Any], step: Array, gain: float, promised: float, B: Array, bounds: Array
) -> dict[str, Any]:
    """Return a shorter move from the same place after a failed one; along the slope where moves became too short."""
    rise, size = float(place["slope"] @ step), float(np.abs(step).max(initial=0.0))
    nothing = min(float(place["rounding"]), KNOWN) or _NO_PROMISE * max(1.0, abs(float(place["value"])))
    if promised <= nothing and np.isfinite(gain):
        return {"status": 2}
    # The maximum of the parabola through the value, the slope and the trial's value.
    top = 0.5 * rise / (rise - gain) if np.isfinite(gain) and rise > gain else _CUT
    radius = size * float(np.clip(top, _CUT, 0.5))
    # Moves along the learnt curvatures shrink to nothing: forget these, and climb along the slope once.
    if radius <= 1e-9:
        B = np.eye(len(step)) * max(1.0, float(np.linalg.norm(place["slope"])))
        if np.array_equal(place["curvature"], B):
            return {"status": 2}
        radius = _FIRST_RADIUS
    changed = {"curvature": B, "radius": radius}
    return changed | {"move": _choose_move(place["theta"], place["slope"], B, radius, bounds)}


def _continue_from(place: dict[str, Any], tol: float, bounds: Array) -> dict[str, Any]:
    """Return a new place with the next move from it, or with the status of a maximum."""
    theta, slope = place["theta"], place["slope"]
    if np.abs(project_slope(theta, slope, bounds)).max(initial=0.0) <= tol:
        return place | {"status": 1}
    if place["prospect"] <= _SCATTER * min(place["rounding"], KNOWN):
        return place | {"status": 2}
    return place | {"move": _choose_move(theta, slope, place["curvature"], place["radius"], bounds)}


def _choose_move(theta: Array, slope: Array, B: Array, radius: float, bounds: Array) -> Array:
    """Return the move to the maximum of the quadratic model within the bounds and the radius."""
    # The largest change of any one logarithm is bounded, so that radius and bounds make one box.
    low, high = np.maximum(bounds[:, 0] - theta, -radius), np.minimum(bounds[:, 1] - theta, radius)
    return maximise_model(slope, B, low, high)


def _certify(state: ClimbState, bounds: Array, tol: float, exact: bool = True) -> Certificate:
    if not exact:
        return Certificate.none(ESTIMATED)
    best = state.best
    slopes = project_slope(state.theta[best], state.slope[best], bounds)
    return certify_climb(slopes, state.prospect[best], state.rounding[best], tol)


def _make_step(state: ClimbState, bounds: Array, tol: float, exact: bool = True) -> Step:
    """Return a step of the history: the evidence, its largest slope, and the certificate."""
    best = state.best
    slopes = project_slope(state.theta[best], state.slope[best], bounds)
    extra = {"gradient": float(np.abs(slopes).max(initial=0.0))}
    return Step(float(state.value[best].sum()), state, _certify(state, bounds, tol, exact), extra)
