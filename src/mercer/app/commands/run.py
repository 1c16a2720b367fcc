"""``mercer run``: from a table to an honest model and a report."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from mercer.app.commands.arguments import add_table_arguments, duration, listed, reading_options
from mercer.app.commands.example import EXAMPLES, load_example
from mercer.errors import DataError

__all__ = ["HELP", "declare", "execute"]

HELP = "study a table: compare models, choose one, write a report and the model"
_ROLES = ("number", "category", "date", "text", "ignore", "keep")
_PLAIN = ("target", "task", "group", "weight", "cost", "metric", "folds", "repeats", "reject", "seed", "level", "jobs")
_FLAGS = ("quick", "keep_leaks")


def declare(parser: argparse.ArgumentParser) -> None:
    """The table, what is asked of it, what is known of its columns, and how long it may take."""
    parser.add_argument("table", nargs="?", help="a file, file::part, or - for standard input; else a bundled table")
    parser.add_argument("--example", choices=EXAMPLES, help="which bundled table (classification)")
    parser.add_argument("--target", metavar="COLUMN", help="what to predict; without it, groups are looked for")
    parser.add_argument("--task", choices=("classification", "regression", "structure"), help="guessed from the target")
    _declare_columns(parser)
    _declare_study(parser)
    parser.add_argument("--config", metavar="FILE", help="a TOML file with any of these options")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="where the report goes (report)")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument("--no-open", dest="open", action="store_false", help="do not open the report in a browser")
    add_table_arguments(parser)


def _declare_columns(parser: argparse.ArgumentParser) -> None:
    columns = parser.add_argument_group("columns", "names with commas between; what is not said is guessed")
    columns.add_argument(
        "--group", metavar="COLUMN", help="rows with the same value stay together when models are tried"
    )
    columns.add_argument("--order", metavar="COLUMN", help="rows are tried on later ones only, in this order")
    columns.add_argument("--weight", metavar="COLUMN", help="what each row counts")
    columns.add_argument("--cost", metavar="COLUMN", help="what missing a row of the positive class costs")
    for role in _ROLES[:4]:
        columns.add_argument(f"--{role}", action="append", metavar="COLUMNS", help=f"these hold a {role}")
    columns.add_argument("--ignore", action="append", metavar="COLUMNS", help="these are not used")
    columns.add_argument("--keep", action="append", metavar="COLUMNS", help="these are used though they look useless")
    columns.add_argument(
        "--keep-leaks", action="store_true", default=None, help="use columns that give the answer away"
    )
    columns.add_argument("--columns", action="append", metavar="COLUMNS", help="read these only")


def _declare_study(parser: argparse.ArgumentParser) -> None:
    study = parser.add_argument_group("study")
    study.add_argument(
        "--time",
        action="append",
        metavar="60s|5m|COLUMN",
        help="how long it may take; the name of a column means --order",
    )
    study.add_argument("--metric", metavar="NAME", help="by which models are judged")
    study.add_argument("--folds", type=int, metavar="N", help="parts that the rows are cut into (5)")
    study.add_argument("--repeats", type=int, metavar="N", help="how often they are cut (1)")
    study.add_argument("--costs", metavar="ACTION/CLASS=COST,...", help="what an action costs where a class is true")
    study.add_argument("--reject", type=float, metavar="COST", help="what it costs to decline")
    study.add_argument(
        "--candidates", action="append", metavar="NAMES", help="models to choose from, with semicolons between (all)"
    )
    study.add_argument("--level", type=float, metavar="SHARE", help="of the intervals (0.95)")
    study.add_argument("--quick", action="store_true", default=None, help="leave out what takes long")
    study.add_argument("--seed", type=int, metavar="N", help="of everything random (0)")
    study.add_argument("--jobs", type=int, metavar="N", help="threads (all)")


def execute(options: Any) -> int:
    """Study the table and say what was found and where it is."""
    import shlex
    import webbrowser

    from mercer.app.job import run
    from mercer.app.progress import Progress

    wishes = _wishes(options)
    table, wishes = _table(options, wishes)
    command = shlex.join(["mercer", *options.given])
    with Progress(options.quiet or options.json) as progress:
        study = run(table, watch=progress, command=command, debug=options.debug, **wishes)
    folder = study.save(Path(options.output or "report"))
    report = (folder / "report.html").resolve()
    if options.json:
        sys.stdout.write(json.dumps(_outcome(study.record, folder), ensure_ascii=False, allow_nan=False) + "\n")
    elif not options.quiet:
        _tell(study.record, report)
    if options.open and not (options.json or options.quiet) and sys.stdout.isatty():
        webbrowser.open(report.as_uri())
    return 0


def _table(options: Any, wishes: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What to study: the file, or a bundled table with its own target where none is named."""
    if options.table is not None:
        if options.example is not None:
            message = f"a table ({options.table}) and --example cannot both be given. Leave one out."
            raise DataError(message)
        return options.table, wishes
    kind = options.example or "classification"
    bundled = load_example(kind)
    own = {} if "target" in wishes else {name: bundled[name] for name in ("target", "group") if bundled.get(name)}
    return bundled.frame, {"name": bundled.title, **own, **wishes}


