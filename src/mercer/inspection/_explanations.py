"""Pictures of explanations: how columns lead from the base value to an answer, for one row and for all."""

from typing import Any

import numpy as np

from mercer.errors import DataError, ParameterError
from mercer.inspection._display import Display, draws

# Of what raises an answer: red, which everybody tells from blue.
_RAISES = "#c44e52"
# Of what lowers it.
_LOWERS = "#4c72b0"
# Points of a bee swarm share the height of a column among this many steps.
_STEPS = 60


class _RowDisplay(Display):
    """Base of pictures of one row: its columns by the size of their values, the small ones together."""

    def __init__(self, base: float, values: Any, names: Any, *, errors: Any = None, output: str = "") -> None:
        self.base, self.values, self.names = float(base), np.asarray(values, np.float64), list(names)
        self.errors = None if errors is None else np.asarray(errors, np.float64)
        self.output = output

    @classmethod
    def compute(cls, explanation: Any, row: int = 0, *, max_columns: int = 10) -> Any:
        """Choose what is shown of one row of an explanation, without drawing.

        Parameters
        ----------
        explanation : ShapleyValues
            Of one output, see :func:`mercer.explain.shapley`.
        row : int, default=0
            Which row.
        max_columns : int, default=10
            Columns that are shown by themselves; the others are shown as one.

        Returns
        -------
        display
        """
        one = _check_single(cls.__name__, explanation)
        values, data = one.values[row], one.data[row]
        errors = None if one.errors is None else one.errors[row]
        order = np.argsort(-np.abs(values), kind="stable")
        shown, rest = order[:max_columns], order[max_columns:]
        if len(rest) == 1:
            shown, rest = order, order[:0]
        names = [f"{one.feature_names[j]} = {_print_value(data[j])}" for j in shown]
        values_shown, errors_shown = values[shown], None if errors is None else errors[shown]
        if len(rest):
            names.append(f"{len(rest)} others")
            values_shown = np.append(values_shown, values[rest].sum())
            # Orders are shared by all columns: the sum of errors bounds the error of the sum.
            errors_shown = None if errors is None else np.append(errors[shown], errors[rest].sum())
        return cls(one.base_values[row], values_shown, names, errors=errors_shown, output=one.output)

    from_explanation = draws(compute)


class WaterfallDisplay(_RowDisplay):
    """How the values of one row's columns lead step by step from the base value to the answer.

    Parameters
    ----------
    base : float
        The answer that is expected where no column is known.
    values : array-like of shape (k,)
        What each column adds, in the order from top to bottom.
    names : list of str
        Of the columns, with what they hold.
    errors : array-like of shape (k,) or None, default=None
        Standard errors, drawn as whiskers.
    output : str, default=""
        What is explained.

    Attributes
    ----------
    bars_ : matplotlib container
        The steps.

    Examples
    --------
    >>> from mercer.inspection import WaterfallDisplay
    >>> WaterfallDisplay(1.0, [0.5, -0.2], ["age = 40", "rooms = 2"]).ends.round(2).tolist()
    [1.0, 1.5, 1.3]
    """

    artist = "barh"

    @property
    def ends(self) -> np.ndarray:
        """The answer before the first column and after each one."""
        return self.base + np.concatenate([[0.0], np.cumsum(self.values)])

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        places = np.arange(len(self.values))
        colours = [_RAISES if value > 0 else _LOWERS for value in self.values]
        options = {"color": colours, "xerr": self.errors, "height": 0.7} | kwargs
        self.bars_ = ax.barh(places, self.values, left=self.ends[:-1], **options)
        ax.bar_label(self.bars_, [f"{value:+.3g}" for value in self.values], padding=3)
        for end, place in zip(self.ends[1:-1], places):
            ax.plot([end, end], [place, place + 1], color="0.6", linewidth=0.8)
        ax.axvline(self.base, color="0.6", linestyle=":", linewidth=1)
        ax.set_yticks(places, self.names)
        ax.invert_yaxis()
        ax.margins(x=0.15)
        ax.set(xlabel=self.output, title=f"from {self.base:.4g} to {self.ends[-1]:.4g}")


