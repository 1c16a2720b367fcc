"""Check whether the target can be predicted, and find the task."""

import difflib
import re
from typing import Any

import numpy as np

from mercer._source.table.column_type import spell_categories
from mercer._source.table.table import Notice, Table, quote
from mercer.app.table.column_summary import count_distinct
from mercer.errors import DataError

# With fewer rows, the inner folds of nested cross-validation are too small: of ten rows they train on five.
FEWEST_ROWS = 10
# With fewer rows than this, a warning says how little a score means.
_ENOUGH_ROWS = 30
# A column of whole numbers with at most this many distinct values holds classes.
_FEW_VALUES = 10
# With up to this many, and this many rows for each on average, they may be codes too.
_MANY_CODES = 50
_ROWS_OF_A_CODE = 10
# A target with more classes is refused.
_MOST_CLASSES = 200
# A class with less than this share of the rows that it would have among equal classes is called rare.
_RARE = 0.2
# Largest value of a number to be predicted: sums of squares of larger ones overflow.
_LARGEST = 1e150
_TASKS = ("classification", "regression", "structure")
_NAMES = re.compile(
    r"(target|label|class|outcome|response|y|churn(ed)?|default(ed)?|survived|species|diagnosis|fraud|failure|failed)",
    re.IGNORECASE,
)


class NoModelError(DataError):
    """The table can be read, but no model can be fitted to it. The study ends with a report that says why."""


def check_column(table: Table, name: str | None, flag: str) -> None:
    """Raise if the table has no column of that name."""
    if name is None or name in table.frame.columns:
        return
    names = [str(column) for column in table.frame.columns]
    # Names that differ in letters come first, then the name in another case.
    close = difflib.get_close_matches(name, names, 1, 0.6) or [
        column for column in names if column.lower() == name.lower()
    ]
    hint = f"Did you mean {quote(close[0])}?" if close else f"Give {flag} one of them."
    raise DataError(f"{table.name}: there is no column {quote(name)}; the columns are {quote(*names)}. {hint}")


def find_task(table: Table, target: str | None, task: str | None) -> tuple[str, list[Notice]]:
    """Return the task, as given or as the target suggests, and notices about it."""
    if task is not None and task not in _TASKS:
        raise DataError(f"{table.name}: --task must be one of {', '.join(_TASKS)}; got {task!r}.")
    if target is None:
        if task in ("classification", "regression"):
            raise DataError(f"{table.name}: {task} needs a target. Give --target NAME.")
        return "structure", []
    if task == "structure":
        raise DataError(f"{table.name}: a study of structure has no target. Leave out --target {target} or --task.")
    column = table.frame[target]
    if column.dtype.kind == "M":
        raise DataError(
            f"{table.name}: target {quote(target)} must be numbers or classes; got dates. Choose another column."
        )
    if task == "regression" and column.dtype.kind not in "if":
        example = quote(column.dropna().iloc[0]) if column.notna().any() else "nothing"
        raise DataError(
            f"{table.name}: target {quote(target)} must hold numbers for regression; got values such as {example}. "
            f"Leave out --task, or choose another column."
        )
    if task is not None:
        return task, []
    return _guess_task(column, target)


def _guess_task(column: Any, target: str) -> tuple[str, list[Notice]]:
    if column.dtype.kind not in "if":
        return "classification", []
    distinct = count_distinct(column)
    known = column.dropna().to_numpy(dtype=float)
    # Few whole numbers are codes of classes more often than measurements.
    whole = np.array_equal(known, np.floor(known))
    if distinct > _FEW_VALUES or not whole:
        # Numbers that repeat as codes do may be classes nevertheless.
        if not whole or distinct > _MANY_CODES or len(known) < _ROWS_OF_A_CODE * distinct:
            return "regression", []
        text = f"The target has {distinct} distinct whole numbers and is predicted as a number."
        cure = "give --task classification to take them for classes"
        return "regression", [Notice("note", target, text, cure, told=True)]
    if distinct <= 2:
        return "classification", []
    text = f"The target has {distinct} distinct whole numbers, which are taken for classes."
    cure = "give --task regression to predict it as a number"
    return "classification", [Notice("note", target, text, cure, told=True)]


