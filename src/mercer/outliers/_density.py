"""Outliers as rows of low density."""

from typing import Any, ClassVar, Self

from sklearn.base import clone

from mercer._base import check_new_rows, fitting
from mercer._base.density import as_density
from mercer._base.outliers import find_offset
from mercer._base.parameter import HasFit, Nothing, attribute, parameter
from mercer._stored import Stored, part
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.neighbors import KernelDensity
from mercer.outliers._detector import OutlierDetector

# Stands for the logarithm of a density of zero where a threshold is set: far below any density of a double.
_LOG_ZERO = -1e6


class DensityOutlier(OutlierDetector):
    """Detector of rows that are improbable under a density of any kind.

    The score of a row is the logarithm of the density there.

    Attributes
    ----------
    density_ : object
        The fitted density.
    training_scores_ : ndarray of shape (n_samples,)
        Scores of the rows of the fit.
    offset_ : float
        The threshold: rows with lower scores are outliers.

    Notes
    -----
    Cost and memory are those of the density. Densities of two tables cannot be compared if units differ: the score
    changes by a constant when a column is scaled, and the order of rows stays. Rows must be in memory.

    References
    ----------
    C. M. Bishop, Novelty detection and neural network validation, 1994.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture import GaussianMixture
    >>> from mercer.outliers import DensityOutlier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = DensityOutlier(GaussianMixture(), contamination=0.05).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]]).tolist()
    [1, -1]
    """

    density: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        kw_only=False,
        doc="What learns the density: a kernel or histogram density, a mixture, a density of "
        ":mod:`mercer.estimation`, a distribution of SciPy, or an estimator of scikit-learn with "
        '``score_samples``. None means ``KernelDensity(bandwidth="normal_reference")``.',
    )

    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "a kernel density, the default, keeps all rows"}
    density_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "density_": part("BaseEstimator"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the density, and set the threshold.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, where the density takes them; a weight of two is the row twice.
        """
        self._fit(X, sample_weight)
        return self

    def _learn(self, X: Array, weight: Array) -> tuple[dict[str, Any], Array]:
        density = KernelDensity(bandwidth="normal_reference") if self.density is None else self.density
        if not isinstance(density, type) and hasattr(density, "get_params"):
            density = clone(density)
        learner = as_density(density, type(self).__name__)
        fitted = learner.fit(X) if weight is None else learner.fit(X, sample_weight=weight)
        return {"density_": fitted}, _sum_columns(fitted.logpdf(X)).astype(X.dtype, copy=False)

    def _set_offset(self, scores: Array, weight: Array) -> float:
        return find_offset(scores.clip(min=_LOG_ZERO), self.contamination, weight)

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the density at each row.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats; minus infinity where the density is zero.
        """
        rows = check_new_rows(self, X)
        return _sum_columns(self.density_.logpdf(rows)).astype(rows.dtype, copy=False)


def _sum_columns(logarithms: Array) -> Array:
    """Return a value for each row: a density of one number is that of independent columns."""
    if logarithms.ndim > 2:
        raise ParameterError(f"DensityOutlier: a density must give a value for each row; got shape {logarithms.shape}.")
    return logarithms.sum(axis=1) if logarithms.ndim == 2 else logarithms
