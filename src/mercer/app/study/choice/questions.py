"""Answer the question that the splits of a study do not ask: how good the chosen model is on other kinds of new rows.

Rows of one country resemble each other, so that a model predicts new rows of known countries better than those of new
countries. A study assumes one of them, and this module scores the chosen model for the other.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._source.threads import run_numbered
from mercer.app.deploy.conformal import store_scores
from mercer.app.options import Options
from mercer.app.study.choice.comparison import find_interval
from mercer.app.study.choice.selection import Selection
from mercer.app.study.choice.splits import draw_plan
from mercer.app.study.dataset import Dataset, read_groups, read_times
from mercer.app.study.record import OtherQuestion
from mercer.model_selection.trials import fit_settings, respond, take_rows

# Folds of the other question: with fewer, intervals of few groups are too wide to say anything.
_FOLDS = 5
# Values of a key that are stored, to tell rows with new values from others.
_MOST_KNOWN = 10_000


@dataclass(frozen=True)
class Other:
    """A question that the splits of a study do not ask.

    `kind` is "group" for new values of the column `name`, "later" for rows later by `name`, and "order" for rows later
    in the file. Where the study tests on new values it is "known", for rows with known ones, and where the study tests
    on later rows "same", for rows of the time of the table.
    """

    kind: str
    name: str = ""

    @property
    def rows(self) -> str:
        """The rows of the question, in words."""
        return {
            "group": f"rows with new values of `{self.name}`",
            "known": f"rows with known values of `{self.name}`",
            "order": "rows later in the file",
            "later": f"rows that are later by `{self.name}`",
            "same": "rows from the same time as these",
        }[self.kind]

    @property
    def assumed(self) -> str:
        """The rows that the study assumes, in words."""
        return {
            "group": f"new rows with known values of `{self.name}`",
            "known": f"rows with new values of `{self.name}`",
            "order": "new rows from anywhere in the file",
            "later": "new rows from the same time as these",
            "same": f"rows that are later by `{self.name}`",
        }[self.kind]

    @property
    def option(self) -> str:
        """What to type for a study that assumes these rows."""
        names = {"group": f"--group {self.name}", "later": f"--time {self.name}", "order": "--time COLUMN"}
        return names.get(self.kind, "--splits random")


def answer_other(
    selection: Selection, dataset: Dataset, frame: Any, other: Other, options: Options
) -> OtherQuestion | None:
    """Return the score of the chosen model for another kind of new rows; None if the rows cannot be split so.

    The model is fitted anew in each fold, with the setting that the study has chosen.
    """
    rows = _split_otherwise(dataset, frame, other)
    folds = _FOLDS if rows.groups is None else min(_FOLDS, len(np.unique(rows.groups)))
    if folds < 3:
        return None
    plan = draw_plan(rows, selection.metric, replace(options, folds=folds, inner=2, repeats=1))
    estimator = selection.contenders[selection.result.winner].estimator
    results: list[Any] = []

    def fit(fold: int) -> Any:
        setting = selection.result.setting
        scored = fit_settings(estimator, [setting], plan.rows, *plan.outer[fold], keep=True)[0]
        return scored.test, respond(scored.model, take_rows(plan.rows.X, plan.outer[fold][1]), plan.classes)

    run_numbered(fit, len(plan.outer), selection.threads(options.n_jobs), results.append)
    predictions = np.full_like(selection.winner.predictions, np.nan)
    for (_, test), (_, unseen) in zip(plan.outer, results):
        predictions[test] = unseen
    scores = np.array([score for score, _ in results])
    trial = replace(selection.winner, scores=scores, predictions=predictions)
    asked = replace(selection, plan=plan, groups=rows.groups, timed=rows.time is not None)
    score, low, high = find_interval(trial, asked, options.level)
    known = [] if rows.groups is None or options.no_rows else np.unique(rows.groups).tolist()
    return OtherQuestion(
        other.rows,
        other.assumed,
        score,
        low,
        high,
        other.option,
        other.name if other.kind == "group" else "",
        known if len(known) <= _MOST_KNOWN else [],
        _store_errors(rows, predictions) if other.kind == "group" else None,
    )


def _split_otherwise(dataset: Dataset, frame: Any, other: Other) -> Dataset:
    """Return the rows with what the splits of the other question respect."""
    here = frame.loc[dataset.rows]
    if other.kind == "group":
        return replace(dataset, groups=read_groups(here, other.name), time=None)
    if other.kind == "later":
        return replace(dataset, groups=None, time=read_times(here, other.name))
    if other.kind == "order":
        return replace(dataset, groups=None, time=dataset.rows.astype(float))
    return replace(dataset, groups=None, time=None)


def _store_errors(dataset: Dataset, predictions: np.ndarray) -> Any:
    """Return how wrong predictions were of rows with new values of a key."""
    if predictions.dtype == object or (predictions.ndim == 1 and dataset.classes):
        return None
    kept = np.flatnonzero(np.isfinite(predictions.reshape(len(predictions), -1)).all(axis=1))
    true = np.searchsorted(dataset.classes, dataset.y) if dataset.classes else dataset.y
    return store_scores(true[kept], predictions[kept], dataset.classes)
