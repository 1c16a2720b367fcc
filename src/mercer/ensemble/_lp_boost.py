"""LPBoost: the vote of stumps with the largest margin, by column generation."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator, fitting
from mercer._base.parameter import Integer, Nothing, Real, Rule
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer.ensemble._boosted_votes import BoostedVotes, StumpVotes
from mercer.ensemble._boosting import Answers, vote_table
from mercer.ensemble._margin_program import maximize_margin
from mercer.ensemble._weak_learner import StumpLearner
from mercer.tree import DecisionStump
from mercer.tree._stump import open_table, stump_of
from mercer.tree._stump_search import sort_columns

__all__ = ["LPBoostClassifier"]

_STATEMENT = "No stump has an edge that exceeds the objective by more: the margin over all stumps is this near."


@plain
@dataclass(frozen=True)
class ColumnState:
    """Stumps so far, their agreement with the labels, their weights, and the dual distribution over rows."""

    members: Any
    agreement: Any
    weights: Any
    row_weight: Any
    objective: float
    gap: float


@dataclass(frozen=True, eq=False)
class ColumnGeneration:
    """The solver: add the stump of largest edge under the dual distribution, solve the program again."""

    learn: Callable[[np.ndarray, int], tuple[Any, Answers]]
    labels: np.ndarray
    n_classes: int
    row_weight: np.ndarray
    n_rounds: int
    nu: float | None
    tol: float

    def solve(self, state: ColumnState | None) -> Solver:
        """Stop when no stump's edge exceeds the objective by more than the tolerance."""
        n = len(self.labels)
        share = self.row_weight / self.row_weight.sum()
        if state is None:
            state = ColumnState((), np.empty((n, 0)), np.empty(0), share, -1.0, np.inf)
        while state.gap > self.tol and len(state.members) < self.n_rounds:
            state = yield Dense(partial(self._next, state, share), heavy=True)
            certificate = Certificate.of("duality gap", state.gap, self.tol, _STATEMENT)
            yield Step(state.objective, state, certificate, {"gap": state.gap})
        converged = bool(state.gap <= self.tol)
        return Solution(state, converged, Certificate.of("duality gap", state.gap, self.tol, _STATEMENT))

    def _next(self, state: ColumnState, share: np.ndarray) -> ColumnState:
        if not state.members:
            state = self._added(state, *self._answers(state))
        found = maximize_margin(state.agreement, nu=self.nu, sample_weight=share)
        state = ColumnState(state.members, state.agreement, found.weights, found.row_weight, found.objective, np.inf)
        member, column = self._answers(state)
        gap = max(float(column @ state.row_weight) - state.objective, 0.0)
        last = gap <= self.tol or len(state.members) == self.n_rounds
        grown = state if last else self._added(state, member, column)
        weights = np.concatenate([found.weights, np.zeros(len(grown.members) - len(found.weights))])
        return ColumnState(grown.members, grown.agreement, weights, state.row_weight, state.objective, gap)

    def _answers(self, state: ColumnState) -> tuple[Any, np.ndarray]:
        member, answers = self.learn(state.row_weight, len(state.members))
        right = answers.table.argmax(axis=1)[answers.index] == self.labels
        return member, np.where(right, 1.0, -1.0 / max(self.n_classes - 1, 1))

    @staticmethod
    def _added(state: ColumnState, member: Any, column: np.ndarray) -> ColumnState:
        agreement = np.column_stack([state.agreement, column])
        weights = np.concatenate([state.weights, [0.0]])
        return ColumnState((*state.members, member), agreement, weights, state.row_weight, state.objective, state.gap)


