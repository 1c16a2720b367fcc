"""Write a model as a Python module that needs nothing but Python."""

from pprint import pformat
from typing import Any

import numpy as np

from mercer.app.deploy.formula import Formula

__all__ = ["write_module"]

_HEAD = '''"""A model that `mercer export --python` wrote. It needs nothing but Python.

`predict(row)` and `predict_proba(row)` take a dictionary from column names to values. A missing value is None, NaN, or
a column that is left out. Dates are datetime objects, or texts such as 2024-03-14. Run the file with the name of a CSV
file to predict its rows: python model.py new.csv
"""

import math
from datetime import datetime, timezone

# Python writes these two numbers so, but has no literals for them.
nan, inf = math.nan, math.inf
'''
_BODY = '''

def _is_missing(value):
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _read_number(value):
    return math.nan if _is_missing(value) else float(value)


def _read_days(value):
    """Return days since the start of 1970."""
    if _is_missing(value):
        return math.nan
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=timezone.utc)
    return value.timestamp() / 86400.0


def _spell(value):
    """Return the name of a category; a whole number has the same name as integer and as float."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def encode(row):
    """Return the numbers that stand for a row."""
    x = []
    for name, kind, fill, marked, extra in COLUMNS:
        value = row.get(name)
        if kind == "category":
            codes, table = extra
            place = MISSING if _is_missing(value) else _spell(value)
            x.extend(table[codes.get(place, codes[OTHER])])
            continue
        number = _read_number(value) if kind == "number" else _read_days(value)
        missing = math.isnan(number)
        if missing:
            number = fill
        x.append(number)
        for period, offset in extra:
            angle = 2 * math.pi * ((number + offset) % period) / period
            waves = math.sin(angle), math.cos(angle)
            x.extend(wave if math.isnan(wave) else round(wave * 1e12) / 1e12 for wave in waves)
        if marked:
            x.append(1.0 if missing else 0.0)
    return [(value - shift) / scale for value, shift, scale in zip(x, SHIFT, SCALE)]


def score(row):
    """Return the scores of a row: one for each class, or one number."""
    x = encode(row)
    scores = list(INTERCEPT)
    for place, weights in WEIGHTS.items():
        scores[place] += sum(weight * x[column] for column, weight in weights)
    for feature, threshold, left, right, missing_left, values in TREES:
        node = 0
        while left[node] >= 0:
            value = x[feature[node]]
            goes_left = missing_left[node] if math.isnan(value) else value <= threshold[node]
            node = left[node] if goes_left else right[node]
        for place, value in enumerate(values[node]):
            scores[place] += value
    return scores


def predict_proba(row):
    """Return the probability of each class."""
    scores = score(row)
    if LINK == "sigmoid":
        small = math.exp(-abs(scores[0]))
        positive = 1 / (1 + small) if scores[0] >= 0 else small / (1 + small)
        scores = [1 - positive, positive]
    elif LINK == "softmax":
        highest = max(scores)
        powers = [math.exp(value - highest) for value in scores]
        scores = [power / sum(powers) for power in powers]
    return dict(zip(CLASSES, scores))


def predict(row):
    """Return the predicted class, or the predicted number."""
    if not CLASSES:
        return score(row)[0]
    shares = list(predict_proba(row).values())
    if COSTS is None:
        return CLASSES[shares.index(max(shares))]
    expected = [sum(cost * share for cost, share in zip(costs, shares)) for costs in COSTS]
    return ACTIONS[expected.index(min(expected))]


if __name__ == "__main__":
    import csv
    import sys

    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            print(predict(line))
'''
# The key of the code of other categories; no text of a table is equal to it.
_OTHER = "\0other"
# The key of the code of missing values.
_MISSING = "\0missing"


def write_module(formula: Formula) -> str:
    """Return the text of the module."""
    weights = {
        place: [(int(column), float(row[column])) for column in np.flatnonzero(row)]
        for place, row in enumerate(formula.weights)
        if row.any()
    }
    trees = [(t.feature, t.threshold, t.left, t.right, t.missing_left, t.value) for t in formula.trees]
    columns = [_describe(name, coding) for name, coding in zip(formula.names, formula.codings) if coding is not None]
    constants = {
        "OTHER": _OTHER,
        "MISSING": _MISSING,
        "COLUMNS": columns,
        "SHIFT": formula.shift.tolist(),
        "SCALE": formula.scale.tolist(),
        "INTERCEPT": formula.intercept.tolist(),
        "WEIGHTS": weights,
        "TREES": trees,
        "LINK": formula.link,
        "CLASSES": formula.classes,
        "ACTIONS": formula.actions,
        "COSTS": None if formula.costs is None else formula.costs.tolist(),
    }
    lines = [
        f"{name} = {pformat(value, width=118, compact=True, sort_dicts=False)}" for name, value in constants.items()
    ]
    return f"{_HEAD}{chr(10).join(lines)}\n{_BODY}"


def _describe(name: str, coding: Any) -> tuple[Any, ...]:
    """Return how a column is encoded: name, kind, fill, whether gaps are marked, and codes or cycles."""
    if coding.kind == "category":
        codes, table = list_codes(coding)
        return name, "category", 0.0, False, (codes, table)
    cycles = [CYCLES[cycle] for cycle in getattr(coding, "cycles", ())]
    return name, coding.kind, float(coding.fill), bool(coding.missing), cycles


# Length and offset of the cycles of dates, in days; day 0 was a Thursday, and weeks begin on Monday.
CYCLES = {"year": (365.2425, 0.0), "week": (7.0, 3.0), "day": (1.0, 0.0)}


def list_codes(coding: Any) -> tuple[dict[str, int], list[list[float]]]:
    """Return the code of each category, and the encoded columns of each code; two codes stand for other and missing."""
    size = len(coding.categories)
    codes = {str(name): place for place, name in enumerate(coding.categories)} | {_OTHER: size, _MISSING: size + 1}
    if coding.codes:
        last = np.nan if coding.keep else size + 1.0
        return codes, [[float(code)] for code in range(size + 1)] + [[last]]
    width = size + int(coding.others) + int(coding.missing)
    table = np.zeros((size + 2, width))
    table[np.arange(size), np.arange(size)] = 1.0
    if coding.others:
        table[size, size] = 1.0
    # A missing value where the training rows had none counts as another category.
    missing = width - 1 if coding.missing else size if coding.others else None
    if missing is not None:
        table[size + 1, missing] = 1.0
    return codes, table.tolist()
