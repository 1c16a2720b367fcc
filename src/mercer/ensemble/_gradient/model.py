"""The base of gradient boosting with exact trees, for classification and regression."""

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csc_array
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mercer._base import draw_seed, fitting
from mercer._base.parameter import Boolean, Choice, HasFit, Integer, Nothing, Real, Seed, Share, attribute, parameter
from mercer._base.tree_answers import TreeAnswers
from mercer._base.tree_problem import open_problem, read_rules
from mercer._base.validation import flatten_targets
from mercer._solver.tree.columns import encode_columns
from mercer._solver.tree.growth import Rules
from mercer._solver.tree.tree_sum import TreeSum
from mercer._source import open_source
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, floats, integers, members, part, size, texts
from mercer._types import Array
from mercer.ensemble._forest.tree_ensemble import TreeEnsemble
from mercer.ensemble._forest.tree_settings import TreeSettings
from mercer.ensemble._gradient.rounds import EarlyStopping, GradientRounds, GradientState, ScoredRows, make_tree_seed
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.tree import DecisionTreeRegressor

_ATTRIBUTES = """n_estimators_, n_trees_per_iteration_, max_features_ : int
        The numbers of rounds, of trees in a round, and of features among which a node is split.
    init_ : estimator or 'zero'
        What the rounds start from.
    train_score_ : ndarray of shape (n_estimators_,)
        The loss after each round of the rows that it learnt from.
    oob_scores_, oob_improvement_ : ndarray of shape (n_estimators_,)
        With `subsample` < 1: the loss of the other rows after each round, and its decrease by the round.
    oob_score_ : float
        The last of `oob_scores_`.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the gain of all splits.
    history_ : dict of ndarray
        After each round: ``objective``, the mean loss of all training rows, and ``seconds``.
    converged_ : bool
        Whether early stopping or the monitor ended the fit.
    n_iter_, certificate_
        Rounds of this fit. No certificate: boosting is greedy."""

# The texts by the names that the docstrings of the two classes use.
SHARED = {
    "attributes": _ATTRIBUTES,
}


