"""Shapley values of any function of rows: over all coalitions, or over orders of the columns drawn at random."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaln

from mercer._types import Array
from mercer.explain._rows import Mixer, Players, Table

# Rows for which the model is asked at a time.
_ASKED = 2**15
# Relative difference up to which a sum of effects of single columns counts as equal to the answer.
_ADDITIVE = 1e-9
# Rows on which a function is first tried for being a sum of effects of single columns.
_TRIED = 8
# Mixtures of rows on which such a sum must hold too: answers in steps may agree on few.
_MIXTURES = 256


@dataclass(frozen=True, eq=False)
class Shares:
    """Shapley values (n, players, k), or of pairs, their standard errors or None, and base values (k,)."""

    values: Array
    errors: Array | None
    base: Array


@dataclass(frozen=True, eq=False)
class Game:
    """A function of rows, and what its unknown columns are filled in with.

    Attributes
    ----------
    ask : callable
        From rows to answers (n, k).
    rows, background : Table
    players : Players
    """

    ask: Callable[[Any], Array]
    rows: Table
    background: Table
    players: Players

    def play(self, row: Array, other: Array, coalitions: Array) -> Array:
        """Return the answers (r, k) for mixtures of explained and background rows, by coalitions (r, players)."""
        mixer, answers = self._mixer, []
        for start in range(0, len(row), _ASKED):
            part = slice(start, start + _ASKED)
            answers.append(self.ask(mixer.mix(row[part], other[part], self.players.spread(coalitions[part]))))
        return np.concatenate(answers)

    @property
    def _mixer(self) -> Mixer:
        if "_kept" not in vars(self):
            object.__setattr__(self, "_kept", Mixer(self.rows, self.background))
        kept: Mixer = vars(self)["_kept"]
        return kept

    def ask_all(self) -> tuple[Array, Array]:
        """Return the answers to the explained rows (n, k), and to the background (m, k)."""
        return _ask(self.ask, self.rows), _ask(self.ask, self.background)


def _ask(ask: Callable[[Any], Array], table: Table) -> Array:
    parts = [ask(table.take(slice(start, start + _ASKED)).rows) for start in range(0, len(table), _ASKED)]
    return np.concatenate(parts)


def share_additive(game: Game) -> Shares | None:
    """Return the shares of a function that is a sum of effects of single players; None if it is not such a sum.

    The effects are measured from the first background row; their sum must be the answer to all rows.
    """
    tried = np.arange(min(_TRIED, len(game.rows)))
    few = Game(game.ask, game.rows.take(tried), game.background, game.players)
    if _measure_effects(few, few.rows, few.ask(few.rows.rows)) is None:
        return None
    answers, others = game.ask_all()
    effects = _measure_effects(game, game.rows, answers)
    means = _measure_effects(game, game.background, others)
    if effects is None or means is None or not _hold_mixtures(game, effects, means):
        return None
    return Shares(effects - means.mean(axis=0), None, others.mean(axis=0))


def _hold_mixtures(game: Game, effects: Array, means: Array) -> bool:
    """Return whether answers to random mixtures of rows are the sums of the effects of their columns."""
    rng = np.random.default_rng(0)
    row, other = rng.integers(len(effects), size=_MIXTURES), rng.integers(len(means), size=_MIXTURES)
    coalitions = rng.random((_MIXTURES, len(game.players))) < rng.random((_MIXTURES, 1))
    mixed = np.where(coalitions[:, :, None], effects[row], means[other])
    base = game.ask(game.background.take(np.zeros(1, np.int64)).rows)[0]
    gaps = np.abs(game.play(row, other, coalitions) - base - mixed.sum(axis=1))
    return bool((gaps <= _ADDITIVE * _find_scale(mixed, base)).all())


def _find_scale(effects: Array, base: Array) -> Array:
    """Return the size of the numbers (k,) that sums of effects (n, players, k) are made of."""
    return np.asarray(np.abs(effects).sum(axis=(0, 1)) / len(effects) + np.abs(base))


def _measure_effects(game: Game, table: Table, answers: Array) -> Array | None:
    """Return what each player's columns change (n, players, k) from the first background row on, or None."""
    n, g = len(table), len(game.players)
    start = game.background.take(np.zeros(1, np.int64))
    from_start = Game(game.ask, table, start, game.players)
    rows, singles = np.repeat(np.arange(n), g), np.tile(np.eye(g, dtype=bool), (n, 1))
    base = game.ask(start.rows)[0]
    effects = from_start.play(rows, np.zeros(n * g, np.int64), singles).reshape(n, g, -1) - base
    gaps = np.abs(effects.sum(axis=1) + base - answers)
    return effects if (gaps <= _ADDITIVE * _find_scale(effects, base)).all() else None


