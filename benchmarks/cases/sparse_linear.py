"""Lasso paths and the elastic net by cross-validation; objectives and gaps are recomputed here in float64."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, random_array
from sklearn.model_selection import KFold

from benchmarks.case import Agreement, Case, Contestant, Data, estimators, scaled, split
from benchmarks.cases.least_squares import linear_solution

TEST_ROWS = 200


def make(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Columns that resemble their neighbours, one in a hundred of which matters; centred, so that no intercept is."""
    random = np.random.default_rng(0)
    side = np.sqrt(scale)
    rows, columns = scaled(rows, side, 100) + TEST_ROWS, scaled(columns, side, 600)
    X = random.normal(size=(rows, columns))
    for j in range(1, columns):
        X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    coefficients = np.where(random.uniform(size=columns) < 0.01, random.normal(size=columns), 0.0)
    y = X @ coefficients + 2.0 * random.normal(size=rows)
    return split(X - X[:-TEST_ROWS].mean(axis=0), TEST_ROWS, y - y[:-TEST_ROWS].mean())


def make_text(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Counts of words, one in a thousand of them not zero, as the three arrays of a CSR matrix."""
    random = np.random.default_rng(0)
    side = np.sqrt(scale)
    rows, columns = scaled(rows, side, 500) + TEST_ROWS, scaled(columns, side, 1000)
    counts = lambda size: 1.0 + random.poisson(1.0, size=size)  # noqa: E731
    X = random_array((rows, columns), density=1e-3, rng=random, format="csr", data_sampler=counts)
    y = X @ np.where(random.uniform(size=columns) < 0.01, random.normal(size=columns), 0.0)
    y += 0.1 * random.normal(size=rows)
    train = csr_array(X[:-TEST_ROWS])
    parts = {"values": train.data, "indices": train.indices, "pointers": train.indptr, "shape": np.array(train.shape)}
    return parts | {"y": y[:-TEST_ROWS] - y[:-TEST_ROWS].mean(), "X_test": X[-TEST_ROWS:].toarray()}


def rows_of(data: Data) -> Any:
    if "X" in data:
        return data["X"]
    return csr_array((data["values"], data["indices"], data["pointers"]), shape=tuple(data["shape"]))


def penalties(data: Data, number: int, reach: float) -> np.ndarray:
    first = np.abs(rows_of(data).T @ data["y"]).max() / len(data["y"])
    return np.geomspace(first, first / reach, number)


def path_quality(solution: Data, data: Data, reach: float) -> dict[str, float]:
    """Return the sum of |y - X w|^2 / (2 n) + alpha |w|_1 over the path, and the largest duality gap."""
    X, y, n, objectives, gaps = rows_of(data), data["y"], len(data["y"]), [], []
    for alpha, w in zip(penalties(data, solution["path"].shape[1], reach), solution["path"].T, strict=True):
        residual = y - X @ w
        objectives.append(float(residual @ residual / (2 * n) + alpha * np.abs(w).sum()))
        feasible = residual * min(1.0, n * alpha / np.abs(X.T @ residual).max())
        gaps.append(objectives[-1] - float(y @ y - (y - feasible) @ (y - feasible)) / (2 * n))
    used = float(np.count_nonzero(solution["path"][:, -1]))
    return {"objectives": sum(objectives), "gap": max(gaps), "coefficients": used}


def follow(tool: Any, data: Data, threads: int, number: int, reach: float, options: Callable) -> dict[str, np.ndarray]:
    return {"path": tool(rows_of(data), data["y"], alphas=penalties(data, number, reach), **options(threads))[1]}


def follow_skglm(tool: Any, data: Data, threads: int, number: int, reach: float) -> dict[str, np.ndarray]:
    """The path of skglm's estimator, whose tolerance is on the optimality conditions of a problem of this scale."""
    model = tool(tol=1e-4, fit_intercept=False, max_iter=1000)
    return {
        "path": model.path(
            csc_array(rows_of(data)) if "values" in data else data["X"], data["y"], penalties(data, number, reach)
        )[1]
    }


def predict_last(model: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    return rows @ model["path"][:, -1]


def paths(number: int, reach: float) -> tuple[Contestant, ...]:
    """Contestants with the same penalties and the same gap to reach, 1e-4 |y|^2 / n."""
    tools = {
        "mercer": ("mercer.linear_model.lasso_path", lambda threads: {"n_jobs": threads}),
        "sklearn": ("sklearn.linear_model.lasso_path", lambda threads: {"tol": 1e-4, "max_iter": 10_000}),
        "celer": ("celer.celer_path", lambda threads: {"pb": "lasso", "tol": 1e-4}),
    }
    found = tuple(
        Contestant(name, path, partial(follow, number=number, reach=reach, options=options), dict, predict_last)
        for name, (path, options) in tools.items()
    )
    skglm = partial(follow_skglm, number=number, reach=reach)
    return (*found, Contestant("skglm", "skglm.Lasso", skglm, dict, predict_last))


def choice_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean squared error over the folds at the chosen penalty, that penalty, and R^2 on the test rows."""
    missed = data["y_test"] - data["X_test"] @ solution["coefficients"] - float(solution["intercept"])
    spread = data["y_test"] - data["y_test"].mean()
    r2 = 1.0 - float(missed @ missed) / float(spread @ spread)
    return {"cv_mse": float(solution["cv_mse"]), "alpha": float(solution["alpha"]), "r2": r2}


def choice_solution(model: Any) -> dict[str, np.ndarray]:
    error = np.asarray(model.mse_path_.mean(axis=-1).min())
    return linear_solution(model) | {"alpha": np.asarray(model.alpha_), "cv_mse": error}


def choose_by_hand(tool: Any, data: Data, threads: int) -> Any:
    """The same search written around celer's path, as its own class for it fails: one path a fold, one for all rows."""
    X, y, ratio = data["X"], data["y"], 0.5
    first = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / (len(y) * ratio)
    alphas = np.geomspace(first, 1e-2 * first, 50)
    errors = []
    for train, test in KFold(5).split(X):
        mean, y_mean = X[train].mean(axis=0), y[train].mean()
        rows = np.asfortranarray(X[train] - mean)
        coefs = tool(rows, y[train] - y_mean, pb="lasso", alphas=alphas, l1_ratio=ratio, tol=1e-4)[1]
        errors.append(np.mean((y[test, None] - y_mean - (X[test] - mean) @ coefs) ** 2, axis=0))
    mse_path = np.stack(errors, axis=1)
    best = int(mse_path.mean(axis=1).argmin())
    mean, y_mean = X.mean(axis=0), y.mean()
    rows = np.asfortranarray(X - mean)
    coef = tool(rows, y - y_mean, pb="lasso", alphas=alphas[: best + 1], l1_ratio=ratio, tol=1e-4)[1][:, -1]
    found = {"coef_": coef, "intercept_": y_mean - mean @ coef, "alpha_": alphas[best], "mse_path_": mse_path}
    return SimpleNamespace(**found)


def predict_by_hand(model: Any, rows: np.ndarray) -> np.ndarray:
    return rows @ model.coef_ + model.intercept_


choice = estimators(
    {"mercer": "mercer.linear_model.ElasticNetCV", "sklearn": "sklearn.linear_model.ElasticNetCV"},
    choice_solution,
    l1_ratio=0.5,
    alphas=50,
    eps=1e-2,
    cv=5,
    max_iter=10_000,
)
choice += (Contestant("celer_by_hand", "celer.celer_path", choose_by_hand, choice_solution, predict_by_hand),)


def residual_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean squared residual of the fitted rows, how many coefficients are not zero, and R^2 on others."""
    coefficients, intercept = solution["coefficients"], float(solution["intercept"])
    left = data["y"] - data["X"] @ coefficients - intercept
    missed = data["y_test"] - data["X_test"] @ coefficients - intercept
    spread = data["y_test"] - data["y_test"].mean()
    return {
        "mse": float(np.mean(left**2)),
        "used": float(np.count_nonzero(coefficients)),
        "r2": 1.0 - float(missed @ missed) / float(spread @ spread),
    }


def pair(name: str, solution: Callable, **settings: Any) -> tuple[Contestant, ...]:
    """Contestants of one name in both libraries."""
    places = {library: f"{library}.linear_model.{name}" for library in ("mercer", "sklearn")}
    return estimators(places, solution, **settings)


CASES = (
    Case(
        "lasso_lars_cv",
        "lasso by least angles, 20 000 x 300, all knots of five folds",
        partial(make, rows=20_000, columns=300),
        pair("LassoLarsCV", choice_solution, cv=5),
        choice_quality,
        Agreement("cv_mse", "lower", 1e-3),
    ),
    Case(
        "matching_pursuit",
        "orthogonal matching pursuit, 5 000 x 2 000, 200 columns",
        partial(make, rows=5_000, columns=2_000),
        pair("OrthogonalMatchingPursuit", linear_solution, n_nonzero_coefs=200),
        residual_quality,
        Agreement("mse", "lower", 1e-3),
    ),
    Case(
        "relevance",
        "regression with a precision for each column, 5 000 x 300",
        partial(make, rows=5_000, columns=300),
        pair("ARDRegression", linear_solution),
        residual_quality,
        Agreement("r2", "higher", 1e-3),
    ),
    Case(
        "lasso_path",
        "lasso path, 2 000 x 10 000 correlated columns, 100 penalties to a thirtieth of the first",
        partial(make, rows=2_000, columns=10_000),
        paths(100, 30.0),
        partial(path_quality, reach=30.0),
        Agreement("objectives", "lower", 1e-3),
    ),
    Case(
        "lasso_path_text",
        "lasso path, 20 000 x 50 000 sparse counts, 30 penalties to a hundredth of the first",
        partial(make_text, rows=20_000, columns=50_000),
        paths(30, 100.0),
        partial(path_quality, reach=100.0),
        Agreement("objectives", "lower", 1e-3),
    ),
    Case(
        "elastic_net_cv",
        "elastic net, 1 000 x 5 000, 50 penalties in five folds",
        partial(make, rows=1_000, columns=5_000),
        choice,
        choice_quality,
        Agreement("cv_mse", "lower", 1e-2),
    ),
)
