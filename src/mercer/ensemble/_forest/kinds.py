"""Forests for classes and forests for numbers: how they predict, and how they are judged by rows not seen."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.multiclass import type_of_target

from mercer._base.tree_problem import Problem
from mercer.ensemble._forest.growth import ForestState
from mercer.ensemble._forest.model import ForestModel
from mercer.errors import DataError
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

__all__ = ["TREE_NAMES", "ForestClassifier", "ForestRegressor"]

Array = Any
# The parameters that a forest hands on to its trees.
TREE_NAMES = (
    *("criterion", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "max_features"),
    *("max_leaf_nodes", "min_impurity_decrease", "ccp_alpha", "monotonic_cst"),
)


class ForestClassifier(ClassifierMixin, ForestModel):
    """A forest that predicts classes."""

    classes_: Any
    n_classes_: Any

    def _member(self, **parameters: Any) -> Any:
        kind = DecisionTreeClassifier if self.splitter == "best" else ExtraTreeClassifier
        return kind(**{name: getattr(self, name) for name in TREE_NAMES}, **parameters)

    def _tree_model(self, tree: Any, seed: int) -> Any:
        model = super()._tree_model(tree, seed)
        counts = self._n_classes
        numbers = [np.arange(count) for count in counts.tolist()]
        # A tree knows classes by their numbers, as in scikit-learn.
        model.classes_ = numbers[0] if len(numbers) == 1 else numbers
        model.n_classes_ = int(counts[0]) if len(numbers) == 1 else counts
        return model

    def predict_proba(self, X: Any) -> Array:
        """Return the mean of the class shares in each row's leaves.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes), or a list of them, one for each output
        """
        means = self._means(X)
        if self.n_outputs_ == 1:
            return means[:, 0]
        return [means[:, k, : self.n_classes_[k]] for k in range(self.n_outputs_)]

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of :meth:`predict_proba`."""
        found = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(found) if self.n_outputs_ == 1 else [np.log(one) for one in found]

    def predict(self, X: Any) -> Array:
        """Return the class of the largest mean share; of equals the first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        means = self._means(X)
        if self.n_outputs_ == 1:
            return self.classes_.take(means[:, 0].argmax(axis=1), axis=0)
        return np.stack([one.take(means[:, k].argmax(axis=1)) for k, one in enumerate(self.classes_)], axis=1)

    def _oob_score(self, problem: Problem, sums: Array, counts: Array) -> float:
        seen = counts > 0
        ends = np.cumsum(problem.n_classes)
        shares = [sums[seen, end - count : end] for end, count in zip(ends, problem.n_classes)]
        predicted = np.stack([one.argmax(axis=1) for one in shares], axis=1)
        truth, weight = problem.labels[seen], problem.weight[seen]
        if callable(self.oob_score):
            labels = [np.stack([c.take(k[:, j]) for j, c in enumerate(problem.classes)], 1) for k in (truth, predicted)]
            return float(self.oob_score(*(one[:, 0] if one.shape[1] == 1 else one for one in labels)))
        if not seen.any() or weight.sum() == 0:
            return 0.0
        # The accuracy, once for each tree: scikit-learn's function would check labels each time that are known.
        return float(np.average((truth == predicted).all(axis=1), weights=weight))

    def _check_judged(self, problem: Problem) -> None:
        kind = type_of_target(problem.y)
        if kind == "multiclass-multioutput":
            message = (
                f"{type(self).__name__}: The type of target cannot be used to compute OOB estimates. Got {kind} while "
                f"only the following are supported: continuous, continuous-multioutput, binary, multiclass, "
                f"multilabel-indicator. Fit one forest for each output."
            )
            raise DataError(message)

    def _judge_oob(self, problem: Problem, state: ForestState) -> None:
        super()._judge_oob(problem, state)
        self.oob_score_ = self._oob_score(problem, state.oob_sums, state.oob_counts)
        shares = _means_of_unseen(state).reshape(len(state.oob_counts), len(problem.classes), -1)
        self.oob_decision_function_ = shares[:, 0] if len(problem.classes) == 1 else shares.transpose(0, 2, 1)

    def _error_of(self, member: Any, X: Array, y: Array) -> float:
        return float(np.mean(self.classes_.take(member.predict(X)) != y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class ForestRegressor(RegressorMixin, ForestModel):
    """A forest that predicts numbers."""

    def _member(self, **parameters: Any) -> Any:
        kind = DecisionTreeRegressor if self.splitter == "best" else ExtraTreeRegressor
        return kind(**{name: getattr(self, name) for name in TREE_NAMES}, **parameters)

    def predict(self, X: Any) -> Array:
        """Return the mean of the values of each row's leaves.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        means = self._means(X)[..., 0]
        return means[:, 0] if self.n_outputs_ == 1 else means

    def _oob_score(self, problem: Problem, sums: Array, counts: Array) -> float:
        seen = counts > 0
        predicted, truth = sums[seen] / counts[seen, None], problem.labels[seen]
        if callable(self.oob_score):
            return float(self.oob_score(*(one[:, 0] if one.shape[1] == 1 else one for one in (truth, predicted))))
        weight = problem.weight[seen]
        return float(r2_score(truth, predicted, sample_weight=weight)) if np.count_nonzero(weight) > 1 else 0.0

    def _judge_oob(self, problem: Problem, state: ForestState) -> None:
        super()._judge_oob(problem, state)
        self.oob_score_ = self._oob_score(problem, state.oob_sums, state.oob_counts)
        values = _means_of_unseen(state)
        self.oob_prediction_ = values[:, 0] if values.shape[1] == 1 else values

    def _error_of(self, member: Any, X: Array, y: Array) -> float:
        return float(np.mean((member.predict(X) - y) ** 2))


def _means_of_unseen(state: ForestState) -> Array:
    """The mean prediction of the trees that did not see a row; NaN where all did."""
    with np.errstate(invalid="ignore"):
        return state.oob_sums / state.oob_counts[:, None]
