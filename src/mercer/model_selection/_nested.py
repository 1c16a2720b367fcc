"""Nested cross-validation: choosing and judging on rows that are kept apart."""

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state

from mercer._source.threads import n_threads
from mercer.errors import DataError, ParameterError
from mercer.model_selection._interval import ScoreInterval, score_interval
from mercer.model_selection._plan import Plan, Trial, make_plan
from mercer.model_selection._rule import choose_simplest, one_standard_error
from mercer.model_selection._splits import Splitting
from mercer.model_selection._trial import Contender, OutOfTimeError, Rows, fit_weights

RULES = ("one_standard_error", "paired", "best")


@dataclass(frozen=True)
class NestedResult:
    """The results of nested cross-validation.

    Attributes
    ----------
    trials : list of Trial
        One per contender: its inner and outer scores, the settings chosen in each split, and its predictions of unseen
        rows.
    scores : ndarray of shape (n_splits,)
        The score of the whole procedure on each outer test part: of the contender and setting that the inner folds of
        that split chose.
    choices : list of str
        The contender that the inner folds of each outer split chose.
    interval : ScoreInterval
        The mean of `scores`, and an interval for the score on new rows.
    selection_bias : float
        The inner score of the chosen contender minus its score on rows that were not used for the choice.
    winner : str
        The contender for all rows: the simplest within one standard error of the best, or the best.
    setting : dict
        Its setting for all rows.
    estimator : estimator or None
        The winner with this setting, fitted to all rows.
    unfinished : list of str
        Contenders for which there was no time.
    """

    trials: list[Trial]
    scores: np.ndarray
    choices: list[str]
    interval: ScoreInterval
    selection_bias: float
    winner: str
    setting: dict[str, Any]
    estimator: Any = None
    unfinished: tuple[str, ...] = ()

    def trial(self, name: str) -> Trial:
        """Return the trial of the contender called `name`."""
        return next(trial for trial in self.trials if trial.name == name)


