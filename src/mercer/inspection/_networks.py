"""Pictures of neural networks: their units and weights, and sums of units that approximate a function."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.inspection._display import Display, draws
from mercer.neural_network import UnitSum, approximate_by_cosines, approximate_by_units, unfold_estimator


class LayeredNetworkDisplay(Display):
    """A layered network: a column of units for each layer, and lines for the weights between neighbours.

    Parameters
    ----------
    sizes : sequence of int
        Units of each layer, the input first.
    weights : list of array-like of shape (sizes[l], sizes[l + 1]) or None, default=None
        Weights between neighbours: lines are red for positive ones, blue for negative ones, and as wide as they are
        large. None draws thin grey lines.
    dropped : list of sequences of int or None, default=None
        For each layer, the units that are dropped: they are crossed out and lose their lines.
    names : list of str or None, default=None
        Names of the layers.
    most_units : int, default=12
        Of larger layers only the first and last units are drawn, with dots between them.

    Attributes
    ----------
    nodes_ : list of tuple
        (layer, unit) of every unit that is drawn.
    edges_ : list of tuple
        ((layer, unit), (layer + 1, unit)) of every line.

    Examples
    --------
    >>> from mercer.inspection import LayeredNetworkDisplay
    >>> display = LayeredNetworkDisplay([3, 4, 2], dropped=[[], [1], []])
    >>> len(display.nodes_), len(display.edges_)
    (9, 15)
    """

    def __init__(
        self, sizes: Any, *, weights: Any = None, dropped: Any = None, names: Any = None, most_units: int = 12
    ) -> None:
        self.sizes = [int(size) for size in sizes]
        if len(self.sizes) < 2 or min(self.sizes) < 1:
            raise DataError(f"LayeredNetworkDisplay: sizes must be two or more positive integers; got {sizes!r}.")
        self.weights = None if weights is None else [np.asarray(part, dtype=np.float64) for part in weights]
        shapes = list(zip(self.sizes[:-1], self.sizes[1:], strict=True))
        if self.weights is not None and [part.shape for part in self.weights] != shapes:
            got = [part.shape for part in self.weights]
            raise DataError(f"LayeredNetworkDisplay: weights must have the shapes {shapes}; got {got}.")
        self.dropped = [set()] * len(self.sizes) if dropped is None else [set(units) for units in dropped]
        if len(self.dropped) != len(self.sizes):
            raise DataError(
                f"LayeredNetworkDisplay: dropped must list units for each of {len(self.sizes)} layers; got "
                f"{len(self.dropped)} lists."
            )
        self.names = names
        shown = [_choose_units(size, most_units) for size in self.sizes]
        self.nodes_ = [(layer, unit) for layer, units in enumerate(shown) for unit in units]
        self.edges_ = [
            ((layer, first), (layer + 1, second))
            for layer in range(len(shown) - 1)
            for first in shown[layer]
            for second in shown[layer + 1]
            if first not in self.dropped[layer] and second not in self.dropped[layer + 1]
        ]
        self._shown = shown

    @classmethod
    def compute(cls, network: Any, theta: Any = None, **options: Any) -> "LayeredNetworkDisplay":
        """Lay out the dense layers of a network, with their weights if `theta` is given, without drawing.

        Parameters
        ----------
        network : Network
            A chain with at least one Dense layer.
        theta : array of shape (n_weights,) or None, default=None
        **options : dict
            What the class takes.
        """
        dense = [node for node in network.nodes if type(node.layer).__name__ == "Dense" and len(node.shapes[0]) == 1]
        if not dense:
            raise DataError("LayeredNetworkDisplay: the network must have a Dense layer; got none.")
        sizes = [dense[0].shapes[0][0], *(node.layer.units for node in dense)]
        weights = None
        if theta is not None:
            parts = network.split(np.asarray(theta))
            weights = [parts[node.name]["W"] for node in dense]
        return cls(sizes, weights=weights, **options)

    from_network = draws(compute)

    @draws
    @classmethod
    def from_estimator(cls, model: Any, **options: Any) -> "LayeredNetworkDisplay":
        """Draw the dense layers of a fitted network with their weights.

        Parameters
        ----------
        model : MLPClassifier, MLPRegressor, Autoencoder or ConvClassifier
            A fitted estimator.
        **options : dict
            What the class takes.
        """
        case = unfold_estimator(model)
        return cls.compute(case.network, case.theta, **options)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        from matplotlib.patches import Circle

        places = self._place()
        largest = 1.0 if self.weights is None else max(float(np.abs(part).max()) for part in self.weights) or 1.0
        for start, end in self.edges_:
            width, color = 0.5, "0.7"
            if self.weights is not None:
                value = float(self.weights[start[0]][start[1], end[1]])
                width, color = 2.5 * abs(value) / largest, "tab:red" if value > 0 else "tab:blue"
            (x, y), (u, v) = places[start], places[end]
            ax.plot([x, u], [y, v], color=color, linewidth=width, zorder=1)
        for node, (x, y) in places.items():
            gone = node[1] in self.dropped[node[0]]
            options = {"radius": 0.28, "facecolor": "0.9" if gone else "white", "edgecolor": "black", "zorder": 2}
            ax.add_patch(Circle((x, y), **(options | kwargs)))
            if gone:
                ax.plot(x, y, "x", color="black", zorder=3)
        self._label(ax, places)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)

    def _place(self) -> dict[tuple[int, int], tuple[float, float]]:
        """Return where each unit stands: columns three apart, centred on one line."""
        places: dict[tuple[int, int], tuple[float, float]] = {}
        for layer, units in enumerate(self._shown):
            # A gap of one place stands for the units that are left out.
            rows = [row + (unit != row) for row, unit in enumerate(units)]
            middle = 0.5 * rows[-1]
            places |= {(layer, unit): (3.0 * layer, middle - row) for unit, row in zip(units, rows, strict=True)}
        return places

    def _label(self, ax: Any, places: dict[tuple[int, int], tuple[float, float]]) -> None:
        lowest = min(y for _, y in places.values())
        for layer, units in enumerate(self._shown):
            if len(units) < self.sizes[layer]:
                gap = next(row for row, unit in enumerate(units) if unit != row)
                above, below = places[layer, units[gap - 1]], places[layer, units[gap]]
                ax.text(above[0], 0.5 * (above[1] + below[1]), "⋮", ha="center", va="center")
            name = "" if self.names is None else f"{self.names[layer]}\n"
            ax.text(3.0 * layer, lowest - 0.6, f"{name}{self.sizes[layer]}", ha="center", va="top")


def _choose_units(size: int, most: int) -> list[int]:
    """Return the units of a layer that are drawn: all, or the first and last ones of a large layer."""
    if size <= most:
        return list(range(size))
    first = (most + 1) // 2
    return [*range(first), *range(size - most + first, size)]


# Points at which a function of one variable is drawn: a step of the finest sum is still several points wide.
_POINTS = 1001
# Points along each side of the unit square for a function of two variables.
_SIDE = 60


class ApproximationDisplay(Display):
    """A function beside sums of hidden units that approximate it, and the largest error by the number of units.

    Parameters
    ----------
    points : ndarray of shape (m,) or (m, 2)
        Where the function was evaluated.
    values : ndarray of shape (m,)
        The function there.
    sums : list of UnitSum
        The approximations, as :func:`mercer.neural_network.approximate_by_units` and
        :func:`mercer.neural_network.approximate_by_cosines` give them.

    Attributes
    ----------
    errors : ndarray of shape (len(sums),)
        The largest error of each sum at the points.
    n_units : ndarray of shape (len(sums),)
        The number of hidden units of each sum.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import ApproximationDisplay
    >>> display = ApproximationDisplay.compute(np.sin, [5, 50], high=3.0)
    >>> bool(display.errors[1] < 0.2 * display.errors[0])
    True
    """

    def __init__(self, points: Array, values: Array, sums: list[UnitSum]) -> None:
        self.points, self.values, self.sums = points, values, sums
        self.errors = np.array([np.abs(each(points) - values).max() for each in sums])
        self.n_units = np.array([len(each.outputs) for each in sums])

    @classmethod
    def compute(
        cls,
        function: Callable[[Array], Any],
        sizes: Sequence[int],
        *,
        kind: str = "step",
        low: float = 0.0,
        high: float = 1.0,
        steepness: float = 4.0,
    ) -> "ApproximationDisplay":
        """Approximate a function with several numbers of units, without drawing.

        Parameters
        ----------
        function : callable
            From an array of shape (m,) to one of the same shape; for cosines from points (m, 2) of the unit square to
            values (m,).
        sizes : sequence of int
            Numbers of pieces of the interval, or of frequencies along each axis for cosines.
        kind : {'step', 'sigmoid', 'cosine'}, default='step'
        low, high : float, default=0 and 1
            The interval, for steps and sigmoids.
        steepness : float, default=4
            The slope of sigmoids, in units of pieces per switch.

        Returns
        -------
        ApproximationDisplay
        """
        if kind not in ("step", "sigmoid", "cosine") or len(sizes) == 0:
            raise ParameterError(
                "ApproximationDisplay: kind must be 'step', 'sigmoid' or 'cosine' and sizes must name at least one "
                f"number of units; got {kind!r} and {list(sizes)!r}."
            )
        if kind == "cosine":
            side = np.linspace(0.0, 1.0, _SIDE)
            points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
            sums = [approximate_by_cosines(function, size) for size in sizes]
        else:
            points = np.linspace(low, high, _POINTS)
            slope = steepness if kind == "sigmoid" else None
            sums = [approximate_by_units(function, size, low=low, high=high, steepness=slope) for size in sizes]
        return cls(points, np.asarray(function(points), dtype=np.float64), sums)

    from_function = draws(compute)

    def _grid(self) -> dict[str, Any]:
        return {"columns": 2, "figsize": (8.0, 3.2)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        if self.points.ndim == 1:
            axes[0].plot(self.points, self.values, color="black", label="function")
            for each, count in zip(self.sums, self.n_units, strict=True):
                axes[0].plot(self.points, each(self.points), **({"label": f"{count} units"} | kwargs))
            axes[0].legend()
            axes[0].set(xlabel="x", ylabel="value")
        else:
            # The finest sum in colours, the function itself as lines over it.
            side = self.points[:_SIDE, 0]
            drawn = self.sums[-1](self.points).reshape(_SIDE, _SIDE)
            axes[0].contourf(side, side, drawn, **({"levels": 18, "cmap": "RdBu_r"} | kwargs))
            axes[0].contour(side, side, self.values.reshape(_SIDE, _SIDE), levels=6, colors="black", linewidths=0.5)
            axes[0].set(title=f"{self.n_units[-1]} units", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
        # A sum of one piece is a constant: it has no units, and no place on a logarithmic axis.
        shown = (self.n_units > 0) & (self.errors > 0)
        axes[1].loglog(self.n_units[shown], self.errors[shown], "o-", color="black", markersize=4)
        axes[1].set(xlabel="hidden units", ylabel="largest error")
