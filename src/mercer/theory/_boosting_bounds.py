"""AdaBoost's bound on its training error, from the errors of its members or from an edge that all of them have."""

import math
from typing import Any

import numpy as np

from mercer._base.reading import read_integer
from mercer.errors import DataError


def training_error_bound(errors: Any) -> np.ndarray:
    r"""Bound two-class AdaBoost's training error rate after each round.

    After T rounds it is at most :math:`\prod_{t \le T} 2 \sqrt{\epsilon_t (1 - \epsilon_t)}`.

    Parameters
    ----------
    errors : array-like of shape (n_rounds,)
        :math:`\epsilon_t`, the weighted errors of the members: ``estimator_errors_``.

    Returns
    -------
    ndarray of shape (n_rounds,)
        A bound on the share of rows in error, not on their number.

    Examples
    --------
    >>> from mercer.theory import training_error_bound
    >>> training_error_bound([0.2, 0.3]).round(4).tolist()
    [0.8, 0.7332]
    """
    errors = np.asarray(errors, dtype=np.float64)
    if errors.ndim != 1 or not ((errors >= 0) & (errors <= 1)).all():
        raise DataError(f"training_error_bound: errors must be a list of numbers in [0, 1]; got {errors!r}.")
    # Round t multiplies the sum of exponential losses, which bounds the error, by 2 sqrt(e_t (1 - e_t)).
    return np.cumprod(2 * np.sqrt(errors * (1 - errors)))


def edge_error_bound(gamma: float, n_rounds: int, *, loose: bool = False) -> float:
    r"""Bound the training error where every member has an error of at most :math:`\frac12 - \frac12 \gamma`.

    It is at most :math:`(1 - \gamma^2)^{T/2} \le e^{-\gamma^2 T / 2}`.

    Parameters
    ----------
    gamma : float in [0, 1]
        The edge of the members.
    n_rounds : int
        T.
    loose : bool, default=False
        Whether to give the second, looser bound.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import edge_error_bound
    >>> [round(edge_error_bound(gamma, 1), 6) for gamma in (0.1, 0.2, 0.3)]
    [0.994987, 0.979796, 0.953939]
    """
    gamma = _edge("edge_error_bound", gamma)
    n_rounds = read_integer("edge_error_bound", "n_rounds", n_rounds, 0)
    # 1 - g^2 <= exp(-g^2) gives the loose bound from the tight one.
    return math.exp(-(gamma**2) * n_rounds / 2) if loose else (1 - gamma**2) ** (n_rounds / 2)


def rounds_to_zero_error(gamma: float, n_samples: int) -> float:
    r"""Return the rounds after which no training row is in error: any T above :math:`2 \ln N / \gamma^2`.

    Then the bound on the error rate is below 1/N, and a rate below 1/N is zero.

    Parameters
    ----------
    gamma : float in (0, 1]
        The edge of the members.
    n_samples : int
        N.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import rounds_to_zero_error
    >>> [round(rounds_to_zero_error(gamma, 1000), 1) for gamma in (0.1, 0.2, 0.3)]
    [1381.6, 345.4, 153.5]
    """
    gamma = _edge("rounds_to_zero_error", gamma)
    n_samples = read_integer("rounds_to_zero_error", "n_samples", n_samples, 1, cure="Give the number of rows.")
    # exp(-g^2 T / 2) < 1 / N for T > 2 ln N / g^2; members without an edge never get there.
    return 2 * math.log(n_samples) / gamma**2 if gamma else math.inf


def _edge(name: str, gamma: float) -> float:
    """Check that `gamma` is in [0, 1], and return it."""
    if not 0 <= gamma <= 1:
        raise DataError(f"{name}: gamma must be a number in [0, 1]; got {gamma!r}. An error e has the edge 1 - 2 e.")
    return gamma
