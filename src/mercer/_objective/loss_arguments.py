"""Read what users give to a loss: scores of the right shape, and targets that the loss is defined for."""

from typing import Any

import numpy as np

from mercer._source.namespace import namespace_of, to_numpy
from mercer._types import Array
from mercer.errors import DataError


def read_scores(loss: Any, scores: Any, xp: Any) -> tuple[Array, Any, bool]:
    """Return scores (n, k) as floating-point numbers, their namespace, and whether they came as one dimension."""
    if not hasattr(scores, "shape"):
        scores = _read_numbers(loss, "scores", scores)
    xp = namespace_of(scores) if xp is None else xp
    if isinstance(scores, np.ndarray) and scores.dtype.kind != "f":
        scores = _read_numbers(loss, "scores", scores)
    # A vector stands for one score per row; formulas see it as a matrix of one column.
    flat = scores.ndim == 1 and loss.n_scores == 1
    if flat:
        scores = scores[:, None]
    if scores.ndim != 2 or scores.shape[1] != loss.n_scores:
        raise DataError(
            f"{type(loss).__name__}: scores must have shape (n, {loss.n_scores}), one column for each score; got shape "
            f"{tuple(scores.shape)}. Reshape them."
        )
    return scores, xp, flat


def read_arguments(loss: Any, scores: Any, y: Any, xp: Any) -> tuple[Array, Array, Any, bool]:
    """Return scores (n, k) and targets (n,) as formulas take them, their namespace, and whether scores were flat."""
    scores, xp, flat = read_scores(loss, scores, xp)
    y = _read_targets(loss, y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or y.shape[0] != scores.shape[0]:
        raise DataError(
            f"{type(loss).__name__}: targets must be one for each of {scores.shape[0]} rows of scores; got shape "
            f"{tuple(y.shape)}."
        )
    if loss.target == "labels":
        return scores, _read_labels(loss, y, scores.dtype, xp), xp, flat
    # Targets may be integers and the bound a fraction, so both are compared as float64.
    if loss.least_target > -np.inf:
        worst = float(xp.min(xp.astype(y, xp.float64)))
        if not (worst > loss.least_target if loss.above_least else worst >= loss.least_target):
            bracket = "(" if loss.above_least else "["
            interval = f"{bracket}{loss.least_target:g}, inf)"
            raise DataError(f"{type(loss).__name__}: targets must be numbers in {interval}; got {worst:g}.")
    return scores, y, xp, flat


def _read_labels(loss: Any, y: Array, dtype: Any, xp: Any) -> Array:
    """Return classes as formulas take them: 0.0 and 1.0 of two, whole numbers of more."""
    n_classes = getattr(loss, "n_classes", max(2, loss.n_scores))
    y = xp.astype(y, dtype) if n_classes == 2 else y
    if n_classes == 2 and bool(xp.all((y == 0) | (y == 1))):
        return y
    # Signs -1, 1 become 0, 1, by which the logistic formulas are written.
    if n_classes == 2 and bool(xp.all((y == -1) | (y == 1))):
        return 0.5 * (y + 1.0)
    if n_classes > 2 and bool(xp.all((y >= 0) & (y < n_classes) & (y == xp.astype(xp.astype(y, xp.int64), y.dtype)))):
        return y
    rule = "0 and 1, or -1 and 1" if n_classes == 2 else f"whole numbers in [0, {n_classes - 1}]"
    values = np.unique(np.asarray(to_numpy(y)))[:4].tolist()
    raise DataError(
        f"{type(loss).__name__}: labels of {n_classes} classes must be {rule}; got {values}. Encode them, for instance "
        f"by numpy.unique(y, return_inverse=True)."
    )


def _read_targets(loss: Any, y: Any) -> Array:
    # Arrays of a device stay there; only NumPy's and lists are converted.
    if hasattr(y, "shape") and not isinstance(y, np.ndarray):
        return y
    y = np.asarray(y)
    if y.dtype.kind not in "iufb":
        name = type(loss).__name__
        raise DataError(
            f"{name}: targets must be numbers; got {y.dtype.name}. Encode labels, for instance by "
            f"numpy.unique(y, return_inverse=True)."
        )
    # Formulas subtract targets, which NumPy refuses for booleans.
    return y.astype(np.float64) if y.dtype.kind == "b" else y


def _read_numbers(loss: Any, name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{type(loss).__name__}: {name} must be numbers; got {value!r}.") from None
