"""The main job in one call: read a table, find the role of each column, study it."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from mercer._source.memory import count_allowed_bytes, readable
from mercer._source.threads import n_threads
from mercer.app.option_kinds import looks_like_duration
from mercer.app.options import OPTIONS, Options, convert_options
from mercer.errors import DataError

# Bytes of a number in an encoded row.
_BYTES = 8
# Encoded copies of the rows that one thread holds at most: all rows, those of a fold, scaled ones and a solver's own.
_COPIES = 4
# The most columns that a category or a text becomes: rarer values share a column.
_MOST_INDICATORS = 50
# Columns that a date becomes: itself and sine and cosine of up to three cycles.
_DATE_COLUMNS = 7


def forecast_study(frame: Any, roles: Any, options: Options) -> str:
    """Return a sentence or two about the size of the table, the memory and the time."""
    rows, columns = frame.shape
    width = sum(_count_encoded(column) for column in roles.columns)
    compared = min(rows, options.max_rows)
    table = int(frame.memory_usage(deep=False).sum())
    needed = table + _BYTES * compared * max(width, 1) * _COPIES * n_threads(options.n_jobs)
    allowed = count_allowed_bytes()
    counts = [f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in ((rows, "row"), (columns, "column"))]
    size = f"{' and '.join(counts)} ({readable(table)})"
    memory = f"encoded rows will take up to about {readable(needed)} of memory"
    if needed > allowed:
        memory += f", but only {readable(allowed)} are free: give --max-rows or --ignore"
    if options.budget is not None:
        # Exactly as it was given: 90 s, not 2 min.
        limit = f"{options.budget:g} s" if options.budget < 600 else f"{options.budget / 60:.4g} min"
        time = f"The study will take at most {limit}."
    else:
        # The study tells its time after a short fit of each candidate.
        time = "There is no limit of time; --budget sets one."
    return f"{size}; {memory}. {time}"


def _count_encoded(column: Any) -> int:
    """Return the number of encoded columns that a column of the table becomes; 0 if models do not use it."""
    if column.role in ("category", "text"):
        return min(column.distinct, _MOST_INDICATORS) + 1
    return {"number": 2, "date": _DATE_COLUMNS}.get(column.role, 0)


# A study gets at least this many seconds, even if reading the table has used up the budget.
_LEAST_SECONDS = 1.0
_READING = ("sheet", "query", "delimiter", "encoding", "columns", "missing", "decimal", "day_first", "max_unpacked")


def run(
    table: Any,
    target: str | Sequence[str] | None = None,
    *,
    name: str | None = None,
    watch: Callable[[Any], None] | None = None,
    **options: Any,
) -> Any:
    """Find out what can be predicted from a table, how well, how certain that is, and which model does it.

    Parameters
    ----------
    table : DataFrame of pandas or polars, Arrow table, str or path
        The rows: in memory, or a file (CSV, TSV, Parquet, Arrow, Excel, JSON lines, SQLite).
    target : str, list of str or None, default=None
        The column to predict; None looks for groups of similar rows instead. Several columns get a study each.
    name : str or None, default=None
        What the report calls the table.
    watch : callable or None, default=None
        Called as the study goes on with an event that says what is done now (``text``), how much of everything is
        done (``share``) and how long the rest may take (``seconds_left``).
    **options
        Anything that ``mercer run`` takes, under the same name:

        <options>

    Returns
    -------
    Study
        ``record`` (everything the report says, as data), ``model`` (a fitted pipeline that takes the table as it is)
        and ``save(folder)``. In a notebook it shows the report. For several targets, ``Studies``: ``studies[target]``
        is the study of one of them, and ``save`` and ``predict`` serve all.

    Raises
    ------
    ParameterError
        If there is no such option, or it does not take such a value.
    DataError
        If the table cannot be used; the message says what to do.

    Examples
    --------
    >>> import mercer
    >>> from mercer.datasets import load_failures
    >>> study = mercer.run(load_failures().frame, target="failure", quick=True)  # doctest: +SKIP
    >>> print(study.record.answer)  # doctest: +SKIP
    """
    return study_table(table, make_options(convert_options({"target": target, **options}, OPTIONS)), name, watch)


def _describe_options() -> str:
    """Return one line for each option, for the docstring of `run`."""
    lines = []
    for option in OPTIONS[1:]:
        default = f" (default: {option.default_text})" if option.default_text else ""
        lines.append(f"- ``{option.name}``: {option.text}{default}.")
    return "\n        ".join(lines)


def _make_signature() -> inspect.Signature:
    """Return the signature of `run` with every option as a keyword."""
    # The last parameter is **options, in whose place each option gets a keyword of its own.
    *named, _ = inspect.signature(run).parameters.values()
    options = [
        inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default) for option in OPTIONS[1:]
    ]
    return inspect.Signature([*named, *options], return_annotation=Any)


# Editors and `help` show the options by name, although they are declared in one table only.
run.__doc__ = (run.__doc__ or "").replace("<options>", _describe_options())
run.__signature__ = _make_signature()  # type: ignore[attr-defined]


def make_options(values: Mapping[str, Any], command: str = "", debug: bool = False) -> Options:
    """Return the options of a study; the record of the study repeats those of `values` that are marked so."""
    shown = {option.name: values[option.name] for option in OPTIONS if option.recorded and values.get(option.name)}
    return Options(**values, command=command, debug=debug, shown=shown)


def study_table(
    table: Any,
    options: Options,
    name: str | None = None,
    watch: Callable[[Any], None] | None = None,
    began: float | None = None,
) -> Any:
    """Read a table, find the role of each column, and study it; see `run` for `table`, `name` and `watch`.

    The budget is counted from the time `began` of the monotonic clock: a command has begun before.
    """
    # Loading the modules takes a second or two, which counts as part of the study.
    began = monotonic() if began is None else began
    from mercer.app.study.clock import ProgressEvent

    if watch is not None:
        watch(ProgressEvent("reading the table", 0.0, options.budget))
    # These modules take two seconds to load, so that the first word comes before them.
    from mercer._source.table import read_table
    from mercer.app.beyond_memory import (
        describe_sample,
        describe_several,
        draw_sample,
        fit_to_whole,
        is_beyond_memory,
        reserve_seconds,
    )
    from mercer.app.several import split_targets, study_each

    given = _list_given_roles(options)
    kinds = {column: role for column, role in given.items() if role in ("number", "category", "date", "text")}
    reading, whole = {option: getattr(options, option) for option in _READING}, None
    if options.sample is not None or options.cluster is not None or is_beyond_memory(table, options.max_unpacked):
        frame, whole = draw_sample(table, options, reading)
        rows = read_table(frame, kinds=kinds, **{name: reading[name] for name in ("missing", "decimal", "day_first")})
        # Rows keep their numbers in the table, for messages about single rows.
        rows = replace(rows, name=Path(str(table)).name if isinstance(table, str | Path) else rows.name)
        rows.frame.index = frame.index
        rows = replace(rows, notices=[describe_sample(whole), *rows.notices])
    else:
        rows = read_table(table, kinds=kinds, **reading)
    if name is not None:
        rows = replace(rows, name=name)
    _refuse_duration(rows, options)
    targets = split_targets(options.target, rows.frame.columns)
    spent = monotonic() - began
    if len(targets) > 1:
        if whole is not None:
            rows = replace(rows, notices=[*rows.notices, describe_several(whole)])
        return study_each(rows, targets, options, partial(_study_rows, given, spent / len(targets)), watch)
    asked = replace(options, target=targets[0] if targets else None)
    if whole is not None and options.budget is not None:
        # Some passes over the whole table come after the study.
        asked = replace(asked, budget=max(0.5 * options.budget, options.budget - reserve_seconds(whole)))
    done = _study_rows(given, spent, rows, asked, watch)
    all_drawn = whole is not None and whole.n_drawn == whole.n_rows and options.cluster is None
    if whole is None or all_drawn or done.model is None or not targets:
        return done
    left = math.inf if options.budget is None else max(0.0, options.budget - (monotonic() - began))
    if watch is not None:
        watch(ProgressEvent(f"fitting the model to all {whole.n_rows} rows", 0.99, options.budget))
    done = fit_to_whole(done, whole, options, left)
    origin = replace(done.record.origin, budget=options.budget, seconds=monotonic() - began)
    return replace(done, record=replace(done.record, origin=origin))


def _study_rows(given: dict[str, str], spent: float, rows: Any, options: Options, watch: Any) -> Any:
    """Find the role of each column of rows that were read, and study them; reading has taken `spent` seconds."""
    from mercer.app.study import study
    from mercer.app.study.clock import ProgressEvent
    from mercer.app.table import guess_roles
    from mercer.app.table.keys import name_follow_up

    began = monotonic()
    # Several targets were split before: here there is one, or none.
    target = options.target if isinstance(options.target, str) else None
    roles, notices = guess_roles(
        rows,
        target=target,
        task=options.task,
        group=options.group,
        time=options.time,
        weight=options.weight,
        cost=options.cost,
        given=given,
        keep_leaks=options.keep_leaks,
    )
    notices = [*notices, *name_follow_up(rows, roles)]
    if options.holdout is not None:
        _check_holdout(options, target)
    spent, budget = spent + monotonic() - began, options.budget
    settled = _settle_costs(options, rows, roles)
    if budget is not None:
        # Reading the table counts as part of the study.
        settled = replace(settled, budget=max(_LEAST_SECONDS, budget - spent), spent=spent)
    if watch is not None:
        watch(ProgressEvent("reading the table", 0.01, budget, forecast=forecast_study(rows.frame, roles, options)))
    done = study(rows, roles, settled, watch=watch, notices=notices)
    if options.holdout is not None and done.model is not None:
        done = replace(done, record=_score_holdout(done, options))
    origin = replace(done.record.origin, budget=budget, seconds=done.record.origin.seconds + spent)
    return replace(done, record=replace(done.record, origin=origin))


def _check_holdout(options: Options, target: str | None) -> None:
    """Raise before the study begins if the table of ``--holdout`` cannot be read or lacks the target."""
    from mercer._source.table import Stream

    if target is None:
        raise DataError("--holdout needs a target, whose values are compared with the predictions. Give --target NAME.")
    stream = Stream.open(options.holdout, **_read_holdout(options))
    if target not in stream.names:
        raise DataError(f"{stream.place.name}: there is no column `{target}`, which --holdout needs. Add it.")


def _read_holdout(options: Options) -> dict[str, Any]:
    """Return how the table of ``--holdout`` is read: as the table of the study, but all columns."""
    return {name: getattr(options, name) for name in _READING if name not in ("columns", "max_unpacked")}


def _score_holdout(done: Any, options: Options) -> Any:
    """Return the record of a study with the score of its model on the table of ``--holdout``."""
    from mercer.app.deploy.watching import score_apart
    from mercer.app.study.answer import compare_holdout

    found = score_apart(done.model, done.record, options.holdout, **_read_holdout(options))
    record = replace(done.record, holdout=found)
    return replace(record, findings=[compare_holdout(record), *record.findings])


def _list_given_roles(options: Options) -> dict[str, str]:
    """Return the role that the options give to each column they name."""
    given: dict[str, str] = {}
    for option in OPTIONS:
        if option.role:
            for column in getattr(options, option.name):
                if given.setdefault(column, option.role) != option.role:
                    raise DataError(
                        f"column `{column}` is given two roles, {given[column]} and {option.role}. Leave one out."
                    )
    return given


def _refuse_duration(table: Any, options: Options) -> None:
    """Raise if `time` is a duration instead of a column: the option that limits a study's time is `budget`."""
    time = options.time
    if time is not None and time not in table.frame.columns and looks_like_duration(time):
        # A study that was started by a command has that command; others were started from Python.
        name = "--time" if options.command else "time"
        cure = f"--budget {time.replace(' ', '')}" if options.command else f"budget={time!r}"
        raise DataError(
            f"{table.name}: {name} must name a column of times; got {time!r}. To limit how long the study takes, give "
            f"{cure}."
        )


