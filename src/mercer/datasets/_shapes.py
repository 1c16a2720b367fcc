"""Groups of points in the plane that neither straight lines nor single centres separate."""

import math
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.utils import Bunch

from mercer._base.randomness import seed_sequence
from mercer.datasets._rules import check, check_noise, check_samples, read_sizes, share_out


def make_xor(n_samples: int = 200, *, noise: float = 0.4, random_state: Any = 0) -> Bunch:
    """Draw points around the corners (-1, -1), (1, 1) of class 0 and (-1, 1), (1, -1) of class 1.

    No line does better than three corners of four, which is why a perceptron of one layer fails.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows, shared out evenly over the corners.
    noise : float, default=0.4
        Standard deviation about a corner, in both directions.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    rows : Bunch
        ``data``, ``target``, and the truth: ``centres`` (the corners), ``noise`` and ``bayes_error``, the error rate of
        the sign of x_1 x_2, which is the best decider: 2 p (1 - p) with p = Phi(-1 / noise).

    Examples
    --------
    >>> from mercer.datasets import make_xor
    >>> rows = make_xor(8000)
    >>> wrong = (rows.data.prod(axis=1) < 0) != rows.target
    >>> round(rows.bayes_error, 2), round(float(wrong.mean()), 2)
    (0.01, 0.01)
    """
    check_samples("make_xor", n_samples)
    check_noise("make_xor", noise)
    random = np.random.default_rng(seed_sequence(random_state))
    # The corners go around the square, so that the class is the parity of the number.
    centres = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    corner = share_out(n_samples, 4)
    random.shuffle(corner)
    rows = centres[corner] + noise * random.normal(size=(n_samples, 2))
    # A coordinate changes its sign with probability Phi(-1 / noise); the class is wrong if exactly one of the two does.
    crossing = float(norm.cdf(-1.0 / noise)) if noise else 0.0
    error = 2.0 * crossing * (1.0 - crossing)
    return Bunch(data=rows, target=corner % 2, centres=centres, noise=float(noise), bayes_error=error)


def make_rings(
    n_samples: int = 300, *, radii: Any = (1.0, 2.0, 3.0), noise: float = 0.1, random_state: Any = 0
) -> Bunch:
    """Draw points on rings around one centre.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows, shared out evenly over the rings.
    radii : array-like, default=(1.0, 2.0, 3.0)
        Radius of each ring.
    noise : float, default=0.1
        Standard deviation of the radius.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    rows : Bunch
        ``data``, ``target`` (the number of the ring), and the truth: ``radii``, ``noise``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_rings
    >>> rows = make_rings(600, radii=[1.0, 4.0])
    >>> [round(float(np.hypot(*rows.data[rows.target == ring].T).mean()), 1) for ring in (0, 1)]
    [1.0, 4.0]
    """
    check_samples("make_rings", n_samples)
    check_noise("make_rings", noise)
    radii = np.asarray(radii, dtype=np.float64)
    usable = radii.ndim == 1 and radii.size > 0 and bool((radii >= 0).all())
    check("make_rings", "radii", radii.tolist(), usable, "numbers in [0, inf), one for each ring", "Drop the signs.")
    random = np.random.default_rng(seed_sequence(random_state))
    # The sizes are as equal as possible; shuffling keeps them and makes the order random.
    ring = share_out(n_samples, len(radii))
    random.shuffle(ring)
    angle, distance = random.uniform(0, 2 * math.pi, n_samples), radii[ring] + noise * random.normal(size=n_samples)
    rows = np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])
    return Bunch(data=rows, target=ring, radii=radii, noise=float(noise))


def make_moons(
    n_samples: Any = 100, *, shuffle: bool = True, noise: float | None = None, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make two interleaving half circles, with scikit-learn's parameters.

    Parameters
    ----------
    n_samples : int or tuple of two ints, default=100
        Number of rows in all, or of each moon.
    shuffle : bool, default=True
        Whether rows are in random order, not moon by moon.
    noise : float or None, default=None
        Standard deviation of Gaussian noise; None means none.
    random_state : None, int, RandomState or Generator, default=None
        The seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        0 for the upper moon, 1 for the lower one.

    Examples
    --------
    >>> from mercer.datasets import make_moons
    >>> X, y = make_moons((30, 70), noise=0.05, random_state=0)
    >>> X.shape, y.sum().item()
    ((100, 2), 70)
    """
    sizes = read_sizes("make_moons", n_samples, 2)
    check_noise("make_moons", noise or 0.0)
    random = np.random.default_rng(seed_sequence(random_state))
    upper, lower = (np.linspace(0.0, math.pi, size) for size in sizes)
    first = np.column_stack([np.cos(upper), np.sin(upper)])
    # The second moon is the first mirrored at the point (0.5, 0.25).
    second = np.column_stack([1.0 - np.cos(lower), 0.5 - np.sin(lower)])
    X, y = np.concatenate([first, second]), np.repeat([0, 1], sizes)
    if shuffle:
        order = random.permutation(len(X))
        X, y = X[order], y[order]
    return (X if noise is None else X + noise * random.normal(size=X.shape)), y
