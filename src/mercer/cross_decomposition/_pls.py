"""Partial least squares: PLSRegression and PLSCanonical."""

from typing import ClassVar

import numpy as np

from mercer._base.parameter import Choice, parameter
from mercer._solver import Solver
from mercer._source import Source
from mercer._types import Array
from mercer.cross_decomposition._deflation import DeflationTask, PairedAxes, deflate, rotate
from mercer.cross_decomposition._latent import LatentRegressor
from mercer.cross_decomposition._moments import TwoTables


class _Deflating(LatentRegressor):
    """Partial least squares by deflation."""

    _canonical: ClassVar[bool]

    def _algorithm(self) -> str:
        return "nipals"

    def _solve(self, source: Source, tables: TwoTables, start: PairedAxes | None) -> Solver:
        task = DeflationTask(
            self.n_components, self._canonical, self._algorithm(), self.max_iter, self.tol, self._warn_constant
        )
        return deflate(task, tables, start)


class PLSRegression(_Deflating):
    r"""Partial least squares regression: few directions of X with the greatest covariance with Y.

    Component k is the pair of unit vectors that solves, for the tables that earlier components leave,

    .. math:: \max_{w, c} \; w^T X_k^T Y_k c, \qquad t_k = X_k w,

    after which both tables are regressed on the score :math:`t_k` and replaced by their residuals. Y is predicted from
    the scores: a regression on k numbers instead of d, for columns that are many or collinear.

    Attributes
    ----------
    x_weights_, y_weights_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        The vectors w, and c = Y_k^T t / t^T t. The entry of largest magnitude in each w is positive.
    x_loadings_, y_loadings_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        Coefficients of the regressions of X_k and Y_k on the scores.
    x_rotations_, y_rotations_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        What takes centred and scaled rows to scores.
    x_scores_, y_scores_ : ndarray of shape (n_samples, n_components)
        The scores of the rows of the fit, where these are in memory.
    correlations_ : ndarray of shape (n_components,)
        Between the scores of both tables, component by component.
    coef_ : ndarray of shape (n_targets, n_features)
        ``predict`` returns (X - x_mean_) @ coef_.T + intercept_.
    intercept_ : ndarray of shape (n_targets,)
    x_mean_, y_mean_, x_scale_, y_scale_ : ndarray
        Means and divisors of the columns.
    n_iter_ : list of int
        Alternating products, component by component.
    history_ : dict of ndarray
        Per component: ``objective``, the share of the squares of Y that is explained so far.
    certificate_ : Certificate
        ``"residual"`` of the pairs as singular vectors.

    Notes
    -----
    One pass sums the products of all columns, n (d + q)^2 / 2 multiplications; each component then takes O(d^2 + d q)
    and reads no row. With fewer rows than columns, rows in memory are kept instead and a component takes O(n d). Both
    give scikit-learn's numbers to rounding. Rows: memory, files, streams, Dask, devices; sparse X is not made dense
    unless it has more columns than rows.

    References
    ----------
    J. Wegelin, A survey of partial least squares methods, 2000. B. Dayal and J. MacGregor, Improved PLS algorithms,
    1997.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cross_decomposition import PLSRegression
    >>> random = np.random.default_rng(0)
    >>> hidden = random.normal(size=(60, 2))
    >>> X = hidden @ random.normal(size=(2, 200)) + 0.1 * random.normal(size=(60, 200))
    >>> model = PLSRegression(2).fit(X[:40], hidden[:40, 0])
    >>> round(model.score(X[40:], hidden[40:, 0]), 2)
    1.0
    """

    _documents = {
        "n_components": "Components; at most the number of rows and of columns of X.",
        "max_iter": "Most alternating products for a pair; one target needs one.",
    }

    _canonical = False
    _bounded_by_targets: ClassVar[bool] = False

    def _rotate_targets(self, state: PairedAxes) -> Array:
        # The weights of Y are not orthogonal to the loadings that later components have, so that no recursion gives
        # their rotations.
        return rotate(state.y_weights, state.y_loadings)

    def _score_targets(self, gaps: Array, x_scores: Array) -> Array:
        """Return the scores of what earlier components leave of Y: Y_k c = (Y - sum_{j < k} t_j q_j^T) c."""
        squares = np.sum(self.y_weights_**2, axis=0)
        earlier = np.triu(self.y_loadings_.T @ self.y_weights_, 1)
        return (gaps @ self.y_weights_ - x_scores @ earlier) / np.where(squares > 0, squares, 1.0)


class PLSCanonical(_Deflating):
    r"""Partial least squares, canonical: pairs of directions of greatest covariance, both tables treated alike.

    Component k is the pair of unit vectors that solves :math:`\max_{w, c} w^T X_k^T Y_k c` for the tables that earlier
    components leave; then :math:`X_k` is regressed on its score :math:`t = X_k w`, :math:`Y_k` on :math:`u = Y_k c`,
    and each is replaced by its residuals.

    Attributes
    ----------
    x_weights_, y_weights_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        The vectors w and c. The entry of largest magnitude in each w is positive.
    x_loadings_, y_loadings_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        Coefficients of the regressions of each table on its scores.
    x_rotations_, y_rotations_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        What takes centred and scaled rows to scores.
    x_scores_, y_scores_ : ndarray of shape (n_samples, n_components)
        The scores of the rows of the fit, where these are in memory.
    correlations_ : ndarray of shape (n_components,)
        Between the scores of both tables, component by component.
    coef_ : ndarray of shape (n_targets, n_features)
        Of the regression of Y on the scores of X: ``predict`` returns (X - x_mean_) @ coef_.T + intercept_.
    intercept_ : ndarray of shape (n_targets,)
    x_mean_, y_mean_, x_scale_, y_scale_ : ndarray
        Means and divisors of the columns.
    n_iter_ : list of int
        Alternating products, component by component; 1 for ``algorithm="svd"``.
    history_ : dict of ndarray
        Per component: ``objective``, the sum of the covariances so far.
    certificate_ : Certificate
        ``"residual"`` of the pairs as singular vectors.

    Notes
    -----
    Costs and places are those of :class:`PLSRegression`. scikit-learn's ``coef_`` puts the scores of X in the place of
    those of Y, as if both had one scale; here Y is regressed on the scores of X, which minimises the squared error.

    References
    ----------
    J. Wegelin, A survey of partial least squares methods, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cross_decomposition import PLSCanonical
    >>> random = np.random.default_rng(0)
    >>> hidden = random.normal(size=(200, 1))
    >>> X, Y = (hidden + 0.5 * random.normal(size=(200, 4)) for table in range(2))
    >>> float(PLSCanonical(1).fit(X, Y).correlations_[0].round(2))
    0.94
    """

    algorithm: str = parameter(
        Choice("nipals", "svd"),
        default="nipals",
        after="scale",
        doc="How a pair is found: by alternating products until `tol`, or exactly by a singular value decomposition.",
    )

    _documents = {
        "n_components": "Components; at most the number of rows and of columns of either table.",
        "max_iter": "Most alternating products for a pair.",
    }

    _canonical = True

    def _algorithm(self) -> str:
        return self.algorithm
