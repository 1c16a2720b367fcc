"""Decision trees and random forests, grown to the end; accuracy and log-loss on rows held back."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.case import Agreement, Case, Contestant, Data, scaled, split


def make_classes(scale: float) -> dict[str, np.ndarray]:
    """Draw 30 columns, 12 of them informative, of two classes, with one label in twenty at random."""
    test_rows = scaled(20_000, scale)
    X, y = make_classification(
        scaled(100_000, scale, 2_000) + test_rows,
        30,
        n_informative=12,
        n_redundant=4,
        flip_y=0.05,
        random_state=0,
    )
    return split(X, test_rows, y)


@dataclass(frozen=True)
class Grown:
    """A fitted model beside the rows that it is judged by."""

    model: Any
    rows: np.ndarray


def grow(tool: Any, data: Data, threads: int, **parameters: Any) -> Grown:
    """Fit a forest or a tree, with threads where it takes them."""
    model = tool(random_state=0, **parameters)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=threads)
    return Grown(model.fit(data["X"], data["y"]), data["X_test"])


def chances(grown: Grown) -> dict[str, np.ndarray]:
    return {"chances": np.asarray(grown.model.predict_proba(grown.rows))}


def predict(grown: Grown, rows: np.ndarray) -> Any:
    return grown.model.predict(rows)


def judged(solution: Data, data: Data) -> dict[str, float]:
    """The share of right decisions, and the mean log-loss with chances kept from zero."""
    found, y = np.clip(solution["chances"], 1e-3, 1.0), data["y_test"]
    own = found[np.arange(len(y)), y] / found.sum(axis=1)
    hits = np.argmax(solution["chances"], axis=1) == y
    return {"accuracy": float(np.mean(hits)), "log_loss": float(-np.mean(np.log(own)))}


def contestants(names: dict[str, str], **parameters: Any) -> tuple[Contestant, ...]:
    fit = partial(grow, **parameters)
    return tuple(Contestant(name, path, fit, chances, predict) for name, path in names.items())


TREE, FOREST = "tree.DecisionTreeClassifier", "ensemble.RandomForestClassifier"
EXTRA = "ensemble.ExtraTreesClassifier"
# oneDAL has no single tree: a forest of one, grown on all rows and all columns, is one. By default it cuts columns into
# 256 bins; a bin for each value makes its cuts those of all values, as the others' are.
ONE_TREE = {"n_estimators": 1, "bootstrap": False, "max_features": None}
EVERY_VALUE = {"max_bins": 100_000, "min_bin_size": 1}
CASES = (
    Case(
        "decision_tree",
        "one decision tree, 100 000 x 30, two classes, grown to the end",
        make_classes,
        (
            *contestants({"mercer": f"mercer.{TREE}", "sklearn": f"sklearn.{TREE}"}),
            *contestants({"sklearnex_binned": f"sklearnex.{FOREST}"}, **ONE_TREE),
            *contestants({"sklearnex_exact": f"sklearnex.{FOREST}"}, **ONE_TREE, **EVERY_VALUE),
        ),
        judged,
        Agreement("accuracy", "higher", 0.01),
    ),
    Case(
        "random_forest",
        "random forest of 100 trees, 100 000 x 30, two classes, sqrt(d) features",
        make_classes,
        contestants({"mercer": f"mercer.{FOREST}", "sklearn": f"sklearn.{FOREST}", "sklearnex": f"sklearnex.{FOREST}"}),
        judged,
        Agreement("log_loss", "lower", 0.02),
    ),
    Case(
        "extra_trees",
        "100 extremely randomised trees, 100 000 x 30, two classes, sqrt(d) features",
        make_classes,
        contestants({"mercer": f"mercer.{EXTRA}", "sklearn": f"sklearn.{EXTRA}"}),
        judged,
        Agreement("log_loss", "lower", 0.02),
    ),
)
