"""Describe a study: the question, the splits, what is needed to repeat it, and notices about the rows."""

import datetime
import math
import sys
from typing import Any

import numpy as np

from mercer._source.table.table import Notice, Table
from mercer.app.options import Options
from mercer.app.study.best_score import count_contradictions
from mercer.app.study.clock import Clock
from mercer.app.study.dataset import Dataset
from mercer.app.study.metrics import find_metric
from mercer.app.study.record import Origin, Question
from mercer.app.table.roles import Roles

# Parts of a study that are named in one sentence.
_MOST_PARTS = 5
# Candidates that a notice names.
_MOST_NAMED = 3
# Parts of a report without which its answer is as sure.
_EXTRAS = {
    "the complexity curve",
    "hard rows",
    "strange rows",
    "a map of the rows",
    "effects of the columns",
    "the learning curve",
    "the best possible score",
    "bias and variance",
}
# Duplicate rows are counted in tables up to this size.
_MOST_COUNTED = 200_000


def list_notices(dataset: Dataset, sample: Dataset, clock: Clock) -> list[Notice]:
    """Return what the study itself has to say about the data."""
    notices = []
    if len(sample) < len(dataset):
        text = f"The models were compared on {len(sample)} of {len(dataset)} rows, drawn at random."
        notices.append(
            Notice("note", "the table", text, "Give a larger --budget or --max-rows to compare them on more rows.")
        )
    # A failure here must not end a study that has its answer, hence the attempt.
    opposed = clock.attempt("rows that contradict each other", lambda: count_contradictions(sample), 0.99, 0)
    if opposed:
        text = (
            f"{opposed} rows equal another row in every column but differ in the target: no model can predict them all."
        )
        notices.append(Notice("note", "the table", text, "Add a column that tells them apart."))
    return notices


def count_duplicates(frame: Any) -> int:
    """Count rows that repeat an earlier row; 0 in large tables, where that would take long."""
    return int(frame.duplicated().sum()) if len(frame) <= _MOST_COUNTED else 0


def list_left_out(clock: Clock) -> list[Notice]:
    """Return a notice of the parts for which there was no time."""
    if not clock.left_out:
        return []
    why = "The study was interrupted" if clock.interrupted else "The time was over"
    # What only adds to the picture is no reason to distrust the model.
    level = "note" if set(clock.left_out) <= _EXTRAS else "warning"
    shown = clock.left_out[:_MOST_PARTS]
    more = f" and {len(clock.left_out) - len(shown)} more" if len(clock.left_out) > len(shown) else ""
    return [
        Notice(
            level,
            "the study",
            f"{why} before these parts were made: {', '.join(shown)}{more}.",
            "Give a larger --budget.",
            told=True,
        )
    ]


def list_lacking(
    lacking: dict[str, float], budget: float | None, spent: float = 0.0, n_targets: int = 1
) -> list[Notice]:
    """Return a notice of the candidates for which there was no time, with the budget that would be enough.

    The seconds `spent` before the study, for reading the table, are part of the budget that a user gives, and several
    targets divide it.
    """
    if not lacking or budget is None:
        return []
    names = list(lacking)
    shown = names[:_MOST_NAMED]
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    # Names of candidates may have commas in them.
    text = f"There was no time to try {shown[0]}."
    if len(shown) > 1:
        text = f"There was no time to try {len(names)} candidates: {'; '.join(shown)}."
    known = [seconds for seconds in lacking.values() if math.isfinite(seconds)]
    if not known:
        return [Notice("note", "the budget", text, "Give a larger --budget.", told=True)]
    # Candidates whose time is not known are taken to need the mean of the others. A third more than the trials take is
    # for the part of the budget that is kept for describing the model.
    enough = n_targets * (spent + budget + 1.33 * len(names) * sum(known) / len(known))
    typed = f"{5 * math.ceil(enough / 5)}s" if enough < 100 else f"{math.ceil(enough / 30) / 2:g}m"
    cure = f"To try {'it' if len(names) == 1 else 'them'} too, give --budget {typed}, or more."
    return [Notice("note", "the budget", text, cure, told=True)]


def describe_question(table: Table, roles: Roles, dataset: Dataset, options: Options) -> Question:
    """Return what was asked, for the record."""
    metric = find_metric(options.metric, dataset.task)
    return Question(
        dataset.task,
        table.name,
        len(table.frame),
        table.frame.shape[1],
        roles.target,
        dataset.classes,
        dataset.positive,
        metric.words,
        metric.greater_is_better,
        _describe_splits(roles, dataset, options),
    )


def _describe_splits(roles: Roles, dataset: Dataset, options: Options) -> str:
    """Return in words how the rows were split."""
    folds = f"{options.folds} folds" + (f", {options.repeats} times" if options.repeats > 1 else "")
    if dataset.time is not None:
        return f"{folds}, forward in time by `{roles.time}`"
    if dataset.groups is not None:
        return f"{folds} that keep groups of `{roles.group}` together"
    return f"{folds}, stratified" if dataset.classes else folds


def describe_origin(table: Table, options: Options, clock: Clock) -> Origin:
    """Return what is needed to repeat the study: command, seed, data, versions."""
    import pandas
    import scipy
    import sklearn

    import mercer

    versions = {
        "mercer": mercer.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        **{package.__name__: package.__version__ for package in (np, scipy, sklearn, pandas)},
    }
    return Origin(
        options.command or f"mercer.run({table.name!r})",
        options.seed,
        table.digest,
        clock.measure_spent(),
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        versions,
        options.shown,
        clock.interrupted,
        options.budget,
    )
