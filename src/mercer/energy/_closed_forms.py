"""Ising models that were solved on paper: rings, and the infinite square lattice."""

import math
from typing import Any

import numpy as np
from scipy.special import ellipk

from mercer._base.parameter import Integer, Real, check_parameters


def ring_log_partition(n_spins: int, beta: float, coupling: float = 1.0) -> float:
    """Compute log Z of an Ising ring without a field: Z = (2 cosh beta J)^L + (2 sinh beta J)^L.

    Parameters
    ----------
    n_spins : int
        L, at least 2.
    beta : float
        Inverse temperature.
    coupling : float, default=1
        J.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.energy import IsingModel, ring_log_partition
    >>> abs(ring_log_partition(12, 0.7) - IsingModel.ring(12, beta=0.7).solve().log_partition) < 1e-12
    True
    """
    values = {"n_spins": n_spins, "beta": beta, "coupling": coupling}
    check_parameters("ring_log_partition", {"n_spins": Integer(2), "beta": Real(0), "coupling": Real()}, values)
    strength = abs(beta * coupling)
    # log(2 cosh x) = x + log(1 + exp(-2 x)); the second term is tanh(x)^L of the first, with its sign.
    share = math.tanh(strength) ** n_spins
    sign = -1.0 if beta * coupling < 0 and n_spins % 2 else 1.0
    # With an odd number of antiferromagnetic bonds and low temperature 1 - tanh^L is small, but never 0.
    tail = math.log1p(share) if sign > 0 else _log_one_less_power(strength, n_spins)
    return n_spins * (strength + math.log1p(math.exp(-2.0 * strength))) + tail


def _log_one_less_power(strength: float, n: int) -> float:
    """Return log(1 - tanh(x)^n) without cancellation, for x >= 0."""
    # tanh(x) = (1 - e) / (1 + e) with e = exp(-2 x).
    small = math.exp(-2.0 * strength)
    return math.log(-math.expm1(n * (math.log1p(-small) - math.log1p(small)))) if small < 1.0 else 0.0


def critical_beta(n_states: int = 2, coupling: float = 1.0) -> float:
    """Compute the inverse temperature at which the infinite square lattice of a Potts model orders.

    A Potts model of q states orders at beta = log(1 + sqrt(q)) / J. An Ising model of coupling J is one of 2 states and
    coupling 2 J, and orders at log(1 + sqrt(2)) / (2 J) = 0.4406868 / J.

    Parameters
    ----------
    n_states : int, default=2
        q.
    coupling : float, default=1
        J of the Potts model, positive.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.energy import critical_beta
    >>> round(critical_beta(2, coupling=2.0), 7), round(critical_beta(3), 6)
    (0.4406868, 1.005053)
    """
    values = {"n_states": n_states, "coupling": coupling}
    check_parameters("critical_beta", {"n_states": Integer(2), "coupling": Real(0, closed="neither")}, values)
    return math.log(1.0 + math.sqrt(n_states)) / coupling


def onsager_energy(beta: Any, coupling: float = 1.0) -> Any:
    """Compute the mean energy of a spin in the infinite square lattice of an Ising model without a field.

    u = -J coth(2 K) (1 + (2 / pi) (2 tanh(2 K)^2 - 1) F(k)), with K = beta J, k = 2 sinh(2 K) / cosh(2 K)^2 and F the
    complete elliptic integral of the first kind (Onsager, 1944).

    Parameters
    ----------
    beta : float or array-like
        Inverse temperature, at least 0.
    coupling : float, default=1
        J, positive.

    Returns
    -------
    float or ndarray

    References
    ----------
    Onsager (1944), Crystal statistics I: a two-dimensional model with an order-disorder transition.

    Examples
    --------
    >>> from mercer.energy import critical_beta, onsager_energy
    >>> round(float(onsager_energy(critical_beta(2, 2.0))), 6)  # -sqrt(2)
    -1.414214
    """
    check_parameters("onsager_energy", {"coupling": Real(0, closed="neither")}, {"coupling": coupling})
    x = 2.0 * coupling * np.asarray(beta, dtype=np.float64)
    # At infinite temperature coth diverges while the bracket falls as x^2: the limit is 0.
    warm = np.where(x > 1e-8, x, 1.0)
    modulus = np.clip((2.0 * np.tanh(warm) / np.cosh(np.minimum(warm, 350.0))) ** 2, 0.0, 1.0)
    slope = 2.0 * np.tanh(warm) ** 2 - 1.0
    # At the critical point the integral is infinite and its factor 0: their product tends to 0.
    integral = np.where(modulus < 1.0, slope * ellipk(np.where(modulus < 1.0, modulus, 0.0)), 0.0)
    energy = -coupling / np.tanh(warm) * (1.0 + 2.0 / math.pi * integral)
    result = np.where(x > 1e-8, energy, -coupling * x)
    return float(result) if result.ndim == 0 else result


def onsager_magnetisation(beta: Any, coupling: float = 1.0) -> Any:
    """Compute the spontaneous magnetisation of the infinite square lattice: (1 - sinh(2 beta J)^-4)^(1/8), or 0.

    Parameters
    ----------
    beta : float or array-like
        Inverse temperature, at least 0.
    coupling : float, default=1
        J, positive.

    Returns
    -------
    float or ndarray

    References
    ----------
    Yang (1952), The spontaneous magnetization of a two-dimensional Ising model.

    Examples
    --------
    >>> from mercer.energy import onsager_magnetisation
    >>> onsager_magnetisation([0.4, 0.5]).round(4)
    array([0.    , 0.9113])
    """
    check_parameters("onsager_magnetisation", {"coupling": Real(0, closed="neither")}, {"coupling": coupling})
    x = np.minimum(2.0 * coupling * np.asarray(beta, dtype=np.float64), 350.0)
    # Where sinh is at most 1 the lattice is not ordered.
    result = np.maximum(0.0, 1.0 - np.maximum(np.sinh(x), 1.0) ** -4.0) ** 0.125
    return float(result) if result.ndim == 0 else result
