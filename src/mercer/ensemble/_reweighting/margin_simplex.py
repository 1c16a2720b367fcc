"""The margin program after one more hypothesis: the dual simplex method from the last optimal basis.

    min z   over   A_k d - z + s_k = 0 for each hypothesis k,  sum d = 1,  0 <= d <= D,  s >= 0

A new hypothesis is a new row whose slack is negative. The old basis with that slack stays dual feasible, and a few
pivots make it primal feasible, while a solver that starts from scratch makes a thousand. Masses d whose bounds would
shorten a step move to their other bound without a pivot (the bound-flipping ratio test). A group of rows that the new
hypothesis splits becomes two variables; one of them takes the place of the old variable in the basis.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._types import Array

# A basic variable may be this far outside its bounds; masses sum to one.
_FEASIBLE = 1e-12
# Smallest entry that may be a pivot: dividing by less would amplify rounding errors.
_PIVOT = 1e-9
# Pivots between two inversions of the basis, which remove the rounding errors of updates.
_FRESH = 25
# Size of the costs that break ties; far below the tolerance of the solution.
_COST = 1e-10
# Largest violation of optimality or bounds that a solution may have.
_VIOLATION = 1e-9
# The index of the variable z; the slack of hypothesis k has the index -2 - k, and masses are numbered from 0.
_Z = -1


@plain
@dataclass(frozen=True)
class Basis:
    """Which variables are basic, which masses are at their upper bounds, and the masses.

    ``basic`` has the index of a variable for each equation: a group, -1 for z, or -2 - k for the slack of hypothesis k.
    """

    basic: Any
    upper: Any
    mass: Any


def make_first_basis(pattern: Array, bounds: Array) -> Basis:
    """Return the optimal basis of one hypothesis: mass, up to its bounds, where the hypothesis is most wrong."""
    order, left = np.argsort(pattern, kind="stable"), 1.0
    mass, upper = np.zeros(len(pattern)), np.zeros(len(pattern), dtype=bool)
    for group in order.tolist():
        if bounds[group] >= left:
            mass[group] = left
            return Basis(np.array([group, _Z]), upper, mass)
        mass[group], upper[group] = bounds[group], True
        left -= bounds[group]
    # Rounding left the bounds' sum just below one: the last group is basic all the same.
    upper[group] = False
    return Basis(np.array([group, _Z]), upper, mass)


def grow_basis(basis: Basis, parents: Array, bounds: Array) -> Basis:
    """Return the basis after one more hypothesis has split groups; `parents` has the old group of each new one."""
    upper, mass = basis.upper[parents], np.where(basis.upper[parents], bounds, 0.0)
    basic = basis.basic.copy()
    for place in np.flatnonzero(basic >= 0).tolist():
        parent = int(basic[place])
        first, last = np.searchsorted(parents, [parent, parent + 1])
        held = float(basis.mass[parent])
        # The first half takes the mass up to its bound, so that at most one half lies between its bounds and is basic.
        if last - first == 2 and held > bounds[first]:
            upper[first], mass[first] = True, bounds[first]
            held, first = held - bounds[first], first + 1
        basic[place], mass[first] = first, held
    return Basis(np.append(basic, -1 - len(basic)), upper, mass)


def restart(patterns: Array, bounds: Array, basis: Basis) -> tuple[Array, float, float, Basis] | None:
    """Find the optimal basis; return the weights of the vote, rho, the objective and the basis, or None on failure."""
    t = patterns.shape[1]
    basic, upper = basis.basic.copy(), basis.upper.copy()
    extra = _perturb_costs(basic, upper, t)
    inverse = np.empty((0, 0))
    # Pivots after one more hypothesis are few; a basis that needs more has lost its digits, and the caller solves anew.
    for step in range(200 + 20 * t):
        if step % _FRESH == 0:
            inverse = np.linalg.inv(_list_columns(patterns, basic))
        values = inverse @ _compute_right_sides(patterns, bounds, upper)
        low, high = _list_bounds(bounds, basic)
        short, over = low - values, values - high
        # The basic variable that violates its bounds most leaves (Dantzig's rule for the dual simplex method).
        row = int(np.argmax(np.maximum(short, over)))
        if max(short[row], over[row]) <= _FEASIBLE:
            return _read_solution(patterns, bounds, basic, upper)
        below = bool(short[row] >= over[row])
        entering = _choose_entering(patterns, bounds, basic, upper, extra, inverse, row, below)
        if entering is None:
            return None
        leaving = int(basic[row])
        if leaving >= 0:
            upper[leaving] = not below
        if entering >= 0:
            upper[entering] = False
        inverse = _pivot(inverse, inverse @ _make_column(patterns, entering), row)
        basic[row] = entering
    return None


def _make_column(patterns: Array, variable: int) -> Array:
    """Return the column of a variable in the equations."""
    t = patterns.shape[1]
    if variable >= 0:
        return np.append(patterns[variable], 1.0)
    column = np.zeros(t + 1)
    if variable == _Z:
        column[:t] = -1.0
    else:
        column[-2 - variable] = 1.0
    return column


def _list_columns(patterns: Array, basic: Array) -> Array:
    """Return the columns of the basic variables, as a square matrix."""
    return np.column_stack([_make_column(patterns, variable) for variable in basic.tolist()])


def _compute_right_sides(patterns: Array, bounds: Array, upper: Array) -> Array:
    """Return the right sides of the equations, minus the columns of masses at their upper bounds."""
    held = np.where(upper, bounds, 0.0) if upper.any() else np.zeros(len(bounds))
    return np.append(-(held @ patterns), 1.0 - held.sum())


def _list_bounds(bounds: Array, basic: Array) -> tuple[Array, Array]:
    """Return the lower and upper bounds of the basic variables."""
    low = np.where(basic == _Z, -np.inf, 0.0)
    return low, np.where(basic >= 0, bounds[np.maximum(basic, 0)], np.inf)


def _find_places(basic: Array, n_groups: int) -> Array:
    """Return the positions of the basic variables, without z, in the order of all masses, then all slacks."""
    return np.where(basic >= 0, basic, n_groups - 2 - basic)[basic != _Z]


def _perturb_costs(basic: Array, upper: Array, t: int) -> Array:
    """Return small costs that keep the basis dual feasible and break all ties, so that pivots cannot cycle.

    The fractional parts of multiples of the golden ratio are distinct and evenly spread.
    """
    n_groups = len(upper)
    spread = 1.0 + np.modf(np.arange(1, n_groups + t + 1) * 0.6180339887498949)[0]
    extra = _COST * np.where(np.concatenate([upper, np.zeros(t, dtype=bool)]), -spread, spread)
    extra[_find_places(basic, n_groups)] = 0.0
    return extra


def _choose_entering(
    patterns: Array, bounds: Array, basic: Array, upper: Array, extra: Array, inverse: Array, row: int, below: bool
) -> int | None:
    """Return the variable that replaces the basic one in `row`, or None; write the flipped bounds to `upper`."""
    n_groups, t = patterns.shape
    places = _find_places(basic, n_groups)
    # The objective is z: its cost is one, and every other variable has only its perturbation.
    basic_cost = np.ones(t + 1)
    basic_cost[basic != _Z] = extra[places]
    price = basic_cost @ inverse
    line = inverse[row] if below else -inverse[row]
    # For masses, then slacks: reduced costs, and entries of the pivot row. Candidates are variables whose move from
    # their bound brings the basic variable of the row back to its own bound.
    cost = np.abs(extra - np.concatenate([patterns @ price[:t] + price[t], price[:t]]))
    entry = np.concatenate([patterns @ line[:t] + line[t], line[:t]])
    entry[places] = 0.0
    sides = np.concatenate([upper, np.zeros(t, dtype=bool)])
    candidates = np.flatnonzero(np.where(sides, entry > _PIVOT, entry < -_PIVOT))
    size = np.abs(entry[candidates])
    # The ratio is the dual step at which the reduced cost of a candidate changes its sign.
    order = np.argsort(cost[candidates] / size, kind="stable")
    ranges = np.concatenate([bounds, np.full(t, np.inf)])[candidates[order]]
    value = float(inverse[row] @ _compute_right_sides(patterns, bounds, upper))
    # Lower bounds are zero, except that of z, which is never outside its bounds.
    short = -value if below else value - float(bounds[basic[row]])
    # Variables whose whole range does not suffice are flipped to their other bound; the next one enters.
    # Where nu is 1 all masses together just reach their sum, to rounding.
    enough = np.flatnonzero(np.cumsum(size[order] * ranges) >= short - _FEASIBLE)
    if not len(enough):
        return None
    flipped = candidates[order[: enough[0]]]
    upper[flipped] = ~upper[flipped]
    chosen = int(candidates[order[enough[0]]])
    return chosen if chosen < n_groups else n_groups - 2 - chosen


def _pivot(inverse: Array, column: Array, row: int) -> Array:
    """Return the inverse of the basis after the variable of `column` has replaced the one in `row`."""
    # Gauss-Jordan elimination of the new column: O(t^2) instead of O(t^3) for a new inverse.
    line = inverse[row] / column[row]
    inverse = inverse - np.outer(column, line)
    inverse[row] = line
    return inverse


def _read_solution(
    patterns: Array, bounds: Array, basic: Array, upper: Array
) -> tuple[Array, float, float, Basis] | None:
    """Return the solution of a basis, from a fresh inverse; None where the basis is not optimal after all."""
    t = patterns.shape[1]
    inverse = np.linalg.inv(_list_columns(patterns, basic))
    values = inverse @ _compute_right_sides(patterns, bounds, upper)
    place = int(np.flatnonzero(basic == _Z)[0])
    # The cost vector is the unit vector of z, so that the dual solution is its row of the inverse.
    weights, margin = -inverse[place, :t], float(inverse[place, t])
    mass = np.where(upper, bounds, 0.0)
    mass[basic[basic >= 0]] = values[basic >= 0]
    reduced = patterns @ weights - margin
    # Optimal means: the reduced cost is not negative at a lower bound and not positive at an upper bound.
    wrong = np.where(upper, reduced, -reduced)
    wrong[basic[basic >= 0]] = 0.0
    outside = np.maximum(mass - bounds, -mass)
    if wrong.max() > _VIOLATION or weights.min() < -_VIOLATION or outside.max() > _VIOLATION:
        return None
    weights = np.maximum(weights, 0.0)
    return weights / weights.sum(), margin, float(values[place]), Basis(basic, upper, np.clip(mass, 0.0, bounds))
