"""Explanations: Shapley values of a forest, of trees of depth eight and of trees grown to their last rows."""

import pickle
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from benchmarks.case import Agreement, Case, Contestant, Data, scaled


def make(scale: float, rows: int, trees: int, depth: int | None) -> dict[str, np.ndarray]:
    """Rows of 20 columns, and scikit-learn's forest fitted to them, as bytes."""
    random = np.random.default_rng(0)
    n = scaled(rows, scale, 200)
    X = random.normal(size=(max(n, 1000), 20))
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + X[:, 3] + 0.1 * random.normal(size=len(X))
    count = max(2, int(trees * scale))
    model = RandomForestRegressor(count, max_depth=depth, max_features=6, random_state=0, n_jobs=1).fit(X, y)
    return {"X": X[:n], "forest": np.frombuffer(pickle.dumps(model), np.uint8), "X_test": X[:100]}


def explain(tool: Any, data: Data, threads: int) -> tuple[Any, np.ndarray]:
    """Explain all rows by mercer; every contestant reads the forest from its bytes first."""
    model = pickle.loads(data["forest"].tobytes())
    return partial(tool, model, n_jobs=threads), tool(model, data["X"], n_jobs=threads).values


def explain_by_shap(tool: Any, data: Data, threads: int) -> tuple[Any, np.ndarray]:
    """The same by shap, which has one thread."""
    explainer = tool(pickle.loads(data["forest"].tobytes()), feature_perturbation="tree_path_dependent")
    return explainer.shap_values, explainer.shap_values(data["X"])


def measure(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean absolute value, and how far values are from adding up to the forest's answers."""
    model = pickle.loads(data["forest"].tobytes())
    sums = solution["values"].sum(axis=1) - model.predict(data["X"])
    return {"mean_value": float(np.abs(solution["values"]).mean()), "gap": float(np.ptp(sums))}


def contestant(name: str, path: str, fit: Any) -> Contestant:
    return Contestant(name, path, fit, lambda found: {"values": found[1]}, lambda found, rows: found[0](rows))


CONTESTANTS = (
    contestant("mercer", "mercer.explain.shapley", explain),
    contestant("shap", "shap.TreeExplainer", explain_by_shap),
)
AGREEMENT = Agreement("mean_value", "higher", 1e-6)
CASES = (
    Case(
        "explain_forest",
        "Shapley values of 10 000 rows, 500 trees of depth 8",
        partial(make, rows=10_000, trees=500, depth=8),
        CONTESTANTS,
        measure,
        AGREEMENT,
    ),
    Case(
        "explain_deep_trees",
        "Shapley values of 1 000 rows, 10 trees grown to their last rows",
        partial(make, rows=1_000, trees=10, depth=None),
        CONTESTANTS,
        measure,
        AGREEMENT,
    ),
)
