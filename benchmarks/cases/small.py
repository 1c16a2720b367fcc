"""Small data, where checks and Python overhead are the cost: many small fits, and predictions of one row."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale as standardise

from benchmarks.case import Agreement, Case, Contestant, Data, estimators
from benchmarks.cases import cluster, decomposition, least_squares, logistic, separation


def make_table(scale: float, table: str, fits: int) -> dict[str, np.ndarray]:
    """Return a bundled table, standardised, and the regularisation strengths to fit it at."""
    X, y = (load_diabetes if table == "diabetes" else load_breast_cancer)(return_X_y=True)
    strengths = np.logspace(-1.0, 1.0, max(int(fits * scale), 5))
    return {"X": standardise(X), "y": y, "X_test": standardise(X), "strengths": strengths}


def fit_all(tool: Any, data: Data, threads: int, parameter: str, options: dict[str, Any]) -> list[Any]:
    return [tool(**{parameter: strength}, **options).fit(data["X"], data["y"]) for strength in data["strengths"]]


def all_solutions(models: list[Any]) -> dict[str, np.ndarray]:
    found = [least_squares.linear_solution(model) for model in models]
    return {name: np.array([solution[name] for solution in found]) for name in found[0]}


def predict_first(models: list[Any], rows: np.ndarray) -> np.ndarray:
    return models[0].predict(rows)


def many(names: dict[str, str], parameter: str, **options: Any) -> tuple[Contestant, ...]:
    fit = partial(fit_all, parameter=parameter, options=options)
    return tuple(Contestant(name, path, fit, all_solutions, predict_first) for name, path in names.items())


def ridge_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean over the fits of (|y - X w - b|^2 + alpha |w|^2) / n."""
    residual = data["y"][:, None] - data["X"] @ solution["coefficients"].T - solution["intercept"]
    penalty = data["strengths"] * np.sum(solution["coefficients"] ** 2, axis=1)
    return {"objective": float(np.mean(np.sum(residual**2, axis=0) + penalty)) / len(data["y"])}


def logistic_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean over the fits of the mean loss plus |w|^2 / (2 C n)."""
    coefficients = solution["coefficients"][:, 0]
    margins = (2 * data["y"][:, None] - 1) * (data["X"] @ coefficients.T + solution["intercept"][:, 0])
    penalty = np.sum(coefficients**2, axis=1) / (2 * data["strengths"] * len(margins))
    return {"objective": float(np.mean(np.logaddexp(0.0, -margins).mean(axis=0) + penalty))}


def libraries(path: str, *names: str) -> dict[str, str]:
    return {name: f"{name}.{path}" for name in ("mercer", "sklearn", "sklearnex", *names)}


def one_row(name: str, title: str, family: Case, make: Any, contestants: tuple[Contestant, ...]) -> Case:
    """Return the latency twin of a case: its own small data, its quality rule, one-row microseconds as headline."""
    rule = Agreement(family.agreement.measure, family.agreement.better, max(family.agreement.tolerance, 1e-4))
    return Case(
        f"one_row_predict_{name}", title, make, contestants, family.quality, rule, headline="one_row_microseconds"
    )


def unscaled_size(scale: float, make: Any) -> dict[str, np.ndarray]:
    """A latency does not depend on the rows fitted: use five thousand whatever the scale."""
    return make(1.0)


small_regression = partial(unscaled_size, make=partial(least_squares.make, rows=5_000, columns=20, test_rows=10_000))
small_components = partial(unscaled_size, make=partial(decomposition.make, rows=5_000, columns=100))
small_classes = partial(unscaled_size, make=partial(logistic.make, rows=5_000, columns=20))


def small_clusters(scale: float) -> dict[str, np.ndarray]:
    return cluster.make(0.025, "float64")


CASES = (
    separation.SMALL,
    Case(
        "small_fits_ridge",
        "500 ridge fits on diabetes (442 x 10), alpha from 0.1 to 10",
        partial(make_table, table="diabetes", fits=500),
        many(libraries("linear_model.Ridge"), "alpha"),
        ridge_quality,
        Agreement("objective", "lower", 1e-6),
    ),
    Case(
        "small_fits_logistic",
        "100 logistic fits on breast cancer (569 x 30), C from 0.1 to 10",
        partial(make_table, table="breast cancer", fits=100),
        many(libraries("linear_model.LogisticRegression"), "C", max_iter=1000),
        logistic_quality,
        Agreement("objective", "lower", 1e-4),
    ),
    one_row("kmeans", "KMeans.predict, one row of 32, k=100", cluster.CASES[1], small_clusters, cluster.full_batch),
    one_row(
        "pca",
        "PCA.transform, one row of 100, 20 components",
        decomposition.CASES[0],
        small_components,
        estimators(libraries("decomposition.PCA"), decomposition.solution, verb="transform", n_components=20),
    ),
    one_row(
        "linear_regression",
        "LinearRegression.predict, one row of 20",
        least_squares.CASES[2],
        small_regression,
        least_squares.ordinary,
    ),
    one_row("ridge", "Ridge.predict, one row of 20", least_squares.CASES[0], small_regression, least_squares.ridge),
    one_row(
        "logistic",
        "LogisticRegression.predict, one row of 20",
        logistic.CASES[0],
        small_classes,
        estimators(libraries("linear_model.LogisticRegression"), logistic.solution, max_iter=1000),
    ),
)
