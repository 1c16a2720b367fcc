"""Outliers as rows that are far from the mean in the metric of a covariance."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from mercer._base import check_new_rows
from mercer._base.parameter import HasFit, Nothing, attribute, parameter
from mercer._stored import Stored, floats, part
from mercer._types import Array
from mercer.covariance import MinCovDet
from mercer.errors import ParameterError
from mercer.outliers._detector import OutlierDetector


class MahalanobisOutlier(OutlierDetector):
    r"""Detector of rows that are far from the mean, measured by a covariance of choice.

    The score of a row is minus its squared distance :math:`(x - m)^T C^{-1} (x - m)`. Each column has a share of it,

    .. math:: (x_j - m_j) \sum_k (C^{-1})_{jk} (x_k - m_k),

    and the shares add up to the distance (:meth:`contributions`).

    Attributes
    ----------
    covariance_ : object
        The fitted estimator of the covariance.
    location_, precision_ : ndarray
        m, and the inverse of C.
    training_scores_ : ndarray of shape (n_samples,)
        Scores of the rows of the fit.
    offset_ : float
        The threshold: rows with lower scores are outliers.

    Notes
    -----
    With :class:`mercer.covariance.EmpiricalCovariance` outliers inflate C and hide themselves: of n rows none has a
    distance above (n - 1)^2 / n, and rows of a large group of outliers have small ones. Rows must be in memory.

    References
    ----------
    P. C. Mahalanobis, On the generalised distance in statistics, 1936.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.covariance import EmpiricalCovariance
    >>> from mercer.outliers import MahalanobisOutlier
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) * [1.0, 10.0]
    >>> model = MahalanobisOutlier(EmpiricalCovariance()).fit(X)
    >>> model.contributions([[4.0, 4.0]]).round(1).tolist()  # four standard deviations, and 0.4
    [[17.8, -0.1]]
    """

    covariance: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        kw_only=False,
        doc="What estimates m and C: an estimator of :mod:`mercer.covariance` or of scikit-learn. None means "
        "``MinCovDet(random_state=0)``, which outliers cannot move.",
    )

    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "MinCovDet, the default, draws starts by the numbers of rows: another order gives other starts",
        "memory": "MinCovDet, the default, works on standardised copies of the rows",
    }
    covariance_: Any = attribute()
    location_: Any = attribute()
    precision_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "covariance_": part("BaseEstimator"),
        "location_": floats("columns"),
        "precision_": floats("columns, columns"),
    }

    def _learn(self, X: Array, weight: Array) -> tuple[dict[str, Any], Array]:
        estimator = MinCovDet(random_state=0) if self.covariance is None else clone(self.covariance)
        fitted = estimator.fit(X)
        if not hasattr(fitted, "get_precision") or not hasattr(fitted, "location_"):
            raise ParameterError(
                f"MahalanobisOutlier: covariance must have location_ and get_precision after its fit; "
                f"{type(fitted).__name__} has not. Use an estimator of mercer.covariance."
            )
        attributes = {"covariance_": fitted, "location_": fitted.location_, "precision_": fitted.get_precision()}
        # The shares of the columns sum to the squared Mahalanobis distance; a low score marks an outlier.
        return attributes, -_share_out(X, fitted.location_, attributes["precision_"]).sum(axis=1)

    def score_samples(self, X: Any) -> Array:
        """Return minus the squared distance of each row."""
        return -self.contributions(X).sum(axis=1)

    def contributions(self, X: Any) -> Array:
        """Return the share of each column in the squared distance of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Negative where a value fits the other columns better than the mean would.
        """
        rows = check_new_rows(self, X)
        return _share_out(rows, self.location_, self.precision_)


def _share_out(X: Array, location: Array, precision: Array) -> Array:
    """Return (x - m) times the gradient of half the squared distance, column by column."""
    steps = X.astype(np.float64) - location
    return (steps * (steps @ precision)).astype(X.dtype, copy=False)
