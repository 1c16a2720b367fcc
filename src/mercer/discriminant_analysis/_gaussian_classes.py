"""What linear and quadratic discriminant analysis share: fits by sums, and which parameters go together."""

from typing import Any

from sklearn.utils.metaestimators import available_if

from mercer._base import fitting
from mercer._base.class_model import ClassModel
from mercer.errors import ParameterError, UnsupportedError

__all__ = ["GaussianClasses"]


def _works_from_sums(estimator: Any) -> bool:
    if estimator.shrinkage == "auto" or estimator.covariance_estimator is not None:
        message = (
            f"{type(estimator).__name__}: partial_fit works from sums, which shrinkage='auto' and covariance_estimator "
            f"cannot do with. Give a number for the shrinkage, or call fit."
        )
        raise ParameterError(message)
    return True


class GaussianClasses(ClassModel):
    """A classifier of Gaussian classes."""

    solver: str
    shrinkage: Any
    covariance_estimator: Any

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GaussianClasses":
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_solver()
        self._learn(X, y, sample_weight)
        return self

    @available_if(_works_from_sums)
    @fitting
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "GaussianClasses":
        """Fit to these rows and to all that ``fit`` and earlier calls were given: the model of one fit to all.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,) or None, default=None
            All labels there will be; needed in the first call.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights.

        Returns
        -------
        self
            The fitted estimator. A class without rows so far has prior zero. Where rows are too few for a covariance
            that can be inverted, an error says so and leaves the model as it was before the call.
        """
        self._check_solver()
        self._check_batch()
        self._learn(X, y, sample_weight, partial=True, classes=classes)
        return self

    def _check_batch(self) -> None:
        """Raise if the rows seen before were summed in another way than the parameters now ask for."""

    def _check_solver(self) -> None:
        name = type(self).__name__
        if self.solver == "svd" and self.shrinkage is not None:
            message = f"{name}: shrinkage not supported with 'svd' solver. Use solver='eigen'."
            raise UnsupportedError(message)
        if self.solver == "svd" and self.covariance_estimator is not None:
            # scikit-learn's two classes word this differently, and their users look for either.
            message = (
                f"{name}: covariance estimator is not supported with svd solver. Try another solver: "
                f"covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead."
            )
            raise ParameterError(message)
        if self.covariance_estimator is not None and self.shrinkage not in (None, 0):
            message = (
                f"{name}: covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            )
            raise ParameterError(message)
