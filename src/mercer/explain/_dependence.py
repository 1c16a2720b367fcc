"""How an answer changes with a column: partial dependence, accumulated local effects, and strengths of interactions."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import norm

from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.explain._outputs import check_fitted, list_kinds, open_outputs
from mercer.explain._rows import Mixer, Table, find_column

KINDS = ("partial", "accumulated")


@dataclass(frozen=True, eq=False)
class Dependence:
    """How the mean answer changes with a column.

    Attributes
    ----------
    column : str
    kind : str
        "partial" or "accumulated".
    grid : ndarray of shape (g,)
        Values of the column.
    mean, low, high : ndarray of shape (g,) or (g, n_outputs)
        The mean answer, or for accumulated effects its change, and its band.
    curves : ndarray of shape (n, g) or (n, g, n_outputs), or None
        Partial: the answers to each row with the column set to each value (individual conditional expectations).
    output : str
    coverage : float
        The probability with which the band holds the truth, at each point.
    """

    column: str
    kind: str
    grid: Array
    mean: Array
    low: Array
    high: Array
    curves: Array | None
    output: str
    coverage: float


def dependence(
    model: Any,
    X: Any,
    column: Any,
    *,
    kind: str = "partial",
    output: str = "auto",
    grid: Any = 20,
    coverage: float = 0.95,
) -> Dependence:
    """Measure how a model's mean answer changes with one column.

    Partial dependence sets the column to each value of a grid in all rows. Accumulated local effects move rows within
    narrow intervals of the column only, and add the mean changes up: they ask the model about rows near those that
    exist, and so stay right where columns depend on each other. Their mean over the rows is zero.

    Parameters
    ----------
    model : estimator or callable
        A fitted model, or a function from rows to numbers.
    X : {array-like, DataFrame} of shape (n, d)
        Rows over which the mean is taken.
    column : int or str
        The column, by number or name; of numbers.
    kind : {"partial", "accumulated"}, default="partial"
        What is measured.
    output : {"auto", "probability", "score", "prediction"}, default="auto"
        As in :func:`shapley`; "auto" takes the first that the model has.
    grid : int or array-like, default=20
        Values of the column, or how many of its quantiles.
    coverage : float, default=0.95
        The probability of the band, for the mean over new rows like these.

    Returns
    -------
    Dependence

    References
    ----------
    J. H. Friedman, Greedy function approximation: a gradient boosting machine, 2001.
    D. W. Apley and J. Zhu, Visualizing the effects of predictor variables in black box supervised learning models,
    2020.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import dependence
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> found = dependence(lambda rows: rows[:, 0] ** 2 + rows[:, 1], X, 0, kind="accumulated", grid=[0.0, 0.5, 1.0])
    >>> (found.mean - found.mean[0]).round(6).tolist()
    [0.0, 0.25, 1.0]
    """
    check_fitted("dependence", model)
    if kind not in KINDS:
        raise ParameterError(f"dependence: kind must be one of {list(KINDS)}; got {kind!r}.")
    if not 0.0 < coverage < 1.0:
        raise ParameterError(f"dependence: coverage must be in (0, 1); got {coverage!r}.")
    rows = Table.read("dependence", X, model)
    place = find_column("dependence", column, rows.names)
    held = _read_column(rows, place)
    points = _choose_grid(held, grid)
    outputs = open_outputs(model, list_kinds(model, output)[0], rows.take(np.arange(min(2, len(rows)))).rows)
    measure = _measure_partial if kind == "partial" else _measure_local
    mean, errors, curves = measure(outputs.ask, rows, place, held, points)
    reach = norm.ppf((1.0 + coverage) / 2.0) * errors
    if outputs.is_flat:
        mean, reach = mean[:, 0], reach[:, 0]
        curves = None if curves is None else curves[..., 0]
    return Dependence(rows.names[place], kind, points, mean, mean - reach, mean + reach, curves, outputs.kind, coverage)


def _read_column(rows: Table, place: int) -> Array:
    values = rows.rows.iloc[:, place] if rows.is_frame else rows.rows[:, place]
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"dependence: a column of numbers is needed; {rows.names[place]!r} has others. Choose another one."
        ) from None


def _choose_grid(held: Array, grid: Any) -> Array:
    known = held[np.isfinite(held)]
    if isinstance(grid, int | np.integer):
        if grid < 2:
            raise ParameterError(f"dependence: grid must have 2 values or more; got {grid!r}.")
        points = np.unique(np.quantile(known, np.linspace(0.0, 1.0, grid), method="nearest")) if len(known) else known
    else:
        points = np.unique(np.asarray(grid, np.float64))
    if len(points) < 2 or not np.isfinite(points).all():
        raise DataError(f"dependence: the grid must have 2 different finite values or more; got {points.tolist()}.")
    return np.asarray(points)


def _set_column(rows: Table, place: int, values: Array) -> Any:
    """Return rows with the values (n,) in one column."""
    if rows.is_frame:
        return rows.rows.assign(**{rows.rows.columns[place]: values})
    changed = np.array(rows.rows, np.result_type(rows.rows, np.float64))
    changed[:, place] = values
    return changed


def _measure_partial(ask: Any, rows: Table, place: int, held: Array, points: Array) -> tuple[Array, Array, Array]:
    """Return the mean answers (g, k), their standard errors, and the answers (n, g, k) of each row."""
    curves = np.stack([ask(_set_column(rows, place, np.full(len(rows), point))) for point in points], axis=1)
    errors = curves.std(axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.full(curves.shape[1:], np.inf)
    return curves.mean(axis=0), errors, curves


def _measure_local(ask: Any, rows: Table, place: int, held: Array, points: Array) -> tuple[Array, Array, None]:
    """Return the accumulated mean changes (g, k), centred, and their standard errors."""
    cell = np.clip(np.searchsorted(points, held, side="left") - 1, 0, len(points) - 2)
    inside = np.isfinite(held) & (held >= points[0]) & (held <= points[-1])
    changes = ask(_set_column(rows, place, points[cell + 1])) - ask(_set_column(rows, place, points[cell]))
    cells, k = len(points) - 1, changes.shape[1]
    steps, variances, counts = np.zeros((cells, k)), np.zeros((cells, k)), np.bincount(cell[inside], minlength=cells)
    for number in range(cells):
        own = changes[inside & (cell == number)]
        if len(own):
            steps[number] = own.mean(axis=0)
        # One row tells no spread: its cell takes that of all changes.
        spread = own if len(own) > 1 else changes[inside]
        variances[number] = spread.var(axis=0, ddof=1) / max(len(own), 1) if len(spread) > 1 else np.inf
    # The curve is a linear map of the mean changes: add up, and take off the mean over rows, half way through cells.
    add = np.tri(cells + 1, cells, -1)
    weights = counts / max(int(counts.sum()), 1)
    centred = add - weights @ (add[:-1] + add[1:]) / 2.0
    return centred @ steps, np.sqrt(centred**2 @ variances), None


@dataclass(frozen=True, eq=False)
class InteractionStrengths:
    """Friedman's H for pairs of columns.

    Attributes
    ----------
    names : list of str
    pairs : list of pairs of int
    values : ndarray of shape (pairs,)
        H squared: the share of the variance of two columns' joint effect that is no sum of their single effects.
    errors : ndarray of shape (pairs,)
        Standard errors, by leaving out one row at a time.
    """

    names: list[str]
    pairs: list[tuple[int, int]]
    values: Array
    errors: Array


def interaction_strengths(
    model: Any, X: Any, columns: Any = None, *, output: str = "auto", n_rows: int = 100, random_state: Any = None
) -> InteractionStrengths:
    """Measure how much pairs of columns act together: Friedman's H statistics, from 0 for sums to 1.

    Parameters
    ----------
    model : estimator or callable
        A fitted model, or a function from rows to numbers, with one output.
    X : {array-like, DataFrame} of shape (n, d)
        Rows.
    columns : list or None, default=None
        Columns whose pairs are tried; None means all.
    output : {"auto", "probability", "score", "prediction"}, default="auto"
        As in :func:`dependence`; of two probabilities the second is taken.
    n_rows : int, default=100
        Most rows that are taken: the model is asked about their square, for each column and pair.
    random_state : int, Generator or None, default=None
        Draws the rows.

    Returns
    -------
    InteractionStrengths

    References
    ----------
    J. H. Friedman and B. E. Popescu, Predictive learning via rule ensembles, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import interaction_strengths
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> found = interaction_strengths(lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2], X)
    >>> found.pairs[int(found.values.argmax())]
    (0, 1)
    """
    check_fitted("interaction_strengths", model)
    rows = Table.read("interaction_strengths", X, model)
    rng = np.random.default_rng(random_state)
    if len(rows) > n_rows:
        rows = rows.take(np.sort(rng.permutation(len(rows))[:n_rows]))
    chosen = [find_column("interaction_strengths", one, rows.names) for one in (columns or range(rows.n_columns))]
    outputs = open_outputs(model, list_kinds(model, output)[0], rows.take(np.arange(min(2, len(rows)))).rows)
    mixer, n = Mixer(rows, rows), len(rows)

    def average(known: tuple[int, ...]) -> Array:
        """Return the mean answer (n,) over all rows with the known columns of each row, centred."""
        mask = np.zeros((n * n, rows.n_columns), bool)
        mask[:, list(known)] = True
        answers = outputs.ask(mixer.mix(np.repeat(np.arange(n), n), np.tile(np.arange(n), n), mask))
        if answers.shape[1] > 2:
            raise DataError(f"interaction_strengths: one output is measured; the model has {answers.shape[1]}.")
        means = answers[:, -1].reshape(n, n).mean(axis=1)
        return np.asarray(means - means.mean())

    single = {j: average((j,)) for j in chosen}
    pairs = list(combinations(chosen, 2))
    found = [_find_strength(average(pair), single[pair[0]] + single[pair[1]]) for pair in pairs]
    values, errors = np.array(found).reshape(-1, 2).T
    return InteractionStrengths(rows.names, pairs, values, errors)


def _find_strength(joint: Array, summed: Array) -> tuple[float, float]:
    """Return the share of the joint effect's variance that sums leave, and its jackknife error."""
    part, whole = (joint - summed) ** 2, joint**2
    if whole.sum() <= 0.0:
        return 0.0, 0.0
    value = float(part.sum() / whole.sum())
    left = (part.sum() - part) / np.maximum(whole.sum() - whole, np.finfo(float).tiny)
    n = len(joint)
    return value, float(np.sqrt((n - 1.0) / n * np.sum((left - left.mean()) ** 2)))
