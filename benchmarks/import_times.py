"""Import times: mercer and each family beside the scikit-learn module of the same name, in fresh processes.

``python -m benchmarks.import_times`` measures all of them and stores ``benchmarks/results/import_times.json``;
``python -m benchmarks.import_times --only svm,tree`` prints some. ``python -m benchmarks --report`` renders the table.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import describe, thread_environment, versions

__all__ = ["find_pairs", "import_table", "main", "measure_import"]

ROOT = Path(__file__).resolve().parents[1]
RESULT = Path(__file__).parent / "results" / "import_times.json"
LIBRARIES = ("mercer", "sklearn")
# Processes for each module: the best of five is steady to some 2 % on an idle machine.
REPEATS = 5
# Measured inside the process, so that starting the interpreter does not count.
_SCRIPT = "import time; begun = time.process_time(); import {module}; print(time.process_time() - begun)"


def find_pairs() -> list[str]:
    """Return the families that scikit-learn has too; the empty name stands for the two packages themselves."""
    from mercer._families import FAMILIES

    return ["", *(family for family in FAMILIES if importlib.util.find_spec(f"sklearn.{family}") is not None)]


def measure_import(family: str, repeats: int = REPEATS) -> dict[str, Any]:
    """Return the best milliseconds of processor time that importing a module takes, in each library by turns."""
    row: dict[str, Any] = {"module": family}
    for _ in range(repeats):
        for library in LIBRARIES:
            module = f"{library}.{family}" if family else library
            taken = _time_import(module)
            row[library] = min(taken, row.get(library, taken))
    return row


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
    parser.add_argument("--repeat", type=int, default=REPEATS, help="processes for each module")
    given = parser.parse_args(arguments)
    wanted = given.only.split(",") if given.only else None
    rows = []
    for family in find_pairs():
        if wanted is None or family in wanted:
            rows.append(measure_import(family, given.repeat))
            print(family or "mercer", file=sys.stderr, flush=True)
    result: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": describe(),
        "versions": versions(),
        "repeats": given.repeat,
        "imports": rows,
    }
    print(import_table(result))
    path = given.output or (RESULT if wanted is None else None)
    if path is not None:
        path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
