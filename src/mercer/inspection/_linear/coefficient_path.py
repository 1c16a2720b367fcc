"""Coefficients of ridge and lasso against the strength of the penalty."""

from typing import Any

import numpy as np

from mercer.errors import DataError, ParameterError
from mercer.inspection._axes import make_axes
from mercer.linear_model import lasso_path, ridge_path

# By default a path is drawn at this many strengths.
_N_STRENGTHS = 100
# The duality gap, relative to the squared targets, at which a point of the lasso's path is drawn: below a line's width.
_TOLERANCE = 1e-8


class CoefficientPathDisplay:
    """Coefficients of a penalised linear model against the strength of its penalty, one line a column.

    The strength is that of the problem |y - X w - b|^2 + strength R(w), with R(w) = |w|^2 for ridge and R(w) = |w|_1
    for the lasso, so that both paths share one axis. Needs matplotlib, which is imported when :meth:`plot` is called.

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
    ax_, figure_ : matplotlib objects
        Where it was drawn.
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

    @classmethod
    def from_rows(
        cls, X: Any, y: Any, *, penalty: str = "l1", strengths: Any = None, ax: Any = None, **kwargs: Any
    ) -> "CoefficientPathDisplay":
        """Compute the path of rows and draw it; takes what :meth:`compute` and :meth:`plot` take."""
        return cls.compute(X, y, penalty=penalty, strengths=strengths).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "CoefficientPathDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        CoefficientPathDisplay
            The display itself.
        """
        ax = make_axes(ax)
        self.lines_ = [
            ax.plot(self.strengths, values, **({"label": name} | kwargs))[0]
            for name, values in zip(self.names, self.coefs.T, strict=True)
        ]
        ax.set(xscale="log", xlabel="strength of the penalty", ylabel="coefficient")
        self.ax_, self.figure_ = ax, ax.figure
        return self
