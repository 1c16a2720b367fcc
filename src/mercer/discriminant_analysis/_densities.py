"""Densities of any kind, as Bayes' rule uses them: estimators, frozen distributions, families of distributions."""

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from mercer._base.density import as_density
from mercer._types import Array
from mercer.covariance import OAS
from mercer.discriminant_analysis._class_rows import ClassRows
from mercer.errors import DataError, ParameterError

_NAME = "ClassConditionalClassifier"
# What gives the log-density of rows or values, in the order of preference.
_METHODS = ("score_samples", "logpdf", "logpmf")


def log_density(density: Any, X: Array) -> Array:
    """Return the log-density of each row under a density of any library.

    What a density of numbers gives of several columns, which are independent then, is added up.
    """
    values = np.asarray(as_density(density, _NAME).logpdf(X), dtype=np.float64)
    return values.sum(axis=1) if values.ndim == 2 else values.reshape(-1)


def learns_in_parts(estimator: Any) -> bool:
    """Check that each density that is to be fitted has ``partial_fit``."""
    given = estimator.density
    each = given.values() if isinstance(given, dict) else given if isinstance(given, list) else [given or OAS()]
    for density in each:
        if hasattr(density, "fit") and not hasattr(density, "partial_fit"):
            raise ParameterError(
                f"ClassConditionalClassifier: partial_fit needs densities that have it; {type(density).__name__} has "
                f"not. Use OAS or GaussianMixture, or call fit."
            )
    return True


def fit_density(density: Any, rows: ClassRows, weight: float, *, partial: bool) -> Any:
    """Return a copy of the density, fitted; a known one itself, and one that gets no rows as it was."""
    as_density(density, _NAME)  # raises if it is none
    if not hasattr(density, "fit") or weight == 0:
        return density
    # A fitted estimator goes on from its state; clone would forget it.
    goes_on = partial and hasattr(density, "n_features_in_")
    copied = clone(density) if isinstance(density, BaseEstimator) and not goes_on else copy.deepcopy(density)
    X, heavy = rows.for_density(copied)
    if rows.source.has_weight and not has_fit_parameter(copied, "sample_weight"):
        raise DataError(
            f"{_NAME}: sample_weight needs densities whose fit takes it; that of class {rows.label}, "
            f"{type(density).__name__}, does not. Leave the weights out, or use another density."
        )
    learn = copied.partial_fit if partial else copied.fit
    result = learn(X) if heavy is None else learn(X, sample_weight=heavy)
    return _read_fit(copied, result)


def _read_fit(density: Any, result: Any) -> Any:
    """Return the fitted density: estimators return themselves from `fit`, frozen densities return a new object."""
    if isinstance(result, tuple):
        return density(*result)  # scipy's families give the parameters that they found
    if result is None:
        return density
    if any(hasattr(result, name) for name in _METHODS):
        return result
    raise ParameterError(
        f"{_NAME}: fit must return a density, itself or a new one; that of {type(density).__name__} returned "
        f"{type(result).__name__}. Return self."
    )
