"""Boosted trees on 1, 2, 4, 8 and 16 threads of one machine. Run by hand:

    python -m benchmarks.boosting_scaling                         500 000 rows of 30 numbers, 100 rounds of 31 leaves
    python -m benchmarks.boosting_scaling --peers                 LightGBM and XGBoost beside, where they are installed
    python -m benchmarks.boosting_scaling --rows 20000 --threads 1 2
    python -m benchmarks.boosting_scaling --pieces                milliseconds of each piece of a round's work instead

A row of the table has the seconds of a whole fit, those of one round (from fits of two lengths), how many times faster
than the first row the fit is, and a digest of what it predicts: equal bits on any number of threads. Writes
boosting_scaling.json into the folder that the variable OUT names, if it is set.
"""

import argparse
import collections
import hashlib
import importlib.util
import itertools
import json
import os
import time
from pathlib import Path

from benchmarks.cases.boosting import make_labels
from mercer.ensemble._histogram.workers import Workers

COLUMNS = 30
# In the order of their numbers in leaves.pxd.
PIECES = ("root", "split", "child", "columns", "scores")
PEERS = {
    "lightgbm": ("LGBMClassifier", {"num_leaves": 31, "verbose": -1}, "n_estimators"),
    "xgboost": (
        "XGBClassifier",
        {"max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "learning_rate": 0.1, "tree_method": "hist"},
        "n_estimators",
    ),
}
OURS = {"mercer.ensemble": ("HistGradientBoostingClassifier", {"early_stopping": False}, "max_iter")}


def fit(module, rounds, threads, data):
    """A fitted model, and how long that took."""
    name, options, length = (OURS | PEERS)[module]
    tool = getattr(importlib.import_module(module), name)
    model = tool(n_jobs=threads, random_state=0, **options, **{length: rounds})
    start = time.perf_counter()
    model.fit(data["X"], data["y"])
    return model, time.perf_counter() - start


def measure(module, threads, rounds, data):
    """One row of the table."""
    _, first = fit(module, 1, threads, data)
    model, seconds = fit(module, rounds, threads, data)
    start = time.perf_counter()
    predicted = model.predict_proba(data["X_test"])
    return {
        "tool": module.split(".")[0],
        "threads": threads,
        "seconds": seconds,
        "round_ms": 1e3 * (seconds - first) / max(rounds - 1, 1),
        "first_round_s": first,
        "predict_ms": 1e3 * (time.perf_counter() - start),
        "digest": hashlib.sha256(predicted.tobytes()).hexdigest()[:12],
    }


def measure_pieces(threads, rounds, data):
    """Milliseconds of a round by piece of work, and those in between, during which only the leader works."""
    found, ends, finish = collections.Counter(), [], Workers.finish

    def timed(team):
        start = time.perf_counter()
        finish(team)
        end = time.perf_counter()
        found[PIECES[team.piece[0]]] += 1e3 * (end - start) / rounds
        found["between"] += 1e3 * (start - ends[-1]) / rounds if ends else 0.0
        ends.append(end)

    Workers.finish = timed
    try:
        fit("mercer.ensemble", rounds, threads, data)
    finally:
        Workers.finish = finish
    return found


def print_pieces(options, data):
    """A row for each number of threads."""
    print("threads  grain", *(f"{name:>8}" for name in (*PIECES, "between")), flush=True)
    for threads, grain in itertools.product(options.threads, options.grain):
        Workers.grain = grain
        row = measure_pieces(threads, options.rounds, data)
        print(f"{threads:7} {grain:6}", *(f"{row[name]:8.3f}" for name in (*PIECES, "between")), flush=True)


def tools(peers):
    """The modules to measure: ours, and those of the peers that are installed."""
    return [*OURS, *(name for name in PEERS if peers and importlib.util.find_spec(name))]


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--pieces", action="store_true")
    parser.add_argument("--grain", type=int, nargs="+", default=[Workers.grain], help="least pairs of words in an item")
    options = parser.parse_args()
    data = make_labels(1.0, options.rows, COLUMNS)
    if options.pieces:
        print_pieces(options, data)
        return
    table = []
    print("tool      threads  seconds  round ms  first s  predict ms  faster  digest", flush=True)
    for module in tools(options.peers):
        # The first fit of a process loads code and starts threads.
        fit(module, 1, max(options.threads), {"X": data["X"][:1000], "y": data["y"][:1000]})
        begin = len(table)
        for threads in options.threads:
            row = measure(module, threads, options.rounds, data)
            table.append(row)
            faster = table[begin]["seconds"] / row["seconds"]
            print(
                f"{row['tool']:9} {threads:7} {row['seconds']:8.3f} {row['round_ms']:9.2f} {row['first_round_s']:8.3f} "
                f"{row['predict_ms']:11.1f} {faster:7.2f}  {row['digest']}",
                flush=True,
            )
    if os.environ.get("OUT"):
        Path(os.environ["OUT"], "boosting_scaling.json").write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
