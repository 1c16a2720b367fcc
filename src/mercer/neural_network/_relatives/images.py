"""A convolutional network for small images."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting, open_new_rows
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Rule
from mercer._base.validation import check_labels
from mercer._solver import Solver
from mercer._source import Source
from mercer._stored import Stored, floats, integers, mapping, members
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.neural_network._layers.activations import ACTIVATIONS, Activation
from mercer.neural_network._layers.dense import Dense
from mercer.neural_network._layers.layer import Layer
from mercer.neural_network._layers.losses import read_loss
from mercer.neural_network._layers.network import Network
from mercer.neural_network._layers.normalisation import BatchNorm, Dropout
from mercer.neural_network._layers.shaping import Flatten
from mercer.neural_network._layers.windows import Conv2d, MaxPool
from mercer.neural_network._relatives.network_model import WHOLE_ROWS, NetworkModel, find_penalised
from mercer.neural_network._relatives.supervised import Supervised
from mercer.neural_network._relatives.training import TrainingState, train

__all__ = ["ConvClassifier"]

# Rows whose outputs are computed at a time: a layer of 32 channels of 28 x 28 pixels takes 25 MB of float32.
_TOGETHER = 256


def find_image_shape(n_features: int) -> tuple[int, int, int]:
    """Return the most nearly square height and width, height first, whose product is the number of columns."""
    height = next(side for side in range(math.isqrt(n_features), 0, -1) if n_features % side == 0)
    return height, n_features // height, 1


class ConvClassifier(ClassifierMixin, NetworkModel):
    """A convolutional network for small images: convolutions with pooling, then dense layers, then softmax.

    For each number in `filters` the network has a convolution, batch norm if asked for, the activation, and a maximum
    over windows. It minimises the mean log loss plus (alpha / 2) |W|^2 by Adam.

    Parameters
    ----------
    image_shape : an array-like or None, default=None
        (height, width) or (height, width, channels) of a row of X. None reads it from X if X has 3 or 4 axes; else the
        most nearly square shape is taken, with one channel.
    filters : an array-like, default=(16, 32)
        Channels of the convolutions.
    window : an integer in [1, inf), default=3
        Side of the window of a convolution; the image is padded so that its size stays, for an odd side.
    pool : an integer in [1, inf), default=2
        Side of the windows of the maximum after each convolution; 1 for none. Axes shorter than two windows are left
        alone.
    hidden_layer_sizes : an array-like, default=(64,)
        Units of the dense layers after the convolutions.
    activation : one of 'identity', 'logistic', 'tanh', 'relu', 'leaky_relu', 'elu', 'gelu', 'softplus', default='relu'
        Activation of all layers.
    batch_norm : a boolean, default=False
        Whether every convolution is normalised over its batch.
    dropout : a number in [0, 1), default=0.0
        Share of units that are dropped before each dense layer.
    alpha : a number in [0, inf), default=0.0001
        Strength of the L2 penalty on the weights.
    learning_rate_init : a number in (0, inf), default=0.001
        Step size of Adam.
    batch_size : an integer in [1, inf), default=64
        Rows in a batch.
    max_iter : an integer in [1, inf), default=30
        Most passes over the rows.
    tol : a number in [0, inf), default=0.0001
        Fall of the loss that counts as one.
    n_iter_no_change : an integer in [1, inf), default=10
        Passes without such a fall that end the fit.
    early_stopping : a boolean, default=False
        Whether some rows are held out, the fit ends by their loss, and the weights that were best on them are kept.
    validation_fraction : a number in (0, 1), default=0.1
        Share of these rows.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        Seed of the first weights, the batches and dropout.
    verbose : a boolean, default=False
        Whether to print each pass.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit stops, at the end of a pass.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    image_shape_ : tuple of int
        (height, width, channels).
    weights_ : ndarray of shape (n_weights,)
    network_ : property
        The network; see :class:`Network`.

    Notes
    -----
    Rows are images in the order (height, width, channels), as 2-D rows or as arrays of 3 or 4 axes. A convolution is a
    dense layer whose weights are shared by all places and zero outside a window: shifting the image shifts its maps.

    References
    ----------
    LeCun, Bottou, Bengio and Haffner (1998), Gradient-based learning applied to document recognition.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer.neural_network import ConvClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X = (X / 16).astype("float32")
    >>> model = ConvClassifier(filters=(8,), hidden_layer_sizes=(), learning_rate_init=0.01, max_iter=5, random_state=0)
    >>> model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.85  # doctest: +SKIP
    True
    """

    _parameters: ClassVar[dict[str, Rule]] = {
        "image_shape": ArrayRule() | Nothing(),
        "filters": ArrayRule(),
        "window": Integer(1),
        "pool": Integer(1),
        "hidden_layer_sizes": ArrayRule(),
        "activation": Choice(*(name for name in ACTIVATIONS if name != "step")),
        "batch_norm": Boolean(),
        "dropout": Real(0, 1, closed="left"),
        **NetworkModel._training,
    }

    _law_exceptions: ClassVar[dict[str, str]] = {
        **NetworkModel._law_exceptions,
        "three dimensions": "an array of three dimensions holds images",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "image_shape_": members(integers(low=0)),
        "_statistics": mapping(floats("*") | members(floats("*"))),
    }

    def __init__(
        self,
        image_shape: Sequence[int] | None = None,
        *,
        filters: Sequence[int] = (16, 32),
        window: int = 3,
        pool: int = 2,
        hidden_layer_sizes: Sequence[int] = (64,),
        activation: str = "relu",
        batch_norm: bool = False,
        dropout: float = 0.0,
        alpha: float = 0.0001,
        learning_rate_init: float = 0.001,
        batch_size: int = 64,
        max_iter: int = 30,
        tol: float = 0.0001,
        n_iter_no_change: int = 10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        verbose: bool = False,
        max_time: float | None = None,
    ) -> None:
        self.image_shape = image_shape
        self.filters = filters
        self.window = window
        self.pool = pool
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.batch_norm = batch_norm
        self.dropout = dropout
        self.alpha = alpha
        self.learning_rate_init = learning_rate_init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "ConvClassifier":
        """Learn from images.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, height, width) or with channels as a last axis
            Images.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts.

        Returns
        -------
        ConvClassifier
            The fitted estimator.
        """
        X, seen = _flatten_images(X)
        source = self._open(X, y, sample_weight, targets="labels")
        shape = self._read_shape(source.n_features, seen)
        check_labels(source.y)
        classes, codes = np.unique(source.y, return_inverse=True)
        network = self._build(shape, len(classes))
        seed = self._seed()
        theta, statistics = network.initialise(seed[0], source.host_dtype)
        first = TrainingState.begin(theta, statistics, seed)
        penalised = find_penalised(network).astype(theta.dtype)

        def make_task(given: tuple[Array, Array, Array]) -> Supervised:
            loss = read_loss("log_loss", len(classes) if len(classes) > 1 else 2)
            return Supervised(network, {"input": given[0]}, codes, given[2], loss, self.alpha, penalised)

        def solve(start: TrainingState | None) -> Solver[TrainingState]:
            return train(self._schedule(), make_task, WHOLE_ROWS, start or first)

        known = {"classes_": classes, "image_shape_": shape}
        outcome = self._drive(solve, source, max_steps=self.max_iter, attributes=known)
        self._finish(outcome)
        return self

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return source.y

    def _fitted(self, state: TrainingState) -> dict[str, Any]:
        theta, statistics = state.choose_weights()
        return {"weights_": theta, "_statistics": statistics}

    def _read_shape(self, n_features: int, seen: tuple[int, ...] | None) -> tuple[int, int, int]:
        """Return (height, width, channels), checked against the number of columns."""
        given = seen if self.image_shape is None else tuple(int(side) for side in self.image_shape)
        if given is None:
            return find_image_shape(n_features)
        shape = (*given, 1) if len(given) == 2 else given
        if len(shape) != 3 or min(shape) < 1 or math.prod(shape) != n_features:
            message = (
                f"ConvClassifier: image_shape must be (height, width) or (height, width, channels) with the product "
                f"{n_features}, the number of values in a row; got {given}. Pass the shape of the images."
            )
            raise ParameterError(message)
        if self.image_shape is not None and seen is not None and (*seen, 1)[:3] != shape:
            message = f"ConvClassifier: images must have the shape {shape} that image_shape gives; got {seen}."
            raise DataError(message)
        return shape[0], shape[1], shape[2]

    def _build(self, shape: tuple[int, int, int], n_classes: int) -> Network:
        layers: list[Layer] = []
        height, width, _ = shape
        for channels in np.atleast_1d(np.asarray(self.filters, dtype=np.int64)):
            # An axis of one pixel has no neighbours. Zeros around the image keep its size.
            sides = tuple(1 if side == 1 else self.window for side in (height, width))
            padding = tuple(side // 2 for side in sides)
            layers.append(Conv2d(int(channels), sides, padding=padding, activation=self.activation))
            height, width = (
                side + 2 * zeros - wide + 1 for side, zeros, wide in zip((height, width), padding, sides, strict=True)
            )
            if self.batch_norm:
                layers.append(BatchNorm())
            layers.append(Activation(self.activation))
            # The maximum over a whole axis would forget where things are.
            pools = tuple(self.pool if side >= 2 * self.pool else 1 for side in (height, width))
            if max(pools) > 1:
                layers.append(MaxPool(pools))
                height, width = height // pools[0], width // pools[1]
        layers.append(Flatten())
        for units in np.asarray(self.hidden_layer_sizes, dtype=np.int64).ravel():
            layers += [Dropout(self.dropout)] if self.dropout else []
            layers += [Dense(int(units), activation=self.activation), Activation(self.activation)]
        layers += [Dropout(self.dropout)] if self.dropout else []
        layers.append(Dense(max(n_classes, 2)))
        return Network(layers, shape)

    @property
    def network_(self) -> Network:
        """The network, without its weights."""
        check_is_fitted(self, "weights_")
        return self._build(self.image_shape_, len(self.classes_))

    def predict_proba(self, X: Any) -> Array:
        """Compute the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, height, width) or with channels as a last axis

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X, seen = _flatten_images(X)
        if seen is not None and (*seen, 1)[:3] != self.image_shape_:
            message = (
                f"ConvClassifier: images must have the shape {self.image_shape_} of those that were learnt; got "
                f"{seen}. Scale or cut them to it."
            )
            raise DataError(message)
        source = open_new_rows(self, X)
        network = self.network_
        rows = source.whole()
        parts = []
        for start in range(0, len(rows), _TOGETHER):
            batch = rows[start : start + _TOGETHER].astype(self.weights_.dtype, copy=False)
            trace = network.forward(self.weights_, batch.reshape(len(batch), *self.image_shape_), self._statistics)
            parts.append(softmax(trace.output, axis=1))
        return np.concatenate(parts)[:, : len(self.classes_)] if len(self.classes_) > 1 else np.ones((len(rows), 1))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each image.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, height, width) or with channels as a last axis

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]


def _flatten_images(X: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Return images as rows, and their shape where X has an axis for each side."""
    if isinstance(X, np.ndarray) and X.ndim in (3, 4):
        if X.shape[0] == 0:
            message = "ConvClassifier: X must hold at least one image; got none."
            raise DataError(message)
        return X.reshape(len(X), -1), tuple(int(side) for side in X.shape[1:])
    return X, None
