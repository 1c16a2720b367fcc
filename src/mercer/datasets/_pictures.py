"""Pictures of few degrees of freedom, and binary patterns with noisy copies."""

import math
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from mercer._base.randomness import seed_sequence
from mercer.datasets._rules import check, check_noise, check_samples


def make_low_rank(
    n_samples: int = 200,
    *,
    shape: tuple[int, int] = (16, 16),
    rank: int = 5,
    noise: float = 0.05,
    random_state: Any = 0,
) -> Bunch:
    """Draw pictures as the sum of a mean, a few smooth pictures in random amounts, and noise, like faces.

    x = m + sum_k sqrt(lambda_k) z_k e_k + noise, z_k Gaussian of variance one, e_k orthonormal, so that the principal
    components of the rows are the e_k, of variances lambda_k + noise^2, and all others have variance noise^2.

    Parameters
    ----------
    n_samples : int, default=200
        Number of pictures.
    shape : tuple of two ints, default=(16, 16)
        Their height and width.
    rank : int, default=5
        Number of smooth pictures, at most height times width.
    noise : float, default=0.05
        Standard deviation of the noise at each point.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    rows : Bunch
        ``data`` (n_samples x height width), ``images`` (the same as pictures), and the truth: ``mean`` (m),
        ``components`` (the e_k, as rows), ``variances`` (lambda_k = 4^(1 - k)), ``scores`` (sqrt(lambda_k) z_k),
        ``noise``.

    Examples
    --------
    >>> from mercer.datasets import make_low_rank
    >>> from mercer.decomposition import PCA
    >>> faces = make_low_rank(500, rank=3)
    >>> found = PCA(3).fit(faces.data)
    >>> (abs(found.components_ @ faces.components.T).diagonal() > 0.99).tolist()
    [True, True, True]
    """
    subject = "make_low_rank"
    check_samples(subject, n_samples)
    height, width = shape
    check(subject, "shape", shape, height > 0 and width > 0, "two positive integers", "Give height and width.")
    check(subject, "rank", rank, 0 < rank <= height * width, f"an integer in [1, {height * width}]", "Lower it.")
    check_noise(subject, noise)
    random = np.random.default_rng(seed_sequence(random_state))
    # Pixels are sampled at their centres, in units of the picture.
    y, x = ((np.arange(length) + 0.5) / length for length in shape)
    oval = np.exp(-4.0 * np.add.outer((y - 0.5) ** 2, 1.6 * (x - 0.5) ** 2))
    components = _make_waves(y, x, rank)
    # Each component has a quarter of the variance of the one before, so that their order is clear.
    variances = 4.0 ** -np.arange(rank)
    scores = np.sqrt(variances) * random.normal(size=(n_samples, rank))
    rows = oval.reshape(-1) + scores @ components + noise * random.normal(size=(n_samples, height * width))
    return Bunch(
        data=rows,
        images=rows.reshape(n_samples, height, width),
        mean=oval.reshape(-1),
        components=components,
        variances=variances,
        scores=scores,
        noise=float(noise),
    )


def _make_waves(y: np.ndarray, x: np.ndarray, count: int) -> np.ndarray:
    """Return the `count` longest cosine waves of a picture, which are orthogonal on its grid."""
    # cos(pi k (i + 1/2) / n) is the discrete cosine transform of type II, orthogonal in k.
    down, along = (np.cos(math.pi * np.outer(np.arange(len(axis)), axis)) for axis in (y, x))
    # The squared spatial frequency of the wave (j, k) is proportional to j^2 + k^2.
    frequencies = np.add.outer(np.arange(len(y)) ** 2, np.arange(len(x)) ** 2).reshape(-1)
    order = np.argsort(frequencies, kind="stable")[:count]
    waves = down[order // len(x)][:, :, None] * along[order % len(x)][:, None, :]
    flat = waves.reshape(count, -1)
    return flat / np.linalg.norm(flat, axis=1, keepdims=True)


def make_patterns(
    n_patterns: int = 5,
    n_units: int = 100,
    *,
    n_copies: int = 20,
    flip: float = 0.1,
    values: tuple[float, float] = (-1.0, 1.0),
    random_state: Any = 0,
) -> Bunch:
    """Draw binary patterns, and copies of each in which every unit is flipped with a given probability.

    Parameters
    ----------
    n_patterns : int, default=5
        Number of patterns; each unit of each is either value with probability one half.
    n_units : int, default=100
        Units of a pattern.
    n_copies : int, default=20
        Noisy copies of each pattern.
    flip : float, default=0.1
        Probability that a unit of a copy has the other value.
    values : tuple of two floats, default=(-1.0, 1.0)
        The two values.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    rows : Bunch
        ``data`` (n_patterns n_copies x n_units), ``target`` (the index of the pattern), and the truth: ``patterns``
        (n_patterns x n_units), ``flip``.

    Examples
    --------
    >>> from mercer.datasets import make_patterns
    >>> rows = make_patterns(3, 200)
    >>> float((rows.data != rows.patterns[rows.target]).mean().round(1))
    0.1
    """
    subject = "make_patterns"
    for name, count in (("n_patterns", n_patterns), ("n_units", n_units), ("n_copies", n_copies)):
        check(subject, name, count, count >= 1, "an integer in [1, inf)", "Ask for one or more.")
    check(subject, "flip", flip, bool(0 <= flip <= 1), "a probability in [0, 1]", "Divide percentages by 100.")
    low, high = values
    check(subject, "values", values, low != high, "two different numbers", "Give for instance (0, 1).")
    random = np.random.default_rng(seed_sequence(random_state))
    ones = random.random((n_patterns, n_units)) < 0.5
    target = np.repeat(np.arange(n_patterns), n_copies)
    # Exclusive or with a random mask flips the units of the mask.
    copies = ones[target] ^ (random.random((len(target), n_units)) < flip)
    data, patterns = (np.where(mask, float(high), float(low)) for mask in (copies, ones))
    return Bunch(data=data, target=target, patterns=patterns, flip=float(flip))
