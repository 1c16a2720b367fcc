"""Steps in a trust region: a quadratic model of the evidence, its maximum within a box, and what follows an evaluation.

A maximum is certified by a small slope, or by a predicted gain below rounding. Near a maximum with curvatures H, a
slope g is worth g H^-1 g / 2 of evidence. The value of the evidence is a sum of large terms that cancel; its slope is
not. On 1 500 rows with a covariance of condition number 1e8, values scatter by 2e-8 and slopes by 1e-7, so a slope of
1e-3 along a curvature of 300, worth 2e-9, can be measured but not climbed. Where the slope is above the tolerance but
worth less than rounding, the certificate states the predicted gain.
"""

import math
from typing import Any

import numpy as np

from mercer._solver import Certificate
from mercer._types import Array
from mercer.gaussian_process._evidence import Measurement

# Share of the trace that is added to the diagonal: a model without curvature then has its maximum at the box.
_RIDGE = 1e-10
# The least that is added.
_LEAST = 1e-12
# A direction is flat where the curvature that the evidence gives is below this share of the learnt one.
_FLAT = 0.03
# The most noise that does not scale with the kernel, as its part of the trace n of C^-1 C. The gain of a change of
# scale by t is then known to about t times this, in nats.
_UNSCALED = 1e-4
# The least gain, in nats, by which a scale is changed: close to a maximum every point is one that was evaluated.
_WORTHWHILE = 1e-2
# The share of the gain predicted by the model that a move must reach.
_SUFFICIENT = 1e-4
# The smallest factor by which a failed move cuts the radius.
_CUT = 0.1
# Radii are changes of logarithms. The radius about the start.
_FIRST_RADIUS = 0.5
# The largest radius far from a maximum: if some hyper-parameters reach a bound before the others are near their values,
# slopes vanish and the search may end low.
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
# The least share of the average information that curvatures must have to be used: where they are smaller, the point is
# far from a maximum and the quadratic model would lead too far.
_LEAST_SHARE = 0.1
# The largest share: eight problems had shares of 0.3 to 2.8 near their maxima.
_MOST_SHARE = 5.0
# The largest standard deviation of a logarithm, by the curvatures, with which rows count as determining it: along a
# flat evidence, curvatures are rounding and chance.
_UNSURE = 3.0
# The largest predicted gain, in nats, with which second derivatives are used. Without it, one of 96 fits with white
# noise came to another maximum than by the information alone.
_CLOSE = 30.0
# The factor of curvatures after a move along which the slope has not fallen.
_WIDER = 0.25
# Shares of the evidence that count as rounding where the rounding is not known: a predicted gain that is not reached,
_NO_PROMISE = 1e-9
# and a gain.
_NO_GAIN = 1e-11
# The share of the bound on rounding, about its standard deviation, below which a gain counts as none.
_SCATTER = 1.0 / 16.0
STEEPEST = (
    "Largest derivative of the log marginal likelihood by the logarithm of a hyper-parameter, those held at a bound "
    "left out: zero at a local maximum. Other maxima may be higher."
)
IN_PROSPECT = (
    "What the log marginal likelihood is expected to gain by a move to the local maximum, within the bounds, by its "
    "slope and curvatures; the tolerance is the rounding of its value. Other maxima may be higher."
)
# Rounding of more than this, in nats, excuses no slope: nothing is known of the maximum then.
KNOWN = 1e-2


def project_slope(theta: Array, slope: Array, bounds: Array) -> Array:
    """Return the slope, with zeros where it points out of the bounds; of one point (p,), or of several (r, p)."""
    held = ((theta <= bounds[:, 0]) & (slope < 0)) | ((theta >= bounds[:, 1]) & (slope > 0))
    return np.where(held, 0.0, slope)


