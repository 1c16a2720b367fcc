"""What models expect of the data, and predictions of least loss from a predictive density."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.estimation import optimal_prediction
from mercer.inspection._axes import make_axes


class EvidenceDisplay:
    """The evidence of models against the observation: a simple model bets much on few data sets, a flexible one
    little on many.

    Each curve has the area one, so that none is above all others everywhere (Occam's razor). Needs matplotlib, which
    is imported when :meth:`plot` is called.

    Parameters
    ----------
    x : array-like of shape (m,)
        Observations, increasing.
    evidence : dict
        Names, and densities of shape (m,) of a data set that consists of that observation.

    Attributes
    ----------
    areas_ : dict
        Names, and the area below each curve, by trapezia.
    best_ : ndarray of str, shape (m,)
        The model with the highest evidence for each observation.
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    lines_ : list of matplotlib lines
        One a model.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimation import GaussianMean
    >>> from mercer.inspection import EvidenceDisplay
    >>> models = {"simple": GaussianMean(0.0, 0.1), "flexible": GaussianMean(0.0, 100.0)}
    >>> display = EvidenceDisplay.compute(models, np.linspace(-60, 60, 2001))
    >>> str(display.best_[1000]), str(display.best_[0]), round(display.areas_["flexible"], 3)
    ('simple', 'flexible', 1.0)
    """

    def __init__(self, x: Any, evidence: Mapping[str, Any]) -> None:
        self.x = np.asarray(x, dtype=np.float64)
        self.evidence = {name: np.asarray(values, dtype=np.float64) for name, values in evidence.items()}
        wrong = {name: values.shape for name, values in self.evidence.items() if values.shape != self.x.shape}
        if self.x.ndim != 1 or wrong or not self.evidence:
            raise DataError(
                f"EvidenceDisplay: evidence must have one entry per observation, {self.x.shape}; got {wrong}."
            )
        self.areas_ = {name: float(np.trapezoid(values, self.x)) for name, values in self.evidence.items()}
        order = np.array(list(self.evidence.values())).argmax(axis=0)
        self.best_ = np.array(list(self.evidence))[order]

    @classmethod
    def compute(cls, models: Mapping[str, Any], x: Any) -> "EvidenceDisplay":
        """Evaluate models on single observations, without drawing.

        Parameters
        ----------
        models : dict
            Names, and beliefs with ``log_evidence``, such as :class:`mercer.estimation.GaussianMean`; or densities
            with ``logpdf``, which are models without a free parameter.
        x : array-like of shape (m,)
            Observations.

        Returns
        -------
        EvidenceDisplay
        """
        x = np.asarray(x, dtype=np.float64)
        # One data set is one observation: the rows of a table of shape (1, m) are data sets of their columns.
        logs = {
            name: model.log_evidence(x[None]) if hasattr(model, "log_evidence") else model.logpdf(x)
            for name, model in models.items()
        }
        return cls(x, {name: np.exp(np.ravel(values)) for name, values in logs.items()})

    @classmethod
    def from_models(cls, models: Mapping[str, Any], x: Any, *, ax: Any = None, **kwargs: Any) -> "EvidenceDisplay":
        """Draw the evidence of models; takes what :meth:`compute` and :meth:`plot` take."""
        return cls.compute(models, x).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "EvidenceDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        EvidenceDisplay
            The display itself.
        """
        ax = make_axes(ax)
        self.lines_ = [
            ax.plot(self.x, values, **({"label": name} | kwargs))[0] for name, values in self.evidence.items()
        ]
        ax.set(xlabel="observation", ylabel="evidence")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class OptimalPredictionDisplay:
    """A predictive density, and the predictions of least expected loss: mean, median, mode.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    y : array-like of shape (m,)
        An even grid of targets.
    values : array-like of shape (m,)
        The predictive density there.
    losses : sequence of {"squared", "absolute", "zero_one"}, default=("squared", "absolute", "zero_one")
        Their best predictions are drawn.

    Attributes
    ----------
    predictions_ : dict
        Losses, and the predictions of :func:`mercer.estimation.optimal_prediction`.
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    line_, marks_ : matplotlib line, and list of matplotlib lines
        The density, and one vertical line a loss.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimation import GammaDensity
    >>> from mercer.inspection import OptimalPredictionDisplay
    >>> y = np.linspace(0.0, 40.0, 4001)
    >>> display = OptimalPredictionDisplay(y, np.exp(GammaDensity(3.0, 1.0).logpdf(y)))
    >>> {loss: round(value, 2) for loss, value in display.predictions_.items()}
    {'squared': 3.0, 'absolute': 2.67, 'zero_one': 2.0}
    """

    _names = {"squared": "mean", "absolute": "median", "zero_one": "mode"}

    def __init__(self, y: Any, values: Any, *, losses: Sequence[str] = ("squared", "absolute", "zero_one")) -> None:
        self.y, self.values = np.asarray(y, dtype=np.float64), np.asarray(values, dtype=np.float64)
        if self.y.ndim != 1 or self.values.shape != self.y.shape:
            raise DataError(
                "OptimalPredictionDisplay: values must be one per target of y, "
                f"{self.y.shape}; got {self.values.shape}."
            )
        self.losses = tuple(losses)
        self.predictions_ = {loss: float(optimal_prediction(self.y, self.values, loss=loss)) for loss in self.losses}

    @classmethod
    def from_density(cls, density: Any, y: Any, *, ax: Any = None, **kwargs: Any) -> "OptimalPredictionDisplay":
        """Draw a density of one number on a grid.

        Parameters
        ----------
        density : density
            With ``logpdf``.
        y : array-like of shape (m,)
            An even grid.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` of the density.

        Returns
        -------
        OptimalPredictionDisplay
        """
        y = np.asarray(y, dtype=np.float64)
        return cls(y, np.exp(density.logpdf(y))).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "OptimalPredictionDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` of the density.

        Returns
        -------
        OptimalPredictionDisplay
            The display itself.
        """
        ax = make_axes(ax)
        (self.line_,) = ax.plot(self.y, self.values, **({"color": "black"} | kwargs))
        self.marks_ = []
        for style, (loss, place) in zip(("-", "--", ":", "-."), self.predictions_.items()):
            label = f"{self._names.get(loss, loss)} {place:.3g} ({loss} loss)"
            self.marks_.append(ax.axvline(place, color="grey", linestyle=style, label=label))
        ax.set(xlabel="y", ylabel="predictive density")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
