"""Pictures of linear models: coefficient paths, penalties, losses, distances to a plane."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq

from mercer.errors import DataError, ParameterError
from mercer.inspection._display import Display, draws
from mercer.linear_model import lasso_path, ridge_path

# By default a path is drawn at this many strengths.
_N_STRENGTHS = 100
# The duality gap, relative to the squared targets, at which a point of the lasso's path is drawn: below a line's width.
_TOLERANCE = 1e-8


class CoefficientPathDisplay(Display):
    """Coefficients of a penalised linear model against the strength of its penalty, one line a column.

    The strength is that of the problem |y - X w - b|^2 + strength R(w), with R(w) = |w|^2 for ridge and R(w) = |w|_1
    for the lasso, so that both paths share one axis.

    Parameters
    ----------
    strengths : array-like of shape (n_strengths,)
        Positive; drawn on a logarithmic axis.
    coefs : array-like of shape (n_strengths, n_features)
        Coefficients at each strength.
    names : sequence of str or None, default=None
        Names of the columns.

    Attributes
    ----------
    n_nonzero_ : ndarray of shape (n_strengths,)
        The number of coefficients that are not exactly zero at each strength.
    lines_ : list of matplotlib lines
        One a column.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer.inspection import CoefficientPathDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> lasso = CoefficientPathDisplay.compute(X, y, strengths=[1e5, 10.0])
    >>> lasso.n_nonzero_
    array([ 0, 10])
    """

    def __init__(self, strengths: Any, coefs: Any, *, names: Any = None) -> None:
        self.strengths = np.asarray(strengths, dtype=np.float64)
        self.coefs = np.asarray(coefs, dtype=np.float64)
        if self.strengths.ndim != 1 or not (self.strengths > 0).all():
            raise DataError(
                "CoefficientPathDisplay: strengths must be positive numbers, for a logarithmic axis; got "
                f"{np.array2string(self.strengths, threshold=6)}. Leave out zero."
            )
        if self.coefs.ndim != 2 or len(self.coefs) != len(self.strengths):
            raise DataError(
                f"CoefficientPathDisplay: coefs must have one row per strength, {len(self.strengths)}; got shape "
                f"{self.coefs.shape}. Transpose what lasso_path returns."
            )
        self.names = [f"x{j}" for j in range(self.coefs.shape[1])] if names is None else list(names)
        if len(self.names) != self.coefs.shape[1]:
            raise DataError(
                f"CoefficientPathDisplay: names must have {self.coefs.shape[1]} entries; got {len(self.names)}."
            )
        self.n_nonzero_ = np.count_nonzero(self.coefs, axis=1)

    @classmethod
    def compute(cls, X: Any, y: Any, *, penalty: str = "l1", strengths: Any = None) -> "CoefficientPathDisplay":
        """Compute the path of rows, without drawing.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows. The columns' means are subtracted: the intercept is not penalised.
        y : array-like of shape (n,)
            Targets.
        penalty : {"l1", "l2"}, default="l1"
            The lasso or ridge.
        strengths : array-like or None, default=None
            Where; None takes 100 of them, for the lasso from where all coefficients are zero down to a thousandth of
            that, for ridge from a thousandth of the largest squared singular value to a thousand times that.

        Returns
        -------
        CoefficientPathDisplay
        """
        names = list(X.columns) if hasattr(X, "columns") else None
        rows, targets = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if penalty not in ("l1", "l2"):
            raise ParameterError(f"CoefficientPathDisplay: penalty must be 'l1' or 'l2'; got {penalty!r}.")
        if penalty == "l2":
            if strengths is None:
                top = np.linalg.norm(rows - rows.mean(axis=0), 2) ** 2
                strengths = np.geomspace(1e-3 * top, 1e3 * top, _N_STRENGTHS)
            strengths = np.asarray(strengths, dtype=np.float64)
            return cls(strengths, ridge_path(rows, targets, strengths)[0], names=names)
        # lasso_path has no intercept and minimises |y - X w|^2 / (2 n) + alpha |w|_1: its alpha is strength / (2 n).
        centred, scale = rows - rows.mean(axis=0), 2 * len(rows)
        if strengths is None:
            alphas, coefs, _ = lasso_path(centred, targets - targets.mean(), alphas=_N_STRENGTHS, tol=_TOLERANCE)
            return cls(scale * alphas, coefs.T, names=names)
        strengths = np.asarray(strengths, dtype=np.float64)
        # The path is computed from strong to weak, and returned in the order that was asked for.
        order = np.argsort(-strengths)
        alphas = strengths[order] / scale
        _, coefs, _ = lasso_path(centred, targets - targets.mean(), alphas=alphas, tol=_TOLERANCE)
        return cls(strengths, coefs.T[np.argsort(order)], names=names)

    from_rows = draws(compute)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.lines_ = [
            ax.plot(self.strengths, values, **({"label": name} | kwargs))[0]
            for name, values in zip(self.names, self.coefs.T, strict=True)
        ]
        ax.set(xscale="log", xlabel="strength of the penalty", ylabel="coefficient")


class ShrinkageDisplay(Display):
    """Penalised coefficients against those of least squares, for orthonormal columns.

    With XᵀX = I each coefficient is argmin_u (u - w)^2 / 2 + R(u) of the least-squares coefficient w: the proximal map
    of the penalty. L1 of strength s subtracts s and stops at zero; L2 divides by 1 + s.

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

    from_penalties = draws(__init__)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.lines_ = ax.plot(self.w, self.w, color="0.8", label="least squares")
        for name, values in self.curves_.items():
            self.lines_ += ax.plot(self.w, values, **({"label": name} | kwargs))
        ax.set(xlabel="least squares", ylabel="penalised")
        ax.legend()


