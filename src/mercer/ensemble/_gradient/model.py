"""What gradient boosting with exact trees shares between classes and numbers."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csc_array, issparse
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from mercer._base import Estimator, few_rows, seed_sequence
from mercer._base.parameter import Boolean, Choice, HasFit, Integer, Nothing, Real, Rule, Seed
from mercer._base.share import Share
from mercer._base.tree_problem import check_values, open_problem, rules_of
from mercer._base.validation import check_rows
from mercer._solver.tree.columns import encode_columns
from mercer._source import open_source
from mercer.ensemble._forest.packed_forest import PackedForest
from mercer.ensemble._gradient.rounds import GradientRounds, GradientState, HeldOut, tree_seed
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.errors import DataError, ParameterError
from mercer.tree import DecisionTreeRegressor

__all__ = ["GRADIENT_PARAMETERS", "GradientModel"]

Array = Any
_PACKED: "WeakKeyDictionary[Any, tuple[list[Any], list[PackedForest]]]" = WeakKeyDictionary()
# What a tree is given as it is.
_OF_TREES = (
    *("min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "max_depth", "min_impurity_decrease"),
    *("max_features", "max_leaf_nodes", "ccp_alpha", "n_jobs"),
)
GRADIENT_PARAMETERS: dict[str, Rule] = {
    "learning_rate": Real(0),
    "n_estimators": Integer(1),
    "subsample": Real(0, 1, closed="right"),
    "criterion": Choice("deprecated", "squared_error", "friedman_mse"),
    "min_samples_split": Integer(2) | Share(0, 1, "right"),
    "min_samples_leaf": Integer(1) | Share(0, 1, "neither"),
    "min_weight_fraction_leaf": Real(0, 0.5),
    "max_depth": Integer(1) | Nothing(),
    "min_impurity_decrease": Real(0),
    "init": HasFit() | Choice("zero") | Nothing(),
    "random_state": Seed(),
    "max_features": Integer(1) | Share(0, 1, "right") | Choice("sqrt", "log2") | Nothing(),
    "verbose": Boolean() | Integer(0),
    "max_leaf_nodes": Integer(2) | Nothing(),
    "warm_start": Boolean(),
    "validation_fraction": Real(0, 1, closed="neither"),
    "n_iter_no_change": Integer(1) | Nothing(),
    "tol": Real(0),
    "ccp_alpha": Real(0),
    "max_time": Real(0) | Nothing(),
    "n_jobs": Integer() | Nothing(),
}


class GradientModel(Estimator):
    """The fit of the rounds, and what the sum of trees says."""

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the rows are kept as ranks, column by column, while trees grow"
    }
    splitter: ClassVar[str] = "best"
    categorical_features: ClassVar[None] = None
    class_weight: ClassVar[None] = None
    monotonic_cst: ClassVar[None] = None
    # What an initial model says that scores follow from.
    _answer: ClassVar[str] = "predict"
    _members: list[Any]

    def _loss_of(self) -> BoostingLoss:
        raise NotImplementedError  # each estimator has its own losses

    def _targets(self, y: Array) -> tuple[Array, dict[str, Any]]:
        """Targets as numbers, and the attributes that follow from them."""
        raise NotImplementedError  # each estimator has its own targets

    def _default_start(self, X: Array, y: Array, weight: Array, baseline: Array) -> Any:
        """What scikit-learn would call the initial model, fitted."""
        raise NotImplementedError  # each estimator has its own

    def _linked(self, answer: Array) -> Array:
        """Scores (n, k) of what an initial model says."""
        raise NotImplementedError  # each estimator has its own link

    def _fit(self, X: Any, y: Any, sample_weight: Any, monitor: Callable[..., Any] | None) -> None:
        if self.criterion != "deprecated":
            message = f"{type(self).__name__}: criterion is deprecated and has no effect; leave it out."
            warnings.warn(message, FutureWarning, stacklevel=5)
        warm = self.warm_start and "_members" in vars(self)
        problem = open_problem(self, X, y, sample_weight)
        y = column_or_1d(problem.y, warn=True)
        known = problem.weight > 0
        X, weight = (problem.X, problem.weight) if known.all() else (problem.X[known], problem.weight[known])
        y, given = self._targets(y[known])
        self.__dict__.update(given)
        self._loss_used = loss = self._loss_of()
        if not warm:
            self._members = []
            self._random_seed = int(seed_sequence(self.random_state).generate_state(1)[0])
        before = self._before()
        chosen, held = self._parted(y)
        if not warm:
            self._start(X[chosen], y[chosen], weight[chosen] if sample_weight is not None else None)
        rules = rules_of(self, replace(problem, X=X[chosen]))
        given |= {"n_trees_per_iteration_": loss.n_scores, "max_features_": rules.max_features}
        given |= {"_dtype": problem.X.dtype.name, "_loss_used": loss, "_n_kept": len(self._members)}
        given |= {"init_": self.init_, "_baseline": self._baseline, "_random_seed": self._random_seed}
        self.__dict__.update(given)
        solver = self._rounds(X, y, weight, chosen, held, rules, monitor)
        source = open_source(problem.X, problem.y, problem.weight, solver.threads)
        left = self.n_estimators - len(before.trees) // loss.n_scores
        outcome = self._drive(partial(solver.solve, before), source, max_steps=left, attributes=given)
        self._conclude(outcome)

    def _rounds(
        self, X: Array, y: Array, weight: Array, chosen: Array, held: Array | None, rules: Any, monitor: Any
    ) -> GradientRounds:
        rows, threads, name = X[chosen], self._threads(), type(self).__name__
        held_out = None
        if held is not None:
            start = self._start_scores(X[held])
            held_out = HeldOut(X[held], y[held], weight[held], start, self.n_iter_no_change, self.tol)

        def observe(number: int, state: GradientState) -> Any:
            self.__dict__.update(self._fitted(state))
            return monitor(number, self, {"state": state})

        return GradientRounds(
            rows,
            y[chosen],
            weight[chosen],
            self._start_scores(rows),
            lambda: encode_columns(csc_array(rows) if issparse(rows) else rows, threads, name),
            self._loss_used,
            rules,
            self.n_estimators,
            self.learning_rate,
            self.subsample,
            self._random_seed,
            self.max_leaf_nodes,
            self.ccp_alpha,
            self.min_weight_fraction_leaf,
            threads,
            held_out,
            None if monitor is None else observe,
        )

    def _before(self) -> GradientState:
        """What an earlier fit left, if it is to be continued."""
        if not self._members:
            return GradientState()
        done = len(self._members) // self._loss_used.n_scores
        if self.n_estimators < done:
            message = (
                f"{type(self).__name__}: n_estimators={self.n_estimators} must be larger or equal to "
                f"estimators_.shape[0]={done} when warm_start==True; raise it."
            )
            raise ParameterError(message)
        return GradientState(
            tuple(one.tree_ for one in self._members),
            tuple(self.train_score_.tolist()),
            tuple(self._oob_scores.tolist()),
            tuple(self._oob_gains.tolist()),
            tuple(self._held_losses.tolist()),
        )

    def _parted(self, y: Array) -> tuple[Array, Array | None]:
        """The rows to learn from, and those held out."""
        if self.n_iter_no_change is None:
            return np.arange(len(y)), None
        labels = y if self._answer == "predict_proba" else None
        options = {"test_size": self.validation_fraction, "stratify": labels, "random_state": self._random_seed}
        chosen, held = train_test_split(np.arange(len(y)), **options)
        if labels is not None and len(np.unique(y[chosen])) < len(np.unique(y)):
            message = (
                f"{type(self).__name__}: The training data after the early stopping split is missing some classes. "
                f"Try using another random seed, or a smaller validation_fraction than {self.validation_fraction}."
            )
            raise DataError(message)
        return np.sort(chosen), np.sort(held)

    def _start(self, X: Array, y: Array, weight: Array | None) -> None:
        """Fit what the rounds start from."""
        loss, name = self._loss_used, type(self).__name__
        self._baseline = None
        if self.init == "zero":
            self.init_, self._baseline = "zero", np.zeros(loss.n_scores)
        elif self.init is None:
            self._baseline = loss.baseline(y, weight)
            self.init_ = self._default_start(X, y, weight, self._baseline)
        else:
            if not hasattr(self.init, self._answer) or isinstance(self.init, type):
                message = f"{name}: init must be a model with fit and {self._answer}; got {self.init!r}. Give one."
                raise ParameterError(message)
            if weight is not None and not has_fit_parameter(self.init, "sample_weight"):
                message = (
                    f"{name}: The initial estimator {type(self.init).__name__} does not support sample weights; fit "
                    f"without them, or give another."
                )
                raise DataError(message)
            options = {} if weight is None else {"sample_weight": weight}
            self.init_ = clone(self.init).fit(X, y, **options)

    def _start_scores(self, X: Array) -> Array:
        if self._baseline is not None:
            return np.tile(self._baseline, (X.shape[0], 1))
        return np.ascontiguousarray(self._linked(getattr(self.init_, self._answer)(X)))

    def _fitted(self, state: GradientState) -> dict[str, Any]:
        k = self._loss_used.n_scores
        kept = self._members[: min(self._n_kept, len(state.trees))]
        numbers = range(len(kept), len(state.trees))
        members = [*kept, *(self._tree_model(state.trees[number], number // k, number % k) for number in numbers)]
        found = {
            "_members": members,
            "train_score_": np.array(state.train_scores),
            "n_estimators_": len(members) // k,
            "_oob_scores": np.array(state.oob_scores),
            "_oob_gains": np.array(state.oob_gains),
            "_held_losses": np.array(state.held_losses),
        }
        if self.subsample < 1.0 and state.trees:
            found |= {"oob_scores_": found["_oob_scores"], "oob_improvement_": found["_oob_gains"]}
            found["oob_score_"] = float(state.oob_scores[-1])
        return found

    def _tree_model(self, tree: Any, round_number: int, output: int) -> Any:
        """A fitted tree of its own."""
        parameters = {name: getattr(self, name) for name in _OF_TREES}
        seed = tree_seed(self._random_seed, round_number, output)
        model = DecisionTreeRegressor(criterion="friedman_mse", random_state=seed, **parameters)
        model.__dict__.update(
            tree_=tree,
            n_features_in_=self.n_features_in_,
            n_outputs_=1,
            max_features_=self.max_features_,
            _n_classes=np.ones(1, np.int64),
            _dtype=self._dtype,
        )
        return model

    @property
    def estimators_(self) -> Array:
        """The trees, of shape (n_estimators_, n_trees_per_iteration_)."""
        if "_members" not in vars(self):
            message = f"{type(self).__name__} has no attribute 'estimators_' before it is fitted."
            raise AttributeError(message)
        members = np.empty(len(self._members), dtype=object)
        members[:] = self._members
        return members.reshape(-1, self.n_trees_per_iteration_)

    def _packed(self) -> list[PackedForest]:
        """The trees of each score in a few arrays, joined when they are first needed."""
        kept = _PACKED.get(self)
        if kept is None or kept[0] is not self._members:
            trees, k = [one.tree_ for one in self._members], self.n_trees_per_iteration_
            kept = _PACKED[self] = (self._members, [PackedForest.of(trees[output::k]) for output in range(k)])
        return kept[1]

    def _rows(self, X: Any) -> Array:
        """Rows to predict for, checked; a few of NumPy need no more than a look."""
        if (rows := few_rows(self, X)) is not None:
            return rows
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, accept_sparse="csr", ensure_all_finite=False)
        check_values(type(self).__name__, X)
        return X

    def _scores(self, X: Any) -> Array:
        """The scores (n, k), in the precision of the fit."""
        rows = self._rows(X)
        threads = self._threads() if rows.shape[0] > 512 else 1
        scores = self._start_scores(rows)
        for output, forest in enumerate(self._packed()):
            scores[:, output] += self.learning_rate * forest.sums(rows, threads)[:, 0]
        return scores.astype(self._dtype, copy=False)

    def _staged_scores(self, X: Any) -> Iterator[Array]:
        check_is_fitted(self)
        rows = self._rows(X)
        scores, k = self._start_scores(rows), self.n_trees_per_iteration_
        for number, member in enumerate(self._members):
            leaves = member.tree_.apply(rows, self._threads())
            scores[:, number % k] += self.learning_rate * member.tree_.value[leaves, 0, 0]
            if number % k == k - 1:
                yield scores.astype(self._dtype, copy=True)

    def _leaves(self, X: Any) -> Array:
        """The leaf of each row in each tree (n, rounds, k)."""
        rows = self._rows(X)
        check_is_fitted(self)
        return np.stack([forest.leaves(rows, self._threads()) for forest in self._packed()], axis=2)

    @property
    def feature_importances_(self) -> Array:
        """How much the splits by each feature lower the squared error of the gradients, as shares of the whole."""
        check_is_fitted(self)
        gains = [one.tree_.compute_feature_importances(False) for one in self._members if one.tree_.node_count > 1]
        if not gains:
            return np.zeros(self.n_features_in_)
        mean = np.mean(gains, axis=0)
        return mean / mean.sum()

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, number: int) -> Any:
        return self.estimators_[number]

    def __iter__(self) -> Any:
        return iter(self.estimators_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
