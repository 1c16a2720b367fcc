"""The rows that a round of boosting learns from: each is drawn by a random value of its own."""

import numpy as np
from scipy.stats import binom

from mercer._types import Array

# 2**64 over the golden ratio: the increment of splitmix64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def make_row_seed(entropy: tuple[int, ...]) -> int:
    """Return the seed from which, with the index of a row, the random value of the row follows."""
    return int(np.random.SeedSequence(list(entropy)).generate_state(1, np.uint64)[0])


def draw_uniform(n: int, entropy: tuple[int, ...], start: int = 0) -> Array:
    """Return uniform values in [0, 1) for the n rows from index `start` on.

    The value of a row follows from its index and `entropy` alone: the finaliser of splitmix64 is applied to a counter,
    so that it depends neither on threads nor on the other rows. words.h has the compiled twin.
    """
    first = np.uint64(make_row_seed(entropy))
    with np.errstate(over="ignore"):
        x = first + np.arange(start + 1, start + n + 1, dtype=np.uint64) * _GOLDEN
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)) * 2.0**-53


def draw_counts(n: int, share: float, counts: Array | None, entropy: tuple[int, ...], start: int = 0) -> Array:
    """Return how often each row is drawn, int64.

    Parameters
    ----------
    n : int
    share : float
        The probability that a row is drawn.
    counts : (n,) or None
        How many rows each row stands for. Each of them is drawn independently, so that weights are repetitions in
        distribution.
    entropy : tuple of int
    start : int
        The index of the first row.
    """
    uniform = draw_uniform(n, entropy, start)
    if counts is None:
        return (uniform < share).astype(np.int64)
    return binom.ppf(uniform, counts, share).astype(np.int64)
