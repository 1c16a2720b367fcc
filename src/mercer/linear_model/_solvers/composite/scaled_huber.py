"""Huber regression with its scale, by Newton's method on coefficients, intercept and scale together.

    J(w, b, v) = sum_i s_i v (1 + H((y_i - w . x_i - b) / v)) + alpha |w|^2

is convex in all three (Owen, 2007), and quadratic over linear where rows bend, so few steps do. Its dual has a slope
u_i for each row, with |u_i| <= 2 epsilon, sum_i s_i u_i = 0 and sum_i s_i u_i^2 <= 4 S:

    min J >= sum_i s_i u_i y_i - |sum_i s_i u_i x_i|^2 / (4 alpha).

Rows far off do not bend, so few rows may bend at all; then Newton's method would leap. Where its last step had to be
cut short, the next has parabolas above the straight pieces of the loss in their place, as reweighted least squares has.

The slopes at any point, mixed with a constant and scaled down until they meet the conditions, give a bound; the best
scaling is known in closed form.

For a residual r and a scale v the loss is v (1 + H(r / v)), with H(t) = t^2 for |t| <= epsilon and
2 epsilon |t| - epsilon^2 beyond. With u = clip(r / v, -epsilon, epsilon) it is v (1 - u^2) + 2 u r, its derivative by
the score is -2 u, that by the scale 1 - u^2. With t = r / v, rows with |t| < epsilon alone bend, by (2 / v) [1, t]
[1, t]^T; for the others (2 / v) epsilon / |t| is the bend by the score of a parabola that touches the loss from above.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.newton import solve_semidefinite
from mercer._solver.request import HEAVY, Dense
from mercer._solver.step import Certificate, Solution, Step
from mercer._source import Block
from mercer._statistic import Moments, MomentSums
from mercer._statistic.statistic import Statistic, Sums
from mercer._types import Array

_GAP = "J is at most this far above its minimum: a dual point bounds it from below."
_GRADIENT = (
    "The largest entry of the gradient of J over the sum of weights, by coefficients in units of the deviation of "
    "their columns, by the intercept and by the scale (where it could still fall): zero at the optimum."
)
# Step lengths tried before the search gives up: each is at most half of the last.
_TRIALS = 40
# A promise below this share of J is rounding.
_ROUNDING = 1e-15
# Step lengths that a Newton step may need without making the next step cautious.
_FEW = 2
# Step lengths tried before the search switches to cautious steps.
_BRIEF = 8
# The least scale relative to the targets' deviation: rows that lie on a plane exactly would take it to zero.
_LEAST = 1e-10
# The least scale if all targets are alike.
_TINY = 10 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ScaledHuberSums(Sums):
    """Weighted sums of the losses and of u^2, and the gradient by coefficients and intercept (d + 1,)."""

    value: float
    squares: float
    gradient: Array


@dataclass(frozen=True, eq=False)
class ScaledHuber(Statistic):
    """Value and gradient at parameters (d + 1,) and a scale."""

    parameters: Array
    scale: float
    epsilon: float

    def of(self, block: Block) -> ScaledHuberSums:
        xp = block.xp
        scaled = _scale_residuals(block, self.parameters, self.scale)
        inner = _clip(scaled, self.epsilon, xp)
        both = inner * inner
        value = self.scale * (1.0 - both + 2.0 * inner * scaled)
        slope = block.weigh(-2.0 * inner)
        gradient = xp.concat([block.transpose_matmul(slope), xp.reshape(_sum(slope, xp), (1,))])
        squares = _sum(block.weigh(both), xp)
        return ScaledHuberSums(float(_sum(block.weigh(value), xp)), float(squares), gradient)


@dataclass(frozen=True, eq=False)
class ScaledHuberCurvature(Statistic):
    """The Hessian by coefficients, intercept and scale (d + 2), times scale / 2; if `cautious`, parabolas that touch
    the loss from above take the place of its straight pieces.
    """

    parameters: Array
    scale: float
    epsilon: float
    cautious: bool = False

    def of(self, block: Block) -> Array:
        xp = block.xp
        scaled = _scale_residuals(block, self.parameters, self.scale)
        size = xp.abs(scaled)
        bent = size < self.epsilon
        if self.cautious:
            # epsilon / |t|, one for rows within epsilon: the weights of reweighted least squares.
            bends = block.weigh(self.epsilon / xp.clip(size, self.epsilon, None))
        else:
            bends = block.weigh(xp.astype(bent, scaled.dtype))
        by_scale = xp.where(bent, scaled, xp.zeros_like(scaled))
        rows = block.X
        # Rows that do not bend add nothing.
        if xp is np and not self.cautious:
            chosen = bends.nonzero()[0]
            rows, by_scale, bends = rows[chosen], by_scale[chosen], bends[chosen]
        root = xp.sqrt(bends)[:, None]
        # The last two columns: intercept and scale.
        edge = xp.stack([xp.ones_like(by_scale), by_scale], axis=1) * root
        heavy = rows.multiply(root).tocsr() if block.is_sparse else rows * root
        inner, side, corner = heavy.T @ heavy, heavy.T @ edge, edge.T @ edge
        inner = inner.toarray() if block.is_sparse else inner
        return xp.concat([xp.concat([inner, side], axis=1), xp.concat([side.T, corner], axis=1)], axis=0)


def _clip(values: Array, bound: float, xp: Any) -> Array:
    """Return values kept within -bound and bound; NumPy's own function takes twice as long for few values."""
    return np.minimum(np.maximum(values, -bound), bound) if xp is np else xp.clip(values, -bound, bound)


