"""Conformal predictions: an interval or a set of classes that holds the truth with a given probability.

A study predicts every row by a model that has not seen it. The scores of these rows, absolute residuals or one less the
probability of the true class, say how wrong a prediction of a new row may be: with probability of at least `level` its
score is no larger than the ceil((n + 1) level)-th smallest of n scores, if new rows come from the same source.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._source.table.column_type import spell_categories
from mercer.app.study.record import Conformal, Record
from mercer.conformal import conformal_quantile
from mercer.errors import DataError

# Scores that are stored of a class, or of all numbers: the quantiles of more scores hardly differ.
_MOST_SCORES = 1000


def store_scores(true: np.ndarray, predictions: np.ndarray, classes: Sequence[str]) -> Conformal:
    """Return the scores of unseen rows: of each class on its own, so that rare classes are covered too.

    `true` are values, or indices into `classes`; `predictions` are values, or probabilities of the classes.
    """
    if not classes:
        parts = {"": np.abs(true - predictions)}
    else:
        wrong = 1 - predictions[np.arange(len(true)), true]
        parts = {name: wrong[true == place] for place, name in enumerate(classes)}
    most = max(50, _MOST_SCORES // max(1, len(parts) // 4))
    return Conformal(
        list(parts),
        [len(scores) for scores in parts.values()],
        [_thin(np.sort(scores), most).tolist() for scores in parts.values()],
        0.0 if not classes and len(true) and true.min() >= 0 else None,
    )


def _thin(scores: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` of sorted scores, at ranks rounded up, so that a quantile of them is never too small."""
    if len(scores) <= most:
        return scores
    ranks = np.ceil(np.arange(1, most + 1) * len(scores) / most).astype(int)
    return scores[ranks - 1]


def find_quantile(scores: Sequence[float], count: int, level: float) -> float:
    """Return the conformal quantile of `count` scores, some of them kept in `scores`; infinite if they are too few."""
    return conformal_quantile(scores, level, count=count)


def predict_interval(conformal: Conformal, values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of intervals around predicted values."""
    half = find_quantile(conformal.scores[0], conformal.counts[0], level)
    # A price is not negative, and an interval without values that do not occur holds the truth as often.
    low = values - half if conformal.least is None else np.maximum(values - half, conformal.least)
    return low, np.maximum(values + half, low)


def predict_set(conformal: Conformal, shares: np.ndarray, names: Sequence[str], level: float) -> list[list[str]]:
    """Return for each row the classes that cannot be excluded; the most probable one if all could be."""
    quantiles = dict(zip(conformal.names, zip(conformal.scores, conformal.counts)))
    most = np.array([find_quantile(*quantiles[name], level) if name in quantiles else np.inf for name in names])
    # Scores are differences from one; the tolerance keeps rows whose score is one of the stored ones.
    kept = 1 - shares <= most + 1e-12
    kept[np.arange(len(shares)), shares.argmax(axis=1)] = True
    return [[name for name, inside in zip(names, row) if inside] for row in kept]


def widen(columns: dict[str, np.ndarray], record: Record, level: float, frame: Any = None) -> dict[str, np.ndarray]:
    """Return predictions with the ends of an interval (`low`, `high`) or the set of possible classes (`set`).

    `frame` holds the rows. Those with a new value of a key, such as a new country, get an interval or a set that holds
    for such rows.

    Raises
    ------
    DataError
        If the study has no predictions of unseen rows, or `level` is no probability.
    """
    if not 0 < level < 1:
        raise DataError(f"coverage must be a probability between 0 and 1; got {level:g}.")
    conformal = record.conformal
    if conformal is None:
        raise DataError(
            "coverage: the study of this model stored no errors of unseen rows. Run it again with a larger --budget."
        )
    new = _find_new(record, frame)
    if new.any():
        assert record.other is not None
        parts = [_widen(columns, part, level) for part in (conformal, record.other.conformal) if part is not None]
        return {name: np.where(new, parts[-1][name], values) for name, values in parts[0].items()}
    return _widen(columns, conformal, level)


def _find_new(record: Record, frame: Any) -> np.ndarray:
    """Return which rows have a new value of the key whose new values the study has scored on their own."""
    other = record.other
    if frame is None or other is None or not other.known or other.conformal is None:
        return np.zeros(1, dtype=bool)
    values = frame.column(other.column).to_pandas() if hasattr(frame, "column") else frame[other.column]
    return ~np.asarray(spell_categories(values).isin(other.known), dtype=bool)


def _widen(columns: dict[str, np.ndarray], conformal: Conformal, level: float) -> dict[str, np.ndarray]:
    """Return predictions with intervals or sets from some stored errors."""
    if conformal.names == [""]:
        values = np.asarray(columns["prediction"], dtype=float)
        low, high = predict_interval(conformal, values, level)
        return {"prediction": columns["prediction"], "low": low, "high": high}
    prefix = "probability of "
    names = [name.removeprefix(prefix) for name in columns if name.startswith(prefix)]
    if not names:
        raise DataError("coverage: the model predicts no probabilities, which sets of classes need.")
    shares = np.column_stack([columns[prefix + name] for name in names])
    sets: Any = np.array(["; ".join(kept) for kept in predict_set(conformal, shares, names, level)], dtype=object)
    return {"prediction": columns["prediction"], "set": sets} | {
        name: values for name, values in columns.items() if name != "prediction"
    }
