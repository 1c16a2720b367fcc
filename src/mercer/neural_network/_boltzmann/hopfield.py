"""Hopfield networks: associative memory by descent of an energy, with three rules to store patterns."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import erf

from mercer._base import Estimator, fitting, open_new_rows, seed_sequence
from mercer._base.interface import OneToOneFeatureMixin, TransformerMixin
from mercer._base.parameter import Choice, Integer, Real, Seed, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._source.source import SumTree
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats, numbers, texts
from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._boltzmann.enumeration import decode_spins, find_coding, read_spins

# Load at which Hebb's rule loses all patterns at once, for many units (Amit, Gutfreund and Sompolinsky, 1985).
_CRITICAL_LOAD = 0.138


@plain
@dataclass(frozen=True, eq=False)
class HopfieldState:
    """The weights after some patterns, and whether the least value of the patterns is negative."""

    weights: Array
    n_patterns: int
    least: float


@dataclass(frozen=True, eq=False)
class _Hebb:
    """A request: the weighted sum of outer products of the patterns, their number, total weight and least value."""

    threshold: float

    def answer(self, source: Source) -> tuple[Array, int, float, float]:
        tree = SumTree()
        counts: list[tuple[int, float, float]] = []

        def receive(part: tuple[Array, tuple[int, float, float]]) -> None:
            # Matrices are added in a fixed tree, as their rounding depends on the order; counts are exact in any order.
            tree.add(part[0])
            counts.append(part[1])

        source.each(self._sum, receive)
        n_patterns, totals, least = zip(*counts, strict=True)
        return tree.total(), sum(n_patterns), sum(totals), min(least)

    def _sum(self, block: Block) -> tuple[Array, tuple[int, float, float]]:
        rows = block.dense()
        spins = read_spins(rows, self.threshold)
        n_patterns = block.n if block.weight is None else int((block.weight > 0).sum())
        return block.weigh(spins).T @ spins, (n_patterns, block.total_weight(), float(rows.min()))


@dataclass(frozen=True, eq=False)
class _Stability:
    """A request: the weight of unstable units of the patterns, and the weighted sum of their energies."""

    threshold: float
    weights: Array

    def answer(self, source: Source) -> tuple[float, float]:
        parts: list[tuple[float, float]] = []
        source.each(self._measure, parts.append)
        unstable, energy = zip(*parts, strict=True)
        return math.fsum(unstable), math.fsum(energy)

    def _measure(self, block: Block) -> tuple[float, float]:
        spins = read_spins(block.dense(), self.threshold)
        inputs = spins @ self.weights
        # A unit of a pattern is unstable if its input has the other sign.
        aligned = spins * inputs
        unstable = block.weigh((aligned < 0).sum(axis=1).astype(np.float64))
        return float(unstable.sum()), float(block.weigh(-0.5 * aligned.sum(axis=1)).sum())


@dataclass(frozen=True)
class _Patterns:
    """A request: all patterns, as spins, with their weights, and the least value in them."""

    threshold: float

    def answer(self, source: Source) -> tuple[Array, Array, float]:
        rows = np.concatenate([block.dense() for block in source.blocks()])
        return read_spins(rows, self.threshold), source.row_weights(), float(rows.min())


def store_patterns(rule: str, threshold: float) -> Solver[HopfieldState]:
    """Make weights of the patterns, in one step."""
    products, n_patterns, total, least = yield _Hebb(threshold)
    d = len(products)
    if rule == "hebb":
        # Hebb: w_ij = (1 / d) sum over patterns of s_i s_j.
        weights = products / d
    else:
        patterns, times, _ = yield _Patterns(threshold)
        if times is not None:
            patterns, times = patterns[times > 0], times[times > 0]
        # Pseudo-inverse: the projection on the span of the patterns; repeated patterns change nothing.
        weights = np.linalg.pinv(patterns) @ patterns if rule == "pseudo_inverse" else _apply_storkey(patterns, times)
    np.fill_diagonal(weights, 0.0)
    weights = 0.5 * (weights + weights.T)
    # How many units of the stored patterns the network itself would turn over.
    unstable, energy = yield _Stability(threshold, weights)
    share = unstable / (total * d)
    statement = "The share of units of stored patterns that the network changes; 0 if every pattern is a fixed point."
    certificate = Certificate.of("fixed point", share, 0.0, statement)
    state = HopfieldState(weights, n_patterns, least)
    yield Step(energy / total, state, certificate, {"unstable": share})
    return Solution(state, True, certificate)


def _apply_storkey(patterns: Array, times: Array) -> Array:
    """Add patterns one by one, each corrected by the local fields of the weights so far (Storkey, 1997)."""
    d = patterns.shape[1]
    weights = np.zeros((d, d))
    for number, pattern in enumerate(patterns):
        # A pattern stored twice is learnt twice, each time with the weights of that moment.
        count = 1.0 if times is None else float(times[number])
        for share in [1.0] * int(count) + ([count % 1] if count % 1 else []):
            # h_ij = sum over k other than i and j of W_ik s_k.
            inputs = (weights @ pattern)[:, None] - np.diag(weights)[:, None] * pattern[:, None] - weights * pattern
            np.fill_diagonal(inputs, np.diag(inputs) + np.diag(weights) * pattern)
            step = np.outer(pattern, pattern) - pattern[:, None] * inputs.T - inputs * pattern
            weights += share * step / d
    return weights


def hopfield_flip_probability(load: float) -> float:
    """Compute the probability that a unit of a stored pattern is unstable, for many units under Hebb's rule.

    The other patterns add noise of variance `load` to a signal of 1: P = (1 - erf(1 / sqrt(2 load))) / 2.

    Parameters
    ----------
    load : float
        Patterns per unit.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.neural_network import hopfield_flip_probability
    >>> round(hopfield_flip_probability(0.138), 4)
    0.0036
    """
    return 0.5 * (1.0 - float(erf(1.0 / math.sqrt(2.0 * load)))) if load > 0 else 0.0


def hopfield_capacity(n_units: int, *, exact: bool = False) -> float:
    """Compute how many random patterns Hebb's rule can store.

    Parameters
    ----------
    n_units : int
    exact : bool, default=False
        False: 0.138 N, up to which recall leaves a few wrong units. True: N / (2 log N), up to which a pattern is
        recalled without error, with a probability that tends to 1.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.neural_network import hopfield_capacity
    >>> round(hopfield_capacity(100), 1), round(hopfield_capacity(100, exact=True), 1)
    (13.8, 10.9)
    """
    if n_units < 2:
        raise DataError(f"hopfield_capacity: n_units must be at least 2; got {n_units}.")
    return n_units / (2.0 * math.log(n_units)) if exact else _CRITICAL_LOAD * n_units


@dataclass(frozen=True, eq=False)
class Recall:
    """How some states moved to where they rest.

    Attributes
    ----------
    states : ndarray of shape (n_samples, n_features)
        The last states, in the coding of the fit.
    energies : ndarray of shape (n_sweeps + 1, n_samples)
        The energy before the first sweep and after each.
    n_sweeps : int
    converged : ndarray of shape (n_samples,)
        Whether the last sweep changed no unit of a state: it is a fixed point.
    """

    states: Array
    energies: Array
    n_sweeps: int
    converged: Array


class Hopfield(OneToOneFeatureMixin, TransformerMixin, Estimator):
    r"""A Hopfield network: patterns stored in symmetric weights, recalled from parts or noise.

    Units are spins of -1 and 1 with the energy :math:`E(s) = -\tfrac{1}{2} s^T W s`. A unit is set to the sign of its
    input :math:`\sum_j W_{ij} s_j` (and stays where that is zero). One unit at a time, the energy never rises, so that
    a state comes to rest: the stored pattern that it resembles, if not too many are stored.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_features)
        Symmetric, with zero diagonal.
    n_patterns_ : int
        Patterns stored, those of weight zero left out.
    coding_ : str
        'spins' if the patterns had negative values, else 'bits': how recalled states are written.
    certificate_ : Certificate
        The share of units of stored patterns that the network would change; 0 means that every pattern is a fixed
        point.

    Notes
    -----
    A fit takes O(n d^2) time and O(d^2) memory, a sweep of a recall O(d^2) a row. For random patterns Hebb's rule works
    up to about 0.138 patterns a unit, and then fails for all of them at once; see :func:`hopfield_capacity`. A pattern
    and its negative have the same energy.

    References
    ----------
    Hopfield (1982), Neural networks and physical systems with emergent collective computational abilities; Personnaz,
    Guyon and Dreyfus (1985), Information storage and retrieval in spin-glass like neural networks; Storkey (1997),
    Increasing the capacity of a Hopfield network without sacrificing functionality.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import Hopfield
    >>> patterns = np.where(np.random.default_rng(0).random((5, 100)) < 0.5, -1, 1)
    >>> memory = Hopfield().fit(patterns)
    >>> damaged = patterns.copy()
    >>> damaged[:, :20] = 1
    >>> bool((memory.predict(damaged) == patterns).all())
    True
    """

    _needs_rows: ClassVar[str] = "it holds the rows as its patterns"

    rule: str = parameter(
        Choice("hebb", "pseudo_inverse", "storkey"),
        default="hebb",
        kw_only=False,
        doc=r"How patterns :math:`\xi^\mu` become weights. Hebb: :math:`W = \frac{1}{N} \sum_\mu \xi^\mu "
        r"{\xi^\mu}^T` with zero diagonal. Pseudo-inverse: the projection on the span of the patterns, with its "
        "diagonal set to zero, which recalls linearly independent patterns, up to N / 2 of them well. Storkey: "
        "Hebb's rule corrected, pattern by pattern, by what the weights so far predict.",
    )
    updates: str = parameter(
        Choice("asynchronous", "synchronous"),
        default="asynchronous",
        doc="One unit at a time, in a random order for each sweep, or all at once; the latter may end in a cycle of "
        "two states.",
    )
    max_iter: int = parameter(Integer(1), default=100, doc="Most sweeps of a recall.")
    threshold: float = parameter(
        Real(),
        default=0.0,
        doc="Values above it are 1, others -1: rows of -1 and 1, and rows of 0 and 1, are read as they should be.",
    )
    random_state: Any = parameter(Seed(), default=0, doc="Seed of the order of units in recalls.")

    _law_exceptions: ClassVar[dict[str, str]] = {}
    _objective_moves: ClassVar[str | None] = None
    _stalled_cure = "store fewer patterns, or use rule='pseudo_inverse'"

    _stored: ClassVar[dict[str, Stored]] = {
        "weights_": floats("columns, columns"),
        "n_patterns_": numbers(),
        "coding_": texts(),
    }
    _depends_on_units = ("place",)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Hopfield":
        """Store patterns.

        Parameters
        ----------
        X : array-like of shape (n_patterns, n_features)
            Patterns of -1 and 1 or of 0 and 1; other values are compared with the threshold.
        sample_weight : array-like of shape (n_patterns,) or None, default=None
            How often each pattern is stored.
        """
        source = self._open(X, None, sample_weight)
        d = source.n_features
        # 24 bytes an entry allow for three matrices of float64 at once.
        require_memory("Hopfield", 24.0 * d * d, f"{d} x {d} weights", "drop features, or store parts of the patterns")

        def solve(start: HopfieldState | None) -> Solver[HopfieldState]:
            return store_patterns(self.rule, self.threshold)

        outcome = self._drive(solve, source, max_steps=1)
        self._conclude(outcome)
        return self

    def _fitted(self, state: HopfieldState) -> dict[str, Any]:
        return {"weights_": state.weights, "n_patterns_": state.n_patterns, "coding_": find_coding(state.least)}

    def energy(self, X: Any) -> Array:
        """Compute the energy of states, -s^T W s / 2.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return _measure_energies(self.weights_, self._read(X))

    def recall(self, X: Any) -> Recall:
        """Let states come to rest, and record their energies on the way.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Damaged or partial patterns.

        Returns
        -------
        Recall
        """
        spins = self._read(X)
        random = np.random.default_rng(seed_sequence(self.random_state))
        energies = [_measure_energies(self.weights_, spins)]
        moving = np.ones(len(spins), dtype=bool)
        n_sweeps = 0
        with one_blas_thread():
            while moving.any() and n_sweeps < self.max_iter:
                order = random.permutation(spins.shape[1])
                before = spins.copy()
                sweep_units(self.weights_, spins, order if self.updates == "asynchronous" else None)
                # A row that no sweep has changed is at rest; the recall ends when all are.
                moving = (spins != before).any(axis=1)
                energies.append(_measure_energies(self.weights_, spins))
                n_sweeps += 1
        dtype = np.asarray(X).dtype if hasattr(X, "dtype") else np.float64
        states = decode_spins(spins, self.coding_, dtype if np.dtype(dtype).kind == "f" else np.float64)
        return Recall(states, np.array(energies), n_sweeps, ~moving)

    def predict(self, X: Any) -> Array:
        """Return the states in which rows come to rest, in the coding of the stored patterns.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return self.recall(X).states

    def transform(self, X: Any) -> Array:
        """Return the states in which rows come to rest; the same as :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return self.recall(X).states

    def is_fixed_point(self, X: Any) -> Array:
        """Return whether no unit of a state would change.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of booleans
        """
        spins = self._read(X)
        return (spins * (spins @ self.weights_) >= 0).all(axis=1)

    def _read(self, X: Any) -> Array:
        source = open_new_rows(self, X)
        return read_spins(np.concatenate([block.dense() for block in source.blocks()]), self.threshold)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def sweep_units(weights: Array, spins: Array, order: Array) -> None:
    """Set every unit of each row to the sign of its input: one after the other, or all at once if `order` is None."""
    if order is None:
        inputs = spins @ weights
        # An input of zero leaves a unit as it is.
        np.copyto(spins, np.sign(inputs), where=inputs != 0)
        return
    inputs = spins @ weights
    for unit in order:
        wish = np.sign(inputs[:, unit])
        # One unit after the other, in all rows at once: the energy of no row can rise.
        change = np.where(wish != 0, wish - spins[:, unit], 0.0)
        turned = np.flatnonzero(change)
        if len(turned):
            spins[turned, unit] += change[turned]
            inputs[turned] += change[turned, None] * weights[unit]


def _measure_energies(weights: Array, spins: Array) -> Array:
    return -0.5 * np.einsum("ij,ij->i", spins @ weights, spins)
