"""What penalties do to coefficients: thresholding functions, and ellipses of equal error that touch balls."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq

from mercer.errors import DataError, ParameterError
from mercer.inspection._axes import make_axes


class ShrinkageDisplay:
    """Penalised coefficients against those of least squares, for orthonormal columns.

    With XᵀX = I each coefficient is argmin_u (u - w)^2 / 2 + R(u) of the least-squares coefficient w: the proximal map
    of the penalty. L1 of strength s subtracts s and stops at zero; L2 divides by 1 + s. Needs matplotlib, which is
    imported when :meth:`plot` is called.

    Parameters
    ----------
    penalties : dict
        Names, and penalties of :mod:`mercer.objectives`.
    w : array-like of shape (m,) or None, default=None
        Coefficients of least squares, increasing; None takes 301 from -3 to 3.

    Attributes
    ----------
    curves_ : dict
        Names, and the penalised coefficients of shape (m,).
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    lines_ : list of matplotlib lines
        The diagonal of least squares, and one line a penalty.

    Examples
    --------
    >>> from mercer.inspection import ShrinkageDisplay
    >>> from mercer.objectives import L1, L2
    >>> display = ShrinkageDisplay({"lasso": L1(1.0), "ridge": L2(1.0)}, [0.5, 3.0])
    >>> display.curves_["lasso"] + 0.0, display.curves_["ridge"]
    (array([0., 2.]), array([0.25, 1.5 ]))
    """

    def __init__(self, penalties: Mapping[str, Any], w: Any = None) -> None:
        self.penalties = dict(penalties)
        self.w = np.linspace(-3.0, 3.0, 301) if w is None else np.asarray(w, dtype=np.float64)
        if self.w.ndim != 1:
            raise DataError(f"ShrinkageDisplay: w must have one axis; got shape {self.w.shape}.")
        for name, penalty in self.penalties.items():
            if not hasattr(penalty, "prox"):
                raise DataError(
                    f"ShrinkageDisplay: penalties must have a proximal map; got {type(penalty).__name__} for {name!r}. "
                    "Give penalties of mercer.objectives, such as L1()."
                )
        # One coefficient at a time: a penalty that couples columns sees each alone.
        self.curves_ = {
            name: np.array([float(penalty.prox(np.array([[value]]), 1.0)[0, 0]) for value in self.w])
            for name, penalty in self.penalties.items()
        }

    @classmethod
    def from_penalties(
        cls, penalties: Mapping[str, Any], w: Any = None, *, ax: Any = None, **kwargs: Any
    ) -> "ShrinkageDisplay":
        """Draw the curves of penalties; takes what the class and :meth:`plot` take."""
        return cls(penalties, w).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "ShrinkageDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        ShrinkageDisplay
            The display itself.
        """
        ax = make_axes(ax)
        self.lines_ = ax.plot(self.w, self.w, color="0.8", label="least squares")
        for name, values in self.curves_.items():
            self.lines_ += ax.plot(self.w, values, **({"label": name} | kwargs))
        ax.set(xlabel="least squares", ylabel="penalised")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class PenaltyGeometryDisplay:
    """Ellipses of equal squared error of two coefficients, and the first that touches the ball of a norm.

    Minimises (w - centre)ᵀ shape (w - centre) subject to |w|_order <= radius. The ball of the l1 norm has corners on
    the axes, where one coefficient is exactly zero; that of the l2 norm has none. Needs matplotlib, which is imported
    when :meth:`plot` is called.

    Parameters
    ----------
    centre : array-like of shape (2,)
        Coefficients of least squares.
    shape : array-like of shape (2, 2)
        Half the second derivative of the error, symmetric and positive definite: XᵀX of centred columns.
    order : {1, 2}, default=1
        The norm.
    radius : float, default=1.0
        The largest norm that is allowed.

    Attributes
    ----------
    touch_ : ndarray of shape (2,)
        The constrained minimum.
    ax_, figure_, ball_, contours_, centre_point_, touch_point_ : matplotlib objects
        Where and what was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import PenaltyGeometryDisplay
    >>> PenaltyGeometryDisplay([2.0, 0.5], np.eye(2)).touch_
    array([1., 0.])
    """

    def __init__(self, centre: Any, shape: Any, *, order: int = 1, radius: float = 1.0) -> None:
        self.centre, self.shape = np.asarray(centre, dtype=np.float64), np.asarray(shape, dtype=np.float64)
        self.order, self.radius = order, float(radius)
        if order not in (1, 2) or not self.radius > 0:
            raise ParameterError(
                f"PenaltyGeometryDisplay: order must be 1 or 2 and radius positive; got order={order!r} and "
                f"radius={radius!r}."
            )
        if self.centre.shape != (2,) or self.shape.shape != (2, 2) or not (np.linalg.eigvalsh(self.shape) > 0).all():
            raise DataError(
                "PenaltyGeometryDisplay: centre must have two numbers, and shape be a positive definite 2 x 2 matrix; "
                f"got {self.centre.tolist()} and {self.shape.tolist()}."
            )
        self.touch_ = self._touch()

    @classmethod
    def from_rows(
        cls, X: Any, y: Any, *, order: int = 1, radius: float = 1.0, ax: Any = None, **kwargs: Any
    ) -> "PenaltyGeometryDisplay":
        """Draw the error of two columns, each centred, about its least squares.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Rows.
        y : array-like of shape (n,)
            Targets.
        order, radius
            As for the class.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``contour``.

        Returns
        -------
        PenaltyGeometryDisplay
        """
        rows, targets = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise DataError(f"PenaltyGeometryDisplay: X must have two columns; got shape {rows.shape}. Select two.")
        centred = rows - rows.mean(axis=0)
        centre = np.linalg.lstsq(centred, targets - targets.mean(), rcond=None)[0]
        return cls(centre, centred.T @ centred, order=order, radius=radius).plot(ax=ax, **kwargs)

    def measure_error(self, w: Any) -> np.ndarray:
        """Return (w - centre)ᵀ shape (w - centre) for `w` of shape (2, ...)."""
        gap = np.moveaxis(np.asarray(w, dtype=np.float64), 0, -1) - self.centre
        return np.einsum("...i,ij,...j->...", gap, self.shape, gap)

    def _touch(self) -> np.ndarray:
        if np.linalg.norm(self.centre, self.order) <= self.radius:
            return self.centre.copy()
        if self.order == 2:
            return self._touch_circle()
        return self._touch_square()

    def _touch_circle(self) -> np.ndarray:
        """Return the ridge solution whose norm is the radius: (shape + lambda I) w = shape centre."""
        values, vectors = np.linalg.eigh(self.shape)
        weights = values * (vectors.T @ self.centre)

        def excess(strength: float) -> float:
            return float(np.linalg.norm(weights / (values + strength)) - self.radius)

        # The norm is at most |weights| / strength, so that it is below the radius at this strength.
        high = float(np.linalg.norm(weights)) / self.radius
        return vectors @ (weights / (values + brentq(excess, 0.0, high, xtol=1e-14 * high)))

    def _touch_square(self) -> np.ndarray:
        """Return the best point of the four edges; on each the error is a parabola."""
        corners = self.radius * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        points = []
        for corner, after in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            along = after - corner
            step = along @ self.shape @ (self.centre - corner) / (along @ self.shape @ along)
            points.append(corner + np.clip(step, 0.0, 1.0) * along)
        return points[int(np.argmin([self.measure_error(point) for point in points]))]

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "PenaltyGeometryDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``contour``.

        Returns
        -------
        PenaltyGeometryDisplay
            The display itself.
        """
        ax = make_axes(ax)
        angle = np.linspace(0.0, 2 * np.pi, 401)
        ring = np.stack([np.cos(angle), np.sin(angle)])
        (self.ball_,) = ax.fill(*(self.radius * ring / np.linalg.norm(ring, self.order, axis=0)), color="0.85")
        reach = 2.0 * max(self.radius, float(np.abs(self.centre).max()))
        grid = np.stack(np.meshgrid(*2 * [np.linspace(-reach, reach, 301)]))
        # The last ellipse is the first that touches the ball; a centre within the ball has none.
        last = float(self.measure_error(self.touch_)) or float(self.measure_error(np.zeros(2))) or 1.0
        style = {"levels": last * np.array([0.05, 0.3, 1.0]), "colors": "0.4", "linewidths": 1.0} | kwargs
        self.contours_ = ax.contour(*grid, self.measure_error(grid), **style)
        (self.centre_point_,) = ax.plot(*self.centre, "+", color="black")
        (self.touch_point_,) = ax.plot(*self.touch_, "o", color="tab:red")
        ax.set(aspect="equal", xlabel="w₁", ylabel="w₂")
        self.ax_, self.figure_ = ax, ax.figure
        return self
