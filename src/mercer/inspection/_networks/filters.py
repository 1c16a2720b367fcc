"""The filters of a convolutional network, as small images."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes
from mercer.neural_network import Conv2d, unfold_estimator


class FilterDisplay:
    """The weights of the filters of a convolution: one image for each, with its mean over input channels.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    filters : array-like of shape (n_filters, height, width)
        The weights.

    Attributes
    ----------
    axes_, figure_ : matplotlib objects
        Where it was drawn.
    images_ : list
        What was drawn.
    """

    def __init__(self, filters: Any) -> None:
        self.filters = np.asarray(filters, dtype=np.float64)
        if self.filters.ndim != 3 or not self.filters.size:
            raise DataError(
                f"FilterDisplay: filters must have the shape (n_filters, height, width); got {self.filters.shape}. "
                f"Average the input channels first."
            )

    @classmethod
    def from_estimator(cls, model: Any, *, layer: int = 0, axes: Any = None) -> "FilterDisplay":
        """Draw the filters of a fitted ConvClassifier.

        Parameters
        ----------
        model : ConvClassifier
        layer : int, default=0
            Which of its convolutions; filters of the first one see the image itself.
        axes : matplotlib axes, one for each filter, or None, default=None

        Returns
        -------
        FilterDisplay
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
        return cls(np.moveaxis(W.mean(axis=2), -1, 0)).plot(axes=axes)

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "FilterDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : matplotlib axes, one for each filter, or None, default=None
            Where to draw; None makes a new figure, eight filters to a row.
        **kwargs : dict
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        FilterDisplay
            The display itself.
        """
        n_filters = len(self.filters)
        n_columns = min(8, n_filters)
        n_lines = -(-n_filters // n_columns)
        places = np.ravel(make_axes(axes, n_lines, n_columns, figsize=(n_columns, n_lines)))
        # One scale for all, white at zero, so that filters can be compared.
        largest = float(np.abs(self.filters).max()) or 1.0
        options = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest} | kwargs
        self.images_ = [ax.imshow(image, **options) for ax, image in zip(places, self.filters, strict=False)]
        for number, ax in enumerate(places):
            ax.set(xticks=[], yticks=[])
            ax.set_visible(number < n_filters)
        self.axes_, self.figure_ = places, places[0].figure
        return self
