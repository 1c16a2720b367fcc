"""What linear classifiers share once fitted: scores, labels, probabilities, and coefficients stored sparse."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitted_rows
from mercer._objective import Logistic, Softmax
from mercer._source import Block, open_source

__all__ = ["LinearClassifier"]

# Below this many numbers one product is done before threads have started.
_FEW = 2**17


class LinearClassifier(ClassifierMixin):
    """Predictions of a fitted ``coef_`` (k, d) and ``intercept_`` (k,), with ``classes_``; k = 1 means two classes."""

    coef_: Any
    intercept_: np.ndarray
    classes_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row: (n,) for two classes, where a positive one speaks for the second; else (n, n_classes).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            The scores.
        """
        scores = self._map(X, lambda scores: scores)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,)
            Labels out of ``classes_``.
        """
        chosen = self._map(X, _choose)
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities, in the order of ``classes_``; each row sums to one.
        """
        return self._map(X, _probabilities)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of the probability of each class for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Log-probabilities, taken from the scores, so that none is minus infinity by rounding.
        """
        return self._map(X, _log_probabilities)

    def sparsify(self) -> "LinearClassifier":
        """Store ``coef_`` as a CSR matrix, which pays when an l1 penalty has made most of it zero.

        Returns
        -------
        self
            The same estimator.
        """
        check_is_fitted(self)
        self.coef_ = csr_matrix(self.coef_)
        return self

    def densify(self) -> "LinearClassifier":
        """Store ``coef_`` as a dense array again.

        Returns
        -------
        self
            The same estimator.
        """
        check_is_fitted(self)
        if issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def _map(self, X: Any, function: Any) -> np.ndarray:
        """``function(scores)`` for each block of rows."""
        X = fitted_rows(self, X, accept_sparse="csr")
        coefficients = self.coef_.toarray() if issparse(self.coef_) else self.coef_
        columns, intercept = coefficients.T, self.intercept_
        if X.shape[0] * X.shape[1] <= _FEW:
            rows = csr_array(X) if issparse(X) else X
            return function(rows @ columns + intercept)

        def score(block: Block) -> np.ndarray:
            return function(block.matmul(columns) + intercept)

        return open_source(X, threads=self._threads()).map(score)


def _choose(scores: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.intp)
    return np.argmax(scores, axis=1)


def _probabilities(scores: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        second = Logistic().mean(scores, np)
        return np.concatenate([Logistic().mean(-scores, np), second], axis=1)
    return Softmax(scores.shape[1]).mean(scores, np)


def _log_probabilities(scores: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        return -np.logaddexp(0.0, np.concatenate([scores, -scores], axis=1)).astype(scores.dtype, copy=False)
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
