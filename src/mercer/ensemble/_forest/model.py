"""The fit of a forest: the bootstrap of rows, the seeds of trees, and the fitted attributes."""

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting, seed_sequence
from mercer._base.interface import MultiOutputMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Seed, Share, attribute, parameter
from mercer._base.tree_answers import TreeAnswers
from mercer._base.tree_problem import Problem, open_problem, read_rules
from mercer._solver.tree.binary_tree import BinaryTree
from mercer._solver.tree.tree_sum import TreeSum
from mercer._source import open_source
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats, integers, members, part, size
from mercer._types import Array
from mercer.ensemble._forest.growth import Bootstrap, ForestGrowth, ForestState
from mercer.ensemble._forest.tree_ensemble import TreeEnsemble
from mercer.ensemble._forest.tree_settings import TreeSettings
from mercer.errors import ParameterError

# Nodes with at least this many rows are searched in 255 steps of a column, smaller ones exactly: below, a step holds
# about one row, and a search by sorting costs no more.
_COARSE_ROWS = 256
# No machine holds more rows than this; a larger share of the rows could not be counted.
_MOST_DRAWN = 2.0**48
# The parameters that a forest passes to its trees.
_TREE_PARAMETERS = (
    *("criterion", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "max_features"),
    *("max_leaf_nodes", "min_impurity_decrease", "ccp_alpha", "monotonic_cst"),
)
# Laws that a forest of bootstrapped trees keeps in distribution only.
DRAWN = {
    "weights": "rows are drawn at random: a weight equals repetitions in distribution",
    "row order": "rows are drawn at random by their numbers: another order is another draw",
}


