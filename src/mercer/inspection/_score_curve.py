"""Scores on training and on unseen rows against the number of rows, or against complexity."""

from typing import Any

import numpy as np

from mercer.inspection._axes import make_axes


class ScoreCurveDisplay:
    """Learning curve, or curve of complexity: scores on training and on unseen rows.

    Lines are means over the splits, bands one standard deviation wide on either side. Needs matplotlib, which is
    imported when :meth:`plot` is called.

    Parameters
    ----------
    curve : ScoreCurve
        Of :func:`~mercer.model_selection.learning_curve` or :func:`~mercer.model_selection.complexity_curve`.
    negate : bool, default=False
        Whether to draw errors, which are scores with the other sign.
    level : float or None, default=None
        A value to draw as a line: the noise, or the best that is possible.
    log : bool, default=False
        Whether the x axis is logarithmic, as for the strength of a penalty.

    Attributes
    ----------
    train_, test_ : ndarray of shape (n_points,)
        Means over the splits, as drawn.
    best_ : int
        The point with the best mean on unseen rows, which is marked.
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    lines_ : list of matplotlib artists
        What was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer.inspection import ScoreCurveDisplay
    >>> from mercer.linear_model import LinearRegression
    >>> from mercer.model_selection import learning_curve
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = ScoreCurveDisplay(learning_curve(LinearRegression(), X, y, random_state=0))
    >>> bool((display.train_ > display.test_).all())
    True
    """

    def __init__(self, curve: Any, *, negate: bool = False, level: float | None = None, log: bool = False) -> None:
        self.curve = curve
        self.negate = negate
        self.level = level
        self.log = log
        sign = -1.0 if negate else 1.0
        self.train_, self.test_ = sign * curve.train.mean(axis=1), sign * curve.test.mean(axis=1)
        self.best_ = curve.best

    @classmethod
    def from_result(
        cls, curve: Any, *, negate: bool = False, level: float | None = None, log: bool = False, ax: Any = None
    ) -> Any:
        """Draw a curve.

        Parameters
        ----------
        curve : ScoreCurve
            What to draw.
        negate : bool, default=False
            Whether to draw errors.
        level : float or None, default=None
            A value to draw as a line.
        log : bool, default=False
            Whether the x axis is logarithmic.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ScoreCurveDisplay
            The display, drawn.
        """
        return cls(curve, negate=negate, level=level, log=log).plot(ax=ax)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "ScoreCurveDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        ScoreCurveDisplay
            The display itself.
        """
        ax = make_axes(ax)
        x = np.asarray(self.curve.x)
        self.lines_ = []
        parts = (
            ("training rows", self.train_, self.curve.train, "0.6"),
            ("unseen rows", self.test_, self.curve.test, "k"),
        )
        for name, mean, scores, colour in parts:
            spread = scores.std(axis=1)
            (line,) = ax.plot(x, mean, **({"color": colour, "marker": "o", "label": name} | kwargs))
            ax.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
            self.lines_.append(line)
        if self.level is not None:
            ax.axhline(self.level, color="tab:blue", linestyle="--", label="possible")
        gap = abs(self.train_[-1] - self.test_[-1])
        middle = (x[-1], (self.train_[-1] + self.test_[-1]) / 2)
        ax.annotate(f"gap {gap:.2g}", middle, (0, 18), textcoords="offset points", ha="right")
        # A learning curve leaves nothing to choose; a curve of complexity does.
        if self.curve.label != "training rows":
            ax.axvline(x[self.best_], color="tab:red", linestyle=":")
        ax.set(xlabel=self.curve.label, ylabel="error" if self.negate else "score")
        if self.log:
            ax.set_xscale("log")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
