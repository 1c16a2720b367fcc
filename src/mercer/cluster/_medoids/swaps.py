"""Solvers of k-medoids: eager swaps, best swaps, alternation, and samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._types import Array
from mercer.cluster._medoids.board import Board
from mercer.errors import DataError


def first_medoids(board: Board, init: Any, k: int, seed: Any, metric: Any) -> Array:
    """Choose the k rows to start from, by the rule `init` or as given."""
    if isinstance(init, str):
        generator = np.random.default_rng(seed)
        return {"build": _build, "random": _draw, "k-medoids++": _draw_apart}[init](board, k, generator)
    given = np.asarray(init)
    if given.ndim == 1 and given.dtype.kind in "iu":
        return _check_indices(board, given, k)
    return _nearest_rows(board, given, k, metric)


def _build(board: Board, k: int, generator: Any) -> Array:
    """Choose the row of least sum of distances, then k - 1 times the row that lowers the total most (BUILD of PAM)."""
    rows = board.candidates
    chosen = [int(rows[np.argmin(board.sums(rows))])]
    near = _line(board, chosen[0])
    while len(chosen) < k:
        change = board.gains(rows, near)
        # A row that is a medoid already cannot be chosen again.
        change[np.isin(rows, chosen)] = np.inf
        chosen.append(int(rows[np.argmin(change)]))
        near = np.minimum(near, _line(board, chosen[-1]))
    return np.array(chosen)


def _draw(board: Board, k: int, generator: np.random.Generator) -> Array:
    """Draw k different rows in proportion to their weights."""
    return generator.choice(board.candidates, k, replace=False, p=board.shares())


def _draw_apart(board: Board, k: int, generator: np.random.Generator) -> Array:
    """Draw k rows, each in proportion to weight times distance to the nearest row before it (k-medoids++)."""
    weight = board.weight if len(board.weight) else np.ones(board.n)
    chosen: list[int] = []
    near = np.ones(board.n)
    while len(chosen) < k:
        mass = np.cumsum(weight * near)
        # If every row is on a medoid, any other row will do.
        if mass[-1] > 0:
            row = int(np.searchsorted(mass, generator.random() * mass[-1], side="right"))
        else:
            row = int(np.setdiff1d(board.candidates, chosen)[0])
        # Rounding may lead past the last row of positive weight.
        row = min(row, int(board.candidates[-1]))
        line = _line(board, row)
        near = line if not chosen else np.minimum(near, line)
        near[row] = 0.0
        chosen.append(row)
    return np.array(chosen)


def _line(board: Board, row: int) -> Array:
    return np.array(board.distances.lines(np.array([row]))[0], dtype=np.float64)


def _check_indices(board: Board, given: Array, k: int) -> Array:
    if given.shape != (k,) or len(np.unique(given)) != k or not np.isin(given, board.candidates).all():
        raise DataError(
            f"{board.subject}: init must name {k} different rows of positive weight below {board.n}; got "
            f"{len(given)} numbers from {given.min(initial=0)} to {given.max(initial=0)}. Give row numbers, or rows."
        )
    return given.astype(np.intp)


def _nearest_rows(board: Board, given: Array, k: int, metric: Any) -> Array:
    """Return the nearest row to each given position, none twice."""
    if metric == "precomputed" or given.ndim != 2 or given.shape != (k, board.distances.rows.shape[1]):
        raise DataError(
            f"{board.subject}: init must be {k} row numbers, or {k} rows where distances are not precomputed; got an "
            f"array of shape {given.shape} and type {given.dtype}."
        )
    chosen: list[int] = []
    for position in given.astype(np.float64):
        gaps = ((board.distances.rows[board.candidates] - position) ** 2).sum(axis=1)
        # Two positions may share their nearest row; the second then gets the next one.
        gaps[np.isin(board.candidates, chosen)] = np.inf
        chosen.append(int(board.candidates[np.argmin(gaps)]))
    return np.array(chosen)


@plain
@dataclass(frozen=True)
class MedoidState:
    """Medoids, passes made, the next candidate, and how many candidates in succession did not help.

    ``best_change`` is the lowest change of the total by a swap with those candidates.
    """

    medoids: Any
    iteration: int
    turn: int
    idle: int
    best_change: float
    total: float


@dataclass(frozen=True, eq=False)
class MedoidSearch:
    """The searches for medoids on a board, and their settings."""

    board: Board
    k: int
    init: Any
    metric: Any
    max_iter: int
    seed: Any
    n_draws: int = 5
    draw_size: int | None = None

    def _begin(self, state: MedoidState | None) -> MedoidState:
        medoids = state.medoids if state is not None else None
        if medoids is None:
            medoids = first_medoids(self.board, self.init, self.k, self.seed, self.metric)
        self.board.place(medoids)
        return state or MedoidState(self.board.medoids.copy(), 0, 0, 0, np.inf, self.board.total)

    def swap_eagerly(self, state: MedoidState | None = None) -> Solver:
        """Try all candidates in turn and make each swap that helps at once, until none does (FasterPAM)."""
        board, state = self.board, self._begin(state)
        n = len(board.candidates)
        while state.idle < n and state.iteration < self.max_iter:
            state = self._go_round(state, n)
            yield Step(board.total, state, self._certificate(state, n), {"idle": float(state.idle)})
        return Solution(state, state.idle >= n, self._certificate(state, n))

    def _go_round(self, state: MedoidState, n: int) -> MedoidState:
        """Try all candidates once, from number ``state.turn`` on; end early if none has helped for a whole pass."""
        board, seen, turn, idle, best = self.board, 0, state.turn, state.idle, state.best_change
        while seen < n and idle < n:
            count = min(board.round_rows, n - turn, n - seen)
            last, change = board.swap_eagerly(board.candidates[turn : turn + count])
            # Once the medoids have changed, the changes by earlier candidates are no longer known.
            idle, best = (idle + count, min(best, change)) if last < 0 else (0, np.inf)
            turn, seen = (turn + count) % n, seen + count
        return MedoidState(board.medoids.copy(), state.iteration + 1, turn, idle, best, board.total)

    def _certificate(self, state: MedoidState, n: int) -> Certificate:
        if state.idle < n:
            return Certificate.none("Swaps were still found; nothing is known of those not tried since the last one.")
        gain = max(0.0, -state.best_change)
        statement = "The most by which swapping one medoid for one row can lower the total; 0 is a local optimum."
        return Certificate.of("swap gain", gain, self.board.rounding, statement)

    def swap_best(self, state: MedoidState | None = None) -> Solver:
        """Make the best swap of all candidates and medoids, until none helps (PAM)."""
        board, state = self.board, self._begin(state)
        n = len(board.candidates)
        while state.idle < n and state.iteration < self.max_iter:
            change, row, medoid = self._best_swap()
            # A change within the rounding of the total could be undone by the next swap, without end.
            helps = change < -board.rounding
            if helps:
                board.swap(row, medoid, np.ascontiguousarray(board.distances.lines(np.array([row]))[0]))
            # Each round looks at all n candidates, so a round without a swap leaves all of them idle.
            idle = 0 if helps else n
            state = MedoidState(board.medoids.copy(), state.iteration + 1, 0, idle, change, board.total)
            yield Step(board.total, state, self._certificate(state, n), {"idle": float(idle)})
        return Solution(state, state.idle >= n, self._certificate(state, n))

    def _best_swap(self) -> tuple[float, int, int]:
        board, best = self.board, (np.inf, -1, -1)
        for start in range(0, len(board.candidates), board.round_rows):
            rows = board.candidates[start : start + board.round_rows]
            change, which, _ = board.try_swaps(rows)
            i = int(np.argmin(change))
            if change[i] < best[0]:
                best = float(change[i]), int(rows[i]), int(which[i])
        return best

    def alternate(self, state: MedoidState | None = None) -> Solver:
        """Assign rows to medoids, make the best row of each cluster its medoid, and repeat."""
        board, state = self.board, self._begin(state)
        none = Certificate.none(
            "Alternation ends where no cluster has a better medoid; swaps may still lower the total."
        )
        while not state.idle and state.iteration < self.max_iter:
            before, medoids = board.total, board.medoids.copy()
            board.place(self._centre_clusters())
            helped = board.total < before - _tolerance(before)
            # Ties may go back and forth: a round without gain is undone.
            if not helped:
                board.place(medoids)
            state = MedoidState(board.medoids.copy(), state.iteration + 1, 0, int(not helped), np.inf, board.total)
            yield Step(board.total, state, none)
        return Solution(state, bool(state.idle), none)

    def _centre_clusters(self) -> Array:
        """Return the row of each cluster with the least weighted sum of distances to its members, (k,)."""
        board, medoids = self.board, self.board.medoids.copy()
        owned = np.isin(np.arange(board.n), board.candidates)
        for m in range(self.k):
            members = np.flatnonzero(owned & (board.nearest == m))
            if len(members) > 1:
                weight = board.weight[members] if len(board.weight) else None
                inside = Board(board.distances.among(members), weight, board.threads, board.subject)
                medoids[m] = members[np.argmin(inside.sums(np.arange(len(members))))]
        return medoids

    def draw(self, state: MedoidState | None = None) -> Solver:
        """Find medoids of samples by eager swaps, and keep those with the least total over all rows (CLARA)."""
        board = self.board
        seeds = self.seed.spawn(self.n_draws)
        none = Certificate.none(
            "The medoids are the best that samples gave; swaps with rows outside them were not tried."
        )
        while state is None or state.iteration < self.n_draws:
            index = 0 if state is None else state.iteration
            medoids = self._medoids_of_sample(seeds[index], None if state is None else state.medoids)
            board.place(medoids)
            # A sample's medoids are kept only if they are better over all rows.
            if state is not None and not board.total < state.total:
                medoids, total = state.medoids, state.total
            else:
                medoids, total = board.medoids.copy(), board.total
            state = MedoidState(medoids, index + 1, 0, 0, np.inf, total)
            yield Step(total, state, none)
        board.place(state.medoids)
        return Solution(state, True, none)

    def _medoids_of_sample(self, seed: Any, best: Array | None) -> Array:
        """Return the medoids of a sample drawn in proportion to the weights, which includes the medoids `best`."""
        board, child = self.board, seed.spawn(2)
        generator = np.random.default_rng(child[0])
        # The sample size of Kaufman and Rousseeuw is 40 + 2 k; twice that costs little with eager swaps.
        size = min(len(board.candidates), self.draw_size or 80 + 4 * self.k)
        rows = generator.choice(board.candidates, size, replace=False, p=board.shares())
        rows = np.unique(rows if best is None else np.concatenate([rows, best]))
        weight = board.weight[rows] if len(board.weight) else None
        inside = Board(board.distances.among(rows), weight, board.threads, board.subject)
        search = MedoidSearch(inside, self.k, self.init, self.metric, self.max_iter, child[1])
        for _ in search.swap_eagerly():
            pass
        return rows[inside.medoids]


def _tolerance(total: float) -> float:
    return 1e-12 * abs(total)
