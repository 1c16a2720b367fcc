"""The search for atoms: codes of all rows, then each atom to its best place, in turn."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source
from mercer._source.block import rows_per_block
from mercer._statistic import Statistic
from mercer._statistic.statistic import Sums
from mercer._statistic.triangle import reduce_rows
from mercer._types import Array
from mercer.decomposition._axes import fix_signs
from mercer.decomposition._sparse_codes.coding import CodingRule, encode_rows

# Share of all squared codes below which an atom is used by no row and drawn anew.
_UNUSED = 1e-12
# Noise on an atom that is drawn from the rows, as a share of their spread: two alike would make codes ambiguous.
_NOISE = 0.01
STATEMENT = (
    "The decrease of the objective that best steps of single atoms would bring, summed, as a share of the objective, "
    "where each row has its best code: zero at a stationary point. It bounds nothing globally."
)


@plain
@dataclass(frozen=True, eq=False)
class DictionaryState:
    """Codes (n, k), atoms (k, d), the atoms after the step, the objective of each step, and what is left to gain."""

    codes: Array
    atoms: Array
    following: Array
    errors: tuple[float, ...] = ()
    residual: float = np.inf

    @property
    def step(self) -> int:
        """The steps so far."""
        return len(self.errors)


@dataclass(frozen=True)
class CodeSums(Sums):
    """C^T C, C^T X, the weighted squares of the rows and the sum of the codes' magnitudes."""

    gram: Array
    products: Array
    squares: float
    size: float


@dataclass(frozen=True, eq=False)
class CodePass(Statistic):
    """Code the rows of a block, write the codes to `out`, and sum what the atoms need."""

    atoms: Array
    rule: CodingRule
    codes: Array
    out: Array

    def of(self, block: Block) -> CodeSums:
        rows = slice(block.start, block.start + block.n)
        X = np.asarray(block.X, dtype=np.float64)
        self.out[rows] = codes = encode_rows(X, self.atoms, self.rule, self.codes[rows])
        weighted = block.weigh(codes)
        squares = float(block.weigh(np.einsum("ij,ij->i", X, X)).sum())
        return CodeSums(weighted.T @ codes, weighted.T @ X, squares, float(np.abs(weighted).sum()))


def place_atom(atom: Array, positive: bool) -> Array:
    """Return the nearest atom of length one at most, without negative entries where that is asked."""
    atom = np.maximum(atom, 0.0) if positive else atom
    return atom / max(float(np.linalg.norm(atom)), 1.0)


def move_atoms(
    atoms: Array, gram: Array, products: Array, positive: bool, X: Any, random: np.random.Generator
) -> Array:
    """Return the atoms after each has moved to its best place, in turn; those that no row uses are drawn from rows."""
    atoms, used = atoms.copy(), np.diagonal(gram) > _UNUSED * np.trace(gram)
    for k in np.flatnonzero(used):
        atoms[k] = place_atom(atoms[k] + (products[k] - gram[k] @ atoms) / gram[k, k], positive)
    for k in np.flatnonzero(~used):
        drawn = np.asarray(X[random.integers(X.shape[0])], dtype=np.float64)
        atoms[k] = place_atom(drawn + _NOISE * (drawn.std() or 1.0) * random.normal(size=len(drawn)), positive)
    return atoms


def measure_gain(atoms: Array, gram: Array, products: Array, positive: bool) -> float:
    """Return the decreases of the squared error by the best step of each atom alone, summed."""
    slopes, gain = gram @ atoms - products, 0.0
    for k in np.flatnonzero(np.diagonal(gram) > _UNUSED * np.trace(gram)):
        move = place_atom(atoms[k] - slopes[k] / gram[k, k], positive) - atoms[k]
        gain -= float(slopes[k] @ move) + gram[k, k] / 2 * float(move @ move)
    return max(gain, 0.0)


def start_atoms(X: Any, weight: Any, count: int, given: Any, positive: bool) -> tuple[Array, Array]:
    """Return the first codes and atoms: as given, or singular vectors, with zeros for more atoms than the rank."""
    codes, atoms = (None if one is None else np.asarray(one, dtype=np.float64) for one in given)
    if codes is None or atoms is None:
        axes = fix_signs(np.linalg.svd(_reduce(X, weight), full_matrices=False)[2])[:count]
        codes, atoms = np.matmul(X, axes.T, dtype=np.float64), axes if atoms is None else atoms
    codes, atoms = widen(codes, count), widen(atoms.T, count).T
    return codes, np.array([place_atom(atom, positive) for atom in atoms])


def _reduce(X: Any, weight: Any) -> Array:
    """Return few rows, in float64, with the singular values and the axes of weighted rows; block by block."""
    # A factor of d rows is joined to each block: to blocks of four times as many it adds a quarter of the work.
    step = max(rows_per_block(X.shape[1]), 4 * X.shape[1])
    factor = np.empty((0, X.shape[1]))
    for first in range(0, X.shape[0], step):
        rows = np.asarray(X[first : first + step], dtype=np.float64)
        rows = rows if weight is None else rows * np.sqrt(weight[first : first + step])[:, None]
        factor = reduce_rows(np.concatenate([factor, rows]))
    return factor


def widen(table: Array, count: int) -> Array:
    """Return a table with `count` columns: the first of its own, and zeros."""
    table = table[:, :count]
    rest = np.zeros((len(table), count - table.shape[1]))
    return np.ascontiguousarray(np.concatenate([table, rest], axis=1))


def learn(
    source: Source,
    start: DictionaryState,
    rule: CodingRule,
    positive: bool,
    seed: SeedSequence,
    tol: float,
    max_iter: int,
) -> Solver[DictionaryState]:
    """Alternate between codes and atoms until moving an atom gains nothing."""
    state, X = start, source.whole()
    while state.step < max_iter and state.residual > tol:
        atoms, out = state.following, np.empty_like(state.codes)
        sums: CodeSums = yield CodePass(atoms, rule, state.codes, out)
        fit = sums.squares / 2 - float(np.vdot(sums.products, atoms)) + float(np.vdot(sums.gram, atoms @ atoms.T)) / 2
        objective = max(fit, 0.0) + rule.alpha * sums.size
        gain = measure_gain(atoms, sums.gram, sums.products, positive)
        residual = gain / objective if objective > 0 else 0.0
        random = np.random.default_rng(SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, state.step)))
        following = move_atoms(atoms, sums.gram, sums.products, positive, X, random)
        state = DictionaryState(out, atoms, following, (*state.errors, objective), residual)
        yield Step(objective, state, certify(state, tol))
    converged = state.residual <= tol
    reason = "converged" if converged else "max_iter" if tol > 0 else "iterations"
    return Solution(state, converged, certify(state, tol), reason)


def certify(state: DictionaryState, tol: float) -> Certificate:
    """Return the certificate of a state."""
    return Certificate.of("relative gain", state.residual, tol, STATEMENT)


def begin(source: Source, count: int, given: Any, positive: bool) -> DictionaryState:
    """Return the state before the first step."""
    codes, atoms = start_atoms(source.whole(), source.weight, count, given, positive)
    return DictionaryState(codes, atoms, atoms)