class LPBoostClassifier(BoostedVotes, Estimator):
    r"""LPBoost: the vote of stumps that maximises the margin, as a linear program.

    .. math:: \max_{\alpha, \rho, \xi} \; \rho - \frac{1}{\nu} \sum_i w_i \xi_i \quad \text{subject to} \quad
              \sum_t \alpha_t m_t(x_i) \ge \rho - \xi_i , \; \alpha \ge 0, \; \sum_t \alpha_t = 1

    over all stumps :math:`h_t`, where :math:`m_t(x_i)` is 1 if h is right for row i and :math:`-1/(K-1)` if it is wrong
    among K classes, and w are the rows' shares of the weight. Stumps are found one at a time: the next is the one of
    largest edge under the dual distribution over rows, until none has an edge above the objective.

    Parameters
    ----------
    nu : a number in (0, 1] or None, default=0.1
        The largest share of rows that may fall short of the margin: the soft margin. None allows none, which only
        clean labels deserve.
    n_estimators : an integer in [1, inf), default=50
        The most stumps.
    tol : a number in [0, inf), default=1e-06
        The duality gap at which to stop.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which to stop with what is found.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads of the search for stumps. Changes no result.

    Attributes
    ----------
    estimators_ : list of DecisionStump
        The stumps with a share in the vote.
    estimator_weights_ : ndarray of shape (n_members,)
        :math:`\alpha`, which sums to one.
    row_weight_ : ndarray of shape (n_samples,)
        The dual distribution: the rows that hold the margin down.
    classes_, n_classes_ : ndarray of shape (n_classes,), int
        The labels, and how many there are.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Shares of the columns in the vote.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.
    history_ : dict of ndarray
        A step for each program: ``objective``, which rises, and ``gap``.
    converged_, n_iter_, certificate_ :
        How the fit went. The certificate is the duality gap: the largest edge of any stump less the objective.

    Notes
    -----
    Each step solves a linear program of n rows and t columns (HiGHS) and reads each value once. Memory 40 n t bytes.
    The optimum is a vote of few stumps. Rows must be in memory.

    References
    ----------
    A. Demiriz, K. Bennett and J. Shawe-Taylor, *Linear programming boosting via column generation*, Machine Learning
    46 (2002).

    Examples
    --------
    >>> from mercer.ensemble import LPBoostClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(n_estimators=40).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.93
    True
    """

    _parameters: ClassVar[dict[str, Rule]] = {
        "nu": Real(0, 1, closed="right") | Nothing(),
        "n_estimators": Integer(1),
        "tol": Real(0),
        "max_time": Real(0) | Nothing(),
        "n_jobs": Integer() | Nothing(),
    }
    _objective_moves = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "columns are sorted, and each stump's answers are kept",
        "row order": "a linear program may have many best votes; which is found depends on the order of the rows",
        "weights": "a linear program may have many best votes; which is found depends on how rows are counted",
    }

    algorithm = "SAMME"

    def __init__(
        self,
        *,
        nu: float | None = 0.1,
        n_estimators: int = 50,
        tol: float = 1e-6,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.nu = nu
        self.n_estimators = n_estimators
        self.tol = tol
        self.max_time = max_time
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LPBoostClassifier":
        """Find the vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN where values are missing.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.

        Returns
        -------
        self : LPBoostClassifier
        """
        source = open_table(self, X, y, sample_weight)
        self.classes_, labels = np.unique(source.y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        weight = np.ones(source.n_rows) if source.weight is None else source.weight
        columns = sort_columns(type(self).__name__, source.whole(), source.weight, source.threads)
        learner = StumpLearner(columns, labels.astype(np.int32), self.n_classes_, "error")
        solver = ColumnGeneration(learner.learn, labels, self.n_classes_, weight, self.n_estimators, self.nu, self.tol)
        outcome = self._drive(solver.solve, source, max_steps=self.n_estimators)
        self._conclude(outcome, "raise n_estimators or tol")
        return self

    def _fitted(self, state: ColumnState) -> dict[str, Any]:
        used = np.flatnonzero(state.weights > 0)
        stumps, sizes = [state.members[one] for one in used], state.weights[used]
        votes = [vote_table(one.shares, size, "SAMME") for one, size in zip(stumps, sizes, strict=True)]
        return {
            "estimator_": DecisionStump(criterion="error", n_jobs=self.n_jobs),
            "estimators_": [stump_of(one, "error", self.classes_, self.n_features_in_) for one in stumps],
            "estimator_weights_": sizes,
            "row_weight_": state.row_weight,
            "_packed": StumpVotes.of(stumps, votes),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags
