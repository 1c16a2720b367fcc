"""Paths of optimisers over the contours of a function of two variables."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class TrajectoryDisplay:
    """Paths of optimisers over the contours of a function of two variables.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    fun : callable
        From an array of shape (2, ...) to values, entry by entry, such as a :class:`mercer.optim.Surface`.
    paths : dict
        Names, and paths of shape (n_steps + 1, 2).
    window : tuple of float or None, default=None
        Left, right, bottom and top; None takes the surface's own, or what holds all paths.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    contours_, lines_ : matplotlib artists
        What was drawn.

    Examples
    --------
    >>> from mercer.inspection import TrajectoryDisplay
    >>> from mercer.optim import VALLEY, compare_methods
    >>> results = compare_methods(VALLEY, {"lbfgs": "lbfgs", "newton": "newton"})
    >>> display = TrajectoryDisplay.from_results(VALLEY, results)
    >>> [line.get_label() for line in display.lines_]
    ['lbfgs', 'newton']
    """

    def __init__(
        self, fun: Callable[[Any], Any], paths: Mapping[str, Any], *, window: tuple[float, ...] | None = None
    ) -> None:
        self.fun = fun
        self.paths = {name: np.asarray(path, dtype=np.float64) for name, path in paths.items()}
        for name, path in self.paths.items():
            if path.ndim != 2 or path.shape[1] != 2:
                raise DataError(f"TrajectoryDisplay: a path must have shape (n, 2); got {path.shape} for {name!r}.")
        self.window = getattr(fun, "window", None) if window is None else window

    @classmethod
    def from_results(
        cls,
        fun: Callable[[Any], Any],
        results: Mapping[str, Any],
        *,
        window: tuple[float, ...] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> "TrajectoryDisplay":
        """Draw the paths of results of :func:`mercer.optim.minimize`.

        Parameters
        ----------
        fun : callable
            The function that was minimised, for arrays of shape (2, ...).
        results : dict
            Names, and results that kept their path.
        window : tuple of float or None, default=None
            Left, right, bottom and top.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        TrajectoryDisplay
            The display, drawn.
        """
        for name, result in results.items():
            if result.path is None:
                raise DataError(
                    f"TrajectoryDisplay: results must have their path; got none for {name!r}. Set keep_path=True."
                )
        paths = {name: result.path for name, result in results.items()}
        return cls(fun, paths, window=window).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "TrajectoryDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        TrajectoryDisplay
            The display itself.
        """
        ax = make_axes(ax)
        left, right, bottom, top = self.window or self._find_window()
        grid = np.array(np.meshgrid(np.linspace(left, right, 200), np.linspace(bottom, top, 200)))
        height = np.asarray(self.fun(grid), dtype=np.float64)
        # Levels are dense near the lowest value, where the paths end.
        levels = height.min() + (height.max() - height.min()) * np.linspace(0.0, 1.0, 25) ** 3
        self.contours_ = ax.contour(*grid, height, levels=np.unique(levels), colors="lightgrey", linewidths=0.7)
        options = {"marker": ".", "markersize": 3, "linewidth": 1.0} | kwargs
        self.lines_ = [ax.plot(*path.T, label=name, **options)[0] for name, path in self.paths.items()]
        for path in list(self.paths.values())[:1]:
            ax.plot(*path[0], color="black", marker="o", markersize=4, linestyle="none")
        ax.set(xlim=(left, right), ylim=(bottom, top))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _find_window(self) -> tuple[float, float, float, float]:
        """Return the window around all paths, with a margin of a tenth."""
        points = np.concatenate(list(self.paths.values()))
        low, high = points.min(axis=0), points.max(axis=0)
        room = np.maximum(0.1 * (high - low), 0.1)
        return low[0] - room[0], high[0] + room[0], low[1] - room[1], high[1] + room[1]
