"""The climb to the hyper-parameters of the greatest evidence: BFGS within bounds, from one start or several at once.

Hyper-parameters are few, so the whole matrix of curvatures is kept and moves are Newton steps on those that are not
held at a bound. One evaluation of every start that is still on its way makes a step; a state between two of them holds
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
from mercer.errors import DataError
from mercer.gaussian_process._evidence import Evidence
from mercer.kernels import Kernel

__all__ = ["ClimbState", "climb", "climb_by", "stand_still"]

Array = Any
STATEMENT = (
    "Largest derivative of the log marginal likelihood by the logarithm of a hyper-parameter, those held at a bound "
    "left out: zero at a local maximum. Other maxima may be higher."
)
ESTIMATED = "The evidence and its derivatives are estimates with random probes: their slope bounds nothing."
KEPT = "Hyper-parameters were kept as given: nothing was optimised."
# The share of the gain promised by the slope that a move must bring (Armijo), and the least by which it is cut.
_SUFFICIENT, _CUT = 1e-4, 0.1
# The farthest that one move may change a logarithm: a factor of twenty.
_FARTHEST = 3.0
# What curvatures are multiplied by after a move along which the slope has not fallen.
_WIDER = 0.25
# Gains below this share of the evidence are rounding.
_NO_GAIN = 1e-11
# Rows up to which starts are evaluated side by side, a thread each; above, all threads share the tiles of one.
_SIDE_BY_SIDE = 1500


@plain
@dataclass(frozen=True, eq=False)
class ClimbState:
    """Where each start stands: (r, p) arrays of the best place and its slope, the move under way, the curvatures.

    ``status`` is 0 on the way, 1 at a maximum, 2 where no move gains any more, 3 where there is no evidence at all.
    Starts of one problem, of ``n_problems``, follow one another.
    """

    theta: Array
    value: Array
    slope: Array
    move: Array
    length: Array
    curvature: Array
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
    """A request: the evidence and its gradient at several hyper-parameters."""

    evidences: list[Evidence]
    kernels: list[Kernel]
    slope: bool = True

    def answer(self, source: Source) -> list[tuple[float, Array]]:
        threads = source.threads
        if len(self.kernels) == 1 or source.n_rows > _SIDE_BY_SIDE:
            together = zip(self.evidences, self.kernels, strict=True)
            return [evidence.evaluate(kernel, self.slope, threads) for evidence, kernel in together]
        found: list[Any] = []
        run_numbered(
            lambda number: self.evidences[number].evaluate(self.kernels[number], self.slope),
            len(self.kernels),
            threads,
            found.append,
        )
        return found


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
        theta, (value, slope) = yield Outside(partial(_optimised, optimizer, evidence, kernel, start))
        arrays = {name: getattr(state, name).copy() for name in ("theta", "value", "slope", "status")}
        arrays["theta"][number], arrays["value"][number], arrays["slope"][number] = theta, value, slope
        arrays["status"][number] = 1
        state = replace(state, n_evaluations=state.n_evaluations + 1, **arrays)
        if number + 1 == len(state.theta):
            _check_evidence(state, kernel)
            yield _step(state, bounds, tol)
    return Solution(state, True, _certificate(state, bounds, tol))


def _optimised(
    optimizer: Callable[..., Any], evidence: Evidence, kernel: Kernel, start: Array, threads: int
) -> tuple[Array, tuple[float, Array]]:
    """Where a function of the user's ends, and the evidence there."""

    def objective(theta: Array, eval_gradient: bool = True) -> Any:
        value, slope = evidence.evaluate(kernel.with_theta(theta), eval_gradient, threads)
        return (-value, -slope) if eval_gradient else -value

    theta = np.asarray(optimizer(objective, start, bounds=kernel.bounds)[0], dtype=np.float64)
    return theta, evidence.evaluate(kernel.with_theta(theta), True, threads)


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
    zeros, status = np.zeros((r, p)), np.zeros(r, dtype=np.int64)
    return ClimbState(
        starts, np.full(r, -np.inf), zeros, zeros, np.zeros(r), np.zeros((r, p, p)), status, 0, n_problems
    )


def _trials(state: ClimbState, bounds: Array) -> Array:
    return np.clip(state.theta + state.length[:, None] * state.move, bounds[:, 0], bounds[:, 1])


