"""The base of both histogram boosting estimators: from rows and parameters to a solver, from trees to scores."""

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, fitting
from mercer._base.opening import open_new_rows, open_rows
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import (
    Boolean,
    Choice,
    Function,
    Instance,
    Integer,
    Nothing,
    Real,
    Seed,
    Text,
    attribute,
    parameter,
)
from mercer._base.randomness import draw_seed
from mercer._base.scikit_learn import BoostedRecords
from mercer._base.tree_answers import TreeAnswers
from mercer._base.validation import few_rows
from mercer._solver.tree.categories import mark_categorical
from mercer._solver.tree.packed_forest import PackedForest
from mercer._solver.tree.tree_sum import TreeSum
from mercer._source import Source, open_source
from mercer._stored import Stored, alike, anything, flags, floats, integers, part, size
from mercer._types import Array
from mercer.ensemble._histogram.bins import BinMap
from mercer.ensemble._histogram.budget import Plan, plan_rounds, read_plan
from mercer.ensemble._histogram.categories import FrameCategories, read_frame
from mercer.ensemble._histogram.constraints import check_directions, read_directions, read_groups
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.rows import BinnedRows, PreparedRows, RowSet, Targets, prepare_rows
from mercer.ensemble._histogram.scores import Contributions, Predictions, Scores, weigh_nodes
from mercer.ensemble._histogram.solver import Boosting, BoostingState
from mercer.ensemble._histogram.tree_builder import TreeLimits
from mercer.ensemble._histogram.validation import EarlyStopping, make_state_scorer
from mercer.errors import DataError, ModelFileError, UnsupportedError

_ATTRIBUTES_AND_NOTES = r"""n_iter_ : int
        Rounds.
    n_trees_per_iteration_ : int
        Trees in a round.
    do_early_stopping_ : bool
        Whether early stopping followed a score.
    train_score_, validation_score_ : ndarray of shape (n_iter_ + 1,) or (0,)
        The scores before the first round and after each; empty without early stopping.
    is_categorical_ : ndarray of shape (d,) or None
        Which columns hold categories.
    feature_importances_ : ndarray of shape (d,)
        The share of each column in the gain of all splits.
    budget_trials_ : list of dict
        With a budget: the parameters of each trial, and its score on the rows held out.
    history_ : dict of ndarray
        After each round: ``objective``, the mean loss of the training rows, ``seconds``, ``validation_score``.
    converged_ : bool
        Whether early stopping ended the fit, or no split of the last round had a gain.
    certificate_ : Certificate
        ``"none"``: boosting is greedy.

    Notes
    -----
    Gradients and curvatures are rounded to multiples of a power of two, 2**-52 of their sum, and added as integers: the
    trees are the same for any number of threads and in any place, and depend on the order of the rows through the
    sample only. The histogram of the larger child is that of the parent minus that of the smaller child. A round takes
    O(n d) at the root and about as much again below. Memory is 2 d + 50 bytes a row and 16 bytes more for each further
    score, forecast before it is taken; the rows themselves are not kept. Rows in files, streams and Dask collections
    are read twice, for a sample and for their bins.

    Bins are cut at the quantiles of 65 536 rows. Missing values go to the side with the larger gain, and in nodes
    without any to the side with more rows. If a column has more categories than bins, the most frequent ones have a bin
    each and the others share one; categories that are unknown, negative or missing are missing values. Categories with
    fewer than ten rows in a node go right. Weights are repetitions; rows of weight zero are left out.

    A split by k categories is the best of many sets and gains about :math:`2 k / \pi` by chance alone, in units of
    :math:`\sum g_i^2 / \sum h_i`. The default price subtracts about half of that from the gain. On held-out rows of 14
    tables this was better than a ridge penalty for such splits, and than limits on the categories of a side or on their
    rows.

    References
    ----------
    J. H. Friedman, Greedy function approximation: a gradient boosting machine, 2001.
    T. Chen and C. Guestrin, XGBoost: a scalable tree boosting system, 2016.
    G. Ke et al., LightGBM: a highly efficient gradient boosting decision tree, 2017."""

