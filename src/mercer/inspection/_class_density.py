"""Class densities and posteriors of one number, with the regions in which each class is decided."""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class ClassDensityDisplay:
    """Two panels: p(x | c) P(c) of each class with the error shaded, and the posteriors P(c | x) with boundaries.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    model : ClassDensities
        Densities of one number, and priors.
    x : array-like of shape (m,)
        Where to draw, increasing.
    names : sequence of str or None, default=None
        Names of the classes.

    Attributes
    ----------
    joint_, posterior_ : ndarray of shape (m, n_classes)
        What the panels show.
    boundaries_ : ndarray
        Where the decision changes: crossings of the two highest curves, to rounding.
    axes_, figure_ : matplotlib objects
        Where it was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decision import ClassDensities
    >>> from mercer.estimation import GaussianDensity
    >>> from mercer.inspection import ClassDensityDisplay
    >>> world = ClassDensities([GaussianDensity(0.0, 1.0), GaussianDensity(2.0, 1.0)], [0.2, 0.8])
    >>> ClassDensityDisplay(world, np.linspace(-4, 6, 200)).boundaries_.round(6)
    array([0.306853])
    """

    def __init__(self, model: Any, x: Any, *, names: Any = None) -> None:
        self.model, self.x = model, np.asarray(x, dtype=np.float64)
        if self.x.ndim != 1 or len(self.x) < 2 or not (np.diff(self.x) > 0).all():
            raise DataError(
                f"ClassDensityDisplay: x must have increasing numbers; got shape {self.x.shape}. Sort them."
            )
        count = len(model.densities)
        self.names = [f"class {k}" for k in range(count)] if names is None else list(names)
        if len(self.names) != count:
            raise DataError(
                f"ClassDensityDisplay: names must have {count} entries, one a class; got {len(self.names)}."
            )
        self.joint_ = np.exp(model.log_joint(self.x))
        self.posterior_ = model.posterior(self.x)
        self.boundaries_ = self._boundaries()

    def _boundaries(self) -> np.ndarray:
        decided = self.joint_.argmax(axis=1)
        boundaries = []
        # A change of the decided class between two points brackets a root of the difference of log-joints.
        for i in np.flatnonzero(np.diff(decided)):
            first, second = decided[i], decided[i + 1]

            def difference(x: float, first: int = first, second: int = second) -> float:
                logs = self.model.log_joint(np.array([x]))[0]
                return float(logs[first] - logs[second])

            boundaries.append(brentq(difference, self.x[i], self.x[i + 1]))
        return np.array(boundaries)

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "ClassDensityDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : pair of matplotlib axes or None, default=None
            Where to draw; None makes a new figure with two panels.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        ClassDensityDisplay
            The display itself.
        """
        axes = make_axes(axes, 2, 1, sharex=True)
        for k, name in enumerate(self.names):
            axes[0].plot(self.x, self.joint_[:, k], label=name, **kwargs)
            axes[1].plot(self.x, self.posterior_[:, k], label=name, **kwargs)
        # The probability of all classes but the one decided: its integral is the Bayes error.
        wrong = self.joint_.sum(axis=1) - self.joint_.max(axis=1)
        axes[0].fill_between(self.x, wrong, color="grey", alpha=0.4, label="error")
        for ax in axes:
            for boundary in self.boundaries_:
                ax.axvline(boundary, color="grey", linestyle=":")
        axes[0].set(ylabel="p(x | c) P(c)")
        axes[1].set(xlabel="x", ylabel="P(c | x)", ylim=(0, 1.02))
        axes[0].legend()
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
