"""What both histogram boosting estimators share: from rows and parameters to a solver, from trees to scores."""

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator
from mercer._base.opening import open_new_rows
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Function, Instance, Integer, Nothing, Real, Rule, Seed, Text
from mercer._base.randomness import seed_sequence
from mercer._base.validation import few_rows
from mercer._source import Source, open_source
from mercer.ensemble._histogram.bins import BinMap
from mercer.ensemble._histogram.budget import Plan, check_undecided, plan_rounds
from mercer.ensemble._histogram.categories import categorical_mask, read_frame
from mercer.ensemble._histogram.constraints import column_groups, monotone_directions
from mercer.ensemble._histogram.field import Field
from mercer.ensemble._histogram.grower import Limits
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.rows import TrainingRows, prepare_rows, state_scorer
from mercer.ensemble._histogram.scores import Answers, Contributions, Scores
from mercer.ensemble._histogram.solver import Boosting, BoostingState, Judge
from mercer.ensemble._histogram.tree import pack_trees
from mercer.errors import DataError

__all__ = ["HistBoosting"]

Array = Any
# Above so many rows early stopping begins by itself.
_MANY = 10_000


class HistBoosting(Estimator):
    """Base of the histogram boosting estimators."""

    _targets: ClassVar[str] = "numbers"
    _bins: BinMap
    _categories: Any
    _state: BoostingState
    _places = ("memory", "file", "stream", "dask")
    # How targets are checked.
    _options: ClassVar[dict[str, Any]] = {}
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": (
            "bins of all values by row and by column, words and gradients of all rows, and a histogram for each open "
            "leaf and each thread are kept: 2 d + 50 bytes a row, and 4 KiB a column for each leaf and thread"
        )
    }
    _shared_parameters: ClassVar[dict[str, Rule]] = {
        "learning_rate": Real(0, closed="neither"),
        "max_iter": Integer(1),
        "max_leaf_nodes": Integer(2) | Nothing(),
        "max_depth": Integer(1) | Nothing(),
        "min_samples_leaf": Integer(1),
        "l2_regularization": Real(0),
        "max_features": Real(0, 1, closed="right"),
        "max_bins": Integer(2, 255),
        "categorical_features": ArrayRule() | Choice("from_dtype") | Nothing(),
        "monotonic_cst": ArrayRule() | Instance(dict) | Nothing(),
        "interaction_cst": Choice("pairwise", "no_interactions") | Instance(list, tuple) | Nothing(),
        "warm_start": Boolean(),
        "early_stopping": Choice("auto") | Boolean(),
        "scoring": Text() | Function() | Nothing(),
        "validation_fraction": Real(0, 1, closed="neither") | Integer(1) | Nothing(),
        "n_iter_no_change": Integer(1),
        "tol": Real(0),
        "verbose": Integer(0) | Boolean(),
        "random_state": Seed(),
        "subsample": Real(0, 1, closed="right"),
        "category_price": Real(0),
        "budget": Real(0, closed="neither") | Nothing(),
        "max_time": Real(0) | Nothing(),
        "n_jobs": Integer() | Nothing(),
    }

    def _fit(self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any, Any]) -> None:
        """Fit to rows wherever they are."""
        self._check_validation(validation)
        warm = self.warm_start and "_state" in vars(self)
        earlier = self._state if warm else None
        known = vars(self).get("_frame") if warm else None
        given_rows = (X, y, sample_weight)
        X, frame, by_frame = read_frame(self, X, known, reset=True)
        names = vars(self).get("feature_names_in_") if frame is not None else None
        source = self._open(X, y, sample_weight, targets=self._targets, ensure_all_finite=False, **self._options)
        if names is not None:
            self.feature_names_in_ = names
        self._frame = frame
        y, weight, known_targets = self._known_targets(source)
        categorical = self._categorical(source, by_frame)
        loss = self._loss()
        seed = self._random_seed = self._seed(warm)
        plan = self._planned(given_rows, source.n_rows, validation, seed)
        if self.budget is not None:
            # The trials have been judged by them; the rounds are decided.
            validation = (None, None, None)
        early = plan.early_stopping is True or (
            plan.early_stopping == "auto" and (source.n_rows > _MANY or validation[0] is not None)
        )
        rows = prepare_rows(self, source, y, weight, validation, categorical, warm, seed, early)
        start = self._start(earlier, loss, rows, seed)
        directions = self._directions(source.n_features, loss, categorical)
        judge = self._judge(source, rows, early, known_targets)
        solver = Boosting(
            Field(rows.codes, self._bins, rows.counts(), source.threads),
            loss,
            rows.y,
            rows.weight,
            self._limits(source.n_features, plan.max_leaf_nodes),
            directions,
            plan.learning_rate,
            plan.max_iter,
            judge,
            self.subsample,
        )
        given = known_targets | {
            "_bins": self._bins,
            "_categories": self._categories,
            "_frame": frame,
            "_loss_used": loss,
            "is_categorical_": categorical if categorical.any() else None,
            "n_trees_per_iteration_": loss.n_scores,
            "do_early_stopping_": early,
        }
        self.__dict__.update(given)
        left = plan.max_iter - len(start.trees) // loss.n_scores
        outcome = self._drive(
            partial(solver.solve, start), source, max_steps=left, attributes=given, seconds_spent=plan.seconds
        )
        self.n_iter_ = len(self._state.trees) // loss.n_scores
        self._conclude(outcome)

    def _planned(self, rows: tuple[Any, Any, Any], n: int, validation: tuple[Any, Any, Any], seed: int) -> Plan:
        """What the rounds are to be: as the parameters say, or as the budget finds."""
        self.__dict__.pop("budget_trials_", None)
        if self.budget is None:
            return Plan.given(self)
        check_undecided(self)
        held = dict(zip(("X_val", "y_val", "sample_weight_val"), validation, strict=True))
        plan, self.budget_trials_ = plan_rounds(self, lambda trial: trial.fit(*rows, **held), n, seed)
        return plan

    # From parameters and data to what a solver wants.

    def _check_validation(self, validation: tuple[Any, Any, Any]) -> None:
        name = type(self).__name__
        if validation[0] is not None and validation[1] is None:
            message = f"{name}: X_val is provided, but y_val was not provided; give both."
            raise DataError(message)
        if validation[0] is None and validation[1] is not None:
            message = f"{name}: y_val is provided, but X_val was not provided; give both."
            raise DataError(message)
        if validation[0] is not None and self.early_stopping is False:
            message = (
                f"{name}: X_val and y_val are passed to fit while at the same time early_stopping is False; drop them, "
                f"or set early_stopping=True."
            )
            raise DataError(message)

    def _seed(self, warm: bool) -> int:
        """A number from which all chance of a fit follows; that of the first fit where others go on from it."""
        if warm:
            return int(self._state.entropy[0])
        if self.random_state is None or isinstance(self.random_state, np.random.Generator):
            return int(seed_sequence(self.random_state).generate_state(1)[0])
        return int(check_random_state(self.random_state).randint(np.iinfo(np.uint32).max, dtype="u8"))

    def _categorical_mask(self, n_features: int, names: list[str] | None) -> Array:
        return categorical_mask(type(self).__name__, self.categorical_features, n_features, names)

    def _categorical(self, source: Source, by_frame: Array | None) -> Array:
        if by_frame is not None:
            return by_frame
        names = vars(self).get("feature_names_in_")
        return self._categorical_mask(source.n_features, None if names is None else list(names))

    def _directions(self, n_features: int, loss: BoostingLoss, categorical: Array) -> Array:
        name = type(self).__name__
        directions = monotone_directions(name, self.monotonic_cst, n_features, vars(self).get("feature_names_in_"))
        if directions.any() and loss.n_scores > 1:
            message = f"{name}: monotonic constraints are not supported for multiclass classification; drop them."
            raise DataError(message)
        if (directions != 0)[categorical].any():
            message = f"{name}: Categorical features cannot have monotonic constraints; categories have no order."
            raise DataError(message)
        return directions

    def _check_interaction_cst(self, n_features: int) -> list[set[int]] | None:
        return column_groups(type(self).__name__, self.interaction_cst, n_features)

    def _limits(self, n_features: int, max_leaf_nodes: int | None) -> Limits:
        groups = self._check_interaction_cst(n_features)
        return Limits(
            max_leaves=math.inf if max_leaf_nodes is None else max_leaf_nodes,
            max_depth=math.inf if self.max_depth is None else self.max_depth,
            min_count=self.min_samples_leaf,
            l2=self.l2_regularization,
            share=self.max_features,
            groups=None if groups is None else tuple(frozenset(one) for one in groups),
            category_price=self.category_price,
        )

    def _loss(self) -> BoostingLoss:
        raise NotImplementedError  # each estimator has its own losses

    def _known_targets(self, source: Source) -> tuple[Array, Array | None, dict[str, Any]]:
        """Targets as numbers, weights, and the attributes that follow from them."""
        raise NotImplementedError  # each estimator has its own targets

    def _validation_targets(self, y: Array) -> Array:
        return y.astype(np.float64)

    def _start(self, earlier: Any, loss: BoostingLoss, rows: TrainingRows, seed: int) -> BoostingState:
        """Where the rounds begin: at a constant, or at the trees of the last fit."""
        if earlier is None:
            return BoostingState(loss.baseline(rows.y, rows.weight), (), (), (), (seed,))
        done = len(earlier.trees) // loss.n_scores
        if self.max_iter < done:
            message = (
                f"{type(self).__name__}: max_iter={self.max_iter} must be larger than or equal to n_iter_={done} when "
                f"warm_start==True; raise it, or fit afresh."
            )
            raise DataError(message)
        return replace(earlier, ended="")

    def _judge(self, source: Source, rows: TrainingRows, early: bool, known: dict[str, Any]) -> Judge | None:
        if not early:
            return None
        options = (rows.held_codes, rows.held_y, rows.held_weight)
        score = None if self.scoring == "loss" else state_scorer(self, source, rows, known)
        return Judge(self.n_iter_no_change, self.tol, score, *options)

    def _as_given(self, y: Array, known: dict[str, Any]) -> Array:
        return y

    # From a state to predictions.

    def _fitted(self, state: BoostingState) -> dict[str, Any]:
        n_scores = self._loss_used.n_scores
        return {
            "_state": state,
            "_forest": pack_trees(state.trees, self._bins, n_scores),
            "_baseline": np.asarray(state.baseline, dtype=np.float64),
            "train_score_": np.array(state.train_scores),
            "validation_score_": np.array(state.validation_scores),
            "n_iter_": len(state.trees) // n_scores,
        }

    def _opened(self, X: Any) -> tuple[Array, Any]:
        """Rows to predict for: a few in memory, or a source of many."""
        frame = vars(self).get("_frame")
        if frame is None:
            rows = few_rows(self, X)
            return (rows, None) if rows is not None else (None, open_new_rows(self, X, ensure_all_finite=False))
        rows, _, _ = read_frame(self, X, frame, reset=False)
        plain = copy.copy(self)
        if rows is not X:
            plain.__dict__.pop("feature_names_in_", None)
        return None, open_new_rows(plain, rows, ensure_all_finite=False)

    def _check_fitted(self) -> None:
        # A look at one name costs a hundredth of scikit-learn's check, half the time of one row.
        if "_forest" not in vars(self):
            check_is_fitted(self)

    def _answers(self, X: Any, finish: Callable[[Array], Array]) -> Array:
        """What `finish` makes of the scores (n, k) in the rows' own precision; it must be picklable."""
        rows, source = self._opened(X)
        function = Scores(self._forest, self._baseline, self._categories)
        if source is None:
            return finish(function.on(rows).astype(rows.dtype, copy=False))
        return source.map(Answers(function, source.host_dtype, finish))

    def _raw_predict(self, X: Any) -> Array:
        """The scores (n, k); scikit-learn's own tests of weights compare them by this name."""
        return self._answers(X, np.asarray)

    def _staged_raw(self, X: Any) -> Iterator[Array]:
        check_is_fitted(self)
        rows, source = self._opened(X)
        k, dtype = self.n_trees_per_iteration_, rows.dtype if source is None else source.host_dtype
        rows = source.whole() if source is not None else rows
        scores = np.tile(self._baseline, (len(rows), 1))
        for stage in range(0, len(self._forest.roots), k):
            part = Scores(self._forest.part(stage, stage + k), np.zeros(k), self._categories)
            scores = scores + part.on(rows)
            yield scores.astype(dtype)

    def contributions(self, X: Any) -> Array:
        """Return how much each column adds to the score of each row: exact Shapley values of the trees.

        They add up to the score (for a classifier, that of :meth:`decision_function`), starting from the mean score of
        the training rows. A column that is not known sends a row down both sides of a split, in the shares of the
        training rows.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        contributions : ndarray of shape (n, d + 1), or (n, n_classes, d + 1) for more than two classes
            The last column is the mean score.
        """
        check_is_fitted(self)
        rows, source = self._opened(X)
        function = Contributions(Scores(self._forest, self._baseline, self._categories), self._state.trees)
        source = open_source(rows, threads=self._threads()) if source is None else source
        shares = source.map(function).astype(source.host_dtype, copy=False)
        return shares[:, 0] if shares.shape[1] == 1 else shares

    @property
    def feature_importances_(self) -> Array:
        """The share of each column in the total gain of all splits."""
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for tree in self._state.trees:
            inner = tree.left > 0
            np.add.at(total, tree.feature[inner], tree.gain[inner])
        return total / total.sum() if total.any() else total

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
