"""Agglomeration of columns: those that are alike become one."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import few_rows, fitting, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.parameter import Function, Nothing, parameter
from mercer._source import Block, open_source
from mercer._types import Array
from mercer.cluster._hierarchy.agglomerative import AgglomerativeClustering


@dataclass(frozen=True, eq=False)
class _Pooling:
    """Pools the columns of each cluster of a block; None as function takes their mean."""

    labels: Array
    function: Any

    def __call__(self, block: Block) -> Array:
        return self.of_rows(block.dense())

    def of_rows(self, X: Array) -> Array:
        """Return the pooled columns of rows in memory."""
        count = int(self.labels.max()) + 1
        if self.function is not None:
            return np.stack([self.function(X[:, self.labels == label], axis=1) for label in range(count)], axis=1)
        order = np.argsort(self.labels, kind="stable")
        starts = np.searchsorted(self.labels[order], np.arange(count))
        sums = np.add.reduceat(X[:, order], starts, axis=1)
        sums /= np.bincount(self.labels).astype(X.dtype)
        return sums


class FeatureAgglomeration(ClassNamePrefixFeaturesOutMixin, TransformerMixin, AgglomerativeClustering):
    r"""Agglomeration of columns: the two closest clusters of columns are merged until few are left.

    Columns are merged as :class:`AgglomerativeClustering` merges rows, and each cluster becomes one column, the mean of
    its columns or another function of them.

    Attributes
    ----------
    labels_ : ndarray of shape (d,)
        The cluster of each column, numbered in the order of their first columns.
    n_clusters_, n_leaves_, n_connected_components_ : int
    children_ : ndarray of shape (d - 1, 2)
        The clusters of each merge; columns below d, and d + i for what merge i made.
    distances_ : ndarray of shape (d - 1,)
        The height of each merge, if asked for.
    sizes_ : ndarray of shape (n_clusters,)
        How many columns each cluster has.
    history_, converged_, n_iter_, certificate_
        As in :class:`AgglomerativeClustering`.

    See Also
    --------
    AgglomerativeClustering : The same for rows, with the linkages and their costs.

    Notes
    -----
    Costs d^2 n, for d columns of n rows: one matrix product where n is at least d. Rows in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import FeatureAgglomeration
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> X = np.column_stack([x, x + 0.1, 5 - x])
    >>> model = FeatureAgglomeration(2).fit(X)
    >>> model.labels_.tolist(), model.transform(X)[0].round(2).tolist()
    ([0, 0, 1], [0.05, 5.0])
    """

    pooling_func: Any = parameter(
        Function() | Nothing(),
        default=np.mean,
        after="linkage",
        doc="What the columns of a cluster become: a function of an array with the argument ``axis``. None is the mean "
        "too, and can be saved.",
    )

    _documents = {
        "n_clusters": "The number of columns to keep; None with `distance_threshold`.",
        "connectivity": "A matrix, sparse or dense, whose entries say which columns touch, or a function that makes "
        "one from the transposed rows: only clusters that touch are merged.",
        "n_jobs": "Threads that measure distances; None means all cores. Changes no result.",
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "columns are merged: the rows are copied column by column, and distances of all pairs are held"
    }

    _depends_on_units = ("columns", "place")

    @fitting
    def fit(self, X: Any, y: Any = None) -> "FeatureAgglomeration":
        """Build the tree of the columns and cut it."""
        source = self._open(X, ensure_min_features=2)
        turned = open_source(np.ascontiguousarray(source.whole().T), threads=self._threads())
        self._merge(turned)
        return self

    def _exemplars_of(self, X: Array, labels: Array, sizes: Array) -> dict[str, Any]:
        """Return nothing: no column is predicted."""
        return {}

    def transform(self, X: Any) -> Array:
        """Pool the columns of each cluster.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        mean = self.pooling_func is None or self.pooling_func is np.mean
        pooling = _Pooling(self.labels_, None if mean else self.pooling_func)
        if (rows := few_rows(self, X)) is not None:
            return pooling.of_rows(rows)
        return open_new_rows(self, X).map(pooling)

    def inverse_transform(self, X: Any) -> Array:
        """Give each column the value of its cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_clusters) or (n_clusters,)
            Pooled columns.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_features,)
        """
        check_is_fitted(self)
        return np.asarray(X)[..., self.labels_]

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters_)

    @property
    def predict(self) -> Any:
        """Refuse: columns are clustered, not rows."""
        raise AttributeError("FeatureAgglomeration has no predict: columns are clustered, not rows; take transform.")

    @property
    def fit_predict(self) -> Any:
        """Refuse: columns are clustered, not rows."""
        raise AttributeError("FeatureAgglomeration has no fit_predict: columns are clustered, not rows; take fit.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