class PenaltyGeometryDisplay(Display):
    """Ellipses of equal squared error of two coefficients, and the first that touches the ball of a norm.

    Minimises (w - centre)ᵀ shape (w - centre) subject to |w|_order <= radius. The ball of the l1 norm has corners on
    the axes, where one coefficient is exactly zero; that of the l2 norm has none.

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
    ball_, contours_, centre_point_, touch_point_ : matplotlib objects
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import PenaltyGeometryDisplay
    >>> PenaltyGeometryDisplay([2.0, 0.5], np.eye(2)).touch_
    array([1., 0.])
    """

    artist = "contour"

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

    @draws
    @classmethod
    def from_rows(cls, X: Any, y: Any, *, order: int = 1, radius: float = 1.0) -> "PenaltyGeometryDisplay":
        """Draw the error of two columns, each centred, about its least squares.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Rows.
        y : array-like of shape (n,)
            Targets.
        order, radius
            As for the class.
        """
        rows, targets = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise DataError(f"PenaltyGeometryDisplay: X must have two columns; got shape {rows.shape}. Select two.")
        centred = rows - rows.mean(axis=0)
        centre = np.linalg.lstsq(centred, targets - targets.mean(), rcond=None)[0]
        return cls(centre, centred.T @ centred, order=order, radius=radius)

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

    def _draw(self, ax: Any, **kwargs: Any) -> None:
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


class LossDisplay(Display):
    """Losses on one axis: those of labels against the margin, those of numbers against the residual.

    The margin is the score of the true class (of two classes, the score times -1 or 1); the residual is prediction
    minus target.

    Parameters
    ----------
    losses : sequence of Loss
        Of :mod:`mercer.objectives`, with one score a row, all for labels or all for numbers.
    x : array-like of shape (m,) or None, default=None
        Margins or residuals; None takes 601 from -3 to 3.
    bits : bool, default=False
        Whether the logistic loss is divided by log 2, so that it is one at the margin zero and nowhere below the 0-1
        loss.

    Attributes
    ----------
    kind_ : {"labels", "numbers"}
        What the losses compare scores with.
    values_ : dict
        Names of the losses, and values of shape (m,).
    lines_ : list of matplotlib lines
        One a loss.

    Examples
    --------
    >>> from mercer.inspection import LossDisplay
    >>> from mercer.objectives import Hinge, ZeroOne
    >>> LossDisplay([ZeroOne(), Hinge()], [-1.0, 0.5, 2.0]).values_["Hinge"]
    array([2. , 0.5, 0. ])
    """

    def __init__(self, losses: Iterable[Any], x: Any = None, *, bits: bool = False) -> None:
        self.losses, self.bits = tuple(losses), bits
        self.x = np.linspace(-3.0, 3.0, 601) if x is None else np.asarray(x, dtype=np.float64)
        kinds = {loss.target for loss in self.losses}
        if len(kinds) != 1 or self.x.ndim != 1 or any(loss.n_scores != 1 for loss in self.losses):
            raise DataError(
                "LossDisplay: losses must be of one kind, all of labels or all of numbers, with one score a row; got "
                f"{', '.join(type(loss).__name__ for loss in self.losses) or 'none'}. Draw each kind on its own axes."
            )
        exponential = next((loss for loss in self.losses if loss.predicts_exponentials), None)
        if exponential is not None:
            raise DataError(
                f"LossDisplay: losses must depend on the residual alone; got {type(exponential).__name__}, which "
                "compares targets with the exponentials of scores."
            )
        (self.kind_,) = kinds
        # Scores of rows of the class 1 are margins; scores of rows with the target 0 are residuals.
        targets = np.full(len(self.x), 1.0 if self.kind_ == "labels" else 0.0)
        self.values_: dict[str, np.ndarray] = {}
        for loss in self.losses:
            name = type(loss).__name__
            if name in self.values_:
                name = repr(loss)
            values = np.ravel(loss.value(self.x[:, None], targets, np))
            self.values_[name] = values / np.log(2) if bits and type(loss).__name__ == "Logistic" else values

    from_losses = draws(__init__)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.lines_ = [
            ax.plot(self.x, values, **({"label": name} | kwargs))[0] for name, values in self.values_.items()
        ]
        # The exponential and the squared loss would leave the others no room: half the losses fit in.
        top = 1.1 * float(np.median([values.max() for values in self.values_.values()])) or 1.0
        ax.set(xlabel="margin" if self.kind_ == "labels" else "residual", ylabel="loss", ylim=(-0.03 * top, top))
        ax.legend()


