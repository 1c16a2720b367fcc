"""Bounds on the Bayes error: from priors alone, from Gaussian classes, and from samples by their nearest neighbours."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils import check_X_y

from mercer._base.density import read_gaussian
from mercer._base.reading import read_numbers, read_probabilities
from mercer.errors import DataError


def prior_bounds(priors: Any) -> dict[str, float]:
    """Return the upper bounds on the Bayes error that follow from the class probabilities alone.

    Parameters
    ----------
    priors : array-like of shape (n_classes,)
        With sum one.

    Returns
    -------
    dict
        ``"guess"``: (c - 1) / c, a half for two classes; ``"twice_smaller"``: for two classes 2 min(P1, P2);
        ``"smaller"``: 1 - max P, for two classes min(P1, P2), the tightest.

    Examples
    --------
    >>> from mercer.decision import prior_bounds
    >>> prior_bounds([0.2, 0.8])
    {'guess': 0.5, 'twice_smaller': 0.4, 'smaller': 0.2}
    """
    shares = read_probabilities("prior_bounds", "priors", priors)
    if shares.ndim != 1:
        raise DataError(f"prior_bounds: priors must have shape (n_classes,); got {shares.shape}.")
    # Bayes errs at most as often as a guess: with K equal priors that is (K - 1) / K.
    bounds = {"guess": (len(shares) - 1) / len(shares)}
    if len(shares) == 2:
        bounds["twice_smaller"] = float(2 * shares.min())
    # Deciding for the likeliest class without looking errs with probability 1 - max P(c);
    # of two classes, the smaller prior.
    return bounds | {"smaller": float(shares.min() if len(shares) == 2 else 1 - shares.max())}


def chernoff_bound(first: Any, second: Any, priors: Any = (0.5, 0.5), *, exponent: float | None = None) -> float:
    """Return an upper bound on the Bayes error of two Gaussian classes.

    min(a, b) <= a^s b^(1 - s) for every s in [0, 1], so the error is at most P1^s P2^(1 - s) exp(-k(s)) with
    k(s) = s (1 - s)/2 d' [(1 - s) S1 + s S2]^-1 d + 1/2 log(det[(1 - s) S1 + s S2] / (det S1^(1 - s) det S2^s)).

    Parameters
    ----------
    first, second : GaussianDensity or MultivariateGaussianDensity, or SciPy's
        The classes.
    priors : array-like of shape (2,), default=(0.5, 0.5)
        Their probabilities.
    exponent : float or None, default=None
        s; None takes the best.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.decision import chernoff_bound
    >>> from mercer.estimation import GaussianDensity
    >>> round(chernoff_bound(GaussianDensity(0.0, 1.0), GaussianDensity(2.0, 1.0)), 6)  # exp(-1/2) / 2
    0.303265
    """
    shares = read_probabilities("chernoff_bound", "priors", priors, 2)
    (mean, covariance), (other, scale) = (read_gaussian("chernoff_bound", density) for density in (first, second))
    if mean.shape != other.shape:
        raise DataError(f"chernoff_bound: both classes must have as many columns; got {len(mean)} and {len(other)}.")
    # With one class alone there is nothing to confuse, and log P would be minus infinity.
    if not (shares > 0).all():
        return 0.0
    logs, offset = np.log(shares), other - mean
    determinants = np.linalg.slogdet(covariance)[1], np.linalg.slogdet(scale)[1]

    def log_bound(s: float) -> float:
        mixed = (1 - s) * covariance + s * scale
        distance = s * (1 - s) / 2 * offset @ np.linalg.solve(mixed, offset)
        shape = np.linalg.slogdet(mixed)[1] - (1 - s) * determinants[0] - s * determinants[1]
        return float(s * logs[0] + (1 - s) * logs[1] - distance - shape / 2)

    if exponent is not None:
        return float(np.exp(log_bound(float(read_numbers("chernoff_bound", "exponent", exponent, 0, 1)))))
    # The logarithm of the bound is convex in s, so that a bounded search finds its minimum; it never reaches the ends.
    best = minimize_scalar(log_bound, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
    return float(np.exp(min(best.fun, log_bound(0.0), log_bound(1.0))))


def bhattacharyya_bound(first: Any, second: Any, priors: Any = (0.5, 0.5)) -> float:
    """Compute Chernoff's bound at s = 1/2: sqrt(P1 P2) times the overlap, the integral of sqrt(p1 p2).

    Parameters
    ----------
    first, second : GaussianDensity or MultivariateGaussianDensity, or SciPy's
        The classes.
    priors : array-like of shape (2,), default=(0.5, 0.5)
        Their probabilities.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.decision import bhattacharyya_bound
    >>> from mercer.estimation import GaussianDensity
    >>> round(bhattacharyya_bound(GaussianDensity(0.0, 1.0), GaussianDensity(0.0, 9.0)), 6)  # sqrt(3/5) / 2
    0.387298
    """
    return chernoff_bound(first, second, priors, exponent=0.5)


@dataclass(frozen=True)
class NeighborBounds:
    """Bounds on the Bayes error from samples.

    Attributes
    ----------
    neighbor_error : float
        The leave-one-out error rate of the nearest neighbour.
    lower, upper : float
        Between which the Bayes error is, in the limit of many samples.
    standard_error : float
        Of the error rate.
    """

    neighbor_error: float
    lower: float
    upper: float
    standard_error: float


def neighbor_bounds(X: Any, y: Any, *, n_jobs: int | None = None) -> NeighborBounds:
    """Bracket the Bayes error by the nearest neighbour's, without a model of the classes.

    With many samples the error e of the nearest neighbour lies between the Bayes error R and R (2 - c R / (c - 1))
    (Cover and Hart), so R is at least (c - 1)/c (1 - sqrt(1 - c e/(c - 1))) and at most e.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    y : array-like of shape (n,)
        Labels.
    n_jobs : int or None, default=None
        Threads of the neighbour search.

    Returns
    -------
    NeighborBounds

    References
    ----------
    T. Cover, P. Hart, *Nearest neighbor pattern classification*, IEEE Transactions on Information Theory 13 (1967).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decision import neighbor_bounds
    >>> y = np.arange(4000) % 2
    >>> X = np.random.default_rng(0).normal(size=(4000, 1)) + 2.0 * y[:, None]
    >>> bounds = neighbor_bounds(X, y)  # the truth is 0.158655
    >>> round(bounds.lower, 2), round(bounds.upper, 2)
    (0.12, 0.21)
    """
    X, y = check_X_y(X, y, estimator="neighbor_bounds")
    classes, labels = np.unique(y, return_inverse=True)
    c = len(classes)
    if c < 2:
        raise DataError(f"neighbor_bounds: y must have at least two classes; got {c}. There is nothing to confuse.")
    from mercer.neighbors import NearestNeighbors

    nearest = NearestNeighbors(n_neighbors=1, n_jobs=n_jobs).fit(X).kneighbors(return_distance=False)[:, 0]
    error = float(np.mean(labels != labels[nearest]))
    # In a finite sample the error may exceed that of guessing, (c - 1) / c; the root would be of a negative number.
    lower = (c - 1) / c * (1 - np.sqrt(max(0.0, 1 - c * error / (c - 1))))
    return NeighborBounds(error, float(lower), min(error, (c - 1) / c), float(np.sqrt(error * (1 - error) / len(y))))
