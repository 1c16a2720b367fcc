"""Columns that show that rows depend on each other: keys that repeat, dates, and times that end with an event."""

import re
from typing import Any

import numpy as np

from mercer._source.table.column_type import spell_categories
from mercer._source.table.table import Notice, Table, quote
from mercer.app.table.roles import Roles

# A key has at least this many values, and a value has at least this many rows on average.
_FEWEST_KEYS = 10
_FEWEST_ROWS = 2.0
# Things that are measured repeatedly have few rows each; a city with 500 rows is a property of its rows.
_MOST_ROWS = 50.0
# Most blocks of equal keys over the number of keys, where rows of one key stand together.
_TORN = 1.1
# Rows and columns from which keys are found.
_SAMPLE = 5000
_MOST_COLUMNS = 40
# A time has at least this many values: with fewer there are too few later ones to test on.
_FEWEST_TIMES = 10
# With at least this many values later rows are what counts, and with fewer only in a series.
_MANY_TIMES = 20
# Share of the times that have the same number of rows in a series: years of twelve months, or of the same countries.
_EQUAL = 0.8
# Share of the rows that must not be earlier than the row before, or not later.
_ORDERED = 0.98
# Largest standard deviation of the steps of a time that is a number, over their mean.
_REGULAR = 0.5
_KEY_NAME = re.compile(
    r"(.*[_\W])?(id|key|subject|subj|patient|person|participant|respondent|student|customer|client|user|player|animal|"
    r"machine|device|sensor|household|family|school|classroom|teacher|hospital|clinic|physician|firm|company|store|"
    r"branch|village|farm|litter)s?([_\W]?(id|no|nr|number|code|name))?",
    re.IGNORECASE,
)
TIME_NAME = re.compile(r"(.*[_\W])?(year|yr|date|datetime|timestamp|time|day|week|month|quarter)s?", re.IGNORECASE)
_FOLLOW_UP = re.compile(
    r"(.*[_\W])?([a-z]*time|follow_?up(_?time|_?days)?|surv(ival)?(_?time|_?days|_?months)?|time_?to_?\w+|"
    r"days|months|years|duration|tenure|stop|exit|last_?contact)",
    re.IGNORECASE,
)
# Times before the follow-up begins.
_BEFORE = re.compile(
    r"(.*[_\W])?(diag\w*|start|entry|wait\w*|onset|admission|birth|arrival)([_\W].*|time)?", re.IGNORECASE
)
_EVENT = re.compile(
    r"(.*[_\W])?(status|event|death|dead|died|deceased|mortality|cens(or|ored|oring)?\d*|delta|fail(ed|ure)?|rel(apse|apsed)?|"
    r"recur(rence|red)?|churn(ed)?|default(ed)?|survived|vital_?status)",
    re.IGNORECASE,
)


def find_keys(table: Table, roles: Roles) -> list[str]:
    """Return the columns whose values probably name things with several rows each, the most likely first.

    Such a column holds texts or whole numbers. It is named like a key, or it determines another column: all rows of one
    pig have the same litter. Numbers that are not named so must also stand in blocks, one for each value: an age
    determines the age group without being a key.
    """
    frame = table.frame.iloc[:_SAMPLE]
    n_rows = len(table.frame)
    scores: dict[str, int] = {}
    for column in roles.columns:
        values = table.frame[column.name]
        if column.role not in ("id", "category", "number", "leak") or values.dtype.kind in "Mb":
            continue
        distinct = column.distinct
        # A key has several rows for each value, but not most of them; a missing key names nothing.
        if distinct < _FEWEST_KEYS or not _FEWEST_ROWS <= n_rows / distinct <= _MOST_ROWS or column.missing:
            continue
        if values.dtype.kind == "f" and not np.array_equal(values.dropna(), np.floor(values.dropna())):
            continue
        named = _KEY_NAME.fullmatch(column.name) is not None or column.role == "id"
        # If each value fills one block, there is one change fewer than values. A few blocks may be torn.
        blocks = 1 + int((values.to_numpy()[1:] != values.to_numpy()[:-1]).sum()) <= _TORN * distinct
        if not named and values.dtype.kind in "if" and not blocks:
            continue
        determined = _count_determined(frame, column.name, roles)
        if named or determined:
            # A telling name counts as much as two columns that the key determines.
            scores[column.name] = determined + 2 * int(named)
    return sorted(scores, key=lambda name: -scores[name])


