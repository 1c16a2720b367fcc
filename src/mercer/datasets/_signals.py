"""Mixed sources and autoregressive sources, for blind source separation."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import companion, solve_discrete_lyapunov
from scipy.signal import lfilter, lfiltic
from sklearn.utils import Bunch

from mercer._base.randomness import generators, seed_sequence
from mercer.datasets._rules import check, check_noise, check_samples

Draw = Callable[[np.random.Generator, int], np.ndarray]


def _draw_phase(random: np.random.Generator, n: int) -> np.ndarray:
    """Draw the phase, from 0 to 1, of a periodic signal with 5 to 25 periods over the rows."""
    return (random.uniform(5.0, 25.0) * np.arange(n) / n + random.uniform()) % 1.0


# All have mean zero and variance one.
LAWS: dict[str, Draw] = {
    "uniform": lambda random, n: random.uniform(-math.sqrt(3), math.sqrt(3), n),
    "laplace": lambda random, n: random.laplace(0.0, math.sqrt(0.5), n),
    "gaussian": lambda random, n: random.normal(size=n),
    "exponential": lambda random, n: random.exponential(size=n) - 1.0,
    "binary": lambda random, n: random.choice([-1.0, 1.0], n),
    "sine": lambda random, n: math.sqrt(2) * np.sin(2 * math.pi * _draw_phase(random, n)),
    "sawtooth": lambda random, n: math.sqrt(3) * (2.0 * _draw_phase(random, n) - 1.0),
    "square": lambda random, n: np.where(_draw_phase(random, n) < 0.5, -1.0, 1.0),
}


def _draw_source(law: Any, random: np.random.Generator, n: int) -> np.ndarray:
    """Draw one source by the name of its law, or by its autoregressive coefficients, scaled to variance one."""
    if isinstance(law, str):
        return LAWS[law](random, n)
    seed = np.random.SeedSequence(int(random.integers(2**63)))
    series, variance, _ = _draw_series("make_mixed_sources", np.asarray(law, dtype=np.float64), n, 1.0, seed)
    # The stationary variance is known, so it divides instead of that of the draw.
    return series / math.sqrt(variance)


def make_mixed_sources(
    n_samples: int = 1000,
    *,
    sources: Any = ("uniform", "laplace"),
    mixing: Any = None,
    noise: float = 0.0,
    random_state: Any = 0,
) -> Bunch:
    """Draw independent sources s and mix them: x = A s + noise.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    sources : sequence of str or sequence of float, default=("uniform", "laplace")
        The law of each source, of mean zero and variance one: ``"uniform"``, ``"laplace"``, ``"gaussian"``,
        ``"exponential"`` or ``"binary"``, drawn row by row; ``"sine"``, ``"sawtooth"`` or ``"square"``, waves of random
        frequency and phase, which are uncorrelated over many periods only. Numbers in place of a name are the
        coefficients of an autoregressive source in time.
    mixing : array-like of shape (n_features, n_sources) or None, default=None
        A; None means a random square one of condition number two.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on each column of x.
    random_state : None, int, RandomState or Generator, default=0
        The seed; each source has a stream of its own.

    Returns
    -------
    rows : Bunch
        ``data`` (x), and the truth: ``sources`` (n_samples x n_sources), ``mixing`` (A), ``unmixing`` (its
        pseudo-inverse), ``laws``, ``noise``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_mixed_sources
    >>> rows = make_mixed_sources(500, sources=["sine", "laplace"])
    >>> bool(np.allclose(rows.data @ rows.unmixing.T, rows.sources))
    True
    """
    subject = "make_mixed_sources"
    laws = [law if isinstance(law, str) else tuple(np.atleast_1d(law).tolist()) for law in sources]
    check_samples(subject, n_samples)
    unknown = [law for law in laws if isinstance(law, str) and law not in LAWS]
    known = f"among {', '.join(LAWS)}, or autoregressive coefficients"
    check(subject, "sources", unknown or laws, bool(laws) and not unknown, known, "Name the laws.")
    check_noise(subject, noise)
    # Each source has a stream of its own, and the mixing and the noise share the last.
    *streams, rest = generators(random_state, len(laws) + 1)
    S = np.column_stack([_draw_source(law, random, n_samples) for law, random in zip(laws, streams)])
    if mixing is None:
        # Two random rotations around the singular values 2 to 1 give a condition number of 2, which is easy to invert.
        left, right = (np.linalg.qr(rest.normal(size=(len(laws), len(laws))))[0] for _ in range(2))
        mixing = (left * np.linspace(2.0, 1.0, len(laws))) @ right
    A = np.asarray(mixing, dtype=np.float64)
    holds = A.ndim == 2 and A.shape[1] == len(laws)
    check(subject, "mixing", A.shape, holds, f"a matrix with {len(laws)} columns, one for each source", "Transpose it.")
    rows = S @ A.T
    rows += noise * rest.normal(size=rows.shape)
    return Bunch(data=rows, sources=S, mixing=A, unmixing=np.linalg.pinv(A), laws=laws, noise=float(noise))


def make_autoregressive(
    n_samples: int = 1000, *, coefficients: Any = ((0.9,), (0.5, -0.8)), noise: float = 1.0, random_state: Any = 0
) -> Bunch:
    """Draw stationary autoregressive sources x_t = a_1 x_(t-1) + a_2 x_(t-2) + ... + noise, independent of each other.

    The first values are drawn from the stationary law itself, so that no row is nearer to a start than another.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows: the times t.
    coefficients : sequence of array-like, default=((0.9,), (0.5, -0.8))
        a_1, a_2... of each source.
    noise : float, default=1.0
        Standard deviation of the noise that drives each source.
    random_state : None, int, RandomState or Generator, default=0
        The seed; each source has a stream of its own.

    Returns
    -------
    rows : Bunch
        ``data`` (n_samples x n_sources), and the truth: ``coefficients``, ``noise``, ``variances`` of the sources and
        ``correlations``, of each source with itself one row before.

    Examples
    --------
    >>> from mercer.datasets import make_autoregressive
    >>> rows = make_autoregressive(coefficients=[[0.6]])
    >>> rows.variances.round(4), rows.correlations
    (array([1.5625]), array([0.6]))
    """
    subject = "make_autoregressive"
    check_samples(subject, n_samples)
    check(subject, "noise", noise, bool(noise > 0), "a number in (0, inf)", "It is a standard deviation.")
    numbers = [np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in coefficients]
    check(subject, "coefficients", numbers, bool(numbers), "a sequence for each source", "Give one at least.")
    seeds = seed_sequence(random_state).spawn(len(numbers))
    parts = [_draw_series(subject, values, n_samples, noise, seed) for values, seed in zip(numbers, seeds)]
    data, variances, correlations = (list(column) for column in zip(*parts))
    return Bunch(
        data=np.column_stack(data),
        coefficients=numbers,
        noise=float(noise),
        variances=np.array(variances),
        correlations=np.array(correlations),
    )


def _draw_series(
    subject: str, a: np.ndarray, n: int, noise: float, seed: np.random.SeedSequence
) -> tuple[np.ndarray, float, float]:
    """Draw one source; return it with its variance and its correlation at lag one (by the Lyapunov equation)."""
    # At least two past values, so that their covariance includes lag one.
    padded = np.append(a, np.zeros(max(0, 2 - len(a))))
    step = companion(np.append(1.0, -padded))
    size = np.abs(np.linalg.eigvals(step)).max()
    rule = "such that the roots of z^p = a_1 z^(p-1) + ... + a_p lie within the unit circle"
    check(subject, "coefficients", a.tolist(), bool(size < 1.0), rule, "Make them smaller: the source would explode.")
    drive = np.zeros_like(step)
    drive[0, 0] = noise**2
    covariance = solve_discrete_lyapunov(step, drive)
    random = np.random.default_rng(seed)
    past = np.linalg.cholesky(covariance) @ random.normal(size=len(padded))
    kept = lfiltic([1.0], np.append(1.0, -padded), past)
    series, _ = lfilter([1.0], np.append(1.0, -padded), noise * random.normal(size=n), zi=kept)
    return series, float(covariance[0, 0]), float(covariance[0, 1] / covariance[0, 0])