# The texts by the names that the docstrings of the two classes use.
SHARED = {"attributes_and_notes": _ATTRIBUTES_AND_NOTES}


class HistBoosting(BoostedRecords, TreeAnswers, LimitedEstimator):
    """Base of the histogram boosting estimators."""

    learning_rate: float = parameter(
        Real(0, closed="neither"), default=0.1, doc=r"The factor :math:`\nu` of each tree's values."
    )
    max_iter: int = parameter(Integer(1), default=100, doc="The number of rounds, M.")
    max_leaf_nodes: int | None = parameter(
        Integer(2) | Nothing(), default=31, doc="Most leaves of a tree; the leaf whose split gains most is split next."
    )
    max_depth: int | None = parameter(Integer(1) | Nothing(), default=None, doc="Most splits from the root to a leaf.")
    min_samples_leaf: int = parameter(
        Integer(1),
        default=20,
        doc="Fewest rows of a leaf. Where all weights are whole numbers, a row of weight w counts as w rows.",
    )
    l2_regularization: float = parameter(
        Real(0), default=0.0, doc=r"The penalty :math:`\lambda` on the values of leaves."
    )
    max_features: float = parameter(
        Real(0, 1, closed="right"),
        default=1.0,
        doc="The share of the columns, drawn anew for each split, that a split may choose from.",
    )
    max_bins: int = parameter(Integer(2, 255), default=255, doc="Most bins of a column; missing values have one more.")
    categorical_features: Any = parameter(
        ArrayRule("entries") | Choice("from_dtype") | Nothing(),
        default="from_dtype",
        doc="Columns that hold categories: a mask, indices or names; by default the columns of a frame of "
        "categorical type.",
    )
    monotonic_cst: Any = parameter(
        ArrayRule("entries") | Instance(dict) | Nothing(),
        default=None,
        doc="1 where the score may only rise with a column, -1 where it may only fall, 0 elsewhere; or by name.",
    )
    interaction_cst: Any = parameter(
        Choice("pairwise", "no_interactions") | Instance(list, tuple) | Nothing(),
        default=None,
        doc="Sets of columns that may occur together on a path from the root to a leaf.",
    )
    warm_start: bool = parameter(
        Boolean(), default=False, doc="Whether a fit continues the last one, with its trees, bins and seed."
    )
    early_stopping: Any = parameter(
        Choice("auto") | Boolean(),
        default="auto",
        doc="Whether a validation score ends the rounds; ``'auto'`` means for more than 10 000 rows.",
    )
    scoring: Any = parameter(
        Text() | Function() | Nothing(),
        default="loss",
        doc="The validation score: minus the loss, a scorer of scikit-learn, or None for the method ``score``.",
    )
    validation_fraction: Any = parameter(
        Real(0, 1, closed="neither") | Integer(1) | Nothing(),
        default=0.1,
        doc="The share or number of rows held out for validation where ``fit`` is given none; with None the "
        "training rows are scored.",
    )
    n_iter_no_change: int = parameter(Integer(1), default=10, doc="Rounds without a better score that end the fit.")
    tol: float = parameter(Real(0), default=1e-7, doc="The least difference that counts as a better score.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0, doc="Whether to print a line for each round.")
    random_state: Any = parameter(
        Seed(),
        default=None,
        doc="The seed of the held-out rows, of the sample for the bins, and of the columns of splits.",
    )
    subsample: float = parameter(
        Real(0, 1, closed="right"),
        default=1.0,
        doc="The probability that a row is drawn for a round, independently in each; a round learns from drawn rows "
        "only.",
    )
    category_price: float = parameter(
        Real(0),
        default=0.3,
        doc="The gain that a split by categories needs for each category beyond four, in units of the gain that a "
        "category makes by chance. With 0, as in scikit-learn, columns with many categories win by chance.",
    )
    budget: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="If set, learning rate, leaves and rounds are found on rows held out: 1 is usual, more takes longer and "
        "is a little better. `learning_rate`, `max_iter`, `max_leaf_nodes`, `early_stopping`, "
        "`validation_fraction`, `n_iter_no_change` and `warm_start` must then keep their defaults.",
    )

    _documents = {
        "max_time": "Seconds after which the fit ends with the rounds it has.",
    }

    # Fitted attributes that predictions and warm starts read.
    _bins: BinMap = attribute()
    _categories: Any = attribute()
    _state: BoostingState = attribute()
    _places = ("memory", "file", "stream", "dask")
    # Which targets `fit` takes, and how they are checked.
    _targets: ClassVar[str] = "numbers"
    _grows_with: ClassVar[dict[str, int]] = {"max_iter": 1}
    _options: ClassVar[dict[str, Any]] = {}
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": (
            "bins of all values by row and by column, words and gradients of all rows, and a histogram for each open "
            "leaf and each thread are kept: 2 d + 50 bytes a row, and 4 KiB a column for each leaf and thread"
        )
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "_bins": part("BinMap"),
        "_categories": part("Categories", "none"),
        "is_categorical_": flags("columns | none"),
        "do_early_stopping_": flags(),
        "_frame": part("FrameCategories", "none"),
        "_random_seed": integers(low=0),
        "_state": part("BoostingState"),
        **alike(floats("*"), "train_score_", "validation_score_"),
        "n_trees_per_iteration_": size("trees"),
        "_baseline": floats("trees"),
        "_loss_used": part("BoostingLoss"),
        "budget_trials_": anything("the trials of a time budget, which no prediction reads"),
    }
    _takes_gaps = True

    @fitting
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit to rows in any place.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels for classification, numbers for regression.
        X_val, y_val, sample_weight_val : default=None
            Rows for early stopping, in place of a part of `X`.
        """
        validation = X_val, y_val, sample_weight_val
        check_validation(type(self).__name__, validation, self.early_stopping)
        earlier = vars(self).get("_state") if self.warm_start else None

        source, frame, categorical = self._open_training(X, y, sample_weight)
        targets = self._read_targets(source)
        loss = self._choose_loss(targets)

        seed = self._choose_seed(earlier)
        plan = self._plan_rounds((X, y, sample_weight), validation, source.n_rows, seed)
        # A warm start keeps the bins, since the trees before are made of them.
        learnt = None if earlier is None else (self._bins, self._categories)
        held_size = held_rows = None
        if plan.early_stopping and X_val is None:
            held_size = self.validation_fraction
        elif plan.early_stopping:
            held_rows = self._open_validation(validation, frame)
        rows = prepare_rows(source, targets, categorical, self.max_bins, seed, learnt, held_size, held_rows)
        attributes = _list_fixed_attributes(rows, targets, loss, plan, categorical)
        attributes |= {"_frame": frame, "_random_seed": seed}
        fitted = partial(_list_attributes, n_scores=loss.n_scores)

        start = self._find_start(earlier, loss, rows.training, seed)
        limits = self._make_limits(loss, categorical, plan.max_leaf_nodes)
        stopping = self._make_stopping(plan, rows, targets, attributes, fitted)
        table = BinnedRows(rows.training, rows.bins, source.threads)
        solver = Boosting(table, loss, limits, plan.learning_rate, plan.max_iter, stopping, self.subsample)

        self.__dict__.pop("budget_trials_", None)
        outcome = self._drive(
            partial(solver.solve, start),
            source,
            fitted=fitted,
            max_steps=plan.max_iter - len(start.trees) // loss.n_scores,
            attributes=attributes,
            seconds_spent=plan.seconds,
        )
        # A warm start took fewer steps than there are rounds.
        self.n_iter_ = len(outcome.state.trees) // loss.n_scores
        self._conclude(outcome)
        return self

    # From parameters and data to what the solver needs.

    def _open_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Source, FrameCategories | None, Array]:
        """Return the rows, the categories of the frame in which they came, and which columns hold categories."""
        X, frame, categorical = read_frame(self, X, None, reset=True)
        names = vars(self).get("feature_names_in_") if frame is not None else None
        source = self._open(X, y, sample_weight, targets=self._targets, ensure_all_finite=False, **self._options)
        if names is not None:
            # The frame's rows have become an array without names.
            self.feature_names_in_ = names
        if categorical is None:
            names = vars(self).get("feature_names_in_")
            categorical = self._categorical_mask(source.n_features, None if names is None else list(names))
        return source, frame, categorical

    def _open_validation(self, validation: tuple[Any, Any, Any], frame: FrameCategories | None) -> Source:
        """Open the user's validation rows, whose columns must be those of the training rows."""
        X, _, _ = read_frame(self, validation[0], frame, reset=False)
        model = self if X is validation[0] else self._without_names()
        return open_rows(model, X, *validation[1:], targets=self._targets, reset=False, ensure_all_finite=False)

    def _without_names(self) -> Self:
        """Return a shallow copy that takes rows of numbers without column names."""
        model = copy.copy(self)
        model.__dict__.pop("feature_names_in_", None)
        return model

    def _read_targets(self, source: Source) -> Targets:
        """Check targets and weights, and return them as a loss takes them."""
        raise NotImplementedError  # each estimator has its own targets

    def _choose_loss(self, targets: Targets) -> BoostingLoss:
        """Return the loss that the parameters name."""
        raise NotImplementedError  # each estimator has its own losses

    def _choose_seed(self, earlier: BoostingState | None) -> int:
        """Return the seed of all random choices; a fit that continues an earlier one keeps its seed."""
        if earlier is not None:
            return int(earlier.entropy[0])
        if self.random_state is None or isinstance(self.random_state, np.random.Generator):
            return draw_seed(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.uint32).max, dtype="u8"))

    def _plan_rounds(
        self, rows: tuple[Any, Any, Any], validation: tuple[Any, Any, Any], n_rows: int, seed: int
    ) -> Plan:
        """Return what the parameters set for the rounds, or what the trials of the budget find."""
        if self.budget is None:
            return read_plan(self, n_rows, validation[0] is not None)
        given = dict(zip(("X_val", "y_val", "sample_weight_val"), validation, strict=True))
        return plan_rounds(self, lambda trial: trial.fit(*rows, **given), n_rows, seed)

    def _find_start(self, earlier: BoostingState | None, loss: BoostingLoss, rows: RowSet, seed: int) -> BoostingState:
        """Return the state before the first round: a constant score, or the trees of the earlier fit."""
        if earlier is None:
            # The first score is the constant of least loss.
            return BoostingState(loss.baseline(rows.y, rows.weight), (), (), (), (seed,))
        n_rounds = len(earlier.trees) // loss.n_scores
        if self.max_iter < n_rounds:
            raise DataError(
                f"{type(self).__name__}: max_iter={self.max_iter} must be larger than or equal to n_iter_={n_rounds} "
                f"when warm_start==True; raise it, or fit afresh."
            )
        return replace(earlier, ended="")

    def _make_limits(self, loss: BoostingLoss, categorical: Array, max_leaf_nodes: int | None) -> TreeLimits:
        """Return the limits of a tree; raise if constraints contradict the data or the loss."""
        name, d = type(self).__name__, len(categorical)
        monotone = read_directions(name, self.monotonic_cst, d, vars(self).get("feature_names_in_"))
        check_directions(name, monotone, loss.n_scores, categorical)
        groups = self._check_interaction_cst(d)
        return TreeLimits(
            monotone,
            max_leaves=math.inf if max_leaf_nodes is None else max_leaf_nodes,
            max_depth=math.inf if self.max_depth is None else self.max_depth,
            min_count=self.min_samples_leaf,
            l2=self.l2_regularization,
            max_features=self.max_features,
            groups=None if groups is None else tuple(frozenset(group) for group in groups),
            category_price=self.category_price,
        )

    def _make_stopping(
        self,
        plan: Plan,
        rows: PreparedRows,
        targets: Targets,
        attributes: dict[str, Any],
        fitted: Callable[[BoostingState], dict[str, Any]],
    ) -> EarlyStopping | None:
        """Return the rule of early stopping, or None where all rounds are run."""
        if not plan.early_stopping:
            return None
        score = None
        if self.scoring != "loss":
            model = self._without_names()
            model.__dict__.update(attributes | {"_frame": None})
            score = make_state_scorer(model, rows, targets, fitted)
        return EarlyStopping(self.n_iter_no_change, self.tol, score, rows.validation)

    def _categorical_mask(self, n_features: int, names: list[str] | None) -> Array:
        return mark_categorical(type(self).__name__, self.categorical_features, n_features, names)

    def _check_interaction_cst(self, n_features: int) -> list[set[int]] | None:
        # scikit-learn's own tests of interaction_cst call this method by its name.
        return read_groups(type(self).__name__, self.interaction_cst, n_features)

    # From fitted attributes to predictions.

    def _open_fitted(self, X: Any) -> tuple[Array, Source | None]:
        """Return the rows to predict: few rows in memory as an array and None, others as None and a source."""
        frame = vars(self).get("_frame")
        if frame is None:
            rows = few_rows(self, X)
            return (rows, None) if rows is not None else (None, open_new_rows(self, X, ensure_all_finite=False))
        rows, _, _ = read_frame(self, X, frame, reset=False)
        model = self if rows is X else self._without_names()
        return None, open_new_rows(model, rows, ensure_all_finite=False)

    def _check_structure(self) -> None:
        if "_state" not in vars(self):
            return
        d, trees = self.n_features_in_, self._state.trees
        if any(tree.feature.max(initial=-1) >= d for tree in trees) or len(trees) % len(self._baseline):
            raise ModelFileError(
                f"{type(self).__name__}: its trees must read {d} columns and add to its scores; they do not."
            )
        classes, scores = vars(self).get("classes_"), len(self._baseline)
        # Two classes share one score.
        if classes is not None and scores != (len(classes) if len(classes) > 2 else 1):
            raise ModelFileError(
                f"{type(self).__name__}: classes_ must match its {scores} scores; it has {len(classes)} labels."
            )

    def _check_fitted(self) -> None:
        # Looking up one name costs a hundredth of scikit-learn's check, which takes as long as half a row.
        if "_state" not in vars(self):
            check_is_fitted(self)

    def _pack(self) -> PackedForest:
        return self._state.pack(self._bins, self.n_trees_per_iteration_)

    def _predict(self, X: Any, finish: Callable[[Array], Array]) -> Array:
        """Return ``finish(scores)`` of the scores (n, k) in the rows' own precision; `finish` must be picklable."""
        rows, source = self._open_fitted(X)
        function = Scores(self._pack(), self._baseline, self._categories)
        if source is None:
            return finish(function.score_rows(rows).astype(rows.dtype, copy=False))
        return source.map(Predictions(function, source.host_dtype, finish))

    def _raw_predict(self, X: Any) -> Array:
        """Return the scores (n, k); scikit-learn's own tests of weights call this method by its name."""
        return self._predict(X, np.asarray)

    def _stage_scores(self, X: Any) -> Iterator[Array]:
        """Yield the scores (n, k) after each round."""
        check_is_fitted(self)
        rows, source = self._open_fitted(X)
        k, dtype = self.n_trees_per_iteration_, rows.dtype if source is None else source.host_dtype
        # Each stage adds the k trees of one round to the scores before.
        rows = source.whole() if source is not None else rows
        scores = np.tile(self._baseline, (len(rows), 1))
        forest = self._pack()
        for stage in range(0, len(forest.roots), k):
            part = Scores(forest.select(stage, stage + k), np.zeros(k), self._categories)
            scores = scores + part.score_rows(rows)
            yield scores.astype(dtype)

    def _tree_sum(self) -> TreeSum:
        """Return the trees as what the scores are a sum of, for explanations."""
        check_is_fitted(self)
        return TreeSum(self._pack(), weigh_nodes(self._state.trees), self._baseline, self._read_values)

    def _read_values(self, X: Any) -> Array:
        """Return the values that the trees compare, for rows in memory."""
        rows, source = self._open_fitted(X)
        rows = np.asarray(rows if source is None else source.whole(), np.float64, order="C")
        return rows if self._categories is None else self._categories.on(rows)

    def contributions(self, X: Any) -> Array:
        """Return how much each column adds to the score of each row: exact Shapley values of the trees.

        With the mean score of the training rows they add up to the score (for a classifier, that of
        :meth:`decision_function`). The score of a row with some columns unknown follows both sides of each split by
        such a column, in proportion to the training rows.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        contributions : ndarray of shape (n, d + 1), or (n, n_classes, d + 1) for more than two classes
            The last column is the mean score of the training rows.
        """
        check_is_fitted(self)
        rows, source = self._open_fitted(X)
        function = Contributions(self._tree_sum(), self._categories)
        source = open_source(rows, threads=self._threads()) if source is None else source
        parts = source.map(function).astype(source.host_dtype, copy=False)
        return parts[:, 0] if parts.shape[1] == 1 else parts

    def _list_records(self) -> list[list[Any]]:
        """Return the nodes of the trees of each round, as scikit-learn's records."""
        if self.is_categorical_ is not None:
            raise UnsupportedError(f"{type(self).__name__}: trees that split by categories have no such records.")
        trees, k = self._state.trees, self.n_trees_per_iteration_
        records = [SimpleNamespace(nodes=tree.make_records()) for tree in trees]
        return [records[first : first + k] for first in range(0, len(records), k)]

    @property
    def feature_importances_(self) -> Array:
        """The share of each column in the total gain of all splits."""
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for tree in self._state.trees:
            inner = tree.left > 0
            np.add.at(total, tree.feature[inner], tree.gain[inner])
        return total / total.sum() if total.any() else total


