"""Hill climbing over structures, with a tabu list and random restarts.

A move adds, removes or reverses one edge. A score is a sum over families, so that a move changes the terms of one or
two variables: the scores of all variables with each possible edge toggled are kept, and a move recomputes those of the
variables whose parents it changed.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.restarts import child_seed
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.bayesnet._learning.constraints import Constraints, mark_reachable
from mercer.bayesnet._learning.counter import ScoredFamilies

# A smaller relative gain is rounding: reversing an edge between equivalent structures must not count as a gain.
_ROUNDING = 1e-10
# An empty tabu list.
_NONE = np.empty((0, 2), np.intp)
_STATEMENT = (
    "The gain of the best single edge added, removed or reversed at the structure returned; not above zero at a local "
    "maximum. It bounds nothing globally: structure='exact' does, up to 20 columns."
)


@plain
@dataclass(frozen=True, eq=False)
class StructureClimb:
    """A structure under way and the best one so far; entry (p, c) of a matrix is the edge from p to c.

    ``tabu`` lists the pairs of variables that recent moves changed, the latest last; ``stall`` counts the moves since
    the run last improved, ``peak`` is the best score of the run under way. ``n_moves`` counts all moves of all runs.
    """

    restart: int
    edges: Array
    tabu: Array
    stall: int
    peak: float
    best: Array
    best_score: float
    n_moves: int = 0


@dataclass(frozen=True, eq=False)
class HillClimbing:
    """The search and its settings.

    Parameters
    ----------
    families : ScoredFamilies
    constraints : Constraints
    start : ndarray of bool of shape (d, d)
        The first structure; must keep the constraints.
    tabu_length : int
        Moves during which a changed pair of variables stays as it is; 0 stops at the first local maximum.
    max_stall : int
        Moves without a new best score of the run before it ends.
    max_iter : int
        Moves of all runs together.
    n_restarts : int
        Runs after the first; each starts from the best structure, changed by random moves.
    seed : ndarray
        Words of the root seed.
    """

    families: ScoredFamilies
    constraints: Constraints
    start: Array
    tabu_length: int
    max_stall: int
    max_iter: int
    n_restarts: int
    seed: Array

    def solve(self, state: StructureClimb | None = None) -> Solver:
        """Climb, from the start or from `state`."""
        board = _Board(self, self.start if state is None else state.edges)
        if state is None:
            value = board.total
            state = StructureClimb(0, self.start, _NONE, 0, value, self.start, value)
            yield self._report(state, value)
        while state.n_moves < self.max_iter:
            small = _ROUNDING * (1.0 + abs(state.peak))
            gain, move = board.find_move(_NONE)
            if board.total + gain <= state.peak + small:
                # Only a move to a new best score of the run may change a pair in the tabu list.
                gain, move = board.find_move(state.tabu)
            # A run ends when it has not reached a new peak for as many moves as allowed.
            stalled = gain <= small and state.stall >= (self.max_stall if self.tabu_length else 0)
            if move is None or stalled:
                if state.restart >= self.n_restarts:
                    break
                state = self._restart(state, board)
                continue
            board.apply(move)
            state = self._advance(state, board, move)
            yield self._report(state, board.total)
        finished = state.n_moves < self.max_iter
        gain, _ = _Board(self, state.best).find_move(_NONE)
        tolerance = _ROUNDING * (1.0 + abs(state.best_score))
        certificate = Certificate.of("gain of one edge", max(gain, 0.0), tolerance, _STATEMENT)
        return Solution(state, finished, certificate)

    def _report(self, state: StructureClimb, value: float) -> Step:
        extra = {"score": value, "edges": float(np.count_nonzero(state.edges)), "restart": float(state.restart)}
        return Step(state.best_score, state, extra=extra)

    def _advance(self, state: StructureClimb, board: "_Board", move: tuple[str, int, int]) -> StructureClimb:
        """Return the state after a move."""
        value, small = board.total, _ROUNDING * (1.0 + abs(state.peak))
        # A list of more than a third of all pairs would leave few columns no move at all.
        length = min(self.tabu_length, max(1, len(self.start) * (len(self.start) - 1) // 6))
        # The pair of the move joins the list, whichever way its edge points; the oldest pairs fall out.
        tabu = np.concatenate([state.tabu, [sorted(move[1:])]])[max(0, len(state.tabu) + 1 - length) :]
        rises = value > state.peak + small
        state = replace(
            state,
            edges=board.edges.copy(),
            tabu=tabu if self.tabu_length else state.tabu,
            stall=0 if rises else state.stall + 1,
            peak=max(value, state.peak) if rises else state.peak,
            n_moves=state.n_moves + 1,
        )
        if value > state.best_score + _ROUNDING * (1.0 + abs(state.best_score)):
            state = replace(state, best=board.edges.copy(), best_score=value)
        return state

    def _restart(self, state: StructureClimb, board: "_Board") -> StructureClimb:
        """Start the next run from the best structure, changed by random moves."""
        random = np.random.default_rng(child_seed(self.seed, state.restart + 1))
        board.set_edges(state.best)
        # A third of the variables is enough to leave the basin of a local maximum, and little enough to keep the rest.
        for _ in range(max(2, len(self.start) // 3)):
            moves = board.list_moves()
            if not moves:
                break
            board.apply(moves[int(random.integers(len(moves)))])
        value = board.total
        return replace(
            state, restart=state.restart + 1, edges=board.edges.copy(), stall=0, peak=value, tabu=state.tabu[:0]
        )


class _Board:
    """A structure with the scores of its variables, and of each variable with each edge to it toggled."""

    def __init__(self, search: HillClimbing, edges: Array) -> None:
        self.families = search.families
        self.constraints = search.constraints
        self.set_edges(edges)

    def set_edges(self, edges: Array) -> None:
        """Take another structure, and score it."""
        d = len(edges)
        self.edges = edges.copy()
        self.reach = mark_reachable(self.edges)
        self.local = np.zeros(d)
        self.toggled = np.full((d, d), -np.inf)
        run_numbered(self._score_node, d, self.families.counter.threads, lambda done: None)

    @property
    def total(self) -> float:
        """The score of the structure."""
        return float(self.local.sum())

    def _score_node(self, child: int) -> None:
        """Compute the score of a variable, and with each edge to it toggled."""
        parents = np.flatnonzero(self.edges[:, child]).tolist()
        self.local[child] = self.families.score_family(child, parents)
        self.toggled[:, child] = -np.inf
        for parent in parents:
            # Removing a parent.
            rest = [other for other in parents if other != parent]
            self.toggled[parent, child] = self.families.score_family(child, rest)
        # Adding one, if there is room.
        if len(parents) < self.constraints.max_parents:
            free = np.flatnonzero(self.constraints.allowed[:, child] & ~self.edges[:, child])
            if len(free):
                self.toggled[free, child] = self.families.score_additions(child, parents, free.tolist())

    def _score_moves(self) -> tuple[Array, Array, Array]:
        """Return the gain of adding, removing and reversing the edge of each pair; minus infinity where not allowed."""
        edges, limits = self.edges, self.constraints
        gain = self.toggled - self.local[None, :]
        room = edges.sum(axis=0) < limits.max_parents
        addable = limits.allowed & ~edges & ~self.reach.T & room[None, :]
        removable = edges & ~limits.required
        # Reversing p -> c closes a cycle if another path leads from p to c.
        detour = (edges.astype(np.float32) @ self.reach.astype(np.float32)) > 0
        reversible = removable & limits.allowed.T & ~detour & room[:, None]
        with np.errstate(invalid="ignore"):
            turned = np.where(reversible, gain + gain.T, -np.inf)
        return np.where(addable, gain, -np.inf), np.where(removable, gain, -np.inf), turned

    def find_move(self, tabu: Array) -> tuple[float, tuple[str, int, int] | None]:
        """Return the best move that changes no pair in `tabu`, and its gain; of equals the first."""
        best = -np.inf
        move: tuple[str, int, int] | None = None
        for kind, gains in zip(("add", "remove", "reverse"), self._score_moves(), strict=True):
            # Both directions of a pair are tabu.
            gains[tabu[:, 0], tabu[:, 1]] = -np.inf
            gains[tabu[:, 1], tabu[:, 0]] = -np.inf
            place = int(np.argmax(gains))
            if gains.flat[place] > best:
                parent, child = divmod(place, len(gains))
                best, move = float(gains.flat[place]), (kind, parent, child)
        return best, move

    def list_moves(self) -> list[tuple[str, int, int]]:
        """Return all moves that the constraints allow."""
        moves: list[tuple[str, int, int]] = []
        for kind, gains in zip(("add", "remove", "reverse"), self._score_moves(), strict=True):
            moves += [(kind, int(parent), int(child)) for parent, child in np.argwhere(np.isfinite(gains))]
        return moves

    def apply(self, move: Any) -> None:
        """Make a move, and score the variables whose parents changed."""
        kind, parent, child = move
        self.edges[parent, child] = kind == "add"
        changed = [child]
        if kind == "reverse":
            self.edges[child, parent] = True
            changed.append(parent)
        # Which variables can be reached decides whether an edge would close a cycle.
        self.reach = mark_reachable(self.edges)
        for node in changed:
            self._score_node(node)