def _sum(values: Array, xp: Any) -> Array:
    """Return the sum of all values; NumPy's own function inspects its arguments for as long as it adds few values."""
    return np.add.reduce(values) if xp is np else xp.sum(values)


def _scale_residuals(block: Block, parameters: Array, scale: float) -> Array:
    """Return residuals in units of the scale."""
    scores = block.matmul(parameters[:-1]) + parameters[-1]
    return (block.xp.astype(block.y, scores.dtype) - scores) / scale


@plain
@dataclass(frozen=True, eq=False)
class HuberState:
    """Coefficients and intercept (d + 1,), the scale, the steps taken, and whether the next should be cautious."""

    parameters: Any
    scale: float
    n_steps: int
    cautious: bool = True


@dataclass(frozen=True, eq=False)
class _Point:
    parameters: Any
    scale: float
    objective: float
    gradient: Any
    sums: ScaledHuberSums


@dataclass(frozen=True, eq=False)
class HuberProblem:
    """The objective, and the relative gap `tol` to reach."""

    epsilon: float
    alpha: float
    fit_intercept: bool
    tol: float

    def evaluate(self, parameters: Any, scale: float, weight: float) -> Generator[Any, Any, _Point]:
        """Compute J and its gradient by coefficients, intercept and scale (d + 2,) in one pass."""
        sums = yield ScaledHuber(parameters, scale, self.epsilon)
        # dJ/dv = S - (sum of the squares on the quadratic piece and of epsilon^2 beyond it).
        gradient = np.empty(len(sums.gradient) + 1)
        gradient[:-1], gradient[-1] = sums.gradient, weight - sums.squares
        gradient[:-2] += 2.0 * self.alpha * parameters[:-1]
        if not self.fit_intercept:
            gradient[-2] = 0.0
        objective = sums.value + self.alpha * float(parameters[:-1] @ parameters[:-1])
        return _Point(parameters, scale, objective, gradient, sums)

    def bound(self, point: _Point, moments: MomentSums) -> float:
        """Return the value of the dual at the slopes of a point, made feasible; see the module."""
        weight, sums, scale = moments.weight, point.sums, point.scale
        slopes, total = -sums.gradient[:-1], -float(sums.gradient[-1])
        squares = 4.0 * sums.squares
        # The Fenchel-Young inequality is an equality at the slopes of the loss itself.
        product = sums.value - scale * (weight - sums.squares) + float(point.parameters[:-1] @ slopes)
        product += float(point.parameters[-1]) * total
        # A constant slope against the sum, the largest that meets both conditions, so that the mixture needs least of
        # it.
        if self.fit_intercept and total != 0.0:
            other = -math.copysign(min(2.0 * self.epsilon, 2.0), total)
            mix = abs(total) / (abs(total) + abs(other) * weight)
            slopes = (1.0 - mix) * slopes + mix * other * weight * moments.mean
            squares = (1.0 - mix) * squares + mix * other**2 * weight
            product = (1.0 - mix) * product + mix * other * weight * float(moments.y_mean[0])
        # The conjugate is convex in the scaling: the best one is where the parabola product t - bend t^2 / 2 peaks,
        # unless sum s u^2 <= 4 S forbids it.
        most = min(1.0, math.sqrt(4.0 * weight / squares)) if squares > 0 else 1.0
        bend = float(slopes @ slopes) / (2.0 * self.alpha) if self.alpha > 0 else math.inf
        best = min(most, max(product, 0.0) / bend) if bend > 0 else most
        return best * product - (0.5 * best**2 * bend if best > 0 else 0.0)

    def certify(self, point: _Point, moments: MomentSums, least: float) -> Certificate:
        """Return a relative duality gap; without a penalty, the gradient."""
        if self.alpha > 0:
            gap = max(0.0, point.objective - self.bound(point, moments))
            allowed = self.tol * abs(point.objective) + moments.weight * least
            return Certificate.of("duality gap", gap, allowed, _GAP)
        deviation = np.sqrt(moments.scatter / moments.weight + (0.0 if self.fit_intercept else moments.mean**2))
        units = np.concatenate([np.where(deviation > 0, deviation, 1.0), np.ones(2)])
        gradient = np.abs(point.gradient) / units / moments.weight
        # At its lower bound the scale must only not want to rise.
        if point.scale <= least:
            gradient[-1] = max(0.0, -point.gradient[-1]) / moments.weight
        return Certificate.of("gradient norm", float(np.max(gradient)), self.tol, _GRADIENT)


