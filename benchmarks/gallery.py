"""scikit-learn's own examples, with scikit-learn and with mercer's switch on: which run, and their processor time.

    python -m benchmarks.gallery FOLDER                  the examples below FOLDER, from scikit-learn's sources
    python -m benchmarks.gallery FOLDER --only svm       those whose path holds a word
    python -m benchmarks.gallery FOLDER --again          all of them, also those that have a stored row
    python -m benchmarks.gallery --show                  the stored table

Examples that download are left out. Each one runs in fresh processes of one thread, by turns with and without the
switch; the processor time of a process holds its imports. Those that look slower are run again, and the best of the
runs counts. An example that is slower by more than a tenth and by more than a second is marked.
"""

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import describe, thread_environment, versions

RESULT = Path(__file__).parent / "results" / "gallery.json"
# What an example calls that reads from the network.
_DOWNLOADS = re.compile(r"\bfetch_\w+\(|urlopen\(|urlretrieve\(|read_csv\(\s*[\"']http")
# Seconds of wall time, after which a process is ended.
_LIMIT = 600
# An example is slower if it takes more than this many times scikit-learn's seconds, and this many seconds more.
_FACTOR, _SECONDS = 1.1, 1.0
# Further runs of both, where the first ones look slower.
_AGAIN = 2


def find_examples(folder: Path, word: str = "") -> list[Path]:
    """Return the examples below a folder that download nothing and whose path holds `word`."""
    found = sorted(folder.rglob("plot_*.py"))
    return [path for path in found if word in str(path) and not _DOWNLOADS.search(path.read_text())]


def run_example(path: Path, switched: bool) -> dict[str, Any]:
    """Return processor seconds, whether the example ran, the last line of an error, and what fell back."""
    program = [sys.executable, "-W", "ignore", *(["-m", "mercer", "accelerate", "--report"] if switched else [])]
    environment = os.environ | thread_environment(1) | {"MPLBACKEND": "agg"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as place:
        try:
            done = subprocess.run(
                [*program, str(path.resolve())],
                cwd=place,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_LIMIT,
            )
            code, said = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code, said = -1, f"took more than {_LIMIT} s"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    _, _, fallbacks = said.partition("scikit-learn's own was used for\n")
    error = ""
    if code:
        lines = [line for line in said.split("mercer's   ")[0].splitlines() if line.strip()]
        errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
        error = (errors or lines or ["no message"])[-1][:300]
    return {"seconds": round(seconds, 2), "ran": code == 0, "error": error, "fallbacks": fallbacks.splitlines()}


def is_slower(row: dict[str, Any]) -> bool:
    """Return whether an example is slower with the switch, by both rules."""
    theirs, ours = row["scikit_learn"], row["mercer"]
    return bool(ours > _FACTOR * theirs and ours > theirs + _SECONDS)


def compare_example(folder: Path, path: Path) -> dict[str, Any]:
    """Return one row of the table."""
    theirs, ours = run_example(path, False), run_example(path, True)
    row = {
        "example": str(path.relative_to(folder)),
        "scikit_learn": theirs["seconds"],
        "mercer": ours["seconds"],
        "ran_without": theirs["ran"],
        "ran": ours["ran"],
        "error": ours["error"] if theirs["ran"] else theirs["error"],
        "fallbacks": ours["fallbacks"],
    }
    for _ in range(_AGAIN):
        if row["ran"] and is_slower(row):
            row["scikit_learn"] = min(row["scikit_learn"], run_example(path, False)["seconds"])
            row["mercer"] = min(row["mercer"], run_example(path, True)["seconds"])
    return row


def render(result: dict[str, Any]) -> str:
    """Return the table: totals, what fails, what is slower, and every example."""
    rows = [row for row in result["rows"] if row["ran_without"]]
    good = [row for row in rows if row["ran"]]
    theirs, ours = (sum(row[name] for row in good) for name in ("scikit_learn", "mercer"))
    failed = [f"{row['example']}: {row['error']}" for row in rows if not row["ran"]]
    left = [f"{row['example']}: {row['error']}" for row in result["rows"] if not row["ran_without"]]
    slow = [row for row in good if is_slower(row)]
    told = f"{len(good)} of {len(rows)} examples run with the switch"
    lines = [f"{told}; {theirs:.0f} s without it, {ours:.0f} s with it."]
    lines += ["", "Fail with the switch alone:", *failed] if failed else []
    lines += ["", "Fail without it too:", *left] if left else []
    lines += ["", "Slower by more than a tenth and a second:"] if slow else []
    lines += [f"{row['example']}: {row['scikit_learn']:.1f} s, {row['mercer']:.1f} s" for row in slow]
    lines += ["", f"{'example':70}{'scikit-learn':>14}{'mercer':>9}{'ratio':>7}"]
    lines += [
        f"{row['example']:70}{row['scikit_learn']:12.1f} s{row['mercer']:7.1f} s"
        f"{row['scikit_learn'] / row['mercer']:7.2f}"
        for row in good
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the examples and store the table, unless only some were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="the folder `examples` of scikit-learn's sources")
    parser.add_argument("--only", default="", help="a word in the path of the examples")
    parser.add_argument("--again", action="store_true", help="measure examples anew that have a stored row")
    parser.add_argument("--show", action="store_true", help="print the stored table")
    options = parser.parse_args()
    if options.show or options.folder is None:
        print(render(json.loads(RESULT.read_text())))
        return
    result: dict[str, Any] = {
        "day": datetime.now(UTC).date().isoformat(),
        "machine": describe(),
        "versions": versions(),
        "threads": 1,
        "measure": "processor seconds of a whole process, imports included",
        "rows": [],
    }
    if RESULT.exists():
        result["rows"] = json.loads(RESULT.read_text())["rows"]
    found = find_examples(options.folder, options.only)
    # In an order without a plan, so that a table that is not complete tells about all families.
    random.Random(0).shuffle(found)
    known = {row["example"] for row in result["rows"]}
    for path in found:
        name = str(path.relative_to(options.folder))
        if name in known and not options.again:
            continue
        row = compare_example(options.folder, path)
        result["rows"] = sorted(
            [*(one for one in result["rows"] if one["example"] != name), row], key=lambda one: str(one["example"])
        )
        # Stored after every example: a run that is stopped goes on where it was.
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
        print(json.dumps(row), flush=True)
    print(render(result))


if __name__ == "__main__":
    main()
