"""A known curve with noise: the first example of regression."""

from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from sklearn.utils import Bunch

from mercer._base.randomness import seed_sequence
from mercer.datasets._rules import check, check_noise, check_samples


def make_polynomial(
    n_samples: int = 100,
    coefficients: Any = (0.0, 2.0),
    *,
    noise: float = 1.0,
    interval: tuple[float, float] = (0.0, 1.0),
    random_state: Any = 0,
) -> Bunch:
    """Draw y = f(x) + noise of a polynomial f, with x uniform in an interval.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows.
    coefficients : array-like, default=(0.0, 2.0)
        c_0, c_1... of f(x) = c_0 + c_1 x + c_2 x^2 + ...
    noise : float, default=1.0
        Standard deviation of the Gaussian noise.
    interval : tuple of two floats, default=(0.0, 1.0)
        Where x lies.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    rows : Bunch
        ``data`` (n_samples x 1), ``target``, and the truth: ``function`` (f, to be called), ``expected`` (f of the
        rows), ``coefficients``, ``noise``.

    Examples
    --------
    >>> from mercer.datasets import make_polynomial
    >>> rows = make_polynomial(1000, (0.0, 2.0, -10.0), noise=0.5)
    >>> rows.data.shape, float(rows.function(1.0)), round(float((rows.target - rows.expected).std()), 1)
    ((1000, 1), -8.0, 0.5)
    """
    subject = "make_polynomial"
    check_samples(subject, n_samples)
    numbers = np.asarray(coefficients, dtype=np.float64)
    usable = numbers.ndim == 1 and numbers.size > 0 and bool(np.isfinite(numbers).all())
    check(subject, "coefficients", coefficients, usable, "one finite number or more", "Give c_0, c_1 and so on.")
    check_noise(subject, noise)
    low, high = interval
    check(subject, "interval", interval, bool(low < high), "two numbers, the first below the second", "Swap them.")
    random = np.random.default_rng(seed_sequence(random_state))
    x = random.uniform(low, high, n_samples)
    # NumPy's Polynomial takes c_0 first: f(x) = c_0 + c_1 x + ...
    function = Polynomial(numbers)
    expected = function(x)
    target = expected + noise * random.normal(size=n_samples)
    return Bunch(
        data=x[:, None], target=target, function=function, expected=expected, coefficients=numbers, noise=float(noise)
    )
