"""Watch the model of a study: compare new rows with the training rows, and measure its score on them."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm

from mercer._source.table import Stream
from mercer._source.table.table import quote
from mercer.app.deploy.drift import Drift, compare_rows
from mercer.app.schema import Schema, open_rows, predict_columns
from mercer.app.study.formatting import spell_amount, spell_range
from mercer.app.study.measures import measure_predictions
from mercer.app.study.record import HoldOut, Record
from mercer.errors import DataError

# New rows whose score is measured.
_MOST_ROWS = 200_000
# With fewer rows a score is not measured.
_FEWEST_ROWS = 10


def watch_rows(model: Any, schema: Schema, record: Record, table: Any, level: float, **reading: Any) -> Drift:
    """Return what has changed since the study.

    Raises
    ------
    DataError
        If the study kept no training rows, or the table has no rows.
    """
    if record.reference is None:
        raise DataError("watch: the study stored none of its training rows. Run it again without --no-rows.")
    target = record.question.target
    known = Stream.open(table, **reading).names
    others = [target] if target is not None and target in known else []
    frame = _read_rows(open_rows(table, schema, others, **reading))
    if not len(frame):
        raise DataError("watch: the table has column names but no rows. Give a table with rows.")
    drift = compare_rows(record.reference, frame, level)
    return _add_score(drift, model, schema, record, frame) if others else drift


def _read_rows(stream: Stream) -> Any:
    """Return the first rows of a stream."""
    import pandas

    frames, count = [], 0
    for frame in stream:
        frames.append(frame)
        count += len(frame)
        if count >= _MOST_ROWS:
            break
    return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


def score_apart(model: Any, record: Record, table: Any, **reading: Any) -> HoldOut:
    """Return the score of the model of a study on a table that the study has not seen.

    Raises
    ------
    DataError
        If the table lacks the target or a column, or has too few rows with a known target.
    """
    assert record.question.target is not None
    stream = open_rows(table, Schema.of(model, "the study"), [record.question.target], **reading)
    frame = _read_rows(stream)
    measured = _measure_score(model, Schema.of(model, "the study"), record, frame)
    if measured is None:
        raise DataError(
            f"{stream.place.name}: --holdout needs at least {_FEWEST_ROWS} rows with a known "
            f"{quote(record.question.target)}, of two classes or more. Give another table."
        )
    score, error, n_rows = measured
    half = float(norm.ppf((1 + record.sureness.level) / 2)) * error if record.sureness is not None else 0.0
    return HoldOut(stream.place.name, n_rows, score, score - half, score + half)


def _add_score(drift: Drift, model: Any, schema: Schema, record: Record, frame: Any) -> Drift:
    """Return the comparison with the score of the model on the new rows, whose target is known."""
    question, sureness = record.question, record.sureness
    measured = _measure_score(model, schema, record, frame)
    if sureness is None or measured is None:
        return drift
    score, error, n_rows = measured
    fallen = (sureness.low - score if question.greater_is_better else score - sureness.high) > 1.96 * error
    words = f"{question.metric} on the new rows is {spell_amount(score)}; the study said "
    words += f"{spell_amount(sureness.score)} ({spell_range(sureness.low, sureness.high)})."
    lower = score < sureness.low if question.greater_is_better else score > sureness.high
    verdict = "That is worse than chance explains." if fallen else "The score holds."
    if lower and not fallen:
        verdict = f"That is worse, but {n_rows} rows are too few to tell it from chance."
    return replace(
        drift,
        changed=drift.changed or fallen,
        score=score,
        score_expected=[sureness.score, sureness.low, sureness.high],
        sentences=[*drift.sentences, f"{words[0].upper()}{words[1:]} {verdict}"],
    )


def _measure_score(model: Any, schema: Schema, record: Record, frame: Any) -> tuple[float, float, int] | None:
    """Return the score on rows with a known target, its standard error and their number; None if they are too few."""
    from mercer._source.table.column_type import spell_categories

    question = record.question
    assert question.target is not None
    rows = frame[frame[question.target].notna()] if len(frame) else frame
    if len(rows) < _FEWEST_ROWS:
        return None
    columns = predict_columns(model, rows[list(schema.kinds)])
    if question.task != "classification":
        true = rows[question.target].to_numpy(dtype=float)
        values = np.asarray(columns["prediction"], dtype=float)
        return (*measure_predictions(question.metric, true, values, values), len(rows))
    true = np.asarray(spell_categories(rows[question.target]), dtype=str)
    prefix = "probability of "
    names = [name.removeprefix(prefix) for name in columns if name.startswith(prefix)]
    shares = np.column_stack([columns[prefix + name] for name in names]) if names else None
    kept = np.isin(true, names)
    if shares is None or len(np.unique(true[kept])) < 2:
        return None
    places = np.searchsorted(names, true[kept])
    answers = np.searchsorted(names, np.asarray(columns["prediction"], dtype=str)[kept])
    return (*measure_predictions(question.metric, places, shares[kept], answers), int(kept.sum()))
