"""Bias and variance of a predictor, measured by training it on many sets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from mercer._source.threads import n_threads, run_numbered
from mercer.model_selection._curves import order_growing
from mercer.model_selection._trial import respond, take_rows


@dataclass(frozen=True)
class BiasVariance:
    """The squared error of a predictor split into parts, averaged over the test points.

    Attributes
    ----------
    bias : float
        Squared difference between the mean prediction and the truth. If the truth is not known, it includes the noise.
    variance : float
        Variance of the prediction from one training set to the next.
    noise : float
        Variance of the target around the truth; 0 if `bias` includes it.
    error : float
        Mean squared error on fresh targets: the sum of the three.
    points : ndarray of shape (n_points, 2)
        Square of the bias and variance at each test point.
    """

    bias: float
    variance: float
    noise: float
    error: float
    points: np.ndarray


def bias_variance(
    estimator: Any,
    draw: Callable[[np.random.Generator], tuple[Any, Any]],
    X_test: Any,
    truth: Any,
    *,
    noise: float = 0.0,
    n_sets: int = 200,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> BiasVariance:
    """Split the error of a regressor where the truth y = f(x) + noise is known.

    Parameters
    ----------
    estimator : estimator
        A regressor.
    draw : callable
        ``draw(generator)`` returns a training set (X, y), drawn anew each time.
    X_test : array-like of shape (n_points, n_features)
        The test points.
    truth : array-like of shape (n_points,)
        f at the test points, without noise.
    noise : float, default=0.0
        Variance of the noise.
    n_sets : int, default=200
        Number of training sets.
    n_jobs : int or None, default=None
        Threads; None takes all. Never changes a number.
    random_state : int, RandomState instance or None, default=None
        Draws the training sets.

    Returns
    -------
    BiasVariance
        The parts, and their sum.

    Notes
    -----
    Variances are those of the drawn training sets (divided by their number), so that bias, variance and noise sum to
    the error exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LinearRegression
    >>> from mercer.model_selection import bias_variance
    >>> def draw(random):
    ...     x = random.uniform(-1, 1, (30, 1))
    ...     return x, x[:, 0] ** 2 + random.normal(scale=0.1, size=30)
    >>> x = np.linspace(-1, 1, 21)[:, None]
    >>> found = bias_variance(LinearRegression(), draw, x, x[:, 0] ** 2, noise=0.01, random_state=0)
    >>> bool(found.bias > 10 * found.variance)
    True
    """
    seeds = np.random.SeedSequence(int(check_random_state(random_state).randint(2**31 - 1))).spawn(n_sets)
    predictions: list[np.ndarray] = []

    def predict(place: int) -> np.ndarray:
        X, y = draw(np.random.default_rng(seeds[place]))
        return np.asarray(clone(estimator).fit(X, y).predict(X_test), dtype=float)

    # Results arrive in the order of the sets, whichever thread finishes first: sums do not depend on threads.
    run_numbered(predict, n_sets, n_threads(n_jobs), predictions.append)
    return _split_error(np.stack(predictions)[..., None], np.asarray(truth, dtype=float)[:, None], noise)


def resampled_bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_sets: int = 20,
    test_share: float = 0.3,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> BiasVariance:
    """Split the error of any predictor on real data, by training it on random halves of the rows.

    A part of the rows is kept for testing; `n_sets` models are fitted to halves of the others. For classifiers the
    error is the Brier score: the squared difference between class probabilities and the one-hot class.

    Parameters
    ----------
    estimator : estimator
        A regressor, or a classifier with ``predict_proba``.
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The target.
    n_sets : int, default=20
        Number of models.
    test_share : float, default=0.3
        Share of the rows that is kept for testing.
    n_jobs : int or None, default=None
        Threads; None takes all. Never changes a number.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    BiasVariance
        `bias` includes the noise, which real data do not let us separate.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from mercer.model_selection import resampled_bias_variance
    >>> from mercer.naive_bayes import GaussianNB
    >>> X, y = load_wine(return_X_y=True)
    >>> found = resampled_bias_variance(GaussianNB(), X, y, random_state=0)
    >>> bool(abs(found.bias + found.variance - found.error) < 1e-12)
    True
    """
    y = np.asarray(y)
    labels = y if is_classifier(estimator) else None
    seed = int(check_random_state(random_state).randint(2**31 - 2**20))
    # Classes keep their shares in the test part and in each half.
    order = order_growing(np.arange(len(y)), labels, seed, False)
    n_test = max(1, round(test_share * len(y)))
    test, pool = np.sort(order[:n_test]), order[n_test:]
    classes = None if labels is None else np.unique(y)
    unseen = take_rows(X, test)
    predictions: list[np.ndarray] = []

    def predict(place: int) -> np.ndarray:
        # Half of the pool, drawn without replacement: two training sets share half of their rows on average.
        half = np.sort(order_growing(pool, labels, seed + 1 + place, False)[: len(pool) // 2])
        model = clone(estimator).fit(take_rows(X, half), y[half])
        answer = respond(model, unseen, classes)
        return answer.reshape(n_test, -1).astype(float)

    run_numbered(predict, n_sets, n_threads(n_jobs), predictions.append)
    truth = y[test][:, None].astype(float) if classes is None else (y[test][:, None] == classes).astype(float)
    return _split_error(np.stack(predictions), truth, 0.0)


def _split_error(predictions: np.ndarray, truth: np.ndarray, noise: float) -> BiasVariance:
    """Return the parts of the error of predictions of shape (n_sets, n_points, n_values)."""
    # E |p - t|^2 = |E p - t|^2 + E |p - E p|^2: exact for the sample mean, since `var` divides by n_sets.
    bias = ((predictions.mean(axis=0) - truth) ** 2).sum(axis=1)
    variance = predictions.var(axis=0).sum(axis=1)
    error = ((predictions - truth) ** 2).sum(axis=2).mean() + noise
    return BiasVariance(float(bias.mean()), float(variance.mean()), noise, float(error), np.stack([bias, variance], 1))
