"""The lemma of Johnson and Lindenstrauss: how many random axes keep all distances, and how well some axes keep them."""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from mercer._base.reading import read_integer, read_numbers


def johnson_lindenstrauss_min_dim(n_samples: Any, *, eps: Any = 0.1) -> Any:
    r"""Return the number of random axes that keep all squared distances between rows within a factor of 1 +- eps.

    For one pair the squared length of the projected difference is :math:`\chi^2_k / k` times the true one, and leaves
    :math:`1 \pm \varepsilon` with probability at most :math:`2 e^{-k (\varepsilon^2 / 2 - \varepsilon^3 / 3) / 2}`.
    With

    .. math:: k \ge 4 \ln n / (\varepsilon^2 / 2 - \varepsilon^3 / 3)

    that is :math:`2 / n^2`, so that over all :math:`n (n - 1) / 2` pairs some projection keeps every distance, and a
    repeated draw finds one soon. The number does not depend on the number of features.

    Parameters
    ----------
    n_samples : int or array-like of int
        Number of rows, positive.
    eps : float or array-like of float in (0, 1), default=0.1
        Largest relative error of a squared distance.

    Returns
    -------
    int or ndarray of int
        The number of axes, rounded down; it depends on rows and error alone.

    References
    ----------
    Dasgupta and Gupta (1999), An elementary proof of the Johnson-Lindenstrauss lemma.

    Examples
    --------
    >>> from mercer.random_projection import johnson_lindenstrauss_min_dim
    >>> int(johnson_lindenstrauss_min_dim(1e6, eps=0.5))
    663
    >>> johnson_lindenstrauss_min_dim([1e4, 1e5, 1e6], eps=0.1)
    array([ 7894,  9868, 11841])
    """
    subject = "johnson_lindenstrauss_min_dim"
    errors = read_numbers(subject, "eps", eps, 0.0, 1.0, closed="neither", cure="0.1 is usual.")
    rows = read_numbers(subject, "n_samples", n_samples, 0.0, closed="neither", cure="Give the number of rows.")
    np.broadcast_shapes(errors.shape, rows.shape)
    return (4 * np.log(rows) / (errors**2 / 2 - errors**3 / 3)).astype(np.int64)


def johnson_lindenstrauss_eps(n_samples: int, n_components: int) -> float:
    """Return the relative error of squared distances that some random axes promise: the bound the other way round.

    Parameters
    ----------
    n_samples : int
        Number of rows, at least 2.
    n_components : int
        Number of random axes.

    Returns
    -------
    float
        The error in (0, 1) at which :func:`johnson_lindenstrauss_min_dim` asks for this number of axes; 1 where so few
        axes promise nothing.

    Examples
    --------
    >>> from mercer.random_projection import johnson_lindenstrauss_eps
    >>> round(johnson_lindenstrauss_eps(1_000_000, 1000), 3)
    0.386
    """
    rows = read_integer("johnson_lindenstrauss_eps", "n_samples", n_samples, 2)
    axes = read_integer("johnson_lindenstrauss_eps", "n_components", n_components, 1)
    wanted = 4 * np.log(rows) / axes
    # eps^2 / 2 - eps^3 / 3 rises from 0 to 1/6 on (0, 1).
    if wanted >= 1 / 6:
        return 1.0
    return float(brentq(lambda eps: eps**2 / 2 - eps**3 / 3 - wanted, 0.0, 1.0, xtol=1e-14))
