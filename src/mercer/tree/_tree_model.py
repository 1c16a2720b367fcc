"""The base class of decision trees for classes and for numeric targets."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, accept_rows, draw_seed, fitting
from mercer._base.interface import MultiOutputMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Integer, Nothing, Real, Seed, Share, attribute, parameter
from mercer._base.tree_answers import TreeAnswers
from mercer._base.tree_problem import check_values, open_problem, read_rules
from mercer._base.validation import check_rows
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._solver.tree.assembly import GrowthState, assemble, resume_levels, take_state
from mercer._solver.tree.binary_tree import LEAF, BinaryTree
from mercer._solver.tree.growth import Growth
from mercer._solver.tree.packed_forest import join_trees
from mercer._solver.tree.pruning import TreeLevel, cut_tree, find_pruning_path, list_levels, measure_last_level, prune
from mercer._solver.tree.search import Room, can_use_steps
from mercer._solver.tree.tree_sum import TreeSum
from mercer._solver.tree.whole_growth import GrowthInterrupt, can_grow_whole, grow_best_first, grow_whole
from mercer._source import open_source
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, integers, part, size
from mercer._types import Array
from mercer.errors import ModelFileError
from mercer.tree import _crossovers

# The name of a type takes NumPy 5 us to spell.
FLOAT_NAMES = {"d": "float64", "f": "float32"}
GREEDY = Certificate.none("Each split is the best for its node; no bound says how far the whole is from the best tree.")


class TreeModel(TreeAnswers, MultiOutputMixin, LimitedEstimator):
    """A decision tree, with the methods that classifiers and regressors share."""

    _needs_rows: ClassVar[str] = "it sorts the values of every column"

    splitter: str = parameter(
        Choice("best", "random", "histogram"),
        default="best",
        doc="'best' tries all thresholds, 'random' one drawn at random for each feature, and 'histogram' those "
        "between at most 255 bins of each column, which hold about equal weight.",
    )
    max_depth: int | None = parameter(
        Integer(0) | Nothing(),
        default=None,
        doc="The most splits from the root to a leaf; 0 gives one leaf, and None means no limit.",
    )
    min_samples_split: float = parameter(
        Integer(2) | Share(0, 1, "right"), default=2, doc="The rows a node needs to be split, or their share."
    )
    min_samples_leaf: float = parameter(
        Integer(1) | Share(0, 1, "neither"), default=1, doc="The rows each side of a split needs, or their share."
    )
    min_weight_fraction_leaf: float = parameter(
        Real(0, 0.5), default=0.0, doc="The share of the weight that each side of a split needs."
    )
    max_features: Any = parameter(
        Integer(1) | Share(0, 1, "right") | Choice("sqrt", "log2") | Nothing(),
        default=None,
        doc="The number of features, drawn at random, that a node considers, or their share; None means all. More "
        "are considered where those drawn are constant.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="The seed of the random draws.")
    max_leaf_nodes: int | None = parameter(
        Integer(2) | Nothing(), default=None, doc="The most leaves; the tree then grows where a split gains most."
    )
    min_impurity_decrease: float = parameter(
        Real(0), default=0.0, doc="The least gain of a split, as a share of all weight."
    )
    ccp_alpha: float = parameter(
        Real(0),
        default=0.0,
        doc="The price of a leaf in cost-complexity pruning: the smallest tree that minimises impurity plus price "
        "is kept.",
    )
    monotonic_cst: Any = parameter(
        ArrayRule("entries") | Nothing(),
        default=None,
        doc="For each feature 1 if the probability of the second class must rise with it, -1 if it must fall, 0 if "
        "free.",
    )
    categorical_features: Any = parameter(
        ArrayRule("entries") | Choice("from_dtype") | Nothing(),
        default=None,
        doc="The columns that hold categories, by index, mask or name, or those of a frame that have such a type.",
    )

    _documents = {
        "max_time": "Seconds after which growth ends with the levels that are complete.",
    }

    _objective_moves: ClassVar[str | None] = "down"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the rows are kept as ranks, column by column, while it grows"
    }
    tree_: BinaryTree = attribute()
    n_outputs_: int = attribute()
    max_features_: int = attribute()
    criterion: str = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "n_outputs_": size("outputs"),
        "_n_classes": integers("outputs", low=0),
        "_categories": part("CategoryTable", "none"),
        "tree_": part("BinaryTree"),
        "max_features_": integers(low=0),
    }
    _takes_sparse = True
    _takes_gaps = True

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Grow the tree.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or targets.
        check_input : bool, default=True
            Has no effect: rows are always checked. Kept so that scikit-learn's calls run.
        """
        problem = open_problem(self, X, y, sample_weight)
        rules = read_rules(self, problem)
        # On small tables starting threads and reporting each level takes longer than the growth itself.
        is_large = problem.X.shape[0] * problem.X.shape[1] >= _crossovers.LARGE_TABLE
        threads = self._threads() if is_large else 1
        # A thread that follows a branch to its end finds most of its rows in the cache. A watch is told of the levels
        # of a large tree as they are grown.
        at_once = self.max_leaf_nodes is None and (not is_large or not self._is_watched())
        source = open_source(problem.X, problem.y, problem.weight, threads)
        given = problem.attributes() | {
            "max_features_": rules.max_features,
            "_dtype": FLOAT_NAMES[problem.X.dtype.char],
        }

        def start() -> Growth:
            random = rules.random and self.criterion != "absolute_error"
            weight = problem.full_weight
            target = problem.target(self.criterion, weight)
            coarse = rules.coarse_rows == 0
            name = type(self).__name__
            # Small tables have few nodes that are large enough for steps.
            steps = is_large and can_use_steps(target, rules, problem.X.shape[1])
            columns = problem.encode(threads, name, coarse, random, target.scaled if coarse else None, steps)
            growth = Growth(columns, target, rules, threads)
            seed = draw_seed(self.random_state)
            # Rows of weight zero take no part in the growth, so they cannot fill min_samples_leaf.
            growth.begin((weight > 0).nonzero()[0].astype(np.int32), seed)
            return growth

        def finish(state: GrowthState | TreeLevel) -> dict[str, Any]:
            if isinstance(state, TreeLevel):
                tree = cut_tree(state.tree, state.depth)
            else:
                tree = assemble(state, problem.X.shape[1], problem.n_classes)
            return {"tree_": prune(tree, self.ccp_alpha)}

        def solve(state: Any) -> Solver:
            # A GrowthState comes from the solver by levels, which alone can go on from it.
            if at_once and not isinstance(state, GrowthState):
                return self._solve_at_once(start, problem.n_classes, state)
            return self._solve(start, state)

        outcome = self._drive(solve, source, attributes=given, fitted=finish)
        self._conclude(outcome)
        return self

    def _check_structure(self) -> None:
        if "tree_" in vars(self) and self.tree_.n_features != self.n_features_in_:
            raise ModelFileError(
                f"{type(self).__name__}.tree_ must read {self.n_features_in_} columns; the file's reads others."
            )

    def _solve(self, start: Callable[[], Growth], state: GrowthState | None) -> Solver:
        growth: Growth = yield Dense(start)
        return (yield from self._solve_by_levels(growth, state))

    def _solve_by_levels(self, growth: Growth, state: GrowthState | None) -> Solver:
        whole = growth.whole_weight
        if state is not None:
            growth.levels = resume_levels(state)
            growth.n_nodes = int(state.sizes.sum())
            growth.words, growth.n_words = [state.words], len(state.words)
        elif self.max_leaf_nodes is not None:
            state = yield Dense(lambda: grow_best_first(growth, self.max_leaf_nodes))
            yield Step(_compute_cost(state.nodes) / whole, state, GREEDY, {"leaves": _count_leaves(state.nodes)})
            return Solution(state, True, GREEDY)
        else:
            state = take_state(growth)
            yield _make_step(state, whole)
        # One step is one level: the nodes of a level do not depend on each other.
        while (yield Dense(growth.grow_level)):
            state = take_state(growth)
            yield _make_step(state, whole)
        return Solution(state, True, GREEDY)

    def _solve_at_once(self, start: Callable[[], Growth], n_classes: Array, state: TreeLevel | None) -> Solver:
        """Grow the whole tree in one request, and yield its levels afterwards; `state` is the level to go on from."""
        growth: Growth = yield Dense(start)
        if growth.threads > 1 and not can_grow_whole(growth):
            return (yield from self._solve_by_levels(growth, None))
        tree, interrupt = yield Dense(partial(_grow_or_stop, growth, n_classes))
        if interrupt is not None and len(tree.weighted_n_node_samples) == 0:
            # Ctrl-C came before the root.
            raise interrupt
        whole = float(tree.weighted_n_node_samples[0])
        levels = list_levels(tree)
        first = 0 if state is None else state.depth + 1
        for depth, (cost, leaves) in enumerate(levels[first:], start=first):
            state = TreeLevel(tree, depth)
            yield Step(cost / whole, state, GREEDY, {"leaves": float(leaves)})
        if interrupt is not None:
            raise interrupt
        return Solution(state, True, GREEDY)

    def _rows(self, X: Any) -> Array:
        """Check rows to predict for; those of a NumPy array need fewer checks."""
        table = self.__dict__.get("_categories")
        if table is None and (rows := accept_rows(self, X)) is not None:
            return rows
        check_is_fitted(self)
        X = X if table is None else table.encode(X, type(self).__name__)
        X = check_rows(self, X, reset=False, accept_sparse="csr", ensure_all_finite=False)
        check_values(type(self).__name__, X)
        return X

    def _read_values(self, X: Any) -> Array:
        """Return the values that the tree compares, for rows in memory; explanations ask for them."""
        rows: Any = self._rows(X)
        return np.asarray(rows.toarray() if is_sparse_matrix(rows) else rows, np.float64, order="C")

    def _tree_sum(self) -> TreeSum:
        """Return the tree as what the answers are a sum of; a classifier's are probabilities."""
        tree = self.tree_
        baseline = np.zeros(tree.value.shape[1] * tree.value.shape[2])
        return TreeSum(join_trees([tree]), tree.weighted_n_node_samples, baseline, self._read_values)

    def _values(self, X: Any) -> Array:
        rows = self._rows(X)
        return self.tree_.predict(rows, self._threads()).astype(self._dtype, copy=False)

    def apply(self, X: Any, check_input: bool = True) -> Array:
        """Return the leaf of each row, by its number in ``tree_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect: rows are always checked. Kept so that scikit-learn's calls run.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
        """
        rows = self._rows(X)
        return self.tree_.apply(rows, self._threads())

    def decision_path(self, X: Any, check_input: bool = True) -> csr_array:
        """Return the nodes that each row passes on its way to a leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect: rows are always checked.

        Returns
        -------
        indicator : sparse array of shape (n_samples, node_count)
            Ones at the nodes that a row passes.
        """
        rows = self._rows(X)
        return self.tree_.decision_path(rows)

    def get_depth(self) -> int:
        """Return the depth of the tree: the most splits between the root and a leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return the trees that cost-complexity pruning would make of the full one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights.

        Returns
        -------
        path : Bunch
            ``ccp_alphas``: the values of `ccp_alpha` at which a branch goes, rising. ``impurities``: the weighted
            impurity of the leaves that are then left.
        """
        full = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight=sample_weight)
        alphas, impurities = find_pruning_path(full.tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    @property
    def feature_importances_(self) -> Array:
        """How much the splits by each feature lower the impurity, as shares of the whole.

        They favour columns with many distinct values, and are taken from the rows of the fit: a column of noise has a
        positive share. ``sklearn.inspection.permutation_importance`` on other rows has neither flaw.
        """
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()


def _grow_or_stop(growth: Growth, n_classes: Array) -> tuple[BinaryTree, GrowthInterrupt | None]:
    """Return the tree and None, or what had been grown when Ctrl-C came and the interrupt, to be raised later."""
    try:
        return grow_whole(growth, n_classes, Room()), None
    except GrowthInterrupt as interrupt:
        return interrupt.tree, interrupt


def _make_step(state: GrowthState, whole: float) -> Step:
    """Return the step that the last level of a growing tree completes; `whole` is the weight of all rows."""
    cost, leaves = measure_last_level(state.nodes, state.sizes)
    return Step(cost / whole, state, GREEDY, {"leaves": float(leaves)})


def _compute_cost(nodes: dict[str, Array]) -> float:
    leaf = nodes["left"] == LEAF
    return float(nodes["weights"][leaf] @ nodes["impurity"][leaf])


def _count_leaves(nodes: dict[str, Array]) -> float:
    return float(np.count_nonzero(nodes["left"] == LEAF))
