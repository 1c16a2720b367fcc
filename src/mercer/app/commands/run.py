"""``mercer run``: study a table, and write a report and a model."""

import argparse
import json
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

from mercer.app.commands.arguments import add_options, add_silencers
from mercer.app.commands.example import EXAMPLES, load_example
from mercer.app.options import OPTIONS, OUTPUT, SECTIONS, convert_options, list_options, parse_options
from mercer.errors import DataError


def read_config(path: str) -> dict[str, Any]:
    """Return the options in a TOML file, each checked; a name may be written with dashes or underscores."""
    place = Path(path).expanduser()
    try:
        content = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file. Give --config the path of a TOML file.") from None
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: not a TOML file ({error}). Write each option as name = value, and put texts in quotes."
        ) from None
    given = {name.replace("-", "_"): value for name, value in content.items()}
    return convert_options(given, (*OPTIONS, OUTPUT), subject=path, error=DataError)


CLASSIFIERS = (
    "the constant guess",
    "nearest centroid",
    "linear discriminant",
    "logistic regression",
    "naive Bayes",
    "one tree",
    "curves, logistic regression",
    "products, logistic regression",
    "quadratic discriminant",
    "mixture densities",
    "Bayesian network",
    "kernel densities",
    "nearest neighbours",
    "random forest",
    "extra trees",
    "boosted trees",
    "multilayer perceptron",
    "support vector machine",
    "stacked models",
)
REGRESSORS = (
    "the constant guess",
    "lasso",
    "ridge regression",
    "partial least squares",
    "robust regression",
    "one tree",
    "curves, ridge regression",
    "products, ridge regression",
    "nearest neighbours",
    "random forest",
    "extra trees",
    "boosted trees",
    "multilayer perceptron",
    "support vector machine",
    "Gaussian process",
    "stacked models",
)
CLUSTERINGS = ("k-means", "Gaussian mixture", "density clusters")


# Notes on how columns were read that are printed; the report has all of them.
_MOST_READ = 8

