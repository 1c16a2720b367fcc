"""The rows that a round of boosting learns from: drawn row by row, each by a number of its own."""

from typing import Any

import numpy as np
from scipy.stats import binom

__all__ = ["drawn_counts", "row_seed", "uniform_numbers"]

Array = Any
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def row_seed(entropy: tuple[int, ...]) -> int:
    """What the numbers of rows are made from, beside their places."""
    return int(np.random.SeedSequence(list(entropy)).generate_state(1, np.uint64)[0])


def uniform_numbers(n: int, entropy: tuple[int, ...], start: int = 0) -> Array:
    """Numbers in [0, 1) of n rows from `start` on: that of a row follows from its place and the entropy alone.

    The finaliser of splitmix64 is applied to a counter, so that neither threads nor the other rows have a say. words.h
    has the compiled twin.
    """
    first = np.uint64(row_seed(entropy))
    with np.errstate(over="ignore"):
        x = first + np.arange(start + 1, start + n + 1, dtype=np.uint64) * _GOLDEN
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)) * 2.0**-53


def drawn_counts(n: int, share: float, counts: Array | None, entropy: tuple[int, ...], start: int = 0) -> Array:
    """How often each row is drawn, int64.

    Parameters
    ----------
    n : int
    share : float
        The chance of a row to be drawn.
    counts : (n,) or None
        How many rows each stands for; each of these is drawn by itself, so that weights are repetitions in
        distribution.
    entropy : tuple of int
    start : int
        The number of the first row.
    """
    number = uniform_numbers(n, entropy, start)
    if counts is None:
        return (number < share).astype(np.int64)
    return binom.ppf(number, counts, share).astype(np.int64)