def certify_maximum(slopes: Array, gains: Array, roundings: Array, tol: float) -> Certificate:
    """Return the certificate of several problems: of the steepest, or of the largest predicted gain over rounding.

    Parameters
    ----------
    slopes : array-like of shape (r, p)
        At the best point of each problem, those that bounds hold being zero.
    gains, roundings : array-like of shape (r,)
        The predicted gain of each problem, and the rounding of its evidence.
    tol : float
    """
    steepest = np.abs(slopes).max(axis=1, initial=0.0)
    steep = np.flatnonzero(~(steepest <= tol))
    worst = float(steepest.max(initial=0.0))
    if not steep.size:
        return Certificate.of("gradient norm", worst, tol, STEEPEST)
    gains, roundings = np.asarray(gains)[steep], np.asarray(roundings)[steep]
    if (roundings > KNOWN).any():
        known = f"{STEEPEST} Rounding leaves {roundings.max():.1g} of the likelihood unknown: raise alpha."
        return Certificate.of("gradient norm", worst, tol, known)
    # The slope is above the tolerance, but what it promises is below the rounding of the evidence.
    if not ((gains <= roundings) & (roundings > 0.0)).all():
        return Certificate.of("gradient norm", worst, tol, STEEPEST)
    last = int(np.argmax(gains / roundings))
    return Certificate.of("expected gain", gains[last], roundings[last], IN_PROSPECT)


def begin_at(trial: Array, measured: Measurement, tol: float, bounds: Array) -> dict[str, Any]:
    """Return the point of a start after its first evaluation."""
    if not np.isfinite(measured.value):
        return {"status": 3}
    B, radius = measured.information, _FIRST_RADIUS
    if (known := _find_close_curvature(trial, measured, bounds)) is not None:
        B = known
    if B is None:
        B, radius = np.eye(len(measured.slope)) * max(1.0, float(np.linalg.norm(measured.slope))), _BLIND_RADIUS
    return _continue_from(describe_point(trial, measured, B, radius, bounds), tol, bounds)


def find_curvature(measured: Measurement) -> Array | None:
    """Return the curvatures of the evidence where they are known and make a maximum; else None."""
    if measured.fit is None or measured.volume is None or measured.information is None:
        return None
    # Where rounding hides the evidence it hides its second derivatives all the more.
    if measured.rounding > KNOWN or not determines(measured.information):
        return None
    curvature = measured.fit + measured.volume
    gaps = curvature - _LEAST_SHARE * measured.information, _MOST_SHARE * measured.information - curvature
    return curvature if min(np.linalg.eigvalsh(gap)[0] for gap in gaps) > 0.0 else None


def _find_close_curvature(theta: Array, measured: Measurement, bounds: Array) -> Array | None:
    """Return the curvatures of the evidence close to a maximum; None far from it, or where they are not known."""
    curvature = find_curvature(measured)
    if curvature is None or predict_gain(theta, measured.slope, [curvature], bounds) > _CLOSE:
        return None
    return curvature


def determines(B: Array, room: Any = np.inf) -> bool:
    """Return whether curvatures leave all logarithms standard deviations below `room` and a constant."""
    values, vectors = np.linalg.eigh(B)
    if not values[0] > 0.0:
        return False
    variances = (vectors**2 / values).sum(axis=1)
    return bool((variances < np.minimum(room, _UNSURE) ** 2).all())


def describe_point(
    theta: Array, measured: Measurement, B: Array | None, radius: float, bounds: Array
) -> dict[str, Any]:
    """Return a point with the gain predicted from it, by the learnt curvatures and those that the evidence gives."""
    given = None if measured.information is B else measured.information
    curvatures = [matrix for matrix in (B, given) if matrix is not None]
    prospect = predict_gain(theta, measured.slope, curvatures, bounds)
    point = {"theta": theta, "value": measured.value, "slope": measured.slope, "radius": radius}
    point |= {"prospect": prospect, "rounding": measured.rounding}
    return point if B is None else point | {"curvature": B}


def predict_gain(theta: Array, slope: Array, curvatures: list[Array], bounds: Array) -> float:
    """Return the largest gain that quadratic models of these curvatures predict within the bounds; without any, inf."""
    gains = []
    for B in curvatures:
        move = maximise_model(slope, B, bounds[:, 0] - theta, bounds[:, 1] - theta)
        gains.append(float(slope @ move - 0.5 * move @ B @ move))
    return max(gains, default=np.inf)


