"""What is believed after data: of a parameter, of models, of a prediction; and the risk of shrinkage."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.estimation import james_stein_risk, optimal_prediction
from mercer.inspection._display import Display, draws


class ParameterPosteriorDisplay(Display):
    """Prior, likelihood (scaled to area one) and posterior of one parameter.

    Marks the maximum of the likelihood and of the posterior, and the posterior mean.

    Parameters
    ----------
    parameter : array-like of shape (m,)
        Values of the parameter, increasing.
    prior, likelihood, posterior : array-like of shape (m,)
        Densities there.

    Attributes
    ----------
    most_likely_ : float
        Where the likelihood is highest.
    mode_ : float
        Where the posterior is highest.
    mean_ : float
        The posterior mean.
    lines_ : matplotlib objects
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimation import BetaGeometric
    >>> from mercer.inspection import ParameterPosteriorDisplay
    >>> display = ParameterPosteriorDisplay.from_belief(BetaGeometric(), [0, 2, 0, 1], np.linspace(0.001, 0.999, 999))
    >>> round(display.mode_, 3), round(display.mean_, 3)  # 4/7 and 5/9
    (0.571, 0.556)
    """

    def __init__(self, parameter: Any, prior: Any, likelihood: Any, posterior: Any) -> None:
        self.parameter = np.asarray(parameter, dtype=np.float64)
        curves = [np.asarray(curve, dtype=np.float64) for curve in (prior, likelihood, posterior)]
        if any(curve.shape != self.parameter.shape for curve in curves) or self.parameter.ndim != 1:
            raise DataError(
                f"ParameterPosteriorDisplay: all curves must have the shape of parameter, {self.parameter.shape}."
            )
        self.prior, likelihood, self.posterior = curves
        # A likelihood is no density of the parameter; an area of one lets it share the axis with two that are.
        self.likelihood = likelihood / np.trapezoid(likelihood, self.parameter)
        self.most_likely_ = float(self.parameter[self.likelihood.argmax()])
        self.mode_ = float(self.parameter[self.posterior.argmax()])
        area = np.trapezoid(self.posterior, self.parameter)
        self.mean_ = float(np.trapezoid(self.posterior * self.parameter, self.parameter) / area)

    @draws
    @classmethod
    def from_belief(cls, belief: Any, X: Any, parameter: Any) -> Any:
        """Draw a conjugate belief before and after observations.

        Parameters
        ----------
        belief : Conjugate
            The prior, of one parameter.
        X : array-like of shape (n,)
            Observations.
        parameter : array-like of shape (m,)
            Values of the parameter, increasing.
        """
        prior, after = belief.logpdf(parameter), belief.update(X).logpdf(parameter)
        # By Bayes' rule the likelihood is the posterior divided by the prior, up to a constant.
        with np.errstate(invalid="ignore"):
            likelihood = np.nan_to_num(np.exp(after - prior))
        return cls(parameter, np.exp(prior), likelihood, np.exp(after))

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        curves = {"prior": self.prior, "likelihood": self.likelihood, "posterior": self.posterior}
        self.lines_ = [ax.plot(self.parameter, curve, label=name, **kwargs)[0] for name, curve in curves.items()]
        marks = {"most likely": self.most_likely_, "posterior mode": self.mode_, "posterior mean": self.mean_}
        for (name, place), style in zip(marks.items(), (":", "--", "-."), strict=True):
            ax.axvline(place, color="grey", linestyle=style, linewidth=1, label=name)
        ax.set(xlabel="parameter", ylabel="density")
        ax.legend()


class EvidenceDisplay(Display):
    """The evidence of models against the observation: a simple model bets much on few data sets, a flexible one
    little on many.

    Each curve has the area one, so that none is above all others everywhere (Occam's razor).

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

    from_models = draws(compute)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.lines_ = [
            ax.plot(self.x, values, **({"label": name} | kwargs))[0] for name, values in self.evidence.items()
        ]
        ax.set(xlabel="observation", ylabel="evidence")
        ax.legend()


class OptimalPredictionDisplay(Display):
    """A predictive density, and the predictions of least expected loss: mean, median, mode.

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

    @draws
    @classmethod
    def from_density(cls, density: Any, y: Any) -> "OptimalPredictionDisplay":
        """Draw a density of one number on a grid.

        Parameters
        ----------
        density : density
            With ``logpdf``.
        y : array-like of shape (m,)
            An even grid.
        """
        y = np.asarray(y, dtype=np.float64)
        return cls(y, np.exp(density.logpdf(y)))

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        (self.line_,) = ax.plot(self.y, self.values, **({"color": "black"} | kwargs))
        self.marks_ = []
        for style, (loss, place) in zip(("-", "--", ":", "-."), self.predictions_.items()):
            label = f"{self._names.get(loss, loss)} {place:.3g} ({loss} loss)"
            self.marks_.append(ax.axvline(place, color="grey", linestyle=style, label=label))
        ax.set(xlabel="y", ylabel="predictive density")
        ax.legend()


class JamesSteinDisplay(Display):
    """Total mean squared error of the mean and of James and Stein's estimator against the norm of the truth.

    The mean of d coordinates has the risk d v whatever the truth is; James and Stein's is below it everywhere. Needs
    matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    d : int
        Coordinates, three or more.
    variance : float, default=1.0
        v, of a coordinate of the sample mean.
    norms : array-like or None, default=None
        Distances of the truth from the target, increasing; None takes 201 from zero to three times root(d v).

    Attributes
    ----------
    norms_ : ndarray
        Where the curves are drawn.
    mean_risk_ : float
        d v.
    risk_ : ndarray
        Of James and Stein's estimator, without the positive part.
    mean_line_, line_ : matplotlib lines
        What was drawn.

    Examples
    --------
    >>> from mercer.inspection import JamesSteinDisplay
    >>> display = JamesSteinDisplay(10, norms=[0.0, 100.0])
    >>> display.mean_risk_, display.risk_.round(2)
    (10.0, array([2.  , 9.99]))
    """

    def __init__(self, d: int, variance: float = 1.0, *, norms: Any = None) -> None:
        self.d, self.variance = d, variance
        self.norms_ = (
            np.linspace(0.0, 3 * np.sqrt(d * variance), 201) if norms is None else np.asarray(norms, dtype=np.float64)
        )
        self.risk_ = james_stein_risk(self.norms_, d, variance)
        self.mean_risk_ = float(d * variance)

    from_dimension = draws(__init__)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        (self.mean_line_,) = ax.plot(
            self.norms_, np.full_like(self.norms_, self.mean_risk_), **({"color": "0.6", "label": "mean"} | kwargs)
        )
        (self.line_,) = ax.plot(self.norms_, self.risk_, **({"color": "black", "label": "James and Stein"} | kwargs))
        ax.set(xlabel="norm of the true mean", ylabel="mean squared error", ylim=(0, 1.1 * self.mean_risk_))
        ax.legend()
