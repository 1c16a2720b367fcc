"""How often bounds on the error of fitted classifiers fail, over thousands of simulated tables.

    python -m benchmarks.bound_violations [--tables 1000] [--store]

Each table has few rows of a known source; the error of a fitted classifier follows from its disagreement with the best
rule on 4000 further rows, whose standard error is below 0.004. A bound promises to fail in at most a share delta of the
tables. ``--store`` writes ``benchmarks/results/bound_violations.json``. The program ends
with an error if a bound fails more often than delta explains.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom
from sklearn import svm as peer
from sklearn.linear_model import LogisticRegression as SkLogistic
from sklearn.tree import DecisionTreeClassifier as SkTree

from benchmarks import machine
from mercer.ensemble import AdaBoostClassifier
from mercer.linear_model import LogisticRegression
from mercer.neighbors import KNeighborsClassifier
from mercer.svm import SVC, LinearSVC
from mercer.theory import bounds
from mercer.tree import DecisionTreeClassifier

RESULTS = Path(__file__).parent / "results" / "bound_violations.json"
# Rows of a table, rows held out, and rows that give the error.
ROWS, HELD_OUT, FRESH = 100, 50, 4000
# The share of labels that are turned over: the least error.
FLIPPED = 0.1
# The probability of failure that is asked for: large, so that a bound which is too small is seen.
DELTA = 0.2
# The chance that a bound which keeps its promise is called broken.
CHANCE = 1e-6
MODELS: dict[str, Callable[[], Any]] = {
    "LogisticRegression": LogisticRegression,
    "SVC, gaussian": lambda: SVC(gamma=0.5),
    "SVC, linear": lambda: SVC(kernel="linear"),
    "LinearSVC": lambda: LinearSVC(loss="hinge", C=1e-3),
    "DecisionTreeClassifier, one split": lambda: DecisionTreeClassifier(max_depth=1),
    "DecisionTreeClassifier, four leaves": lambda: DecisionTreeClassifier(max_leaf_nodes=4),
    "AdaBoostClassifier": lambda: AdaBoostClassifier(n_estimators=3),
    "KNeighborsClassifier": lambda: KNeighborsClassifier(3),
    "scikit-learn's LogisticRegression": SkLogistic,
    "scikit-learn's SVC": lambda: peer.SVC(gamma=0.5),
    "scikit-learn's DecisionTreeClassifier": lambda: SkTree(max_leaf_nodes=4),
}


def draw(random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose first column gives the label, some labels turned over."""
    X = random.normal(size=(n, 2))
    return X, (X[:, 0] > 0.2) ^ (random.random(n) < FLIPPED)


def count_failures(make: Callable[[], Any], n_tables: int) -> dict[str, dict[str, float]]:
    """Return for each bound how often it was given, how often it failed, and by how much it lay above the error."""
    found: dict[str, dict[str, float]] = {}
    for number, child in enumerate(np.random.SeedSequence(21).spawn(n_tables)):
        random = np.random.default_rng(child)
        X, y = draw(random, ROWS)
        model = make().fit(X, y)
        held_out, truth = draw(random, HELD_OUT)
        table = bounds(model, X, y, X_held_out=held_out, y_held_out=truth, delta=DELTA, random_state=number)
        fresh = draw(random, FRESH)[0]
        wrong = float(np.mean(model.predict(fresh) != (fresh[:, 0] > 0.2)))
        # Where it agrees with the best rule it errs on the labels that are turned over, else on the others.
        error = FLIPPED + (1.0 - 2.0 * FLIPPED) * wrong
        for bound in table.bounds:
            one = found.setdefault(bound.name, {"tables": 0, "failures": 0, "excess": 0.0})
            one["tables"] += 1
            one["failures"] += int(error > bound.value)
            one["excess"] += bound.value - error
    for one in found.values():
        one["excess"] = round(one["excess"] / one["tables"], 4)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1000, help="simulated tables of each model")
    parser.add_argument("--store", action="store_true", help="write the result")
    options = parser.parse_args()
    found, broken = {}, []
    for name, make in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = count_failures(make, options.tables)
        for bound, one in sorted(found[name].items()):
            share = one["failures"] / one["tables"]
            print(f"{name:<40}{bound:<24}{share:>8.4f} of {DELTA}   above the error by {one['excess']:.3f}", flush=True)
            if one["failures"] > binom.isf(CHANCE, int(one["tables"]), DELTA):
                broken.append(f"{bound} of {name}")
    if options.store:
        result = {"day": date.today().isoformat(), "machine": machine.describe(), "delta": DELTA, "rows": ROWS}
        RESULTS.write_text(json.dumps({"bound_violations": result | {"models": found}}, indent=1) + "\n")
    if broken:
        raise SystemExit(f"Bounds fail more often than they promise: {', '.join(broken)}")


if __name__ == "__main__":
    main()
