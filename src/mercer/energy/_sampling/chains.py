"""Markov chains whose stationary distribution is the Gibbs distribution of a model."""

from collections.abc import Callable

import numpy as np

from mercer._native.graph import spin_clusters, spin_sweeps
from mercer._source.threads import n_threads, run_numbered
from mercer.energy._form import PairwiseForm
from mercer.errors import UnsupportedError

METHODS = ("heat bath", "metropolis", "swendsen-wang", "wolff")
# Random numbers are drawn in runs of about this many: 8 MB, and a native call of some 10 ms.
_RUN = 2**20

Mover = Callable[[np.ndarray, int, np.random.Generator], None]


def make_mover(form: PairwiseForm, method: str) -> Mover:
    """Return a function of states (changed), a number of moves, and a random generator."""
    if method in ("heat bath", "metropolis"):
        return _make_sweeper(form, method)
    if form.n_states > 2 and np.any(form.couplings < 0):
        raise UnsupportedError(
            f"simulate: clusters of {form.n_states} states need couplings of at least 0; the least is "
            f'{form.couplings.min():g}. Take method="heat bath".'
        )
    return _make_turner(form) if method == "swendsen-wang" else _make_grower(form)


def order_sites(form: PairwiseForm) -> np.ndarray:
    """Return the sites one colour after the other: a checkerboard on a lattice."""
    return np.concatenate(form.graph.colours).astype(np.int64)


def _make_sweeper(form: PairwiseForm, method: str) -> Mover:
    graph, order = form.graph, order_sites(form)
    pulls, fields = form.beta * form.slot_couplings, form.beta * form.fields
    n, q = fields.shape

    def sweep(states: np.ndarray, n_moves: int, random: np.random.Generator) -> None:
        step = max(1, _RUN // n)
        for start in range(0, n_moves, step):
            chances = random.random((min(step, n_moves - start), n))
            board = (graph.starts, graph.neighbours, pulls, fields, chances)
            if method == "heat bath":
                spin_sweeps.sweep_heat_bath(states, order, *board, np.empty(q))
            else:
                # Sites at random: in a fixed order, moves that are all accepted would turn every spin in every sweep.
                visits = random.integers(n, size=chances.shape)
                # Two states leave no choice of another.
                offers = np.ones(chances.shape, dtype=np.int16)
                if q > 2:
                    offers = random.integers(1, q, size=chances.shape, dtype=np.int16)
                spin_sweeps.sweep_metropolis(states, visits, *board, offers)

    return sweep


def _make_turner(form: PairwiseForm) -> Mover:
    graph, fields = form.graph, form.beta * form.fields
    # 1 - exp(-beta |K|), with the sign of K: it tells whether equal or opposite states may join.
    closing = -np.expm1(-form.beta * np.abs(form.couplings)) * np.sign(form.couplings)
    n, q = fields.shape

    def turn(states: np.ndarray, n_moves: int, random: np.random.Generator) -> None:
        roots, sums = np.empty(n, dtype=np.int64), np.empty((n, q))
        for _ in range(n_moves):
            bonds, sites = random.random(len(closing)), random.random(n)
            spin_clusters.turn_clusters(states, graph.edges, closing, fields, bonds, sites, roots, sums)

    return turn


def _make_grower(form: PairwiseForm) -> Mover:
    graph, fields = form.graph, form.beta * form.fields
    closing = -np.expm1(-form.beta * np.abs(form.slot_couplings)) * np.sign(form.slot_couplings)
    n, most = len(fields), 3 + len(closing)
    stack, inside = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    counts = np.zeros(4, dtype=np.int64)
    # Most clusters take few numbers: one pool serves many of them, and moves go on where the last ones stopped.
    pool = np.empty(0)

    def grow(states: np.ndarray, n_moves: int, random: np.random.Generator) -> None:
        nonlocal pool
        counts[0] = n_moves
        while counts[0] > 0:
            if len(pool) < most:
                pool = random.random(8 * most)
            spin_clusters.grow_clusters(
                states, graph.starts, graph.neighbours, closing, fields, pool, stack, inside, counts
            )
            pool = pool[counts[1] :]

    return grow


def run_chains(
    form: PairwiseForm,
    method: str,
    starts: np.ndarray,
    counts: tuple[int, int, int],
    root: np.random.SeedSequence,
    n_jobs: int | None,
) -> np.ndarray:
    """Return the states of each chain, (n_chains, n_samples, n); counts are samples, moves between them, burn-in."""
    n_samples, thin, burn_in = counts
    n_chains, n = starts.shape
    recorded = np.empty((n_chains, n_samples, n), dtype=np.int16)
    # Each chain has its own stream: results do not depend on which thread runs it.
    streams = [np.random.default_rng(child) for child in root.spawn(n_chains)]

    def run(chain: int) -> None:
        states, move = starts[chain].copy(), make_mover(form, method)
        move(states, burn_in, streams[chain])
        for sample in range(n_samples):
            move(states, thin, streams[chain])
            recorded[chain, sample] = states

    run_numbered(run, n_chains, n_threads(n_jobs))
    return recorded