def _advanced(
    state: ClimbState, going: Array, trials: Array, found: list[tuple[float, Array]], bounds: Array, tol: float
) -> ClimbState:
    """The state after an evaluation of every start that is on its way."""
    names = ("theta", "value", "slope", "move", "length", "curvature", "status")
    arrays = {name: getattr(state, name).copy() for name in names}
    for one, (value, slope) in zip(going, found, strict=True):
        place = {name: array[one] for name, array in arrays.items()}
        for name, new in _moved(place, trials[one], value, slope, bounds, tol).items():
            arrays[name][one] = new
    return replace(state, n_evaluations=state.n_evaluations + 1, **arrays)


def _moved(
    place: dict[str, Any], trial: Array, value: float, slope: Array, bounds: Array, tol: float
) -> dict[str, Any]:
    """What changes in a start's place when its trial has been evaluated."""
    first = place["value"] == -np.inf
    if first and not np.isfinite(value):
        return {"status": 3}
    step = trial - place["theta"]
    promised = float(place["slope"] @ step)
    gain = value - place["value"]
    if not first and not gain >= _SUFFICIENT * max(promised, 0.0):
        return _shortened(place, gain, promised, bounds)
    rises = None if first else (step, place["slope"] - slope)
    curvature = _curved(place["curvature"], rises, slope)
    reached = {"theta": trial, "value": value, "slope": slope, "curvature": curvature, "length": 1.0}
    if np.abs(_free_slope(trial, slope, bounds)).max(initial=0.0) <= tol:
        return reached | {"status": 1}
    if not first and gain <= _NO_GAIN * max(1.0, abs(value)):
        return reached | {"status": 2}
    return reached | {"move": _newton(trial, slope, curvature, bounds)}


def _shortened(place: dict[str, Any], gain: float, promised: float, bounds: Array) -> dict[str, Any]:
    """A shorter move where one did not bring enough; the steepest one where moves have become too short."""
    length = float(place["length"])
    # The top of the parabola through the value, the slope and the trial's value.
    top = 0.5 * promised / (promised - gain) if np.isfinite(gain) and promised > gain else _CUT
    shorter = length * float(np.clip(top, _CUT, 0.5))
    if shorter * np.abs(place["move"]).max(initial=0.0) > 1e-9:
        return {"length": shorter}
    steepest = np.eye(len(place["move"])) * max(1.0, float(np.linalg.norm(place["slope"])))
    if np.array_equal(place["curvature"], steepest):
        return {"status": 2}
    move = _newton(place["theta"], place["slope"], steepest, bounds)
    return {"curvature": steepest, "length": 1.0, "move": move}


def _curved(B: Array, rises: tuple[Array, Array] | None, slope: Array) -> Array:
    """The curvatures after a move: the BFGS update, of a multiple of the identity at first."""
    identity = np.eye(len(slope))
    if rises is None:
        return identity * max(1.0, float(np.linalg.norm(slope)))
    step, change = rises
    bend = float(step @ change)
    if bend <= 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        # No curvature on the way: the model was too narrow, and the next move may go farther.
        return B * _WIDER
    if np.array_equal(B, identity * B[0, 0]):
        B = identity * (float(change @ change) / bend)
    Bs = B @ step
    return B + np.outer(change, change) / bend - np.outer(Bs, Bs) / float(step @ Bs)


def _newton(theta: Array, slope: Array, B: Array, bounds: Array) -> Array:
    """The move to the top of the quadratic model, of hyper-parameters that are not held at a bound."""
    move = np.zeros_like(theta)
    free = _free_slope(theta, slope, bounds) != 0
    if free.any():
        move[free] = np.linalg.solve(B[np.ix_(free, free)], slope[free])
    return move * min(1.0, _FARTHEST / max(np.abs(move).max(initial=0.0), 1e-300))


def _free_slope(theta: Array, slope: Array, bounds: Array) -> Array:
    """The slope, with zeros where it points out of the bounds."""
    held = ((theta <= bounds[:, 0]) & (slope < 0)) | ((theta >= bounds[:, 1]) & (slope > 0))
    return np.where(held, 0.0, slope)


def _certificate(state: ClimbState, bounds: Array, tol: float, exact: bool = True) -> Certificate:
    if not exact:
        return Certificate.none(ESTIMATED)
    slopes = [_free_slope(state.theta[one], state.slope[one], bounds) for one in state.best]
    return Certificate.of("gradient norm", float(np.abs(slopes).max(initial=0.0)), tol, STATEMENT)


def _step(state: ClimbState, bounds: Array, tol: float, exact: bool = True) -> Step:
    steepest = _certificate(state, bounds, tol).value
    value = float(state.value[state.best].sum())
    return Step(value, state, _certificate(state, bounds, tol, exact), {"gradient": steepest})
