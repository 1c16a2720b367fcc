"""Attack estimators: ``python -m tools.fuzzing estimators --classes KMeans Ridge --cases 200``.

Each class is fitted to hostile rows, targets and weights (every type, order and stride, extreme values, degenerate
shapes, sparse matrices with faults), and asked for predictions. An estimator must answer with finite numbers, or raise
an error in words, with at most three warnings. A child process tries the cases; a crash or a hang costs one case.
Printed are the counts, and each kind of fault with one case that shows it.
"""

import argparse
import re
from collections import Counter
from functools import partial

from tests.laws.subjects import subjects
from tools.fuzzing.children import try_in_children
from tools.fuzzing.estimators.child import try_all

__all__ = ["add_options", "run"]

# Seconds that one case may take before it counts as a hang.
_LIMIT = 30.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this attack."""
    parser.add_argument("--classes", nargs="*", default=[], help="names of estimators; none means all")
    parser.add_argument("--families", nargs="*", default=[], help="names of families, such as svm; none means all")
    parser.add_argument("--cases", type=int, default=200, help="hostile inputs for each setting")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="seconds that one case may take")
    parser.add_argument("--first-setting", action="store_true", help="try each class in its first setting alone")
    parser.add_argument("--quiet", action="store_true", help="print findings only")


def run(options: argparse.Namespace) -> int:
    """Attack, print, and return 1 if an estimator had any fault."""
    totals: Counter[str] = Counter()
    tried: set[str] = set()
    for subject in subjects():
        family = subject.estimator.__module__.split(".")[1]
        if (options.classes and subject.name not in options.classes) or (
            options.families and family not in options.families
        ):
            continue
        if options.first_setting and subject.name in tried:
            continue
        tried.add(subject.name)
        findings = try_in_children(partial(try_all, subject), options.seed, options.cases, options.limit)
        counts = Counter(fault.partition(":")[0] for fault, _ in findings)
        totals += counts + Counter({"cases": options.cases})
        if not options.quiet or counts:
            print(f"{subject!r}: {dict(sorted(counts.items()))}", flush=True)
        shown: set[str] = set()
        for fault, case in findings:
            # Numbers differ from case to case; one example of each kind is enough.
            kind = fault if fault in ("crash", "hang") else re.sub(r"\d+", "#", fault)
            if kind not in shown or kind in ("crash", "hang"):
                shown.add(kind)
                print(f"    {fault} [{case}]", flush=True)
    print(f"total: {dict(sorted(totals.items()))}")
    return 1 if totals.total() > totals["cases"] else 0