def nested_cv(
    candidates: Any,
    X: Any,
    y: Any,
    *,
    space: Any = None,
    scoring: Any = None,
    outer: int = 5,
    inner: int = 3,
    repeats: int = 1,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
    rule: str = "one_standard_error",
    keep_models: bool = False,
    refit: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
    max_time: float | None = None,
    watch: Callable[[str, int, int], None] | None = None,
) -> NestedResult:
    """Choose a model and its settings, and score the choice on rows that were not used for it.

    Each outer split holds out a part of the rows. Inside the rest, inner folds choose the setting of each contender and
    then the contender. That model is fitted to the rest and scored on the part held out. The mean of these scores
    estimates the score of the whole procedure without the optimism that the choice would bring.

    Parameters
    ----------
    candidates : estimator, mapping of str to estimator, or sequence of Contender
        What to choose from, simple ones first. Steps that prepare columns belong into a pipeline, so that they are
        fitted inside each fold.
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The target.
    space : mapping or None, default=None
        Settings to choose from, as scikit-learn's ``ParameterGrid`` takes them; for several estimators a mapping from
        their names to such spaces. A Contender brings its own.
    scoring : str, callable or None, default=None
        As in scikit-learn; None takes the estimator's own score.
    outer, inner : int, default=5, 3
        Folds outside and inside.
    repeats : int, default=1
        How many times the outer folds are drawn.
    groups : array-like of shape (n_samples,) or None, default=None
        Rows of one group are never on both sides of a split.
    time : array-like of shape (n_samples,) or None, default=None
        Training rows come before test rows. Excludes `groups` and `repeats`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        For fits that take weights, and for scores.
    level : float, default=0.95
        Confidence level of the interval.
    rule : {"one_standard_error", "paired", "best"}, default="one_standard_error"
        Which contender is chosen: the simplest within one standard error of the best score, the simplest whose lag
        behind the best, fold by fold, is within one standard error of the lag, or the best.
    keep_models : bool, default=False
        Whether the model of each outer split is kept in its trial.
    refit : bool, default=True
        Whether the winner is fitted to all rows.
    n_jobs : int or None, default=None
        Threads over the splits; None takes all. Never changes a number.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.
    max_time : float or None, default=None
        Seconds after which no further contender is tried; the first one is always finished.
    watch : callable or None, default=None
        Called as ``watch(name, done, total)`` when a part of a contender's work is done.

    Returns
    -------
    NestedResult
        Scores, choices, interval, and the winner fitted to all rows.

    Notes
    -----
    Takes ``outer * repeats * (inner * settings + 1)`` fits per contender. Settings of the last step of a pipeline share
    the fitted steps before it. The setting for all rows is the one with the best inner score over all outer splits. For
    what the interval assumes see :func:`score_interval`.

    References
    ----------
    S. Varma and R. Simon, *Bias in error estimation when using cross-validation for model selection*, BMC
    Bioinformatics 7 (2006).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from mercer.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from mercer.model_selection import nested_cv
    >>> from mercer.neighbors import NearestCentroid
    >>> X, y = load_wine(return_X_y=True)
    >>> models = {"centroid": NearestCentroid(), "linear": LinearDiscriminantAnalysis()}
    >>> found = nested_cv(models, X, y, random_state=0)
    >>> found.winner, bool(found.interval.low > 0.9)
    ('linear', True)
    """
    contenders = _read_contenders(candidates, space)
    _check_options(rule, time, groups, repeats)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError(f"nested_cv: y must have one dimension; got {labels.ndim}.")
    first = contenders[0].estimator
    # Room above the seed: splits take it plus small numbers, and must stay below 2^31.
    seed = int(check_random_state(random_state).randint(2**31 - 2**20))
    known = Splitting(
        labels if is_classifier(first) else None,
        None if groups is None else np.asarray(groups),
        None if time is None else np.asarray(time),
    )
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    rows = Rows(X, labels, weight, check_scoring(first, scoring=scoring))
    plan = make_plan(rows, known, outer=outer, inner=inner, repeats=repeats, seed=seed)
    trials, unfinished = _run_all(plan, contenders, n_threads(n_jobs), max_time, keep_models, watch)
    result = conclude(plan, trials, rule=rule, level=level, unfinished=unfinished)
    return _refit(result, contenders, rows) if refit else result


def conclude(
    plan: Plan,
    trials: Sequence[Trial],
    *,
    rule: str = "one_standard_error",
    level: float = 0.95,
    unfinished: Any = (),
    measure: Callable[[Trial, int | None], np.ndarray | None] | None = None,
) -> NestedResult:
    """Choose among finished trials, inside each outer split and for all rows.

    The rule "paired" also compares losses of single rows if there is `measure`: ``measure(trial, fold)`` returns the
    loss of each row by the inner models of an outer split, or by the outer models for None; NaN where there is none.
    """
    ranks = [trial.rank for trial in trials]
    # Inner scores choose inside each outer split; outer scores, which no choice has seen, are what is reported.
    inside = np.stack([trial.inner_at_choice() for trial in trials])
    outside = np.stack([trial.scores for trial in trials])
    inner_share = float(np.mean([len(test) / len(train) for splits in plan.inner for train, test in splits]))
    variance = _pool_variances(inside) if rule == "paired" else None
    picked = []
    for fold in range(inside.shape[1]):
        losses = _gather_losses(trials, measure, fold, len(plan.rows.y))
        picked.append(_pick(inside[:, fold], ranks, rule, inner_share, variance, losses))
    folds = np.arange(len(picked))
    scores = outside[picked, folds]
    # The outer scores choose the model for all rows. Its own outer score would flatter it: the interval is that of the
    # whole procedure, with the choice repeated in each split.
    losses = _gather_losses(trials, measure, None, len(plan.rows.y))
    winner = trials[_pick(outside, ranks, rule, plan.test_share, losses=losses)]
    return NestedResult(
        list(trials),
        scores,
        [trials[choice].name for choice in picked],
        score_interval(scores, test_share=plan.test_share, level=level),
        float((inside[picked, folds].mean(axis=1) - scores).mean()),
        winner.name,
        winner.best_setting,
        None,
        tuple(unfinished),
    )


