"""The parent process: make the data once, give each contestant a fresh process, and judge what comes back."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.case import Case, Contestant
from benchmarks.machine import describe, thread_environment, versions

ROOT = Path(__file__).resolve().parents[1]
LONG_RUN = 30.0
TIME_LIMIT = 600.0
MEASURED = (
    "fit_seconds",
    "cores",
    "others_cores",
    "peak_megabytes",
    "extra_megabytes",
    "predict_seconds",
    "one_row_microseconds",
)


def run_case(
    case: Case,
    threads: int,
    repeat: int,
    scale: float,
    only: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run all contestants of a case and return the result as plain data.

    The rounds go through all contestants in turn, so that a slow minute of the machine falls on all of them. A
    contestant that takes longer than half a minute runs once.

    Parameters
    ----------
    only : sequence of str
        Names or first words of names of the contestants to run; empty for all.
    """
    chosen = [contestant for contestant in case.contestants if _is_chosen(contestant, only)]
    runs: dict[str, list[dict[str, Any]]] = {contestant.name: [] for contestant in chosen}
    record = _header(case, scale) | {"threads": threads, "repeat": repeat}
    with tempfile.TemporaryDirectory() as folder:
        _store(case.make(scale), Path(folder))
        for _ in range(repeat):
            for contestant in chosen:
                if not runs[contestant.name] or _worth_repeating(runs[contestant.name][-1]):
                    say(f"{case.name}: {contestant.name}")
                    runs[contestant.name].append(_run_child(case, contestant, Path(folder), threads))
    rows = [_summarise(contestant, runs[contestant.name]) for contestant in chosen]
    return record | {"rows": judge(case, rows)}


def run_scaling(
    case: Case, threads: Sequence[int], repeat: int, scale: float, only: Sequence[str] = ("mercer",)
) -> dict[str, Any]:
    """Run contestants at several thread counts; a row says the seconds and the digest of the fitted arrays."""
    chosen = [contestant for contestant in case.contestants if _is_chosen(contestant, only or ("mercer",))]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        _store(case.make(scale), Path(folder))
        for contestant in chosen:
            for count in threads:
                runs = [_run_child(case, contestant, Path(folder), count) for _ in range(repeat)]
                rows.append(_summarise(contestant, runs) | {"threads": count})
    return _header(case, scale) | {"repeat": repeat, "scaling": rows}


def judge(case: Case, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to each row whether its quality agrees with the best, and its ratio to the best peer.

    The best peer is the fastest one that agrees; where none does, the one of best quality. A ratio below one is faster.
    """
    rule = case.agreement
    ran = [row for row in rows if row["status"] == "ran"]
    if not ran:
        return rows
    best = rule.best(row["quality"][rule.measure] for row in ran)
    for row in ran:
        row["agrees"] = rule.holds(row["quality"][rule.measure], best)
    peers = [row for row in ran if row["peer"]]
    agreeing = [row for row in peers if row["agrees"]]
    if not agreeing and peers:
        leader = rule.best(row["quality"][rule.measure] for row in peers)
        agreeing = [row for row in peers if row["quality"][rule.measure] == leader]
    if agreeing:
        bar = min(row[case.headline] for row in agreeing)
        for row in ran:
            row["ratio"] = row[case.headline] / bar
    return rows


def _header(case: Case, scale: float) -> dict[str, Any]:
    return {
        "case": case.name,
        "title": case.title,
        "headline": case.headline,
        "agreement": {"measure": case.agreement.measure, "tolerance": case.agreement.tolerance},
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "scale": scale,
        "hardware": describe(),
        "versions": versions(),
    }


def _store(data: dict[str, np.ndarray], folder: Path) -> None:
    for name, array in data.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array))


def _is_chosen(contestant: Contestant, only: Sequence[str]) -> bool:
    return not only or any(contestant.name == name or contestant.name.startswith(f"{name}_") for name in only)


def _worth_repeating(run: dict[str, Any]) -> bool:
    return run["status"] == "ran" and run["fit_seconds"] < LONG_RUN


def _run_child(case: Case, contestant: Contestant, folder: Path, threads: int) -> dict[str, Any]:
    result_file = folder / "result.json"
    result_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.contestant", case.name, contestant.name]
    command += [str(folder), str(threads), str(result_file)]
    environment = os.environ | thread_environment(threads)
    try:
        # A contestant's own prints would tear the table; what it has to say is in the result file.
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return {"status": "failed", "reason": f"over {TIME_LIMIT:.0f} s"}
    if not result_file.exists():
        return {"status": "failed", "reason": f"exit status {done.returncode}: {done.stderr[-500:]}"}
    return json.loads(result_file.read_text())


def _summarise(contestant: Contestant, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the median of every measurement; quality and digest come from the last run, and digests are compared."""
    row: dict[str, Any] = {"contestant": contestant.name, "peer": contestant.is_peer}
    broken = next((run for run in runs if run["status"] != "ran"), None)
    if broken is not None:
        return row | broken
    row |= {"status": "ran", "runs": len(runs)}
    row |= {name: median(run[name] for run in runs) for name in MEASURED}
    row |= {"fit_seconds_all": [run["fit_seconds"] for run in runs], "predict_rows": runs[-1]["predict_rows"]}
    digests = {run["digest"] for run in runs}
    return row | {"quality": runs[-1]["quality"], "digest": runs[-1]["digest"], "repeatable": len(digests) == 1}
