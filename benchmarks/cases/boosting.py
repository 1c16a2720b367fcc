"""Boosted trees: 100 rounds of 31 leaves at the rate 0.1, mercer beside scikit-learn, LightGBM and XGBoost."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import log_loss, r2_score

from benchmarks.case import Agreement, Case, Contestant, Data, scaled

_TEST = 20_000


def make_labels(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Return rows of two classes, and as many as it takes to test."""
    n = scaled(rows, scale)
    X, y = make_classification(n + _TEST, columns, n_informative=15, n_redundant=5, random_state=0)
    return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def make_numbers(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Return Friedman's function of five columns with noise, and columns that say nothing."""
    n = scaled(rows, scale)
    X, y = make_friedman1(n + _TEST, columns, noise=1.0, random_state=0)
    return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def fit(tool: Any, data: Data, threads: int, options: dict[str, Any]) -> tuple[Any, np.ndarray]:
    return tool(n_jobs=threads, **options).fit(data["X"], data["y"]), data["X_test"]


def fit_scikit(tool: Any, data: Data, threads: int, options: dict[str, Any]) -> tuple[Any, np.ndarray]:
    return tool(**options).fit(data["X"], data["y"]), data["X_test"]


def answer(model: Any, rows: np.ndarray) -> np.ndarray:
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)


def predict(model: tuple[Any, np.ndarray], rows: np.ndarray) -> np.ndarray:
    return answer(model[0], rows)


def solution(model: tuple[Any, np.ndarray]) -> dict[str, np.ndarray]:
    return {"predicted": answer(*model)}


def label_quality(found: Any, data: Data) -> dict[str, float]:
    chosen = found["predicted"].argmax(axis=1)
    return {
        "log_loss": float(log_loss(data["y_test"], found["predicted"])),
        "accuracy": float(np.mean(chosen == data["y_test"])),
    }


def number_quality(found: Any, data: Data) -> dict[str, float]:
    return {"r2": float(r2_score(data["y_test"], found["predicted"]))}


def contestants(kind: str) -> tuple[Contestant, ...]:
    histogram = {"max_iter": 100, "early_stopping": False, "random_state": 0}
    light = {"n_estimators": 100, "num_leaves": 31, "verbose": -1, "random_state": 0}
    extreme = {"n_estimators": 100, "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "learning_rate": 0.1}
    entries = (
        ("mercer", f"mercer.ensemble.HistGradientBoosting{kind}", fit, histogram),
        ("sklearn", f"sklearn.ensemble.HistGradientBoosting{kind}", fit_scikit, histogram),
        ("lightgbm", f"lightgbm.LGBM{kind}", fit, light),
        ("xgboost", f"xgboost.XGB{kind}", fit, extreme | {"tree_method": "hist"}),
    )
    return tuple(
        Contestant(name, path, partial(how, options=options), solution, predict) for name, path, how, options in entries
    )


CASES = (
    Case(
        "boosting_binary",
        "boosted trees, 500 000 x 30, two classes, 100 rounds of 31 leaves",
        partial(make_labels, rows=500_000, columns=30),
        contestants("Classifier"),
        label_quality,
        Agreement("log_loss", "lower", 2e-2),
    ),
    Case(
        "boosting_regression",
        "boosted trees, 300 000 x 30, Friedman's function, 100 rounds of 31 leaves",
        partial(make_numbers, rows=300_000, columns=30),
        contestants("Regressor"),
        number_quality,
        Agreement("r2", "higher", 2e-2),
    ),
)
