"""What a boosted classifier says of rows: scores, probabilities and labels, of all rounds or of the first few."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from mercer._base.tree_problem import read_table
from mercer._native.tree import stump_search
from mercer._plain import plain
from mercer._source import Block, open_source
from mercer.ensemble._reweighting.boosting import Answers, vote_table
from mercer.ensemble._reweighting.weak_learner import EstimatorLearner, MemberList, handed_rows

__all__ = ["BoostedVotes", "StumpVotes"]


@plain
@dataclass(frozen=True)
class StumpVotes:
    """The votes of many stumps, packed: a function from a block of rows to scores."""

    features: Any
    thresholds: Any
    missing_left: Any
    votes: Any

    @classmethod
    def of(cls, stumps: Any, votes: list[np.ndarray]) -> "StumpVotes":
        # A stump without a split has everything on the left: no number exceeds infinity, and NaN is sent there.
        features = np.array([max(one.feature, 0) for one in stumps], dtype=np.int64)
        missing = np.array([one.missing_left for one in stumps], dtype=np.uint8)
        return cls(features, np.array([one.threshold for one in stumps]), missing, np.array(votes))

    def __call__(self, block: Block) -> np.ndarray:
        if not block.is_sparse:
            return self.on(block.X)
        used, features = np.unique(self.features, return_inverse=True)
        rows = np.ascontiguousarray(block.X[:, used].toarray())
        return StumpVotes(features.astype(np.int64), self.thresholds, self.missing_left, self.votes).on(rows)

    def on(self, rows: np.ndarray) -> np.ndarray:
        scores = np.zeros((rows.shape[0], self.votes.shape[2]))
        stump_search.cast_votes(rows, self.features, self.thresholds, self.missing_left, self.votes, scores)
        return scores


class BoostedVotes(MemberList, ClassifierMixin):
    """Predictions of a boosted classifier."""

    algorithm: str
    classes_: Any
    n_classes_: int
    estimators_: list[Any]
    estimator_weights_: Any
    _packed: StumpVotes | None

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each class, or with two classes the difference of their scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With ``algorithm='SAMME'`` divided by the sum of the weights of the members, as scikit-learn does.
        """
        scores, dtype = self._scores(X)
        return self._decision(scores, self._scale()).astype(dtype, copy=False)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score; the first among equals.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores, _ = self._scores(X)
        return self.classes_[_largest(scores)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities: the softmax of the scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            With ``algorithm='SAMME'`` scikit-learn's, of scores divided by the sum of the weights, which are mild; with
            the others those that belong to the exponential loss.
        """
        scores, dtype = self._scores(X)
        return self._shares(scores, self._scale()).astype(dtype, copy=False)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """:meth:`decision_function` after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        for number, scores in enumerate(self._staged_scores(X), start=1):
            yield self._decision(scores, self._scale(number))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """:meth:`predict` after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for scores in self._staged_scores(X):
            yield self.classes_[_largest(scores)]

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """:meth:`predict_proba` after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
        """
        for number, scores in enumerate(self._staged_scores(X), start=1):
            yield self._shares(scores, self._scale(number))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The accuracy after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights.

        Yields
        ------
        float
        """
        for found in self.staged_predict(X):
            yield accuracy_score(y, found, sample_weight=sample_weight)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The members' importances, averaged with their weights; many different values favour a column."""
        check_is_fitted(self)
        try:
            parts = [one.feature_importances_ for one in self.estimators_]
        except AttributeError as error:
            message = (
                f"Unable to compute feature importances since estimator does not have a feature_importances_ "
                f"attribute; got {type(self.estimators_[0]).__name__}. Use permutation importance."
            )
            raise AttributeError(message) from error
        return np.average(parts, axis=0, weights=self.estimator_weights_)

    def _scores(self, X: Any) -> tuple[np.ndarray, Any]:
        """The sum of all votes, and the type of the answer."""
        # Asking scikit-learn whether a model is fitted takes longer than a prediction for one row.
        if "_packed" not in vars(self):
            check_is_fitted(self)
        if self._packed is None:
            rows = handed_rows(self, self.estimator_, X)
            *_, total = self._summed(rows)
            return total, np.float32 if getattr(rows, "dtype", None) == np.float32 else np.float64
        rows = read_table(self, X)
        if not issparse(rows) and rows.size < 2**16:
            return self._packed.on(rows), rows.dtype
        return open_source(rows, threads=self._threads()).map(self._packed), rows.dtype

    def _staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        if self._packed is None:
            yield from self._summed(handed_rows(self, self.estimator_, X))
            return
        rows = read_table(self, X)
        total = np.zeros((rows.shape[0], self.n_classes_))
        for member, votes in zip(self.estimators_, self._packed.votes, strict=True):
            total = total + votes[member._stump.sides(rows)]
            yield total

    def _summed(self, rows: Any) -> Iterator[np.ndarray]:
        by_share = self.algorithm != "SAMME"
        reader = EstimatorLearner(self.estimator_, None, self.classes_[:0], self.classes_, None, False, by_share)
        total = 0.0
        for member, size in zip(self.estimators_, self.estimator_weights_, strict=True):
            answers: Answers = reader.answers(member, rows)
            total = total + vote_table(answers.table, size, self.algorithm)[answers.index]
            yield total

    def _scale(self, number: int | None = None) -> float:
        """What scores are divided by; SAMME's are those of scikit-learn, whose weights are K / (K-1)^2 times ours."""
        if self.algorithm != "SAMME":
            return 1.0
        return float(self.estimator_weights_[:number].sum()) * max(self.n_classes_ - 1, 1) ** 2 / self.n_classes_

    def _decision(self, scores: np.ndarray, scale: float) -> np.ndarray:
        scores = scores / scale
        return scores[:, 1] - scores[:, 0] if self.n_classes_ == 2 else scores

    def _shares(self, scores: np.ndarray, scale: float) -> np.ndarray:
        powers = scores / (scale * max(self.n_classes_ - 1, 1))
        powers = np.exp(powers - powers.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def _largest(scores: np.ndarray) -> np.ndarray:
    """The number of the largest score, where scores that differ by rounding alone are equal and the first is taken."""
    top = scores.max(axis=1, keepdims=True)
    return (scores >= top - 1e-12 * np.abs(scores).max(axis=1, keepdims=True)).argmax(axis=1)
