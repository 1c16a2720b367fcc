"""Gaussian rows: classes with labels, and mixtures."""

import math
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.utils import Bunch

from mercer._base.randomness import seed_sequence
from mercer.datasets._rules import check, check_samples, read_covariances, read_shares


def make_class_gaussians(
    n_samples: int = 200,
    *,
    means: Any = ((-1.0, 0.0), (1.0, 0.0)),
    covariances: Any = None,
    priors: Any = None,
    classes: Any = None,
    random_state: Any = 0,
) -> Bunch:
    """Draw labelled rows: the label by the priors, then the row from the Gaussian of its class.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    means : array-like of shape (n_classes, n_features), default=((-1.0, 0.0), (1.0, 0.0))
        Mean of each class.
    covariances : array-like or None, default=None
        One covariance for all classes, or one for each; None means the identity.
    priors : array-like of shape (n_classes,) or None, default=None
        Probabilities of the classes; None means equal ones.
    classes : array-like of shape (n_classes,) or None, default=None
        Labels, which may be texts; None means numbers from 0 on.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    rows : Bunch
        ``data``, ``target``, and the truth: ``means``, ``covariances`` (one for each class), ``priors``, ``classes``,
        ``bayes_error``: the least error rate there is, for two classes of one covariance; None for others, whose error
        has no closed form (see :class:`mercer.decision.ClassDensities`).

    Examples
    --------
    >>> from mercer.datasets import make_class_gaussians
    >>> rows = make_class_gaussians(4000, classes=["bass", "salmon"])
    >>> wrong = (rows.data[:, 0] > 0) != (rows.target == "salmon")
    >>> round(rows.bayes_error, 3), round(float(wrong.mean()), 2)
    (0.159, 0.16)
    """
    subject = "make_class_gaussians"
    labels, numbers, rows = _draw(subject, "priors", n_samples, means, covariances, priors, random_state)
    count = len(rows["means"])
    classes = np.arange(count) if classes is None else np.asarray(classes)
    holds = classes.shape == (count,) and len(set(classes.tolist())) == count
    check(subject, "classes", classes.tolist(), holds, f"{count} different labels", "Name each class once.")
    rows["priors"] = rows.pop("weights")
    return Bunch(
        data=numbers, target=classes[labels], classes=classes, bayes_error=_compute_bayes_error(**rows), **rows
    )


def make_mixture(
    n_samples: int = 200,
    *,
    weights: Any = None,
    means: Any = ((-2.0, 0.0), (2.0, 0.0), (0.0, 3.0)),
    covariances: Any = None,
    random_state: Any = 0,
) -> Bunch:
    """Draw rows of a Gaussian mixture, with the component that each came from.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    weights : array-like of shape (n_components,) or None, default=None
        Probabilities of the components; None means equal ones.
    means : array-like of shape (n_components, n_features), default=((-2.0, 0.0), (2.0, 0.0), (0.0, 3.0))
        Mean of each component.
    covariances : array-like or None, default=None
        One covariance for all components, or one for each; None means the identity.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    rows : Bunch
        ``data``, ``target`` (the number of the component), and the truth: ``weights``, ``means``, ``covariances`` and
        ``log_density``, the logarithm of the mixture's density at each row; None where a covariance is singular.

    Examples
    --------
    >>> from mercer.datasets import make_mixture
    >>> from mercer.mixture import GaussianMixture
    >>> rows = make_mixture(2000, weights=[0.5, 0.3, 0.2])
    >>> model = GaussianMixture(3, random_state=0).fit(rows.data)
    >>> bool(model.score(rows.data) > rows.log_density.mean())
    True
    """
    labels, numbers, rows = _draw("make_mixture", "weights", n_samples, means, covariances, weights, random_state)
    return Bunch(data=numbers, target=labels, log_density=_log_density(numbers, **rows), **rows)


def _draw(
    subject: str, name: str, n_samples: int, means: Any, covariances: Any, shares: Any, random_state: Any
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return class indices, rows, and the parameters from which they were drawn."""
    check_samples(subject, n_samples)
    centres = np.asarray(means, dtype=np.float64)
    usable = centres.ndim == 2 and centres.size > 0
    check(subject, "means", means, usable, "a row for each class, of shape (n_classes, n_features)", "Reshape them.")
    weights = read_shares(subject, name, shares, len(centres))
    matrices, roots = read_covariances(subject, covariances, *centres.shape)
    random = np.random.default_rng(seed_sequence(random_state))
    labels = random.choice(len(centres), size=n_samples, p=weights)
    normal = random.normal(size=(n_samples, centres.shape[1]))
    rows = np.empty_like(normal)
    for label, root in enumerate(roots):
        chosen = labels == label
        # x = mean + L z with the covariance L L^T.
        rows[chosen] = centres[label] + normal[chosen] @ root.T
    return labels, rows, {"weights": weights, "means": centres, "covariances": matrices}


def _compute_bayes_error(means: np.ndarray, covariances: np.ndarray, priors: np.ndarray) -> float | None:
    """Compute the Bayes error of two Gaussians of equal covariance; None for other cases."""
    if len(means) != 2 or not np.array_equal(*covariances):
        return None
    step = means[1] - means[0]
    if not priors.all() or not step.any():
        return float(priors.min())
    try:
        distance = math.sqrt(step @ np.linalg.solve(covariances[0], step))
    except np.linalg.LinAlgError:
        return None
    # The decision depends on the projection on the line between the means; each class errs in one normal tail.
    shift = math.log(priors[0] / priors[1]) / distance
    return float(priors[0] * norm.cdf(-distance / 2 - shift) + priors[1] * norm.cdf(-distance / 2 + shift))


def _log_density(
    rows: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray
) -> np.ndarray | None:
    """Return the log density of the mixture at each row; None if a covariance is singular."""
    try:
        parts = [multivariate_normal(mean, matrix).logpdf(rows) for mean, matrix in zip(means, covariances)]
    except np.linalg.LinAlgError:
        return None
    # log sum_k w_k p_k(x), with the weights as factors inside of the exponential sum.
    return logsumexp(np.stack([np.reshape(part, -1) for part in parts], axis=1), b=weights, axis=1)
