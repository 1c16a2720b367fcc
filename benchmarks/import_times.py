"""Import times: mercer and each module beside the scikit-learn module of the same name, in fresh processes.

``python -m benchmarks.import_times`` measures all of them and stores ``benchmarks/results/import_times.json``;
``python -m benchmarks.import_times --only svm,tree`` prints some. ``python -m benchmarks --report`` renders the table.
"""

import argparse
import importlib.util
import json
import os
import pkgutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import describe, thread_environment, versions

ROOT = Path(__file__).resolve().parents[1]
RESULT = Path(__file__).parent / "results" / "import_times.json"
LIBRARIES = ("mercer", "sklearn")
# Modules without estimators that both libraries have.
TOOLS = ("datasets", "inspection", "metrics", "model_selection")
# Rounds, each with one process for every module: the best of five is steady to some 2 % on an idle machine.
REPEATS = 5
# Seconds that all rounds may take; one round takes about 45 on two idle cores. The first round is always made.
LIMIT = 100.0
# Measured inside the process, so that starting the interpreter does not count.
_SCRIPT = "import time; begun = time.process_time(); import {module}; print(time.process_time() - begun)"


def find_pairs() -> list[str]:
    """Return the modules that scikit-learn has too; the empty name stands for the two packages themselves."""
    from mercer._families import FAMILIES

    # To look for a module within a package would import the package: scikit-learn is only looked at.
    spec = importlib.util.find_spec("sklearn")
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    theirs = {module.name for module in pkgutil.iter_modules(places)}
    return ["", *(name for name in (*FAMILIES, *TOOLS) if name in theirs)]


def measure_import(family: str, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the milliseconds of processor time that importing a module takes, in each library by turns.

    `known` is the row of earlier processes: the best of these and of the new one is kept.
    """
    row: dict[str, Any] = {"module": family} if known is None else dict(known)
    for library in LIBRARIES:
        taken = _time_import(f"{library}.{family}" if family else library)
        row[library] = min(taken, row.get(library, taken))
    return row


def measure_rounds(families: list[str], repeats: int, limit: float) -> tuple[list[dict[str, Any]], int]:
    """Return the row of each module, and the rounds made: `repeats`, or as many as end within `limit` seconds."""
    rows: dict[str, dict[str, Any]] = {}
    begun = time.monotonic()
    for done in range(repeats):
        # A round takes about as long as the mean of those before it.
        if done and (time.monotonic() - begun) * (done + 1) / done > limit:
            return list(rows.values()), done
        for family in families:
            rows[family] = measure_import(family, rows.get(family))
            print(f"round {done + 1}: {family or 'mercer'}", file=sys.stderr, flush=True)
    return list(rows.values()), repeats


def _time_import(module: str) -> float:
    """Return the milliseconds of processor time of one import in a fresh process."""
    arguments = [sys.executable, "-c", _SCRIPT.format(module=module)]
    environment = os.environ | thread_environment(1)
    run = subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return 1e3 * float(run.stdout.splitlines()[-1])


def import_table(result: dict[str, Any]) -> str:
    """Return a Markdown table: the milliseconds of both libraries and their ratio, one row for each module."""
    lines = [
        f"**import_times**: imports in fresh processes; best processor time of {result['repeats']}, ms; "
        f"{result['date']}, {result['hardware']['processor']}, scikit-learn {result['versions']['scikit-learn']}",
        "",
        "A ratio is scikit-learn's time over mercer's: above 1, mercer is faster.",
        "",
        "| module | mercer | scikit-learn | ratio |",
        "| --- | --- | --- | --- |",
    ]
    for row in result["imports"]:
        name = f"mercer.{row['module']}" if row["module"] else "mercer"
        lines.append(f"| {name} | {row['mercer']:.0f} | {row['sklearn']:.0f} | {row['sklearn'] / row['mercer']:.2f} |")
    slower = [row["module"] or "mercer" for row in result["imports"] if row["mercer"] > row["sklearn"]]
    lines += ["", f"Slower in {len(slower)} of {len(result['imports'])} modules" + _list(slower) + "."]
    return "\n".join([*lines, ""])


def _list(names: list[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def main(arguments: list[str] | None = None) -> None:
    """Measure all modules and store them, or some and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.import_times", description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="families, as svm,tree; the result is printed and not stored")
    parser.add_argument("--output", type=Path, help="file for the result (default benchmarks/results)")
    parser.add_argument("--repeat", type=int, default=REPEATS, help="most processes for each module")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that all rounds may take")
    given = parser.parse_args(arguments)
    wanted = given.only.split(",") if given.only else None
    families = [family for family in find_pairs() if wanted is None or family in wanted]
    rows, repeats = measure_rounds(families, given.repeat, given.limit)
    result: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": describe(),
        "versions": versions(),
        "repeats": repeats,
        "imports": rows,
    }
    print(import_table(result))
    path = given.output or (RESULT if wanted is None else None)
    if path is not None:
        path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
