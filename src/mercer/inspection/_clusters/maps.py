"""Pictures of self-organising maps: values on the grid, and the grid among the rows."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._source.namespace import to_numpy
from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class MapDisplay:
    """A value at each unit of a map, drawn where the unit lies: distances to neighbours, hits, or a column's values.

    Parameters
    ----------
    values : array-like of shape (n_units,)
    positions : array-like of shape (n_units, 2)
        The place of each unit, across and up.
    label : str, default=""
        What the values are.

    Attributes
    ----------
    ax_, figure_, points_ : matplotlib objects

    Examples
    --------
    >>> from mercer.cluster import SelfOrganizingMap
    >>> from mercer.inspection import MapDisplay
    >>> from sklearn.datasets import load_iris
    >>> model = SelfOrganizingMap(4, 3).fit(load_iris().data)
    >>> MapDisplay(model.hit_map(load_iris().data).ravel(), model.positions_).values.sum()
    np.float64(150.0)
    """

    def __init__(self, values: Any, positions: Any, *, label: str = "") -> None:
        self.values = np.asarray(values, dtype=np.float64).ravel()
        self.positions = np.asarray(positions, dtype=np.float64)
        self.label = label
        if self.positions.shape != (len(self.values), 2):
            raise DataError(
                f"MapDisplay: positions must have two columns and a row for each of the {len(self.values)} values; "
                f"got shape {self.positions.shape}."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, column: int | None = None, ax: Any = None, **kwargs: Any
    ) -> "MapDisplay":
        """Draw a fitted map.

        Parameters
        ----------
        estimator : SelfOrganizingMap
            Fitted.
        X : array-like of shape (n, d) or None, default=None
            Rows whose hits are drawn; None draws the U-matrix, the mean distances between neighbours.
        column : int or None, default=None
            A column of the rows whose values at the units are drawn instead.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        MapDisplay
            The display, drawn.
        """
        _check_map(cls, estimator)
        if column is not None:
            values, label = estimator.component_planes()[column], f"column {column}"
        elif X is not None:
            values, label = estimator.hit_map(X), "hits"
        else:
            values, label = estimator.u_matrix(), "distance to neighbours"
        return cls(values, to_numpy(estimator.positions_), label=label).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "MapDisplay":
        """Draw the display on `ax`, or a new figure; `kwargs` are passed to matplotlib's ``scatter``."""
        ax = make_axes(ax)
        # Every other row of a hexagonal grid is shifted by half a unit.
        hexagonal = np.any(self.positions[:, 0] % 1.0)
        style = {"marker": "h" if hexagonal else "s", "s": 120.0, "c": self.values} | kwargs
        self.points_ = ax.scatter(*self.positions.T, **style)
        ax.figure.colorbar(self.points_, ax=ax, label=self.label)
        ax.set(aspect="equal", xlabel="across", ylabel="up")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class LatticeDisplay:
    """The units of a map among the rows, neighbours joined by lines, in two columns of the data.

    Parameters
    ----------
    units : array-like of shape (n_units, 2)
    edges : array-like of shape (n_edges, 2)
        Pairs of units to be joined.
    rows : array-like of shape (n, 2) or None, default=None
        Rows to be drawn below.

    Attributes
    ----------
    ax_, figure_, lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import LatticeDisplay
    >>> LatticeDisplay([[0.0, 0.0], [1.0, 0.0]], [[0, 1]]).segments_.shape
    (1, 2, 2)
    """

    def __init__(self, units: Any, edges: Any, rows: Any = None) -> None:
        self.units, self.edges = np.asarray(units, dtype=np.float64), np.asarray(edges)
        self.rows = None if rows is None else np.asarray(rows)
        self.segments_ = self.units[self.edges]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, columns: tuple[int, int] = (0, 1), ax: Any = None, **kwargs: Any
    ) -> "LatticeDisplay":
        """Draw a fitted map over two columns of the data.

        Parameters
        ----------
        estimator : SelfOrganizingMap
            Fitted.
        X : array-like of shape (n, d) or None, default=None
            Rows to be drawn below the map.
        columns : pair of int, default=(0, 1)
            The columns to draw.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``LineCollection``.

        Returns
        -------
        LatticeDisplay
            The display, drawn.
        """
        _check_map(cls, estimator)
        units = to_numpy(estimator.cluster_centers_)[:, list(columns)]
        rows = None if X is None else np.asarray(X)[:, list(columns)]
        places = to_numpy(estimator.positions_)
        gaps = np.hypot(*(places[:, None, side] - places[None, :, side] for side in (0, 1)))
        # Draw lines between direct neighbours only; diagonals and the seams of a torus would hide the grid.
        return cls(units, np.argwhere(np.triu(gaps < 1.1, 1)), rows).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "LatticeDisplay":
        """Draw the display on `ax`, or a new figure; `kwargs` are passed to matplotlib's ``LineCollection``."""
        from matplotlib.collections import LineCollection

        ax = make_axes(ax)
        if self.rows is not None:
            ax.scatter(*self.rows.T, s=4, color="0.7")
        style: dict[str, Any] = {"colors": "black", "linewidths": 0.8} | kwargs
        self.lines_ = LineCollection(self.segments_, **style)
        ax.add_collection(self.lines_)
        ax.scatter(*self.units.T, s=8, color="black")
        ax.autoscale_view()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _check_map(display: type, estimator: Any) -> None:
    if not hasattr(estimator, "u_matrix"):
        name = type(estimator).__name__
        raise DataError(
            f"{display.__name__}: the estimator must be a SelfOrganizingMap; got {name}. Fit one to the rows."
        )
    check_is_fitted(estimator)
