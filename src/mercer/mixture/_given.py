"""Initial parameters of a Gaussian mixture that the user gave, checked."""

from typing import Any, NoReturn

import numpy as np
from sklearn.utils import check_array

from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError
from mercer.mixture._components import GaussianComponents
from mercer.mixture._variational import VariationalPrior


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


def read_prior(estimator: Any, model: Any) -> VariationalPrior:
    """Return the prior of a Bayesian mixture: what was given, checked, and the moments of the rows for the rest."""
    kind, d = estimator.covariance_type, len(model.centre)
    mean, dof, covariance = model.centre, estimator.degrees_of_freedom_prior, estimator.covariance_prior
    if estimator.mean_prior is not None:
        mean = _check(estimator, estimator.mean_prior, "means", (d,))
    if dof is not None and not dof > d - 1:
        raise DataError(
            f"{type(estimator).__name__}: The parameter 'degrees_of_freedom_prior' should be greater than {d - 1}, but "
            f"got {dof:.3f}. Raise it, or leave it to be {d}."
        )
    if covariance is None:
        covariance = _find_covariance(estimator, model)
    elif kind != "spherical":
        covariance = _check(estimator, covariance, f"{kind} covariance_prior", (d,) if kind == "diag" else (d, d))
        sound = np.all(covariance > 0) if kind == "diag" else _is_positive_definite(covariance)
        if not sound:
            _refuse(estimator, kind, "positive" if kind == "diag" else "symmetric, positive-definite")
    concentration = estimator.weight_concentration_prior
    return VariationalPrior(
        process=estimator.weight_concentration_prior_type == "dirichlet_process",
        concentration=1.0 / estimator.n_components if concentration is None else float(concentration),
        mean_precision=1.0 if estimator.mean_precision_prior is None else float(estimator.mean_precision_prior),
        mean=np.asarray(mean, dtype=np.float64),
        dof=float(d if dof is None else dof),
        covariance=np.asarray(covariance, dtype=np.float64),
    )


def _find_covariance(estimator: Any, model: Any) -> Array:
    """Return the covariance of the rows, shaped by the covariance type; `reg_covar` is added where it is singular."""
    # As of a sample: weights are repetitions of rows.
    covariance, kind = model.scatter / max(model.weight - 1.0, np.finfo(np.float64).tiny), estimator.covariance_type
    if kind == "spherical":
        covariance = np.atleast_1d(covariance.mean())
    variances = np.diagonal(covariance) if covariance.ndim == 2 else covariance
    singular = not np.all(variances > 0)
    if covariance.ndim == 2 and not singular:
        # In units of their deviations: columns in small units are not taken for dependent ones.
        roots = np.sqrt(variances)
        singular = np.linalg.eigvalsh(covariance / roots / roots[:, None])[0] <= len(roots) * np.finfo(np.float64).eps
    if singular and estimator.reg_covar == 0:
        raise DataError(
            f"{type(estimator).__name__}: the covariance of the rows, which is the prior, must have full rank; some "
            f"column is constant or depends on others. Give covariance_prior, raise reg_covar, or drop columns."
        )
    if singular:
        covariance = covariance + estimator.reg_covar * (np.eye(len(variances)) if covariance.ndim == 2 else 1.0)
    return covariance[0] if kind == "spherical" else covariance


def _is_positive_definite(matrix: Array) -> bool:
    return np.allclose(matrix, matrix.T) and bool(np.linalg.eigvalsh(matrix)[0] > 0)


def _refuse(estimator: Any, kind: str, rule: str) -> NoReturn:
    raise DataError(f"{type(estimator).__name__}: '{kind} precision' should be {rule}. Give inverses of covariances.")


def complete_start(estimated: Any, kind: str, weights: Array, means: Array, factors: Array) -> Any:
    """Return the first components: the parameters that were given, and the `estimated` ones for the rest."""
    weights = estimated.weights if weights is None else weights
    means = estimated.means if means is None else means
    if factors is not None:
        return GaussianComponents.from_factors(kind, weights, means, factors)
    return GaussianComponents(kind, weights, means, estimated.covariances, estimated.factors)
