"""What all naive Bayes classifiers share: fits by sums, and the joint log-likelihood."""

from typing import Any

import numpy as np

from mercer._base import fitting
from mercer._base.class_model import ClassModel
from mercer._base.joint_scores import JointScores, as_scores
from mercer._base.parameter import attribute
from mercer._source.namespace import to_numpy


class NaiveBayes(JointScores, ClassModel):
    """Columns that are independent within classes: p(x | k) is a product over columns."""

    class_log_prior_: Any = attribute()

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "NaiveBayes":
        """Fit the model."""
        self._learn(X, y, sample_weight, accept_sparse="csr" if self._takes_sparse else False)
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "NaiveBayes":
        """Fit to these rows and to all that ``fit`` and earlier calls were given: the model of one fit to all."""
        self._learn(
            X, y, sample_weight, partial=True, classes=classes, accept_sparse="csr" if self._takes_sparse else False
        )
        return self

    def _log_priors(self) -> Any:
        return to_numpy(self.class_log_prior_).astype(np.float64)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return log P(k) + log p(x | k) for each row x and class k.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._map(X, as_scores)
