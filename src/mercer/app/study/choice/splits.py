"""The folds of a study, and scores that also hold where a fold lacks a class."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, log_loss, roc_auc_score

from mercer._source.table.table import Notice
from mercer.app.options import Options
from mercer.app.study.dataset import Dataset
from mercer.app.study.metrics import Metric
from mercer.app.table.target import NoModelError
from mercer.model_selection.trials import Plan, Rows, make_plan, respond

# Probabilities below this count as this: a class that the training rows lack would give an infinite log loss.
_LEAST_PROBABILITY = 1e-6
# Groups of rows that a study by groups needs: one to test on, and two for the inner folds.
_FEWEST_GROUPS = 3
# Rows from which on, within a budget, one inner split is enough to choose settings: it tests on thousands of rows.
_MANY_ROWS = 10_000


def has_many_rows(dataset: Dataset, options: Options) -> bool:
    """Return whether the time of a study goes to the best candidate and its settings, and not to more inner splits."""
    return options.budget is not None and (options.many_rows or len(dataset) >= _MANY_ROWS)


def make_scorer(metric: Metric, classes: list[str], whole: np.ndarray | None = None) -> Callable[..., float]:
    """Return the scorer of a metric; for classes, one that allows folds without some of them.

    With the target of the `whole` table, an R² is measured beside its variance and not beside that of the fold: rows of
    two countries differ little among themselves, so that a small error would look like an R² of -40.
    """
    if metric.scorer == "r2" and whole is not None and len(whole) > 1:
        return partial(_score_beside, float(np.var(whole)))
    scorers = {"roc_auc_ovr": _score_area, "neg_log_loss": _score_log_loss}
    if metric.scorer in scorers:
        return partial(scorers[metric.scorer], np.array(classes))
    return get_scorer(metric.scorer)


def _score_beside(variance: float, model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return one less the mean squared error over a variance."""
    error = float(np.average((np.asarray(y) - np.asarray(model.predict(X))) ** 2, weights=sample_weight))
    return 1.0 - error / variance if variance > 0 else float(error == 0)


def _score_area(classes: np.ndarray, model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the area under the ROC curve, the mean over the classes that have rows in `y` and rows outside it."""
    shares = respond(model, X, classes)
    # The curves of two classes are mirror images, so one of them is enough.
    tested = classes[1:] if len(classes) == 2 else classes
    areas = [
        roc_auc_score(y == name, shares[:, place], sample_weight=sample_weight)
        for place, name in enumerate(classes)
        if name in tested and 0 < (y == name).sum() < len(y)
    ]
    # Test rows of a single class do not rank anything; 0.5 is the area of a guess.
    return float(np.mean(areas)) if areas else 0.5


def _score_log_loss(classes: np.ndarray, model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return minus the log loss."""
    shares = np.maximum(respond(model, X, classes), _LEAST_PROBABILITY)
    shares /= shares.sum(axis=1, keepdims=True)
    return -float(log_loss(y, shares, labels=classes, sample_weight=sample_weight))


def limit_folds(options: Options, dataset: Dataset) -> tuple[Options, list[Notice]]:
    """Return the options with no more folds than the rows have groups, and a notice if there are fewer folds now.

    Raise `NoModelError` if there are fewer than three groups.
    """
    n_groups = options.folds if dataset.groups is None else len(np.unique(dataset.groups))
    if n_groups >= options.folds:
        return options, []
    if n_groups < _FEWEST_GROUPS:
        raise NoModelError(
            f"a study by groups needs at least {_FEWEST_GROUPS} groups; got {n_groups}. Leave out --group."
        )
    text = f"The rows have {n_groups} groups, so that they are split into {n_groups} folds instead of {options.folds}."
    limited = replace(options, folds=n_groups, inner=min(options.inner, n_groups - 1))
    return limited, [Notice("note", "the splits", text, told=True)]


def draw_plan(dataset: Dataset, metric: Metric, options: Options) -> Plan:
    """Draw the outer and inner folds; each has at least two classes to learn from.

    Splits forward in time, and splits by groups, may have training rows of a single class. Such an inner split is
    replaced by another one of the same outer split; an outer split without any other is left out.

    Raises
    ------
    NoModelError
        If fewer than two outer splits are left.
    """
    whole = None if dataset.groups is None else dataset.y
    rows = Rows(dataset.X, dataset.y, dataset.weight, make_scorer(metric, dataset.classes, whole))
    plan = make_plan(
        rows, dataset.splitting(), outer=options.folds, inner=options.inner, repeats=options.repeats, seed=options.seed
    )
    if has_many_rows(dataset, options) and "inner" not in options.shown:
        plan = replace(plan, inner=[splits[:1] for splits in plan.inner])
    if not dataset.classes:
        return plan
    outer, inner, folds = [], [], 0
    for place, (split, splits) in enumerate(zip(plan.outer, plan.inner)):
        useful = [inside for inside in splits if _count_classes(dataset, inside[0]) > 1]
        if not useful or _count_classes(dataset, split[0]) < 2:
            continue
        outer.append(split)
        # Each outer split keeps its number of inner splits,
        # so that the scores of all splits are means over equally many.
        inner.append([useful[k % len(useful)] for k in range(len(splits))])
        folds += int(place < plan.folds)
    if len(outer) < 2 or folds < 1:
        raise NoModelError(
            f"in at most {len(outer)} of {len(plan.outer)} folds the training rows have two classes or more. Give "
            "other folds, or leave out --time or --group."
        )
    return replace(plan, outer=outer, inner=inner, folds=folds)


def _count_classes(dataset: Dataset, rows: np.ndarray) -> int:
    return len(np.unique(dataset.y[rows]))