class ForceDisplay(_RowDisplay):
    """The values of one row's columns as forces on a line: those that raise the answer against those that lower it.

    Parameters
    ----------
    base : float
        The answer that is expected where no column is known.
    values : array-like of shape (k,)
        What each column adds.
    names : list of str
        Of the columns, with what they hold.
    errors : array-like of shape (k,) or None, default=None
        Standard errors; they are not drawn.
    output : str, default=""
        What is explained.

    Attributes
    ----------
    bars_ : list of matplotlib artists
        One for each column.

    Examples
    --------
    >>> from mercer.inspection import ForceDisplay
    >>> ForceDisplay(1.0, [0.5, -0.2], ["age = 40", "rooms = 2"]).answer
    1.3
    """

    artist = "barh"

    @property
    def answer(self) -> float:
        """The answer of the model."""
        return float(self.base + self.values.sum())

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.bars_ = []
        for sign, colour in ((1, _RAISES), (-1, _LOWERS)):
            # The largest force acts next to the answer; raising ones come from below it, lowering ones from above.
            end = self.answer
            for level, j in enumerate(j for j in np.argsort(-np.abs(self.values)) if sign * self.values[j] > 0):
                width = self.values[j]
                options = {"color": colour, "edgecolor": "white", "height": 0.5} | kwargs
                self.bars_.extend(ax.barh(0, width, left=end - width, **options))
                side = (-0.45 - 0.16 * (level % 3), "top") if sign > 0 else (0.45 + 0.16 * (level % 3), "bottom")
                style = {"ha": "center", "va": side[1], "fontsize": "small", "color": colour}
                ax.text(end - width / 2, side[0], self.names[j], **style)
                end -= width
        for value, text in ((self.base, f"base {self.base:.4g}"), (self.answer, f"answer {self.answer:.4g}")):
            ax.axvline(value, color="0.3", linestyle=":", linewidth=1)
            ax.text(value, 0.98, text, transform=ax.get_xaxis_transform(), ha="center", va="top", fontsize="small")
        ax.set(ylim=(-1.2, 1.4), yticks=[], xlabel=self.output)


class BeeswarmDisplay(Display):
    """The values of all rows, column by column: a point for each row, coloured by what the column holds.

    Parameters
    ----------
    values : array-like of shape (n, k)
        Values of the rows.
    data : array-like of shape (n, k)
        What the columns hold; NaN and texts are grey.
    names : list of str
        Of the columns, from top to bottom.
    output : str, default=""
        What is explained.

    Attributes
    ----------
    points_ : list of matplotlib artists
        The points of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import shapley
    >>> from mercer.inspection import BeeswarmDisplay
    >>> from mercer.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> found = shapley(LinearRegression().fit(X, X @ [1.0, 5.0, 0.1]), X)
    >>> BeeswarmDisplay.compute(found).names
    ['x1', 'x0', 'x2']
    """

    artist = "scatter"

    def __init__(self, values: Any, data: Any, names: Any, *, output: str = "") -> None:
        self.values, self.data, self.names = np.asarray(values, np.float64), np.asarray(data), list(names)
        self.output = output

    @classmethod
    def compute(cls, explanation: Any, *, max_columns: int = 12) -> "BeeswarmDisplay":
        """Choose the columns with the largest mean absolute values, without drawing.

        Parameters
        ----------
        explanation : ShapleyValues
            Of one output, see :func:`mercer.explain.shapley`.
        max_columns : int, default=12
            Columns that are shown.

        Returns
        -------
        BeeswarmDisplay
        """
        one = _check_single(cls.__name__, explanation)
        order = np.argsort(-one.importances, kind="stable")[:max_columns]
        return cls(one.values[:, order], one.data[:, order], [one.feature_names[j] for j in order], output=one.output)

    from_explanation = draws(compute)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        span = float(np.ptp(self.values)) or 1.0
        self.points_ = []
        for place, values in enumerate(self.values.T):
            options = {"c": _rank(self.data[:, place]), "cmap": "viridis", "s": 12, "vmin": 0, "vmax": 1} | kwargs
            heights = place + _spread(values, span)
            self.points_.append(ax.scatter(values, heights, **options))
        ax.axvline(0.0, color="0.6", linewidth=0.8)
        ax.set_yticks(np.arange(len(self.names)), self.names)
        ax.invert_yaxis()
        ax.set(xlabel=f"Shapley value ({self.output})" if self.output else "Shapley value")
        if self.points_:
            bar = ax.figure.colorbar(self.points_[0], ax=ax, ticks=[0, 1])
            bar.set_ticklabels(["low", "high"])
            bar.set_label("what the column holds")