class ForestModel(TreeAnswers, MultiOutputMixin, TreeEnsemble):
    """A forest: its fit, means of leaves, paths, proximities, and importances of features."""

    n_estimators: int = parameter(Integer(1), default=100, kw_only=False, doc="The number of trees.")
    criterion: str = parameter(Choice("gini", "entropy", "log_loss"), default="gini")
    max_depth: int | None = parameter(
        Integer(0) | Nothing(),
        default=None,
        doc="Most splits from the root to a leaf; 0 gives one leaf, and None means no limit.",
    )
    min_samples_split: float = parameter(
        Integer(2) | Share(0, 1, "right"), default=2, doc="Fewest rows of a node that is split, or their share."
    )
    min_samples_leaf: float = parameter(
        Integer(1) | Share(0, 1, "neither"), default=1, doc="Fewest rows on each side of a split, or their share."
    )
    min_weight_fraction_leaf: float = parameter(
        Real(0, 0.5), default=0.0, doc="Least share of the weight on each side of a split."
    )
    max_features: Any = parameter(
        Integer(1) | Share(0, 1, "right") | Choice("sqrt", "log2") | Nothing(),
        default="sqrt",
        doc="The number or share of features, drawn at random, among which a node is split; None means all.",
    )
    max_leaf_nodes: int | None = parameter(
        Integer(2) | Nothing(), default=None, doc="Most leaves of a tree, which then grows best first."
    )
    min_impurity_decrease: float = parameter(
        Real(0), default=0.0, doc="Least decrease of impurity by a split, weighted by the node's share of all weight."
    )
    bootstrap: bool = parameter(
        Boolean(), default=False, doc="Whether each tree is grown on rows drawn with replacement, or on all rows."
    )
    oob_score: Any = parameter(
        Boolean() | Function(),
        default=False,
        doc="Whether trees are scored on rows that they did not see: by accuracy, or a function of truth and "
        "prediction.",
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)
    random_state: Any = parameter(
        Seed(),
        default=None,
        doc="The seed of the rows, thresholds and features that are drawn; every tree has its own.",
    )
    verbose: int = parameter(Boolean() | Integer(0), default=0, doc="Whether to print a line for each tree.")
    warm_start: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether `fit` keeps the trees of the last fit and grows only those that are missing.",
    )
    ccp_alpha: float = parameter(
        Real(0), default=0.0, doc="The price of a leaf in cost-complexity pruning of each tree."
    )
    max_samples: float | None = parameter(
        Integer(1) | Share(0, closed="neither") | Nothing(),
        default=None,
        doc="The number or share of rows drawn for a tree; None means as many as there are.",
    )
    monotonic_cst: Any = parameter(
        ArrayRule("entries") | Nothing(),
        default=None,
        doc="For each feature 1 if predictions may only rise with it, -1 if they may only fall, else 0.",
    )
    categorical_features: Any = parameter(
        ArrayRule("entries") | Choice("from_dtype") | Nothing(),
        default=None,
        doc="Columns that hold categories: a mask, indices or names; ``'from_dtype'``: the columns of a frame of "
        "that type.",
    )
    max_time: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        doc="Seconds after which the fit ends with the trees it has; trees still growing are discarded, except the "
        "first.",
    )

    _objective_moves: ClassVar[str | None] = None
    _grows_with: ClassVar[dict[str, int]] = {"n_estimators": 1}
    # The class of the trees.
    _tree_class: ClassVar[type]
    estimators_: list[Any] = attribute()
    n_outputs_: int = attribute()
    # The rows of the fit, how many of them each tree saw (None for all), and in proportion to which weights.
    _n_rows: int = attribute()
    _n_drawn: int | None = attribute()
    _draw_weight: Array = attribute()
    _member_seeds: list[int] = attribute()
    _oob_sums: Any = attribute()
    _oob_counts: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "_categories": part("CategoryTable", "none"),
        "_n_rows": size("rows"),
        "_draw_weight": floats("rows | none"),
        # An interrupted fit has fewer members than seeds.
        "_member_seeds": members(integers(low=0)),
        "estimators_": members(part("BaseEstimator"), "members"),
        "estimator_": part("BaseEstimator"),
        "_oob_counts": integers("*", low=0),
        "n_outputs_": size("outputs"),
        "_n_classes": integers("outputs", low=0),
        "_max_features": integers(low=0),
        "_oob_sums": floats("*, *"),
        "_n_drawn": integers(" | none", low=0),
    }

    @property
    def _check_exceptions(self) -> dict[str, str]:  # type: ignore[override]
        if not self.bootstrap:
            return {}
        return {f"check_sample_weight_equivalence_on_{kind}_data": DRAWN["weights"] for kind in ("dense", "sparse")}

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels for classification, numbers for regression.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; with `bootstrap` rows are drawn in proportion to them.
        """
        self._check_bootstrap()
        problem = self._open_problem(X, y, sample_weight)
        self._check_targets(problem)
        source = open_source(problem.X, problem.y, problem.weight, self._threads())

        earlier = self._read_earlier_trees()
        growth = self._make_growth(problem, sample_weight is not None, earlier, source.threads)
        attributes = problem.attributes() | {
            "_dtype": problem.X.dtype.name,
            "_n_classes": problem.n_classes,
            "_n_rows": problem.X.shape[0],
            "_n_drawn": growth.bootstrap.n_drawn,
            "_draw_weight": growth.bootstrap.weight,
            "_member_seeds": growth.seeds,
            "_max_features": growth.settings.rules.max_features,
        }
        lacks_score = self.oob_score and "oob_score_" not in vars(self)
        if earlier is not None and len(earlier.trees) == self.n_estimators and not lacks_score:
            message = "Warm-start fitting without increasing n_estimators does not fit new trees."
            warnings.warn(f"{type(self).__name__}: {message} Raise n_estimators.", UserWarning, stacklevel=4)
            self.__dict__.update(attributes)
            return self

        outcome = self._drive(
            lambda state: growth.solve(earlier if state is None else state),
            source,
            fitted=partial(self._list_attributes, problem=problem, growth=growth),
            max_steps=self.n_estimators - (len(earlier.trees) if earlier else 0),
            attributes=attributes,
        )
        if self.oob_score and (outcome.state.oob_counts == 0).any():
            self._warn_of_rows_without_score(outcome.state.oob_counts)
        self._conclude(outcome, "raise max_time")
        return self

    def _open_problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        """Return the rows, targets and weights of a fit, checked."""
        return open_problem(self, X, y, sample_weight)

    def _check_targets(self, problem: Problem) -> None:
        """Warn of targets in a column; with `oob_score`, raise if their kind has no score."""
        if problem.y.ndim == 2 and problem.y.shape[1] == 1:
            warnings.warn(
                f"{type(self).__name__}: A column-vector y was passed when a 1d array was expected. Please change the "
                f"shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=5,
            )

    def _check_bootstrap(self) -> None:
        """Raise if a parameter is set that needs a bootstrap."""
        name = type(self).__name__
        if not self.bootstrap and self.oob_score:
            raise ParameterError(
                f"{name}: oob_score needs bootstrap=True; got False. Out of bag estimation only available if "
                f"bootstrap=True."
            )
        if not self.bootstrap and self.max_samples is not None:
            raise ParameterError(
                f"{name}: `max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set "
                f"`max_sample=None`; got {self.max_samples!r}."
            )

    def _read_earlier_trees(self) -> ForestState | None:
        """Return the trees of the last fit if a warm start continues it, else None."""
        if not self.warm_start or "estimators_" not in vars(self):
            return None
        trees = [member.tree_ for member in self.estimators_]
        if len(trees) > self.n_estimators:
            raise ParameterError(
                f"{type(self).__name__}: n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(trees)} when warm_start==True; raise it."
            )
        return ForestState(trees, self._oob_sums, self._oob_counts)

    def _make_growth(self, problem: Problem, weighted: bool, earlier: ForestState | None, threads: int) -> ForestGrowth:
        """Return the solver; `weighted` says whether the user gave weights."""
        n = problem.X.shape[0]
        weight = problem.full_weight if weighted or problem.class_factor is not None else None
        # Rows of equal weight are drawn as rows without weights.
        weight = None if weight is None or (weight == weight[0]).all() else weight
        rules = replace(read_rules(self, problem), coarse_rows=_COARSE_ROWS)
        name, by_values = type(self).__name__, rules.random and self.criterion != "absolute_error"
        # Model files of older versions hold no seeds.
        old = [] if earlier is None else vars(self).get("_member_seeds", [])[: len(earlier.trees)]
        seeds = seed_sequence(self.random_state).generate_state(self.n_estimators).tolist()
        balanced = getattr(self, "class_weight", None) == "balanced_subsample"
        return ForestGrowth(
            problem=problem,
            columns=lambda: problem.encode(threads, name, not rules.random, by_values),
            criterion=self.criterion,
            settings=TreeSettings(rules, self.max_leaf_nodes, self.ccp_alpha, self.min_weight_fraction_leaf),
            seeds=[*old, *seeds[len(old) :]],
            bootstrap=Bootstrap(n, self._count_drawn(n, weight) if self.bootstrap else None, weight, balanced),
            oob_error=(lambda sums, counts: 1.0 - self._score_oob(problem, sums, counts)) if self.oob_score else None,
            threads=threads,
            max_time=self.max_time,
        )

    def _count_drawn(self, n: int, weight: Array | None) -> int:
        """Return the number of rows that are drawn for a tree."""
        if self.max_samples is None:
            return n
        if isinstance(self.max_samples, Integral):
            return int(self.max_samples)
        total = n if weight is None else float(weight.sum())
        drawn = max(int(min(float(self.max_samples) * total, _MOST_DRAWN)), 1)
        require_memory(type(self).__name__, 16.0 * drawn, f"the {drawn} rows of a tree", "lower max_samples")
        if drawn < max(10, n ** (1 / 3)):
            cause = f"the number of samples is {n}" if weight is None else f"the total sum of sample weights is {total}"
            warnings.warn(
                f"{type(self).__name__}: Using the fractional value max_samples={self.max_samples} when {cause} "
                f"results in a low number ({drawn}) of bootstrap samples. We recommend passing `max_samples` as an "
                f"integer instead.",
                UserWarning,
                stacklevel=6,
            )
        return drawn

    def _list_attributes(self, state: ForestState, problem: Problem, growth: ForestGrowth) -> dict[str, Any]:
        """Return the fitted attributes that depend on the trees of a state."""
        members = [self._make_member(tree, seed, problem, growth) for tree, seed in zip(state.trees, growth.seeds)]
        attributes = {
            "estimators_": members,
            "estimator_": self._make_tree(),
            "_oob_sums": state.oob_sums,
            "_oob_counts": state.oob_counts,
        }
        return attributes | (self._list_oob_attributes(state, problem) if self.oob_score else {})

    def _make_tree(self, **parameters: Any) -> Any:
        """Return a tree with the parameters of the forest, not fitted."""
        return self._tree_class(**{name: getattr(self, name) for name in _TREE_PARAMETERS}, **parameters)

    def _make_member(self, tree: BinaryTree, seed: int, problem: Problem, growth: ForestGrowth) -> Any:
        """Return a fitted tree estimator."""
        member = self._make_tree(random_state=int(seed))
        vars(member).update(
            tree_=tree,
            n_features_in_=problem.X.shape[1],
            n_outputs_=tree.n_outputs,
            max_features_=growth.settings.rules.max_features,
            _n_classes=problem.n_classes,
            _dtype=problem.X.dtype.name,
        )
        if problem.categories is not None:
            vars(member)["_category_names"] = problem.categories
        return member

    def _score_oob(self, problem: Problem, sums: Array, counts: Array) -> float:
        """Return the score of predictions by trees that did not see a row; rows that all trees saw are left out."""
        raise NotImplementedError  # each forest has its own score

    def _list_oob_attributes(self, state: ForestState, problem: Problem) -> dict[str, Any]:
        """Return the score and the predictions of unseen rows, as fitted attributes."""
        raise NotImplementedError  # each forest has its own predictions

    def _warn_of_rows_without_score(self, counts: Array) -> None:
        """Warn that some rows, with a count of zero, were seen by all trees."""
        warnings.warn(
            f"{type(self).__name__}: Some inputs do not have OOB scores. This probably means too few trees were used "
            f"to compute any reliable OOB estimates; {int((counts == 0).sum())} of {len(counts)} rows were seen by all "
            f"trees. Raise n_estimators.",
            UserWarning,
            stacklevel=5,
        )

    def _tree_sum(self) -> TreeSum:
        """Return the trees as what the answers are a sum of: the mean over the trees is the sum of their shares."""
        packed = self._pack()
        shared = replace(packed, values=packed.values / len(packed.roots))
        weights = np.concatenate([member.tree_.weighted_n_node_samples for member in self.estimators_])
        return TreeSum(shared, weights, np.zeros(packed.values.shape[1]), self._read_values)

    def _average_leaves(self, X: Any) -> Array:
        """Return the mean over the trees of the values of each row's leaf, of shape (n, n_outputs, classes)."""
        rows = self._check_rows(X)
        packed = self._pack()
        sums = packed.sum_leaves(rows, self._threads)
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
        rows = self._check_rows(X)
        return self._pack().find_leaves(rows, self._threads())

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
        rows = self._check_rows(X)
        packed = self._pack()
        return packed.find_paths(rows, self._threads()), np.concatenate([[0], np.cumsum(packed.sizes, dtype=np.int64)])

    def proximity(self, X: Any) -> Array:
        """Return the similarity of rows: the share of trees in which two rows are in one leaf.

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
        # Eight bytes for the sum, and one for the comparison of a tree, of each pair of rows.
        require_memory(type(self).__name__, 9 * n * n, f"the {n} x {n} proximities", "give fewer rows")
        shared = np.zeros((n, n))
        for column in leaves.T:
            shared += column[:, None] == column
        return shared / leaves.shape[1]

    @property
    def estimators_samples_(self) -> list[Array]:
        """The rows that each tree was grown on, as often as each was drawn."""
        check_is_fitted(self)
        rows = np.arange(self._n_rows, dtype=np.int32)
        if self._n_drawn is None:
            return [rows.copy() for _ in self.estimators_]
        n_bytes = 8 * (self._n_drawn + 2 * self._n_rows + len(self.estimators_) * self._n_drawn)
        cure = "use estimators_ with fewer trees"
        require_memory(type(self).__name__, n_bytes, "the rows of every tree", cure)
        bootstrap = Bootstrap(self._n_rows, self._n_drawn, self._draw_weight)
        return [np.repeat(rows, bootstrap.count(seed)) for seed in self._member_seeds[: len(self.estimators_)]]

    @property
    def feature_importances_(self) -> Array:
        """The share of each feature in the decrease of impurity by all splits, averaged over the trees.

        These shares are biased: they favour columns with many distinct values, and since they are computed on the rows
        of the fit a column of noise has a positive share. :meth:`permutation_importance` has neither flaw.
        """
        check_is_fitted(self)
        shares = [member.feature_importances_ for member in self.estimators_ if member.tree_.node_count > 1]
        if not shares:
            return np.zeros(self.n_features_in_)
        # Trees without a split have no shares, and are left out of the mean.
        mean = np.mean(shares, axis=0)
        return mean / mean.sum()


def average_unseen(state: ForestState) -> Array:
    """Return the mean prediction of the trees that did not see a row; NaN where all did."""
    with np.errstate(invalid="ignore"):
        return state.oob_sums / state.oob_counts[:, None]
