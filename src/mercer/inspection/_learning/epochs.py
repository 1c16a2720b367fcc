"""Losses on training and on validation rows from epoch to epoch, with a mark at the least."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class EpochCurveDisplay:
    """Training and validation loss against the epoch, with a mark where the validation loss is least.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    train : array-like of shape (n_epochs,)
        Loss on training rows after each epoch.
    validation : array-like of shape (n_epochs,) or None, default=None
        Loss on validation rows after each epoch.

    Attributes
    ----------
    best_ : int
        The epoch, from one, with the least validation loss, or without one the least training loss; the first of
        equals.
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    train_line_, validation_line_, mark_ : matplotlib objects
        What was drawn; ``validation_line_`` may be None.

    Examples
    --------
    >>> from mercer.inspection import EpochCurveDisplay
    >>> EpochCurveDisplay([3.0, 2.0, 1.0, 0.5], [3.1, 2.4, 2.2, 2.6]).best_
    3
    """

    def __init__(self, train: Any, validation: Any = None) -> None:
        self.train = np.asarray(train, dtype=np.float64)
        self.validation = None if validation is None else np.asarray(validation, dtype=np.float64)
        if self.train.ndim != 1 or not len(self.train):
            raise DataError(f"EpochCurveDisplay: train must have one loss per epoch; got shape {self.train.shape}.")
        if self.validation is not None and self.validation.shape != self.train.shape:
            raise DataError(
                f"EpochCurveDisplay: validation must have one loss per epoch, {len(self.train)}; got shape "
                f"{self.validation.shape}."
            )
        self.best_ = int(np.nanargmin(self.train if self.validation is None else self.validation)) + 1

    @classmethod
    def compute(cls, fitted: Any, watch: Any = None) -> "EpochCurveDisplay":
        """Take the losses of a fit from its history, without drawing.

        Parameters
        ----------
        fitted : estimator with ``history_``, or result of :func:`mercer.optim.minimize`
            The objective of each step is the training loss.
        watch : EarlyStopping or None, default=None
            What followed the fit: a rule of :mod:`mercer.optim`, whose ``errors_`` are taken, or a watch of
            :mod:`mercer.watch`, whose ``scores_`` are taken with the other sign.

        Returns
        -------
        EpochCurveDisplay
        """
        history = getattr(fitted, "history_", getattr(fitted, "history", None))
        if history is None or "objective" not in history:
            raise DataError(
                f"EpochCurveDisplay: the model must be fitted and have a history_ with 'objective'; got "
                f"{type(fitted).__name__}. Fit an iterative estimator."
            )
        train = np.asarray(history["objective"], dtype=np.float64)
        if watch is None:
            return cls(train)
        # Scores of a watch are greater for better models; their negatives are drawn as losses.
        validation = watch.errors_ if hasattr(watch, "errors_") else -np.asarray(watch.scores_, dtype=np.float64)
        return cls(train, validation)

    @classmethod
    def from_estimator(cls, fitted: Any, watch: Any = None, *, ax: Any = None, **kwargs: Any) -> "EpochCurveDisplay":
        """Draw the losses of a fit; takes what :meth:`compute` and :meth:`plot` take."""
        return cls.compute(fitted, watch).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "EpochCurveDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        EpochCurveDisplay
            The display itself.
        """
        ax = make_axes(ax)
        epochs = np.arange(1, len(self.train) + 1)
        (self.train_line_,) = ax.plot(epochs, self.train, **({"color": "0.6", "label": "training rows"} | kwargs))
        self.validation_line_ = None
        if self.validation is not None:
            (self.validation_line_,) = ax.plot(
                epochs, self.validation, **({"color": "black", "label": "validation rows"} | kwargs)
            )
        judged = self.train if self.validation is None else self.validation
        ax.axvline(self.best_, color="tab:red", linestyle=":")
        (self.mark_,) = ax.plot(
            [self.best_], [judged[self.best_ - 1]], "o", color="tab:red", label=f"least, epoch {self.best_}"
        )
        ax.set(xlabel="epoch", ylabel="loss")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
