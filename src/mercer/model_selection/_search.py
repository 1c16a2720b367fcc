"""Search for settings: all of them, some at random, or where a model of the scores expects the greatest improvement."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, WhiteKernel
from sklearn.model_selection import ParameterGrid, ParameterSampler

from mercer._source.threads import n_threads, run_numbered
from mercer.errors import ParameterError
from mercer.model_selection._splits import Split, prepare_splits
from mercer.model_selection._trial import Rows, fit_settings, fit_weights

METHODS = ("grid", "random", "model")
# Settings drawn at random, among which the model of the scores chooses.
_DRAWS = 256
# Settings that are tried before the model of the scores is first fitted.
_FIRST = 6


@dataclass(frozen=True)
class SearchResult:
    """Settings and their scores.

    Attributes
    ----------
    settings : list of dict
        In the order they were tried.
    scores : ndarray of shape (n_settings, n_splits)
        On unseen rows; greater is better.
    best : int
        The index of the setting with the best mean score; the first one in case of a tie.
    estimator : estimator or None
        With the best setting, fitted to all rows.
    """

    settings: list[dict[str, Any]]
    scores: np.ndarray
    best: int
    estimator: Any = None

    @property
    def best_setting(self) -> dict[str, Any]:
        """The setting with the best mean score."""
        return self.settings[self.best]


def search_settings(
    estimator: Any,
    X: Any,
    y: Any,
    space: Mapping[str, Any],
    *,
    method: str = "grid",
    n_settings: int = 20,
    scoring: Any = None,
    folds: int = 5,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    refit: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> SearchResult:
    """Search for the setting of an estimator with the best cross-validated score.

    Parameters
    ----------
    estimator : estimator
        The estimator to set.
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The target.
    space : mapping of str to sequence or distribution
        Values of each parameter, or a SciPy distribution such as ``loguniform(1e-3, 1e3)``, except for the grid.
    method : {"grid", "random", "model"}, default="grid"
        ``"grid"`` tries every combination, ``"random"`` some of them drawn at random; ``"model"`` tries one setting
        after the other, each where a Gaussian process fitted to the scores so far expects the greatest improvement.
    n_settings : int, default=20
        The number of settings to try; the grid tries all.
    scoring, folds, groups, time, sample_weight
        As in :func:`score_by_rows`.
    refit : bool, default=True
        Whether the best setting is fitted to all rows.
    n_jobs : int or None, default=None
        Threads over the splits; None takes all. Never changes a number.
    random_state : int, RandomState instance or None, default=None
        Draws folds and settings.

    Returns
    -------
    SearchResult
        The settings, their scores, and the best one.

    Notes
    -----
    The best score of a search is too optimistic for new rows, because it was chosen for being the best.
    :func:`nested_cv` gives an estimate without that bias.

    References
    ----------
    D. Jones, M. Schonlau and W. Welch, *Efficient global optimization of expensive black-box functions*, Journal of
    Global Optimization 13 (1998).

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer.linear_model import Ridge
    >>> from mercer.model_selection import search_settings
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = search_settings(Ridge(), X, y, {"alpha": loguniform(1e-4, 1e3)}, method="model", random_state=0)
    >>> bool(found.best_setting["alpha"] < 1)
    True
    """
    if method not in METHODS:
        raise ParameterError(f"search_settings: method must be one of {', '.join(map(repr, METHODS))}; got {method!r}.")
    rows, splits, seed = prepare_splits(estimator, X, y, scoring, folds, 1, groups, time, sample_weight, random_state)
    judge = _Judge(estimator, rows, splits, n_threads(n_jobs))
    if method == "grid":
        settings = [dict(setting) for setting in ParameterGrid(space)]
        scores = judge(settings)
    elif method == "random":
        settings = _draw_settings(space, n_settings, seed)
        scores = judge(settings)
    else:
        settings, scores = _search_by_model(judge, space, n_settings, seed)
    best = int(scores.mean(axis=1).argmax())
    model = None
    if refit:
        model = clone(estimator).set_params(**settings[best])
        model.fit(X, rows.y, **fit_weights(model, rows.weight))
    return SearchResult(settings, scores, best, model)


@dataclass(frozen=True)
class _Judge:
    """Scores settings on fixed splits."""

    estimator: Any
    rows: Rows
    splits: list[Split]
    threads: int

    def __call__(self, settings: list[dict[str, Any]]) -> np.ndarray:
        scores: list[list[float]] = []

        def score(split: int) -> list[float]:
            # One task fits all settings to a split, so that the first steps of a pipeline are fitted once per split.
            results = fit_settings(self.estimator, settings, self.rows, *self.splits[split])
            return [scored.test for scored in results]

        run_numbered(score, len(self.splits), self.threads, scores.append)
        return np.array(scores).T


def _draw_settings(space: Mapping[str, Any], n_settings: int, seed: int) -> list[dict[str, Any]]:
    """Draw settings at random; at most as many as there are, if all parameters are lists."""
    listed = {name: values if hasattr(values, "rvs") else list(values) for name, values in space.items()}
    if not any(hasattr(values, "rvs") for values in listed.values()):
        n_settings = min(n_settings, len(ParameterGrid(listed)))
    return [dict(setting) for setting in ParameterSampler(listed, n_settings, random_state=seed)]


def _search_by_model(
    judge: _Judge, space: Mapping[str, Any], n_settings: int, seed: int
) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Return settings and scores; each setting after the first ones has the greatest expected improvement."""
    settings = _draw_settings(space, min(_FIRST, n_settings), seed)
    scores = judge(settings)
    # Candidates are drawn once, in advance: the improvement is maximised over them and not over a continuum.
    pool = _draw_settings(space, _DRAWS, seed + 1)
    places = _place_in_cube(space, settings + pool)
    known, free = list(places[: len(settings)]), list(range(len(pool)))
    while len(settings) < n_settings and free:
        means = scores.mean(axis=1)
        spread = float(means.std()) or 1.0
        kernel = Matern(length_scale=0.3, nu=2.5) + WhiteKernel(1e-2)
        # Standardised scores, so that the kernel's unit variance and fixed width suit any scale of scoring.
        process = GaussianProcessRegressor(kernel, optimizer=None).fit(np.array(known), (means - means.mean()) / spread)
        expected, error = process.predict(places[len(places) - len(pool) :][free], return_std=True)
        gain = expected - (means.max() - means.mean()) / spread
        # Expected improvement of a normal distribution with mean `gain` and standard deviation `error` over 0.
        improvement = gain * norm.cdf(gain / error) + error * norm.pdf(gain / error)
        chosen = free.pop(int(improvement.argmax()))
        settings.append(pool[chosen])
        known.append(places[len(places) - len(pool) + chosen])
        scores = np.vstack([scores, judge([pool[chosen]])])
    return settings, scores


def _place_in_cube(space: Mapping[str, Any], settings: list[dict[str, Any]]) -> np.ndarray:
    """Return settings as points of a unit cube.

    Numbers that span two decades or more are placed by their logarithm, names by their order in `space`.
    """
    columns = []
    for name, values in space.items():
        chosen = [setting[name] for setting in settings]
        if all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in chosen):
            column = np.array(chosen, dtype=float)
            # Such parameters, like penalties, act by their order of magnitude.
            if column.min() > 0 and column.max() / column.min() > 100:
                column = np.log(column)
        else:
            listed = list(values)
            column = np.array([listed.index(value) for value in chosen], dtype=float)
        columns.append((column - column.min()) / (float(np.ptp(column)) or 1.0))
    return np.stack(columns, axis=1)
