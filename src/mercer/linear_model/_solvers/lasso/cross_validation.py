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
from mercer._source import Source, open_source
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._statistic import Moments, MomentSums
from mercer._types import Array
from mercer.errors import DataError
from mercer.linear_model._solvers.lasso.coordinate_descent import (
    STATEMENT,
    DescentPlan,
    check_sums,
    open_problems,
    solve_problem,
)
from mercer.linear_model._solvers.lasso.gram_descent import Penalty


@dataclass(frozen=True, eq=False)
class Fold:
    """Moments of the training rows, their weights if rows are masked rather than cut, and the test rows."""

    moments: MomentSums
    weight: Array | None
    test: Any

    def error(self, w: Array) -> float:
        """Return the weighted mean squared error of coefficients on the test rows."""
        intercept = float(self.moments.y_mean[0] - self.moments.mean @ w)
        return self.test.error(w, intercept)

    def error_of_all(self, W: Array) -> float:
        """Return the error of coefficients (columns, targets), the mean over the targets."""
        return self.test.error_of_all(W, self.moments.y_mean - self.moments.mean @ W)

    def errors(self, W: Array) -> Array:
        """Return the weighted mean squared errors of several models, one in each row of `W`, on the test rows."""
        return self.test.errors(W, self.moments.y_mean[0] - W @ self.moments.mean)


