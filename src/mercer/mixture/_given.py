"""Initial parameters of a Gaussian mixture that the user gave, checked."""

from typing import Any, NoReturn

import numpy as np
from sklearn.utils import check_array

from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError
from mercer.mixture._components import GaussianComponents


def _check(estimator: Any, value: Any, name: str, shape: tuple[int, ...]) -> Array:
    options = {"dtype": [np.float64, np.float32], "ensure_2d": False, "allow_nd": True, "estimator": estimator}
    value = check_array(to_numpy(value), **options).astype(np.float64)
    if value.shape != shape:
        raise DataError(
            f"{type(estimator).__name__}: The parameter '{name}' should have the shape of {shape}, but got "
            f"{value.shape}. Give it that shape, or leave it to be found."
        )
    return value


def read_weights(estimator: Any) -> Array:
    """Return ``weights_init``, checked; None if it is not given."""
    if estimator.weights_init is None:
        return None
    subject = type(estimator).__name__
    weights = _check(estimator, estimator.weights_init, "weights", (estimator.n_components,))
    if np.any(weights < 0) or np.any(weights > 1):
        # The two values in this order, as scikit-learn prints them.
        raise DataError(
            f"{subject}: The parameter 'weights' should be in the range [0, 1], but got max value {weights.min():.5f}, "
            f"min value {weights.max():.5f}. Divide them by their sum."
        )
    if not np.isclose(weights.sum(), 1.0, rtol=1e-5, atol=1e-6):
        raise DataError(
            f"{subject}: The parameter 'weights' should be normalized, but got sum(weights) = {weights.sum():.5f}. "
            f"Divide them by their sum."
        )
    return np.maximum(weights, np.finfo(np.float64).tiny)


def read_means(estimator: Any, d: int) -> Array:
    """Return ``means_init``, checked; None if it is not given."""
    if estimator.means_init is None:
        return None
    return _check(estimator, estimator.means_init, "means", (estimator.n_components, d))


def read_factors(estimator: Any, d: int) -> Array:
    """Return the upper triangular factors of ``precisions_init``; None if it is not given."""
    if estimator.precisions_init is None:
        return None
    kind, k = estimator.covariance_type, estimator.n_components
    shape = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[kind]
    precisions = _check(estimator, estimator.precisions_init, f"{kind} precision", shape)
    if kind in ("diag", "spherical"):
        if not np.all(precisions > 0):
            _refuse(estimator, kind, "positive")
        return np.sqrt(precisions)
    if not np.allclose(precisions, np.swapaxes(precisions, -1, -2)):
        _refuse(estimator, kind, "symmetric, positive-definite")
    try:
        # U U^T = A with U upper triangular: the lower factor of A with rows and columns reversed, reversed again.
        return np.flip(np.linalg.cholesky(np.flip(precisions, axis=(-1, -2))), axis=(-1, -2)).copy()
    except np.linalg.LinAlgError:
        _refuse(estimator, kind, "symmetric, positive-definite")


def _refuse(estimator: Any, kind: str, rule: str) -> NoReturn:
    raise DataError(f"{type(estimator).__name__}: '{kind} precision' should be {rule}. Give inverses of covariances.")


def complete_start(estimated: Any, kind: str, weights: Array, means: Array, factors: Array) -> Any:
    """Return the first components: the parameters that were given, and the `estimated` ones for the rest."""
    weights = estimated.weights if weights is None else weights
    means = estimated.means if means is None else means
    if factors is not None:
        return GaussianComponents.from_factors(kind, weights, means, factors)
    return GaussianComponents(kind, weights, means, estimated.covariances, estimated.factors)
