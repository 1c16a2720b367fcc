"""The main job in one call: read a table, say what its columns are for, study it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mercer.errors import DataError

__all__ = ["ROLE_LISTS", "cost_table", "run"]

# The options that give roles to columns, and the role each gives.
ROLE_LISTS = {
    "number": "number",
    "category": "category",
    "date": "date",
    "text": "text",
    "ignore": "ignored",
    "keep": "keep",
}
_READING = ("sheet", "query", "delimiter", "encoding", "columns")
_LEAST_SECONDS = 1.0
# Of what was asked for, what the record repeats.
_SHOWN = (
    *("target", "task", "group", "time", "weight", "cost", *ROLE_LISTS, "keep_leaks", *_READING, "costs"),
    *("budget", "metric", "folds", "repeats", "reject", "candidates", "level", "quick"),
)


def run(
    table: Any,
    target: str | None = None,
    *,
    task: str | None = None,
    group: str | None = None,
    time: str | None = None,
    weight: str | None = None,
    cost: str | None = None,
    number: Sequence[str] = (),
    category: Sequence[str] = (),
    date: Sequence[str] = (),
    text: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    keep_leaks: bool = False,
    costs: Any = None,
    name: str | None = None,
    watch: Callable[[Any], None] | None = None,
    **options: Any,
) -> Any:
    """Find what can be predicted from a table, how well, how sure that is, and by which model.

    Parameters
    ----------
    table : DataFrame of pandas or polars, Arrow table, str or path
        The rows: in memory, or a file (CSV, TSV, Parquet, Arrow, Excel, JSON lines, SQLite).
    target : str or None, default=None
        The column to predict; None looks for structure instead.
    task : {"classification", "regression", "structure"} or None, default=None
        None guesses it from the target.
    group, time, weight, cost : str or None, default=None
        Columns that say which rows belong together, in which order they came, what each counts, and what a mistake
        on it costs.
    number, category, date, text, ignore, keep : list of str
        Columns whose role is known; ``keep`` uses a column that would be left out.
    keep_leaks : bool, default=False
        Whether columns that predict the target alone are used.
    costs : dict, list of lists or None, default=None
        What actions cost: ``{action: {class: cost}}``, or a matrix of actions by classes in their order.
    name : str or None, default=None
        What the report calls the table.
    watch : callable or None, default=None
        Called with where the study is (``text``, ``share``, ``seconds_left``) as it goes on.
    **options
        How to read (``delimiter``, ``encoding``, ``sheet``, ``query``, ``columns``) and how to study: ``budget`` in
        seconds, ``metric``, ``folds``, ``repeats``, ``seed``, ``candidates``, ``reject``, ``level``, ``quick``,
        ``n_jobs``.

    Returns
    -------
    Study
        ``record`` (everything the report says, as data), ``model`` (a fitted pipeline that takes the table as it is)
        and ``save(folder)``. In a notebook it shows the report.

    Raises
    ------
    DataError
        If the table cannot be used, in a sentence that says what to do.

    Examples
    --------
    >>> import mercer
    >>> from mercer.datasets import load_failures
    >>> study = mercer.run(load_failures().frame, target="failure", quick=True)  # doctest: +SKIP
    >>> print(study.record.answer)  # doctest: +SKIP
    """
    from dataclasses import replace
    from time import monotonic

    from mercer.app.study import Options, ProgressEvent, study
    from mercer.app.table import guess_roles, read_table

    began = monotonic()
    budget = options.get("budget")
    if watch is not None:
        watch(ProgressEvent("reading the table", 0.0, budget))
    lists = {"number": number, "category": category, "date": date, "text": text, "ignore": ignore, "keep": keep}
    given = _given_roles(lists)
    reading = {one: options.pop(one) for one in _READING if one in options}
    kinds = {one: role for one, role in given.items() if role in ("number", "category", "date", "text")}
    found = read_table(table, kinds=kinds, **reading)
    if name is not None:
        found = replace(found, name=name)
    special = {"target": target, "group": group, "time": time, "weight": weight, "cost": cost}
    roles, notices = guess_roles(found, task=task, given=given, keep_leaks=keep_leaks, **special)
    shown = {**special, "task": task, **lists, **reading, **options, "costs": costs, "keep_leaks": keep_leaks}
    options.setdefault("shown", {one: value for one, value in shown.items() if one in _SHOWN and value})
    if costs is not None:
        options |= _cost_options(found, roles, costs)
    spent = monotonic() - began
    if budget is not None:
        # Reading counts too; a study needs a moment in any case.
        options["budget"] = max(_LEAST_SECONDS, budget - spent)
    done = study(found, roles, Options(**options), watch=watch, notices=notices)
    origin = replace(done.record.origin, budget=budget, seconds=done.record.origin.seconds + spent)
    return replace(done, record=replace(done.record, origin=origin))


def _given_roles(lists: Mapping[str, Sequence[str]]) -> dict[str, str]:
    given: dict[str, str] = {}
    for option, names in lists.items():
        for one in [names] if isinstance(names, str) else names:
            if one in given and given[one] != ROLE_LISTS[option]:
                message = f"column `{one}` is given two roles, {given[one]} and {ROLE_LISTS[option]}. Leave one out."
                raise DataError(message)
            given[one] = ROLE_LISTS[option]
    return given


def _cost_options(table: Any, roles: Any, costs: Any) -> dict[str, Any]:
    from mercer.app.table.column_type import category_texts

    if roles.task != "classification":
        message = f"{table.name}: costs belong to classes; the task is {roles.task}. Leave them out."
        raise DataError(message)
    if not isinstance(costs, Mapping):
        return {"costs": [[float(value) for value in row] for row in costs]}
    classes = sorted(category_texts(table.frame[roles.target].dropna()).unique())
    actions, matrix = cost_table(costs, classes)
    return {"costs": matrix, "actions": actions}


def cost_table(costs: Mapping[Any, Mapping[Any, float]], classes: list[str]) -> tuple[list[str], list[list[float]]]:
    """Names of the actions, and the matrix of actions by classes, of costs written action by action.

    What is not named costs nothing. Actions that are all classes are joined by the other classes.
    """
    table = {str(action): {str(name): float(cost) for name, cost in row.items()} for action, row in costs.items()}
    unknown = sorted({name for row in table.values() for name in row} - set(classes))
    if unknown:
        message = f"costs name the class `{unknown[0]}`, but the classes are {', '.join(classes)}. Correct it."
        raise DataError(message)
    actions = list(classes) if set(table) <= set(classes) else list(table)
    return actions, [[table.get(action, {}).get(name, 0.0) for name in classes] for action in actions]
