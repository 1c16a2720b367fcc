"""A tree of 31 leaves on binned columns, by the growth of histogram boosting and by the one of all other trees.

    python -m benchmarks.leaf_growth [--store]

The table has milliseconds of CPU time of a tree on one thread, at best of some: in boosting, gradients and scores
included, as the difference between fits of 21 rounds and of one; and by the shared growth with coarse steps, best leaf
first, on columns that are encoded already. ``--store`` writes it to ``benchmarks/results/leaf_growth.json``. Boosting
keeps its growth as long as the shared one takes more than 1.3 times as long.
"""

import argparse
import json
import time
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import machine
from mercer._solver.tree.columns import encode_columns
from mercer._solver.tree.growth import Growth, Rules
from mercer._solver.tree.target import make_value_target
from mercer._solver.tree.whole_growth import grow_best_first
from mercer.ensemble import HistGradientBoostingRegressor

RESULTS = Path(__file__).parent / "results" / "leaf_growth.json"
SHAPES = ((1000, 20), (10_000, 20), (100_000, 20), (100_000, 100))  # rows, columns
ROUNDS = 20
TIMINGS = 5  # of which the least counts


def measure(work):
    """Return the milliseconds of CPU time that a call takes at best."""
    times = []
    for _ in range(TIMINGS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def compare(n, d):
    """Return the milliseconds of a tree by either growth."""
    random = np.random.default_rng(0)
    X = random.integers(0, 255, size=(n, d)).astype(np.float64)
    y = np.sin(X[:, 0] / 30) + X[:, 1] / 100 + 0.3 * random.normal(size=n)
    columns = encode_columns(X, 1, "benchmark", steps=True)
    target = make_value_target(y[:, None], np.ones(n), "squared_error")

    def grow():
        growth = Growth(columns, target, Rules(min_rows_split=40, min_rows_leaf=20, max_features=d, coarse_rows=0))
        growth.begin(np.arange(n, dtype=np.int32), 5)
        return grow_best_first(growth, 31)

    def boost(rounds):
        HistGradientBoostingRegressor(max_iter=rounds, early_stopping=False, n_jobs=1).fit(X, y)

    first, last = measure(partial(boost, 1)), measure(partial(boost, 1 + ROUNDS))
    return {"boosting": round((last - first) / ROUNDS, 3), "shared": round(measure(grow), 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="store_true", help="write the table to benchmarks/results")
    options = parser.parse_args()
    found = []
    print(f"{'rows':>8}{'columns':>9}{'boosting':>10}{'shared':>10}")
    for n, d in SHAPES:
        times = compare(n, d)
        print(f"{n:>8}{d:>9}{times['boosting']:>10}{times['shared']:>10}")
        found.append({"rows": n, "columns": d, "milliseconds": times})
    if options.store:
        result = {"day": date.today().isoformat(), "machine": machine.describe(), "shapes": found}
        RESULTS.write_text(json.dumps({"leaf_growth": result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