def share_exactly(game: Game, pairs: bool = False) -> Shares:
    """Return the shares over all coalitions: 2^players answers for each pair of an explained and a background row."""
    n, m, g = len(game.rows), len(game.background), len(game.players)
    coalitions = (np.arange(2**g)[:, None] >> np.arange(g) & 1).astype(bool)
    sizes, shares, worth = coalitions.sum(axis=1), [], None
    for row in range(n):
        count = len(coalitions) * m
        answers = game.play(
            np.full(count, row), np.tile(np.arange(m), len(coalitions)), np.repeat(coalitions, m, axis=0)
        )
        worth = answers.reshape(len(coalitions), m, -1).mean(axis=1)
        single = _weigh_single(worth, coalitions, sizes)
        shares.append(_weigh_pairs(worth, coalitions, sizes, single) if pairs else single)
    assert worth is not None
    return Shares(np.array(shares), None, worth[0])


def _weigh_single(worth: Array, coalitions: Array, sizes: Array) -> Array:
    """Return the Shapley values (players, k) from what coalitions are worth (2^players, k)."""
    g = coalitions.shape[1]
    # s! (g - s - 1)! / g! for the s others in a coalition.
    weights = np.exp(betaln(sizes + 1.0, np.maximum(g - sizes, 1.0)))
    with_weights = np.exp(betaln(np.maximum(sizes, 1.0), g - sizes + 1.0))
    signed = np.where(coalitions, with_weights[:, None], -weights[:, None])
    return np.asarray(signed.T @ worth)


def _weigh_pairs(worth: Array, coalitions: Array, sizes: Array, single: Array) -> Array:
    """Return what pairs share (players, players, k): half of their interaction index, and the rest on the diagonal."""
    g = coalitions.shape[1]
    pairs = np.zeros((g, g, worth.shape[1]))
    for i in range(g):
        for j in range(i):
            both = coalitions[:, i].astype(int) + coalitions[:, j]
            others = sizes - both
            weights = np.exp(betaln(others + 1.0, g - others - 1.0))
            signed = np.where(both == 1, -weights, weights)
            pairs[i, j] = pairs[j, i] = signed @ worth / 2.0
    return put_singles(pairs, single)


def put_singles(pairs: Array, single: Array) -> Array:
    """Return pairs (..., players, players, k) with what is left of the Shapley values on the diagonal."""
    place = np.arange(pairs.shape[-2])
    pairs[..., place, place, :] = single - pairs.sum(axis=-2)
    return pairs


def share_by_sampling(game: Game, n_orders: int, rng: np.random.Generator) -> Shares:
    """Return shares with standard errors: players become known in random orders, each used forwards and backwards.

    Each background row serves as many orders as any other, so that the values of a row and the base value, the mean
    answer over the background, add up to its answer.
    """
    n, m, g = len(game.rows), len(game.background), len(game.players)
    rounds = -(-max(n_orders, 2) // m)
    others = np.tile(np.arange(m), rounds)
    answers, base = game.ask_all()
    values, errors = np.empty((n, g, answers.shape[1])), np.empty((n, g, answers.shape[1]))
    for row in range(n):
        orders = rng.permuted(np.tile(np.arange(g), (len(others), 1)), axis=1)
        ends = base[others], answers[row]
        forwards = _follow(game, row, others, orders, ends)
        pairs = (forwards + _follow(game, row, others, orders[:, ::-1], ends)) / 2.0
        values[row] = pairs.mean(axis=0)
        # Background rows are strata: what differs between them is no error.
        strata = pairs.reshape(rounds, m, g, -1)
        spread = strata.var(axis=0, ddof=1).mean(axis=0) if rounds > 1 else pairs.var(axis=0, ddof=1)
        errors[row] = np.sqrt(spread / len(others))
    return Shares(values, errors, base.mean(axis=0))


def _follow(game: Game, row: int, others: Array, orders: Array, ends: tuple[Array, Array]) -> Array:
    """Return what each player changes (orders, players, k) where they become known in an order (orders, players)."""
    count, g = orders.shape
    ranks = np.argsort(orders, axis=1)
    # After step s the players with ranks up to s are known; what none and all know is known already.
    known = ranks[:, None, :] <= np.arange(g - 1)[:, None]
    worth = game.play(np.full(count * (g - 1), row), np.repeat(others, g - 1), known.reshape(-1, g))
    chain = np.concatenate(
        [ends[0][:, None], worth.reshape(count, g - 1, -1), np.broadcast_to(ends[1], (count, 1, worth.shape[1]))],
        axis=1,
    )
    return np.asarray(np.take_along_axis(np.diff(chain, axis=1), ranks[:, :, None], axis=1))