def check_size(n_rows: int, where: str = "") -> None:
    """Raise `NoModelError` if a study has too few rows; `where` says which rows of the table count."""
    if n_rows < FEWEST_ROWS:
        raise NoModelError(f"a study needs at least {FEWEST_ROWS} rows; got {n_rows}{where}. Add rows.")


def check_target(table: Table, target: str, task: str) -> list[Notice]:
    """Raise `NoModelError` if the target cannot be predicted; else return notices about it."""
    column = table.frame[target]
    known = column.dropna()
    distinct = count_distinct(known)
    n_missing = len(column) - len(known)
    if len(known) == 0:
        raise NoModelError(f"the target {quote(target)} is missing in every row. Choose another column.")
    if distinct == 1:
        raise NoModelError(
            f"the target {quote(target)} must have at least two values; every row has "
            f"{quote(spell_categories(known).iloc[0])}. Choose another column."
        )
    if known.dtype.kind == "f" and task == "regression" and float(known.abs().max()) > _LARGEST:
        raise NoModelError(
            f"the target {quote(target)} must have values up to {_LARGEST:g}, whose squares can be summed; got "
            f"{known.abs().max():.3g}. Divide it by a power of ten, or take its logarithm."
        )
    check_size(len(known), " where the target is known" if n_missing else "")
    # A target that differs in each row is an id, or has classes of one row.
    _check_unique(target, known, distinct, task)
    notices = []
    if len(known) < _ENOUGH_ROWS:
        text = f"A study of {len(known)} rows says little: every score is very uncertain."
        notices.append(Notice("warning", "the table", text, "add rows"))
    if n_missing:
        text = f"The target is missing in {n_missing} of {len(column)} rows. They are not used."
        notices.append(Notice("warning", target, text, "fill it in, or remove the rows"))
    return notices + (_check_classes(target, known) if task == "classification" else [])


def _check_unique(target: str, known: Any, distinct: int, task: str) -> None:
    """Raise `NoModelError` if every row has a different value."""
    counting = known.dtype.kind == "i" and distinct == len(known) and int(known.max()) - int(known.min()) < len(known)
    if distinct == len(known) and (task == "classification" or counting):
        raise NoModelError(
            f"the target {quote(target)} has a different value in every row, like an id, so that it cannot be "
            "predicted. Choose another column."
        )


def _check_classes(target: str, known: Any) -> list[Notice]:
    """Raise `NoModelError` if there are too many classes; else return notices about rare ones."""
    counts = spell_categories(known).value_counts()
    if len(counts) > _MOST_CLASSES:
        cure = "Give --task regression" if known.dtype.kind in "if" else "Merge classes"
        raise NoModelError(
            f"the target {quote(target)} may have at most {_MOST_CLASSES} classes; got {len(counts)}. {cure}, or "
            "choose another column."
        )
    rare = counts.iloc[-1]
    # The study itself sets classes with fewer than five rows aside, and says so.
    if 5 <= rare < 10:
        text = f"The class {quote(counts.index[-1])} has only {rare} rows, so that its scores are very uncertain."
        return [Notice("warning", target, text, "collect more of them, or merge classes")]
    share = rare / counts.sum()
    # With ten classes, a class with 9.7 % of the rows is as frequent as the others.
    if share < _RARE / len(counts):
        size = (
            f"{rare} of {counts.sum()} rows ({100 * share:.1f} %)"
            if share >= 0.001
            else f"{rare} of {counts.sum()} rows"
        )
        text = f"The classes are unbalanced: {quote(counts.index[-1])} has {size}."
        return [
            Notice(
                "note",
                target,
                text,
                "give --costs if some errors cost more than others; by default all classes weigh the same",
            )
        ]
    return []


def find_likely_target(table: Table) -> str | None:
    """Return the column that looks like a target: by its name, or the last one if it has few values."""
    names = [str(name) for name in table.frame.columns]
    by_name = [name for name in names if _NAMES.fullmatch(name)]
    if by_name:
        return by_name[-1]
    last = table.frame[names[-1]]
    return names[-1] if len(last) >= FEWEST_ROWS and 2 <= count_distinct(last) <= _FEW_VALUES else None
