"""Covariances of classes: as they are, shrunk by a given share or by Ledoit and Wolf's, or by an estimator of yours."""

import copy
import inspect
from collections.abc import Generator
from typing import Any

import numpy as np

from mercer._source import Source
from mercer._statistic.by_class import ClassMomentSums, flat_columns
from mercer._statistic.products import FourthNorms
from mercer._statistic.shrinkage import compute_ledoit_wolf_weight, shrink_covariance
from mercer._types import Array
from mercer.errors import DataError


def shrink_by_class(sums: ClassMomentSums, shrinkage: Any) -> Generator[Any, Any, Array]:
    """Return the covariance of each class (k, d, d); 'auto' asks for a pass."""
    # A class without rows has no scatter: any divisor leaves its covariance zero.
    weights = np.where(sums.weights > 0, sums.weights, 1.0)
    # Maximum likelihood: scatter over weight; a class without rows has zeros.
    covariances = sums.scatter / weights[:, None, None]
    if shrinkage is None:
        return covariances
    if shrinkage != "auto":
        return shrink_covariance(covariances, shrinkage)
    # Ledoit and Wolf's share is found for standardised columns, as in scikit-learn.
    units = [_Standardised(covariance, mean) for covariance, mean in zip(covariances, sums.means, strict=True)]
    fourth = yield FourthNorms(sums.means, np.stack([unit.scales for unit in units]), sums.classes)
    parts = zip(units, fourth, weights, strict=True)
    return np.stack([unit.shrink(float(norm), float(weight)) for unit, norm, weight in parts])


def shrink_total(sums: ClassMomentSums, shrinkage: Any) -> Generator[Any, Any, Array]:
    """Return the covariance of all rows together (d, d); 'auto' asks for a pass."""
    covariance = (sums.within() + sums.between()) / sums.weight
    if shrinkage != "auto":
        return covariance if shrinkage is None else shrink_covariance(covariance, shrinkage)
    unit = _Standardised(covariance, sums.mean)
    fourth = yield FourthNorms(sums.mean[None, :], unit.scales[None, :])
    return unit.shrink(float(fourth[0]), sums.weight)


class _Standardised:
    """A covariance in units of its columns' standard deviations, in which no column outweighs another."""

    def __init__(self, covariance: Array, mean: Array) -> None:
        # A constant column has no scale; a deviation of one leaves its zeros as they are.
        variances = np.diag(covariance)
        flat = flat_columns(variances, mean)
        self.deviations = np.where(flat, 1.0, np.sqrt(np.where(flat, 1.0, variances)))
        self.correlation = covariance / self.deviations[:, None] / self.deviations[None, :]
        self.level = max(float(np.trace(self.correlation)) / len(variances), np.finfo(np.float64).tiny)
        # Fourth powers of rows in these units neither overflow nor vanish: their mean variance is one.
        self.scales = 1.0 / (self.deviations * np.sqrt(self.level))

    def shrink(self, fourth: float, weight: float) -> Array:
        """Return Ledoit and Wolf's estimate, in the units of the rows."""
        # One column has one variance: there is no structure to shrink.
        share = 0.0
        if len(self.correlation) > 1:
            share = compute_ledoit_wolf_weight(self.correlation / self.level, fourth, weight)
        return shrink_covariance(self.correlation, share) * self.deviations[:, None] * self.deviations[None, :]


def fit_covariances(estimator: Any, subject: str, source: Source, classes: Array) -> list[Array]:
    """Return the ``covariance_`` of an estimator fitted to the rows of each class, and to all rows, which come last."""
    X, y, weight = source.whole(), source.y, source.weight
    if weight is not None and "sample_weight" not in inspect.signature(estimator.fit).parameters:
        raise DataError(
            f"{subject}: sample_weight needs a covariance_estimator whose fit takes it; got "
            f"{type(estimator).__name__}. Leave the weights out, or use an estimator of mercer.covariance."
        )
    covariances = []
    for chosen in (*(y == label for label in classes), slice(None)):
        model = copy.deepcopy(estimator)
        weights = {} if weight is None else {"sample_weight": weight[chosen]}
        model.fit(X[chosen], **weights)
        if not hasattr(model, "covariance_"):
            raise DataError(
                f"{subject}: {type(model).__name__} does not have a covariance_ attribute; give one that has."
            )
        covariances.append(np.atleast_2d(np.asarray(model.covariance_, dtype=np.float64)))
    return covariances
