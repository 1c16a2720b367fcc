"""Fits of small tables: every class that scikit-learn has too, with its defaults, on one thread.

``python -m benchmarks.small_fits`` measures all of them and stores ``benchmarks/results/small_fits_all.json``;
``python -m benchmarks.small_fits --only KMeans,PCA`` prints some. ``python -m benchmarks --report`` renders the table.
"""

import argparse
import importlib
import inspect
import json
import os
import subprocess
import sys
import time
import warnings
from datetime import UTC, datetime
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.machine import describe, thread_environment, versions

__all__ = ["average_ratio", "find_classes", "main", "make_small_table", "measure_class", "small_fits_table"]

ROOT = Path(__file__).resolve().parents[1]
RESULT = Path(__file__).parent / "results" / "small_fits_all.json"
# Rows and columns.
SIZES = ((50, 3), (150, 8), (1000, 20))
LIBRARIES = ("mercer", "sklearn")
# Processor seconds for the repeats of one class at one size, both libraries together.
BUDGET = 0.25
# Repeats of fits that use the budget up: the best of three.
FEWEST = 3
# Repeats that find the best of fits of microseconds.
MOST = 300
# A pair of fits that takes longer than this many seconds is measured once: its ratio does not hang on noise.
LONG = 1.0
# Parameters of classes that have no default for them, or whose default these sizes do not allow.
REQUIRED: dict[str, dict[str, Any]] = {
    "VotingClassifier": {"estimators": ("naive_bayes.GaussianNB", "linear_model.LogisticRegression")},
    "VotingRegressor": {"estimators": ("linear_model.Ridge", "linear_model.LinearRegression")},
    "StackingClassifier": {"estimators": ("naive_bayes.GaussianNB", "linear_model.LogisticRegression")},
    "StackingRegressor": {"estimators": ("linear_model.Ridge", "linear_model.LinearRegression")},
    "GaussianRandomProjection": {"n_components": 2},
    "SparseRandomProjection": {"n_components": 2},
}
# Transformers that learn from labels.
LABELLED = ("NeighborhoodComponentsAnalysis",)
# Classes with a table of targets.
PAIRED = ("CCA", "PLSCanonical", "PLSRegression", "PLSSVD")


def find_classes() -> dict[str, str]:
    """Return the family of every class with ``fit`` that mercer and scikit-learn export under one name."""
    from mercer._families import FAMILIES

    classes = {}
    for family in FAMILIES:
        try:
            theirs = importlib.import_module(f"sklearn.{family}")
        except ModuleNotFoundError:
            continue
        ours = importlib.import_module(f"mercer.{family}")
        for name in ours.__all__:
            both = [getattr(module, name, None) for module in (ours, theirs)]
            if all(inspect.isclass(thing) and hasattr(thing, "fit") for thing in both):
                classes[name] = family
    return classes


def make_small_table(name: str, family: str, rows: int, columns: int) -> tuple[np.ndarray, ...]:
    """Return what a class is fitted to: rows, and labels, numbers or a second table where it takes them."""
    draws = np.random.default_rng(0)
    X: Any = draws.normal(size=(rows, columns))
    numbers = X[:, 0] + 0.5 * X[:, 1] + 0.3 * draws.normal(size=rows)
    if name in PAIRED:
        return X, X[:, :3] + draws.normal(size=(rows, 3))
    if name == "KernelCenterer":
        return (X @ X.T,)
    if name in ("BernoulliNB", "BernoulliRBM"):
        X = (X > 0).astype(float)
    elif name == "CategoricalNB":
        X = np.digitize(X, [-1.0, 0.0, 1.0])
    elif name in ("MultinomialNB", "ComplementNB", "NMF", "MiniBatchNMF"):
        X = np.abs(X)
    tool = getattr(importlib.import_module(f"mercer.{family}"), name)
    kind = "classifier" if name in LABELLED else _kind(tool)
    if kind is None:
        return (X,)
    return (X, (numbers > 0).astype(int) if kind == "classifier" else numbers)


def _kind(tool: Any) -> str | None:
    from sklearn.base import ClassifierMixin, RegressorMixin

    kinds = {ClassifierMixin: "classifier", RegressorMixin: "regressor"}
    return next((kind for mixin, kind in kinds.items() if issubclass(tool, mixin)), None)


def _make(library: str, family: str, name: str) -> Any:
    """Return an estimator of a library with default parameters, or with those it requires."""
    parameters: dict[str, Any] = dict(REQUIRED.get(name, {}))
    if "estimators" in parameters:
        paths = [path.split(".") for path in parameters["estimators"]]
        parameters["estimators"] = [(member, _make(library, module, member)) for module, member in paths]
    return getattr(importlib.import_module(f"{library}.{family}"), name)(**parameters)


