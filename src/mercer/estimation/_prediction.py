"""One number out of a predictive density: the one that costs least on average."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from mercer._base.reading import read_numbers
from mercer.errors import DataError, ParameterError

_NAMED = ("squared", "absolute", "zero_one", "pinball")


def optimal_prediction(
    values: Any,
    weights: Any = None,
    *,
    loss: str | Callable[[Any, Any], Any] = "squared",
    quantile: float | None = None,
    candidates: Any = None,
) -> np.ndarray:
    """Return the prediction of least expected loss.

    Squared loss gives the mean, absolute loss the median, 0-1 loss the mode, pinball loss a quantile; other losses are
    minimised numerically.

    Parameters
    ----------
    values : array-like of shape (..., m)
        What may come out: samples, categories or points of a grid; leading axes are separate predictions.
    weights : array-like of shape (..., m) or None, default=None
        Probabilities (or densities on an even grid), up to a factor; None weighs samples alike.
    loss : {"squared", "absolute", "zero_one", "pinball"} or callable, default="squared"
        A callable takes outcomes and predictions, broadcast, and gives costs.
    quantile : float or None, default=None
        For the pinball loss, in (0, 1).
    candidates : array-like or None, default=None
        For a callable: the predictions to choose from. None searches the range of the values, first over 200 points
        and then between the neighbours of the best.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> from mercer.estimation import optimal_prediction
    >>> values, weights = [0.0, 1.0, 10.0], [0.3, 0.4, 0.3]
    >>> [float(optimal_prediction(values, weights, loss=loss)) for loss in ("squared", "absolute", "zero_one")]
    [3.4, 1.0, 1.0]
    """
    subject = "optimal_prediction"
    outcomes = read_numbers(subject, "values", values, closed="neither")
    share = np.ones_like(outcomes) if weights is None else read_numbers(subject, "weights", weights, 0.0)
    outcomes, share = np.broadcast_arrays(outcomes, share)
    if outcomes.ndim == 0 or outcomes.shape[-1] == 0 or not (share.sum(axis=-1) > 0).all():
        raise DataError(f"{subject}: values need a last axis with a positive weight; got shape {outcomes.shape}.")
    if callable(loss):
        flat = zip(outcomes.reshape(-1, outcomes.shape[-1]), share.reshape(-1, share.shape[-1]), strict=True)
        return np.array([_search_minimum(v, w, loss, candidates) for v, w in flat]).reshape(outcomes.shape[:-1])
    if loss not in _NAMED or (loss == "pinball") != (quantile is not None):
        raise ParameterError(
            f"{subject}: loss must be a callable or one of {', '.join(map(repr, _NAMED))}, with quantile for 'pinball' "
            f"alone; got {loss!r} and quantile={quantile!r}."
        )
    if loss == "squared":
        return (share * outcomes).sum(axis=-1) / share.sum(axis=-1)
    if loss == "zero_one":
        return _modes(outcomes, share)
    # The median is the quantile at one half.
    level = 0.5 if quantile is None else float(read_numbers(subject, "quantile", quantile, 0, 1, closed="neither"))
    return _quantiles(outcomes, share, level)


def _quantiles(outcomes: np.ndarray, share: np.ndarray, level: float) -> np.ndarray:
    """Return the smallest outcome whose share of the weight, with those below it, reaches the level."""
    order = outcomes.argsort(axis=-1, kind="stable")
    rising = np.cumsum(np.take_along_axis(share, order, axis=-1), axis=-1)
    # A level that a running sum meets exactly must not be missed by the rounding of the sum.
    place = (rising < level * rising[..., -1:] * (1 - 1e-12)).sum(axis=-1, keepdims=True)
    return np.take_along_axis(np.take_along_axis(outcomes, order, axis=-1), place, axis=-1)[..., 0]


def _modes(outcomes: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the outcome with the most weight, where equal outcomes are one; the smallest of equals."""
    modes = np.empty(outcomes.shape[:-1])
    for at in np.ndindex(modes.shape):
        distinct, which = np.unique(outcomes[at], return_inverse=True)
        modes[at] = distinct[np.bincount(which.ravel(), weights=share[at]).argmax()]
    return modes


def _search_minimum(outcomes: np.ndarray, share: np.ndarray, loss: Callable[[Any, Any], Any], candidates: Any) -> float:
    def risk(prediction: Any) -> Any:
        return share @ np.asarray(loss(outcomes, prediction), dtype=np.float64)

    points = np.linspace(outcomes.min(), outcomes.max(), 201) if candidates is None else np.asarray(candidates)
    risks = np.array([risk(point) for point in points])
    if not np.isfinite(risks).any():
        raise DataError(
            "optimal_prediction: the loss must be finite somewhere; got none among the candidates. Give others."
        )
    best = int(np.nanargmin(risks))
    if candidates is not None or points[0] == points[-1]:
        return float(points[best])
    # The least risk of the even points lies between the neighbours of the best, if the risk has one minimum there.
    low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    refined = minimize_scalar(risk, bounds=(low, high), method="bounded", options={"xatol": 1e-10 * (1 + abs(low))})
    # A refinement that is no better, as of a risk with jumps, is dropped.
    return float(refined.x if refined.fun <= risks[best] else points[best])