def _pool_variances(inside: np.ndarray) -> np.ndarray | None:
    """Return the variance of the lags behind the best contender over inner folds, the mean over the outer splits.

    Two or three inner folds alone give no usable variance. None if there is one inner fold.
    """
    if inside.shape[2] < 2:
        return None
    best = int(inside.mean(axis=(1, 2)).argmax())
    return (inside[best] - inside).var(axis=2, ddof=1).mean(axis=1)


def _gather_losses(trials: Sequence[Trial], measure: Any, fold: int | None, n_rows: int) -> np.ndarray | None:
    """Return the loss of each row by each contender; None if nobody measures it."""
    if measure is None:
        return None
    found = [measure(trial, fold) for trial in trials]
    return np.stack([np.full(n_rows, np.nan) if losses is None else losses for losses in found])


def _pick(
    scores: np.ndarray,
    ranks: Sequence[float],
    rule: str,
    test_share: float,
    variance: np.ndarray | None = None,
    losses: np.ndarray | None = None,
) -> int:
    """Return the index of the chosen contender, by its rank, its scores and its losses."""
    if rule == "paired":
        return choose_simplest(scores, ranks, test_share=test_share, variance=variance, losses=losses)
    if rule == "best":
        return int(scores.mean(axis=1).argmax())
    return one_standard_error(scores, ranks)


def _read_contenders(candidates: Any, space: Any) -> list[Contender]:
    """Return what the user gave as a list of contenders."""
    if hasattr(candidates, "fit"):
        return [Contender(type(candidates).__name__, candidates, space or {})]
    if isinstance(candidates, Mapping):
        spaces = space or {}
        unknown = sorted(set(spaces) - set(candidates))
        if unknown:
            raise ParameterError(
                "nested_cv: the names in space must be among those of the candidates, "
                f"{', '.join(map(repr, candidates))}; got {unknown[0]!r}."
            )
        return [
            Contender(name, estimator, spaces.get(name, {}), rank)
            for rank, (name, estimator) in enumerate(candidates.items())
        ]
    contenders = list(candidates)
    if not contenders:
        raise ParameterError("nested_cv: candidates must hold at least one; got none.")
    return contenders


def _check_options(rule: str, time: Any, groups: Any, repeats: int) -> None:
    """Raise if options are wrong or exclude each other."""
    if rule not in RULES:
        raise ParameterError(f"nested_cv: rule must be one of {', '.join(map(repr, RULES))}; got {rule!r}.")
    if time is not None and (groups is not None or repeats != 1):
        raise ParameterError(
            "nested_cv: time goes with neither groups nor repeats: splits forward in time are fixed by the order."
        )


def _run_all(
    plan: Plan, contenders: list[Contender], threads: int, max_time: float | None, keep: bool, watch: Any
) -> tuple[list[Trial], list[str]]:
    """Return the finished trials, and the names of contenders for which there was no time."""
    trials: list[Trial] = []
    deadline = None if max_time is None else clock.monotonic() + max_time
    for place, contender in enumerate(contenders):
        tell = None if watch is None else partial(watch, contender.name)
        try:
            # The first contender always finishes: a result needs at least one trial.
            limit = deadline if trials else None
            trials.append(plan.run(contender, threads=threads, deadline=limit, watch=tell, keep=keep))
        except OutOfTimeError:
            return trials, [left.name for left in contenders[place:]]
    return trials, []


def _refit(result: NestedResult, contenders: list[Contender], rows: Rows) -> NestedResult:
    """Return the result with the winner fitted to all rows."""
    contender = next(contender for contender in contenders if contender.name == result.winner)
    model = clone(contender.estimator).set_params(**result.setting)
    model.fit(rows.X, rows.y, **fit_weights(model, rows.weight))
    return NestedResult(**{**vars(result), "estimator": model})
