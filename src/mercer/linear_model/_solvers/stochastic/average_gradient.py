"""Stochastic average gradients: SAG (Schmidt, Le Roux, Bach, 2017) and SAGA (Defazio, Bach, Lacoste-Julien, 2014).

Every row's last residual is remembered, so that a visit costs one row and the noise of the gradient vanishes towards
the optimum. An epoch is as many visits as there are rows, in an order drawn from the seed and the epoch's number. A
step of the solver is one epoch or, where the measurement of the objective takes longer than an epoch, several epochs:
at most an eighth of those before it, so that a solution is noticed at most an eighth too late. What is minimised, and
how far each visit may go, is the business of a
:class:`~mercer.linear_model._solvers.stochastic.finite_sum.FiniteSum`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._native.linear import average_gradient as native
from mercer._native.linear import centred_gradient
from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Solution
from mercer._source import Source
from mercer._source.namespace import is_sparse_matrix
from mercer.linear_model._solvers.stochastic.finite_sum import Course, FiniteSum

# Values read in one native call: some 10 ms of work, after which Ctrl-C is noticed.
_CHUNK = 2**22
# Values read in the epochs of one step: some 3 ms of work, beside which 0.1 ms for a measurement count little.
_BURST = 2**19
# Epochs before a step for each epoch in it.
_PAST = 8
# Rows up to which the orders of 16 epochs are drawn at once: a generator takes as long to make as 5000 numbers.
_FEW = 2**12
_DRAWN = 16


@plain
@dataclass(frozen=True, eq=False)
class AverageState:
    """The best parameters (m, d + 1) after an epoch, and all that the next epoch needs.

    ``current`` are the parameters where visits go on, ``average`` the sum of remembered gradients, ``table`` the
    remembered residuals (groups, n, scores), ``steps`` the epochs of each group, ``change`` the largest change of a
    parameter in the last one relative to the largest parameter. Groups are visited one after the other: the targets of
    a regression; the classes of a softmax are one group of several scores.
    """

    parameters: np.ndarray
    current: np.ndarray
    average: np.ndarray
    table: np.ndarray
    steps: np.ndarray
    change: float
    seed: tuple[int, ...]
    method: str

    @property
    def n_steps(self) -> int:
        """Epochs done."""
        return int(self.steps.max(initial=0))


def average_gradient(
    total: FiniteSum, start: AverageState | np.ndarray, max_iter: int, seed: tuple[int, ...], method: str
) -> Solver:
    """Minimise `total` by `method`, "sag" or "saga", from parameters or from a state of an earlier run."""
    course = yield from total.prepare(averaged=method == "sag")
    if isinstance(start, AverageState):
        state = start
        point = yield from total.evaluate(state.parameters)
    else:
        point = yield from total.evaluate(start)
        state = _begin(point.parameters, start, course.n_rows, total.n_scores, seed, method)
    while True:
        active = total.find_unsolved(point, state.change)
        if not active.any() or state.n_steps >= max_iter:
            return Solution(state, not active.any(), total.certify(point))
        count = _count_epochs(state, max_iter)
        # Watches keep the state of a step, so the epochs write to copies.
        working = replace(
            state,
            current=state.current.copy(),
            average=state.average.copy(),
            table=state.table.copy(),
            steps=state.steps + count * active,
        )
        if count > 1:
            yield Visits(course, working, active, _order(state, range(state.n_steps, state.n_steps + count - 1)))
        before = working.current.copy()
        yield Visits(course, working, active, _order(state, range(state.n_steps + count - 1, state.n_steps + count)))
        reached = yield from total.evaluate(working.current)
        # Epochs of a stochastic method may end higher than they began: the best point is kept.
        point = total.better(reached, point)
        # The stopping rule of scikit-learn: the largest change in an epoch relative to the largest coefficient.
        change = np.max(np.abs(working.current - before)) / max(np.max(np.abs(working.current)), 1e-300)
        state = replace(working, parameters=point.parameters, change=float(change))
        yield total.step(point, state)


def _begin(
    parameters: np.ndarray, start: np.ndarray, n_rows: int, n_scores: int, seed: tuple[int, ...], method: str
) -> AverageState:
    """Return the state at `start`; nothing is remembered yet.

    Remembering the true residuals at the start instead takes a sixth to a half more epochs (SAGA) and twice as many
    (SAG) for the logistic loss: far from the optimum they mislead for as long as their rows are not met.
    """
    n_groups = len(start) // n_scores
    table, steps = np.zeros((n_groups, n_rows, n_scores)), np.zeros(n_groups, dtype=np.int64)
    return AverageState(parameters, start, np.zeros_like(start), table, steps, np.inf, seed, method)


def _count_epochs(state: AverageState, max_iter: int) -> int:
    """Return how many epochs the next step has: one, or more where they are short and many have been made."""
    width = state.current.shape[1] * state.table.shape[2]
    short = _BURST // max(1, state.table.shape[0] * state.table.shape[1] * width)
    return max(1, min(short, state.n_steps // _PAST, max_iter - state.n_steps))


def _order(state: AverageState, epochs: range) -> np.ndarray:
    """Return the rows to visit in some epochs, one epoch after the other; only the seed and the epochs decide them."""
    n_rows = state.table.shape[1]
    size = _DRAWN if n_rows <= _FEW else 1
    blocks = range(epochs.start // size, (epochs.stop - 1) // size + 1)
    drawn = np.concatenate([_draw_orders(state, block, size) for block in blocks])
    first = epochs.start - blocks.start * size
    return drawn[first : first + len(epochs)].ravel()


def _draw_orders(state: AverageState, block: int, size: int) -> np.ndarray:
    """Return the orders of the `size` epochs of a block, one in each row."""
    n_rows = state.table.shape[1]
    random = np.random.default_rng(np.random.SeedSequence(state.seed, spawn_key=(block,)))
    # SAG diverges at step 1 / L if no row comes twice in an epoch, so it draws with replacement; SAGA gains without.
    if state.method == "sag":
        return np.asarray(random.integers(n_rows, size=(size, n_rows), dtype=np.intp))
    return random.permuted(np.broadcast_to(np.arange(n_rows), (size, n_rows)), axis=1)


@dataclass(frozen=True, eq=False)
class Visits:
    """A request: visit the rows of `order`, one after the other, for every active group, in place."""

    course: Course
    state: AverageState
    active: np.ndarray
    order: np.ndarray

    def answer(self, source: Source) -> None:
        X, course, state = source.whole(), self.course, self.state
        weight = np.ones(source.n_rows) if source.weight is None else source.weight
        # Derivatives are remembered as s_i / S of the loss's, so that their sum is the gradient of the mean.
        weight = weight / course.total_weight
        y = course.targets(source.y)
        n_scores = state.table.shape[2]
        stored = X.nnz / source.n_rows if is_sparse_matrix(X) else X.shape[1]
        length = max(1, int(_CHUNK / (n_scores * max(1.0, stored))))
        for group in np.flatnonzero(self.active).tolist():
            rows = slice(group * n_scores, (group + 1) * n_scores)
            own = (state.current[rows], state.average[rows], state.table[group])
            for first in range(0, len(self.order), length):
                _visit(course, X, y[group], weight, self.order[first : first + length], group, own)


def _visit(course: Course, X: Any, y: Any, weight: Any, order: Any, group: int, own: tuple[Any, ...]) -> None:
    """Visit the rows of `order` in one call; `own` holds the parameters, the average and the table of a group."""
    # SAG divides the new gradient by the number of rows, SAGA takes it whole.
    share = 0.0 if course.averaged else float(X.shape[0])
    step, l2 = course.step[group], course.l2[group]
    w, average, table = own
    # Centred sparse rows have a loop of their own that never makes them dense.
    if is_sparse_matrix(X) and course.mean is not None:
        given = (course.mean, y, weight, order, (share, step[0], l2[0]), w[0], average[0], table)
        centred_gradient.visit_centred(X.data, X.indices, X.indptr, *given, np.empty((2, X.shape[1])))
        return
    method = native.Method(course.loss, share, course.fit_intercept, step, course.l1, l2)
    state = native.State(w, average, table, np.empty(len(w)))
    if is_sparse_matrix(X):
        seen = np.empty(X.shape[1], dtype=np.intp)
        native.visit_sparse(X.data, X.indices, X.indptr, y, weight, order, method, state, seen)
    else:
        mean = np.zeros(X.shape[1]) if course.mean is None else course.mean
        native.visit_dense(X, mean, y, weight, order, method, state, np.empty(len(mean)))