def check_validation(subject: str, validation: tuple[Any, Any, Any], early_stopping: Any) -> None:
    """Raise if validation rows come without targets, or the other way round, or without early stopping."""
    X, y, _ = validation
    if X is not None and y is None:
        raise DataError(f"{subject}: X_val is provided, but y_val was not provided; give both.")
    if X is None and y is not None:
        raise DataError(f"{subject}: y_val is provided, but X_val was not provided; give both.")
    if X is not None and early_stopping is False:
        raise DataError(
            f"{subject}: X_val and y_val are passed to fit while at the same time early_stopping is False; drop them, "
            f"or set early_stopping=True."
        )


def _list_fixed_attributes(
    rows: PreparedRows, targets: Targets, loss: BoostingLoss, plan: Plan, categorical: Array
) -> dict[str, Any]:
    """Return the fitted attributes that are known before the first round."""
    attributes = {
        "_bins": rows.bins,
        "_categories": rows.categories,
        "_loss_used": loss,
        "is_categorical_": categorical if categorical.any() else None,
        "n_trees_per_iteration_": loss.n_scores,
        "do_early_stopping_": plan.early_stopping,
    }
    attributes |= {} if targets.classes is None else {"classes_": targets.classes}
    return attributes | ({} if plan.trials is None else {"budget_trials_": plan.trials})


def _list_attributes(state: BoostingState, n_scores: int) -> dict[str, Any]:
    """Return the fitted attributes that depend on the trees of a state."""
    return {
        "_state": state,
        "_baseline": np.asarray(state.baseline, dtype=np.float64),
        "train_score_": np.array(state.train_scores),
        "validation_score_": np.array(state.validation_scores),
        "n_iter_": len(state.trees) // n_scores,
    }
