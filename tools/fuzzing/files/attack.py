"""Attack model files: ``python -m tools.fuzzing files --classes KMeans DecisionTreeClassifier --mutations 500``.

Each class is fitted in the settings of the laws. A child process forges files from the model, loads them and asks for
predictions. The parent notes where the child stands, so that a crash or a hang costs one file: a new child goes on with
the next one. Printed are the counts of outcomes, and for each kind of finding one forgery that shows it.
"""

import argparse
import json
import os
import selectors
import subprocess
import sys
from collections import Counter

from tests.laws.subjects import subjects

__all__ = ["add_options", "run"]

# Seconds that one forged file may take before it counts as a hang; the first one waits for imports and a fit too.
_LIMIT = 20.0
_START = 200.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this attack."""
    parser.add_argument("--classes", nargs="*", default=[], help="names of estimators; none means all")
    parser.add_argument("--mutations", type=int, default=200, help="forged files for each setting")
    parser.add_argument("--seed", type=int, default=0, help="number of the first forgery")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="seconds that one forged file may take")
    parser.add_argument("--raw", action="store_true", help="print errors that are not mercer's too")
    parser.add_argument("--quiet", action="store_true", help="print findings only")


def _run_child(number: int, first: int, last: int, limit: float) -> tuple[list[dict[str, str]], bool]:
    """Return the outcomes of the forgeries from `first` to `last`, as far as the child came, and whether it hung."""
    command = [sys.executable, "-m", "tools.fuzzing.files.child", str(number), str(first), str(last)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, bufsize=1
    )
    lines, hung = [], False
    assert child.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(limit if lines else _START):
                hung = True
                child.kill()
                break
            line = child.stdout.readline()
            if not line:
                break
            lines.append(json.loads(line))
    child.wait()
    return lines, hung


def _attack(number: int, first: int, count: int, limit: float) -> list[tuple[str, str]]:
    """Return (outcome, change) of each forgery of one subject."""
    findings: list[tuple[str, str]] = []
    stop = first + count
    while first < stop:
        lines, hung = _run_child(number, first, stop, limit)
        done = [line for line in lines if "outcome" in line]
        findings += [(line["outcome"], line["change"]) for line in done]
        first += len(done)
        if first < stop:
            change = lines[-1].get("change", "before the first file") if lines else "before the first file"
            findings.append(("hang" if hung else "crash", change))
            first += 1
    return findings


def run(options: argparse.Namespace) -> int:
    """Attack, print, and return 1 if a file crashed or hung the process."""
    bad = 0
    for number, subject in enumerate(subjects()):
        if options.classes and subject.name not in options.classes:
            continue
        findings = _attack(number, options.seed, options.mutations, options.limit)
        counts = Counter(outcome.partition(":")[0] for outcome, _ in findings)
        bad += counts["crash"] + counts["hang"]
        if not options.quiet or counts["crash"] or counts["hang"]:
            print(f"{subject!r}: {dict(sorted(counts.items()))}", flush=True)
        shown: set[str] = set()
        for outcome, change in findings:
            is_fatal = outcome in ("crash", "hang")
            if (is_fatal or (options.raw and outcome.startswith("raw"))) and outcome not in shown:
                # One example of each raw error is enough; every crash is printed.
                shown |= set() if is_fatal else {outcome}
                print(f"    {outcome}: {change}", flush=True)
    return 1 if bad else 0
