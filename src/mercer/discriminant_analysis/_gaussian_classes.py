"""What linear and quadratic discriminant analysis share: fits by sums, and which parameters go together."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer._base import fitting
from mercer._base.class_model import ClassModel
from mercer._base.parameter import Real, attribute
from mercer.errors import DataError, ParameterError, UnsupportedError


def _works_from_sums(estimator: Any) -> bool:
    if estimator.shrinkage == "auto" or estimator.covariance_estimator is not None:
        raise ParameterError(
            f"{type(estimator).__name__}: partial_fit works from sums, which shrinkage='auto' and covariance_estimator "
            f"cannot do with. Give a number for the shrinkage, or call fit."
        )
    return True


class GaussianClasses(ClassModel):
    """A classifier of Gaussian classes."""

    solver: str = attribute()
    shrinkage: Any = attribute()
    ridge: float = attribute()

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GaussianClasses":
        """Fit the model."""
        self._check_solver()
        self._learn(X, y, self._weigh_classes(y, sample_weight))
        return self

    @available_if(_works_from_sums)
    @fitting
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "GaussianClasses":
        """Fit to these rows and to all that ``fit`` and earlier calls were given: the model of one fit to all.

        Returns
        -------
        self
            The fitted estimator. A class without rows so far has prior zero. Where rows are too few for a covariance
            that can be inverted, an error says so and leaves the model as it was before the call.
        """
        self._check_solver()
        self._check_batch()
        self._learn(X, y, self._weigh_classes(y, sample_weight, partial=True), partial=True, classes=classes)
        return self

    def _weigh_classes(self, y: Any, sample_weight: Any, partial: bool = False) -> Any:
        """Return the rows' weights times those of their classes."""
        wish, name = getattr(self, "class_weight", None), type(self).__name__
        if wish is None:
            return sample_weight
        if partial and wish == "balanced":
            raise ParameterError(
                f"{name}: class_weight='balanced' needs the labels of all rows, which partial_fit does not see. Give a "
                f"dict, or call fit."
            )
        labels = None if y is None else np.asarray(y)
        if labels is None or labels.ndim != 1:
            raise DataError(
                f"{name}: class_weight needs labels in memory, one a row; got {type(y).__name__}. Use priors."
            )
        given = 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        weights = np.broadcast_to(given, labels.shape)
        known, numbering = np.unique(labels, return_inverse=True)
        if wish == "balanced":
            sizes = np.bincount(numbering, weights)
            # n / (k n_c), with weights in place of counts.
            factors = weights.sum() / (len(known) * np.where(sizes > 0, sizes, 1.0))
        else:
            self._check_weighted_classes(wish, known, partial)
            factors = np.array([float(wish.get(label, 1.0)) for label in known.tolist()])
        return weights * factors[numbering]

    def _check_weighted_classes(self, wish: Any, known: Any, partial: bool) -> None:
        """Raise if a factor is negative, or belongs to no class of the rows."""
        name = type(self).__name__
        if not all(Real(0).accepts(factor) for factor in wish.values()):
            raise ParameterError(f"{name}: class_weight must hold non-negative numbers; got {wish!r}.")
        unknown = [label for label in wish if label not in known.tolist()]
        if unknown and not partial:
            raise ParameterError(f"{name}: class_weight must name classes of y, {known.tolist()}; got {unknown}.")

    def _check_batch(self) -> None:
        """Raise if the rows seen before were summed in another way than the parameters now ask for."""

    def _check_solver(self) -> None:
        name = type(self).__name__
        if self.solver == "svd" and self.shrinkage is not None:
            raise UnsupportedError(f"{name}: shrinkage not supported with 'svd' solver. Use solver='eigen'.")
        if self.solver == "svd" and getattr(self, "ridge", 0.0) > 0:
            raise ParameterError(
                f"{name}: ridge is not supported with solver='svd'; got {self.ridge}. Use 'lsqr' or 'eigen'."
            )
        if self.solver == "svd" and self.covariance_estimator is not None:
            # scikit-learn's two classes word this differently, and their users look for either.
            raise ParameterError(
                f"{name}: covariance estimator is not supported with svd solver. Try another solver: "
                f"covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead."
            )
        if self.covariance_estimator is not None and self.shrinkage not in (None, 0):
            raise ParameterError(
                f"{name}: covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            )
