"""From the joint log-likelihood of a row with each class to labels and posteriors: Bayes' rule, in log space."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import _crossovers
from mercer._base.opening import open_new_rows
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import few_rows
from mercer._native.sums import class_scores
from mercer._source import Block, place_of
from mercer._source.block import DenseBlock
from mercer._source.namespace import find_row_largest, namespace_of, sum_rows
from mercer._statistic import Statistic


class JointScores(ClassifierMixin):
    """Predictions of a fitted model whose :meth:`_scorer` gives log p(x | class) + log P(class), block by block."""

    classes_: Any
    _takes_sparse: ClassVar[bool]

    def _scorer(self) -> Any:
        """Return a picklable function from a block to scores of shape (n, n_classes)."""
        raise NotImplementedError  # each model has its own

    def _log_priors(self) -> Any:
        """Return log P(class): the log-posterior of a row that no class can have."""
        raise NotImplementedError  # each model has its own

    def _judge(self) -> Any:
        """Return the function whose largest score decides."""
        return self._scorer()

    def predict(self, X: Any) -> Any:
        """Predict the most probable class of each row; among equals the first. Impossible rows get the largest prior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        self._check_fitted()
        return self._map(X, LargestScore(self.classes_, self._log_priors()), self._judge())

    def predict_proba(self, X: Any) -> Any:
        """Compute the posterior probability of each class for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``; each row sums to one. A row that no class can have gets the
            priors.
        """
        self._check_fitted()
        return self._map(X, _Posteriors(self._log_priors()))

    def predict_log_proba(self, X: Any) -> Any:
        """Compute the logarithm of the posterior probability of each class for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, made of the scores and not of the probabilities.
        """
        self._check_fitted()
        return self._map(X, _LogPosteriors(self._log_priors()))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose predicted class is their own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Their weights.

        Returns
        -------
        float
            The accuracy.
        """
        if place_of(X, y) == "memory":
            return super().score(X, y, sample_weight)
        self._check_fitted()
        options = {"accept_sparse": "csr" if self._takes_sparse else False}
        source = self._open(X, y, sample_weight, targets="labels", reset=False, **options)  # type: ignore[attr-defined]
        predicted = ScoredRows(self._judge(), LargestScore(self.classes_, self._log_priors()))
        return source.reduce(Hits(predicted)) / source.total_weight()

    def _check_fitted(self) -> None:
        # One attribute is enough; scikit-learn's check, which raises the error, takes a tenth of a one-row prediction.
        if "classes_" not in self.__dict__:
            check_is_fitted(self)

    def _map(self, X: Any, function: Any, scorer: Any = None) -> Any:
        """Return ``function(scores, dtype)`` for each block of rows."""
        if scorer is None:
            self._check_fitted()
            scorer = self._scorer()
        if (rows := few_rows(self, X)) is not None:
            return ScoredRows(scorer, function)(DenseBlock(rows, 0))
        source = open_new_rows(self, X, accept_sparse="csr" if self._takes_sparse else False, logarithms=True)
        return source.map(ScoredRows(scorer, function))


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Applies `function(scores, dtype)` to the scores of a block's rows, with the type of the rows."""

    scorer: Any
    function: Any

    def __call__(self, block: Block) -> Any:
        return self.function(self.scorer(block), block.X.dtype)


@dataclass(frozen=True, eq=False)
class LargestScore:
    """Gives the label of the largest score in each row; one score of two classes decides by its sign.

    With `log_priors`, a row whose scores are all minus infinity gets the class of the largest prior.
    """

    classes: Any
    log_priors: Any = None

    def __call__(self, scores: Any, dtype: Any) -> Any:
        xp = namespace_of(scores)
        if scores.shape[1] == 1 and self.classes.shape[0] == 2:
            return xp.take(self.classes, xp.astype(scores[:, 0] > 0, xp.int64))
        return xp.take(self.classes, choose_classes(replace_impossible(scores, self.log_priors)))


def choose_classes(scores: Any) -> Any:
    """Return the index of the largest score in each row, among equals the lowest."""
    if scores.shape[1] >= _crossovers.NUMPY_CLASSES or not _is_plain(scores):
        return namespace_of(scores).argmax(scores, axis=1)
    chosen = np.empty(len(scores), np.int64)
    class_scores.choose_largest(scores, chosen)
    return chosen


def share_classes(scores: Any) -> np.ndarray:
    """Return the probability of each class from scores in a NumPy matrix: exp(score) over the sum of its row.

    One score of two classes is that of the second, where the first has zero.
    """
    n, k = scores.shape
    out = np.empty((n, max(k, 2)), scores.dtype)
    if k <= 2:
        # Both from the gap, not one as 1 - the other, which would lose the digits of small probabilities.
        gaps = scores[:, 0] if k == 1 else scores[:, 1] - scores[:, 0]
        class_scores.pair_shares(np.ascontiguousarray(gaps), out)
    else:
        class_scores.share_rows(scores.reshape(-1), k, out.reshape(-1))
    return out


def _is_plain(scores: Any) -> bool:
    """Return whether scores are a matrix that native code reads as it lies."""
    return type(scores) is np.ndarray and scores.dtype.char in "fd" and scores.flags.c_contiguous


def replace_impossible(scores: Any, log_priors: Any) -> Any:
    """Return scores with `log_priors` in rows that no class can have, whose scores are all minus infinity."""
    if log_priors is None:
        return scores
    xp = namespace_of(scores)
    # If log p(x | k) + log p(k) is minus infinity for each k, the posterior is 0 / 0; without evidence it is the prior.
    if xp is np:
        # The least of all scores takes a twentieth of the time of the largest in each row of two.
        if scores.min(initial=np.inf) > -np.inf:
            return scores
        possible = find_row_largest(scores, np) > -np.inf
        return scores if possible.all() else np.where(possible, scores, log_priors)
    possible = xp.max(scores, axis=1, keepdims=True) > -xp.inf
    return xp.where(possible, scores, xp.asarray(log_priors, dtype=scores.dtype, device=scores.device))


@dataclass(frozen=True, eq=False)
class _LogPosteriors:
    """Scores less the logarithm of their summed exponentials, in the type of the rows."""

    log_priors: Any

    def __call__(self, scores: Any, dtype: Any) -> Any:
        xp = namespace_of(scores)
        scores = replace_impossible(scores, self.log_priors)
        # Subtract the largest score in full precision; the differences fit the precision of the rows.
        shifted = xp.astype(scores - find_row_largest(scores, xp), dtype, copy=False)
        return shifted - xp.log(sum_rows(xp.exp(shifted), xp))


@dataclass(frozen=True, eq=False)
class _Posteriors:
    log_priors: Any

    def __call__(self, scores: Any, dtype: Any) -> Any:
        # The one class of a model that has seen no other is no pair.
        if _is_plain(scores) and scores.shape[1] > 1:
            return share_classes(replace_impossible(scores, self.log_priors)).astype(dtype, copy=False)
        return namespace_of(scores).exp(_LogPosteriors(self.log_priors)(scores, dtype))


def as_scores(scores: Any, dtype: Any) -> Any:
    """Return the scores in the type of the rows."""
    return namespace_of(scores).astype(scores, dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Hits(Statistic):
    """The weight of the rows whose predicted label is their own."""

    predicted: ScoredRows

    def of(self, block: Block) -> float:
        right = block.xp.astype(self.predicted(block) == block.y, block.wide)
        return float(block.xp.sum(block.weigh(right)))
