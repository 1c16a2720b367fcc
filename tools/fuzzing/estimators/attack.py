"""Attack estimators: ``python -m tools.fuzzing estimators --classes KMeans Ridge --cases 200``.

Each class is fitted to hostile rows, targets and weights (every type, order and stride, extreme values, degenerate
shapes, sparse matrices with faults), and asked for predictions. An estimator must answer with finite numbers, or raise
an error in words, with at most three warnings. A child process tries the cases; a crash or a hang costs one case.
Printed are the counts, and each kind of fault with one case that shows it.
"""

import argparse
import re
import time
from collections import Counter
from functools import partial

from tests.laws.subjects import subjects
from tools.fuzzing.children import try_in_children
from tools.fuzzing.choice import add_choice, choose_subjects
from tools.fuzzing.estimators.child import try_all
from tools.fuzzing.ledger import Tally, run_jobs
from tools.fuzzing.results import Report

# Seconds that one case may take before it counts as a hang.
_LIMIT = 30.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this attack."""
    add_choice(parser)
    parser.add_argument("--cases", type=int, default=200, help="hostile inputs for each setting")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="seconds that one case may take")


def _number_cases(jobs: list[tuple[int, int]], first: int, per_class: bool) -> list[tuple[int, int, int]]:
    """Return (number of the subject, first case, cases) of each job; shared cases differ from setting to setting."""
    found, numbered = subjects(), []
    begin: Counter[str] = Counter()
    for number, count in jobs:
        name = found[number].name
        numbered.append((number, first + begin[name], count))
        # Without this, the later cases, which are targets and weights, would reach no class of several settings.
        begin[name] += count if per_class else 0
    return numbered


def _attack(limit: float, job: tuple[int, int, int]) -> Tally:
    """Try the cases of one subject, given by its number, the first case and how many there are."""
    number, first, count = job
    subject = subjects()[number]
    start = time.perf_counter()
    faults = try_in_children(partial(try_all, subject), first, count, limit)
    tally = Tally(repr(subject), time.perf_counter() - start)
    tally.counts = Counter(fault.partition(":")[0] for fault, _ in faults)
    # A case with two faults is one case: what is left are the cases without any.
    tally.counts["faultless"] = count - len({case for _, case in faults})
    shown: set[str] = set()
    for fault, case in faults:
        # Numbers differ from case to case; one example of each kind is enough.
        kind = fault if fault in ("crash", "hang") else re.sub(r"\d+", "#", fault)
        if kind not in shown or kind in ("crash", "hang"):
            shown.add(kind)
            tally.findings.append((fault, case))
    return tally


def run(options: argparse.Namespace) -> int:
    """Attack, print, and return 1 if an estimator had any fault."""
    report = Report("estimators", options)
    jobs = _number_cases(choose_subjects(options, options.cases), options.seed, options.per_class)
    for tally in run_jobs(partial(_attack, options.limit), jobs, options.jobs, options.seconds):
        report.add(tally)
    return report.end()
