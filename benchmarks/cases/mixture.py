"""Gaussian mixtures: everybody starts from the same given components and does thirty EM iterations.

The mean log-likelihood is recomputed here in float64 from the final components.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, estimators, scaled, split

ITERATIONS = 30
ROWS, COLUMNS, COMPONENTS = 100_000, 16, 20
_LOG_2_PI = float(np.log(2.0 * np.pi))


def make(scale: float, kind: str) -> dict[str, np.ndarray]:
    """Overlapping components with covariances of their own; the start has the covariance of all rows everywhere."""
    random = np.random.default_rng(0)
    test_rows = scaled(10_000, scale)
    rows = scaled(ROWS, scale, at_least=6_000) + test_rows
    means = random.normal(scale=0.8, size=(COMPONENTS, COLUMNS))
    roots = np.eye(COLUMNS) + random.normal(scale=0.15, size=(COMPONENTS, COLUMNS, COLUMNS))
    labels = random.integers(COMPONENTS, size=rows)
    X = means[labels] + np.einsum("nij,nj->ni", roots[labels], random.normal(size=(rows, COLUMNS)))
    first = X[random.choice(rows - test_rows, COMPONENTS, replace=False)]
    covariance = np.cov(X, rowvar=False)
    if kind in ("diag", "spherical"):
        covariance = np.diag(covariance) if kind == "diag" else np.mean(np.diag(covariance))
    precision = np.linalg.inv(covariance) if kind in ("full", "tied") else 1.0 / covariance
    repeat = (1, 1) if kind == "tied" else (COMPONENTS,) + (1,) * covariance.ndim
    start = {"means": first, "weights": np.full(COMPONENTS, 1.0 / COMPONENTS)}
    start |= {"covariances": np.tile(covariance, repeat), "precisions": np.tile(precision, repeat)}
    return split(X, test_rows) | {name: np.ascontiguousarray(part) for name, part in start.items()}


def matrices(covariances: np.ndarray, means: np.ndarray) -> np.ndarray:
    """One covariance matrix per component, whatever the type of covariance."""
    k, d = means.shape
    if covariances.ndim == 1:
        return covariances[:, None, None] * np.eye(d)
    if covariances.shape == (d, d) and k != d:
        return np.broadcast_to(covariances, (k, d, d))
    return covariances if covariances.ndim == 3 else covariances[:, :, None] * np.eye(d)


def quality(solution: Data, data: Data) -> dict[str, float]:
    """The mean over rows of the log of the summed densities, in float64 and block by block."""
    total = 0.0
    full = matrices(solution["covariances"], solution["means"])
    factors = np.linalg.cholesky(full)
    for block in np.array_split(data["X"], max(1, len(data["X"]) // 10_000)):
        scores = []
        for weight, mean, factor in zip(solution["weights"], solution["means"], factors):
            white = np.linalg.solve(factor, (block - mean).T)
            height = np.log(weight) - np.sum(np.log(np.diag(factor))) - 0.5 * len(mean) * _LOG_2_PI
            scores.append(height - 0.5 * np.einsum("ij,ij->j", white, white))
        total += float(np.logaddexp.reduce(scores).sum())
    return {"log_likelihood": total / len(data["X"]), "iterations": float(solution["iterations"])}


def solution(model: Any) -> dict[str, np.ndarray]:
    parts = {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_}
    return parts | {"iterations": np.array(model.n_iter_)}


def part(name: str) -> Any:
    """A parameter taken from the data of the case."""
    return lambda data: data[name]


def fit_onedal(tool: Any, data: Data, threads: int) -> Any:
    import daal4py

    daal4py.daalinit(threads)
    engine = tool(nComponents=COMPONENTS, maxIterations=ITERATIONS, accuracyThreshold=0.0, covarianceStorage="full")
    return engine.compute(data["X"], data["weights"].reshape(1, -1), data["means"], list(data["covariances"]))


def onedal_solution(model: Any) -> dict[str, np.ndarray]:
    parts = {"weights": np.ravel(model.weights), "means": model.means, "covariances": np.array(model.covariances)}
    return parts | {"iterations": np.array(int(np.ravel(model.nIterations)[0]))}


def onedal_predict(model: Any, rows: np.ndarray) -> np.ndarray:
    factors = np.linalg.cholesky(np.array(model.covariances))
    heights = np.log(np.ravel(model.weights)) - np.log(np.einsum("kii->ki", factors)).sum(axis=1)
    gaps = np.swapaxes(rows[None] - model.means[:, None], 1, 2)
    return np.argmax(heights[:, None] - 0.5 * (np.linalg.solve(factors, gaps) ** 2).sum(axis=1), axis=0)


def contestants(kind: str) -> tuple[Contestant, ...]:
    return estimators(
        {"mercer": "mercer.mixture.GaussianMixture", "sklearn": "sklearn.mixture.GaussianMixture"},
        solution,
        n_components=COMPONENTS,
        covariance_type=kind,
        weights_init=part("weights"),
        means_init=part("means"),
        precisions_init=part("precisions"),
        max_iter=ITERATIONS,
        tol=0.0,
    )


onedal = Contestant("onedal", "daal4py.em_gmm", fit_onedal, onedal_solution, onedal_predict)
CASES = (
    Case(
        "gmm_full",
        "Gaussian mixture, 100 000 x 16, k=20, full covariances, one given start, 30 EM iterations",
        partial(make, kind="full"),
        (*contestants("full"), onedal),
        quality,
        # oneDAL leaves the floor of 1e-6 off the variances.
        Agreement("log_likelihood", "higher", 1e-5),
    ),
    *(
        Case(
            f"gmm_{kind}",
            f"Gaussian mixture, 100 000 x 16, k=20, {words} covariances, one given start, 30 EM iterations",
            partial(make, kind=kind),
            contestants(kind),
            quality,
            Agreement("log_likelihood", "higher", 1e-6),
        )
        for kind, words in (("diag", "diagonal"), ("spherical", "spherical"), ("tied", "tied"))
    ),
)
