"""Predictions of a boosted classifier: scores, probabilities and labels, after all rounds or after each."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.scoring import ClassifierMixin
from mercer._base.tree_problem import read_table
from mercer._base.wrapping import check_member_rows
from mercer._plain import plain
from mercer._solver.tree.binary_tree import LEAF, UNDEFINED
from mercer._solver.tree.packed_forest import PackedForest
from mercer._solver.tree.soundness import ensure_sound
from mercer._solver.tree.stump_search import Stump
from mercer._source import Block, open_source
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, flags, floats, integers, part, size
from mercer.ensemble._reweighting.boosting import compute_votes
from mercer.ensemble._reweighting.weak_learner import EstimatorLearner, WeightedMembers
from mercer.errors import ModelFileError


@plain
@dataclass(frozen=True)
class StumpVotes:
    """The votes of many stumps, packed: a function from a block of rows to scores."""

    features: Any
    thresholds: Any
    missing_left: Any
    votes: Any

    _stored: ClassVar[dict[str, Stored]] = {
        "features": integers("stumps", low=0, dtype="int64"),
        "thresholds": floats("stumps"),
        "missing_left": flags("stumps"),
        "votes": floats("stumps, 2, scores"),
    }

    def check_fields(self) -> None:
        """Accept what the declaration accepts."""

    @cached_property
    def _forest(self) -> PackedForest:
        """The stumps as trees of three nodes, whose leaves have their votes; checked."""
        ensure_sound(self)
        n = len(self.features)
        thresholds, votes = np.zeros((n, 3)), np.zeros((n, 3, self.votes.shape[2]))
        thresholds[:, 0], votes[:, 1:] = self.thresholds, self.votes
        columns, rights, sides = (np.tile([root, leaf, leaf], n) for root, leaf in ((0, UNDEFINED), (2, LEAF), (0, 0)))
        columns[::3], sides[::3] = self.features, self.missing_left
        return PackedForest.pack(  # type: ignore[call-arg]
            *(np.full(n, 3), columns.astype(np.int32), rights.astype(np.int32), thresholds.ravel(), sides),
            *(votes.reshape(3 * n, -1), np.zeros(0, np.int64)),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_forest"}

    @classmethod
    def pack(cls, stumps: Any, votes: list[np.ndarray]) -> "StumpVotes":
        """Pack stumps, each with its votes (2, K) for rows on the left and on the right."""
        # A stump without a split has all rows on the left: its threshold is infinite, and NaN goes left.
        features = np.array([max(stump.feature, 0) for stump in stumps], dtype=np.int64)
        missing = np.array([stump.missing_left for stump in stumps], dtype=np.uint8)
        return cls(features, np.array([stump.threshold for stump in stumps]), missing, np.array(votes))

    def __call__(self, block: Block) -> np.ndarray:
        if not block.is_sparse:
            return self.sum_votes(block.X)
        # Only the columns that some stump reads are made dense.
        used, features = np.unique(self.features, return_inverse=True)
        rows = np.ascontiguousarray(block.X[:, used].toarray())
        return StumpVotes(features.astype(np.int64), self.thresholds, self.missing_left, self.votes).sum_votes(rows)

    def find_sides(self, number: int, rows: Any) -> np.ndarray:
        """Return 0 for rows on the left of a stump, 1 for rows on its right."""
        split = int(self.features[number]), float(self.thresholds[number]), bool(self.missing_left[number])
        return Stump(*split, None, None).sides(rows)

    def sum_votes(self, rows: np.ndarray) -> np.ndarray:
        """Return the sum of all votes for each dense row (n, K)."""
        return self._forest.sum_leaves(rows, 1)


class BoostedVotes(WeightedMembers, ClassifierMixin):
    """Predictions of a boosted classifier."""

    algorithm: str
    classes_: Any
    n_classes_: int
    _packed: StumpVotes | None

    _stored: ClassVar[dict[str, Stored]] = {
        "n_classes_": size("classes"),
        "_packed": part("StumpVotes", "none"),
    }

    def _check_structure(self) -> None:
        packed = vars(self).get("_packed")
        if packed is not None and packed.features.max(initial=-1) >= self.n_features_in_:
            raise ModelFileError(
                f"{type(self).__name__}: its stumps must read {self.n_features_in_} columns; they read others."
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each class, or with two classes the difference of their scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With ``algorithm='SAMME'`` divided by the sum of the weights of the members, as scikit-learn does.
        """
        scores, dtype = self._sum_votes(X)
        return self._divide_scores(scores, self._find_scale()).astype(dtype, copy=False)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest score; the first of equal ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores, _ = self._sum_votes(X)
        return self.classes_[_find_largest(scores)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities: the softmax of the scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            With ``algorithm='SAMME'`` as in scikit-learn, from scores divided by the sum of the weights, so that they
            stay far from 0 and 1; with the others, the probabilities that belong to the exponential loss.
        """
        scores, dtype = self._sum_votes(X)
        return self._compute_softmax(scores, self._find_scale()).astype(dtype, copy=False)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`decision_function` after each round."""
        for n_rounds, scores in enumerate(self._stage_scores(X), start=1):
            yield self._divide_scores(scores, self._find_scale(n_rounds))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""
        for scores in self._stage_scores(X):
            yield self.classes_[_find_largest(scores)]

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict_proba` after each round."""
        for n_rounds, scores in enumerate(self._stage_scores(X), start=1):
            yield self._compute_softmax(scores, self._find_scale(n_rounds))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy after each round.

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
        from sklearn.metrics import accuracy_score

        for labels in self.staged_predict(X):
            yield accuracy_score(y, labels, sample_weight=sample_weight)

    def _sum_votes(self, X: Any) -> tuple[np.ndarray, Any]:
        """Return the sum of all votes (n, K), and the type of the predictions."""
        # Asking scikit-learn whether a model is fitted takes longer than a prediction for one row.
        if "_packed" not in vars(self):
            check_is_fitted(self)
        if self._packed is None:
            rows = check_member_rows(self, self.estimator_, X)
            *_, total = self._stage_votes(rows)
            return total, np.float32 if getattr(rows, "dtype", None) == np.float32 else np.float64
        rows = read_table(self, X)
        if not is_sparse_matrix(rows) and rows.size < 2**16:
            # Few values need no threads, and so no source.
            return self._packed.sum_votes(rows), rows.dtype
        return open_source(rows, threads=self._threads()).map(self._packed), rows.dtype

    def _stage_scores(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the sum of the votes (n, K) after each round."""
        check_is_fitted(self)
        if self._packed is None:
            yield from self._stage_votes(check_member_rows(self, self.estimator_, X))
            return
        rows = read_table(self, X)
        total = np.zeros((rows.shape[0], self.n_classes_))
        for number in range(len(self.estimators_)):
            # The vote of the side that each row is on.
            total = total + self._packed.votes[number][self._packed.find_sides(number, rows)]
            yield total

    def _stage_votes(self, rows: Any) -> Iterator[np.ndarray]:
        """Yield the sum of the votes (n, K) after each member that is not a packed stump."""
        by_share = self.algorithm != "SAMME"
        reader = EstimatorLearner(self.estimator_, None, self.classes_[:0], self.classes_, None, False, by_share)
        total = 0.0
        for member, weight in zip(self.estimators_, self.estimator_weights_, strict=True):
            shares = reader.predict(member, rows)
            total = total + compute_votes(shares.table, weight, self.algorithm)[shares.index]
            yield total

    def _find_scale(self, n_rounds: int | None = None) -> float:
        """Return the divisor of the scores after `n_rounds` rounds, by default all.

        SAMME's scores are those of scikit-learn, whose weights are K / (K-1)^2 times ours.
        """
        if self.algorithm != "SAMME":
            return 1.0
        return float(self.estimator_weights_[:n_rounds].sum()) * max(self.n_classes_ - 1, 1) ** 2 / self.n_classes_

    def _divide_scores(self, scores: np.ndarray, scale: float) -> np.ndarray:
        """Return scores over their scale, with two classes as one difference."""
        scores = scores / scale
        return scores[:, 1] - scores[:, 0] if self.n_classes_ == 2 else scores

    def _compute_softmax(self, scores: np.ndarray, scale: float) -> np.ndarray:
        """Return the class probabilities (n, K) of the votes."""
        powers = scores / (scale * max(self.n_classes_ - 1, 1))
        # A common shift changes no share and keeps exp from overflowing.
        powers = np.exp(powers - powers.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def _find_largest(scores: np.ndarray) -> np.ndarray:
    """Return the index of the largest score; the first of those that differ by rounding alone."""
    # Sums of votes that are equal in exact arithmetic differ by rounding, at most by 1e-12 of the largest score.
    top = scores.max(axis=1, keepdims=True)
    return (scores >= top - 1e-12 * np.abs(scores).max(axis=1, keepdims=True)).argmax(axis=1)
