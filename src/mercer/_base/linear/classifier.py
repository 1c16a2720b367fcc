"""What linear classifiers share once fitted: scores, labels, probabilities, and coefficients stored sparse."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from mercer._base import few_rows, open_new_rows
from mercer._base.joint_scores import Hits, LargestScore, ScoredRows, share_classes
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import check_labels
from mercer._objective import Logistic, Softmax
from mercer._source import Block, Labelling, Source, place_of
from mercer._source.namespace import find_row_largest, namespace_of, sum_rows
from mercer._source.placement import is_on_device
from mercer._statistic.labels import LabelCounts, Labels
from mercer._stored import Stored, floats, numbers
from mercer.errors import DataError, ModelFileError


def label_classes(estimator: Any, source: Source) -> tuple[np.ndarray, Source]:
    """Return the classes, sorted, and the rows with class indices (0.0 and 1.0 for two) and class weights.

    Labels in memory are seen at once; elsewhere they cost a pass.
    """
    if source.place == "memory":
        check_labels(source.y)
    # Equal weights need only the names of the classes; the number of rows in each serves the balanced weights alone.
    if source.place == "memory" and estimator.class_weight != "balanced":
        counts = LabelCounts(np.unique(source.y), None, source.n_rows)
    else:
        counts = source.reduce(Labels())
    classes = counts.classes
    if len(classes) < 2:
        raise DataError(
            f"{type(estimator).__name__}: This solver needs samples of at least 2 classes in the data, but the data "
            f"contains only one class: {classes[0]!r}. Add rows of another."
        )
    return classes, source.relabel(Labelling(classes, _class_weights(estimator, counts)))


def _class_weights(estimator: Any, counts: LabelCounts) -> np.ndarray | None:
    """Return a factor for the weights of the rows of each class, as scikit-learn reads ``class_weight``."""
    wish, classes = estimator.class_weight, counts.classes
    if wish is None:
        return None
    if wish != "balanced":
        return compute_class_weight(wish, classes=classes, y=classes).astype(np.float64)
    if not np.all(counts.weights > 0):
        raise DataError(
            f"{type(estimator).__name__}: class_weight='balanced' needs rows of positive weight in every class; class "
            f"{classes.tolist()[np.argmin(counts.weights)]!r} has none. Drop the rows of weight zero."
        )
    # n / (k n_c) with weights for counts: every class weighs n / k in total.
    return counts.weights.sum() / (len(classes) * counts.weights)


def check_scores(model: Any) -> None:
    """Raise ModelFileError unless a loaded classifier has a row of ``coef_`` for each class, or one for two."""
    state = vars(model)
    if "coef_" not in state or state.get("_multilabel") or not isinstance(state.get("classes_"), np.ndarray):
        return
    # Two classes share one row of coefficients: the score of the second class against the first.
    n_scores, n_classes = (1 if model.coef_.ndim == 1 else model.coef_.shape[0]), len(model.classes_)
    if n_scores != n_classes and (n_scores != 1 or n_classes not in (1, 2)):
        raise ModelFileError(
            f"{type(model).__name__} must have scores for {n_classes} classes; the file has {n_scores}."
        )


class LinearDecision(ClassifierMixin):
    """Decisions of a fitted ``coef_`` (k, d) and ``intercept_`` (k,), with ``classes_``; k = 1 means two classes."""

    _stored: ClassVar[dict[str, Stored]] = {
        "coef_": numbers("scores, columns", sparse=True),
        "intercept_": floats(" | scores | 1"),
    }
    coef_: Any
    intercept_: np.ndarray
    classes_: np.ndarray

    def _check_structure(self) -> None:
        check_scores(self)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of each row: (n,) for two classes, positive for the second; else (n, n_classes).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            The scores.
        """
        scores = self._map(X, _keep_scores)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of each row, by its largest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,)
            Labels out of ``classes_``.
        """
        return self._map(X, LargestScore(getattr(self, "classes_", None)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose predicted class is their own.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), or rows in any other place
            The rows.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Their weights.

        Returns
        -------
        float
            The accuracy.
        """
        if place_of(X, y) == "memory":
            return super().score(X, y, sample_weight)
        check_is_fitted(self)
        source = self._open(X, y, sample_weight, targets="labels", reset=False)
        predicted = ScoredRows(_LinearScores(self._columns(), self.intercept_), LargestScore(self.classes_))
        return source.reduce(Hits(predicted)) / source.total_weight()

    def _map(self, X: Any, function: Any) -> np.ndarray:
        """Return ``function(scores, dtype)`` for each block of rows."""
        if (rows := few_rows(self, X)) is not None:
            return function(rows @ self._columns() + self.intercept_, rows.dtype)
        source = open_new_rows(self, X, accept_sparse="csr", logarithms=True)
        return source.map(ScoredRows(_LinearScores(self._columns(), self.intercept_), function))

    def _columns(self) -> Any:
        return (self.coef_.toarray() if issparse(self.coef_) else self.coef_).T


class LinearClassifier(LinearDecision):
    """A linear classifier with the probabilities of logistic and softmax regression."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the probability of each class for each row.

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
        """Compute the logarithm of the probability of each class for each row.

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
        if is_on_device(self.coef_):
            raise DataError(
                f"{type(self).__name__}: sparse coefficients are SciPy's, and the model is on a device; move it first "
                f"with mercer.to_device(model, 'cpu')."
            )
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


@dataclass(frozen=True, eq=False)
class _LinearScores:
    """Computes the scores X columns + intercept (n, k) of a block."""

    columns: Any
    intercept: Any

    def __call__(self, block: Block) -> Any:
        return block.matmul(self.columns) + self.intercept


def _keep_scores(scores: Any, dtype: Any) -> Any:
    return scores


def _probabilities(scores: Any, dtype: Any) -> Any:
    xp = namespace_of(scores)
    if xp is np and scores.dtype.char in "fd":
        return share_classes(scores)
    if scores.shape[1] == 1:
        # Both from the score, not one as 1 - the other, which would lose the digits of small probabilities.
        second = Logistic().mean(scores, xp)
        return xp.concat([Logistic().mean(-scores, xp), second], axis=1)
    return Softmax(scores.shape[1]).mean(scores, xp)


def _log_probabilities(scores: Any, dtype: Any) -> Any:
    xp = namespace_of(scores)
    if scores.shape[1] == 1:
        # log P = -log(1 + exp(-z)) for the second class and -log(1 + exp(z)) for the first.
        both = xp.concat([scores, -scores], axis=1)
        return -xp.logaddexp(xp.zeros_like(both), both)
    # Differences to the largest score cannot overflow exp.
    shifted = scores - find_row_largest(scores, xp)
    return shifted - xp.log(sum_rows(xp.exp(shifted), xp))
