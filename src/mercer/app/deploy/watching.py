"""Watch the model of a study: compare new rows with the training rows, and measure its score on them."""

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._source.table import Stream
from mercer.app.deploy.drift import Drift, compare_rows
from mercer.app.schema import Schema, open_rows, predict_columns
from mercer.app.study.formatting import spell_amount, spell_range
from mercer.app.study.measures import measure_predictions
from mercer.app.study.record import Record
from mercer.errors import DataError

# New rows whose score is measured.
_MOST_ROWS = 200_000


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


def _add_score(drift: Drift, model: Any, schema: Schema, record: Record, frame: Any) -> Drift:
    """Return the comparison with the score of the model on the new rows, whose target is known."""
    from mercer._source.table.column_type import spell_categories

    question, sureness = record.question, record.sureness
    assert question.target is not None
    rows = frame[frame[question.target].notna()]
    if sureness is None or len(rows) < 10:
        return drift
    columns = predict_columns(model, rows[list(schema.kinds)])
    if question.task == "classification":
        true = np.asarray(spell_categories(rows[question.target]), dtype=str)
        prefix = "probability of "
        names = [name.removeprefix(prefix) for name in columns if name.startswith(prefix)]
        shares = np.column_stack([columns[prefix + name] for name in names]) if names else None
        kept = np.isin(true, names)
        if shares is None or len(np.unique(true[kept])) < 2:
            return drift
        places = np.searchsorted(names, true[kept])
        answers = np.searchsorted(names, np.asarray(columns["prediction"], dtype=str)[kept])
        score, error = measure_predictions(question.metric, places, shares[kept], answers)
    else:
        true = rows[question.target].to_numpy(dtype=float)
        values = np.asarray(columns["prediction"], dtype=float)
        score, error = measure_predictions(question.metric, true, values, values)
    fallen = (sureness.low - score if question.greater_is_better else score - sureness.high) > 1.96 * error
    words = f"{question.metric} on the new rows is {spell_amount(score)}; the study said "
    words += f"{spell_amount(sureness.score)} ({spell_range(sureness.low, sureness.high)})."
    lower = score < sureness.low if question.greater_is_better else score > sureness.high
    verdict = "That is worse than chance explains." if fallen else "The score holds."
    if lower and not fallen:
        verdict = f"That is worse, but {len(rows)} rows are too few to tell it from chance."
    return replace(
        drift,
        changed=drift.changed or fallen,
        score=score,
        score_expected=[sureness.score, sureness.low, sureness.high],
        sentences=[*drift.sentences, f"{words[0].upper()}{words[1:]} {verdict}"],
    )
