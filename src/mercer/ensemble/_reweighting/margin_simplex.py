"""The margin program again after one more hypothesis: the dual simplex method from the basis that was best before.

    min z   over   A_k d - z + s_k = 0 for each hypothesis k,  sum d = 1,  0 <= d <= D,  s >= 0

A new hypothesis is a new row whose slack is negative: the old basis with that slack stays dual feasible, and a few
pivots mend it, where a solver that starts anew makes a thousand. Masses d with bounds that stand in the way of a long
step change sides without a pivot (the ratio test with flips of bounds). Groups of rows that the new hypothesis parts
are two variables with the old one's place in the basis.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain

__all__ = ["Basis", "first_basis", "grown_basis", "restart"]

Array = Any
# A basic variable may be this far outside its bounds; masses sum to one.
_FEASIBLE = 1e-12
# The least pivot, and the pivots between two inversions of the basis.
_PIVOT, _FRESH = 1e-9, 25
# Costs that part ties; far below the tolerance of the answer.
_COST = 1e-10
# The basic variables that are not masses: z, and slacks from the next number down.
_Z = -1


@plain
@dataclass(frozen=True)
class Basis:
    """Which variables are basic, which masses are at their upper bounds, and the masses.

    ``basic`` has one number for each row: a group, -1 for z, or -2 - k for the slack of hypothesis k.
    """

    basic: Any
    upper: Any
    mass: Any


def first_basis(pattern: Array, bounds: Array) -> Basis:
    """The best basis of one hypothesis: mass on the groups that it is most wrong about, as far as bounds allow."""
    order, left = np.argsort(pattern, kind="stable"), 1.0
    mass, upper = np.zeros(len(pattern)), np.zeros(len(pattern), dtype=bool)
    for group in order.tolist():
        if bounds[group] >= left:
            mass[group] = left
            return Basis(np.array([group, _Z]), upper, mass)
        mass[group], upper[group] = bounds[group], True
        left -= bounds[group]
    upper[group] = False
    return Basis(np.array([group, _Z]), upper, mass)


def grown_basis(basis: Basis, parents: Array, bounds: Array) -> Basis:
    """The basis after one more hypothesis has parted the groups; `parents` has the old group of each new one."""
    upper, mass = basis.upper[parents], np.where(basis.upper[parents], bounds, 0.0)
    basic = basis.basic.copy()
    for place in np.flatnonzero(basic >= 0).tolist():
        parent = int(basic[place])
        first, last = np.searchsorted(parents, [parent, parent + 1])
        held = float(basis.mass[parent])
        if last - first == 2 and held > bounds[first]:
            upper[first], mass[first] = True, bounds[first]
            held, first = held - bounds[first], first + 1
        basic[place], mass[first] = first, held
    return Basis(np.append(basic, -1 - len(basic)), upper, mass)


def restart(patterns: Array, bounds: Array, basis: Basis) -> tuple[Array, float, float, Basis] | None:
    """Pivot to the best basis: the weights of the vote, rho, the objective, and the basis; None without success."""
    t = patterns.shape[1]
    basic, upper = basis.basic.copy(), basis.upper.copy()
    extra = _perturbation(basic, upper, t)
    inverse = np.empty((0, 0))
    for number in range(200 + 20 * t):
        if number % _FRESH == 0:
            inverse = np.linalg.inv(_columns(patterns, basic))
        values = inverse @ _right(patterns, bounds, upper)
        low, high = _limits(bounds, basic)
        short, over = low - values, values - high
        row = int(np.argmax(np.maximum(short, over)))
        if max(short[row], over[row]) <= _FEASIBLE:
            return _solution(patterns, bounds, basic, upper)
        below = bool(short[row] >= over[row])
        entering = _entering(patterns, bounds, basic, upper, extra, inverse, row, below)
        if entering is None:
            return None
        leaving = int(basic[row])
        if leaving >= 0:
            upper[leaving] = not below
        if entering >= 0:
            upper[entering] = False
        inverse = _pivoted(inverse, inverse @ _column(patterns, entering), row)
        basic[row] = entering
    return None


def _column(patterns: Array, number: int) -> Array:
    """The column of a variable in the equations."""
    t = patterns.shape[1]
    if number >= 0:
        return np.append(patterns[number], 1.0)
    column = np.zeros(t + 1)
    if number == _Z:
        column[:t] = -1.0
    else:
        column[-2 - number] = 1.0
    return column


def _columns(patterns: Array, basic: Array) -> Array:
    return np.column_stack([_column(patterns, number) for number in basic.tolist()])


def _right(patterns: Array, bounds: Array, upper: Array) -> Array:
    """The right sides, less what the masses at their upper bounds take."""
    held = np.where(upper, bounds, 0.0) if upper.any() else np.zeros(len(bounds))
    return np.append(-(held @ patterns), 1.0 - held.sum())


def _limits(bounds: Array, basic: Array) -> tuple[Array, Array]:
    low = np.where(basic == _Z, -np.inf, 0.0)
    return low, np.where(basic >= 0, bounds[np.maximum(basic, 0)], np.inf)


def _places(basic: Array, n_groups: int) -> Array:
    """Where the basic variables but z are among masses, then slacks."""
    return np.where(basic >= 0, basic, n_groups - 2 - basic)[basic != _Z]


def _perturbation(basic: Array, upper: Array, t: int) -> Array:
    """Small costs that keep the basis dual feasible and let no two variables tie, lest pivots go round in circles.

    Multiples of the golden ratio, less whole numbers, are spread evenly and differ all.
    """
    n_groups = len(upper)
    spread = 1.0 + np.modf(np.arange(1, n_groups + t + 1) * 0.6180339887498949)[0]
    extra = _COST * np.where(np.concatenate([upper, np.zeros(t, dtype=bool)]), -spread, spread)
    extra[_places(basic, n_groups)] = 0.0
    return extra


def _entering(
    patterns: Array, bounds: Array, basic: Array, upper: Array, extra: Array, inverse: Array, row: int, below: bool
) -> int | None:
    """The variable that takes the place of the basic one in `row`; bounds that a long step passes are flipped."""
    n_groups, t = patterns.shape
    places = _places(basic, n_groups)
    basic_cost = np.ones(t + 1)
    basic_cost[basic != _Z] = extra[places]
    price = basic_cost @ inverse
    line = inverse[row] if below else -inverse[row]
    # Masses, then slacks: reduced costs, entries of the row, and which may move so that the basic variable does.
    cost = np.abs(extra - np.concatenate([patterns @ price[:t] + price[t], price[:t]]))
    entry = np.concatenate([patterns @ line[:t] + line[t], line[:t]])
    entry[places] = 0.0
    sides = np.concatenate([upper, np.zeros(t, dtype=bool)])
    candidates = np.flatnonzero(np.where(sides, entry > _PIVOT, entry < -_PIVOT))
    size = np.abs(entry[candidates])
    order = np.argsort(cost[candidates] / size, kind="stable")
    ranges = np.concatenate([bounds, np.full(t, np.inf)])[candidates[order]]
    value = float(inverse[row] @ _right(patterns, bounds, upper))
    short = -value if below else value - float(bounds[basic[row]])
    enough = np.flatnonzero(np.cumsum(size[order] * ranges) >= short)
    if not len(enough):
        return None
    flipped = candidates[order[: enough[0]]]
    upper[flipped] = ~upper[flipped]
    chosen = int(candidates[order[enough[0]]])
    return chosen if chosen < n_groups else n_groups - 2 - chosen


def _pivoted(inverse: Array, column: Array, row: int) -> Array:
    """The inverse after the variable of `column` has taken the place of the one in `row`."""
    line = inverse[row] / column[row]
    inverse = inverse - np.outer(column, line)
    inverse[row] = line
    return inverse


def _solution(patterns: Array, bounds: Array, basic: Array, upper: Array) -> tuple[Array, float, float, Basis] | None:
    """What a basis means, from a fresh inverse; None where the basis is not the best after all."""
    t = patterns.shape[1]
    inverse = np.linalg.inv(_columns(patterns, basic))
    values = inverse @ _right(patterns, bounds, upper)
    place = int(np.flatnonzero(basic == _Z)[0])
    weights, margin = -inverse[place, :t], float(inverse[place, t])
    mass = np.where(upper, bounds, 0.0)
    mass[basic[basic >= 0]] = values[basic >= 0]
    reduced = patterns @ weights - margin
    wrong = np.where(upper, reduced, -reduced)
    wrong[basic[basic >= 0]] = 0.0
    if wrong.max() > 1e-9 or weights.min() < -1e-9 or (mass - bounds).max() > 1e-9 or mass.min() < -1e-9:
        return None
    weights = np.maximum(weights, 0.0)
    return weights / weights.sum(), margin, float(values[place]), Basis(basic, upper, np.clip(mass, 0.0, bounds))
