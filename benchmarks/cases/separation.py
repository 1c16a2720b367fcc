"""Independent components; the distance to the true mixing matrix and the gradient are recomputed here in float64."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, estimators, scaled, split


def make(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Mix Laplace and uniform sources, half of each, by a random matrix."""
    random = np.random.default_rng(0)
    test_rows = scaled(min(rows, 10_000), scale, at_least=50)
    n = scaled(rows, scale, at_least=150) + test_rows
    sources = [random.laplace(size=n) if number % 2 else random.uniform(-1, 1, n) for number in range(columns)]
    mixing = random.normal(size=(columns, columns))
    return split(np.column_stack(sources) @ mixing.T, test_rows) | {"mixing": mixing}


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the Amari distance to the truth, and the gradient of log cosh by rotations of the white sources."""
    W = solution["unmixing"].astype(np.float64)
    P = np.abs(W @ data["mixing"])
    k = len(P)
    rows, columns = (P / P.max(axis=1)[:, None]).sum(axis=1) - 1, (P / P.max(axis=0)).sum(axis=0) - 1
    Y = (data["X"] - data["X"].mean(axis=0)) @ W.T
    Y /= Y.std(axis=0)
    G = np.tanh(Y).T @ Y / len(Y)
    G *= np.sign(1 - (np.tanh(Y) ** 2).mean(axis=0) - np.diagonal(G))[:, None]
    # The sources of the free likelihood are slightly correlated: their gradient by rotations is not zero.
    gradient = np.abs(G - G.T).max() / 2
    return {"amari": float(rows.mean() + columns.mean()) / (2 * (k - 1)), "rotation_gradient": float(gradient)}


def solution(model: Any) -> dict[str, np.ndarray]:
    return {"unmixing": model.components_}


def fit_picard(tool: Any, data: Data, threads: int, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the unmixing matrix and the mean of the rows."""
    X = data["X"]
    K, W, _ = tool(X.T.copy(), tol=1e-8, max_iter=500, random_state=0, **settings)
    return W @ K, X.mean(axis=0)


def picard(name: str, **settings: Any) -> Contestant:
    return Contestant(
        name,
        "picard.picard",
        partial(fit_picard, **settings),
        lambda model: {"unmixing": model[0]},
        lambda model, rows: (rows - model[1]) @ model[0].T,
    )


def ica(name: str, **settings: Any) -> tuple[Contestant, ...]:
    return estimators({name: "mercer.decomposition.ICA"}, solution, "transform", random_state=0, **settings)


def fast(solver: str) -> tuple[Contestant, ...]:
    names = {
        f"mercer_fast_{solver}": "mercer.decomposition.FastICA",
        f"sklearn_{solver}": "sklearn.decomposition.FastICA",
    }
    return estimators(names, solution, "transform", whiten_solver=solver, random_state=0)


# All stop at a gradient of 1e-8, but for the fixed-point iterations, which stop when no axis turns by more than 1e-4.
orthogonal = (*ica("mercer", constraint="orthogonal"), *fast("eigh"), picard("picard_ortho", ortho=True))
free = (*ica("mercer_free"), picard("picard_free", ortho=False, extended=True))
# Estimates of all are this far apart by the correlation that the constraint forces on finite samples.
AGREE = Agreement("amari", "lower", 0.2)

CASES = (
    Case(
        "fast_ica",
        "ICA, 200 000 x 25 mixed sources (Laplace and uniform), log cosh",
        partial(make, rows=200_000, columns=25),
        orthogonal + fast("svd") + free,
        quality,
        AGREE,
    ),
    Case(
        "fast_ica_100k",
        "ICA, 100 000 x 10 mixed sources (Laplace and uniform), log cosh",
        partial(make, rows=100_000, columns=10),
        orthogonal + free,
        quality,
        AGREE,
    ),
)
# With few rows the estimates of the two likelihoods differ by more.
SMALL = Case(
    "small_ica",
    "ICA, 150 x 4 mixed sources (Laplace and uniform), log cosh",
    partial(make, rows=150, columns=4),
    orthogonal + free,
    quality,
    Agreement("amari", "lower", 2.0),
)
