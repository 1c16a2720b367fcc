"""The expected accuracy of a random neighbour, and its gradient: what neighbourhood components analysis maximises.

Row i picks another row j as its neighbour with probability p_ij, proportional to exp(-|z_i - z_j|^2) for z = A x. The
share of rows that pick one of their own class, f(A) = sum_i w_i p_i / sum_i w_i with p_i the sum of p_ij over the rows
j of the class of i, is the expected accuracy of classification by that neighbour (Goldberger et al., 2004).
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.quasi_newton import step_by_memory
from mercer._source.threads import run_numbered
from mercer._types import Array

# Probabilities held at a time on each thread: 1 MiB of float64, which stays in the second cache.
_TABLE = 2**17
# The fewest rows in a block: products of fewer rows run far below the speed of the processor.
_FEWEST = 16
# Steps that L-BFGS remembers.
_MEMORY = 10
# The share of the length of A by which the first trial moves it: nothing is known of the scale before.
_FIRST_MOVE = 0.1
# Pairs of rows from which a pass runs on a thread of its own, open to Ctrl-C.
_MANY_PAIRS = 2**22
_STATEMENT = (
    "The largest entry of the gradient of the expected accuracy. The problem is not concave: a small gradient means a "
    "stationary point, not the best map."
)


@plain
@dataclass(frozen=True, eq=False)
class ComponentsState:
    """The matrix A (k, d); the last steps and changes of the gradient, oldest first; and the steps taken."""

    components: Array
    steps: tuple[Array, ...]
    changes: tuple[Array, ...]
    n_steps: int


@dataclass(frozen=True, eq=False)
class _Place:
    """A matrix, minus the expected accuracy there, and its gradient."""

    parameters: Array
    objective: float
    gradient: Array


class ClassNeighbours:
    """Minus the expected accuracy of rows, as a function of the matrix A.

    A pass takes O(n^2 k) operations and holds O(n (d + k)) numbers: probabilities are computed for a block of rows at a
    time and dropped. Blocks are fixed and added up in their order, so that threads change no bit.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    codes : ndarray of shape (n,)
        The class of each row, as an index.
    weight : ndarray of shape (n,) or None
        A row of weight w counts as w equal rows, each a neighbour of the others.
    threads : int
    """

    def __init__(self, rows: Array, codes: Array, weight: Array, threads: int) -> None:
        # Rows of a class side by side: those of a block's classes are then a slice of columns.
        order = np.argsort(codes, kind="stable")
        self.codes = codes[order]
        # Differences of rows are all that counts; around the mean their products lose fewer digits.
        wide = rows[order].astype(np.float64)
        self.rows = wide - wide.mean(axis=0)
        self.n, self.threads = len(rows), threads
        self.size = max(_FEWEST, _TABLE // self.n)
        self.n_blocks = -(-self.n // self.size)
        self.weight = None if weight is None else weight[order].astype(np.float64)
        self.total = float(self.n if self.weight is None else self.weight.sum())
        if self.weight is not None:
            with np.errstate(divide="ignore"):
                self.logs = np.log(self.weight)
                # A row of weight w has w - 1 equal rows beside it.
                self.own_logs = np.log(np.maximum(self.weight - 1.0, 0.0))

    def evaluate(self, parameters: Array) -> Generator[Any, Any, _Place]:
        """Ask for one pass, as the line search does."""
        return (yield Dense(lambda: self.measure(parameters), heavy=self.n**2 > _MANY_PAIRS))

    def measure(self, parameters: Array) -> _Place:
        """Return minus the expected accuracy at a matrix, and its gradient."""
        Z = self.rows @ parameters.T
        # The column of ones makes one product give both W'Z and the column sums of W.
        wide = np.concatenate([Z, np.ones((self.n, 1))], axis=1)
        norms = np.einsum("ij,ij->i", Z, Z)
        left, right, values = np.empty_like(Z), np.zeros_like(wide), []

        def receive(part: tuple[int, float, Array, Array]) -> None:
            block, value, rows_part, columns_part = part
            values.append(value)
            left[block * self.size : (block + 1) * self.size] = rows_part
            np.add(right, columns_part, out=right)

        run_numbered(
            lambda block: (block, *self._sum_block(block, Z, wide, norms)), self.n_blocks, self.threads, receive
        )
        # With W_ij = w_i p_ij ([same class] - p_i), whose rows sum to zero, the derivative of the sum of w_i p_i in z_i
        # is -2 (c_i z_i - (W Z)_i - (W' Z)_i), c the column sums of W.
        slope = right[:, -1:] * Z - right[:, :-1] - left
        return _Place(parameters, -sum(values) / self.total, (2.0 / self.total) * (slope.T @ self.rows))

    def _sum_block(self, block: int, Z: Array, wide: Array, norms: Array) -> tuple[float, Array, Array]:
        """Return the sum of w_i p_i over the rows of a block, their rows of W Z, and their part of W' (Z, 1)."""
        start = block * self.size
        stop = min(start + self.size, self.n)
        # -|z_i - z_j|^2 up to a constant of the row, by one product.
        P = Z[start:stop] @ Z.T
        P *= 2.0
        P -= norms
        self._weigh(P, start, stop, norms)
        # Softmax of the row, with its largest exponent taken off.
        P -= P.max(axis=1, keepdims=True)
        np.exp(P, out=P)
        P /= P.sum(axis=1, keepdims=True)
        # Rows are sorted by class, so that the classes of a block are one range of columns.
        first = np.searchsorted(self.codes, self.codes[start])
        last = np.searchsorted(self.codes, self.codes[stop - 1], side="right")
        own = P[:, first:last]
        if self.codes[start] != self.codes[stop - 1]:
            own = own * (self.codes[start:stop, None] == self.codes[None, first:last])
        shares = own.sum(axis=1)
        # W_ij = p_ij ([same class] - p_i): the weights of the gradient.
        W = P * -shares[:, None]
        W[:, first:last] += own
        if self.weight is not None:
            W *= self.weight[start:stop, None]
            shares = shares * self.weight[start:stop]
        return float(shares.sum()), W @ Z, W.T @ wide[start:stop]

    def _weigh(self, scores: Array, start: int, stop: int, norms: Array) -> None:
        """Add the logarithms of the weights to the scores of a block, and leave out each row for itself."""
        places = np.arange(stop - start), np.arange(start, stop)
        if self.weight is None:
            scores[places] = -np.inf
            return
        scores += self.logs
        scores[places] = norms[start:stop] + self.own_logs[start:stop]


