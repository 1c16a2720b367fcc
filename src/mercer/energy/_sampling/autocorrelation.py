"""How many independent samples a Markov chain is worth."""

from typing import Any

import numpy as np
from scipy import fft

from mercer.errors import DataError

# Sums of autocorrelations stop at this many times their own value (Sokal's rule): longer sums only add noise.
_WINDOW = 3.0


def autocorrelation_time(series: Any) -> float:
    """Estimate tau = 1 + 2 sum_t rho(t), the steps of a chain that are worth one independent sample.

    The sum ends at the first lag that is at least three times the sum so far (Sokal, 1997). Chains in rows share one
    mean and one autocorrelation function.

    Parameters
    ----------
    series : array-like of shape (n,) or (n_chains, n)
        An observable along the chain.

    Returns
    -------
    float
        1 for independent values, and for a constant series; infinite where the series is too short to tell.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.energy import autocorrelation_time
    >>> random, x = np.random.default_rng(0), np.zeros(100_000)
    >>> for t in range(1, len(x)):
    ...     x[t] = 0.8 * x[t - 1] + random.normal()
    >>> bool(abs(autocorrelation_time(x) - 9.0) < 0.7)  # (1 + 0.8) / (1 - 0.8)
    True
    """
    chains = np.atleast_2d(np.asarray(series, dtype=np.float64))
    if chains.ndim != 2 or not chains.shape[1] or not np.all(np.isfinite(chains)):
        raise DataError(
            f"autocorrelation_time: series must be finite numbers, of shape (n,) or (n_chains, n); "
            f"got shape {np.shape(series)}."
        )
    n = chains.shape[1]
    centred = chains - chains.mean()
    # Padded to twice the length, the product of transforms is the sum over all pairs at a lag, without wrapping around.
    length = fft.next_fast_len(2 * n, real=True)
    power = np.abs(fft.rfft(centred, length, axis=1)) ** 2
    covariance = fft.irfft(power, length, axis=1)[:, :n].mean(axis=0) / n
    # Rounding leaves a constant series some 1e-32 of its square.
    if covariance[0] <= 1e-28 * max(1.0, float(np.max(chains**2))):
        return 1.0
    tau = 2.0 * np.cumsum(covariance / covariance[0]) - 1.0
    beyond = np.flatnonzero(np.arange(n) >= _WINDOW * tau)
    return max(1.0, float(tau[beyond[0]])) if len(beyond) else np.inf


def effective_sample_size(series: Any) -> float:
    """Estimate how many independent samples a chain is worth: n / tau.

    Parameters
    ----------
    series : array-like of shape (n,) or (n_chains, n)
        An observable along the chain, or along each of some chains.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.energy import effective_sample_size
    >>> effective_sample_size(np.repeat(np.random.default_rng(0).normal(size=2000), 5)) < 2600
    True
    """
    return np.size(series) / autocorrelation_time(series)