class ShapleyDependenceDisplay(Display):
    """The Shapley values of one column against what it holds, coloured by the column that it interacts with most.

    Parameters
    ----------
    x, values : array-like of shape (n,)
        What the column holds, and its values.
    name : str
        Of the column.
    colour : array-like of shape (n,) or None, default=None
        What another column holds.
    colour_name : str, default=""
        Of that column.
    errors : array-like of shape (n,) or None, default=None
        Standard errors, drawn as whiskers.

    Attributes
    ----------
    points_ : matplotlib artist
        The points.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.ensemble import RandomForestRegressor
    >>> from mercer.explain import shapley
    >>> from mercer.inspection import ShapleyDependenceDisplay
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> model = RandomForestRegressor(20, random_state=0).fit(X, X[:, 0] * X[:, 2] + X[:, 1])
    >>> ShapleyDependenceDisplay.compute(shapley(model, X), 0).colour_name
    'x2'
    """

    artist = "scatter"

    def __init__(
        self, x: Any, values: Any, name: str, *, colour: Any = None, colour_name: str = "", errors: Any = None
    ) -> None:
        self.x, self.values, self.name = np.asarray(x), np.asarray(values, np.float64), name
        self.colour = None if colour is None else np.asarray(colour)
        self.colour_name, self.errors = colour_name, errors

    @classmethod
    def compute(cls, explanation: Any, column: Any, *, colour: Any = "auto") -> "ShapleyDependenceDisplay":
        """Choose the values of a column, without drawing.

        Parameters
        ----------
        explanation : ShapleyValues
            Of one output, see :func:`mercer.explain.shapley`.
        column : int or str
            The column, by number or name.
        colour : int, str, None or "auto", default="auto"
            The column that colours the points; "auto" takes the one that explains most of what the column's own value
            does not.

        Returns
        -------
        ShapleyDependenceDisplay
        """
        one = _check_single(cls.__name__, explanation)
        place = _find(cls.__name__, one, column)
        other = _find_interaction(one, place) if colour == "auto" else colour
        other = None if other is None else _find(cls.__name__, one, other)
        return cls(
            one.data[:, place],
            one.values[:, place],
            one.feature_names[place],
            colour=None if other is None else one.data[:, other],
            colour_name="" if other is None else one.feature_names[other],
            errors=None if one.errors is None else one.errors[:, place],
        )

    from_explanation = draws(compute)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        ranks = {} if self.colour is None else {"c": _rank(self.colour), "cmap": "viridis"}
        self.points_ = ax.scatter(self.x, self.values, **({"s": 14} | ranks | kwargs))
        if self.errors is not None:
            ax.errorbar(self.x, self.values, self.errors, fmt="none", ecolor="0.7", zorder=0)
        ax.axhline(0.0, color="0.6", linewidth=0.8)
        ax.set(xlabel=self.name, ylabel=f"Shapley value of {self.name}")
        if self.colour is not None:
            ax.figure.colorbar(self.points_, ax=ax, label=f"{self.colour_name} (rank)")


class DependenceDisplay(Display):
    """How the mean answer changes with a column, with its band, and the curves of single rows.

    Parameters
    ----------
    dependence : Dependence
        Of one output, see :func:`mercer.explain.dependence`.
    max_curves : int, default=50
        Most curves of single rows that are drawn.

    Attributes
    ----------
    line_, band_ : matplotlib artists
        The mean and its band.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import dependence
    >>> from mercer.inspection import DependenceDisplay
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> display = DependenceDisplay(dependence(lambda rows: rows[:, 0] * rows[:, 1], X, 0, grid=5))
    >>> display.mean.shape
    (5,)
    """

    def __init__(self, dependence: Any, *, max_curves: int = 50) -> None:
        if dependence.mean.ndim != 1:
            raise DataError(
                f"DependenceDisplay: a picture shows one output; there are {dependence.mean.shape[1]}. Explain a "
                f"function of rows that returns one."
            )
        self.name, self.kind, self.output = dependence.column, dependence.kind, dependence.output
        self.grid, self.mean = dependence.grid, dependence.mean
        self.low, self.high, self.coverage = dependence.low, dependence.high, dependence.coverage
        curves = dependence.curves
        # Evenly spread over the rows, so that the same ones are drawn each time.
        if curves is not None and len(curves) > max_curves:
            curves = curves[np.linspace(0, len(curves) - 1, max_curves).astype(int)]
        self.curves = curves

    from_dependence = draws(__init__)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        if self.curves is not None and len(self.curves):
            ax.plot(self.grid, self.curves.T, color="0.8", linewidth=0.6, zorder=1)
        label = f"{self.coverage:.0%} band"
        self.band_ = ax.fill_between(self.grid, self.low, self.high, color=_LOWERS, alpha=0.25, label=label, zorder=2)
        (self.line_,) = ax.plot(self.grid, self.mean, **({"color": _LOWERS, "zorder": 3} | kwargs))
        effect = "accumulated effect on" if self.kind == "accumulated" else "mean"
        ax.set(xlabel=self.name, ylabel=f"{effect} {self.output}")
        ax.legend()


