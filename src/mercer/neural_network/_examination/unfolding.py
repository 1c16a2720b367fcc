"""A fitted estimator as a network with its weights, rows and targets: what examinations and pictures of it need."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._layers.activations import Activation
from mercer.neural_network._layers.dense import Dense
from mercer.neural_network._layers.layer import Layer
from mercer.neural_network._layers.losses import OutputLoss, read_loss
from mercer.neural_network._layers.network import Network
from mercer.neural_network._perceptron.perceptron import PerceptronModel
from mercer.neural_network._perceptron.scores import embed_columns
from mercer.neural_network._relatives.autoencoder import Autoencoder
from mercer.neural_network._relatives.images import ConvClassifier
from mercer.neural_network._relatives.recurrent import RecurrentClassifier
from mercer.neural_network._relatives.recurrent_model import RecurrentModel
from mercer.neural_network._relatives.sequences import SequenceRows


@dataclass(frozen=True, eq=False)
class NetworkCase:
    """A network with weights, and a batch of rows with targets, in double precision.

    Attributes
    ----------
    network : Network
    theta : ndarray of shape (n_weights,)
        The weights.
    X : ndarray or dict of ndarray
        The rows, in the shape of the network's inputs; None where no rows were given.
    y : ndarray
        Targets as the loss takes them: numbers of classes, or standardised numbers.
    loss : OutputLoss
    statistics : dict
        What batch norm keeps.
    """

    network: Network
    theta: Array
    X: Any
    y: Array
    loss: OutputLoss
    statistics: dict[str, Any] = field(default_factory=dict)

    def measure(self, theta: Array) -> float:
        """Return the mean loss of the batch at other weights."""
        trace = self.network.forward(theta, self.X, self.statistics)
        return self.loss.evaluate(trace.output, self.y)[0]

    def differentiate(self, theta: Array) -> Array:
        """Return the gradient of the mean loss at other weights."""
        options: dict[str, Any] = {"loss": self.loss, "statistics": self.statistics}
        return self.network.evaluate(theta, self.X, self.y, **options)[1]


def unfold_estimator(model: Any, X: Any = None, y: Any = None) -> NetworkCase:
    """Return the network of a fitted estimator, with its weights, and rows and targets as the network takes them.

    Parameters
    ----------
    model : MLPClassifier, MLPRegressor, Autoencoder, ConvClassifier, RecurrentClassifier or RecurrentRegressor
        A fitted estimator. The batch norm of a perceptron is part of its matrices.
    X, y : array-like or None, default=None
        Rows and targets as its ``fit`` takes them; an autoencoder needs no y. Sequences must have one length.

    Returns
    -------
    NetworkCase

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import MLPRegressor, unfold_estimator
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", random_state=0).fit(X, X[:, 0] ** 2)
    >>> unfold_estimator(model, X, X[:, 0] ** 2).network.names
    ['0 Dense', '1 Activation', '2 Dense']
    """
    kinds = (PerceptronModel, Autoencoder, ConvClassifier, RecurrentModel)
    if not isinstance(model, kinds):
        raise DataError(
            f"unfold_estimator: model must be a perceptron, an Autoencoder, a ConvClassifier or a recurrent network; "
            f"got {type(model).__name__}. Pass a network and its weights to the display's from_network instead."
        )
    check_is_fitted(model)
    rows = None if X is None else np.asarray(to_numpy(X), dtype=np.float64)
    if isinstance(model, PerceptronModel):
        return _unfold_perceptron(model, X, y)
    theta, statistics = _widen(model.weights_), model._statistics
    if isinstance(model, Autoencoder):
        coder = model._build(model.n_features_in_)
        layers = [node.layer for part in (coder.encoder, coder.decoder) for node in part.nodes]
        # An autoencoder's targets are its rows.
        return NetworkCase(Network(layers, (model.n_features_in_,)), theta, rows, rows, read_loss("squared_error", 1))
    if isinstance(model, ConvClassifier):
        images = None if rows is None else rows.reshape(len(rows), *model.image_shape_)
        # There are never fewer than two outputs, as softmax over one would be constant.
        loss = read_loss("log_loss", max(2, len(model.classes_)))
        return NetworkCase(model.network_, theta, images, _number_classes(model, y), loss, statistics)
    return _unfold_recurrent(model, theta, rows, y)


def _unfold_perceptron(model: Any, X: Any, y: Any) -> NetworkCase:
    """Return the chain of dense layers of a perceptron."""
    layers: list[Layer] = []
    for number, W in enumerate(model.coefs_):
        layers += [Activation(model.activation)] if number else []
        layers.append(Dense(int(W.shape[1])))
    # Weights are laid out as in the network: the matrix and the intercepts of each layer in turn.
    theta = np.concatenate(
        [_widen(part).ravel() for pair in zip(model.coefs_, model.intercepts_, strict=True) for part in pair]
    )
    rows = None
    if X is not None:
        coding = vars(model).get("input_coding_")
        rows = np.asarray(to_numpy(X), dtype=np.float64) if coding is None else coding.apply(X)
        tables = vars(model).get("embeddings_")
        rows = rows if tables is None else embed_columns(rows, model.categorical_columns_, tables)
    n_outputs = int(model.coefs_[-1].shape[1])
    is_classifier = hasattr(model, "classes_")
    several = is_classifier and model._several_labels
    targets = _number_classes(model, y) if is_classifier and not several else y
    loss = read_loss("binary_log_loss" if several and model.loss == "log_loss" else model.loss, n_outputs)
    network = Network(layers, (int(model.coefs_[0].shape[0]),))
    return NetworkCase(network, theta, rows, None if targets is None else np.asarray(targets, np.float64), loss)


def _unfold_recurrent(model: Any, theta: Array, rows: Any, y: Any) -> NetworkCase:
    """Return a recurrent network for sequences of one length."""
    width = model.n_steps_features_
    # One step stands for a network that is examined without rows; the weights do not depend on the number of steps.
    sequences = np.zeros((1, 1, width)) if rows is None else rows.reshape(len(rows), -1, width)
    network = model._build(SequenceRows(sequences.shape[1], width, False), model._n_outputs, model.by_step_)
    given = None if rows is None else sequences
    if isinstance(model, RecurrentClassifier):
        return NetworkCase(network, theta, given, _number_classes(model, y), read_loss("log_loss", model._n_outputs))
    # The network was trained on standardised targets.
    targets = None if y is None else (np.asarray(to_numpy(y), dtype=np.float64) - model.y_mean_) / model.y_scale_
    return NetworkCase(network, theta, given, targets, read_loss("squared_error", 1))


def _number_classes(model: Any, y: Any) -> Any:
    """Return the numbers of classes of labels; raise if a label is not known."""
    if y is None:
        return None
    labels, classes = np.asarray(to_numpy(y)), np.asarray(to_numpy(model.classes_))
    if not np.isin(labels, classes).all():
        raise DataError(f"unfold_estimator: y must hold labels of the fit, {classes}; got others. Drop those rows.")
    return np.searchsorted(classes, labels).astype(np.float64)


def _widen(array: Array) -> np.ndarray:
    return np.asarray(to_numpy(array), dtype=np.float64)
