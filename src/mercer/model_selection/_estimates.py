"""How well training error and cross-validation estimate the error on new rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.utils import check_random_state

from mercer._source.threads import n_threads, run_numbered


@dataclass(frozen=True)
class ErrorEstimates:
    """Estimates of the error on new rows, over many training sets.

    Attributes
    ----------
    train, cross_validated, true : ndarray of shape (n_sets,)
        Error on the training rows, by cross-validation, and on fresh rows of the model fitted to all training rows.
    """

    train: np.ndarray
    cross_validated: np.ndarray
    true: np.ndarray

    @property
    def bias(self) -> dict[str, float]:
        """Mean of each estimate minus the mean of the true error."""
        estimates = {"train": self.train, "cross_validated": self.cross_validated}
        return {name: float(errors.mean() - self.true.mean()) for name, errors in estimates.items()}

    @property
    def variance(self) -> dict[str, float]:
        """Variance of each estimate from one training set to the next."""
        return {"train": float(self.train.var()), "cross_validated": float(self.cross_validated.var())}


def compare_estimates(
    estimator: Any,
    draw: Callable[[np.random.Generator], tuple[Any, Any]],
    *,
    fresh: Callable[[np.random.Generator], tuple[Any, Any]] | None = None,
    error: Callable[[Any, Any], float] = mean_squared_error,
    folds: int = 5,
    n_sets: int = 100,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> ErrorEstimates:
    """Compare training error and cross-validated error with the error on new rows.

    Parameters
    ----------
    estimator : estimator
        The estimator to fit.
    draw : callable
        ``draw(generator)`` returns a training set (X, y), drawn anew each time.
    fresh : callable or None, default=None
        Draws fresh rows in the same way; None takes ten training sets.
    error : callable, default=mean_squared_error
        ``error(y, predicted)``.
    folds : int, default=5
        Folds of cross-validation.
    n_sets : int, default=100
        Number of training sets.
    n_jobs : int or None, default=None
        Threads; None takes all. Never changes a number.
    random_state : int, RandomState instance or None, default=None
        Draws the sets.

    Returns
    -------
    ErrorEstimates
        The errors; ``bias`` and ``variance`` of the estimates.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LinearRegression
    >>> from mercer.model_selection import compare_estimates
    >>> def draw(random):
    ...     X = random.normal(size=(40, 10))
    ...     return X, X[:, 0] + random.normal(size=40)
    >>> found = compare_estimates(LinearRegression(), draw, n_sets=30, random_state=0)
    >>> found.bias["train"] < -0.3 < found.bias["cross_validated"]
    True
    """
    # Each training set has a stream of its own: the number of threads changes no draw.
    seeds = np.random.SeedSequence(int(check_random_state(random_state).randint(2**31 - 1))).spawn(n_sets)
    errors: list[tuple[float, float, float]] = []

    def measure(place: int) -> tuple[float, float, float]:
        random = np.random.default_rng(seeds[place])
        X, y = draw(random)
        # Ten sets reduce the noise of the true error to about a third of that of one set.
        new = [fresh(random)] if fresh is not None else [draw(random) for _ in range(10)]
        model = clone(estimator).fit(X, y)
        split = KFold(folds, shuffle=True, random_state=place)
        return (
            float(error(y, model.predict(X))),
            float(error(y, cross_val_predict(clone(estimator), X, y, cv=split))),
            float(np.mean([error(there, model.predict(here)) for here, there in new])),
        )

    run_numbered(measure, n_sets, n_threads(n_jobs), errors.append)
    return ErrorEstimates(*np.array(errors).T)


@dataclass(frozen=True)
class SelectionOptimism:
    """The error of the best of many classifiers on the test set that chose it, and on fresh rows.

    Attributes
    ----------
    n_candidates : ndarray of shape (n_points,)
        Number of classifiers to choose from.
    reported, fresh : ndarray of shape (n_points,)
        Mean error of the chosen classifier on the test set that chose it, and on fresh rows.
    """

    n_candidates: np.ndarray
    reported: np.ndarray
    fresh: np.ndarray

    @property
    def optimism(self) -> np.ndarray:
        """Fresh error minus reported error."""
        return self.fresh - self.reported


def simulate_selection(
    n_candidates: Sequence[int] = (1, 3, 10, 30, 100),
    *,
    n_rows: int = 100,
    errors: tuple[float, float] = (0.3, 0.3),
    n_repeats: int = 1000,
    random_state: Any = None,
) -> SelectionOptimism:
    """Choose the classifier of least error on one test set, and test it again on fresh rows.

    Parameters
    ----------
    n_candidates : sequence of int, default=(1, 3, 10, 30, 100)
        Numbers of classifiers to choose from.
    n_rows : int, default=100
        Rows of the test set, and of the fresh one.
    errors : tuple of two floats, default=(0.3, 0.3)
        Range of the true error rates of the classifiers, drawn uniformly.
    n_repeats : int, default=1000
        Repetitions.
    random_state : int, RandomState instance or None, default=None
        Draws errors.

    Returns
    -------
    SelectionOptimism
        Reported and fresh errors; the more candidates, the further apart.

    Examples
    --------
    >>> from mercer.model_selection import simulate_selection
    >>> found = simulate_selection(random_state=0)
    >>> bool(found.optimism[-1] > 0.1)
    True
    """
    random = np.random.default_rng(int(check_random_state(random_state).randint(2**31 - 1)))
    reported, fresh = [], []
    for count in n_candidates:
        # A classifier of error rate p makes binomial(n, p) errors on n rows: nothing need be fitted.
        rates = random.uniform(*errors, size=(n_repeats, count))
        seen = random.binomial(n_rows, rates) / n_rows
        chosen = np.arange(n_repeats), seen.argmin(axis=1)
        reported.append(seen[chosen].mean())
        fresh.append((random.binomial(n_rows, rates[chosen]) / n_rows).mean())
    return SelectionOptimism(np.array(n_candidates), np.array(reported), np.array(fresh))
