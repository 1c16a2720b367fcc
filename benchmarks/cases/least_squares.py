"""Linear regression and ridge; the objective is recomputed here in float64 from coefficients and intercept."""

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.case import Agreement, Case, Contestant, Data, estimators, scaled, split


def make(scale: float, rows: int, columns: int, test_rows: int, at_least: int = 500) -> dict[str, np.ndarray]:
    """Columns of unit variance and unequal means; a linear response under unit noise."""
    random = np.random.default_rng(0)
    test_rows = scaled(test_rows, scale)
    rows = scaled(rows, scale, at_least) + test_rows
    X = random.normal(size=(rows, columns))
    X += random.normal(size=columns)
    y = X @ (random.normal(size=columns) * np.sqrt(55.0 / columns)) + 3.0 + random.normal(size=rows)
    return split(X, test_rows, y)


def make_wide(scale: float) -> dict[str, np.ndarray]:
    """Shrink both sides alike, so that every scale keeps ten columns a row; 200 test rows take 32 MB at full size."""
    side = np.sqrt(scale)
    return make(side, rows=2_000, columns=scaled(20_000, side), test_rows=200, at_least=50)


def quality(solution: Data, data: Data, alpha: float) -> dict[str, float]:
    """Return (|y - X w - b|^2 + alpha |w|^2) / n on the training rows and R^2 on the test rows."""
    coefficients = solution["coefficients"].astype(np.float64).ravel()
    intercept = float(solution["intercept"].ravel()[0])
    residual = data["y"] - data["X"] @ coefficients - intercept
    missed = data["y_test"] - data["X_test"] @ coefficients - intercept
    spread = data["y_test"] - data["y_test"].mean()
    return {
        "objective": float(residual @ residual + alpha * coefficients @ coefficients) / len(residual),
        "r2": 1.0 - float(missed @ missed) / float(spread @ spread),
    }


def leave_one_out_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean squared leave-one-out error for the penalty that was used, and R^2 on the test rows."""
    alpha = float(solution["alpha"])
    found = quality(solution, data, alpha)
    rows = data["X"] - data["X"].mean(axis=0)
    factor = cho_factor(rows.T @ rows + alpha * np.eye(rows.shape[1]))
    leverage = np.einsum("ij,ji->i", rows, cho_solve(factor, rows.T)) + 1.0 / len(rows)
    coefficients, intercept = solution["coefficients"].ravel(), float(solution["intercept"].ravel()[0])
    missed = (data["y"] - data["X"] @ coefficients - intercept) / (1.0 - leverage)
    return {"leave_one_out": float(missed @ missed) / len(missed), "r2": found["r2"]}


def linear_solution(model: Any) -> dict[str, np.ndarray]:
    return {"coefficients": np.asarray(model.coef_), "intercept": np.asarray(model.intercept_)}


def penalised_solution(model: Any) -> dict[str, np.ndarray]:
    return linear_solution(model) | {"alpha": np.asarray(getattr(model, "alpha_", model.get_params().get("alpha")))}


def solve_by_hand(tool: Any, data: Data, threads: int, alpha: float) -> dict[str, np.ndarray]:
    """Centre through the moments instead of copying X; solve the smaller of the two normal equations."""
    X, y = data["X"], data["y"]
    rows, columns = X.shape
    centre, level = X.mean(axis=0), y.mean()
    if columns <= rows:
        gram = X.T @ X
        gram -= rows * np.outer(centre, centre)
        gram.flat[:: columns + 1] += alpha
        coefficients = tool(gram, X.T @ y - rows * level * centre, assume_a="pos")
    else:
        shifted = X @ centre
        gram = X @ X.T
        gram += centre @ centre - shifted[:, None] - shifted
        gram.flat[:: rows + 1] += alpha
        dual = tool(gram, y - level, assume_a="pos")
        coefficients = X.T @ dual - centre * dual.sum()
    return {"coefficients": coefficients, "intercept": np.asarray(level - centre @ coefficients)}


def predict_linear(model: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    return rows @ model["coefficients"] + model["intercept"]


def by_hand(alpha: float) -> Contestant:
    return Contestant("numpy_by_hand", "scipy.linalg.solve", partial(solve_by_hand, alpha=alpha), dict, predict_linear)


ridge = estimators(
    {
        "mercer": "mercer.linear_model.Ridge",
        "sklearn": "sklearn.linear_model.Ridge",
        "sklearnex": "sklearnex.linear_model.Ridge",
    },
    linear_solution,
    alpha=1.0,
)
ridge_cholesky = estimators(
    {"sklearn_cholesky": "sklearn.linear_model.Ridge"}, linear_solution, alpha=1.0, solver="cholesky"
)
PENALTIES = np.logspace(-2, 5, 100)
many_penalties = estimators(
    {"mercer": "mercer.linear_model.RidgeCV", "sklearn": "sklearn.linear_model.RidgeCV"},
    penalised_solution,
    alphas=PENALTIES,
)
# What one penalty costs, to compare with: with so many rows the error is flat, so its choice is as good.
one_penalty = estimators(
    {"mercer_one_penalty": "mercer.linear_model.Ridge", "sklearn_one_penalty": "sklearn.linear_model.Ridge"},
    penalised_solution,
    alpha=1.0,
)
ordinary = estimators(
    {
        "mercer": "mercer.linear_model.LinearRegression",
        "sklearn": "sklearn.linear_model.LinearRegression",
        "sklearnex": "sklearnex.linear_model.LinearRegression",
    },
    linear_solution,
)

CASES = (
    Case(
        "ridge_tall",
        "ridge, 500 000 x 200, alpha=1, with intercept",
        partial(make, rows=500_000, columns=200, test_rows=10_000),
        (*ridge, *ridge_cholesky, by_hand(1.0)),
        partial(quality, alpha=1.0),
        Agreement("objective", "lower", 1e-9),
    ),
    Case(
        "ridge_wide",
        "ridge, 2 000 x 20 000, alpha=1, with intercept",
        make_wide,
        (*ridge, *ridge_cholesky, by_hand(1.0)),
        partial(quality, alpha=1.0),
        Agreement("objective", "lower", 1e-6),
    ),
    Case(
        "linear_regression",
        "least squares, 200 000 x 100, with intercept",
        partial(make, rows=200_000, columns=100, test_rows=10_000),
        (*ordinary, by_hand(0.0)),
        partial(quality, alpha=0.0),
        Agreement("objective", "lower", 1e-9),
    ),
    Case(
        "ridge_100_penalties",
        "ridge, 50 000 x 100, the best of 100 penalties by leave-one-out; and one penalty",
        partial(make, rows=50_000, columns=100, test_rows=10_000),
        (*many_penalties, *one_penalty),
        leave_one_out_quality,
        Agreement("leave_one_out", "lower", 1e-4),
    ),
)