def judge_step(
    point: dict[str, Any], trial: Array, reached: Array, measured: Measurement, tol: float, bounds: Array
) -> dict[str, Any]:
    """Return the changes of a start's point after the evaluation of its trial: a new point, or a shorter move.

    `reached` is the trial, or the point of the best scale from there, where the evidence was `measured`.
    """
    value, slope, information, rounding = measured[:4]
    B, step, gain = point["curvature"], trial - point["theta"], value - point["value"]
    # The gain that the quadratic model predicted: g.s - s^T B s / 2, with B minus the second derivative.
    promised = float(point["slope"] @ step - 0.5 * step @ B @ step)
    kept = gain >= _SUFFICIENT * max(promised, 0.0) and gain > 0.0
    # Along the step, minus the curvature is the fall of the slope: B s = g_old - g_new.
    way = reached - point["theta"]
    learnt = update_by_secant(B, way, point["slope"] - slope) if np.isfinite(value) else B
    if not kept:
        # The curvature along a failed move is of a distant point; if nothing corrects it later, it does harm.
        corrected = B if learnt is None or information is None else learnt
        return _shorten_move(point, step, gain, promised, corrected, bounds)
    radius = _update_radius(float(point["radius"]), float(np.abs(step).max()), gain, promised)
    # The slope has not fallen on the way: the model was too curved, and the next move may be longer.
    B = B * _WIDER if learnt is None else learnt
    if (known := _find_close_curvature(reached, measured, bounds)) is not None:
        B = known if promised > _FAR else update_by_secant(known, way, point["slope"] - slope)
        B = known if B is None else B
    elif information is None:
        radius = _BLIND_RADIUS
    elif promised > _FAR and gain > _POOR * promised:
        B = information
        if gain > _STIFF * promised:
            learnt = update_by_secant(information, way, point["slope"] - slope)
            B = information * _WIDER if learnt is None else learnt
    else:
        B = correct_flat_directions(B, information, point["slope"] * slope > 0.0)
    found = describe_point(reached, measured, B, radius, bounds)
    if rounding:
        spent = gain <= _SCATTER * min(rounding, KNOWN) and found["prospect"] <= rounding
    else:
        spent = gain <= _NO_GAIN * max(1.0, abs(value))
    return found | {"status": 2} if spent else _continue_from(found, tol, bounds)


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
    point: dict[str, Any], step: Array, gain: float, promised: float, B: Array, bounds: Array
) -> dict[str, Any]:
    """Return a shorter move from the same point after a failed one; along the slope where moves became too short."""
    rise, size = float(point["slope"] @ step), float(np.abs(step).max(initial=0.0))
    nothing = min(float(point["rounding"]), KNOWN) or _NO_PROMISE * max(1.0, abs(float(point["value"])))
    if promised <= nothing and np.isfinite(gain):
        return {"status": 2}
    # The maximum of the parabola through the value, the slope and the trial's value.
    top = 0.5 * rise / (rise - gain) if np.isfinite(gain) and rise > gain else _CUT
    radius = size * float(np.clip(top, _CUT, 0.5))
    # Moves along the learnt curvatures shrink to nothing: forget these, and go along the slope once.
    if radius <= 1e-9:
        B = np.eye(len(step)) * max(1.0, float(np.linalg.norm(point["slope"])))
        if np.array_equal(point["curvature"], B):
            return {"status": 2}
        radius = _FIRST_RADIUS
    changed = {"curvature": B, "radius": radius}
    return changed | {"move": _choose_move(point["theta"], point["slope"], B, radius, bounds)}


def _continue_from(point: dict[str, Any], tol: float, bounds: Array) -> dict[str, Any]:
    """Return a new point with the next move from it, or with the status of a maximum."""
    theta, slope = point["theta"], point["slope"]
    if np.abs(project_slope(theta, slope, bounds)).max(initial=0.0) <= tol:
        return point | {"status": 1}
    if point["prospect"] <= _SCATTER * min(point["rounding"], KNOWN):
        return point | {"status": 2}
    return point | {"move": _choose_move(theta, slope, point["curvature"], point["radius"], bounds)}


def _choose_move(theta: Array, slope: Array, B: Array, radius: float, bounds: Array) -> Array:
    """Return the move to the maximum of the quadratic model within the bounds and the radius."""
    # The largest change of any one logarithm is bounded, so that radius and bounds make one box.
    low, high = np.maximum(bounds[:, 0] - theta, -radius), np.minimum(bounds[:, 1] - theta, radius)
    return maximise_model(slope, B, low, high)