def maximise_accuracy(
    problem: ClassNeighbours,
    start: ComponentsState,
    tol: float,
    max_iter: int,
    report: Callable[[Array, int], None] | None = None,
) -> Solver[ComponentsState]:
    """Maximise the expected accuracy by L-BFGS; `report` is called with A and the number of steps after each step."""
    state, place = start, (yield from problem.evaluate(start.components))
    certificate = _certify(place, tol)
    if certificate.satisfied or state.n_steps >= max_iter:
        yield _describe(place, state, certificate)
    while not certificate.satisfied and state.n_steps < max_iter:
        reached, steps, changes = yield from step_by_memory(
            problem, place, state.steps, state.changes, _MEMORY, partial(_guess_length, place.parameters)
        )
        if reached is None:
            return Solution(state, False, certificate, "line_search")
        state, place = ComponentsState(reached.parameters, steps, changes, state.n_steps + 1), reached
        certificate = _certify(place, tol)
        if report is not None:
            report(state.components.ravel().copy(), state.n_steps)
        yield _describe(place, state, certificate)
    return Solution(state, certificate.satisfied, certificate)


def _guess_length(parameters: Array, direction: Array) -> float:
    """Return a first length: without curvature a step moves A by a small share of its size."""
    length, size = float(np.linalg.norm(direction)), float(np.linalg.norm(parameters))
    return 1.0 if size == 0.0 else _FIRST_MOVE * size / length


def _certify(place: _Place, tol: float) -> Certificate:
    return Certificate.of("gradient norm", float(np.abs(place.gradient).max()), tol, _STATEMENT)


def _describe(place: _Place, state: ComponentsState, certificate: Certificate) -> Step[ComponentsState]:
    return Step(place.objective, state, certificate)
