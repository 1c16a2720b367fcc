"""Small changes of a row that change a model's answer, within what may be changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.explain._outputs import check_fitted
from mercer.explain._rows import Table, find_column

# Halvings of a change while the answer stays as it is wanted.
_HALVINGS = 20


@dataclass(frozen=True, eq=False)
class Counterfactuals:
    """Rows like one row, with another answer.

    Attributes
    ----------
    rows : ndarray of shape (k, d)
        The changed rows, the nearest first.
    changes : ndarray of shape (k, d)
        Their differences from the row.
    distances : ndarray of shape (k,)
        Sums over columns of the change in units of the column's median absolute deviation.
    predictions : ndarray of shape (k,)
        The model's answers.
    names : list of str
    """

    rows: Array
    changes: Array
    distances: Array
    predictions: Array
    names: list[str]

    def __str__(self) -> str:
        lines = []
        for row, change, answer in zip(self.rows, self.changes, self.predictions):
            changed = ", ".join(f"{self.names[j]} = {row[j]:.4g} ({change[j]:+.3g})" for j in np.flatnonzero(change))
            lines.append(f"{answer}: {changed}")
        return "\n".join(lines)


def find_counterfactuals(
    model: Any,
    row: Any,
    X: Any,
    target: Any,
    *,
    fixed: Any = (),
    ranges: Mapping[Any, tuple[float, float]] | None = None,
    directions: Mapping[Any, int] | None = None,
    n_found: int = 3,
) -> Counterfactuals:
    """Find small changes of a row to which a model answers as wanted.

    Rows of `X` with the wanted answer show where to go. From each of the nearest, columns go back to the row's own
    values one by one, the largest change first, and what is left is halved, as long as the answer stays as wanted.

    Parameters
    ----------
    model : estimator or callable
        A fitted model, or a function from rows to answers.
    row : array-like of shape (d,)
        The row; of numbers.
    X : array-like of shape (n, d)
        Rows of the kind that is possible.
    target : label, pair of floats, or callable
        The wanted label, the ends of an interval of wanted numbers, or a function from answers to bools.
    fixed : list, default=()
        Columns that may not change, by number or name.
    ranges : dict of pairs, or None, default=None
        Between what values columns must stay.
    directions : dict of int, or None, default=None
        1 for columns that may only rise, -1 for those that may only fall.
    n_found : int, default=3
        Most rows that are returned.

    Returns
    -------
    Counterfactuals
        None of its rows breaks a rule, and the model answers to all as wanted. The changes are small, not the least.

    References
    ----------
    S. Wachter, B. Mittelstadt and C. Russell, Counterfactual explanations without opening the black box, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import find_counterfactuals
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(200, 2))
    >>> found = find_counterfactuals(lambda rows: rows[:, 0] > 5.0, [3.0, 1.0], X, True)
    >>> found.rows[0].round(3).tolist()
    [5.0, 1.0]
    """
    check_fitted("find_counterfactuals", model)
    table = Table.read("find_counterfactuals", X, model)
    others, own = table.to_floats("find_counterfactuals"), np.asarray(row, np.float64).ravel()
    if own.shape != (table.n_columns,):
        raise DataError(f"find_counterfactuals: row must have {table.n_columns} values; got {own.size}.")
    low, high = _read_limits(own, table.names, fixed, ranges, directions)
    answer = model.predict if hasattr(model, "predict") else model
    is_wanted = _read_target(target)

    def holds(rows: Array) -> Array:
        frame = rows
        if table.is_frame:
            frame = type(table.rows)(rows, columns=table.rows.columns)
        return is_wanted(np.asarray(answer(frame)))

    scale = np.median(np.abs(others - np.median(others, axis=0)), axis=0)
    spread = others.std(axis=0)
    scale = np.where(scale > 0, scale, np.where(spread > 0, spread, 1.0))
    moved = np.clip(others, low, high)
    moved = moved[holds(moved)]
    if not len(moved):
        raise DataError(
            "find_counterfactuals: no row of X has the wanted answer within the limits; give more rows, or wider "
            "limits."
        )
    order = np.argsort(np.abs((moved - own) / scale).sum(axis=1), kind="stable")
    found = np.array([_shrink(moved[i], own, scale, holds) for i in order[: 2 * n_found]])
    distances = np.abs((found - own) / scale).sum(axis=1)
    _, first = np.unique(found, axis=0, return_index=True)
    best = first[np.argsort(distances[first], kind="stable")][:n_found]
    frame = type(table.rows)(found[best], columns=table.rows.columns) if table.is_frame else found[best]
    return Counterfactuals(found[best], found[best] - own, distances[best], np.asarray(answer(frame)), table.names)


def _read_limits(own: Array, names: list[str], fixed: Any, ranges: Any, directions: Any) -> tuple[Array, Array]:
    """Return the least and the greatest values (d,) that columns may take."""
    low, high = np.full(len(own), -np.inf), np.full(len(own), np.inf)
    for name, (least, most) in (ranges or {}).items():
        place = find_column("find_counterfactuals", name, names)
        if not least <= most:
            raise ParameterError(f"find_counterfactuals: a range must rise; got {least!r} to {most!r} for {name!r}.")
        low[place], high[place] = least, most
    for name, direction in (directions or {}).items():
        place = find_column("find_counterfactuals", name, names)
        if direction not in (1, -1):
            raise ParameterError(f"find_counterfactuals: a direction must be 1 or -1; got {direction!r} for {name!r}.")
        bounds = low if direction == 1 else high
        bounds[place] = max(low[place], own[place]) if direction == 1 else min(high[place], own[place])
    for name in fixed:
        place = find_column("find_counterfactuals", name, names)
        low[place] = high[place] = own[place]
    if (low > high).any():
        wrong = names[int(np.argmax(low > high))]
        raise ParameterError(f"find_counterfactuals: the rules for {wrong!r} leave no value; widen its range.")
    return low, high


def _read_target(target: Any) -> Callable[[Array], Array]:
    if callable(target):
        return lambda answers: np.asarray(target(answers), bool)
    if isinstance(target, tuple) and len(target) == 2:
        return lambda answers: (answers >= target[0]) & (answers <= target[1])
    return lambda answers: np.asarray(answers == target)


def _shrink(moved: Array, own: Array, scale: Array, holds: Callable[[Array], Array]) -> Array:
    """Return a row between `moved` and `own`, nearer to the latter, whose answer is as wanted."""
    moved = moved.copy()
    for j in np.argsort(-np.abs((moved - own) / scale), kind="stable"):
        tried = moved.copy()
        tried[j] = own[j]
        if holds(tried[None])[0]:
            moved = tried
    for j in np.flatnonzero(moved != own):
        # Between a share of the change that is too small and one that is enough.
        least, most = 0.0, 1.0
        start, change = own[j], moved[j] - own[j]
        for _ in range(_HALVINGS):
            share = (least + most) / 2.0
            tried = moved.copy()
            tried[j] = start + share * change
            least, most = (least, share) if holds(tried[None])[0] else (share, most)
        moved[j] = start + most * change
    return moved
