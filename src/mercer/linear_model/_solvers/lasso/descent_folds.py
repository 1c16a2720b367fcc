"""Cross-validation of the lasso and the elastic net: the folds walk down the path side by side, penalty by penalty.

The model of all rows follows one penalty behind, to those penalties only that have the least error so far, so that at
every step there is a model to keep.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.relay import answer_requests
from mercer._solver.step import Certificate, Solution, Step
from mercer._source import Source
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.linear_model._solvers.lasso.coordinate_descent import (
    STATEMENT,
    DescentPlan,
    check_sums,
    follow,
    open_problems,
)
from mercer.linear_model._solvers.lasso.fold_moments import FoldMoments


@dataclass(frozen=True, eq=False)
class Together:
    """A request: run several generators, one on each thread; the answer is what they return."""

    asking: Sequence[Generator[Any, Any, Any]]

    def answer(self, source: Source) -> list[Any]:
        results: list[Any] = []
        run_numbered(
            lambda number: answer_requests(self.asking[number], source),
            len(self.asking),
            source.threads,
            results.append,
        )
        return results


@plain
@dataclass(frozen=True, eq=False)
class FoldsState:
    """The model of all rows, the errors of the folds so far, and the position of every problem."""

    coef: Array
    intercept: Array
    gap: float
    sweeps: int
    goal: float
    method: str
    chosen: int
    best: int
    alphas: Array
    errors: Array
    n_done: int
    met: bool
    coefs: tuple[Array, ...]
    records: tuple[tuple[Array, ...], ...]
    drawn: tuple[int, ...]


def cross_validate(
    plan: DescentPlan,
    splits: list[tuple[Array, Array]],
    ratios: Array,
    grids: Callable[[Any], Array],
    start: FoldsState | None,
) -> Solver:
    """Fit all rows at the penalty with the least mean error over the folds.

    Parameters
    ----------
    plan : DescentPlan
    splits : list of pairs of ndarray
        The rows of each fold to train and to test on.
    ratios : ndarray of shape (n_ratios,)
        The shares of the l1 part to try.
    grids : callable
        From the moments of all rows to the penalties to try, falling, (n_ratios, n_alphas).
    start : FoldsState or None
        A state of an earlier run.
    """
    folds, everything = yield FoldMoments(splits, plan.centre, plan.on_gram, plan.subject)
    moments = [*(fold.moments for fold in folds), everything]
    for sums in moments:
        check_sums(plan.subject, sums)
    # On the scatter weights are in the moments; on columns each fold masks its test rows by weights of zero.
    weights = None if plan.on_gram else [*(fold.weight for fold in folds), (yield Weights())]
    problems = yield from open_problems(plan, moments, [0] * len(moments), weights)
    walk = _Walk(plan, folds, moments, problems, ratios)
    if start is None:
        alphas = grids(everything)
        state = yield from walk.begin(alphas)
    else:
        state = yield from walk.resume(start)
    while state.n_done < state.errors.shape[0] * state.errors.shape[1]:
        state = yield from walk.advance(state)
        yield Step(float(walk.mean(state, state.n_done - 1)), state, walk.certificate(state))
    # The model of all rows may still be one penalty behind the best error.
    if state.chosen != state.best:
        yield Together([walk.whole(state, state.best)])
        state = walk.with_model(state, state.best)
        yield Step(float(walk.mean(state, state.best)), state, walk.certificate(state))
    certificate = walk.certificate(state)
    return Solution(state, state.met and certificate.satisfied, certificate)


@dataclass(frozen=True)
class Weights:
    """A request: the weights of rows in memory."""

    def answer(self, source: Source) -> Array | None:
        return source.weight


class _Walk:
    """The problems of the folds, and last that of all rows, on their way down the path."""

    def __init__(self, plan: DescentPlan, folds: list[Any], moments: list[Any], problems: list[Any], ratios: Array):
        self.plan, self.folds, self.moments, self.problems, self.ratios = plan, folds, moments, problems, ratios
        self.goals = [plan.tol * float(sums.y_scatter[0]) for sums in moments]

    def begin(self, alphas: Array) -> Generator[Any, Any, FoldsState]:
        # NaN marks an error that is not known yet.
        errors = np.full((*alphas.shape, len(self.folds)), np.nan)
        nothing = np.zeros((len(self.moments[-1].mean), 1))
        goal = self.goals[-1] / self.moments[-1].weight
        state = FoldsState(
            nothing, self.moments[-1].y_mean, 0.0, 0, goal, self.problems[-1].method, 0, 0, alphas, errors, 0, True,
            (), (), (),
        )  # fmt: skip
        yield Together([self.whole(state, 0)])
        return self.with_model(state, 0)

    def resume(self, state: FoldsState) -> Generator[Any, Any, FoldsState]:
        for problem, coef, record, drawn in zip(self.problems, state.coefs, state.records, state.drawn, strict=True):
            yield from problem.restore(*record)
            yield from problem.start(coef)
            problem.orders.n_drawn = drawn
        return state

    def advance(self, state: FoldsState) -> Generator[Any, Any, FoldsState]:
        """Move every fold one penalty further, and the model of all rows if it lags behind."""
        asking = [self._fold(state, number) for number in range(len(self.folds))]
        # The fit of all rows goes beside the folds, on a thread of its own: it needs the errors of the last step only.
        lags = state.chosen != state.best
        results = yield Together([*asking, *([self.whole(state, state.best)] if lags else [])])
        if lags:
            state = self.with_model(state, state.best)
        errors = state.errors.copy()
        place = np.unravel_index(state.n_done, errors.shape[:2])
        errors[place] = [error for error, _ in results[: len(self.folds)]]
        # Strictly less: among equal errors the larger penalty, which came first, is kept.
        better = state.n_done == 0 or errors[place].mean() < self.mean(state, state.best)
        met = state.met and all(met for _, met in results[: len(self.folds)])
        best = state.n_done if better else state.best
        return self._note(replace(state, errors=errors, n_done=state.n_done + 1, best=best, met=met))

    def whole(self, state: FoldsState, number: int) -> Generator[Any, Any, None]:
        """Fit all rows at a penalty."""
        problem, price = self.problems[-1], self._price(state, number, -1)
        problem.total_sweeps = yield from follow(problem, price, self.goals[-1], self.plan.tol, self.plan.max_iter)

    def with_model(self, state: FoldsState, number: int) -> FoldsState:
        """Return the state with the present model of all rows, for a penalty."""
        problem, moments = self.problems[-1], self.moments[-1]
        coef, settled = problem.coef[:, None], problem.settled
        state = replace(
            state, coef=coef, intercept=moments.y_mean - moments.mean @ coef, gap=problem.gap / moments.weight,
            sweeps=problem.total_sweeps, chosen=number, met=state.met and settled,
        )  # fmt: skip
        return self._note(state)

    def mean(self, state: FoldsState, number: int) -> float:
        """Return the mean error over the folds at a penalty."""
        return state.errors[np.unravel_index(number, state.errors.shape[:2])].mean()

    def certificate(self, state: FoldsState) -> Certificate:
        return Certificate.of("duality gap", state.gap, state.goal, STATEMENT)

    def _fold(self, state: FoldsState, number: int) -> Generator[Any, Any, tuple[float, bool]]:
        """Take a fold to the next penalty: its error there, and whether it arrived."""
        problem, price, goal = self.problems[number], self._price(state, state.n_done, number), self.goals[number]
        # A new share of the l1 part begins its path at the largest penalty, where all coefficients are zero.
        if state.n_done % state.errors.shape[1] == 0:
            yield from problem.start(np.zeros(len(state.coef)))
        yield from follow(problem, price, goal, self.plan.tol, self.plan.max_iter)
        return self.folds[number].error(problem.coef), problem.settled and problem.gap <= goal

    def _price(self, state: FoldsState, number: int, problem: int) -> Any:
        ratio, alpha = np.unravel_index(number, state.errors.shape[:2])
        total = self.moments[problem].weight
        return self.plan.price(float(state.alphas[ratio, alpha]), float(self.ratios[ratio]), total)

    def _note(self, state: FoldsState) -> FoldsState:
        """Return the state with the position of every problem."""
        problems = self.problems
        return replace(
            state, coefs=tuple(problem.coef for problem in problems),
            records=tuple(problem.record() for problem in problems),
            drawn=tuple(problem.orders.n_drawn for problem in problems),
        )  # fmt: skip
