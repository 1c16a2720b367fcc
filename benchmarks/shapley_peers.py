"""Shapley values of forests beside shap and shapiq: the same numbers, and CPU seconds on one thread.

    python -m benchmarks.shapley_peers [--store]

Every contestant explains the same rows of the same forest of scikit-learn in one process, one after the other, at best
of some repeats; what it builds before the first row counts too, since a call of mercer builds it. A contestant that
would take minutes explains the first rows only, and its seconds are given for each row. ``--store`` writes
``benchmarks/results/shapley_peers.json``. shap and shapiq need not be installed: what is absent is left out.
"""

import argparse
import importlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from benchmarks import machine
from mercer.explain import shapley

RESULTS = Path(__file__).parent / "results" / "shapley_peers.json"
# Runs of each contestant, of which the least counts.
REPEATS = 3


@dataclass(frozen=True)
class Task:
    """A forest, the rows to explain, those that a slow contestant explains, and the background rows of the game."""

    name: str
    trees: int
    depth: int | None
    rows: int
    few: int
    background: int = 0


TASKS = (
    Task("path-dependent, 500 trees of depth 8", 500, 8, 10_000, 200),
    Task("path-dependent, 100 trees of depth 6", 100, 6, 2_000, 200),
    Task("path-dependent, 10 trees to their last rows", 10, None, 1_000, 50),
    Task("interventional, 100 trees of depth 6, 100 background rows", 100, 6, 200, 20, 100),
    Task("interventional, 100 trees of depth 8, 100 background rows", 100, 8, 200, 20, 100),
)


def make(task: Task) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return the forest, the rows and the background."""
    random = np.random.default_rng(0)
    X = random.normal(size=(max(task.rows, 2000), 20))
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + X[:, 3] + 0.1 * random.normal(size=len(X))
    forest = RandomForestRegressor(task.trees, max_depth=task.depth, max_features=6, random_state=0, n_jobs=1)
    background = random.normal(size=(task.background, 20)) if task.background else None
    return forest.fit(X, y), X[: task.rows], background


def explain(model: Any, X: np.ndarray, background: np.ndarray | None) -> np.ndarray:
    """Explain by mercer."""
    found = shapley(model, X, background, n_jobs=1, method="trees")
    return np.asarray(found.values)


def explain_by_shap(model: Any, X: np.ndarray, background: np.ndarray | None) -> np.ndarray:
    """Explain by shap's TreeExplainer."""
    tool = importlib.import_module("shap").TreeExplainer
    game = "tree_path_dependent" if background is None else "interventional"
    return np.asarray(tool(model, background, feature_perturbation=game).shap_values(X, check_additivity=False))


def explain_by_shapiq(model: Any, X: np.ndarray, background: np.ndarray | None) -> np.ndarray | None:
    """Explain by shapiq's TreeExplainer, row by row; it plays the path-dependent game alone."""
    if background is not None:
        return None
    tool = importlib.import_module("shapiq").TreeExplainer(model=model, max_order=1, min_order=1, index="SV")
    values = np.zeros(X.shape)
    for row, x in enumerate(X):
        for players, value in tool.explain(x).dict_values.items():
            if len(players) == 1:
                values[row, players[0]] = value
    return values


CONTESTANTS: dict[str, Callable[..., np.ndarray | None]] = {
    "mercer": explain,
    "shap": explain_by_shap,
    "shapiq": explain_by_shapiq,
}


def run(task: Task) -> dict[str, Any]:
    """Return the seconds of each contestant for a row, and its largest difference from mercer's values."""
    model, X, background = make(task)
    found: dict[str, Any] = {}
    truth = explain(model, X, background)
    for name, ask in CONTESTANTS.items():
        rows = X if name == "mercer" else X[: task.few]
        try:
            ask(model, X[:1], background)
            times = []
            for _ in range(REPEATS):
                begun = time.process_time()
                values = ask(model, rows, background)
                times.append(time.process_time() - begun)
        except ModuleNotFoundError:
            continue
        if values is None:
            continue
        difference = float(np.abs(values - truth[: len(rows)]).max())
        found[name] = {
            "milliseconds_a_row": round(1e3 * min(times) / len(rows), 4),
            "rows": len(rows),
            "largest_difference": float(f"{difference:.2g}"),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="store_true", help="write the result")
    options = parser.parse_args()
    found = {}
    for task in TASKS:
        found[task.name] = run(task)
        for name, one in found[task.name].items():
            times = one["milliseconds_a_row"] / found[task.name]["mercer"]["milliseconds_a_row"]
            print(
                f"{task.name:<60}{name:<8}{one['milliseconds_a_row']:>10.3f} ms a row, {times:>7.1f}x mercer's, "
                f"differs by {one['largest_difference']:g}",
                flush=True,
            )
    if options.store:
        versions = {name: metadata.version(name) for name in CONTESTANTS if name in found[TASKS[0].name]}
        result = {"day": date.today().isoformat(), "machine": machine.describe(), "versions": versions}
        RESULTS.write_text(json.dumps({"shapley_peers": result | {"tasks": found}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