def minimise_scaled_huber(
    problem: HuberProblem, start: HuberState | None, max_iter: int
) -> Generator[Any, Any, Solution]:
    """Minimise from the mean of the targets, or from a state of an earlier run."""
    moments = yield Moments(problem.fit_intercept, diagonal=True)
    # The standard deviation of the targets is the first scale.
    spread = math.sqrt(float(moments.y_scatter[0]) / moments.weight)
    # A floor on the scale: targets that the model fits exactly would drive it to zero.
    least = _LEAST * spread if spread > 0 else _TINY
    if start is None:
        parameters = np.append(np.zeros(len(moments.mean)), moments.y_mean[0])
        start = HuberState(parameters, max(spread, least), 0)
    state = start
    point = yield from problem.evaluate(state.parameters, max(state.scale, least), moments.weight)
    certificate = problem.certify(point, moments, least)
    while True:
        if certificate.satisfied or state.n_steps >= max_iter:
            return Solution(state, certificate.satisfied, certificate)
        sums = yield ScaledHuberCurvature(point.parameters, point.scale, problem.epsilon, state.cautious)
        direction = yield Dense(partial(_direction, problem, point, sums, least), heavy=len(sums) > HEAVY // 2)
        if -float(point.gradient @ direction) <= _ROUNDING * abs(point.objective):
            # No step promises more than rounding, which may exceed the gap asked for.
            return Solution(state, True, certificate)
        accepted = yield from _search(problem, point, direction, moments.weight, least, state.cautious)
        # The full curvature has failed: bends of far rows too, which are safe but slow.
        if accepted is None and state.cautious:
            return Solution(state, certificate.satisfied, certificate)
        if accepted is None:
            state = replace(state, cautious=True)
            continue
        point, trials = accepted
        # A search that needed many trials asks for caution in the next step.
        state = HuberState(point.parameters, point.scale, state.n_steps + 1, trials > _FEW)
        certificate = problem.certify(point, moments, least)
        yield Step(point.objective, state, certificate, {certificate.kind.split()[-1]: certificate.value})


def _direction(problem: HuberProblem, point: _Point, sums: Any, least: float) -> Any:
    """Return the Newton step, with the scale within a factor of ten and the rest optimal for the new scale."""
    hessian = np.array(sums) * (2.0 / point.scale)
    index = np.arange(len(hessian) - 2)
    hessian[index, index] += 2.0 * problem.alpha
    kept = np.ones(len(hessian), dtype=bool)
    kept[-2] = problem.fit_intercept
    step = np.zeros(len(hessian))
    if problem.fit_intercept:
        step[:] = solve_semidefinite(hessian, -point.gradient)
    else:
        step[kept] = solve_semidefinite(hessian[np.ix_(kept, kept)], -point.gradient[kept])
    # The quadratic over linear model holds near the present scale only; the other parameters then follow the scale
    # reached.
    reached = min(max(point.scale + step[-1], least, 0.1 * point.scale), 10.0 * point.scale)
    if point.scale + step[-1] != reached:
        step[:] = 0.0
        step[-1], kept[-1] = reached - point.scale, False
        right = -point.gradient - hessian[:, -1] * step[-1]
        step[kept] = solve_semidefinite(hessian[np.ix_(kept, kept)], right[kept])
    return step


def _search(
    problem: HuberProblem, point: _Point, direction: Any, weight: float, least: float, cautious: bool
) -> Generator[Any, Any, tuple[_Point, int] | None]:
    """Return the first of ever shorter steps that keeps a share of the promised decrease, and the number tried."""
    slope, step = float(point.gradient @ direction), 1.0
    if not slope < 0:
        return None
    slack = 1e-15 * abs(point.objective)
    for trials in range(1, (_TRIALS if cautious else _BRIEF) + 1):
        moved = point.parameters + step * direction[:-1]
        scale = max(point.scale + step * float(direction[-1]), least)
        trial = yield from problem.evaluate(moved, scale, weight)
        if trial.objective <= point.objective + 1e-4 * step * slope + slack:
            return trial, trials
        ahead = float(trial.gradient @ direction)
        # The zero of the slope by the secant, but at least half and at most nine tenths shorter.
        step *= min(0.5, max(0.1, slope / (slope - ahead) if ahead > 0 else 0.5))
    return None
