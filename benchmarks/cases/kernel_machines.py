"""Kernel support vector machines; the dual objective is recomputed here in float64 from coefficients.

LIBSVM is scikit-learn's; scikit-learn-intelex brings oneDAL's. All stop at a violation of 1e-3.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_friedman1

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split


def make_classes(scale: float) -> dict[str, np.ndarray]:
    """Two classes of three clusters each in 12 of 30 columns."""
    rows, test_rows = scaled(20_000, scale), scaled(5_000, scale)
    given = {"n_informative": 12, "n_redundant": 6, "n_clusters_per_class": 3, "class_sep": 0.9, "flip_y": 0.03}
    X, y = make_classification(rows + test_rows, 30, random_state=0, **given)
    return split((X - X.mean(axis=0)) / X.std(axis=0), test_rows, y)


def make_digits(scale: float) -> dict[str, np.ndarray]:
    """The digits over and over, under noise."""
    X, y = load_digits(return_X_y=True)
    rows, test_rows, random = scaled(8_000, scale, 1_000), scaled(2_000, scale), np.random.default_rng(0)
    chosen = random.integers(len(X), size=rows + test_rows)
    return split((X[chosen] + random.normal(0.0, 1.0, size=(len(chosen), 64))) / 16.0, test_rows, y[chosen])


def make_numbers(scale: float) -> dict[str, np.ndarray]:
    """Friedman's first problem."""
    rows, test_rows = scaled(6_000, scale), scaled(2_000, scale)
    X, y = make_friedman1(rows + test_rows, noise=1.0, random_state=0)
    return split(X, test_rows, y)


def make_one_class(scale: float) -> dict[str, np.ndarray]:
    """Normal rows, some of them far out."""
    rows, test_rows, random = scaled(20_000, scale), scaled(5_000, scale), np.random.default_rng(0)
    X = random.normal(size=(rows + test_rows, 10))
    return split(X * np.where(random.random(len(X)) < 0.05, 3.0, 1.0)[:, None], test_rows)


def solution(model: Any) -> dict[str, np.ndarray]:
    """Support vectors and coefficients; the predictions for test rows are left to accuracy."""
    parts = {"support": model.support_vectors_, "coefficients": model.dual_coef_, "intercept": model.intercept_}
    return {name: np.asarray(value, dtype=np.float64) for name, value in parts.items()} | {
        "indices": np.asarray(model.support_)
    }


def squared_norm(support: np.ndarray, b: np.ndarray, gamma: float) -> float:
    """b' K b, a tile of rows at a time."""
    squares, total = np.sum(support**2, axis=1), 0.0
    for first in range(0, len(b), 1000):
        part = slice(first, first + 1000)
        distances = squares[part, None] + squares - 2.0 * support[part] @ support.T
        total += b[part] @ np.exp(-gamma * np.maximum(distances, 0.0)) @ b
    return float(total)


def quality(found: Data, data: Data, gamma: float, kink: float = 0.0) -> dict[str, float]:
    """The dual objective, to be minimised, of machines with one set of coefficients; and their number."""
    b = found["coefficients"].ravel()
    objective = 0.5 * squared_norm(found["support"], b, gamma) + kink * float(np.sum(np.abs(b)))
    if "y" in data:
        y = data["y"].astype(np.float64)
        y = np.where(y > 0, 1.0, -1.0) if kink == 0 else y
        objective -= float(b @ y[found["indices"]])
    return {"objective": objective, "n_support": float(len(b))}


def pair_quality(found: Data, data: Data) -> dict[str, float]:
    """The sum of absolute coefficients, which the optimum fixes, and the number of support vectors."""
    coefficients = found["coefficients"]
    return {"total": float(np.abs(coefficients).sum()), "n_support": float(coefficients.shape[1])}


def machines(name: str, **parameters: Any) -> tuple[Any, ...]:
    """Mercer, LIBSVM and oneDAL where it has the machine."""
    paths = {"mercer": f"mercer.svm.{name}", "sklearn": f"sklearn.svm.{name}"}
    if name in ("SVC", "SVR"):
        paths["sklearnex"] = f"sklearnex.svm.{name}"
    return estimators(paths, solution, **parameters)


CASES = (
    Case(
        "svc_rbf_binary",
        "RBF SVC, two classes, 20 000 x 30, C=1, gamma=1/30",
        make_classes,
        machines("SVC", C=1.0, gamma=1.0 / 30.0),
        partial(quality, gamma=1.0 / 30.0),
        Agreement("objective", "lower", 1e-5),
    ),
    Case(
        "svc_rbf_multiclass",
        "RBF SVC, ten classes, 8 000 x 64, C=10, gamma=0.1",
        make_digits,
        machines("SVC", C=10.0, gamma=0.1),
        pair_quality,
        Agreement("total", "lower", 1e-2),
    ),
    Case(
        "svr_rbf",
        "RBF SVR, 6 000 x 10, C=10, epsilon=0.1, gamma=0.1",
        make_numbers,
        machines("SVR", C=10.0, epsilon=0.1, gamma=0.1),
        partial(quality, gamma=0.1, kink=0.1),
        Agreement("objective", "lower", 1e-5),
    ),
    Case(
        "oneclass_svm",
        "one-class RBF SVM, 20 000 x 10, nu=0.1, gamma=0.5",
        make_one_class,
        machines("OneClassSVM", nu=0.1, gamma=0.5),
        partial(quality, gamma=0.5),
        Agreement("objective", "lower", 1e-5),
    ),
)
