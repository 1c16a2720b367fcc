"""Prior probabilities of classes: given and checked, or the shares of the rows."""

import warnings
from typing import Any

import numpy as np

from mercer._source.namespace import to_numpy
from mercer.errors import DataError, DataTypeError


def class_priors(
    subject: str, given: Any, weights: np.ndarray, *, exact: bool = False, verdict: str = "Renormalizing"
) -> np.ndarray:
    """Return the priors of classes whose rows have these `weights`.

    Parameters
    ----------
    subject : str
        Who asks, for errors.
    given : array-like of shape (n_classes,) or None
        None means shares of the weight.
    weights : array of shape (n_classes,)
    exact : bool
        Whether priors that do not sum to one are an error; otherwise they are divided by their sum, with a warning.
    verdict : str
        What that warning says is done.
    """
    if given is None:
        return weights / weights.sum()
    priors = np.asarray(to_numpy(given))
    if priors.dtype.kind not in "biuf":
        raise DataTypeError(f"{subject}: priors must be numbers; got {priors.dtype}. Give one number for each class.")
    priors = priors.astype(np.float64)
    if priors.shape != weights.shape:
        raise DataError(
            f"{subject}: Number of priors must match number of classes; got {priors.shape} for {len(weights)} classes. "
            f"Give one for each, in the order of the sorted labels."
        )
    if not (priors >= 0).all():
        raise DataError(f"{subject}: {'Priors' if exact else 'priors'} must be non-negative; got {priors.min():g}.")
    total = float(priors.sum())
    if abs(total - 1.0) > 1e-5:
        if exact or total == 0:
            raise DataError(f"{subject}: The sum of the priors should be 1; got {total:g}. Divide them by their sum.")
        warnings.warn(
            f"{subject}: The priors do not sum to 1. {verdict}; got a sum of {total:g}.", UserWarning, stacklevel=7
        )
        priors = priors / total
    # A class without rows has no density yet, so it gets no prior.
    met = np.where(weights > 0, priors, 0.0)
    return priors if np.array_equal(met, priors) else met / (met.sum() or 1.0)
