"""What is believed of a parameter: prior, likelihood and posterior, with their marks."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class ParameterPosteriorDisplay:
    """Prior, likelihood (scaled to area one) and posterior of one parameter.

    Marks the maximum of the likelihood and of the posterior, and the posterior mean. Needs matplotlib, which is
    imported when :meth:`plot` is called.

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
    ax_, figure_, lines_ : matplotlib objects
        Where and what was drawn.

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

    @classmethod
    def from_belief(cls, belief: Any, X: Any, parameter: Any, *, ax: Any = None, **kwargs: Any) -> Any:
        """Draw a conjugate belief before and after observations.

        Parameters
        ----------
        belief : Conjugate
            The prior, of one parameter.
        X : array-like of shape (n,)
            Observations.
        parameter : array-like of shape (m,)
            Values of the parameter, increasing.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        ParameterPosteriorDisplay
        """
        prior, after = belief.logpdf(parameter), belief.update(X).logpdf(parameter)
        # By Bayes' rule the likelihood is the posterior divided by the prior, up to a constant.
        with np.errstate(invalid="ignore"):
            likelihood = np.nan_to_num(np.exp(after - prior))
        return cls(parameter, np.exp(prior), likelihood, np.exp(after)).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "ParameterPosteriorDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        ParameterPosteriorDisplay
            The display itself.
        """
        ax = make_axes(ax)
        curves = {"prior": self.prior, "likelihood": self.likelihood, "posterior": self.posterior}
        self.lines_ = [ax.plot(self.parameter, curve, label=name, **kwargs)[0] for name, curve in curves.items()]
        marks = {"most likely": self.most_likely_, "posterior mode": self.mode_, "posterior mean": self.mean_}
        for (name, place), style in zip(marks.items(), (":", "--", "-."), strict=True):
            ax.axvline(place, color="grey", linestyle=style, linewidth=1, label=name)
        ax.set(xlabel="parameter", ylabel="density")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
