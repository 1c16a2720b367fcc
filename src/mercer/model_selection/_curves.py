"""Scores against the number of training rows, or against a parameter that makes a model more complex."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._source.threads import n_threads, run_numbered
from mercer.errors import ParameterError
from mercer.model_selection._splits import Split, prepare_splits
from mercer.model_selection._trial import Rows, fit_settings

# Shares of the training rows at which a learning curve is measured by default.
_SHARES = (0.1, 0.2, 0.35, 0.6, 1.0)


@dataclass(frozen=True)
class ScoreCurve:
    """Scores on training and on unseen rows, point by point.

    Attributes
    ----------
    label : str
        What the points differ in.
    x : ndarray of shape (n_points,)
        The points.
    train, test : ndarray of shape (n_points, n_splits)
        Scores on the rows fitted to, and on unseen rows; greater is better.
    """

    label: str
    x: np.ndarray
    train: np.ndarray
    test: np.ndarray

    @property
    def best(self) -> int:
        """The index of the point with the best mean score on unseen rows."""
        return int(self.test.mean(axis=1).argmax())

    @property
    def gap(self) -> np.ndarray:
        """Mean score on training rows minus mean score on unseen rows, at each point."""
        return self.train.mean(axis=1) - self.test.mean(axis=1)


def score_by_rows(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[float] | None = None,
    scoring: Any = None,
    folds: int = 5,
    repeats: int = 1,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> ScoreCurve:
    """Score an estimator on more and more training rows.

    In each split the smaller training sets are parts of the larger ones, and classes keep their shares; with `time`
    they are the latest rows before the test rows.

    Parameters
    ----------
    estimator : estimator
        What to fit.
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The target.
    sizes : sequence of numbers or None, default=None
        Numbers of training rows, or shares of a split's training rows in (0, 1]; None takes five shares.
    scoring : str, callable or None, default=None
        As in scikit-learn; None takes the estimator's own score.
    folds, repeats : int, default=5, 1
        Number of folds, and how many times they are drawn.
    groups, time, sample_weight : array-like of shape (n_samples,) or None, default=None
        As in :func:`nested_cv`.
    n_jobs : int or None, default=None
        Threads over the splits; None takes all. Never changes a number.
    random_state : int, RandomState instance or None, default=None
        Draws folds and training rows.

    Returns
    -------
    ScoreCurve
        Scores by number of training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer.linear_model import LinearRegression
    >>> from mercer.model_selection import score_by_rows
    >>> X, y = load_diabetes(return_X_y=True)
    >>> curve = score_by_rows(LinearRegression(), X, y, sizes=[30, 100, 300], random_state=0)
    >>> bool(curve.gap[0] > curve.gap[1] > curve.gap[2])
    True
    """
    rows, splits, seed = prepare_splits(
        estimator, X, y, scoring, folds, repeats, groups, time, sample_weight, random_state
    )
    # All splits must reach the largest size: folds of unequal size would otherwise give ragged curves.
    smallest = min(len(train) for train, _ in splits)
    wanted = np.asarray(_SHARES if sizes is None else sizes, dtype=float)
    counts = np.where(wanted <= 1, np.round(wanted * smallest), wanted).astype(int)
    if counts.min() < 1 or counts.max() > smallest:
        raise ParameterError(
            f"score_by_rows: sizes must be shares in (0, 1] or numbers of rows up to {smallest}, the training part of "
            f"a split; got {wanted.tolist()}."
        )
    labels = rows.y if is_classifier(estimator) else None
    orders = [order_growing(train, labels, seed + place, time is not None) for place, (train, _) in enumerate(splits)]
    train, test = score_sizes(estimator, rows, splits, orders, counts, n_threads(n_jobs))
    return ScoreCurve("training rows", counts, train, test)


def complexity_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    name: str,
    values: Sequence[Any],
    scoring: Any = None,
    folds: int = 5,
    repeats: int = 1,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> ScoreCurve:
    """Score an estimator for the values of one parameter that makes it more complex.

    Parameters
    ----------
    estimator : estimator
        What to fit.
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The target.
    name : str
        The parameter; ``step__parameter`` in a pipeline.
    values : sequence
        Its values, from simple to complex.
    scoring, folds, repeats, groups, time, sample_weight, n_jobs, random_state
        As in :func:`score_by_rows`.

    Returns
    -------
    ScoreCurve
        Scores by value; ``best`` marks the one with the best score on unseen rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from mercer.linear_model import LinearRegression
    >>> from mercer.model_selection import complexity_curve
    >>> from mercer.preprocessing import PolynomialBasis
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> y = 4 * x[:, 0] ** 3 - 3 * x[:, 0] + np.random.default_rng(1).normal(scale=0.3, size=60)
    >>> model = make_pipeline(PolynomialBasis(1), LinearRegression())
    >>> curve = complexity_curve(model, x, y, name="polynomialbasis__degree", values=range(1, 10), random_state=0)
    >>> int(curve.x[curve.best])
    3
    """
    rows, splits, _ = prepare_splits(
        estimator, X, y, scoring, folds, repeats, groups, time, sample_weight, random_state
    )
    settings = [{name: value} for value in values]
    results: list[Any] = []

    def score(split: int) -> Any:
        return fit_settings(estimator, settings, rows, *splits[split], train_score=True)

    run_numbered(score, len(splits), n_threads(n_jobs), results.append)
    train = np.array([[fit.train for fit in scored] for scored in results]).T
    test = np.array([[fit.test for fit in scored] for scored in results]).T
    return ScoreCurve(name.split("__")[-1], np.asarray(list(values)), train, test)


def order_growing(train: np.ndarray, labels: np.ndarray | None, seed: int, forward: bool) -> np.ndarray:
    """Return the training rows in an order such that the first rows, however many, hold all classes in their shares."""
    # Splits forward in time keep the latest rows, which are nearest to the test rows.
    if forward:
        return train[::-1]
    random = np.random.default_rng(seed)
    places = random.random(len(train))
    if labels is not None:
        for name in np.unique(labels[train]):
            # Spread the members of each class evenly over [0, 1): the k-th of m gets (k + u) / m with u in [0, 1), so
            # that every prefix of the order holds about the same share of each class.
            members = np.flatnonzero(labels[train] == name)
            places[members] = (random.permutation(len(members)) + places[members]) / len(members)
    return train[np.argsort(places, kind="stable")]


def score_sizes(
    estimator: Any,
    rows: Rows,
    splits: Sequence[Split],
    orders: Sequence[np.ndarray],
    sizes: np.ndarray,
    threads: int,
    setting: dict[str, Any] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores on training rows and on unseen rows, each of shape (n_sizes, n_splits)."""
    results: list[Any] = []

    def score(task: int) -> Any:
        # Tasks are ordered by size: the table below is then a plain reshape.
        size, split = divmod(task, len(splits))
        train = orders[split][: sizes[size]]
        return fit_settings(estimator, [setting or {}], rows, train, splits[split][1], train_score=True)[0]

    run_numbered(score, len(sizes) * len(splits), threads, results.append)
    table = np.array([(scored.train, scored.test) for scored in results]).reshape(len(sizes), len(splits), 2)
    return table[..., 0], table[..., 1]
