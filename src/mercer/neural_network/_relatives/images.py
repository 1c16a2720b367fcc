"""A convolutional network for small images."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting, open_new_rows
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Instance, Integer, Nothing, Real, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._source import Source
from mercer._source.namespace import namespace_of, to_numpy
from mercer._source.placement import is_on_device
from mercer._stored import Stored, integers, members
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.neural_network._layers.activations import ACTIVATIONS, Activation
from mercer.neural_network._layers.dense import Dense
from mercer.neural_network._layers.layer import Layer
from mercer.neural_network._layers.losses import read_loss
from mercer.neural_network._layers.network import Network
from mercer.neural_network._layers.normalisation import BatchNorm, Dropout
from mercer.neural_network._layers.windows import Conv2d, Flatten, MaxPool
from mercer.neural_network._perceptron.labels import KnownLabels, check_classes, label_rows, read_factors
from mercer.neural_network._relatives.network_model import NetworkModel, NetworkOutputs, Validation, join_layers
from mercer.neural_network._relatives.supervised import Chances, ClassNames, Supervised

ImageShape = tuple[int, int, int]


@dataclass(frozen=True)
class ImageRows:
    """A function from rows (n, d) to the input of a network: images of one shape."""

    shape: ImageShape

    def __call__(self, rows: Array) -> dict[str, Array]:
        return {"input": namespace_of(rows).reshape(rows, (rows.shape[0], *self.shape))}


def find_image_shape(n_features: int) -> ImageShape:
    """Return the most nearly square height and width, height first, whose product is the number of columns."""
    height = next(side for side in range(math.isqrt(n_features), 0, -1) if n_features % side == 0)
    return height, n_features // height, 1


def flatten_images(X: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Return images as rows, and their shape where X has an axis for each side."""
    if (isinstance(X, np.ndarray) or is_on_device(X)) and X.ndim in (3, 4):
        if X.shape[0] == 0:
            raise DataError("ConvClassifier: X must hold at least one image; got none.")
        shape = tuple(int(side) for side in X.shape[1:])
        return namespace_of(X).reshape(X, (X.shape[0], math.prod(shape))), shape
    return X, None


def check_image_shape(seen: tuple[int, ...] | None, shape: ImageShape, whose: str) -> None:
    """Raise if images have another shape than they should; `whose` says where that one comes from."""
    if seen is not None and (*seen, 1)[:3] != shape:
        raise DataError(
            f"ConvClassifier: images must have the shape {shape} {whose}; got {seen}. Scale or cut them to it."
        )


# Rows whose outputs are computed at a time: a layer of 32 channels of 28 x 28 pixels takes 25 MB of float32.
_TOGETHER = 256


