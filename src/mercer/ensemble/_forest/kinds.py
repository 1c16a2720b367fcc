"""Forests of classification trees and of regression trees: their predictions, and their out-of-bag scores."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import type_of_target

from mercer._base.folds import read_score
from mercer._base.parameter import Choice, Instance, Integer, Nothing, Share, attribute, parameter
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.tree_problem import Problem, check_classes
from mercer._solver.tree.binary_tree import BinaryTree
from mercer._stored import Stored, floats, integers, members
from mercer._types import Array
from mercer.ensemble._forest.growth import ForestGrowth, ForestState
from mercer.ensemble._forest.model import ForestModel, average_unseen
from mercer.errors import DataError

_SCORES = """n_outputs_ : int
        Columns of targets.
    feature_importances_ : ndarray of shape (n_features,)
        Mean share of each feature in the decrease of impurity; biased, see :meth:`permutation_importance`.
    oob_score_ : float
        With `oob_score`: the score of predictions by trees that did not see a row."""

_HISTORY = """estimators_samples_ : list of ndarray
        The rows drawn for each tree.
    history_ : dict of ndarray
        For each tree: ``objective``, the mean impurity of its leaves, ``nodes``, and with `oob_score` ``oob_error``,
        one minus the score of the trees so far.
    n_features_in_, feature_names_in_
        Number and names of the columns."""

_FOREST_NOTES = """Notes
    -----
    A level of a tree costs O(m k) for m rows and k features drawn, after every column was ranked once. Nodes of at
    least 256 rows are searched in 255 steps of about equally many rows, smaller nodes exactly; trees are as accurate as
    those of an exact search. Trees grow in parallel, each from a seed of its own. Missing values (NaN) go to the side
    with the larger gain. With `sample_weight` rows are drawn in proportion to it. Rows must be in memory, with 2 to 10
    bytes a value in addition and about 100 bytes a row for each thread.

    References
    ----------
    L. Breiman, Random forests, 2001."""

_EXTRA_NOTES = """Notes
    -----
    Every node draws one threshold for each of its features, uniform between the least and greatest value of its rows,
    and takes the best of these splits. That costs less than a search and makes trees less correlated. Trees see all
    rows unless `bootstrap`. Missing values (NaN) go to a side drawn at random. Rows must be in memory.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel, Extremely randomized trees, 2006."""

# The texts by the names that the docstrings of the four classes use.
SHARED = {
    "scores": _SCORES,
    "history": _HISTORY,
    "forest_notes": _FOREST_NOTES,
    "extra_notes": _EXTRA_NOTES,
}


class PredictingForest(ForestModel):
    """A forest that predicts targets: which columns its errors on unseen rows depend on."""

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


class ForestClassifier(ClassifierMixin, PredictingForest):
    """A forest of classification trees."""

    class_weight: Any = parameter(
        Choice("balanced", "balanced_subsample") | Instance(dict, list) | Nothing(),
        default=None,
        after="warm_start",
        doc='Factors of the weights of each class; with "balanced" all classes have the same total weight, with '
        '"balanced_subsample" so in each bootstrap sample.',
    )

    classes_: Any = attribute()
    n_classes_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "n_classes_": integers(" | outputs", low=0) | members(integers(low=0), "outputs"),
        "oob_decision_function_": floats("rows, classes | rows, *, outputs"),
        "oob_score_": floats(),
    }

    def _check_structure(self) -> None:
        super()._check_structure()
        for member in vars(self).get("estimators_", ())[:1]:
            check_classes(self, member.tree_.value.shape)

    def _make_member(self, tree: BinaryTree, seed: int, problem: Problem, growth: ForestGrowth) -> Any:
        member = super()._make_member(tree, seed, problem, growth)
        counts = problem.n_classes
        # The labels of a member are the indices of classes, as in scikit-learn.
        indices = [np.arange(count) for count in counts.tolist()]
        member.classes_ = indices[0] if len(indices) == 1 else indices
        member.n_classes_ = int(counts[0]) if len(indices) == 1 else counts
        return member

    def predict_proba(self, X: Any) -> Array:
        """Return the mean of the class shares in each row's leaves.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes), or a list of them, one for each output
        """
        means = self._average_leaves(X)
        if self.n_outputs_ == 1:
            return means[:, 0]
        return [means[:, k, : self.n_classes_[k]] for k in range(self.n_outputs_)]

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of :meth:`predict_proba`."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(shares) if self.n_outputs_ == 1 else [np.log(output) for output in shares]

    def predict(self, X: Any) -> Array:
        """Return the class of the largest mean share; the first of equal ones."""
        means = self._average_leaves(X)
        if self.n_outputs_ == 1:
            return self.classes_.take(means[:, 0].argmax(axis=1), axis=0)
        return np.stack([classes.take(means[:, k].argmax(axis=1)) for k, classes in enumerate(self.classes_)], axis=1)

    def _score_oob(self, problem: Problem, sums: Array, counts: Array) -> float:
        seen = counts > 0
        # The shares of all outputs lie side by side in `sums`.
        ends = np.cumsum(problem.n_classes)
        shares = [sums[seen, end - count : end] for end, count in zip(ends, problem.n_classes)]
        predicted = np.stack([share.argmax(axis=1) for share in shares], axis=1)
        truth, weight = problem.labels[seen], problem.weight[seen]
        if callable(self.oob_score):
            labels = [
                np.stack([classes.take(indices[:, output]) for output, classes in enumerate(problem.classes)], 1)
                for indices in (truth, predicted)
            ]
            return read_score(type(self).__name__, "oob_score", self.oob_score(*map(_squeeze_columns, labels)))
        if not seen.any() or weight.sum() == 0:
            return 0.0
        # The accuracy. scikit-learn's function would check the labels again after each tree.
        return float(np.average((truth == predicted).all(axis=1), weights=weight))

    def _check_targets(self, problem: Problem) -> None:
        super()._check_targets(problem)
        if not self.oob_score:
            return
        kind = type_of_target(problem.y)
        if kind == "multiclass-multioutput":
            raise DataError(
                f"{type(self).__name__}: The type of target cannot be used to compute OOB estimates. Got {kind} while "
                f"only the following are supported: continuous, continuous-multioutput, binary, multiclass, "
                f"multilabel-indicator. Fit one forest for each output."
            )

    def _list_oob_attributes(self, state: ForestState, problem: Problem) -> dict[str, Any]:
        shares = average_unseen(state).reshape(len(state.oob_counts), len(problem.classes), -1)
        return {
            "oob_score_": self._score_oob(problem, state.oob_sums, state.oob_counts),
            "oob_decision_function_": shares[:, 0] if len(problem.classes) == 1 else shares.transpose(0, 2, 1),
        }

    def _measure_error(self, member: Any, X: Array, y: Array) -> float:
        return float(np.mean(self.classes_.take(member.predict(X)) != y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class ForestRegressor(RegressorMixin, PredictingForest):
    """A forest of regression trees."""

    criterion: str = parameter(
        Choice("squared_error", "friedman_mse", "absolute_error", "poisson"), default="squared_error"
    )
    max_features: Any = parameter(
        Integer(1) | Share(0, 1, "right") | Choice("sqrt", "log2") | Nothing(),
        default=1.0,
        after="min_weight_fraction_leaf",
    )

    _documents = {
        "oob_score": (
            "Whether trees are scored on rows that they did not see: by R squared, or a function of truth and "
            "prediction."
        ),
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "oob_prediction_": floats("rows | rows, outputs"),
        "oob_score_": floats(),
    }

    def predict(self, X: Any) -> Array:
        """Return the mean of the values of each row's leaves."""
        means = self._average_leaves(X)[..., 0]
        return means[:, 0] if self.n_outputs_ == 1 else means

    def _score_oob(self, problem: Problem, sums: Array, counts: Array) -> float:
        from sklearn.metrics import r2_score

        seen = counts > 0
        predicted, truth = sums[seen] / counts[seen, None], problem.labels[seen]
        if callable(self.oob_score):
            score = self.oob_score(_squeeze_columns(truth), _squeeze_columns(predicted))
            return read_score(type(self).__name__, "oob_score", score)
        # R squared needs at least two rows; with fewer the score is zero.
        weight = problem.weight[seen]
        return float(r2_score(truth, predicted, sample_weight=weight)) if np.count_nonzero(weight) > 1 else 0.0

    def _list_oob_attributes(self, state: ForestState, problem: Problem) -> dict[str, Any]:
        score = self._score_oob(problem, state.oob_sums, state.oob_counts)
        return {"oob_score_": score, "oob_prediction_": _squeeze_columns(average_unseen(state))}

    def _measure_error(self, member: Any, X: Array, y: Array) -> float:
        return float(np.mean((member.predict(X) - y) ** 2))


def _squeeze_columns(values: Array) -> Array:
    """Return values (n, outputs) as they are, or (n,) if there is one output."""
    return values[:, 0] if values.shape[1] == 1 else values
