"""Drawings of layered networks: units as circles, weights as lines, dropped units crossed out."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes
from mercer.neural_network import unfold_estimator


class LayeredNetworkDisplay:
    """A layered network: a column of units for each layer, and lines for the weights between neighbours.

    Needs matplotlib, which is imported when :meth:`plot` is called.

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
    ax_, figure_ : matplotlib objects
        Where it was drawn.

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
    def from_network(
        cls, network: Any, theta: Any = None, *, ax: Any = None, **options: Any
    ) -> "LayeredNetworkDisplay":
        """Draw the dense layers of a network, with their weights if `theta` is given.

        Parameters
        ----------
        network : Network
            A chain with at least one Dense layer.
        theta : array of shape (n_weights,) or None, default=None
        ax : matplotlib axes or None, default=None
        **options : dict
            What the class takes.

        Returns
        -------
        LayeredNetworkDisplay
        """
        dense = [node for node in network.nodes if type(node.layer).__name__ == "Dense" and len(node.shapes[0]) == 1]
        if not dense:
            raise DataError("LayeredNetworkDisplay: the network must have a Dense layer; got none.")
        sizes = [dense[0].shapes[0][0], *(node.layer.units for node in dense)]
        weights = None
        if theta is not None:
            parts = network.split(np.asarray(theta))
            weights = [parts[node.name]["W"] for node in dense]
        return cls(sizes, weights=weights, **options).plot(ax=ax)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **options: Any) -> "LayeredNetworkDisplay":
        """Draw the dense layers of a fitted network with their weights.

        Parameters
        ----------
        model : MLPClassifier, MLPRegressor, Autoencoder or ConvClassifier
            A fitted estimator.
        ax : matplotlib axes or None, default=None
        **options : dict
            What the class takes.

        Returns
        -------
        LayeredNetworkDisplay
        """
        case = unfold_estimator(model)
        return cls.from_network(case.network, case.theta, ax=ax, **options)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "LayeredNetworkDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to the circles.

        Returns
        -------
        LayeredNetworkDisplay
            The display itself.
        """
        from matplotlib.patches import Circle

        ax = make_axes(ax)
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
        self.ax_, self.figure_ = ax, ax.figure
        return self

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
