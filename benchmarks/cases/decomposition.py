"""Principal components; the variance that the components capture is recomputed here from the data in float64."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split

COMPONENTS = 20


def make(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Fifty latent directions of slowly falling variance under unit noise, so that component 20 is not obvious."""
    random = np.random.default_rng(0)
    test_rows = scaled(10_000, scale)
    rows = scaled(rows, scale) + test_rows
    directions = np.linalg.qr(random.normal(size=(columns, 50)))[0].T
    X = random.normal(size=(rows, columns))
    X += (random.normal(size=(rows, 50)) * np.linspace(6.0, 1.0, 50)) @ directions
    X += random.normal(size=columns)
    return split(X, test_rows)


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the share of variance inside the span of the components, and how far they are from orthonormal."""
    components = solution["components"].astype(np.float64)
    basis = np.linalg.qr(components.T)[0]
    centre = data["X"].mean(axis=0)
    inside = total = 0.0
    for block in np.array_split(data["X"], max(1, len(data["X"]) // 10_000)):
        rows = block - centre
        inside += float(np.sum((rows @ basis) ** 2))
        total += float(np.sum(rows**2))
    error = np.abs(components @ components.T - np.eye(len(components))).max()
    return {"variance": inside / total, "orthonormality_error": float(error)}


def solution(model: Any) -> dict[str, np.ndarray]:
    return {"components": model.components_, "variances": model.explained_variance_}


def pca(names: dict[str, str], **parameters: Any) -> tuple:
    return estimators(names, solution, verb="transform", n_components=COMPONENTS, **parameters)


covariance = pca(
    {"mercer": "mercer.decomposition.PCA", "sklearn": "sklearn.decomposition.PCA"}, svd_solver="covariance_eigh"
)
automatic = pca(
    {
        "mercer_auto": "mercer.decomposition.PCA",
        "sklearn_auto": "sklearn.decomposition.PCA",
        "sklearnex_auto": "sklearnex.decomposition.PCA",
    }
)
randomised = pca(
    {
        "mercer": "mercer.decomposition.PCA",
        "sklearn": "sklearn.decomposition.PCA",
        "sklearnex": "sklearnex.decomposition.PCA",
    },
    svd_solver="randomized",
    random_state=0,
)
incremental = pca(
    {
        "mercer": "mercer.decomposition.IncrementalPCA",
        "sklearn": "sklearn.decomposition.IncrementalPCA",
        "sklearnex_preview": "sklearnex.preview.decomposition.IncrementalPCA",
    },
    batch_size=1000,
)

CASES = (
    Case(
        "pca_top20",
        "PCA, 150 000 x 500, the first 20 components, exact",
        partial(make, rows=150_000, columns=500),
        covariance + automatic,
        quality,
        Agreement("variance", "higher", 1e-8),
    ),
    Case(
        "pca_randomized",
        "PCA, 150 000 x 500, the first 20 components, randomised solver",
        partial(make, rows=150_000, columns=500),
        randomised,
        quality,
        Agreement("variance", "higher", 1e-3),
    ),
    Case(
        "incremental_pca",
        "incremental PCA, 100 000 x 200, the first 20 components, batches of 1000",
        partial(make, rows=100_000, columns=200),
        incremental,
        quality,
        Agreement("variance", "higher", 1e-2),
    ),
)
