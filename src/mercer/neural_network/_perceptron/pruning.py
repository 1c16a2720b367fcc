"""Removal of weights: by magnitude, and by what the objective would lose (optimal brain damage)."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.parameter import Choice, Real, check_parameters
from mercer._types import Array
from mercer.errors import DataError, UnsupportedError
from mercer.neural_network._layers.losses import read_loss
from mercer.neural_network._layers.network import Network
from mercer.neural_network._perceptron.plan import Plan

# The step of the differences that give second derivatives, relative to the size of a weight.
_STEP = 1e-4


def prune_weights(model: Any, fraction: float, *, rule: str = "magnitude", X: Any = None, y: Any = None) -> Any:
    """Set the least important weights of a fitted perceptron to zero; biases stay.

    The weights stay zero when the model is fitted again with ``warm_start=True``, so that pruning and training can take
    turns.

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor
        A fitted model without batch norm and categories; it is changed.
    fraction : a number in [0, 1)
        The share of all weights that is zero afterwards.
    rule : {"magnitude", "saliency"}, default="magnitude"
        Remove the smallest weights, or those of the least saliency (see `estimate_saliency`).
    X, y : arrays, default=None
        The rows that saliencies are found from.

    Returns
    -------
    model
        The same model.

    References
    ----------
    Y. LeCun, J. Denker and S. Solla, Optimal brain damage, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import MLPRegressor, prune_weights
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", random_state=0).fit(X, X[:, 0])
    >>> pruned = prune_weights(model, 0.5)
    >>> sum(int((W == 0).sum()) for W in pruned.coefs_)
    8
    """
    check_is_fitted(model)
    rules = {"fraction": Real(0, 1, "left"), "rule": Choice("magnitude", "saliency")}
    check_parameters("prune_weights", rules, {"fraction": fraction, "rule": rule})
    _check_plain("prune_weights", model)
    if rule == "saliency" and (X is None or y is None):
        raise DataError("prune_weights: rule='saliency' needs the rows X and y; give both.")
    worth = [np.abs(W) for W in model.coefs_] if rule == "magnitude" else estimate_saliency(model, X, y)
    flat = np.concatenate([part.ravel() for part in worth])
    # The smallest n_zero weights of all layers together.
    n_zero = round(fraction * flat.size)
    # The order of equal weights is that of the layers, so that the share is reached exactly.
    gone = np.zeros(flat.size, dtype=bool)
    gone[np.argsort(flat, kind="stable")[:n_zero]] = True
    first, mask, theta = 0, [], []
    for W, b in zip(model.coefs_, model.intercepts_, strict=True):
        stays = ~gone[first : first + W.size].reshape(W.shape)
        first += W.size
        W *= stays
        mask += [stays.ravel().astype(W.dtype), np.ones(b.size, dtype=W.dtype)]
        theta += [W.ravel(), b]
    model._mask = np.concatenate(mask)
    model._state = model._state.replace_weights(np.concatenate(theta))
    return model


def estimate_saliency(model: Any, X: Any, y: Any) -> list[np.ndarray]:
    """Estimate what the mean loss would gain if each weight were set to zero, h w^2 / 2.

    h is the second derivative of the mean loss by the weight, from differences of the gradient: two passes over the
    rows for each weight. Where the loss is a quadratic with a diagonal Hessian the estimate is exact.

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor
        A fitted model without batch norm and categories.
    X : array-like of shape (n, d)
        The rows.
    y : array-like of shape (n,) or (n, k)
        Labels or targets, as in ``fit``.

    Returns
    -------
    list of ndarray
        The saliencies, in the shapes of ``coefs_``.
    """
    check_is_fitted(model)
    _check_plain("estimate_saliency", model)
    X = np.ascontiguousarray(X, dtype=np.float64)
    network, loss = _rebuild(model, X.shape[1])
    targets = np.asarray(y)
    if hasattr(model, "classes_") and targets.ndim == 1:
        targets = np.searchsorted(model.classes_, targets).astype(np.float64)
    theta = np.concatenate(
        [part.ravel() for pair in zip(model.coefs_, model.intercepts_, strict=True) for part in pair]
    ).astype(np.float64)

    def differentiate(place: Array) -> Array:
        return network.evaluate(place, X, targets, loss=loss)[1]

    saliencies = []
    for node in network.nodes:
        for key, (part, shape) in node.weights.items():
            if key == "W":
                # Second derivatives from differences of the gradient, one weight at a time.
                values = [_find_curvature(differentiate, theta, k) for k in range(part.start, part.stop)]
                saliencies.append((0.5 * np.array(values) * theta[part] ** 2).reshape(shape))
    return saliencies


def _find_curvature(differentiate: Any, theta: np.ndarray, k: int) -> float:
    """Return the second derivative by one weight."""
    step = _STEP * max(1.0, abs(theta[k]))
    ahead, behind = theta.copy(), theta.copy()
    ahead[k] += step
    behind[k] -= step
    return float((differentiate(ahead)[k] - differentiate(behind)[k]) / (2.0 * step))


def _rebuild(model: Any, d: int) -> tuple[Network, Any]:
    """Return the network of a fitted model, and its loss."""
    hidden = tuple(W.shape[1] for W in model.coefs_[:-1])
    several = getattr(model, "_several_labels", False)
    loss = read_loss("binary_log_loss" if several else model.loss, model.n_outputs_)
    return Plan(d, hidden, model.n_outputs_, model.activation, loss).network, loss


def _check_plain(subject: str, model: Any) -> None:
    if model.batch_norm or getattr(model, "embeddings_", None) is not None:
        raise UnsupportedError(
            f"{subject}: weights can be pruned in plain chains of dense layers; drop batch_norm and categories."
        )
