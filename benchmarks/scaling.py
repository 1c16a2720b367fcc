"""Measure how forests scale over threads: fit and prediction, and the same bits whatever their number. Run by hand:

    python -m benchmarks.scaling                        100 trees on 100 000 x 30; threads 1, 2, 4, 8, 16
    python -m benchmarks.scaling --rows 20000 --trees 20 --threads 1,2      a rehearsal

Prints a table; writes scaling.json into the folder that the variable OUT names, if it is set.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from benchmarks.cases.trees import make_classes
from mercer.ensemble import ExtraTreesClassifier, RandomForestClassifier

ROWS = 100_000
# Predictions are short: the best of a few.
REPEATS = 3


def seconds_of(work, repeats=1):
    """The shortest of a few runs in seconds of the clock, its seconds of all cores, and what the work returned."""
    best = (np.inf, 0.0, None)
    for _ in range(repeats):
        begin, used = time.perf_counter(), time.process_time()
        found = work()
        best = min(best, (time.perf_counter() - begin, time.process_time() - used, found), key=lambda run: run[0])
    return best


def measure(kind, data, trees, threads):
    """Fit and predict with each number of threads; a row for each."""
    rows, first = [], None
    for count in threads:
        model = kind(trees, random_state=0, n_jobs=count)
        fit, fit_cores, _ = seconds_of(lambda model=model: model.fit(data["X"], data["y"]))
        model.predict_proba(data["X_test"][:1000])
        predict, _, found = seconds_of(lambda model=model: model.predict_proba(data["X"]), REPEATS)
        first = found if first is None else first
        row = {"model": kind.__name__, "threads": count, "fit": fit, "fit_cores": fit_cores, "predict": predict}
        row["same_bits"] = bool(np.array_equal(found, first))
        base = rows[0] if rows else row
        row |= {"fit_gain": base["fit"] / fit, "predict_gain": base["predict"] / predict}
        rows.append(row)
        told = f"fit {fit:7.2f} s ({fit_cores:6.1f} of cores, {row['fit_gain']:5.2f}x)"
        told += f"   predict {1e3 * predict:8.1f} ms ({row['predict_gain']:5.2f}x)   same bits {row['same_bits']}"
        print(f"{row['model']:<24} {count:>3} threads   {told}", flush=True)
    return rows


def main():
    """Measure both forests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--threads", default="1,2,4,8,16")
    given = parser.parse_args()
    threads = [int(count) for count in given.threads.split(",")]
    data = make_classes(given.rows / ROWS)
    # The first fit of a process pays for its threads and its code.
    RandomForestClassifier(2, n_jobs=max(threads)).fit(data["X"][:2000], data["y"][:2000])
    kinds = RandomForestClassifier, ExtraTreesClassifier
    rows = [row for kind in kinds for row in measure(kind, data, given.trees, threads)]
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "scaling.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
