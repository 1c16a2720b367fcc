"""Classes that mercer and scikit-learn both have: what they are fitted to, how both are timed, how times are shown."""

import argparse
import importlib
import inspect
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.machine import describe, thread_environment, versions

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("mercer", "sklearn")
# Repeats where they use the budget up: the best of three.
FEWEST = 3
# Repeats that find the best of what takes microseconds.
MOST = 300
# A pair of calls that takes longer than this many seconds is measured once: its ratio does not hang on noise.
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


def make_small_table(name: str, family: str, rows: int, columns: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return what a class is fitted to: rows, and labels, numbers or a second table where it takes them."""
    draws = np.random.default_rng(seed)
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
    elif name == "IsotonicRegression":
        X = X[:, :1]
    elif name in ("MultinomialNB", "ComplementNB", "NMF", "MiniBatchNMF", "LatentDirichletAllocation"):
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


def make_estimator(library: str, family: str, name: str, **others: Any) -> Any:
    """Return an estimator of a library with default parameters, or with those it requires and `others`."""
    parameters: dict[str, Any] = REQUIRED.get(name, {}) | others
    if "estimators" in parameters:
        paths = [path.split(".") for path in parameters["estimators"]]
        parameters["estimators"] = [(member, make_estimator(library, module, member)) for module, member in paths]
    return getattr(importlib.import_module(f"{library}.{family}"), name)(**parameters)


Timer = Callable[[str], tuple[float, float]]


def time_in_turns(time_once: Timer, budget: float, first: float) -> dict[str, dict[str, float]]:
    """Return the best milliseconds of each library, by processor time and by the clock.

    The libraries take turns, so that both meet the same load; what other processes do adds to some repeats and not to
    the best of them. `time_once` returns the seconds of a library, `budget` is in processor seconds for both together,
    and `first` tells the seconds that both took before, in a call that was not counted.
    """
    best = {library: [float("inf"), float("inf")] for library in LIBRARIES}
    begun, repeats = time.process_time(), 0
    while repeats < MOST and (repeats < FEWEST or time.process_time() - begun < budget):
        for library in LIBRARIES:
            best[library] = [min(pair) for pair in zip(best[library], time_once(library), strict=True)]
        repeats += 1
        if first > LONG:
            break
    return {library: {"cpu": 1e3 * cpu, "wall": 1e3 * wall} for library, (cpu, wall) in best.items()}


def average_ratio(rows: list[dict[str, Any]], size: str, clock: str = "cpu") -> float:
    """Return the geometric mean over rows of scikit-learn's time over mercer's: above 1 is faster."""
    times = [row[size] for row in rows if size in row]
    return exp(fmean(log(pair["sklearn"][clock] / pair["mercer"][clock]) for pair in times))


def pair_table(result: dict[str, Any], things: str, title: str, name: Callable[[Any], str]) -> str:
    """Return a Markdown table: the milliseconds of both libraries and their ratio at each size, one line per row.

    `things` is the key of the rows in the result, and says what they are; `name` gives the first cell of a row. Sizes
    at which a row was not measured have empty cells.
    """
    rows, sizes, hardware = result[things], result["sizes"], result["hardware"]
    lines = [
        f"{title}; best processor time, ms; {result['date']}, {hardware['processor']}, scikit-learn "
        f"{result['versions']['scikit-learn']}",
        "",
        "A ratio is scikit-learn's time over mercer's: above 1, mercer is faster.",
        "",
        "| class | " + " | ".join(f"{size}: mercer | scikit-learn | ratio" for size in sizes) + " |",
        "|" + " --- |" * (1 + 3 * len(sizes)),
    ]
    for row in rows:
        cells = [name(row)]
        for size in sizes:
            if size not in row:
                cells += ["", "", ""]
                continue
            ours, theirs = row[size]["mercer"]["cpu"], row[size]["sklearn"]["cpu"]
            cells += [f"{ours:.3g}", f"{theirs:.3g}", f"{theirs / ours:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    for size in sizes:
        measured = [row for row in rows if size in row]
        if not measured:
            continue
        slower = [name(row) for row in measured if row[size]["mercer"]["cpu"] > row[size]["sklearn"]["cpu"]]
        lines.append(
            f"- {size}: geometric mean {average_ratio(measured, size):.2f} by processor time, "
            f"{average_ratio(measured, size, 'wall'):.2f} by the clock; slower in {len(slower)} of {len(measured)} "
            + (f"{things} ({', '.join(slower)})" if slower else things)
        )
    return "\n".join([*lines, ""])


def measure_classes(
    module: str,
    sizes: list[str],
    measure: Callable[[str, str], list[dict[str, Any]]],
    store: tuple[str, Path],
    table: Callable[[dict[str, Any]], str],
    arguments: list[str] | None = None,
) -> None:
    """Run the command line of a comparison: measure all classes and store them, or some and print them.

    `module` names the program, `measure(name, family)` returns the rows of a class, and `store` holds the key of the
    rows in the result and its file.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--only", help="classes, as KMeans,PCA; the result is printed and not stored")
    parser.add_argument("--output", type=Path, help="file for the result (default benchmarks/results)")
    parser.add_argument("--child", nargs="+", metavar=("FAMILY", "CLASS"))
    given = parser.parse_args(arguments)
    if given.child:
        _measure_here(measure, *given.child)
        return
    wanted = given.only.split(",") if given.only else None
    classes = {name: family for name, family in find_classes().items() if wanted is None or name in wanted}
    rows = []
    for family in dict.fromkeys(classes.values()):
        rows += _measure_apart(module, family, [name for name, own in classes.items() if own == family])
        print(family, file=sys.stderr, flush=True)
    key, path = store
    result = {"date": datetime.now(UTC).date().isoformat(), "hardware": describe(), "versions": versions()}
    result |= {"sizes": sizes, key: rows}
    print(table(result))
    if given.output is not None or wanted is None:
        (given.output or path).write_text(json.dumps(result, indent=1) + "\n")


def _measure_here(measure: Callable[[str, str], list[dict[str, Any]]], family: str, *names: str) -> None:
    """Measure classes in this process, on one core, and print the rows as JSON."""
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    print(json.dumps([row for name in names for row in measure(name, family)]))


def _measure_apart(module: str, family: str, names: list[str]) -> list[dict[str, Any]]:
    """Measure the classes of a family in a process of its own, held to one thread.

    A process for each class would spend two of four minutes on imports.
    """
    arguments = [sys.executable, "-m", module, "--child", family, *names]
    environment = os.environ | thread_environment(1)
    run = subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{family}: {run.stderr[-2000:]}")
    return json.loads(run.stdout.splitlines()[-1])
