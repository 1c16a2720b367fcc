"""What each column is for: guessed from its values and its name, with the reason, unless it was given."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.app.study.record import Column, Notice
from mercer.app.table.association import LEAK, associations
from mercer.app.table.column_summary import count_distinct, describe
from mercer.app.table.table import Table, named
from mercer.app.table.target import FEWEST_ROWS, check_column, check_target, find_task, looks_like_target
from mercer.errors import DataError

__all__ = ["KINDS", "Roles", "guess_roles"]

KINDS = ("number", "category", "date", "text")
_LEFT_OUT = ("id", "constant", "leak", "ignored")
_ID_NAME = re.compile(r"(.*[_\W])?([iI][dD]s?|uuid|UUID|guid|GUID|index|rowid|row_?number)|.*[a-z]I[dD]|Unnamed.*")
# A column with fewer known values than this has nothing to teach but that it is missing.
_MOSTLY_MISSING = 0.95
# Texts of so many words each are sentences; fewer are names.
_WORDS = 4.0
_OWN_VALUE = 0.9


@dataclass(frozen=True)
class Roles:
    """The role of each column, and the names by role."""

    columns: list[Column]
    target: str | None
    group: str | None
    time: str | None
    weight: str | None
    cost: str | None
    features: list[str]
    kinds: dict[str, str]
    task: str


@dataclass
class _Guess:
    """What is known of one column before its role is written down."""

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
    """Say what each column is for, and why.

    Parameters
    ----------
    table : Table
        The rows.
    target, group, time, weight, cost : str or None
        Columns whose role is known. Without a target the task is structure.
    task : {"classification", "regression", "structure"} or None
        None means to guess it from the target.
    given : dict or None
        Roles of further columns: ``"number"``, ``"category"``, ``"date"``, ``"text"``, ``"ignored"``, or ``"keep"`` to
        use a column that would be left out.
    keep_leaks : bool
        Whether columns that predict the target alone are used.

    Returns
    -------
    Roles
        One column of the record each, and the features with their kinds.
    list of Notice
        What the reader should know, and what to do about it.
    """
    special = {"target": target, "group": group, "time": time, "weight": weight, "cost": cost}
    given = dict(given or {})
    _check_given(table, special, given)
    task, notices = find_task(table, target, task)
    if target is None:
        notices += _without_target(table)
    else:
        notices += check_target(table, target, task)
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
    if target is not None:
        kinds = {name: guess.role for name, guess in guesses.items() if guess.role in KINDS}
        strength = associations(table.frame, table.frame[target], task, kinds)
        _mark_leaks(guesses, strength, target, LEAK[task], given, keep_leaks)
    notices += [notice for guess in guesses.values() for notice in guess.notices]
    return _written(table, guesses, strength, special, task), notices


def _written(
    table: Table, guesses: dict[str, _Guess], strength: dict[str, float], special: dict[str, Any], task: str
) -> Roles:
    columns = [
        describe(name, table.frame[name], guess.role, guess.reason, guess.distinct, strength.get(name))
        for name, guess in guesses.items()
    ]
    kinds = {name: guess.role for name, guess in guesses.items() if guess.role in KINDS}
    if not kinds:
        left = named(*(name for name, guess in guesses.items() if guess.role in _LEFT_OUT))
        message = f"{table.name}: no column is left to learn from; left out were {left or 'none'}. Give --keep COLUMN."
        raise DataError(message)
    return Roles(columns=columns, features=list(kinds), kinds=kinds, task=task, **special)


def _check_given(table: Table, special: dict[str, str | None], given: dict[str, str]) -> None:
    for role, name in special.items():
        check_column(table, name, f"--{role}")
    for name, role in given.items():
        flag = {"ignored": "ignore"}.get(role, role)
        check_column(table, name, f"--{flag}")
        if name == special["target"]:
            message = f"{table.name}: {named(name)} is the target, so that it cannot be given by --{flag} too."
            raise DataError(message)
        if role == "number" and table.frame[name].dtype.kind not in "iufb":
            message = (
                f"{table.name}: column {named(name)} must hold numbers; got {_example(table, name)}. Give --category."
            )
            raise DataError(message)
        if role == "date" and table.frame[name].dtype.kind != "M":
            got = f"got {_example(table, name)}. Write year-month-day"
            message = f"{table.name}: column {named(name)} must hold dates; {got}."
            raise DataError(message)


def _example(table: Table, name: str) -> str:
    known = table.frame[name].dropna()
    return f"values such as {named(known.iloc[0])}" if len(known) else "nothing"


def _check_roles(table: Table, special: dict[str, str | None]) -> None:
    """Raise if weights or costs are no numbers, or times no order."""
    for role in ("weight", "cost"):
        name = special[role]
        if name is None:
            continue
        column = table.frame[name]
        if column.dtype.kind not in "if" or column.isna().any() or (role == "weight" and (column < 0).any()):
            rule = "numbers of at least 0" if role == "weight" else "numbers"
            message = f"{table.name}: {role} {named(name)} must hold {rule} in every row. Choose another column."
            raise DataError(message)
    name = special["time"]
    if name is not None and (table.frame[name].dtype.kind not in "Mif" or table.frame[name].isna().any()):
        message = f"{table.name}: time {named(name)} must hold a date or a number in every row. Choose another column."
        raise DataError(message)


def _without_target(table: Table) -> list[Notice]:
    if len(table.frame) < FEWEST_ROWS:
        message = f"{table.name}: a study needs at least {FEWEST_ROWS} rows; got {len(table.frame)}. Add rows."
        raise DataError(message)
    name = looks_like_target(table)
    if name is None:
        return []
    return [Notice("note", name, "This column looks like a target.", f"give --target {name} to predict it")]


def _guess(name: str, column: Any, given: str | None) -> _Guess:
    distinct = count_distinct(column)
    if given in (*KINDS, "ignored"):
        return _Guess(given, f"given by --{'ignore' if given == 'ignored' else given}", distinct)
    kind, reason = _kind(column, distinct)
    if given == "keep":
        return _Guess(kind, f"{reason}; given by --keep", distinct)
    known = column.dropna()
    n_rows = len(column)
    if distinct == 0:
        return _Guess("constant", "missing in every row", distinct)
    if distinct == 1 and len(known) == n_rows:
        return _Guess("constant", "one value in every row", distinct)
    share = 1.0 - len(known) / n_rows
    if share > _MOSTLY_MISSING:
        notice = Notice("note", name, f"{share:.1%} of its values are missing; it is left out.", f"give --keep {name}")
        return _Guess("ignored", f"{share:.1%} missing", distinct, [notice])
    return _id(name, known, distinct) or _Guess(kind, reason, distinct)


def _kind(column: Any, distinct: int) -> tuple[str, str]:
    """What the model would take the values for."""
    if column.dtype.kind == "M":
        return "date", "dates"
    if column.dtype.kind in "if":
        return "number", "whole numbers" if column.dtype.kind == "i" else "numbers"
    if column.dtype.kind == "b":
        return "category", "true or false"
    known = column.dropna()
    sample = known.iloc[:: max(1, len(known) // 500)]
    words = sample.str.count(r"\S+").mean() if len(sample) else 0.0
    if words >= _WORDS and distinct > 0.2 * len(known):
        return "text", f"texts of {words:.0f} words"
    return "category", f"{distinct} distinct texts"


def _id(name: str, known: Any, distinct: int) -> _Guess | None:
    """The guess that a column names rows, or things that rows belong to, if it does."""
    own = distinct / len(known)
    called = _ID_NAME.fullmatch(name) is not None
    if known.dtype.kind in "if":
        whole = known.dtype.kind == "i" or np.array_equal(known, np.floor(known))
        if not whole or not (called or own == 1.0):
            return None
        counting = own == 1.0 and float(known.max()) - float(known.min()) < 1.1 * len(known)
        if own == 1.0 and (called or counting) and len(known) >= FEWEST_ROWS:
            return _Guess("id", "another whole number in every row", distinct)
        return _repeated_id(name, known, distinct) if called and distinct > 20 else None
    if known.dtype.kind in "Mb":
        return None
    text = _kind(known, distinct)[0] == "text"
    if own >= _OWN_VALUE and not text and distinct > 10:
        return _Guess("id", "another text in almost every row", distinct)
    return _repeated_id(name, known, distinct) if called and distinct > 20 else None


def _repeated_id(name: str, known: Any, distinct: int) -> _Guess:
    said = (
        f"It is named like an id and its {distinct} values come {len(known) / distinct:.1f} times each; it is left out."
    )
    cure = f"give --group {name} if rows of one value belong together, or --keep {name}"
    return _Guess("id", "named like an id", distinct, [Notice("warning", name, said, cure)])


def _mark_leaks(
    guesses: dict[str, _Guess], strength: dict[str, float], target: str, limit: float, given: Any, keep: bool
) -> None:
    """Leave out columns that predict the target alone, unless they were asked for."""
    for name, value in strength.items():
        guess = guesses[name]
        if value < limit:
            continue
        said = f"This column alone predicts {named(target)} almost without mistakes ({value:.3f} of 1)"
        if keep or name in given:
            notice = Notice(
                "warning", name, f"{said}; it is used.", f"give --ignore {name} if it is known only afterwards"
            )
        else:
            guess.role, guess.reason = "leak", f"alone predicts the target ({value:.3f} of 1)"
            text = f"{said}, as columns do that are written down after the outcome; it is left out."
            notice = Notice("danger", name, text, f"give --keep {name} if it is known when you predict")
        guess.notices.append(notice)
