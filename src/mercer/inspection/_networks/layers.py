"""Layers in training: gradient norms, saturated and dead units, and histograms of pre-activations."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes
from mercer.neural_network import LayerReport, Network, examine_layers, unfold_estimator


class LayerHealthDisplay:
    """Norms of the gradients of all layers with weights, and shares of saturated and dead units of all activations.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    reports : list of LayerReport
        As :func:`mercer.neural_network.examine_layers` gives them.

    Attributes
    ----------
    gradient_norms_ : dict
        Names of layers with weights, and the norms of their gradients.
    saturated_, dead_ : dict
        Names of activations, and their shares of saturated pre-activations and of dead units.
    axes_, figure_ : matplotlib objects
        Where it was drawn.
    bars_ : list
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import LayerHealthDisplay
    >>> from mercer.neural_network import Activation, Dense, Network
    >>> network = Network([Dense(4), Activation("tanh"), Dense(1)], (3,))
    >>> theta, _ = network.initialise(0)
    >>> list(LayerHealthDisplay.compute(network, theta, np.ones((2, 3)), np.ones(2)).gradient_norms_)
    ['0 Dense', '2 Dense']
    """

    def __init__(self, reports: list[LayerReport]) -> None:
        if not reports:
            raise DataError("LayerHealthDisplay: reports must hold at least one layer; got none.")
        self.reports = reports
        self.gradient_norms_ = {report.name: report.gradient_norm for report in reports if report.weight_norm > 0}
        active = [report for report in reports if report.pre_activations is not None]
        self.saturated_ = {report.name: report.saturated for report in active}
        self.dead_ = {report.name: report.dead for report in active}

    @classmethod
    def compute(cls, network: Network, theta: Any, X: Any, y: Any, **options: Any) -> "LayerHealthDisplay":
        """Compute the display without drawing; takes what :func:`mercer.neural_network.examine_layers` takes."""
        return cls(examine_layers(network, theta, X, y, **options))

    @classmethod
    def from_network(
        cls, network: Network, theta: Any, X: Any, y: Any, *, axes: Any = None, **options: Any
    ) -> "LayerHealthDisplay":
        """Draw a batch; takes what :meth:`compute` takes, and two axes."""
        return cls.compute(network, theta, X, y, **options).plot(axes=axes)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None, *, axes: Any = None) -> "LayerHealthDisplay":
        """Draw what rows show of the layers of a fitted network.

        Parameters
        ----------
        model : MLPClassifier, MLPRegressor, Autoencoder, ConvClassifier, RecurrentClassifier or RecurrentRegressor
        X, y : array-like
            Rows and targets, as its ``fit`` takes them; an autoencoder needs no y.
        axes : matplotlib axes or None, default=None
            As :meth:`plot` takes them.

        Returns
        -------
        LayerHealthDisplay
        """
        case = unfold_estimator(model, X, y)
        return cls.compute(case.network, case.theta, case.X, case.y, loss=case.loss, statistics=case.statistics).plot(
            axes=axes
        )

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "LayerHealthDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : two matplotlib axes or None, default=None
            Where to draw the norms and the shares; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``barh``.

        Returns
        -------
        LayerHealthDisplay
            The display itself.
        """
        left, right = make_axes(axes, 1, 2, layout="constrained")
        names = list(self.gradient_norms_)
        self.bars_ = [left.barh(names, list(self.gradient_norms_.values()), **({"color": "tab:blue"} | kwargs))]
        left.set(xlabel="norm of the gradient")
        norms = list(self.gradient_norms_.values())
        # A logarithmic axis shows gradients that vanish or explode; within a factor of ten it would have no labels.
        if norms and max(norms) > 10.0 * min(norms) > 0:
            left.set_xscale("log")
        places = np.arange(len(self.saturated_))
        for shift, label, shares, color in (
            (-0.2, "saturated", self.saturated_, "tab:orange"),
            (0.2, "dead", self.dead_, "black"),
        ):
            options = {"height": 0.38, "color": color, "label": label} | kwargs
            self.bars_.append(right.barh(places + shift, list(shares.values()), **options))
        right.set(yticks=places, yticklabels=list(self.saturated_), xlabel="share of units", xlim=(0, 1))
        right.legend()
        for ax in (left, right):
            ax.invert_yaxis()
        self.axes_, self.figure_ = (left, right), left.figure
        return self


class PreActivationDisplay:
    """Histograms of what enters the activations of a network, one for each.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    reports : list of LayerReport
        As :func:`mercer.neural_network.examine_layers` gives them.
    bins : int, default=40

    Attributes
    ----------
    counts_ : dict
        Names of activations, with counts and edges of their bins.
    axes_, figure_ : matplotlib objects
        Where it was drawn.
    """

    def __init__(self, reports: list[LayerReport], *, bins: int = 40) -> None:
        active = [report for report in reports if report.pre_activations is not None]
        if not active:
            raise DataError("PreActivationDisplay: the network must have an Activation layer; got none.")
        self.bins = bins
        self.counts_ = {report.name: np.histogram(np.asarray(report.pre_activations), bins) for report in active}

    @classmethod
    def compute(
        cls, network: Network, theta: Any, X: Any, y: Any, *, bins: int = 40, **options: Any
    ) -> "PreActivationDisplay":
        """Compute the display without drawing; takes what :func:`mercer.neural_network.examine_layers` takes."""
        return cls(examine_layers(network, theta, X, y, **options), bins=bins)

    @classmethod
    def from_network(
        cls, network: Network, theta: Any, X: Any, y: Any, *, axes: Any = None, **options: Any
    ) -> "PreActivationDisplay":
        """Draw a batch; takes what :meth:`compute` takes, and one axes for each activation."""
        return cls.compute(network, theta, X, y, **options).plot(axes=axes)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, axes: Any = None, bins: int = 40
    ) -> "PreActivationDisplay":
        """Draw what rows show of the layers of a fitted network.

        Parameters
        ----------
        model : MLPClassifier, MLPRegressor, Autoencoder, ConvClassifier, RecurrentClassifier or RecurrentRegressor
        X, y : array-like
            Rows and targets, as its ``fit`` takes them; an autoencoder needs no y.
        axes : matplotlib axes or None, default=None
            As :meth:`plot` takes them.
        bins : int, default=40

        Returns
        -------
        PreActivationDisplay
        """
        case = unfold_estimator(model, X, y)
        return cls.compute(
            case.network, case.theta, case.X, case.y, loss=case.loss, statistics=case.statistics, bins=bins
        ).plot(axes=axes)

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "PreActivationDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : matplotlib axes, one for each activation, or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``stairs``.

        Returns
        -------
        PreActivationDisplay
            The display itself.
        """
        places = np.atleast_1d(make_axes(axes, 1, len(self.counts_)))
        for ax, (name, (counts, edges)) in zip(places, self.counts_.items(), strict=True):
            ax.stairs(counts, edges, **({"fill": True, "color": "tab:blue", "alpha": 0.6} | kwargs))
            ax.set(title=name, xlabel="pre-activation", yticks=[])
        self.axes_, self.figure_ = places, places[0].figure
        return self
