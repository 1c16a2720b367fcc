"""What happens in the layers of a network: gradients, pre-activations, filters."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._display import Display, draws
from mercer.neural_network import Conv2d, LayerReport, Network, examine_layers, unfold_estimator


class LayerHealthDisplay(Display):
    """Norms of the gradients of all layers with weights, and shares of saturated and dead units of all activations.

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

    artist = "barh"

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

    from_network = draws(compute)

    @draws
    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None) -> "LayerHealthDisplay":
        """Draw what rows show of the layers of a fitted network.

        Parameters
        ----------
        model : MLPClassifier, MLPRegressor, Autoencoder, ConvClassifier, RecurrentClassifier or RecurrentRegressor
        X, y : array-like
            Rows and targets, as its ``fit`` takes them; an autoencoder needs no y.
        """
        case = unfold_estimator(model, X, y)
        return cls.compute(case.network, case.theta, case.X, case.y, loss=case.loss, statistics=case.statistics)

    def _grid(self) -> dict[str, Any]:
        return {"columns": 2}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        left, right = axes
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


class PreActivationDisplay(Display):
    """Histograms of what enters the activations of a network, one for each.

    Parameters
    ----------
    reports : list of LayerReport
        As :func:`mercer.neural_network.examine_layers` gives them.
    bins : int, default=40

    Attributes
    ----------
    counts_ : dict
        Names of activations, with counts and edges of their bins.
    """

    artist = "stairs"

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

    from_network = draws(compute)

    @draws
    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None, *, bins: int = 40) -> "PreActivationDisplay":
        """Draw what rows show of the layers of a fitted network.

        Parameters
        ----------
        model : MLPClassifier, MLPRegressor, Autoencoder, ConvClassifier, RecurrentClassifier or RecurrentRegressor
        X, y : array-like
            Rows and targets, as its ``fit`` takes them; an autoencoder needs no y.
        bins : int, default=40
        """
        case = unfold_estimator(model, X, y)
        return cls.compute(
            case.network, case.theta, case.X, case.y, loss=case.loss, statistics=case.statistics, bins=bins
        )

    def _grid(self) -> dict[str, Any]:
        return {"columns": len(self.counts_)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        for ax, (name, (counts, edges)) in zip(axes, self.counts_.items(), strict=True):
            ax.stairs(counts, edges, **({"fill": True, "color": "tab:blue", "alpha": 0.6} | kwargs))
            ax.set(title=name, xlabel="pre-activation", yticks=[])


class FilterDisplay(Display):
    """The weights of the filters of a convolution: one image for each, with its mean over input channels.

    Parameters
    ----------
    filters : array-like of shape (n_filters, height, width)
        The weights.

    Attributes
    ----------
    images_ : list
        What was drawn.
    """

    artist = "imshow"

    def __init__(self, filters: Any) -> None:
        self.filters = np.asarray(filters, dtype=np.float64)
        if self.filters.ndim != 3 or not self.filters.size:
            raise DataError(
                f"FilterDisplay: filters must have the shape (n_filters, height, width); got {self.filters.shape}. "
                f"Average the input channels first."
            )

    @draws
    @classmethod
    def from_estimator(cls, model: Any, *, layer: int = 0) -> "FilterDisplay":
        """Draw the filters of a fitted ConvClassifier.

        Parameters
        ----------
        model : ConvClassifier
        layer : int, default=0
            Which of its convolutions; filters of the first one see the image itself.
        """
        case = unfold_estimator(model)
        nodes = [(node.name, node.layer) for node in case.network.nodes if isinstance(node.layer, Conv2d)]
        if not -len(nodes) <= layer < len(nodes):
            raise DataError(
                f"FilterDisplay: layer must be below the number of convolutions, {len(nodes)}; got {layer}. Count from "
                f"0, and pass a fitted ConvClassifier."
            )
        name, convolution = nodes[layer]
        window = convolution.window
        height, width = (window, window) if isinstance(window, int) else window
        # Weights are (height, width, channels, filters); the mean over channels is what a grey picture can show.
        W = case.network.split(case.theta)[name]["W"].reshape(height, width, -1, convolution.filters)
        return cls(np.moveaxis(W.mean(axis=2), -1, 0))

    def _grid(self) -> dict[str, Any]:
        columns = min(8, len(self.filters))
        rows = -(-len(self.filters) // columns)
        return {"rows": rows, "columns": columns, "figsize": (columns, rows)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        # One scale for all, white at zero, so that filters can be compared.
        largest = float(np.abs(self.filters).max()) or 1.0
        options = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest} | kwargs
        self.images_ = [ax.imshow(image, **options) for ax, image in zip(axes, self.filters, strict=False)]
        for number, ax in enumerate(axes):
            ax.set(xticks=[], yticks=[])
            ax.set_visible(number < len(self.filters))