class PlaneDistanceDisplay(Display):
    """The line wᵀx + b = 0 in the plane, its normal vector, and the perpendicular of each row on it.

    The signed distance of a row is (wᵀx + b) / |w|, positive on the side of the normal.

    Parameters
    ----------
    w : array-like of shape (2,)
        The normal, not zero.
    b : float
        The offset.
    X : array-like of shape (n, 2)
        Rows.
    y : array-like of shape (n,) or None, default=None
        Labels, shown as colours.

    Attributes
    ----------
    distances_ : ndarray of shape (n,)
        Signed distances.
    feet_ : ndarray of shape (n, 2)
        The nearest point of the line to each row.
    line_, segments_, normal_, points_ : matplotlib objects
        What was drawn.

    Examples
    --------
    >>> from mercer.inspection import PlaneDistanceDisplay
    >>> display = PlaneDistanceDisplay([3.0, 4.0], -5.0, [[3.0, 4.0], [0.0, 0.0]])
    >>> display.distances_, display.feet_[1]
    (array([ 4., -1.]), array([0.6, 0.8]))
    """

    def __init__(self, w: Any, b: float, X: Any, y: Any = None) -> None:
        self.w, self.b = np.asarray(w, dtype=np.float64), float(b)
        self.rows = np.asarray(X, dtype=np.float64)
        if self.w.shape != (2,) or not self.w.any() or self.rows.ndim != 2 or self.rows.shape[1] != 2:
            raise DataError(
                "PlaneDistanceDisplay: w must be two numbers, not both zero, and X have two columns; got "
                f"{self.w.tolist()} and shape {self.rows.shape}. Fit a model to two columns."
            )
        self.labels = None if y is None else np.asarray(y)
        norm = np.linalg.norm(self.w)
        # The signed distance from the line w^T x + b = 0 is (w^T x + b) / |w|; the foot lies that far along -w / |w|.
        self.distances_ = (self.rows @ self.w + self.b) / norm
        self.feet_ = self.rows - self.distances_[:, None] * self.w / norm

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None) -> "PlaneDistanceDisplay":
        """Draw the line of a fitted linear classifier of two classes.

        Parameters
        ----------
        estimator : linear classifier
            With ``coef_`` of shape (1, 2) and ``intercept_``.
        X : array-like of shape (n, 2)
            Rows.
        y : array-like of shape (n,) or None, default=None
            Labels.
        """
        coef = np.asarray(getattr(estimator, "coef_", np.empty(0)), dtype=np.float64)
        if coef.size != 2:
            raise DataError(
                f"PlaneDistanceDisplay: the model must be linear, of two columns and two classes; got "
                f"{type(estimator).__name__} with coef_ of shape {coef.shape}."
            )
        offset = float(np.ravel(getattr(estimator, "intercept_", 0.0))[0])
        return cls(coef.ravel(), offset, X, y)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        from matplotlib.collections import LineCollection

        unit = self.w / np.linalg.norm(self.w)
        along = np.array([-unit[1], unit[0]])
        # The line is drawn as far as the feet of the rows reach, and a tenth of the rows' extent further.
        places = self.feet_ @ along
        room = 0.1 * float(np.ptp(self.rows, axis=0).max(initial=0.0)) or 1.0
        origin = -self.b / np.linalg.norm(self.w) * unit
        ends = origin + np.outer([places.min() - room, places.max() + room], along)
        (self.line_,) = ax.plot(*ends.T, **({"color": "black"} | kwargs))
        self.segments_ = LineCollection(
            list(np.stack([self.rows, self.feet_], axis=1)), colors="0.6", linewidths=0.7, zorder=0
        )
        ax.add_collection(self.segments_)
        middle = origin + places.mean() * along
        # The arrow shows the direction of the normal; its length has no meaning but that it can be seen.
        self.normal_ = ax.annotate(
            "", middle + 2 * room * unit, middle, arrowprops={"arrowstyle": "->", "color": "tab:red"}
        )
        colours = None if self.labels is None else np.unique(self.labels, return_inverse=True)[1]
        self.points_ = ax.scatter(*self.rows.T, s=14, c=colours, cmap=None if colours is None else "coolwarm")
        ax.set(aspect="equal", xlabel="x₁", ylabel="x₂")