def rescale(theta: Array, measured: Measurement, scale: int, size: int, bounds: Array) -> tuple[Array, Measurement]:
    """Return the point of the best scale of the covariance and what is known there, without an evaluation.

    `scale` is the index in theta of the constant that multiplies the covariance of `size` targets.
    """
    value, slope, information, rounding, fit, volume = measured
    if not size or information is None or not np.isfinite(value) or rounding > KNOWN:
        return theta, measured
    pull, at = information[:, scale], float(theta[scale])
    low, high = bounds[scale]
    t = choose_scale(float(pull[scale]), float(slope[scale]), size, low - at, high - at)
    if t == 0.0:
        return theta, measured
    # y^T C^-1 y and its derivatives change by the factor e^-t, and those of log |C| do not change.
    kept = np.exp(-t)
    value += float(pull[scale]) * (1.0 - kept) - 0.5 * size * t
    theta = theta.copy()
    theta[scale] = min(max(at + t, low), high)
    known = Measurement(value, slope - (1.0 - kept) * pull, kept * information, rounding)
    return theta, known if fit is None else known._replace(fit=kept * fit, volume=volume)


def maximise_model(slope: Array, B: Array, low: Array, high: Array) -> Array:
    """Return the move s in [low, high] that maximises slope' s - s' B s / 2; the box contains zero.

    This is the primal active set method. Free components move towards the maximum until one meets a side of the box,
    which then holds it. If none does, the held component that the model pulls inwards most is released. It takes about
    as many rounds as there are hyper-parameters.
    """
    p = len(slope)
    # A ridge makes the model strictly concave.
    B = B.copy()
    B.flat[:: p + 1] += _RIDGE * float(B.trace()) + _LEAST
    move = np.linalg.solve(B, slope)
    if ((low <= move) & (move <= high)).all():
        # The maximum of the model lies in the box, as it does near a maximum of the evidence.
        return move
    s, held = np.zeros(p), np.zeros(p)
    # Components at a side that the slope pushes outwards are held from the start.
    held[(low >= 0) & (slope < 0)], held[(high <= 0) & (slope > 0)] = -1.0, 1.0
    for _ in range(10 * p + 10):
        free, pull = held == 0, slope - B @ s
        move = np.zeros(p)
        move[free] = np.linalg.solve(B[np.ix_(free, free)], pull[free])
        room = np.where(move > 0, high - s, low - s)
        # The share of the move after which each component meets its side.
        share = np.divide(room, move, out=np.full(p, np.inf), where=move != 0)
        first = int(np.argmin(share))
        s = np.clip(s + min(1.0, float(share[first])) * move, low, high)
        if share[first] < 1.0:
            held[first] = np.sign(move[first])
            s[first] = high[first] if move[first] > 0 else low[first]
            continue
        # A held component that the model pulls inwards is released.
        inwards = held * (slope - B @ s)
        if inwards.min() >= 0.0:
            break
        held[int(np.argmin(inwards))] = 0.0
    return s


def update_by_secant(B: Array, step: Array, change: Array) -> Array | None:
    """Return the BFGS update of `B` by a `step` and the fall of the slope along it; None where it has not fallen."""
    bend = float(step @ change)
    if not bend > 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return None
    if np.array_equal(B, np.eye(len(B)) * B[0, 0]):
        # A multiple of the identity is a first guess; this step shows its size.
        B = np.eye(len(B)) * (float(change @ change) / bend)
    Bs = B @ step
    past = float(step @ Bs)
    return B + np.outer(change, change) / bend - (np.outer(Bs, Bs) / past if past > 0.0 else 0.0)


def correct_flat_directions(B: Array, information: Array, same: Array) -> Array:
    """Return `B` with the curvatures that the evidence gives (`information`) along directions that became flat.

    `same` says which slopes have kept their sign. A component whose slope changed sign is near its best value, and its
    learnt curvature is kept.
    """
    flat = same & (information.diagonal() < _FLAT * B.diagonal())
    if not flat.any():
        return B
    B = np.where(flat[:, None] | flat[None, :], 0.0, B)
    B[np.ix_(flat, flat)] = information[np.ix_(flat, flat)]
    return B


def choose_scale(fit: float, slope: float, size: int, low: float, high: float) -> float:
    """Return the t in [low, high] for which e^t times the covariance has the largest evidence; 0 where it is not known.

    With e^t C the evidence of `size` targets y is -e^-t y^T C^-1 y / 2 - size t / 2 and what does not depend on t. The
    information along t is the `fit` y^T C^-1 y / 2, and the `slope` is the fit less size / 2, if all of C scales.
    """
    if not fit > 0.0 or abs(2.0 * (fit - slope) - size) > _UNSCALED:
        return 0.0
    t = min(max(math.log(2.0 * fit / size), low), high)
    return t if -fit * math.expm1(-t) - 0.5 * size * t > _WORTHWHILE else 0.0