@dataclass(frozen=True, eq=False)
class SummedRows:
    """The moments of the test rows, which suffice for their squared error."""

    moments: MomentSums

    def error(self, w: Array, intercept: float) -> float:
        sums = self.moments
        # |y - X w|^2 of centred data, plus the error of the means.
        spread = sums.y_scatter[0] - w @ (2.0 * sums.cross[:, 0] - sums.scatter @ w)
        miss = sums.y_mean[0] - sums.mean @ w - intercept
        return max(0.0, float(spread)) / sums.weight + float(miss) ** 2

    def errors(self, W: Array, intercepts: Array) -> Array:
        sums = self.moments
        spread = sums.y_scatter[0] - np.sum(W * (2.0 * sums.cross[:, 0] - W @ sums.scatter), axis=1)
        miss = sums.y_mean[0] - W @ sums.mean - intercepts
        return np.maximum(0.0, spread) / sums.weight + miss**2


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Test rows, by index; sparse ones are copied once."""

    X: Any
    y: Array
    weight: Array | None
    rows: Array

    def error(self, w: Array, intercept: float) -> float:
        used = np.flatnonzero(w)
        fitted = self.X @ w if is_sparse_matrix(self.X) else self.X[self.rows[:, None], used] @ w[used]
        squares = (self.y - fitted - intercept) ** 2
        return float(np.average(squares, weights=self.weight))

    def error_of_all(self, W: Array, intercepts: Array) -> float:
        """Return the mean error over the targets; `W` is (columns, targets)."""
        used = np.flatnonzero(W.any(axis=1))
        rows = self.X[:, used] if is_sparse_matrix(self.X) else self.X[self.rows[:, None], used]
        squares = (self.y - rows @ W[used] - intercepts) ** 2
        return float(np.mean(np.average(squares, axis=0, weights=self.weight)))

    def errors(self, W: Array, intercepts: Array) -> Array:
        used = np.flatnonzero(W.any(axis=0))
        rows = self.X[:, used] if is_sparse_matrix(self.X) else self.X[self.rows[:, None], used]
        squares = (self.y[:, None] - rows @ W[:, used].T - intercepts) ** 2
        return np.average(squares, axis=0, weights=self.weight)


class SummedFolds:
    """The errors of several targets on the test rows of all folds at once, from their moments."""

    def __init__(self, folds: list[Fold]) -> None:
        tests = [fold.test.moments for fold in folds]
        self.scatter = np.stack([sums.scatter for sums in tests])
        self.cross = np.stack([2.0 * sums.cross for sums in tests])
        self.squares = np.stack([sums.y_scatter for sums in tests])
        self.weight = np.array([sums.weight for sums in tests])
        # Test rows less training rows: what the intercepts, which the training rows give, leave of the means.
        self.mean = np.stack([fold.test.moments.mean - fold.moments.mean for fold in folds])[:, None]
        self.y_mean = np.stack([fold.test.moments.y_mean - fold.moments.y_mean for fold in folds])

    def errors(self, W: Array) -> Array:
        """Return the mean error over the targets for each fold; `W` is (folds, columns, targets)."""
        spread = self.squares - np.add.reduce(W * (self.cross - self.scatter @ W), axis=1)
        miss = self.y_mean - (self.mean @ W)[:, 0]
        squares = np.maximum(0.0, spread) / self.weight[:, None] + miss * miss
        return np.add.reduce(squares, axis=1) / squares.shape[1]


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """A request: the folds, and last the moments of all rows.

    With `whole` moments, each row is summed up once where every row is tested once: the rows of a fold to train on are
    those of all other folds, and moments add up.
    """

    splits: list[tuple[Array, Array]]
    centre: bool
    whole: bool
    subject: str

    def answer(self, source: Source) -> tuple[list[Fold], MomentSums]:
        for train, test in self.splits:
            if source.weight is not None and not (source.weight[train].any() and source.weight[test].any()):
                raise DataError(
                    f"{self.subject}: every fold needs rows of positive weight to train and to test on; got none."
                )
        if not self.whole:
            # Columns are kept whole; folds differ by weights.
            return [self._mask(source, *split) for split in self.splits], self._sum_rows(source, None)
        tests = [self._sum_rows(source, test) for _, test in self.splits]
        # Every row is tested once: the training sums are sums of the other folds.
        if self._is_partition(source.n_rows):
            # Sums of the other folds, never the total less one fold: a difference would cancel.
            trains = [_total([*tests[:k], *tests[k + 1 :]]) for k in range(len(tests))]
            everything = _total(tests)
        else:
            trains = [self._sum_rows(source, train) for train, _ in self.splits]
            everything = self._sum_rows(source, None)
        folds = [Fold(train, None, SummedRows(test)) for train, test in zip(trains, tests, strict=True)]
        return folds, everything

    def _is_partition(self, n_rows: int) -> bool:
        counts = np.bincount(np.concatenate([test for _, test in self.splits]), minlength=n_rows)
        sizes = all(len(train) + len(test) == n_rows for train, test in self.splits)
        return (
            len(self.splits) > 1
            and sizes
            and bool((counts == 1).all())
            and all(not np.isin(test, train).any() for train, test in self.splits)
        )

    def _sum_rows(self, source: Source, rows: Array | None) -> MomentSums:
        if rows is not None:
            weight = None if source.weight is None else source.weight[rows]
            source = open_source(_rows(source.whole(), rows), source.y[rows], weight, source.threads)
        sums = source.reduce(Moments(self.centre, diagonal=not self.whole))
        return MomentSums(sums.weight, sums.mean, sums.scatter, sums.y_mean, sums.cross, sums.y_scatter)

    def _mask(self, source: Source, train: Array, test: Array) -> Fold:
        X, own = source.whole(), source.weight
        # Rows left out weigh nothing, and rows drawn twice weigh double: no fold copies the rows.
        weight = np.bincount(train, minlength=source.n_rows).astype(np.float64)
        weight = weight if own is None else weight * own
        sums = self._sum_rows(open_source(X, source.y, weight, source.threads), None)
        rows = X[test] if is_sparse_matrix(X) else X
        return Fold(sums, weight, ChosenRows(rows, source.y[test], None if own is None else own[test], test))


def _rows(X: Any, rows: Array) -> Any:
    """Return rows by index; consecutive ones without a copy."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (np.diff(rows) == 1).all():
        return X[rows[0] : rows[-1] + 1]
    return X[rows]


