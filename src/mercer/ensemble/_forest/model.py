"""What forests for classes and for numbers share: the draw of rows, the fit, and what all trees say together."""

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import MultiOutputMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, few_rows, seed_sequence
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Rule, Seed
from mercer._base.share import Share
from mercer._base.tree_problem import Problem, check_values, open_problem, rules_of
from mercer._base.validation import check_rows
from mercer._solver.tree.binary_tree import BinaryTree
from mercer._source import open_source
from mercer._source.memory import require_memory
from mercer.ensemble._forest.growth import ForestGrowth, ForestState, drawn_counts
from mercer.ensemble._forest.packed_forest import PackedForest
from mercer.errors import DataError, ParameterError

__all__ = ["DRAWN", "FOREST_PARAMETERS", "ForestModel"]

Array = Any
# Nodes with at least this many rows are searched in 255 steps of a column, smaller ones exactly: below, a step holds
# about one row, and a search by sorting costs no more.
_COARSE_ROWS = 256
_PACKED: "WeakKeyDictionary[Any, tuple[list[Any], PackedForest]]" = WeakKeyDictionary()
# Laws that a forest of trees on draws of the rows keeps in distribution only.
DRAWN = {
    "weights": "rows are drawn at random: a weight equals repetitions in distribution",
    "row order": "rows are drawn at random by their numbers: another order is another draw",
}
FOREST_PARAMETERS: dict[str, Rule] = {
    "n_estimators": Integer(1),
    "max_depth": Integer(1) | Nothing(),
    "min_samples_split": Integer(2) | Share(0, 1, "right"),
    "min_samples_leaf": Integer(1) | Share(0, 1, "neither"),
    "min_weight_fraction_leaf": Real(0, 0.5),
    "max_features": Integer(1) | Share(0, 1, "right") | Choice("sqrt", "log2") | Nothing(),
    "max_leaf_nodes": Integer(2) | Nothing(),
    "min_impurity_decrease": Real(0),
    "bootstrap": Boolean(),
    "oob_score": Boolean() | Function(),
    "n_jobs": Integer() | Nothing(),
    "random_state": Seed(),
    "verbose": Boolean() | Integer(0),
    "warm_start": Boolean(),
    "ccp_alpha": Real(0),
    "max_samples": Integer(1) | Share(0, closed="neither") | Nothing(),
    "monotonic_cst": ArrayRule() | Nothing(),
    "categorical_features": ArrayRule() | Choice("from_dtype") | Nothing(),
    "max_time": Real(0) | Nothing(),
}


