"""Factor models: nonnegative factors, truncated SVD and factor analysis; errors are recomputed here in float64."""

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.case import Agreement, Case, Contestant, Data, estimators, fit_estimator, scaled

COMPONENTS = 20


def make_parts(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Sums of twenty overlapping parts with gamma weights, under noise that is clipped at zero."""
    random = np.random.default_rng(0)
    rows = scaled(rows, scale)
    parts = random.gamma(0.5, size=(COMPONENTS, columns))
    X = random.gamma(0.5, size=(rows, COMPONENTS)) @ parts + 0.5 * random.normal(size=(rows, columns))
    X = np.maximum(X, 0.0)
    return {"X": X, "X_test": X[: max(1, rows // 10)]}


def make_counts(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Counts of words in texts of twenty topics: sparse rows, as their three arrays."""
    random = np.random.default_rng(0)
    rows = scaled(rows, scale)
    topics = random.dirichlet(np.full(columns, 0.02), COMPONENTS)
    shares = random.dirichlet(np.full(COMPONENTS, 0.1), rows)
    parts = [random.multinomial(100, shares[row] @ topics) for row in range(rows)]
    X = csr_array(np.array(parts, dtype=np.float64))
    return {
        "data": X.data,
        "indices": X.indices,
        "indptr": X.indptr,
        "width": np.array(columns),
        "X_test": np.zeros((1, 1)),
    }


def read_counts(data: Data) -> csr_array:
    shape = (len(data["indptr"]) - 1, int(np.ravel(data["width"])[0]))
    return csr_array((data["data"], data["indices"], data["indptr"]), shape=shape)


def fit_counts(tool: Any, data: Data, threads: int, parameters: dict[str, Any]) -> Any:
    return fit_estimator(tool, {"X": read_counts(data)}, threads, parameters)


def predict_nothing(model: Any, rows: Any) -> None:
    """Sparse rows have no test rows of their own."""


def make_latent(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Ten Gaussian factors under noise of its own variance in each column."""
    random = np.random.default_rng(0)
    rows = scaled(rows, scale)
    X = random.normal(size=(rows, 10)) @ random.normal(size=(10, columns))
    X += random.normal(size=(rows, columns)) * np.sqrt(random.gamma(1.0, size=columns))
    return {"X": X, "X_test": X[: max(1, rows // 10)]}


def parts_of(model: Any) -> dict[str, np.ndarray]:
    return {"components": model.components_}


def noise_of(model: Any) -> dict[str, np.ndarray]:
    return {"components": model.components_, "noise": model.noise_variance_}


def factor_error(solution: Data, data: Data) -> dict[str, float]:
    """Return |X - W H| / |X| for the best nonnegative W of 500 rows, by nonnegative least squares."""
    from scipy.optimize import nnls

    H = solution["components"].astype(np.float64)
    rows = (data["X"] if "X" in data else read_counts(data)[:500].toarray())[:500].astype(np.float64)
    left = sum(nnls(H.T, row)[1] ** 2 for row in rows)
    return {"error": float(np.sqrt(left) / np.linalg.norm(rows))}


def captured(solution: Data, data: Data) -> dict[str, float]:
    """Return the share of the squares of X inside the span of the components."""
    X, basis = read_counts(data), np.linalg.qr(solution["components"].astype(np.float64).T)[0]
    return {"share": float(((X @ basis) ** 2).sum() / (X.data**2).sum())}


def likelihood(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean log-likelihood of the rows."""
    W, noise = solution["components"].astype(np.float64), solution["noise"].astype(np.float64)
    C, S = W.T @ W + np.diag(noise), np.cov(data["X"].T, ddof=0)
    value = np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S)) + len(C) * np.log(2 * np.pi)
    return {"likelihood": -0.5 * float(value)}


def libraries(name: str) -> dict[str, str]:
    return {"mercer": f"mercer.decomposition.{name}", "sklearn": f"sklearn.decomposition.{name}"}


def sparse(name: str, **parameters: Any) -> tuple[Contestant, ...]:
    fit = partial(fit_counts, parameters=parameters)
    return tuple(Contestant(library, path, fit, parts_of, predict_nothing) for library, path in libraries(name).items())


nmf = estimators(libraries("NMF"), parts_of, verb="transform", n_components=COMPONENTS, random_state=0)

CASES = (
    Case(
        "nmf_dense",
        "NMF, 20 000 x 500, 20 parts",
        partial(make_parts, rows=20_000, columns=500),
        nmf,
        factor_error,
        Agreement("error", "lower", 1e-2),
    ),
    Case(
        "nmf_small",
        "NMF, 150 x 8, 3 parts",
        partial(make_parts, rows=150, columns=8),
        estimators(libraries("NMF"), parts_of, verb="transform", n_components=3, random_state=0),
        factor_error,
        Agreement("error", "lower", 1e-2),
    ),
    Case(
        "nmf_sparse",
        "NMF, 10 000 x 5 000 sparse counts, 20 parts",
        partial(make_counts, rows=10_000, columns=5_000),
        sparse("NMF", n_components=COMPONENTS, random_state=0),
        factor_error,
        Agreement("error", "lower", 1e-2),
    ),
    Case(
        "truncated_svd_sparse",
        "truncated SVD, 10 000 x 5 000 sparse counts, 20 components",
        partial(make_counts, rows=10_000, columns=5_000),
        sparse("TruncatedSVD", n_components=COMPONENTS, random_state=0),
        captured,
        Agreement("share", "higher", 1e-3),
    ),
    Case(
        "factor_analysis",
        "factor analysis, 20 000 x 100, 10 factors",
        partial(make_latent, rows=20_000, columns=100),
        estimators(libraries("FactorAnalysis"), noise_of, verb="transform", n_components=10),
        likelihood,
        Agreement("likelihood", "higher", 1e-3),
    ),
)
