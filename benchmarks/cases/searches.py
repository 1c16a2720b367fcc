"""Searches for settings over the grids that scikit-learn's gallery tries, each library with its own estimators."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

from benchmarks.case import Agreement, Case, Contestant, Data, scaled


def make(load: Callable[..., Any], scale: float) -> dict[str, np.ndarray]:
    """Rows of a bundled table in random order; the last fifth is for predictions."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[: scaled(len(X), scale, at_least=120)]
    X, y = X[order], y[order]
    cut = len(X) - len(X) // 5
    return {"X": X[:cut], "y": y[:cut], "X_test": X[cut:], "y_test": y[cut:]}


def fit(library: str, path: str, settings: dict[str, Any], grid: dict[str, Any], tool: Any, data: Data, threads: int):
    """Search with the estimator of a library; a name in `settings` begins with those of a pipeline's steps."""
    module, _, name = path.rpartition(".")
    estimator = getattr(import_module(f"{library}.{module}"), name)(**settings)
    if name == "LogisticRegression":
        from sklearn.pipeline import Pipeline

        scaler = import_module(f"{library}.preprocessing").StandardScaler()
        estimator = Pipeline([("scale", scaler), ("model", estimator)])
    return tool(estimator, grid, n_jobs=threads).fit(data["X"], data["y"])


def solution(search: Any) -> dict[str, np.ndarray]:
    return {"score": np.array([search.best_score_])}


def predict(search: Any, rows: np.ndarray) -> np.ndarray:
    return search.predict(rows)


def quality(answer: Data, data: Data) -> dict[str, float]:
    """The best mean score of the search."""
    return {"score": float(answer["score"][0])}


# Name, title, table, estimator, its settings, grid.
_SEARCHES: tuple[tuple[str, str, Any, str, dict[str, Any], dict[str, Any]], ...] = (
    (
        "svc_iris",
        "RBF SVC on iris, 4 values of C and 3 of gamma",
        load_iris,
        "svm.SVC",
        {},
        {"C": [0.1, 1, 10, 100], "gamma": [0.01, 0.1, 1]},
    ),
    (
        "svc_digits",
        "RBF SVC on digits, 3 values of C and 2 of gamma",
        load_digits,
        "svm.SVC",
        {},
        {"C": [1, 10, 100], "gamma": [1e-3, 1e-4]},
    ),
    (
        "ridge",
        "ridge regression on diabetes, 30 penalties",
        load_diabetes,
        "linear_model.Ridge",
        {},
        {"alpha": np.logspace(-4, 4, 30)},
    ),
    (
        "lasso",
        "lasso on diabetes, 30 penalties",
        load_diabetes,
        "linear_model.Lasso",
        {"max_iter": 10_000},
        {"alpha": np.logspace(-4, -0.5, 30)},
    ),
    (
        "logistic",
        "scaler and logistic regression on breast cancer, 13 penalties",
        load_breast_cancer,
        "linear_model.LogisticRegression",
        {"max_iter": 1000},
        {"model__C": np.logspace(-3, 3, 13)},
    ),
    (
        "forest",
        "random forest on breast cancer, 5 numbers of trees",
        load_breast_cancer,
        "ensemble.RandomForestClassifier",
        {"random_state": 0},
        {"n_estimators": [10, 20, 50, 100, 200]},
    ),
    (
        "boosting",
        "boosting by histograms on breast cancer, 4 numbers of rounds",
        load_breast_cancer,
        "ensemble.HistGradientBoostingClassifier",
        {"random_state": 0},
        {"max_iter": [25, 50, 100, 200]},
    ),
)


def _make_case(name: str, title: str, load: Any, path: str, settings: dict[str, Any], grid: dict[str, Any]) -> Case:
    contestants = tuple(
        Contestant(
            library,
            f"{library}.model_selection.GridSearchCV",
            partial(fit, library, path, settings, grid),
            solution,
            predict,
        )
        for library in ("mercer", "sklearn")
    )
    # Trees and solvers of the two libraries differ, and their scores by some rows of a fold.
    return Case(
        f"search_{name}",
        f"five folds of {title}",
        partial(make, load),
        contestants,
        quality,
        Agreement("score", "higher", 2e-2),
    )


CASES = tuple(_make_case(*one) for one in _SEARCHES)