class ForestModel(MultiOutputMixin, Estimator):
    """The fit of a forest, and the mean of what its trees say."""

    _objective_moves: ClassVar[str | None] = None
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the rows are kept as ranks, column by column, while trees grow"
    }
    splitter: ClassVar[str] = "best"
    estimators_: list[Any]
    n_outputs_: int
    _oob_sums: Any
    _oob_counts: Any

    @property
    def _check_exceptions(self) -> dict[str, str]:  # type: ignore[override]
        if not self.bootstrap:
            return {}
        return {f"check_sample_weight_equivalence_on_{kind}_data": DRAWN["weights"] for kind in ("dense", "sparse")}

    def _member(self, **parameters: Any) -> Any:
        """A tree of the kind this forest is made of."""
        raise NotImplementedError  # each forest has its own kind

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_together()
        problem = open_problem(self, X, y, sample_weight)
        if problem.y.ndim == 2 and problem.y.shape[1] == 1:
            message = (
                f"{type(self).__name__}: A column-vector y was passed when a 1d array was expected. Please change the "
                f"shape of y to (n_samples,), for example using ravel()."
            )
            warnings.warn(message, DataConversionWarning, stacklevel=5)
        if self.oob_score:
            self._check_judged(problem)
        source = open_source(problem.X, problem.y, problem.weight, self._threads())
        before = self._kept_trees()
        growth = self._growth(problem, sample_weight is not None, before, source.threads)
        given = problem.attributes() | {"_dtype": problem.X.dtype.name, "_n_classes": problem.n_classes}
        given |= {"_n_rows": problem.X.shape[0], "_n_drawn": growth.n_drawn, "_draw_weight": growth.weight}
        known = given | {"_member_seeds": growth.seeds, "_max_features": growth.rules.max_features}
        for name, value in known.items():
            setattr(self, name, value)
        unjudged = self.oob_score and "oob_score_" not in vars(self)
        start = before if before is not None and (unjudged or len(before.trees) < self.n_estimators) else None
        if before is not None and start is None:
            message = "Warm-start fitting without increasing n_estimators does not fit new trees."
            warnings.warn(f"{type(self).__name__}: {message} Raise n_estimators.", UserWarning, stacklevel=5)
            return
        outcome = self._drive(
            lambda state: growth.solve(start if state is None else state),
            source,
            max_steps=self.n_estimators - (len(start.trees) if start else 0),
            attributes=given,
        )
        if self.oob_score:
            self._judge_oob(problem, outcome.state)
        self._conclude(outcome, "raise max_time")

    def _check_judged(self, problem: Problem) -> None:
        """Raise if rows not seen cannot be judged."""

    def _check_together(self) -> None:
        name = type(self).__name__
        if not self.bootstrap and self.oob_score:
            message = (
                f"{name}: oob_score needs bootstrap=True; got False. Out of bag estimation only available if "
                f"bootstrap=True."
            )
            raise ParameterError(message)
        if not self.bootstrap and self.max_samples is not None:
            message = (
                f"{name}: `max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set "
                f"`max_sample=None`; got {self.max_samples!r}."
            )
            raise ParameterError(message)

    def _kept_trees(self) -> ForestState | None:
        """What an earlier fit left, if it is to be continued."""
        if not self.warm_start or "estimators_" not in vars(self):
            return None
        trees = [member.tree_ for member in self.estimators_]
        if len(trees) > self.n_estimators:
            message = (
                f"{type(self).__name__}: n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(trees)} when warm_start==True; raise it."
            )
            raise ParameterError(message)
        return ForestState(trees, self._oob_sums, self._oob_counts)

    def _growth(self, problem: Problem, weighted: bool, before: ForestState | None, threads: int) -> ForestGrowth:
        n = problem.X.shape[0]
        weight = problem.full_weight if weighted or problem.class_factor is not None else None
        # Rows of equal weight are drawn as rows without any.
        weight = None if weight is None or (weight == weight[0]).all() else weight
        rules = replace(rules_of(self, problem), coarse_rows=_COARSE_ROWS)
        name, by_values = type(self).__name__, rules.random and self.criterion != "absolute_error"
        old = [] if before is None else vars(self).get("_member_seeds", [])[: len(before.trees)]
        seeds = seed_sequence(self.random_state).generate_state(self.n_estimators).tolist()
        return ForestGrowth(
            problem=problem,
            columns=lambda: problem.encode(threads, name, not rules.random, by_values),
            rules=rules,
            seeds=[*old, *seeds[len(old) :]],
            criterion=self.criterion,
            max_leaves=self.max_leaf_nodes,
            ccp_alpha=self.ccp_alpha,
            min_weight_share=self.min_weight_fraction_leaf,
            n_drawn=self._drawn(n, weight) if self.bootstrap else None,
            weight=weight,
            balanced=getattr(self, "class_weight", None) == "balanced_subsample",
            oob_error=(lambda sums, counts: 1.0 - self._oob_score(problem, sums, counts)) if self.oob_score else None,
            threads=threads,
            max_time=self.max_time,
        )

    def _drawn(self, n: int, weight: Array | None) -> int:
        """How many rows are drawn for a tree."""
        if self.max_samples is None:
            return n
        if isinstance(self.max_samples, Integral):
            return int(self.max_samples)
        whole = n if weight is None else float(weight.sum())
        drawn = max(int(self.max_samples * whole), 1)
        if drawn < max(10, n ** (1 / 3)):
            total = f"the number of samples is {n}" if weight is None else f"the total sum of sample weights is {whole}"
            message = (
                f"{type(self).__name__}: Using the fractional value max_samples={self.max_samples} when {total} "
                f"results in a low number ({drawn}) of bootstrap samples. We recommend passing `max_samples` as an "
                f"integer instead."
            )
            warnings.warn(message, UserWarning, stacklevel=6)
        return drawn

    def _fitted(self, state: ForestState) -> dict[str, Any]:
        members = [self._tree_model(tree, seed) for tree, seed in zip(state.trees, self._member_seeds)]
        unseen = {"_oob_sums": state.oob_sums, "_oob_counts": state.oob_counts}
        return {"estimators_": members, "estimator_": self._member()} | unseen

    def _tree_model(self, tree: BinaryTree, seed: int) -> Any:
        """A fitted tree of its own."""
        model = self._member(random_state=int(seed))
        vars(model).update(
            tree_=tree,
            n_features_in_=self.n_features_in_,
            n_outputs_=tree.n_outputs,
            max_features_=self._max_features,
            _n_classes=self._n_classes,
            _dtype=vars(self).get("_dtype", "float64"),
        )
        return model

    def _oob_score(self, problem: Problem, sums: Array, counts: Array) -> float:
        """How well trees predict the rows they did not see; rows that all trees saw do not count."""
        raise NotImplementedError  # each forest has its own score

    def _judge_oob(self, problem: Problem, state: ForestState) -> None:
        if (state.oob_counts == 0).any():
            message = (
                f"{type(self).__name__}: Some inputs do not have OOB scores. This probably means too few trees were "
                f"used to compute any reliable OOB estimates; {int((state.oob_counts == 0).sum())} of "
                f"{len(state.oob_counts)} rows were seen by all trees. Raise n_estimators."
            )
            warnings.warn(message, UserWarning, stacklevel=6)

    def _packed(self) -> PackedForest:
        """All trees in a few arrays, joined when they are first needed; the trees then are views of these."""
        kept = _PACKED.get(self)
        if kept is None or kept[0] is not self.estimators_:
            trees = [member.tree_ for member in self.estimators_]
            packed = PackedForest.of(trees)
            for member, tree in zip(self.estimators_, packed.shared(trees)):
                member.tree_ = tree
            kept = _PACKED[self] = (self.estimators_, packed)
        return kept[1]

    def _rows(self, X: Any) -> Array:
        """Rows to predict for, checked; a few of NumPy need no more than a look."""
        table = self.__dict__.get("_categories")
        if table is None and (rows := few_rows(self, X)) is not None:
            return rows
        check_is_fitted(self)
        X = X if table is None else table.encode(X, type(self).__name__)
        X = check_rows(self, X, reset=False, accept_sparse="csr", ensure_all_finite=False)
        check_values(type(self).__name__, X)
        return X

    def _means(self, X: Any) -> Array:
        """The mean value of each row's leaves, of shape (n, n_outputs, classes)."""
        rows = self._rows(X)
        packed = self._packed()
        sums = packed.sums(rows, self._threads() if rows.shape[0] > 512 else 1)
        sums /= len(packed.roots)
        return sums.reshape(len(sums), self.n_outputs_, -1).astype(self._dtype, copy=False)

    def apply(self, X: Any) -> Array:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
        """
        rows = self._rows(X)
        return self._packed().leaves(rows, self._threads())

    def decision_path(self, X: Any) -> tuple[csr_array, Array]:
        """Return the nodes that each row passes in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        indicator : sparse array of shape (n_samples, nodes of all trees)
            Ones at the nodes that a row passes.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Where each tree's nodes begin.
        """
        rows = self._rows(X)
        paths = [member.tree_.decision_path(rows) for member in self.estimators_]
        return hstack(paths).tocsr(), np.concatenate([[0], np.cumsum([path.shape[1] for path in paths])])

    def proximity(self, X: Any) -> Array:
        """Return how alike rows are: the share of trees in which two rows meet in a leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proximities : ndarray of shape (n_samples, n_samples)
            Symmetric, with ones on the diagonal; positive semi-definite, so it may serve as a kernel.
        """
        leaves = self.apply(X)
        n = len(leaves)
        require_memory(type(self).__name__, 9 * n * n, f"the {n} x {n} proximities", "give fewer rows")
        meetings = np.zeros((n, n))
        for column in leaves.T:
            meetings += column[:, None] == column
        return meetings / leaves.shape[1]

    @property
    def estimators_samples_(self) -> list[Array]:
        """The rows that each tree was grown on, as often as each was drawn."""
        check_is_fitted(self)
        if self._n_drawn is None:
            return [np.arange(self._n_rows, dtype=np.int32) for _ in self.estimators_]
        rows = np.arange(self._n_rows, dtype=np.int32)
        return [
            np.repeat(rows, drawn_counts(seed, self._n_rows, self._n_drawn, self._draw_weight))
            for seed in self._member_seeds[: len(self.estimators_)]
        ]

    @property
    def feature_importances_(self) -> Array:
        """How much the splits by each feature lower the impurity: the mean of the trees' shares.

        They favour columns with many distinct values, and are taken from the rows of the fit: a column of noise has a
        positive share. :meth:`permutation_importance` has neither flaw.
        """
        check_is_fitted(self)
        shares = [one.feature_importances_ for one in self.estimators_ if one.tree_.node_count > 1]
        if not shares:
            return np.zeros(self.n_features_in_)
        mean = np.mean(shares, axis=0)
        return mean / mean.sum()

    def permutation_importance(self, X: Any, y: Any, n_repeats: int = 5) -> Array:
        """Return how much worse trees predict the rows they did not see when a column is shuffled among these.

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
            The mean loss of accuracy, or rise of the squared error, of a tree. Around zero for columns of noise.
        """
        rows = np.asarray(self._rows(X))
        if self._n_drawn is None or len(rows) != self._n_rows:
            message = (
                f"{type(self).__name__}: permutation_importance needs rows that trees did not see: fit with "
                f"bootstrap=True and give the {getattr(self, '_n_rows', 0)} rows of the fit; got {len(rows)}."
            )
            raise DataError(message)
        y = np.asarray(y)
        losses = np.zeros(self.n_features_in_)
        for seed, member, drawn in zip(self._member_seeds, self.estimators_, self.estimators_samples_):
            unseen = np.setdiff1d(np.arange(len(rows)), drawn)
            stream = np.random.default_rng([seed, 2])
            own, truth = rows[unseen].copy(), y[unseen]
            before = self._error_of(member, own, truth)
            for feature in range(rows.shape[1]):
                column = own[:, feature].copy()
                for _ in range(n_repeats):
                    own[:, feature] = stream.permutation(column)
                    losses[feature] += self._error_of(member, own, truth) - before
                own[:, feature] = column
        return losses / (n_repeats * len(self.estimators_))

    def _error_of(self, member: Any, X: Array, y: Array) -> float:
        raise NotImplementedError  # each forest has its own error

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
