"""What models whose scores are sums over trees answer beside predictions: the part of each column, and mean scores."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.recognition import Recognised
from mercer._solver.tree.tree_sum import TreeSum
from mercer._types import Array


class TreeAnswers(Recognised):
    """A model whose scores are a sum over trees."""

    def _tree_sum(self) -> TreeSum:
        """Return the trees as what the scores are a sum of, for explanations."""
        raise NotImplementedError  # each model has its own trees

    def contributions(self, X: Any) -> Array:
        """Return how much each column adds to the answer for each row: exact Shapley values of the trees.

        With the mean answer for the training rows they add up to the answer: a classifier's probabilities, but the
        scores of boosting. The answer for a row with some columns unknown follows both sides of each split by such a
        column, in proportion to the weight of the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)

        Returns
        -------
        contributions : ndarray of shape (n, d + 1), or (n, n_outputs, d + 1) for several answers
            The last column is the mean answer for the training rows.
        """
        check_is_fitted(self)
        trees = self._tree_sum()
        parts = trees.share(trees.read(X))
        return parts[:, 0] if parts.shape[1] == 1 else parts

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> Array:
        """Return the mean scores (k, points) where some columns have the values of a grid.

        The name and the arguments are those of scikit-learn's models: its ``partial_dependence`` calls them for
        ``method="recursion"``.
        """
        check_is_fitted(self)
        columns = np.asarray(target_features, np.int64)
        return self._tree_sum().average_over(columns, np.asarray(grid, np.float64)).T