def _count_determined(frame: Any, key: str, roles: Roles) -> int:
    """Return how many other columns have a single value among the rows of each key, and fewer values than keys."""
    groups = frame.groupby(key, sort=False, dropna=True)
    n_keys, count = frame[key].nunique(), 0
    for column in roles.columns[:_MOST_COLUMNS]:
        used = column.role in ("number", "category", "date", "text", "target")
        if column.name == key or not used or not 2 < column.distinct <= n_keys:
            continue
        # A column with few values is constant in small groups by chance; one with three or more hardly is.
        if int(groups[column.name].nunique(dropna=False).max()) == 1:
            count += 1
    return count


def find_times(table: Table, roles: Roles) -> list[str]:
    """Return the dates, and the numbers named like years or times, by which the rows are ordered.

    A date that the rows do not follow is a property of the row, such as a birthday, and not the time of observation.
    """
    names = []
    for column in roles.columns:
        values = table.frame[column.name]
        if column.role not in ("date", "number", "id") or column.missing or column.distinct < _FEWEST_TIMES:
            continue
        if values.dtype.kind != "M" and TIME_NAME.fullmatch(column.name) is None:
            continue
        steps = values.diff().iloc[1:] if values.dtype.kind != "M" else values.diff().dt.total_seconds().iloc[1:]
        if max(float((steps >= 0).mean()), float((steps <= 0).mean())) < _ORDERED:
            continue
        moved = steps[steps != 0].abs()
        # Times of observation are regular. Times until an event, by which tables are sorted too, are not.
        if values.dtype.kind == "M" or float(moved.std()) <= _REGULAR * float(moved.mean()):
            names.append(column.name)
    return names


def decides_splits(times: Any) -> bool:
    """Return whether a study tests on later rows where these are harder, for a column of times.

    The rows of a few years that have now more and now fewer of them are mostly other things each year, such as the cars
    that were sold: new rows may be of the same years, and the report names both scores.
    """
    counts = times.value_counts(sort=False).sort_index()
    # The first and the last one may have been cut off.
    inner = counts.iloc[1:-1]
    return len(counts) >= _MANY_TIMES or float((inner == inner.mode().iloc[0]).mean()) >= _EQUAL


def follows_a_sort(table: Table) -> bool:
    """Return whether the rows are sorted by a column or stand in blocks of equal values: they have no times then."""
    for name in table.frame.columns:
        values = table.frame[name]
        if values.isna().any() or len(values) < 2:
            continue
        if values.dtype.kind in "ifM":
            steps = np.diff(values.to_numpy().astype(np.int64) if values.dtype.kind == "M" else values.to_numpy())
            # A column that numbers the rows, or counts time, is no sort of the others.
            if (steps == 0).any() and max((steps >= 0).mean(), (steps <= 0).mean()) >= _ORDERED:
                return True
        texts = values.to_numpy()
        distinct = values.nunique()
        if 1 < distinct <= len(values) / _FEWEST_ROWS and 1 + int((texts[1:] != texts[:-1]).sum()) <= _TORN * distinct:
            return True
    return False


def name_follow_up(table: Table, roles: Roles) -> list[Notice]:
    """Return notices about columns that may be the time until the event which the target records."""
    target = roles.target
    if target is None or roles.task != "classification" or _EVENT.fullmatch(target) is None:
        return []
    if len(spell_categories(table.frame[target].dropna()).unique()) > 3:
        return []
    notices = []
    for name, kind in roles.kinds.items():
        if kind == "number" and _may_follow(name, target) and float(table.frame[name].min()) >= 0:
            text = (
                f"This may be a follow-up time that ends with the event {quote(target)}. It would then be known only "
                "after the outcome, and the score would be too good. It is used."
            )
            cure = f"give --ignore {name} if its value is not known when predictions are made"
            notices.append(Notice("warning", name, text, cure))
    return notices


def _may_follow(name: str, target: str) -> bool:
    """Return whether a column is named like the time until an event: like a duration, or after the event itself."""
    if _BEFORE.fullmatch(name):
        return False
    # A target of one or two letters is part of many names.
    after = len(target) > 2 and name.lower() != target.lower() and name.lower().endswith(target.lower())
    return after or _FOLLOW_UP.fullmatch(name) is not None
