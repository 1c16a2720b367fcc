"""Predictions and diagnostics of a fitted forest: means of leaves, paths, proximities, importances of features."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from mercer._base.parameter import attribute
from mercer._solver.tree.packed_forest import PackedForest, join_trees, share_values
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.ensemble._forest.growth import Bootstrap
from mercer.ensemble._forest.tree_ensemble import TreeEnsemble
from mercer.errors import DataError

# The packed trees of each forest that has predicted, with the list of trees from which they were made.
_PACKED: "WeakKeyDictionary[Any, tuple[list[Any], PackedForest]]" = WeakKeyDictionary()


class FittedForest(TreeEnsemble):
    """The part of a forest that needs fitted attributes only."""

    estimators_: list[Any] = attribute()
    n_outputs_: int = attribute()
    # The rows of the fit, how many of them each tree saw (None for all), and in proportion to which weights.
    _n_rows: int = attribute()
    _n_drawn: int | None = attribute()
    _draw_weight: Array = attribute()
    _member_seeds: list[int] = attribute()

    def _pack(self) -> PackedForest:
        """Return all trees in a few arrays, joined when first needed; the trees then become views of these."""
        cached = _PACKED.get(self)
        if cached is None or cached[0] is not self.estimators_:
            trees = [member.tree_ for member in self.estimators_]
            packed = join_trees(trees)
            for member, tree in zip(self.estimators_, share_values(packed, trees)):
                member.tree_ = tree
            cached = _PACKED[self] = (self.estimators_, packed)
        return cached[1]

    def _average_leaves(self, X: Any) -> Array:
        """Return the mean over the trees of the values of each row's leaf, of shape (n, n_outputs, classes)."""
        rows = self._check_rows(X)
        packed = self._pack()
        # Up to 512 rows, starting threads would take longer than the walk through the trees.
        sums = packed.sum_leaves(rows, self._threads() if rows.shape[0] > 512 else 1)
        sums /= len(packed.roots)
        return sums.reshape(len(sums), self.n_outputs_, -1).astype(self._dtype, copy=False)

    def apply(self, X: Any) -> Array:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
        """
        rows = self._check_rows(X)
        return self._pack().find_leaves(rows, self._threads())

    def decision_path(self, X: Any) -> tuple[csr_array, Array]:
        """Return the nodes that each row passes in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        indicator : sparse array of shape (n_samples, nodes of all trees)
            Ones at the nodes that a row passes.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Where each tree's nodes begin.
        """
        rows = self._check_rows(X)
        packed = self._pack()
        return packed.find_paths(rows, self._threads()), np.concatenate([[0], np.cumsum(packed.sizes, dtype=np.int64)])

    def proximity(self, X: Any) -> Array:
        """Return the similarity of rows: the share of trees in which two rows are in one leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proximities : ndarray of shape (n_samples, n_samples)
            Symmetric, with ones on the diagonal; positive semi-definite, so it may serve as a kernel.
        """
        leaves = self.apply(X)
        n = len(leaves)
        # Eight bytes for the sum, and one for the comparison of a tree, of each pair of rows.
        require_memory(type(self).__name__, 9 * n * n, f"the {n} x {n} proximities", "give fewer rows")
        shared = np.zeros((n, n))
        for column in leaves.T:
            shared += column[:, None] == column
        return shared / leaves.shape[1]

    @property
    def estimators_samples_(self) -> list[Array]:
        """The rows that each tree was grown on, as often as each was drawn."""
        check_is_fitted(self)
        rows = np.arange(self._n_rows, dtype=np.int32)
        if self._n_drawn is None:
            return [rows.copy() for _ in self.estimators_]
        n_bytes = 8 * (self._n_drawn + 2 * self._n_rows + len(self.estimators_) * self._n_drawn)
        cure = "use estimators_ with fewer trees"
        require_memory(type(self).__name__, n_bytes, "the rows of every tree", cure)
        bootstrap = Bootstrap(self._n_rows, self._n_drawn, self._draw_weight)
        return [np.repeat(rows, bootstrap.count(seed)) for seed in self._member_seeds[: len(self.estimators_)]]

    @property
    def feature_importances_(self) -> Array:
        """The share of each feature in the decrease of impurity by all splits, averaged over the trees.

        These shares are biased: they favour columns with many distinct values, and since they are computed on the rows
        of the fit a column of noise has a positive share. :meth:`permutation_importance` has neither flaw.
        """
        check_is_fitted(self)
        shares = [member.feature_importances_ for member in self.estimators_ if member.tree_.node_count > 1]
        if not shares:
            return np.zeros(self.n_features_in_)
        # Trees without a split have no shares, and are left out of the mean.
        mean = np.mean(shares, axis=0)
        return mean / mean.sum()

    def permutation_importance(self, X: Any, y: Any, n_repeats: int = 5) -> Array:
        """Return how much worse trees predict rows that they did not see when a column of these rows is shuffled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the fit.
        y : array-like of shape (n_samples,)
            Their targets.
        n_repeats : int, default=5
            How often each column is shuffled.

        Returns
        -------
        importances : ndarray of shape (n_features,)
            The mean over the trees of the loss of accuracy, or of the rise of the squared error. Around zero for
            columns of noise.
        """
        rows = np.asarray(self._check_rows(X))
        if self._n_drawn is None or len(rows) != self._n_rows:
            raise DataError(
                f"{type(self).__name__}: permutation_importance needs rows that trees did not see: fit with "
                f"bootstrap=True and give the {getattr(self, '_n_rows', 0)} rows of the fit; got {len(rows)}."
            )
        y = np.asarray(y)
        losses = np.zeros(self.n_features_in_)
        for seed, member, drawn in zip(self._member_seeds, self.estimators_, self.estimators_samples_):
            unseen = np.setdiff1d(np.arange(len(rows)), drawn)
            # The 2 separates this stream from those that drew the rows and features of the tree.
            stream = np.random.default_rng([seed, 2])
            # Rows that the tree has not seen: its error on them is honest.
            own, truth = rows[unseen].copy(), y[unseen]
            before = self._measure_error(member, own, truth)
            for feature in range(rows.shape[1]):
                column = own[:, feature].copy()
                for _ in range(n_repeats):
                    own[:, feature] = stream.permutation(column)
                    losses[feature] += self._measure_error(member, own, truth) - before
                # The column is put back before the next is shuffled.
                own[:, feature] = column
        return losses / (n_repeats * len(self.estimators_))

    def _measure_error(self, member: Any, X: Array, y: Array) -> float:
        """Return the mean error of one tree on some rows."""
        raise NotImplementedError  # each forest has its own error