def measure_class(name: str, family: str, sizes: tuple[tuple[int, int], ...] = SIZES) -> dict[str, Any]:
    """Return the best milliseconds of a fit in each library at each size, by processor time and by the clock.

    The libraries take turns, so that both meet the same load; what other processes do adds to some repeats and not to
    the best of them. The first fit of each is not counted: it imports and opens pools.
    """
    record: dict[str, Any] = {"class": name, "family": family}
    for rows, columns in sizes:
        table = make_small_table(name, family, rows, columns)
        best = {library: [float("inf"), float("inf")] for library in LIBRARIES}
        first = sum(_time_fit(library, family, name, table)[0] for library in LIBRARIES)
        begun, repeats = time.process_time(), 0
        while repeats < MOST and (repeats < FEWEST or time.process_time() - begun < BUDGET):
            for library in LIBRARIES:
                taken = _time_fit(library, family, name, table)
                best[library] = [min(pair) for pair in zip(best[library], taken, strict=True)]
            repeats += 1
            if first > LONG:
                break
        record[f"{rows} x {columns}"] = {
            library: {"cpu": 1e3 * cpu, "wall": 1e3 * wall} for library, (cpu, wall) in best.items()
        }
    return record


def _time_fit(library: str, family: str, name: str, table: tuple[np.ndarray, ...]) -> tuple[float, float]:
    """Return the seconds, of the processor and of the clock, that making an estimator and fitting it takes."""
    estimator = _make(library, family, name)
    cpu, wall = time.process_time(), time.perf_counter()
    estimator.fit(*table)
    return time.process_time() - cpu, time.perf_counter() - wall


def average_ratio(rows: list[dict[str, Any]], size: str, clock: str = "cpu") -> float:
    """Return the geometric mean over classes of scikit-learn's time over mercer's: above 1 is faster."""
    return exp(fmean(log(row[size]["sklearn"][clock] / row[size]["mercer"][clock]) for row in rows))


def small_fits_table(result: dict[str, Any]) -> str:
    """Return a Markdown table: the milliseconds of both libraries and their ratio, one row for each class."""
    rows, sizes = result["classes"], result["sizes"]
    hardware = result["hardware"]
    lines = [
        f"**small_fits_all**: fits with default parameters, one thread; best processor time, ms; {result['date']}, "
        f"{hardware['processor']}, scikit-learn {result['versions']['scikit-learn']}",
        "",
        "A ratio is scikit-learn's time over mercer's: above 1, mercer is faster.",
        "",
        "| class | " + " | ".join(f"{size}: mercer | scikit-learn | ratio" for size in sizes) + " |",
        "|" + " --- |" * (1 + 3 * len(sizes)),
    ]
    for row in rows:
        cells = [row["class"]]
        for size in sizes:
            ours, theirs = row[size]["mercer"]["cpu"], row[size]["sklearn"]["cpu"]
            cells += [f"{ours:.3g}", f"{theirs:.3g}", f"{theirs / ours:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    for size in sizes:
        slower = [row["class"] for row in rows if row[size]["mercer"]["cpu"] > row[size]["sklearn"]["cpu"]]
        lines.append(
            f"- {size}: geometric mean {average_ratio(rows, size):.2f} by processor time, "
            f"{average_ratio(rows, size, 'wall'):.2f} by the clock; slower in {len(slower)} of {len(rows)} classes"
            + (f" ({', '.join(slower)})" if slower else "")
        )
    return "\n".join([*lines, ""])


def _measure_apart(family: str, names: list[str]) -> list[dict[str, Any]]:
    """Run :func:`measure_class` for the classes of a family in a process of its own, held to one thread.

    A process for each class would spend two of four minutes on imports.
    """
    arguments = [sys.executable, "-m", "benchmarks.small_fits", "--child", family, *names]
    environment = os.environ | thread_environment(1)
    run = subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        message = f"{family}: {run.stderr[-2000:]}"
        raise RuntimeError(message)
    return json.loads(run.stdout.splitlines()[-1])


def main(arguments: list[str] | None = None) -> None:
    """Measure all classes and store them, or some and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_fits", description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="classes, as KMeans,PCA; the result is printed and not stored")
    parser.add_argument("--output", type=Path, help="file for the result (default benchmarks/results)")
    parser.add_argument("--child", nargs="+", metavar=("FAMILY", "CLASS"))
    given = parser.parse_args(arguments)
    if given.child:
        warnings.simplefilter("ignore")
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
        family, *names = given.child
        print(json.dumps([measure_class(name, family) for name in names]))
        return
    wanted = given.only.split(",") if given.only else None
    classes = {name: family for name, family in find_classes().items() if wanted is None or name in wanted}
    rows = []
    for family in dict.fromkeys(classes.values()):
        rows += _measure_apart(family, [name for name, own in classes.items() if own == family])
        print(family, file=sys.stderr, flush=True)
    sizes = [f"{rows} x {columns}" for rows, columns in SIZES]
    result: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": describe(),
        "versions": versions(),
    }
    result |= {"sizes": sizes, "classes": rows}
    print(small_fits_table(result))
    path = given.output or (RESULT if wanted is None else None)
    if path is not None:
        path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