def _settle_costs(options: Options, table: Any, roles: Any) -> Options:
    """Return the options with their costs as a matrix of actions by classes."""
    from mercer._source.table.column_type import spell_categories

    if options.costs is None:
        return options
    if roles.task != "classification":
        raise DataError(f"{table.name}: costs belong to classes; the task is {roles.task}. Leave them out.")
    if not isinstance(options.costs, Mapping):
        return replace(options, costs=[[float(value) for value in row] for row in options.costs])
    classes = sorted(spell_categories(table.frame[roles.target].dropna()).unique())
    actions, matrix = make_cost_matrix(options.costs, classes)
    return replace(options, costs=matrix, actions=actions)


def make_cost_matrix(
    costs: Mapping[Any, Mapping[Any, float]], classes: list[str]
) -> tuple[list[str], list[list[float]]]:
    """Return the names of the actions and the matrix of actions by classes for ``{action: {class: cost}}``.

    A pair that is not named costs 0. If every action is a class, the other classes are actions too.
    """
    table = {str(action): {str(name): float(cost) for name, cost in row.items()} for action, row in costs.items()}
    unknown = sorted({name for row in table.values() for name in row} - set(classes))
    if unknown:
        raise DataError(
            f"costs name the class `{unknown[0]}`, but the classes are {', '.join(classes)}. Correct the name."
        )
    actions = list(classes) if set(table) <= set(classes) else list(table)
    return actions, [[table.get(action, {}).get(name, 0.0) for name in classes] for action in actions]