HELP = "study a table: compare models, choose one, write a report and the model"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the table, every option of a study, and what to do with the result."""
    parser.add_argument(
        "table", nargs="?", help="file, file::part, or - for standard input (default: a table that comes with mercer)"
    )
    parser.add_argument("--example", choices=EXAMPLES, help="study this table that comes with mercer")
    parser.add_argument("--config", metavar="FILE", help="TOML file with any of the options below")
    parser.add_argument("-o", "--output", metavar=OUTPUT.metavar, help=f"{OUTPUT.text} (default: {OUTPUT.default})")
    add_silencers(parser, "print the result as JSON")
    parser.add_argument("--no-open", dest="open", action="store_false", help="do not open the report in a browser")
    write_help = parser.format_help
    parser.format_help = lambda: f"{write_help()}\n{_list_candidates()}"  # type: ignore[method-assign]
    for section, text in SECTIONS.items():
        add_options(parser.add_argument_group(section, text or None), list_options(section))


def _list_candidates() -> str:
    """Return the names of all candidates, for the help."""
    import textwrap

    lines = ["candidates:"]
    offered = (("for classes", CLASSIFIERS), ("for numbers", REGRESSORS), ("without a target", CLUSTERINGS))
    for words, names in offered:
        lines += textwrap.wrap(f"{words}: {'; '.join(names)}", 78, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"


def execute(options: Any) -> int:
    """Study the table, write the report and say what was found."""
    import webbrowser

    from mercer.app.job import make_options, study_table
    from mercer.app.progress import Progress, find_start
    from mercer.app.several import Studies, list_folders

    config = read_config(options.config) if options.config else {}
    output = options.output or config.pop(OUTPUT.name, OUTPUT.default)
    # What is typed overrules the file.
    values = {**config, **parse_options(vars(options), OPTIONS)}
    if options.table is not None and options.example is not None:
        raise DataError(f"a table ({options.table}) and --example cannot both be given. Leave one out.")
    # The first words appear at once: loading a bundled table and the modules of a study takes a second or two.
    with Progress(options.quiet or options.json) as progress:
        table, name, values = _choose_table(options, values)
        study_options = make_options(values, shlex.join(["mercer", *options.given]), options.debug)
        study = study_table(table, study_options, name, progress, find_start() if options.whole_process else None)
    folder = study.save(Path(output))
    report = (folder / "report.html").resolve()
    # Several targets have a study each, in folders inside.
    several = isinstance(study, Studies)
    parts = list(zip(study.studies.values(), list_folders(folder).values())) if several else [(study, folder)]
    if options.json:
        summaries = [_summarise(part.record, place) for part, place in parts]
        summary = {"targets": dict(zip(study.studies, summaries))} if several else summaries[0]
        sys.stdout.write(json.dumps(summary, ensure_ascii=False, allow_nan=False) + "\n")
    elif not options.quiet:
        for part, place in parts:
            _print_answer(part.record, (place / "report.html").resolve())
        if several:
            sys.stdout.write(f"report of all targets: {report}\n")
    if options.open and not (options.json or options.quiet) and sys.stdout.isatty():
        webbrowser.open(report.as_uri())
    # Without a model the report says why there is none.
    return 0 if all(part.model is not None for part, _ in parts) else 1


def _choose_table(options: Any, values: dict[str, Any]) -> tuple[Any, str | None, dict[str, Any]]:
    """Return the table, its name and the options: a bundled table brings its own target where none is given."""
    if options.table is not None:
        return options.table, None, values
    bundled = load_example(options.example or "classification")
    own = {} if "target" in values else {name: bundled[name] for name in ("target", "group") if bundled.get(name)}
    return bundled.frame, bundled.title, {**own, **values}


def _summarise(record: Any, folder: Path) -> dict[str, Any]:
    """Return the result of a study for a program: the answer, the score, and the files that were written."""
    from dataclasses import asdict

    chosen = next((candidate.name for candidate in record.candidates if candidate.status == "chosen"), None)
    names = {"report": "report.html", "record": "run.json", "model": "model.mercer"}
    files = {name: str((folder / file).resolve()) for name, file in names.items() if (folder / file).exists()}
    return {
        "answer": record.answer,
        "task": record.question.task,
        "metric": record.question.metric,
        "score": None if record.sureness is None else asdict(record.sureness),
        "chosen": chosen,
        "threshold": None if record.fit is None else record.fit.threshold,
        "notices": [asdict(notice) for notice in record.data.notices],
        "interrupted": record.origin.interrupted,
        **files,
    }


def _list_notices(record: Any) -> list[str]:
    """Return a line for each notice that a reader should see: all warnings, and notes on how the table was read."""
    columns = {"the table", *(column.name for column in record.data.columns)}
    lines, untold = [], 0
    for notice in record.data.notices:
        read = notice.level == "note" and not notice.told
        if read and notice.subject not in columns:
            continue
        untold += int(read)
        if not read or untold <= _MOST_READ:
            lines.append(f"{notice.level}: {notice.subject}: {notice.text} {notice.advice}".rstrip())
    if untold > _MOST_READ:
        lines.append(f"note: the table: The report has {untold - _MOST_READ} more notes on how columns were read.")
    return lines


def _print_answer(record: Any, report: Path) -> None:
    """Print the answer, what it means, the warnings about the data, and what to do next."""
    lines = [record.answer, *record.findings]
    guessed = any(candidate.status == "chosen" and candidate.family == "baseline" for candidate in record.candidates)
    fit = record.fit
    if fit is not None and fit.threshold is not None and fit.threshold != 0.5 and not guessed:
        least = f"{fit.threshold:.3g}"
        lines.append(f"`{record.question.positive}` is predicted if its probability is at least {least}.")
    lines += _list_notices(record)
    lines.append(f"report: {report}")
    if (report.parent / "model.mercer").exists():
        lines.append(f"to predict new rows: mercer predict {shlex.quote(str(report.parent))} NEW.csv")
    sys.stdout.write("\n".join(lines) + "\n")
