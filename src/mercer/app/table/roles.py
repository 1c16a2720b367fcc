"""Guess the role of each column from its values and its name, unless the user gave it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._source.table.table import Notice, Table, quote
from mercer.app.study.record import Column
from mercer.app.table.association import LEAK, measure_associations
from mercer.app.table.column_summary import count_distinct, describe_column
from mercer.app.table.target import (
    FEWEST_ROWS,
    NoModelError,
    check_column,
    check_size,
    check_target,
    find_likely_target,
    find_task,
)
from mercer.errors import DataError

KINDS = ("number", "category", "date", "text")
_LEFT_OUT = ("id", "constant", "leak", "ignored")
_ID_NAME = re.compile(r"(.*[_\W])?([iI][dD]s?|uuid|UUID|guid|GUID|index|rowid|row_?number)|.*[a-z]I[dD]|Unnamed.*")
# What the reader calls a first column without a name: programs write the numbers or names of the rows there.
_UNNAMED = "column_1"
# Of row numbers that are out of order, as in a random half of a table, at least one in this many is in the table.
_MOST_TAKEN_OUT = 4.0
# Years and days may count up by one from row to row without being row numbers.
_TIME_NAME = re.compile(r"(.*[_\W])?(year|yr|date|time|day|week|month|quarter|age)s?", re.IGNORECASE)
# A column with a larger share of missing values is left out.
_MOSTLY_MISSING = 0.95
# Texts with at least this many words on average are sentences, others are names.
_WORDS = 4.0
# A text column with at least this share of distinct values is an id.
_OWN_VALUE = 0.9
# Ids of species, plots or shops have many rows each: new rows have the same ones, and models use them as categories.
_ROWS_OF_A_CATEGORY = 50.0
_MOST_CATEGORIES = 255


@dataclass(frozen=True)
class Roles:
    """The role of each column, and the names by role.

    `obstacle` says why no model can be fitted to the table, if none can.
    """

    columns: list[Column]
    target: str | None
    group: str | None
    time: str | None
    weight: str | None
    cost: str | None
    features: list[str]
    kinds: dict[str, str]
    task: str
    obstacle: str = ""


@dataclass
class _Guess:
    """The guessed role of one column, and notices about it."""

    role: str
    reason: str
    distinct: int
    notices: list[Notice] = field(default_factory=list)


def guess_roles(
    table: Table,
    *,
    target: str | None = None,
    task: str | None = None,
    group: str | None = None,
    time: str | None = None,
    weight: str | None = None,
    cost: str | None = None,
    given: Mapping[str, str] | None = None,
    keep_leaks: bool = False,
) -> tuple[Roles, list[Notice]]:
    """Find the role of each column, and why it has that role.

    Parameters
    ----------
    table : Table
        The rows.
    target, group, time, weight, cost : str or None
        Columns whose role is known. Without a target the task is structure.
    task : {"classification", "regression", "structure"} or None
        None guesses it from the target.
    given : dict or None
        Roles of further columns: ``"number"``, ``"category"``, ``"date"``, ``"text"``, ``"ignored"``, or ``"keep"`` to
        use a column that would be left out.
    keep_leaks : bool
        Whether columns that predict the target almost perfectly on their own are used.

    Returns
    -------
    Roles
        One column of the record each, and the features with their kinds.
    list of Notice
        Remarks for the reader, and what to do about them.
    """
    special = {"target": target, "group": group, "time": time, "weight": weight, "cost": cost}
    given = dict(given or {})
    _check_given(table, special, given)
    task, notices = find_task(table, target, task)
    obstacle = ""
    try:
        notices += _check_without_target(table) if target is None else check_target(table, target, task)
    except NoModelError as wrong:
        obstacle = str(wrong)
    taken = {name: role for role, name in special.items() if name is not None}
    guesses = {}
    for name in map(str, table.frame.columns):
        column = table.frame[name]
        if name in taken:
            guesses[name] = _Guess(taken[name], f"given by --{taken[name]}", count_distinct(column))
        else:
            guesses[name] = _guess(name, column, given.get(name))
    _check_roles(table, special)
    strength = {}
    if target is not None and not obstacle:
        # Only columns that models would use are measured.
        kinds = {name: guess.role for name, guess in guesses.items() if guess.role in KINDS}
        strength = measure_associations(table.frame, table.frame[target], task, kinds)
        _mark_leaks(guesses, strength, target, task, given, keep_leaks)
    notices += [notice for guess in guesses.values() for notice in guess.notices]
    notices += _list_unused(guesses)
    return _make_roles(table, guesses, strength, special, task, obstacle), notices


def _list_unused(guesses: dict[str, _Guess]) -> list[Notice]:
    """Return one notice about all columns that are not used and have no notice of their own."""
    unused = [
        (name, guess.reason)
        for name, guess in guesses.items()
        if guess.role in ("id", "constant") and not guess.notices
    ]
    if not unused:
        return []
    parts = [f"{quote(name)} ({reason})" for name, reason in unused[:8]]
    more = f" and {len(unused) - 8} more" if len(unused) > 8 else ""
    text = f"Not used: {', '.join(parts)}{more}."
    cure = f"give --keep {unused[0][0] if len(unused) == 1 else 'COLUMN'} to use {'it' if len(unused) == 1 else 'one'}"
    return [Notice("note", "the columns", text, cure, told=True)]


def _make_roles(
    table: Table,
    guesses: dict[str, _Guess],
    strength: dict[str, float],
    special: dict[str, Any],
    task: str,
    obstacle: str,
) -> Roles:
    """Return the roles with the summary of each column."""
    columns = [
        describe_column(name, table.frame[name], guess.role, guess.reason, guess.distinct, strength.get(name))
        for name, guess in guesses.items()
    ]
    kinds = {name: guess.role for name, guess in guesses.items() if guess.role in KINDS}
    if not kinds and not obstacle:
        left = [name for name, guess in guesses.items() if guess.role in _LEFT_OUT]
        cure = f"Give --keep {left[0] if len(left) == 1 else 'COLUMN'}." if left else "Add columns."
        obstacle = f"no column is left to predict from (left out: {quote(*left) or 'none'}). {cure}"
    return Roles(columns=columns, features=list(kinds), kinds=kinds, task=task, obstacle=obstacle, **special)


def _check_given(table: Table, special: dict[str, str | None], given: dict[str, str]) -> None:
    """Raise if a column that the user named does not exist or does not suit its role."""
    for role, name in special.items():
        check_column(table, name, f"--{role}")
    for name, role in given.items():
        flag = {"ignored": "ignore"}.get(role, role)
        check_column(table, name, f"--{flag}")
        if name == special["target"]:
            raise DataError(f"{table.name}: {quote(name)} is the target, so that --{flag} cannot name it too.")
        if role == "number" and table.frame[name].dtype.kind not in "iufb":
            got = f"got {_quote_example(table, name)}. Give --category"
            raise DataError(f"{table.name}: column {quote(name)} must hold numbers; {got}.")
        if role == "date" and table.frame[name].dtype.kind != "M":
            got = f"got {_quote_example(table, name)}. Write year-month-day"
            raise DataError(f"{table.name}: column {quote(name)} must hold dates; {got}.")


def _quote_example(table: Table, name: str) -> str:
    """Return a value of the column, for an error message."""
    known = table.frame[name].dropna()
    return f"values such as {quote(known.iloc[0])}" if len(known) else "nothing"


def _check_roles(table: Table, special: dict[str, str | None]) -> None:
    """Raise if weights or costs are not numbers, or times are neither dates nor numbers."""
    for role in ("weight", "cost"):
        name = special[role]
        if name is None:
            continue
        column = table.frame[name]
        if column.dtype.kind not in "if" or column.isna().any() or (role == "weight" and (column < 0).any()):
            rule = "numbers of at least 0" if role == "weight" else "numbers"
            raise DataError(f"{table.name}: {role} {quote(name)} must hold {rule} in every row. Choose another column.")
    name = special["time"]
    if name is not None and (table.frame[name].dtype.kind not in "Mif" or table.frame[name].isna().any()):
        raise DataError(
            f"{table.name}: time {quote(name)} must hold a date or a number in every row. Choose another column."
        )


def _check_without_target(table: Table) -> list[Notice]:
    """Return a notice about a column that looks like a target; raise `NoModelError` if there are too few rows."""
    check_size(len(table.frame))
    name = find_likely_target(table)
    if name is None:
        return []
    text, cure = "This column looks like a target.", f"give --target {name} to predict it"
    return [Notice("note", name, text, cure, told=True)]


def _guess(name: str, column: Any, given: str | None) -> _Guess:
    distinct = count_distinct(column)
    if given in (*KINDS, "ignored"):
        return _Guess(given, f"given by --{'ignore' if given == 'ignored' else given}", distinct)
    kind, reason = _find_kind(column, distinct)
    if given == "keep":
        return _Guess(kind, f"{reason}; given by --keep", distinct)
    known = column.dropna()
    n_rows = len(column)
    if distinct == 0:
        return _Guess("constant", "missing in every row", distinct)
    # One value beside missing ones is information: whether it is there.
    if distinct == 1 and len(known) == n_rows:
        return _Guess("constant", "the same value in every row", distinct)
    share = 1.0 - len(known) / n_rows
    if share > _MOSTLY_MISSING:
        notice = Notice(
            "note",
            name,
            f"{100 * share:.1f} % of the values are missing. The column is not used.",
            f"give --keep {name}",
        )
        return _Guess("ignored", f"{100 * share:.1f} % missing", distinct, [notice])
    guess = _guess_id(name, known, distinct) or _Guess(kind, reason, distinct)
    if guess.role == "text":
        text = f"The column holds {reason} on average. Models use its most frequent words, weighted by TF-IDF."
        cure = f"give --category {name} to use each text as one value, or --ignore {name}"
        guess.notices.append(Notice("note", name, text, cure, told=True))
    return guess


def _find_kind(column: Any, distinct: int) -> tuple[str, str]:
    """Return the kind as which a model would use the values, and why."""
    if column.dtype.kind == "M":
        return "date", "dates"
    if column.dtype.kind in "if":
        return "number", "whole numbers" if column.dtype.kind == "i" else "numbers"
    if column.dtype.kind == "b":
        return "category", "true or false"
    known = column.dropna()
    # Some 500 texts, spread over the column, tell how many words are usual.
    sample = known.iloc[:: max(1, len(known) // 500)]
    words = sample.str.count(r"\S+").mean() if len(sample) else 0.0
    if words >= _WORDS and distinct > 0.2 * len(known):
        return "text", f"texts of {words:.0f} words"
    return "category", f"{distinct} distinct texts"


def _guess_id(name: str, known: Any, distinct: int) -> _Guess | None:
    """Return the guess that the column identifies rows, or things that rows belong to, or None."""
    own = distinct / len(known)
    called = _ID_NAME.fullmatch(name) is not None
    if known.dtype.kind in "if":
        whole = known.dtype.kind == "i" or np.array_equal(known, np.floor(known))
        if not whole or not (called or own == 1.0) or _TIME_NAME.fullmatch(name):
            return None
        if own == 1.0 and name == _UNNAMED and len(known) >= FEWEST_ROWS and _numbers_rows(known):
            return _Guess("id", "a column without a name that numbers the rows", distinct)
        # Numbers that fill their range with few gaps count the rows.
        counting = own == 1.0 and float(known.max()) - float(known.min()) < 1.1 * len(known)
        if own == 1.0 and (called or counting) and len(known) >= FEWEST_ROWS:
            return _Guess("id", "a different whole number in every row", distinct)
        return _guess_repeated_id(name, known, distinct) if called and distinct > 20 else None
    if known.dtype.kind in "Mb":
        return None
    text = _find_kind(known, distinct)[0] == "text"
    # Texts that differ in almost every row are names, unless they are sentences.
    if own >= _OWN_VALUE and not text and distinct > 10:
        return _Guess("id", "a different text in almost every row", distinct)
    return _guess_repeated_id(name, known, distinct) if called and distinct > 20 else None


def _numbers_rows(known: Any) -> bool:
    """Return whether different whole numbers rise from row to row, or nearly fill their range: rows may be missing."""
    rises = bool((known.to_numpy()[1:] > known.to_numpy()[:-1]).all())
    return rises or float(known.max()) - float(known.min()) < _MOST_TAKEN_OUT * len(known)


def _guess_repeated_id(name: str, known: Any, distinct: int) -> _Guess:
    """Return the guess that the column identifies things that several rows belong to, or is one of their properties."""
    if distinct <= _MOST_CATEGORIES and len(known) >= _ROWS_OF_A_CATEGORY * distinct:
        text = (
            f"The column is named like an id, but each of its {distinct} values occurs {len(known) / distinct:.0f} "
            "times on average. It is used as a category."
        )
        cure = f"give --group {name} if new rows have new values of it, or --ignore {name}"
        notice = Notice("note", name, text, cure)
        return _Guess("category", f"named like an id, with {distinct} values", distinct, [notice])
    text = (
        f"The column is named like an id, and each of its {distinct} values occurs {len(known) / distinct:.1f} times "
        "on average. It is not used."
    )
    cure = f"give --group {name} if rows with the same value belong together, or --keep {name}"
    return _Guess("id", "named like an id", distinct, [Notice("warning", name, text, cure)])


def _mark_leaks(
    guesses: dict[str, _Guess], strength: dict[str, float], target: str, task: str, given: Any, keep: bool
) -> None:
    """Leave out columns that predict the target almost perfectly, unless the user asked for them."""
    limit = LEAK[task]
    for name, value in strength.items():
        guess = guesses[name]
        # A number may follow time as a trend, which is no leak: the splits find out whether later rows are predicted.
        if value < limit or (guess.role == "date" and task == "regression"):
            continue
        text = f"This column alone predicts {quote(target)} almost perfectly ({value:.3f}, where 1 is perfect)"
        if keep or name in given:
            notice = Notice(
                "warning",
                name,
                f"{text}. It is used.",
                f"give --ignore {name} if its value is known only after the outcome",
            )
        else:
            guess.role, guess.reason = "leak", f"predicts the target on its own ({value:.3f}, where 1 is perfect)"
            text = f"{text}, like a column that is recorded after the outcome. It is not used."
            notice = Notice("danger", name, text, f"give --keep {name} if its value is known before the outcome")
        guess.notices.append(notice)