def _total(parts: list[MomentSums]) -> MomentSums:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


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
        self.summed = SummedFolds(folds) if plan.joint and plan.on_gram else None
        self.goals = [plan.tol * float(sums.y_scatter.sum()) for sums in moments]

    def begin(self, alphas: Array) -> Generator[Any, Any, FoldsState]:
        # NaN marks an error that is not known yet.
        errors = np.full((*alphas.shape, len(self.folds)), np.nan)
        nothing = np.zeros(self.moments[-1].cross.shape)
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
            state = self.with_model(state, state.best, note=False)
        errors = state.errors.copy()
        place = divmod(state.n_done, errors.shape[1])
        if self.summed is None:
            errors[place] = [error for error, _ in results[: len(self.folds)]]
        else:
            errors[place] = self.summed.errors(np.stack([problem.coef for problem in self.problems[:-1]]))
        # Strictly less: among equal errors the larger penalty, which came first, is kept.
        better = state.n_done == 0 or errors[place].mean() < self.mean(state, state.best)
        met = state.met and all(met for _, met in results[: len(self.folds)])
        best = state.n_done if better else state.best
        return self._note(replace(state, errors=errors, n_done=state.n_done + 1, best=best, met=met))

    def whole(self, state: FoldsState, number: int) -> Generator[Any, Any, None]:
        """Fit all rows at a penalty."""
        problem, penalty = self.problems[-1], self._penalty(state, number, -1)
        problem.total_sweeps = yield from solve_problem(
            problem, penalty, self.goals[-1], self.plan.tol, self.plan.max_iter
        )

    def with_model(self, state: FoldsState, number: int, note: bool = True) -> FoldsState:
        """Return the state with the present model of all rows, for a penalty; `note` the position of the problems."""
        problem, moments = self.problems[-1], self.moments[-1]
        coef, settled = problem.coef, problem.settled
        coef = coef if coef.ndim == 2 else coef[:, None]
        state = replace(
            state, coef=coef, intercept=moments.y_mean - moments.mean @ coef, gap=problem.gap / moments.weight,
            sweeps=problem.total_sweeps, chosen=number, met=state.met and settled,
        )  # fmt: skip
        return self._note(state) if note else state

    def mean(self, state: FoldsState, number: int) -> float:
        """Return the mean error over the folds at a penalty."""
        return state.errors[divmod(number, state.errors.shape[1])].mean()

    def certificate(self, state: FoldsState) -> Certificate:
        return Certificate.of("duality gap", state.gap, state.goal, STATEMENT)

    def _fold(self, state: FoldsState, number: int) -> Generator[Any, Any, tuple[float, bool]]:
        """Take a fold to the next penalty: its error there, and whether it arrived."""
        problem, penalty, goal = self.problems[number], self._penalty(state, state.n_done, number), self.goals[number]
        # A new share of the l1 part begins its path at the largest penalty, where all coefficients are zero.
        if state.n_done % state.errors.shape[1] == 0:
            yield from problem.start(np.zeros(state.coef.shape if self.plan.joint else len(state.coef)))
        yield from solve_problem(problem, penalty, goal, self.plan.tol, self.plan.max_iter)
        arrived = problem.settled and problem.gap <= goal
        if self.summed is not None:
            return np.nan, arrived
        fold, coef = self.folds[number], problem.coef
        return fold.error_of_all(coef) if coef.ndim == 2 else fold.error(coef), arrived

    def _penalty(self, state: FoldsState, number: int, problem: int) -> Penalty:
        ratio, alpha = divmod(number, state.errors.shape[1])
        total = self.moments[problem].weight
        return self.plan.penalty(float(state.alphas[ratio, alpha]), float(self.ratios[ratio]), total)

    def _note(self, state: FoldsState) -> FoldsState:
        """Return the state with the position of every problem."""
        problems = self.problems
        return replace(
            state, coefs=tuple(problem.coef for problem in problems),
            records=tuple(problem.record() for problem in problems),
            drawn=tuple(problem.orders.n_drawn for problem in problems),
        )  # fmt: skip
