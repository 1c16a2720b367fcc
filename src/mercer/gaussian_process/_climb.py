"""The climb to the hyper-parameters of the greatest evidence: Newton's moves in a box, from one start or several.

Hyper-parameters are few, so the whole matrix of curvatures is kept, and each move goes to the top of the quadratic
model within the bounds and a radius about the place. Far from a maximum the curvatures are those that the evidence
tells of at each place (see `Evidence.measure`); near to it, and where it tells none, they are learnt from the slopes
(BFGS). The width of a column that does not matter has none: its move ends at the bound or the radius, not in a long
row of small steps. One evaluation of every start that is still on its way makes a step; a state between two of them
holds all that the next one needs.
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
from mercer.errors import DataError
from mercer.gaussian_process._evidence import Evidence, Measurement
from mercer.gaussian_process._quadratic import guided, highest, secant
from mercer.gaussian_process._summit import KNOWN, certified, expected_gain, free_slope
from mercer.kernels import Kernel

__all__ = ["ClimbState", "climb", "climb_by", "stand_still"]

Array = Any
ESTIMATED = "The evidence and its derivatives are estimates with random probes: their slope bounds nothing."
KEPT = "Hyper-parameters were kept as given: nothing was optimised."
# The share of the gain promised by the model that a move must bring, and the least by which the radius is cut.
_SUFFICIENT, _CUT = 1e-4, 0.1
# The radius about the start, and the largest one far from a maximum and near to it. Where hyper-parameters run to a
# bound before others have found their place, slopes vanish and the climb may end low; near to a maximum the whole range
# of the usual bounds is one move.
_FIRST_RADIUS, _FAR_RADIUS, _LAST_RADIUS = 0.5, 2.0, 12.0
# The radius where curvatures are not known but learnt: first moves are short by themselves.
_BLIND_RADIUS = 3.0
# Shares of the promised gain below which the radius is halved, above which it is doubled, and above which tripled.
_POOR, _GOOD, _GREAT = 0.25, 0.75, 0.9
# A promise of more than this is far from a maximum: curvatures learnt on the way are of little use there. Eleven
# problems of 400 rows (sums, products, a width a column, noise alone, bad starts) took 314 evaluations, 603 by BFGS
# alone, at evidences as high or higher.
_FAR = 0.5
# A gain of more than this times the promise: the curvature on the way was less than half of the model's. Where a prior
# explains little, what the evidence tells of may be a hundred times too large; the move corrects it.
_STIFF = 1.5
# What curvatures are multiplied by after a move along which the slope has not fallen.
_WIDER = 0.25
# Shares of the evidence that are taken for rounding where it is not known: a promise that is not kept, and a gain.
_NO_PROMISE, _NO_GAIN = 1e-9, 1e-11
# The share of the rounding of the evidence, about its deviation, below which neither a gain nor a prospect is any.
_SCATTER = 1.0 / 16.0
# What a state holds of each start.
_PLACE = ("theta", "value", "slope", "move", "radius", "curvature", "prospect", "rounding", "status")
# Rows up to which starts are evaluated side by side, a thread each; above, all threads share the tiles of one.
_SIDE_BY_SIDE = 1500


@plain
@dataclass(frozen=True, eq=False)
class ClimbState:
    """Where each start stands: (r, p) arrays of the best place and its slope, the move under way, the curvatures.

    ``radius`` is the farthest that the next move may change a logarithm; ``prospect`` is what may be gained from the
    place, and ``rounding`` about the most by which its value is off, zero where that is not known.

    ``status`` is 0 on the way, 1 at a maximum, 2 where no move gains any more, 3 where there is no evidence at all.
    Starts of one problem, of ``n_problems``, follow one another.
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
        """For each problem the start that stands highest, the first of equals."""
        highest = np.where(np.isnan(self.value), -np.inf, self.value).reshape(self.n_problems, -1).argmax(axis=1)
        return np.arange(self.n_problems) * (len(self.value) // self.n_problems) + highest


@dataclass(frozen=True)
class Evaluations:
    """A request: the evidence, its gradient and its curvatures, where it knows them, at several hyper-parameters."""

    evidences: list[Evidence]
    kernels: list[Kernel]
    slope: bool = True

    def answer(self, source: Source) -> list[Any]:
        threads, numbers = source.threads, range(len(self.kernels))
        if len(self.kernels) == 1 or source.n_rows > _SIDE_BY_SIDE:
            return [self._one(number, threads) for number in numbers]
        found: list[Any] = []
        run_numbered(self._one, len(self.kernels), threads, found.append)
        return found

    def _one(self, number: int, threads: int = 1) -> Any:
        evidence, kernel = self.evidences[number], self.kernels[number]
        return evidence.measure(kernel, threads) if self.slope else evidence.evaluate(kernel, False, threads)


@dataclass(frozen=True)
class Outside:
    """A request: a call of a function that the user gave."""

    function: Callable[[int], Any]

    def answer(self, source: Source) -> Any:
        return self.function(source.threads)


def climb(
    evidences: list[Evidence], kernel: Kernel, starts: Array, tol: float, max_iter: int, state: ClimbState | None
) -> Solver:
    """Climb each problem's evidence from all `starts` (r, p) at once; the highest place of each is the answer."""
    bounds, exact = kernel.bounds, all(evidence.exact for evidence in evidences)
    if state is None:
        state = _begin(np.clip(starts, bounds[:, 0], bounds[:, 1]), len(evidences))
    while (state.status == 0).any() and state.n_evaluations < max_iter:
        going = np.flatnonzero(state.status == 0)
        trials = _trials(state, bounds)
        asked = [evidences[one // len(starts)] for one in going]
        found = yield Evaluations(asked, [kernel.with_theta(trials[one]) for one in going])
        state = _advanced(state, going, trials, found, bounds, tol)
        _check_evidence(state, kernel)
        yield _step(state, bounds, tol, exact)
    certificate = _certificate(state, bounds, tol, exact)
    return Solution(state, bool(np.isin(state.status[state.best], (1, 2)).all()), certificate)


def stand_still(evidences: list[Evidence], kernel: Kernel) -> Solver:
    """The evidence at the hyper-parameters as they are."""
    found = yield Evaluations(evidences, [kernel] * len(evidences), slope=False)
    values = np.array([value for value, _ in found])
    state = replace(_begin(kernel.theta[None], len(evidences)), value=values, n_evaluations=1)
    _check_evidence(state, kernel)
    certificate = Certificate.none(KEPT)
    yield Step(float(values.sum()), state, certificate)
    return Solution(state, True, certificate)


def climb_by(
    optimizer: Callable[..., Any], evidences: list[Evidence], kernel: Kernel, starts: Array, tol: float
) -> Solver:
    """Climb by a function of the user's, in scikit-learn's convention: it minimises, and knows the bounds."""
    bounds, state = kernel.bounds, _begin(starts, len(evidences))
    for number in range(len(state.theta)):
        evidence, start = evidences[number // len(starts)], state.theta[number]
        theta, found = yield Outside(partial(_optimised, optimizer, evidence, kernel, start))
        changed = _reached(theta, found, found.information, 0.0, bounds) | {"status": 1}
        state = _changed(state, {number: changed})
        if number + 1 == len(state.theta):
            _check_evidence(state, kernel)
            yield _step(state, bounds, tol)
    return Solution(state, True, _certificate(state, bounds, tol))


def _optimised(
    optimizer: Callable[..., Any], evidence: Evidence, kernel: Kernel, start: Array, threads: int
) -> tuple[Array, Measurement]:
    """Where a function of the user's ends, and the evidence there."""

    def objective(theta: Array, eval_gradient: bool = True) -> Any:
        value, slope = evidence.evaluate(kernel.with_theta(theta), eval_gradient, threads)
        return (-value, -slope) if eval_gradient else -value

    theta = np.asarray(optimizer(objective, start, bounds=kernel.bounds)[0], dtype=np.float64)
    return theta, evidence.measure(kernel.with_theta(theta), threads)


def _check_evidence(state: ClimbState, kernel: Kernel) -> None:
    """Raise if a problem has no start with any evidence; starts are evaluated for the first time together."""
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


def _trials(state: ClimbState, bounds: Array) -> Array:
    return np.clip(state.theta + state.move, bounds[:, 0], bounds[:, 1])


def _changed(state: ClimbState, changes: dict[int, dict[str, Any]]) -> ClimbState:
    """The state after an evaluation, with what has changed of the places of some starts."""
    names = {name for change in changes.values() for name in change}
    arrays = {name: getattr(state, name).copy() for name in names}
    for one, change in changes.items():
        for name, new in change.items():
            arrays[name][one] = new
    return replace(state, n_evaluations=state.n_evaluations + 1, **arrays)


def _advanced(
    state: ClimbState, going: Array, trials: Array, found: list[Measurement], bounds: Array, tol: float
) -> ClimbState:
    """The state after an evaluation of every start that is on its way."""
    changes = {}
    for one, measured in zip(going, found, strict=True):
        place = {name: getattr(state, name)[one] for name in _PLACE}
        if place["value"] == -np.inf:
            changes[int(one)] = _arrived(trials[one], measured, tol, bounds)
        else:
            changes[int(one)] = _moved(place, trials[one], measured, tol, bounds)
    return _changed(state, changes)


def _arrived(trial: Array, found: Measurement, tol: float, bounds: Array) -> dict[str, Any]:
    """The place of a start that has been evaluated for the first time."""
    if not np.isfinite(found.value):
        return {"status": 3}
    B, radius = found.information, _FIRST_RADIUS
    if B is None:
        B, radius = np.eye(len(found.slope)) * max(1.0, float(np.linalg.norm(found.slope))), _BLIND_RADIUS
    return _onward(_reached(trial, found, B, radius, bounds), tol, bounds)


def _reached(theta: Array, found: Measurement, B: Array | None, radius: float, bounds: Array) -> dict[str, Any]:
    """A place, with what there is to gain from it by the curvatures learnt and by those that the evidence tells of."""
    curvatures = [one for one in (B, found.information) if one is not None]
    prospect = expected_gain(theta, found.slope, curvatures, bounds)
    place = {"theta": theta, "value": found.value, "slope": found.slope, "radius": radius}
    place |= {"prospect": prospect, "rounding": found.rounding}
    return place if B is None else place | {"curvature": B}


def _moved(place: dict[str, Any], trial: Array, found: Measurement, tol: float, bounds: Array) -> dict[str, Any]:
    """What changes in a start's place when its trial has been evaluated."""
    value, slope, information, rounding = found
    B, step, gain = place["curvature"], trial - place["theta"], value - place["value"]
    promised = float(place["slope"] @ step - 0.5 * step @ B @ step)
    kept = gain >= _SUFFICIENT * max(promised, 0.0) and gain > 0.0
    learnt = secant(B, step, place["slope"] - slope) if np.isfinite(value) else B
    if not kept:
        # What a failed move teaches is of a far place; where nothing corrects it later, it does harm.
        known = learnt is not None and information is not None
        return _withdrawn(place, step, gain, promised, learnt if known else B, bounds)
    radius = _radius(float(place["radius"]), float(np.abs(step).max()), gain, promised)
    # No curvature on the way: the model was too narrow, and the next move may go farther.
    B = B * _WIDER if learnt is None else learnt
    if information is None:
        radius = _BLIND_RADIUS
    elif promised > _FAR and gain > _POOR * promised:
        B = information
        if gain > _STIFF * promised:
            learnt = secant(information, step, place["slope"] - slope)
            B = information * _WIDER if learnt is None else learnt
    else:
        B = guided(B, information, place["slope"] * slope > 0.0)
    reached = _reached(trial, found, B, radius, bounds)
    if rounding:
        spent = gain <= _SCATTER * min(rounding, KNOWN) and reached["prospect"] <= rounding
    else:
        spent = gain <= _NO_GAIN * max(1.0, abs(value))
    return reached | {"status": 2} if spent else _onward(reached, tol, bounds)


def _radius(radius: float, size: float, gain: float, promised: float) -> float:
    """The radius after a move of some size that gained: smaller where the model was poor, larger where it was good."""
    if gain < _POOR * promised:
        return max(0.5 * size, 1e-6)
    if gain > _GOOD * promised and size >= 0.99 * radius:
        most = _FAR_RADIUS if promised > _FAR else _LAST_RADIUS
        return min(most, (3.0 if gain > _GREAT * promised else 2.0) * radius)
    return radius


def _withdrawn(
    place: dict[str, Any], step: Array, gain: float, promised: float, B: Array, bounds: Array
) -> dict[str, Any]:
    """A shorter move from the same place where one did not bring enough; the steepest where they became too short."""
    rise, size = float(place["slope"] @ step), float(np.abs(step).max(initial=0.0))
    nothing = min(float(place["rounding"]), KNOWN) or _NO_PROMISE * max(1.0, abs(float(place["value"])))
    if promised <= nothing and np.isfinite(gain):
        return {"status": 2}
    # The top of the parabola through the value, the slope and the trial's value.
    top = 0.5 * rise / (rise - gain) if np.isfinite(gain) and rise > gain else _CUT
    radius = size * float(np.clip(top, _CUT, 0.5))
    if radius <= 1e-9:
        B = np.eye(len(step)) * max(1.0, float(np.linalg.norm(place["slope"])))
        if np.array_equal(place["curvature"], B):
            return {"status": 2}
        radius = _FIRST_RADIUS
    changed = {"curvature": B, "radius": radius}
    return changed | {"move": _move(place["theta"], place["slope"], B, radius, bounds)}


def _onward(place: dict[str, Any], tol: float, bounds: Array) -> dict[str, Any]:
    """A new place with the next move from it, or the end of the way."""
    theta, slope = place["theta"], place["slope"]
    if np.abs(free_slope(theta, slope, bounds)).max(initial=0.0) <= tol:
        return place | {"status": 1}
    if place["prospect"] <= _SCATTER * min(place["rounding"], KNOWN):
        return place | {"status": 2}
    return place | {"move": _move(theta, slope, place["curvature"], place["radius"], bounds)}


def _move(theta: Array, slope: Array, B: Array, radius: float, bounds: Array) -> Array:
    """The move to the top of the quadratic model within the bounds and the radius."""
    low, high = np.maximum(bounds[:, 0] - theta, -radius), np.minimum(bounds[:, 1] - theta, radius)
    return highest(slope, B, low, high)


def _certificate(state: ClimbState, bounds: Array, tol: float, exact: bool = True) -> Certificate:
    if not exact:
        return Certificate.none(ESTIMATED)
    best = state.best
    slopes = [free_slope(state.theta[one], state.slope[one], bounds) for one in best]
    return certified(np.array(slopes), state.prospect[best], state.rounding[best], tol)


def _step(state: ClimbState, bounds: Array, tol: float, exact: bool = True) -> Step:
    slopes = [free_slope(state.theta[one], state.slope[one], bounds) for one in state.best]
    value = float(state.value[state.best].sum())
    extra = {"gradient": float(np.abs(slopes).max(initial=0.0))}
    return Step(value, state, _certificate(state, bounds, tol, exact), extra)