# The parameters that an ensemble passes to its trees.
_TREE_PARAMETERS = (
    *("min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "max_depth", "min_impurity_decrease"),
    *("max_features", "max_leaf_nodes", "ccp_alpha", "n_jobs"),
)


@dataclass(frozen=True, eq=False)
class InitialModel:
    """What the rounds start from: a fitted estimator (or "zero"), and the constant scores (k,) or None."""

    estimator: Any
    baseline: Array | None


class GradientModel(TreeAnswers, TreeEnsemble):
    """The fit of the rounds, and the scores that all trees add up to."""

    learning_rate: float = parameter(
        Real(0, closed="left"), default=0.1, doc=r"The factor :math:`\nu` of each tree's values."
    )
    n_estimators: int = parameter(Integer(1), default=100, doc="The number of rounds, M.")
    subsample: float = parameter(
        Real(0, 1, closed="right"),
        default=1.0,
        doc="The share of the rows that a round learns from, drawn anew without replacement.",
    )
    criterion: str = parameter(
        Choice("deprecated", "squared_error", "friedman_mse"),
        default="deprecated",
        doc="Has no effect, as in scikit-learn: splits are always those of least squares.",
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
    max_depth: int | None = parameter(Integer(1) | Nothing(), default=3, doc="Most splits from the root to a leaf.")
    min_impurity_decrease: float = parameter(
        Real(0), default=0.0, doc="Least decrease of impurity by a split, weighted by the node's share of all weight."
    )
    init: Any = parameter(HasFit() | Choice("zero") | Nothing(), default=None)
    random_state: Any = parameter(
        Seed(), default=None, doc="The seed of the rows and features that are drawn, and of the rows held out."
    )
    max_features: Any = parameter(
        Integer(1) | Share(0, 1, "right") | Choice("sqrt", "log2") | Nothing(),
        default=None,
        doc="The number or share of features, drawn at random, among which a node is split; None means all.",
    )
    verbose: int = parameter(Boolean() | Integer(0), default=0, doc="Whether to print a line for each round.")
    max_leaf_nodes: int | None = parameter(
        Integer(2) | Nothing(), default=None, doc="Most leaves of a tree, which then grows best first."
    )
    warm_start: bool = parameter(Boolean(), default=False, doc="Whether a fit adds rounds to those of the last fit.")
    validation_fraction: float = parameter(
        Real(0, 1, closed="neither"), default=0.1, doc="The share of the rows held out for early stopping."
    )
    n_iter_no_change: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="Rounds whose validation loss the next round must improve on at least once, or the fit ends; None holds "
        "out no rows.",
    )
    tol: float = parameter(Real(0), default=1e-4, doc="The least difference that counts as a smaller loss.")
    ccp_alpha: float = parameter(
        Real(0), default=0.0, doc="The price of a leaf in cost-complexity pruning of each tree."
    )
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="Seconds after which the fit ends with the rounds it has."
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    # Parameters of single trees that `read_rules` reads and these ensembles do not have.
    categorical_features: ClassVar[None] = None
    class_weight: ClassVar[None] = None
    monotonic_cst: ClassVar[None] = None
    # The method of the initial estimator that gives the first scores.
    _initial_method: ClassVar[str] = "predict"
    _grows_with: ClassVar[dict[str, int]] = {"n_estimators": 1}
    # All trees, one round's trees after the other.
    _members: list[Any] = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "max_features_": integers(low=1),
        "init_": part("BaseEstimator") | texts(),
        "_random_seed": integers(low=0),
        "_held_losses": floats("*"),
        "n_trees_per_iteration_": size("trees"),
        "_baseline": floats("trees | none"),
        "_loss_used": part("BoostingLoss"),
        "_members": members(part("BaseEstimator")),
        "train_score_": floats("rounds"),
        "n_estimators_": size("rounds"),
        "_oob_scores": floats("rounds"),
        "_oob_gains": floats("rounds"),
        "oob_scores_": floats("rounds"),
        "oob_improvement_": floats("rounds"),
        "oob_score_": floats(),
    }

    def _encode_targets(self, y: Array) -> tuple[Array, dict[str, Any]]:
        """Return the targets as a loss takes them, and the fitted attributes that follow from them."""
        raise NotImplementedError  # each estimator has its own targets

    def _choose_loss(self, n_classes: int) -> BoostingLoss:
        """Return the loss that the parameters name; `n_classes` is 0 for regression."""
        raise NotImplementedError  # each estimator has its own losses

    def _fit_constant(self, X: Array, y: Array, weight: Array | None, baseline: Array) -> Any:
        """Return a fitted scikit-learn estimator that predicts `baseline`."""
        raise NotImplementedError  # each estimator has its own

    def _link(self, predictions: Array, loss: BoostingLoss) -> Array:
        """Return the scores (n, k) of the predictions of an initial estimator."""
        raise NotImplementedError  # each estimator has its own link

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, monitor: Callable[..., Any] | None = None) -> Self:
        """Fit.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels for classification, numbers for regression.
        monitor : callable or None, default=None
            Called after each round with its index, a fitted copy of the model and a dict with the ``state``; True ends
            the fit.
        """
        if self.criterion != "deprecated":
            warnings.warn(
                f"{type(self).__name__}: criterion is deprecated and has no effect; leave it out.",
                FutureWarning,
                stacklevel=4,
            )
        warm = self.warm_start and "_members" in vars(self)
        problem = open_problem(self, X, y, sample_weight)
        # Rows of weight zero are left out: they must change neither the classes nor the split of rows.
        y, known = flatten_targets(problem.y), problem.weight > 0
        X, weight = (problem.X, problem.weight) if known.all() else (problem.X[known], problem.weight[known])
        y, attributes = self._encode_targets(y[known])
        loss = self._choose_loss(attributes.get("n_classes_", 0))

        # A warm start draws what one long fit would have drawn.
        seed = self._random_seed if warm else draw_seed(self.random_state)
        earlier = self._read_earlier_rounds(loss) if warm else GradientState()
        training, held = self._split_rows(y, seed)
        given_weight = weight[training] if sample_weight is not None else None
        if warm:
            init = InitialModel(self.init_, self._baseline)
        else:
            init = self._fit_init(X[training], y[training], given_weight, loss)
        rules = read_rules(self, replace(problem, X=X[training]))
        attributes |= {
            "n_trees_per_iteration_": loss.n_scores,
            "max_features_": rules.max_features,
            "init_": init.estimator,
            "_baseline": init.baseline,
            "_dtype": problem.X.dtype.name,
            "_loss_used": loss,
            "_random_seed": seed,
        }
        fitted = partial(self._list_attributes, attributes=attributes, members=self._members if warm else [])

        def score_rows(chosen: Array) -> ScoredRows:
            return ScoredRows(X[chosen], y[chosen], weight[chosen], self._start_scores(X[chosen], init, loss))

        stopping = None
        if held is not None and self.n_iter_no_change is not None:
            stopping = EarlyStopping(score_rows(held), self.n_iter_no_change, self.tol)
        observe = None if monitor is None else self._make_observer(monitor, attributes, fitted)
        solver = self._make_solver(score_rows(training), loss, rules, seed, stopping, observe)
        outcome = self._drive(
            partial(solver.solve, earlier),
            open_source(problem.X, problem.y, problem.weight, solver.threads),
            fitted=fitted,
            max_steps=self.n_estimators - len(earlier.trees) // loss.n_scores,
            attributes=attributes,
        )
        self._conclude(outcome)
        return self

    def _make_solver(
        self,
        rows: ScoredRows,
        loss: BoostingLoss,
        rules: Rules,
        seed: int,
        stopping: EarlyStopping | None,
        observe: Callable[[int, GradientState], Any] | None,
    ) -> GradientRounds:
        """Return the solver for these training rows."""
        threads, name = self._threads(), type(self).__name__
        return GradientRounds(
            rows,
            lambda: encode_columns(csc_array(rows.X) if is_sparse_matrix(rows.X) else rows.X, threads, name),
            loss,
            TreeSettings(rules, self.max_leaf_nodes, self.ccp_alpha, self.min_weight_fraction_leaf),
            self.n_estimators,
            self.learning_rate,
            self.subsample,
            seed,
            threads,
            stopping,
            observe,
        )

    def _make_observer(
        self, monitor: Callable[..., Any], attributes: dict[str, Any], fitted: Callable[[GradientState], dict[str, Any]]
    ) -> Callable[[int, GradientState], Any]:
        """Return a function of a round's index and state that shows `monitor` the model of that round."""

        def observe(index: int, state: GradientState) -> Any:
            # The monitor gets a copy: what it changes does not reach the fit under way.
            model = copy.copy(self)
            model.__dict__.update(attributes | fitted(state))
            return monitor(index, model, {"state": state})

        return observe

    def _read_earlier_rounds(self, loss: BoostingLoss) -> GradientState:
        """Return the rounds of the last fit, which a warm start continues."""
        n_rounds = len(self._members) // loss.n_scores
        if self.n_estimators < n_rounds:
            raise ParameterError(
                f"{type(self).__name__}: n_estimators={self.n_estimators} must be larger or equal to "
                f"estimators_.shape[0]={n_rounds} when warm_start==True; raise it."
            )
        return GradientState(
            tuple(member.tree_ for member in self._members),
            tuple(self.train_score_.tolist()),
            tuple(self._oob_scores.tolist()),
            tuple(self._oob_gains.tolist()),
            tuple(self._held_losses.tolist()),
        )

    def _split_rows(self, y: Array, seed: int) -> tuple[Array, Array | None]:
        """Return the indices of the training rows, and of the validation rows or None."""
        from sklearn.model_selection import train_test_split

        if self.n_iter_no_change is None:
            return np.arange(len(y)), None
        # Classification keeps the shares of classes in both parts.
        labels = y if self._initial_method == "predict_proba" else None
        options = {"test_size": self.validation_fraction, "stratify": labels, "random_state": seed}
        training, held = train_test_split(np.arange(len(y)), **options)
        if labels is not None and len(np.unique(y[training])) < len(np.unique(y)):
            raise DataError(
                f"{type(self).__name__}: The training data after the early stopping split is missing some classes. "
                f"Try using another random seed, or a smaller validation_fraction than {self.validation_fraction}."
            )
        # Rows keep their order, and so do the sums over them.
        return np.sort(training), np.sort(held)

    def _fit_init(self, X: Array, y: Array, weight: Array | None, loss: BoostingLoss) -> InitialModel:
        """Fit what the rounds start from."""
        name = type(self).__name__
        if self.init == "zero":
            return InitialModel("zero", np.zeros(loss.n_scores))
        if self.init is None:
            baseline = loss.baseline(y, weight)
            return InitialModel(self._fit_constant(X, y, weight, baseline), baseline)
        if not hasattr(self.init, self._initial_method) or isinstance(self.init, type):
            raise ParameterError(
                f"{name}: init must be a model with fit and {self._initial_method}; got {self.init!r}. Give one."
            )
        if weight is not None and not has_fit_parameter(self.init, "sample_weight"):
            raise DataError(
                f"{name}: The initial estimator {type(self.init).__name__} does not support sample weights; fit "
                f"without them, or give another."
            )
        options = {} if weight is None else {"sample_weight": weight}
        return InitialModel(clone(self.init).fit(X, y, **options), None)

    def _start_scores(self, X: Array, init: InitialModel, loss: BoostingLoss) -> Array:
        """Return the scores (n, k) of rows before the first round."""
        if init.baseline is not None:
            return np.tile(init.baseline, (X.shape[0], 1))
        return np.ascontiguousarray(self._link(getattr(init.estimator, self._initial_method)(X), loss))

    def _list_attributes(self, state: GradientState, attributes: dict[str, Any], members: list[Any]) -> dict[str, Any]:
        """Return the fitted attributes that depend on the trees of a state.

        `attributes` are those that do not, and `members` the trees of the fit that this one continues.
        """
        k = attributes["n_trees_per_iteration_"]
        # Trees of earlier rounds keep their estimators.
        members = members[: len(state.trees)]
        members = [
            *members,
            *(
                self._make_member(state.trees[index], index // k, index % k, attributes)
                for index in range(len(members), len(state.trees))
            ),
        ]
        by_state = {
            "_members": members,
            "train_score_": np.array(state.train_scores),
            "n_estimators_": len(members) // k,
            "_oob_scores": np.array(state.oob_scores),
            "_oob_gains": np.array(state.oob_gains),
            "_held_losses": np.array(state.held_losses),
        }
        if self.subsample < 1.0 and state.trees:
            by_state |= {"oob_scores_": by_state["_oob_scores"], "oob_improvement_": by_state["_oob_gains"]}
            by_state["oob_score_"] = float(state.oob_scores[-1])
        return by_state

    def _make_member(self, tree: Any, round_index: int, output: int, attributes: dict[str, Any]) -> Any:
        """Return a fitted tree estimator."""
        parameters = {name: getattr(self, name) for name in _TREE_PARAMETERS}
        seed = make_tree_seed(attributes["_random_seed"], round_index, output)
        member = DecisionTreeRegressor(criterion="friedman_mse", random_state=seed, **parameters)
        member.__dict__.update(
            tree_=tree,
            n_features_in_=self.n_features_in_,
            n_outputs_=1,
            max_features_=attributes["max_features_"],
            _n_classes=np.ones(1, np.int64),
            _dtype=attributes["_dtype"],
        )
        return member

    @property  # type: ignore[misc]
    def estimators_(self) -> Array:  # type: ignore[override]
        """The trees, of shape (n_estimators_, n_trees_per_iteration_)."""
        members = np.empty(len(self._members), dtype=object)
        members[:] = self._members
        return members.reshape(-1, self.n_trees_per_iteration_)

    def _tree_sum(self) -> TreeSum:
        """Return the trees as what the scores are a sum of; rows that start from a fitted model have no such sum."""
        packed = self._pack()
        if self._baseline is None:
            raise UnsupportedError(
                f"{type(self).__name__}: the scores start from {self.init_!r}, which is no constant. Set init=None."
            )
        scaled = replace(packed, values=packed.values * self.learning_rate)
        weights = np.concatenate([member.tree_.weighted_n_node_samples for member in self._members])
        return TreeSum(scaled, weights, np.asarray(self._baseline, np.float64), self._read_values)

    def _score_rows(self, X: Any) -> Array:
        """Return the scores (n, k), in the precision of the fit."""
        rows = self._check_rows(X)
        scores = self._start_scores(rows, InitialModel(self.init_, self._baseline), self._loss_used)
        scores += self.learning_rate * self._pack().sum_leaves(rows, self._threads)
        return scores.astype(self._dtype, copy=False)

    def _stage_scores(self, X: Any) -> Iterator[Array]:
        """Yield the scores (n, k) after each round."""
        check_is_fitted(self)
        rows, k = self._check_rows(X), self.n_trees_per_iteration_
        scores = self._start_scores(rows, InitialModel(self.init_, self._baseline), self._loss_used)
        for index, member in enumerate(self._members):
            leaves = member.tree_.apply(rows, self._threads())
            scores[:, index % k] += self.learning_rate * member.tree_.value[leaves, 0, 0]
            if index % k == k - 1:
                yield scores.astype(self._dtype, copy=True)

    def _find_leaves(self, X: Any) -> Array:
        """Return the leaf of each row in each tree (n, rounds, k)."""
        rows = self._check_rows(X)
        check_is_fitted(self)
        leaves = self._pack().find_leaves(rows, self._threads())
        return leaves.reshape(len(leaves), -1, self.n_trees_per_iteration_)

    @property
    def feature_importances_(self) -> Array:
        """The share of each feature in the decrease of the squared error of the gradients by all splits."""
        check_is_fitted(self)
        trees = [member.tree_ for member in self._members if member.tree_.node_count > 1]
        if not trees:
            return np.zeros(self.n_features_in_)
        mean = np.mean([tree.compute_feature_importances(False) for tree in trees], axis=0)
        return mean / mean.sum()
