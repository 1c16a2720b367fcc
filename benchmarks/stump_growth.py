"""The best stump for new weights, by the search over sorted columns and by the growth of a tree of depth one.

    python -m benchmarks.stump_growth [--store]

Boosting asks for it in every round. The table has microseconds of CPU time on one thread, at best of some: the search
that :mod:`mercer._solver.tree.stump_search` keeps for it, the growth that all other trees share (with the weights in
whole steps, which it needs), and scikit-learn's tree on the same rows. ``--store`` writes it to
``benchmarks/results/stump_growth.json``. The search stays as long as the growth takes more than 1.3 times as long.
"""

import argparse
import json
import time
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.tree import DecisionTreeClassifier

from benchmarks import machine
from mercer._solver.tree.columns import encode_columns
from mercer._solver.tree.growth import Growth, Rules
from mercer._solver.tree.search import Room
from mercer._solver.tree.stump_search import sort_columns
from mercer._solver.tree.target import make_class_target
from mercer._solver.tree.whole_growth import grow_whole

RESULTS = Path(__file__).parent / "results" / "stump_growth.json"
# Rows, columns, classes, and the share of values that are not zero.
SHAPES = ((150, 4, 2, 1.0), (150, 4, 3, 1.0), (1000, 20, 2, 1.0), (1000, 20, 3, 1.0), (10_000, 20, 2, 1.0),
          (100_000, 20, 2, 1.0), (2000, 5000, 2, 0.01))  # fmt: skip
# Timings, of which the least counts, and the seconds of each.
TIMINGS, SECONDS = 5, 0.05


def measure(work):
    """Return the microseconds of CPU time that a call takes at best."""
    times = []
    for _ in range(TIMINGS):
        calls, start = 0, time.process_time()
        while calls == 0 or time.process_time() - start < SECONDS:
            work()
            calls += 1
        times.append((time.process_time() - start) / calls)
    return 1e6 * min(times)


def list_ways(n, d, n_classes, density):
    """Return the three ways to find the stump of a table, each a function to time."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d)) * (random.random((n, d)) < density if density < 1 else 1.0)
    y = np.digitize(X[:, 0] + 0.5 * random.normal(size=n), [0.0, 1.0][: n_classes - 1]).astype(np.int32)
    weight, counts, rows, room = random.random(n), np.array([n_classes]), np.arange(n, dtype=np.int32), Room()
    weight /= weight.sum()
    table = scipy.sparse.csr_array(X) if density < 1 else X
    columns = sort_columns("benchmark", table, None, 1)
    ranks = encode_columns(table.tocsc() if density < 1 else X, 1, "benchmark", steps=X.size >= 2**15)

    def grow():
        growth = Growth(
            ranks, make_class_target(y[:, None], counts, weight, "gini"), Rules(max_depth=1, max_features=d)
        )
        growth.begin(rows, 5)
        return grow_whole(growth, counts, room)

    theirs = DecisionTreeClassifier(max_depth=1)
    rows = np.arange(n, dtype=np.int32)
    X = scipy.sparse.csc_matrix(table, dtype=np.float32) if density < 1 else X.astype(np.float32)
    return {
        "search": partial(columns.find_best_stump, y, weight, n_classes, "gini"),
        "growth": grow,
        "scikit-learn": partial(theirs.fit, X, y, sample_weight=weight),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="store_true", help="write the table to benchmarks/results")
    options = parser.parse_args()
    found = []
    print(f"{'rows':>8}{'columns':>9}{'classes':>9}{'density':>9}{'search':>10}{'growth':>10}{'scikit-learn':>14}")
    for shape in SHAPES:
        times = {name: round(measure(work), 1) for name, work in list_ways(*shape).items()}
        print("{:>8}{:>9}{:>9}{:>9}".format(*shape) + "{search:>10}{growth:>10}{scikit-learn:>14}".format(**times))
        found.append(dict(zip(("rows", "columns", "classes", "density"), shape, strict=True)) | {"microseconds": times})
    if options.store:
        result = {"day": date.today().isoformat(), "machine": machine.describe(), "shapes": found}
        RESULTS.write_text(json.dumps({"stump_growth": result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
