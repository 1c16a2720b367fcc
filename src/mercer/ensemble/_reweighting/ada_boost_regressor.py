"""AdaBoost.R2: boosting for regression, which predicts the weighted median of its members."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.parameter import Boolean, Choice, HasFit, Integer, Nothing, Real, Seed, parameter
from mercer._base.scoring import RegressorMixin
from mercer._base.validation import check_targets, check_weight, flatten_targets
from mercer._base.wrapping import check_member_rows, check_member_table, check_wrapped_place
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._stored import Stored, floats
from mercer.ensemble._reweighting.weak_learner import (
    WeightedMembers,
    check_takes_weights,
    fit_member,
    make_driver_source,
)
from mercer.tree import DecisionTreeRegressor

_NO_BOUND = Certificate.none(
    "Nothing bounds the distance from the best vote: AdaBoost.R2 does not descend an objective."
)
# From absolute residuals, as shares of the largest, to losses in [0, 1].
_LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda gap: gap,
    "square": lambda gap: gap**2,
    "exponential": lambda gap: 1.0 - np.exp(-gap),
}


@plain
@dataclass(frozen=True)
class MedianState:
    """The members so far, with their weights and errors, and the weights of the rows for the next round."""

    members: Any
    weights: Any
    errors: Any
    row_weight: Any
    ended: bool = False


@dataclass(frozen=True, eq=False)
class MedianRounds:
    """The solver: ``learn(weight, index)`` returns the member of a round and its predictions of the training rows."""

    y: np.ndarray
    row_weight: np.ndarray
    n_rounds: int
    learning_rate: float
    loss: str
    learn: Callable[[np.ndarray, int], tuple[Any, np.ndarray]]

    def solve(self, state: MedianState | None) -> Solver:
        """Add members until all rounds are done, one makes no error, or the mean loss of one reaches one half."""
        state = MedianState((), (), (), self.row_weight / self.row_weight.sum()) if state is None else state
        while not state.ended and len(state.members) < self.n_rounds:
            member, predicted = yield Dense(partial(self.learn, state.row_weight, len(state.members)))
            added = self._add(state, member, predicted)
            if added is None:
                break
            state = added
            yield Step(state.errors[-1], state, _NO_BOUND, {"member_weight": state.weights[-1]})
        return Solution(state, True, _NO_BOUND)

    def _add(self, state: MedianState, member: Any, predicted: np.ndarray) -> MedianState | None:
        """Return the state after one more member, or None if its mean loss is too large."""
        # Rows of weight zero must not set the largest residual, which scales all losses.
        gap = np.where(state.row_weight > 0, np.abs(predicted - self.y), 0.0)
        largest = gap.max()
        loss = _LOSSES[self.loss](gap / largest) if largest > 0 else gap
        error = float(state.row_weight @ loss)
        if error >= 0.5 and state.members:
            return None
        members, errors = (*state.members, member), (*state.errors, error)
        # log(1 / beta) would be infinite or not positive: such a member has the weight one and ends the rounds.
        if error <= 0 or error >= 0.5:
            return replace(state, members=members, weights=(*state.weights, 1.0), errors=errors, ended=True)
        # 0 < beta < 1: rows with a small loss lose weight, those with loss one keep it (Drucker, 1997).
        beta = error / (1.0 - error)
        weight = state.row_weight * beta ** ((1.0 - loss) * self.learning_rate)
        weights = (*state.weights, self.learning_rate * math.log(1.0 / beta))
        return MedianState(members, weights, errors, weight / weight.sum())


class AdaBoostRegressor(WeightedMembers, RegressorMixin, LimitedEstimator):
    r"""AdaBoost.R2: the weighted median of regressors, each learnt where its predecessors are far off.

    Each round fits a member h to rows drawn by their weights :math:`d_i`, takes the losses
    :math:`L_i = L(|h(x_i) - y_i| / \max_j |h(x_j) - y_j|)` in [0, 1], their mean
    :math:`\epsilon = \sum_i d_i L_i` and :math:`\beta = \epsilon / (1 - \epsilon)`, multiplies the weights by
    :math:`\beta^{\nu (1 - L_i)}` and normalises them. The prediction is the median of the members with the weights
    :math:`\nu \log (1 / \beta)`.

    Attributes
    ----------
    estimator_ : estimator
        The estimator whose copies are the members.
    estimators_ : list of estimators
        The members.
    estimator_weights_, estimator_errors_ : ndarray of shape (n_members,)
        Their weights, and :math:`\epsilon`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The members' importances, averaged with their weights.
    history_, converged_, n_iter_, certificate_ :
        A step for each round: ``objective`` is :math:`\epsilon`, which need not fall. There is no certificate.

    Notes
    -----
    A round costs what a member costs. Boosting stops when a member has no loss, or a mean loss of one half or more;
    such a member is kept only if it is the first. Rows must be in memory.

    References
    ----------
    H. Drucker, *Improving regressors using boosting techniques*, ICML (1997).

    Examples
    --------
    >>> from mercer.ensemble import AdaBoostRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.35
    True
    """

    estimator: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        kw_only=False,
        doc="The estimator whose copies are the members. None means :class:`mercer.tree.DecisionTreeRegressor` of "
        "depth 3.",
    )
    n_estimators: int = parameter(Integer(1), default=50, doc="Most members.")
    learning_rate: float = parameter(Real(0, closed="neither"), default=1.0, doc=r":math:`\nu`.")
    loss: str = parameter(
        Choice("linear", "square", "exponential"),
        default="linear",
        doc=":math:`L(u)`: u, :math:`u^2` or :math:`1 - e^{-u}`.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="The seed of the draws, and of members that take one.")
    resample: bool = parameter(
        Boolean(),
        default=True,
        doc="Whether members see rows drawn with replacement by their weights, as scikit-learn does; otherwise they "
        "are given the weights.",
    )

    _documents = {
        "max_time": "Seconds after which to stop with the members fitted so far.",
        "n_jobs": "Threads of the default member. Changes no result.",
    }

    _objective_moves = None
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "each member is fitted to rows that were drawn, which are a copy",
        "row order": "rows are drawn by their numbers: equal in distribution only",
        "weights": "rows are drawn by their weights: equal to repetitions in distribution only",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "estimator_errors_": floats("members"),
    }
    _takes_sparse = True

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "AdaBoostRegressor":
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights to start from.
        """
        check_wrapped_place(self, X, y)
        base = self._make_base()
        rows, y = check_member_table(self, base, X, y, numbers=True)
        y = check_targets(self, flatten_targets(y), numbers=True)
        weight = check_weight(self, sample_weight, len(y))
        if not self.resample:
            check_takes_weights(type(self).__name__, base, "Set resample=True.")
        seeds = seed_sequence(self.random_state)

        def learn(weight: np.ndarray, index: int) -> tuple[Any, np.ndarray]:
            seed = np.random.SeedSequence(seeds.entropy, spawn_key=(index,))
            member = fit_member(base, rows, y, weight, seed, self.resample)
            return member, np.asarray(member.predict(rows), dtype=np.float64)

        source = make_driver_source(rows, y, weight, self._threads())
        start = np.ones(len(y)) if weight is None else weight
        solver = MedianRounds(y, start, self.n_estimators, self.learning_rate, self.loss, learn)
        outcome = self._drive(solver.solve, source, max_steps=self.n_estimators, attributes={"estimator_": base})
        self._conclude(outcome)
        return self

    def _make_base(self) -> Any:
        """Return the estimator whose copies are the members."""
        return DecisionTreeRegressor(max_depth=3, n_jobs=self.n_jobs) if self.estimator is None else self.estimator

    def _fitted(self, state: MedianState) -> dict[str, Any]:
        return {
            "estimators_": list(state.members),
            "estimator_weights_": np.array(state.weights, dtype=np.float64),
            "estimator_errors_": np.array(state.errors, dtype=np.float64),
        }

    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted median of the members' predictions."""
        return self._find_median(self._predict_members(X), len(self.estimators_))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""
        predictions = self._predict_members(X)
        for n_members in range(1, len(self.estimators_) + 1):
            yield self._find_median(predictions, n_members)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the coefficient of determination after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights.

        Yields
        ------
        float
        """
        from sklearn.metrics import r2_score

        for predicted in self.staged_predict(X):
            yield r2_score(y, predicted, sample_weight=sample_weight)

    def _predict_members(self, X: Any) -> np.ndarray:
        """Return the predictions of all members (n, members)."""
        check_is_fitted(self)
        rows = check_member_rows(self, self.estimator_, X)
        predictions = np.column_stack([member.predict(rows) for member in self.estimators_])
        return predictions.astype(np.float32) if getattr(rows, "dtype", None) == np.float32 else predictions

    def _find_median(self, predictions: np.ndarray, n_members: int) -> np.ndarray:
        """Return the weighted median of the first members' predictions of each row."""
        order = np.argsort(predictions[:, :n_members], axis=1, kind="stable")
        running = np.cumsum(self.estimator_weights_[:n_members][order], axis=1)
        # The first prediction, in ascending order, at which the members up to it have half of the weight.
        middle = (running >= 0.5 * running[:, -1:]).argmax(axis=1)
        rows = np.arange(len(predictions))
        return predictions[rows, order[rows, middle]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = self._make_base()
        tags.input_tags.allow_nan = isinstance(base, BaseEstimator) and get_tags(base).input_tags.allow_nan
        return tags
