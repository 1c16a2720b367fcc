"""The table of outcomes on the page about releases: one row for each environment, with the day it was last run."""

import datetime
import os
import platform
import re
from pathlib import Path

from tools.matrix.environments import COMPILED, LAWS, NARROW, ROOT, WIDE
from tools.matrix.running import Outcome

PAGE = ROOT / "docs" / "releasing.md"
BEGIN = "<!-- matrix: written by python -m tools.matrix --record -->"
END = "<!-- end of matrix -->"
COLUMNS = ("environment", "outcome", "versions", "tests", "last line of the tests", "day", "machine")
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
# What a row says of the tests that were run, by their names.
SELECTIONS = {LAWS: "laws", WIDE: "wide", NARROW: "narrow", COMPILED: "compiled"}
WORDS = {True: "passed", False: "FAILED", None: "not run"}


def record_outcome(outcome: Outcome, page: Path = PAGE) -> None:
    """Write the outcome of one environment into the table of the page, in the place of an older one."""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    machine = f"{platform.system()} {platform.machine()}, {count_cores()} cores"
    # Times and paths in the last line change from run to run; the counts are what matters.
    text = re.sub(r" in [\d.]+s( \([\d:]+\))?", "", outcome.text).replace("|", "/").strip("= ")
    tests = SELECTIONS.get(outcome.tests, ", ".join(outcome.tests))
    row = f"| {outcome.name} | {WORDS[outcome.passed]} | {outcome.versions} | {tests} | {text} | {day} | {machine} |"
    page.write_text(update_table(page.read_text(encoding="utf-8"), outcome.name, row), encoding="utf-8")


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def update_table(text: str, name: str, row: str) -> str:
    """Return the text of a page with the row of one environment replaced, or added at the end of its table."""
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| environment")]
    kept = [row if line.startswith(f"| {name} |") else line for line in rows]
    if row not in kept:
        kept.append(row)
    return f"{before}{BEGIN}\n\n{HEAD}" + "\n".join(kept) + f"\n\n{END}{after}"
