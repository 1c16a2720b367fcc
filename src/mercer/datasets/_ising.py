"""The Ising model: spins on a ring or on a square lattice, whose couplings and phases are known exactly.

Spins are -1 or +1, each has two (ring) or four (lattice) neighbours, boundaries are periodic, and the energy is
E = -J sum over bonds of s_i s_j.
"""

import math
from typing import Any

import numpy as np

from mercer._base.randomness import seed_sequence
from mercer.errors import ParameterError


def make_ising_chain(
    n_samples: int = 1000, n_spins: int = 10, *, coupling: float = 1.0, random_state: Any = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw states of a ring of spins uniformly, with their energies E = -J sum_j s_j s_(j+1).

    Parameters
    ----------
    n_samples : int, default=1000
        Number of states.
    n_spins : int, default=10
        L, the spins of the ring, at least three; the last is a neighbour of the first.
    coupling : float, default=1.0
        J.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    spins : ndarray of shape (n_samples, n_spins)
        -1.0 or 1.0.
    energy : ndarray of shape (n_samples,)
        E.

    Examples
    --------
    >>> from mercer.datasets import make_ising_chain, pair_products
    >>> from mercer.linear_model import Ridge
    >>> spins, energy = make_ising_chain(500)
    >>> J = Ridge(1e-3).fit(pair_products(spins), energy).coef_.reshape(10, 10)
    >>> J[2, 1:5].round(2) + 0.0
    array([0.5, 0. , 0.5, 0. ])
    """
    _check("make_ising_chain", "n_spins", n_spins, n_spins >= 3, "at least 3")
    random = np.random.default_rng(seed_sequence(random_state))
    spins = random.choice([-1.0, 1.0], size=(n_samples, n_spins))
    # Rolling by one pairs each spin with its right neighbour, and the last with the first: a ring.
    return spins, -coupling * np.sum(spins * np.roll(spins, -1, axis=1), axis=1)


def pair_products(spins: Any) -> np.ndarray:
    """Compute the products -s_j s_k of all ordered pairs of spins; the energy is linear in them.

    With E = sum_jk J_jk (-s_j s_k) coefficients are couplings with their own sign. The columns of (j, k) and (k, j)
    are the same and those of (j, j) are -1, so that n_spins (n_spins - 1) / 2 + 1 of them are independent.

    Parameters
    ----------
    spins : array-like of shape (n_samples, n_spins)
        States.

    Returns
    -------
    products : ndarray of shape (n_samples, n_spins ** 2)
        In the order of ``coef_.reshape(n_spins, n_spins)``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_ising_chain, pair_products
    >>> products = pair_products(make_ising_chain(400)[0])
    >>> products.shape, int(np.linalg.matrix_rank(products))
    ((400, 100), 46)
    """
    spins = np.asarray(spins, dtype=np.float64)
    return -(spins[:, :, None] * spins[:, None, :]).reshape(len(spins), -1)


def make_ising_lattice(
    n_samples: int = 300,
    size: int = 16,
    *,
    temperature: Any = None,
    coupling: float = 1.0,
    n_sweeps: int = 200,
    random_state: Any = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw states of a square lattice of spins at given temperatures, by heat bath.

    Each sweep gives every spin the value +1 with probability 1 / (1 + exp(-2 J h / T)), h the sum of its neighbours,
    first the even squares of the board, then the odd ones. States above the critical temperature start from spins at
    random, those below from all spins alike, up or down by chance, which is where each would come to rest.

    Parameters
    ----------
    n_samples : int, default=300
        Number of states, each from a lattice of its own.
    size : int, default=16
        Side of the lattice, even.
    temperature : array-like, float or None, default=None
        T for all states, or for each; None means evenly spaced from 0.25 to 4 times J.
    coupling : float, default=1.0
        J, positive.
    n_sweeps : int, default=200
        Sweeps; near the critical temperature more are needed for independence from the start.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    spins : ndarray of shape (n_samples, size ** 2)
        -1.0 or 1.0.
    temperature : ndarray of shape (n_samples,)
        T.
    ordered : ndarray of shape (n_samples,) of bool
        Whether T is below the critical temperature.

    Examples
    --------
    >>> from mercer.datasets import make_ising_lattice
    >>> spins, temperature, ordered = make_ising_lattice(50, 8, temperature=[1.0] * 25 + [4.0] * 25)
    >>> magnetisation = abs(spins.mean(axis=1))
    >>> bool(magnetisation[ordered].mean() > 0.9), bool(magnetisation[~ordered].mean() < 0.3)
    (True, True)
    """
    _check("make_ising_lattice", "size", size, size >= 2 and size % 2 == 0, "an even number of at least 2")
    _check("make_ising_lattice", "coupling", coupling, coupling > 0, "a number in (0, inf)")
    random = np.random.default_rng(seed_sequence(random_state))
    if temperature is None:
        temperature = coupling * np.linspace(0.25, 4.0, n_samples)
    temperature = np.broadcast_to(np.asarray(temperature, dtype=np.float64), (n_samples,)).copy()
    _check("make_ising_lattice", "temperature", temperature.min(), temperature.min() > 0, "a number in (0, inf)")
    ordered = temperature < ising_critical_temperature(coupling)
    spins = random.choice(np.array([-1, 1], dtype=np.int8), size=(n_samples, size, size))
    spins[ordered] = spins[ordered, :1, :1]
    board = np.add.outer(np.arange(size), np.arange(size)) % 2
    # Four neighbours have five possible sums, so that probabilities come from a table.
    chances = 1.0 / (1.0 + np.exp(-2.0 * coupling * np.arange(-4, 5) / temperature[:, None]))
    rows = np.arange(n_samples)[:, None]
    for _ in range(n_sweeps):
        for colour in (0, 1):
            near = np.add.reduce([np.roll(spins, step, axis) for step in (-1, 1) for axis in (1, 2)], dtype=np.int8)
            here = board == colour
            up = random.random((n_samples, size * size // 2)) < chances[rows, near[:, here] + 4]
            spins[:, here] = 2 * up.astype(np.int8) - 1
    return spins.reshape(n_samples, -1).astype(np.float64), temperature, ordered


def ising_critical_temperature(coupling: float = 1.0) -> float:
    """Compute the temperature at which an infinite square lattice orders: 2 J / ln(1 + sqrt(2)) (Onsager, 1944).

    Examples
    --------
    >>> from mercer.datasets import ising_critical_temperature
    >>> round(ising_critical_temperature(), 6)
    2.269185
    """
    return 2.0 * coupling / math.log(1.0 + math.sqrt(2.0))


def _check(subject: str, name: str, value: Any, holds: bool, rule: str) -> None:
    if not holds:
        raise ParameterError(f"{subject}: {name} must be {rule}; got {value!r}.")