class ConvClassifier(ClassifierMixin, NetworkModel):
    """A convolutional network for small images: convolutions with pooling, then dense layers, then softmax.

    For each number in `filters` the network has a convolution, batch norm if asked for, the activation, and a maximum
    over windows. It minimises the mean log loss plus (alpha / 2) |W|^2.

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

    image_shape: Sequence[int] | None = parameter(
        ArrayRule("integers") | Nothing(),
        default=None,
        kw_only=False,
        doc="(height, width) or (height, width, channels) of a row of X. None reads it from X if X has 3 or 4 axes; "
        "else the most nearly square shape is taken, with one channel.",
    )
    filters: Sequence[int] = parameter(ArrayRule("integers"), default=(16, 32), doc="Channels of the convolutions.")
    window: int = parameter(
        Integer(1),
        default=3,
        doc="Side of the window of a convolution; the image is padded so that its size stays, for an odd side.",
    )
    pool: int = parameter(
        Integer(1),
        default=2,
        doc="Side of the windows of the maximum after each convolution; 1 for none. Axes shorter than two windows "
        "are left alone.",
    )
    hidden_layer_sizes: Sequence[int] = parameter(
        ArrayRule("integers"), default=(64,), doc="Units of the dense layers after the convolutions."
    )
    activation: str = parameter(
        Choice(*(name for name in ACTIVATIONS if name != "step")), default="relu", doc="Activation of all layers."
    )
    batch_norm: bool = parameter(
        Boolean(), default=False, doc="Whether every convolution is normalised over its batch."
    )
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        after="dropout",
        doc='Factors of the weights of the images of each class; "balanced" makes them inverse to the class '
        "frequencies.",
    )
    alpha: float = parameter(Real(0), default=0.0001)
    batch_size: int = parameter(Integer(1), default=64, after="learning_rate_init", doc="Images in a batch.")
    max_iter: int = parameter(Integer(1), default=30, doc="Most passes over the images.")

    _documents = {
        "dropout": "Share of units that are dropped before each dense layer.",
    }

    _law_exceptions: ClassVar[dict[str, str]] = {
        **NetworkModel._law_exceptions,
        "three dimensions": "an array of three dimensions holds images",
    }

    _stored: ClassVar[dict[str, Stored]] = {"image_shape_": members(integers(low=0))}

    @fitting
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> "ConvClassifier":
        """Learn from images.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, height, width) or with channels as a last axis
            Images; or a file, a stream, a Dask collection or rows on a device, with an image in each row.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each image counts.
        X_val, y_val, sample_weight_val : default=None
            Images that `early_stopping` judges by, in place of a part of `X`.
        """
        self._check_together(self.dropout > 0 or self.batch_norm)
        X, seen = flatten_images(X)
        source = self._open(X, y, sample_weight, targets="labels")
        shape = self._read_shape(source.n_features, seen)
        classes, source = label_rows(self, source)
        if self.warm_start and hasattr(self, "classes_") and not np.array_equal(classes, to_numpy(self.classes_)):
            raise DataError(
                f"ConvClassifier: warm_start needs the classes of the last fit, {self.classes_}; got {classes}. Set "
                f"warm_start=False, or pass rows of the same classes."
            )
        validation = None
        if self._check_validation(X_val, y_val):
            validation = self._open_judged(X_val, y_val, sample_weight_val, shape, classes)
        known = {"classes_": classes, "image_shape_": shape}
        self._train(self._make_task(shape, len(classes)), source, validation=validation, attributes=known)
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "ConvClassifier":
        """Take one epoch over some images, from where the last call or ``fit`` ended.

        Parameters
        ----------
        X, y, sample_weight
            Images, labels and weights, as in :meth:`fit`.
        """
        first = self._check_partial()
        X, seen = flatten_images(X)
        source = self._open(X, y, sample_weight, targets="labels", reset=first)
        shape = self._read_shape(source.n_features, seen) if first else self.image_shape_
        check_image_shape(seen, shape, "of those that were learnt")
        classes = check_classes(self, classes, first, source)
        source = source.relabel(KnownLabels(classes, read_factors(self, classes)))
        known = {"classes_": classes, "image_shape_": shape}
        self._train(self._make_task(shape, len(classes)), source, attributes=known, is_part=True)
        return self

    def _make_task(self, shape: ImageShape, n_classes: int) -> Supervised:
        # A batch of one image has no variance between images.
        if self.batch_norm and self.batch_size < 2:
            raise ParameterError(
                f"ConvClassifier: batch_norm=True needs batches of at least 2 images; got batch_size={self.batch_size}."
                f" Raise batch_size, or set batch_norm=False."
            )
        # One class still has two outputs, because softmax over one would be constant.
        loss = read_loss("log_loss", max(n_classes, 2))
        return Supervised(self._build(shape, n_classes), ImageRows(shape), loss, self.alpha)

    def _open_judged(self, X: Any, y: Any, weight: Any, shape: ImageShape, classes: np.ndarray) -> Validation:
        """Return the user's images for early stopping, with the numbers of their classes."""
        X, seen = flatten_images(X)
        check_image_shape(seen, shape, "of X, as X_val must have")
        source = self._open(X, y, weight, targets="labels", reset=False)
        source = source.relabel(KnownLabels(classes, None))
        return source.whole(), source.y, source.weight

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return None if source.y is None else given["classes_"][to_numpy(source.y).astype(np.int64)]

    def _read_shape(self, n_features: int, seen: tuple[int, ...] | None) -> ImageShape:
        """Return (height, width, channels), checked against the number of columns."""
        given = seen if self.image_shape is None else tuple(int(side) for side in self.image_shape)
        if given is None:
            return find_image_shape(n_features)
        # Images of two axes have one channel.
        shape = (*given, 1) if len(given) == 2 else given
        if len(shape) != 3 or min(shape) < 1 or math.prod(shape) != n_features:
            raise ParameterError(
                f"ConvClassifier: image_shape must be (height, width) or (height, width, channels) with the product "
                f"{n_features}, the number of values in a row; got {given}. Pass the shape of the images."
            )
        if self.image_shape is not None:
            check_image_shape(seen, (shape[0], shape[1], shape[2]), "that image_shape gives")
        return shape[0], shape[1], shape[2]

    def _build(self, shape: ImageShape, n_classes: int) -> Network:
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
        return join_layers(tuple(layers), shape)

    @property
    def network_(self) -> Network:
        """The network, without its weights."""
        check_is_fitted(self, "weights_")
        return self._build(self.image_shape_, self.classes_.shape[0])

    def predict_proba(self, X: Any) -> Array:
        """Compute the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, height, width) or with channels as a last axis
        """
        return self._map(X, Chances(self.classes_.shape[0]))

    def _map(self, X: Any, finish: Any) -> Array:
        X, seen = flatten_images(X)
        check_image_shape(seen, self.image_shape_, "of those that were learnt")
        source = open_new_rows(self, X)
        rows = ImageRows(self.image_shape_)
        return source.map(NetworkOutputs(self.network_, self.weights_, self._statistics, rows, finish, _TOGETHER))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each image.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, height, width) or with channels as a last axis
        """
        return self._map(X, ClassNames(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of images whose predicted class is their own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, height, width) or with channels as a last axis
        """
        weight = None if sample_weight is None else to_numpy(sample_weight)
        return float(accuracy_score(to_numpy(y), to_numpy(self.predict(X)), sample_weight=weight))
