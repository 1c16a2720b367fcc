"""The elliptic envelope: outliers are far from a robust mean, in the metric of a robust covariance."""

from typing import Any, Self

from sklearn.metrics import accuracy_score

from mercer._base import fitting
from mercer._base.outliers import Detector, find_offset
from mercer._base.parameter import Real, parameter
from mercer._source.threads import one_blas_thread
from mercer._types import Array
from mercer.covariance._concentration import ConcentrationState
from mercer.covariance._robust import MinCovDet


class EllipticEnvelope(Detector, MinCovDet):
    """Detector of outliers by their distance from a robust mean, in the metric of a robust covariance.

    The score of a row is minus its squared distance :math:`(x - m)^T C^{-1} (x - m)`, with m and C those of
    :class:`MinCovDet`: rows are within an ellipsoid, or outside. Suited to rows of one cluster, about Gaussian.

    Attributes
    ----------
    offset_ : float
        The threshold: rows with lower scores are outliers.
    raw_location_, raw_covariance_, raw_support_, location_, covariance_, precision_, support_, dist_
        As of :class:`MinCovDet`.
    rank_, condition_, history_, converged_, n_iter_, certificate_, n_features_in_, feature_names_in_
        As of :class:`MinCovDet`.

    References
    ----------
    P. J. Rousseeuw and K. Van Driessen, A fast algorithm for the minimum covariance determinant estimator, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.covariance import EllipticEnvelope
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = EllipticEnvelope(contamination=0.05, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.0], [4.0, 4.0]]).tolist(), int((model.predict(X) == -1).sum())
    ([1, -1], 5)
    """

    contamination: float = parameter(
        Real(0, 0.5, closed="right"),
        default=0.1,
        after="support_fraction",
        doc="The share of outliers among the rows of the fit, which sets the threshold ``offset_``.",
    )

    _documents = {
        "support_fraction": "As in :class:`MinCovDet`.",
        "n_jobs": "Threads; None means all cores. Changes no result.",
    }

    @fitting
    @one_blas_thread()
    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Find the robust mean and covariance, and the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, at least two.
        """
        self._fit(X)
        return self

    def _list_attributes(self, state: ConcentrationState, X: Array, h: int, dtype: str) -> dict[str, Any]:
        attributes = super()._list_attributes(state, X, h, dtype)
        return attributes | {"offset_": find_offset(-attributes["dist_"], self.contamination)}

    def score_samples(self, X: Any) -> Any:
        """Return minus the squared distance of each row."""
        return -self.mahalanobis(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # type: ignore[override]
        """Return the share of rows whose label is predicted; without labels, the mean log-likelihood of the rows.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or None, default=None
            1 for usual rows, -1 for outliers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of labels.
        """
        if y is None:
            return MinCovDet.score(self, X)
        return accuracy_score(y, self.predict(X), sample_weight=sample_weight)
