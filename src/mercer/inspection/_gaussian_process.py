"""Gaussian processes in pictures: the band of a process with functions drawn from it, and the choice of a kernel."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class ProcessDisplay:
    """The mean of a Gaussian process of one column, two deviations about it, and functions drawn from it.

    Of a model that is not fitted the prior is shown.

    Parameters
    ----------
    grid : ndarray of shape (m,)
    mean, std : ndarray of shape (m,)
    samples : ndarray of shape (m, n_samples)
    rows, targets : ndarray of shape (n,) or None
        What was seen.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
    line_, band_, points_ : matplotlib artists

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gaussian_process import GaussianProcessRegressor
    >>> from mercer.inspection import ProcessDisplay
    >>> model = GaussianProcessRegressor(optimizer=None).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> display = ProcessDisplay.of(model, np.array([0.0, 0.5, 5.0]))
    >>> bool(display.std[0] < display.std[1] < display.std[2])
    True
    """

    def __init__(self, grid: Any, mean: Any, std: Any, samples: Any, rows: Any = None, targets: Any = None) -> None:
        self.grid, self.mean, self.std, self.samples = grid, mean, std, samples
        self.rows, self.targets = rows, targets

    @classmethod
    def of(cls, estimator: Any, grid: Any, *, n_samples: int = 3, random_state: Any = 0) -> "ProcessDisplay":
        """Evaluate a process on a grid, without drawing.

        Parameters
        ----------
        estimator : GaussianProcessRegressor
            Of one column and one target, fitted or not.
        grid : array-like of shape (m,)
        n_samples : int, default=3
        random_state : int, RandomState, Generator or None, default=0

        Returns
        -------
        ProcessDisplay
        """
        grid = np.asarray(grid, dtype=np.float64)
        rows = getattr(estimator, "X_train_", None)
        if rows is not None and (rows.shape[1] != 1 or estimator.y_train_.ndim > 1):
            raise DataError(
                f"ProcessDisplay: the process must have one column and one target; got {rows.shape[1]} columns and "
                f"targets of shape {estimator.y_train_.shape}. Fit one of one column."
            )
        mean, std = estimator.predict(grid[:, None], return_std=True)
        samples = estimator.sample_y(grid[:, None], n_samples, random_state)
        if rows is None:
            return cls(grid, mean, std, samples)
        # Targets were standardised for the fit; they are drawn in their own units.
        targets = estimator.y_train_ * estimator._y_train_std + estimator._y_train_mean
        return cls(grid, mean, std, samples, rows[:, 0], targets)

    @classmethod
    def from_estimator(
        cls, estimator: Any, grid: Any, *, n_samples: int = 3, random_state: Any = 0, ax: Any = None, **kwargs: Any
    ) -> "ProcessDisplay":
        """Draw a process; takes what :meth:`of` and :meth:`plot` take."""
        return cls.of(estimator, grid, n_samples=n_samples, random_state=random_state).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "ProcessDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` of the mean.

        Returns
        -------
        ProcessDisplay
            The display itself.
        """
        ax = make_axes(ax)
        low, high = self.mean - 2 * self.std, self.mean + 2 * self.std
        self.band_ = ax.fill_between(self.grid, low, high, color="0.85", label="two deviations")
        ax.plot(self.grid, self.samples, linewidth=0.7)
        (self.line_,) = ax.plot(self.grid, self.mean, **({"color": "black", "label": "mean"} | kwargs))
        self.points_ = None
        if self.rows is not None:
            self.points_ = ax.scatter(self.rows, self.targets, color="tab:red", s=14, zorder=3, label="seen")
        ax.legend(loc="best", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class KernelSelectionDisplay:
    """The scores of kernels over their widths, as curves or as a table of colours.

    Parameters
    ----------
    selection : KernelSelection
        What :func:`mercer.gaussian_process.select_kernel` returned.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
    lines_ : list of matplotlib lines, or image_ : matplotlib image
    """

    def __init__(self, selection: Any) -> None:
        self.selection = selection

    def plot(self, *, ax: Any = None, kind: str = "curves") -> "KernelSelectionDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        kind : {"curves", "table"}, default="curves"
            A curve for each kernel, the training score dashed beside that of folds; or a heat map.

        Returns
        -------
        KernelSelectionDisplay
            The display itself.
        """
        ax, selection = make_axes(ax), self.selection
        if kind == "table":
            self.image_ = ax.imshow(selection.scores, aspect="auto")
            ax.set_yticks(range(len(selection.kernels)), selection.kernels)
            ax.set_xticks(range(len(selection.widths)), [f"{width:.2g}" for width in selection.widths])
            ax.figure.colorbar(self.image_, ax=ax, label=selection.criterion)
        else:
            self.lines_ = [
                ax.semilogx(selection.widths, scores, marker="o", label=name)[0]
                for name, scores in zip(selection.kernels, selection.scores, strict=True)
            ]
            # The evidence is one curve: it judges by the training rows themselves.
            if selection.criterion != "evidence":
                for line, training in zip(self.lines_, selection.training_scores, strict=True):
                    ax.semilogx(selection.widths, training, color=line.get_color(), linestyle=":")
            ax.axvline(selection.best_width, color="grey", linestyle=":")
            ax.set_ylabel(selection.criterion)
            ax.legend(fontsize="small")
        ax.set_xlabel("width")
        self.ax_, self.figure_ = ax, ax.figure
        return self