class ImportanceDisplay(Display):
    """What a loss grows by where columns are shuffled, with intervals.

    Parameters
    ----------
    importances : Importances
        See :func:`mercer.explain.column_importance`.
    max_columns : int, default=15
        Columns that are shown, the most important ones.

    Attributes
    ----------
    bars_ : matplotlib container
        The points with their intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import column_importance
    >>> from mercer.inspection import ImportanceDisplay
    >>> from mercer.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = LinearRegression().fit(X, X[:, 2])
    >>> ImportanceDisplay(column_importance(model, X, X[:, 2], random_state=0)).names[0]
    'x2'
    """

    artist = "errorbar"

    def __init__(self, importances: Any, *, max_columns: int = 15) -> None:
        order = np.argsort(-importances.values, kind="stable")[:max_columns]
        self.names = [importances.names[j] for j in order]
        self.values, self.low, self.high = (getattr(importances, name)[order] for name in ("values", "low", "high"))
        self.coverage = importances.coverage

    from_importances = draws(__init__)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        places = np.arange(len(self.names))
        reach = np.stack([self.values - self.low, self.high - self.values])
        self.bars_ = ax.errorbar(self.values, places, xerr=reach, **({"fmt": "o", "color": _LOWERS} | kwargs))
        ax.axvline(0.0, color="0.6", linewidth=0.8)
        ax.set_yticks(places, self.names)
        ax.invert_yaxis()
        ax.set(xlabel=f"growth of the loss, with {self.coverage:.0%} intervals")


def _check_single(subject: str, explanation: Any) -> Any:
    """Return an explanation of one output without interactions; raise if it is none."""
    if not hasattr(explanation, "need_one_output"):
        raise DataError(f"{subject}: what is drawn must be ShapleyValues; got {explanation!r}. Call shapley first.")
    one = explanation.need_one_output()
    if one.values.ndim != 2:
        raise DataError(f"{subject}: values must be of single columns; got those of pairs. Drop interactions=True.")
    return one


def _find(subject: str, explanation: Any, column: Any) -> int:
    names = explanation.feature_names
    if column in names:
        return int(names.index(column))
    if isinstance(column, int | np.integer) and -len(names) <= column < len(names):
        return int(column) % len(names)
    raise ParameterError(f"{subject}: column must be one of {names} or a number below {len(names)}; got {column!r}.")


def _find_interaction(explanation: Any, place: int) -> int | None:
    """Return the column whose values go best with what is left of the values of a column in runs of like rows."""
    try:
        data = np.asarray(explanation.data, np.float64)
    except (TypeError, ValueError):
        return None
    n, d = data.shape
    order = np.argsort(data[:, place], kind="stable")
    found, best = None, 0.0
    runs = np.array_split(order, max(1, n // 20))
    for other in range(d):
        if other == place:
            continue
        total = 0.0
        for run in runs:
            values, held = explanation.values[run, place], data[run, other]
            spread = float(np.std(held))
            if spread > 0:
                # The standard deviation of the values that a line in the other column explains.
                total += abs(float(np.mean((values - values.mean()) * (held - held.mean())))) / spread
        if total > best:
            found, best = other, total
    return found


def _rank(held: np.ndarray) -> Any:
    """Return numbers between 0 and 1 that colour points; a colour alone for texts."""
    try:
        numbers = np.asarray(held, np.float64)
    except (TypeError, ValueError):
        return "0.6"
    _, place = np.unique(numbers, return_inverse=True)
    return place / max(int(place.max()), 1)


def _spread(values: np.ndarray, span: float) -> np.ndarray:
    """Return heights within a column's strip, so that points with like values stand above each other."""
    steps = np.floor((values - values.min()) / span * _STEPS).astype(int)
    heights = np.zeros(len(values))
    counts = np.bincount(steps)
    for step in np.flatnonzero(counts > 1).tolist():
        here = np.flatnonzero(steps == step)
        nth = np.arange(len(here))
        heights[here] = np.where(nth % 2 == 1, 1, -1) * ((nth + 1) // 2)
    return 0.42 * heights / max(1.0, float(np.abs(heights).max()))


def _print_value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
