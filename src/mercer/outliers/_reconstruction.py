"""Outliers as rows that few components cannot reproduce."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from mercer._base import check_new_rows, fitting
from mercer._base.parameter import Boolean, HasFit, Nothing, attribute, parameter
from mercer._stored import Stored, floats, part
from mercer._types import Array
from mercer.decomposition import PCA
from mercer.errors import ParameterError
from mercer.outliers._detector import OutlierDetector, fit_part

# The share of the variance that the default components keep.
_KEPT_VARIANCE = 0.9


class ReconstructionOutlier(OutlierDetector):
    """Detector of rows that differ from what a transformation and its inverse make of them.

    The score of a row x is minus the squared distance between x and ``inverse_transform(transform(x))``. With principal
    components that is the squared distance to the plane in which usual rows lie. The default transformer knows also how
    far rows lie in the plane, and its score is minus the sum of both parts, each in units of its variance: the squared
    Mahalanobis distance of probabilistic principal components.

    Attributes
    ----------
    transformer_ : object
        The fitted transformer.
    mean_, scale_ : ndarray of shape (n_features,)
        Subtracted from the columns, and what these are divided by; zeros and ones without `standardize`.
    training_scores_ : ndarray of shape (n_samples,)
        Scores of the rows of the fit.
    offset_ : float
        The threshold: rows with lower scores are outliers.

    Notes
    -----
    With a transformer that is given, a row far out within the plane is not found; the default, or
    :class:`MahalanobisOutlier`, sees both directions. Cost and memory are those of the transformer. Rows must be in
    memory.

    References
    ----------
    J. E. Jackson and G. S. Mudholkar, Control procedures for residuals associated with principal component analysis,
    1979. H. H. Yue and S. J. Qin, Reconstruction-based fault identification using a combined index, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import PCA
    >>> from mercer.outliers import ReconstructionOutlier
    >>> t = np.linspace(-1.0, 1.0, 21)
    >>> model = ReconstructionOutlier(PCA(n_components=1), standardize=False).fit(np.column_stack([t, t]))
    >>> model.score_samples([[5.0, 5.0], [1.0, -1.0]]).round(6).tolist()  # on the line, and off it
    [-0.0, -2.0]
    """

    transformer: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        kw_only=False,
        doc="Has ``transform`` to fewer dimensions and ``inverse_transform``: PCA, or any other. None means "
        "``PCA(n_components=0.9)``, which keeps 90 % of the variance, but never all components.",
    )
    standardize: bool = parameter(
        Boolean(),
        default=True,
        doc="Whether columns are centred and divided by their standard deviation first, so that units do not matter.",
    )

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the rows are standardised in a copy, and compared with their reconstructions"
    }
    transformer_: Any = attribute()
    mean_: Any = attribute()
    scale_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "transformer_": part("BaseEstimator"),
        "mean_": floats("columns"),
        "scale_": floats("columns"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the transformer, and set the threshold.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, where the transformer takes them.
        """
        self._fit(X, sample_weight)
        return self

    def _learn(self, X: Array, weight: Array) -> tuple[dict[str, Any], Array]:
        transformer = PCA(n_components=_KEPT_VARIANCE) if self.transformer is None else clone(self.transformer)
        for method in ("transform", "inverse_transform"):
            if not hasattr(transformer, method):
                raise ParameterError(
                    f"ReconstructionOutlier: transformer must have transform and inverse_transform; "
                    f"{type(transformer).__name__} has no {method}. Use PCA."
                )
        mean, scale = _describe_columns(X, weight, self.standardize)
        rows = ((X - mean) / scale).astype(X.dtype, copy=False)
        fitted = fit_part(type(self).__name__, transformer, rows, weight)
        if self.transformer is None and 1 < X.shape[1] == fitted.n_components_:
            # With all components every row is reproduced, and scores would be rounding errors: leave out the last one.
            fitted = fit_part(type(self).__name__, PCA(n_components=X.shape[1] - 1), rows, weight)
        scores = -_find_shares(self.transformer is None, fitted, rows).sum(axis=1)
        return {"transformer_": fitted, "mean_": mean, "scale_": scale}, scores

    def score_samples(self, X: Any) -> Array:
        """Return minus the squared distance between each row and its reconstruction, or of both parts by default."""
        return -self.contributions(X).sum(axis=1)

    def contributions(self, X: Any) -> Array:
        """Return the share of each column in the distance of each row; the shares of a row add up to it.

        With a transformer that is given they are the squared differences from the reconstruction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        rows = check_new_rows(self, X)
        scaled = ((rows - self.mean_) / self.scale_).astype(rows.dtype, copy=False)
        return _find_shares(self.transformer is None, self.transformer_, scaled)


def _describe_columns(X: Array, weight: Array, standardize: bool) -> tuple[Array, Array]:
    """Return the means and standard deviations of columns; a constant column is divided by one."""
    if not standardize:
        return np.zeros(X.shape[1], X.dtype), np.ones(X.shape[1], X.dtype)
    mean = np.average(X.astype(np.float64), axis=0, weights=weight)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    # A constant column has a scale of rounding errors only.
    scale[scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300)] = 1.0
    return mean.astype(X.dtype), scale.astype(X.dtype)


def _find_shares(both: bool, transformer: Any, rows: Array) -> Array:
    """Return the shares of columns in the distance of rows from their reconstructions, or in both parts of it."""
    if not both:
        back = np.asarray(transformer.inverse_transform(transformer.transform(rows)))
        return (rows - back) ** 2
    gaps = rows - transformer.mean_
    axes, variances = transformer.components_, np.asarray(transformer.explained_variance_, dtype=np.float64)
    # One column has no direction beside its axis. Constant columns leave nothing, and nothing is divided by it.
    noise = float(transformer.noise_variance_)
    least = 1e-12 * float(variances.max(initial=0.0))
    codes = gaps @ axes.T
    beside = gaps - codes @ axes
    within = (codes / np.where(variances > least, variances, np.inf)) @ axes
    # x . (P x) with the precision P of probabilistic principal components, column by column.
    return gaps * (within + (beside / noise if noise > least else 0.0)).astype(rows.dtype, copy=False)