def _wishes(options: Any) -> dict[str, Any]:
    """Everything that was asked for, on the command line or, where that is silent, in the TOML file."""
    from mercer.app.commands.config import read_config

    config = read_config(options.config) if options.config else {}
    said = {name: getattr(options, name) for name in (*_PLAIN, *_FLAGS) if getattr(options, name) is not None}
    wishes = {**{name: config[name] for name in (*_PLAIN, *_FLAGS) if name in config}, **said}
    for role in (*_ROLES, "columns", "candidates"):
        # Names of candidates have commas inside.
        names = listed(getattr(options, role), ";" if role == "candidates" else ",") or config.get(role)
        if names:
            wishes[role] = names
    order, budget = _times(options.time or config.get("time", []), options.order or config.get("order"))
    wishes |= {"time": order} if order is not None else {}
    wishes |= {"budget": budget} if budget is not None else {}
    costs = _parse_costs(options.costs) if options.costs else config.get("costs")
    wishes |= {"costs": costs} if costs is not None else {}
    reading = {name: value or config.get(name) for name, value in reading_options(options).items()}
    wishes |= {name: value for name, value in reading.items() if value is not None}
    options.output = options.output or config.get("output")
    if "jobs" in wishes:
        wishes["n_jobs"] = wishes.pop("jobs")
    return wishes


def _times(values: list[str], order: str | None) -> tuple[str | None, float | None]:
    """The column of the order and the seconds of the budget, of what was given as time."""
    budget = None
    for value in values:
        seconds = duration(value)
        if seconds is None:
            order = value
        else:
            budget = seconds
    return order, budget


def _parse_costs(text: str) -> dict[str, dict[str, float]]:
    costs: dict[str, dict[str, float]] = {}
    for part in text.split(","):
        pair, _, cost = part.rpartition("=")
        action, slash, name = pair.strip().rpartition("/")
        try:
            costs.setdefault(action.strip(), {})[name.strip()] = float(cost)
        except ValueError:
            slash = ""
        if not slash:
            message = f"--costs must be written ACTION/CLASS=COST with commas between; got {part.strip()!r}."
            raise DataError(message)
    return costs


def _outcome(record: Any, folder: Path) -> dict[str, Any]:
    from dataclasses import asdict

    chosen = next((one.name for one in record.candidates if one.status == "chosen"), None)
    names = {"report": "report.html", "record": "run.json", "model": "model.mercer"}
    files = {name: str((folder / file).resolve()) for name, file in names.items() if (folder / file).exists()}
    return {
        "answer": record.answer,
        "task": record.question.task,
        "metric": record.question.metric,
        "sureness": None if record.sureness is None else asdict(record.sureness),
        "chosen": chosen,
        "notices": [asdict(notice) for notice in record.data.notices],
        "interrupted": record.origin.interrupted,
        **files,
    }


def _tell(record: Any, report: Path) -> None:
    lines = [record.answer]
    for notice in record.data.notices:
        if notice.level != "note":
            cure = f" {notice.cure[:1].upper()}{notice.cure[1:].rstrip('.')}." if notice.cure else ""
            lines.append(f"{notice.level}: {notice.subject}: {notice.text}{cure}")
    lines.append(f"report: {report}")
    sys.stdout.write("\n".join(lines) + "\n")
