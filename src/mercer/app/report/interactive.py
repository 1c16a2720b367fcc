"""What a reader can try in the page: one row with other values, and another threshold. Both need a script.

The numbers come with the page as two small tables, so that nothing is asked of a server.
"""

from typing import Any

from mercer.app.deploy.conformal import find_quantile
from mercer.app.study.record import Record

# Share of new rows whose true value lies in the interval that the page shows.
_COVERAGE = 0.9
# Probabilities of each class that the page holds.
_MOST_POINTS = 200


def list_what_if_data(record: Record) -> dict[str, Any] | None:
    """Return the effects of the most important columns on the prediction; None if there are none.

    The page adds the effects: the mean prediction, plus for each column the mean prediction at the chosen value less
    its mean over the values shown. That is exact for a model without interactions.
    """
    effects = [dependence for dependence in record.dependences if len(dependence.values) > 1 and dependence.mean]
    if not effects or record.question.task == "structure":
        return None
    columns = [
        {
            "name": effect.column,
            "values": list(effect.values),
            "effect": [value - sum(effect.mean) / len(effect.mean) for value in effect.mean],
        }
        for effect in effects
    ]
    middles = [sum(effect.mean) / len(effect.mean) for effect in effects]
    half = None
    if record.question.task == "regression" and record.conformal is not None:
        quantile = find_quantile(record.conformal.scores[0], record.conformal.counts[0], _COVERAGE)
        half = quantile if quantile < float("inf") else None
    return {
        "label": effects[0].label.replace("`", "") or "prediction",
        "middle": sum(middles) / len(middles),
        "columns": columns,
        "half": half,
        "least": None if record.conformal is None else record.conformal.least,
        "probability": record.question.task == "classification",
    }


def list_threshold_data(record: Record) -> dict[str, Any] | None:
    """Return the probabilities that unseen rows of both classes got; None if there are not two classes."""
    positive, conformal = record.question.positive, record.conformal
    if any(candidate.status == "chosen" and candidate.family == "baseline" for candidate in record.candidates):
        # The constant guess gives every row the same probability.
        return None
    if positive is None or conformal is None or len(conformal.names) != 2 or record.fit is None:
        return None
    place = conformal.names.index(positive) if positive in conformal.names else 0
    # The score of a row is one less the probability of its own class.
    here = [1 - score for score in conformal.scores[place]]
    other = list(conformal.scores[1 - place])
    total = sum(conformal.counts)
    return {
        "positive": positive,
        "share": conformal.counts[place] / total if total else 0.0,
        "here": _thin(here),
        "other": _thin(other),
        "threshold": 0.5 if record.fit.threshold is None else record.fit.threshold,
    }


def _thin(values: list[float]) -> list[float]:
    """Return evenly spaced ones of sorted values, with few digits; a record has None for what was no number."""
    values = [value for value in values if value is not None]
    step = max(1.0, len(values) / _MOST_POINTS)
    kept = [values[int(place * step)] for place in range(int(len(values) / step))]
    return [float(f"{value:.4g}") for value in kept]
