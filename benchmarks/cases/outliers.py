"""Outliers: isolation forests, local outlier factors and robust covariances, judged by planted rows."""

from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.case import Agreement, Case, Contestant, Data, scaled


def make(scale: float, rows: int, columns: int, share: float = 0.01) -> dict[str, np.ndarray]:
    """Standard normal rows; a share of them is three times as wide."""
    random = np.random.default_rng(0)
    n = max(scaled(rows, scale), 150)
    X = random.normal(size=(n, columns))
    strange = np.zeros(n)
    strange[: max(int(share * n), 5)] = 1.0
    X[strange > 0] *= 3.0
    return {"X": X, "strange": strange, "X_test": X[:1000]}


def make_cluster(scale: float, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Standard normal rows, one in five of them in a cluster of its own."""
    random = np.random.default_rng(0)
    n = max(scaled(rows, scale), 150)
    X = random.normal(size=(n, columns))
    X[: n // 5] += 6.0
    return {"X": X, "X_test": X[:1000]}


def rank_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the share of pairs of a planted and a usual row in which the planted row has the lower score."""
    ranks, strange = rankdata(solution["scores"]), data["strange"] > 0
    n, m = int(strange.sum()), int((~strange).sum())
    return {"roc_area": 1.0 - float(ranks[strange].sum() - n * (n + 1) / 2) / (n * m)}


def determinant_quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the logarithm of the determinant of the rows of the subset, computed here, per column."""
    rows = data["X"][solution["support"]]
    value = np.linalg.slogdet(np.cov(rows.T, bias=True))[1]
    return {"log_determinant": float(value) / rows.shape[1], "rows": float(len(rows))}


def fit_and_score(tool: Any, data: Data, threads: int, **parameters: Any) -> tuple[Any, np.ndarray]:
    """Fit to the rows, and score them."""
    model = tool(**parameters)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=threads)
    model.fit(data["X"])
    factors = getattr(model, "negative_outlier_factor_", None)
    return model, model.score_samples(data["X"]) if factors is None else factors


def fit_pyod(tool: Any, data: Data, threads: int, **parameters: Any) -> tuple[Any, np.ndarray]:
    """The same by PyOD, whose scores are higher for outliers."""
    model = tool(n_jobs=threads, **parameters).fit(data["X"])
    return model, -model.decision_scores_


def fit_covariance(tool: Any, data: Data, threads: int) -> Any:
    return tool(random_state=0).fit(data["X"])


def scoring(name: str, path: str, fit: Any = fit_and_score, **parameters: Any) -> Contestant:
    return Contestant(name, path, partial(fit, **parameters), lambda scored: {"scores": scored[1]}, score_new_rows)


def score_new_rows(scored: tuple[Any, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Return scores of new rows; of local outlier factors, which have none, those of the fit."""
    model, scores = scored
    for name in ("score_samples", "decision_function"):
        if hasattr(model, name):
            return getattr(model, name)(rows)
    return scores[: len(rows)]


def forests() -> tuple[Contestant, ...]:
    return (
        scoring("mercer", "mercer.ensemble.IsolationForest", random_state=0),
        scoring("sklearn", "sklearn.ensemble.IsolationForest", random_state=0),
        scoring("pyod", "pyod.models.iforest.IForest", fit_pyod, random_state=0),
    )


def factors() -> tuple[Contestant, ...]:
    return (
        scoring("mercer", "mercer.neighbors.LocalOutlierFactor"),
        scoring("sklearn", "sklearn.neighbors.LocalOutlierFactor"),
        scoring("onedal", "sklearnex.neighbors.LocalOutlierFactor"),
        scoring("pyod", "pyod.models.lof.LOF", fit_pyod),
    )


def covariances() -> tuple[Contestant, ...]:
    return tuple(
        Contestant(
            name,
            f"{name}.covariance.MinCovDet",
            fit_covariance,
            lambda model: {"support": model.raw_support_},
            lambda model, rows: model.mahalanobis(rows),
        )
        for name in ("mercer", "sklearn")
    )


# Forests of 100 random trees differ by some parts in a hundred.
_FOREST_RULE = Agreement("roc_area", "higher", 0.05)
_FACTOR_RULE = Agreement("roc_area", "higher", 1e-6)
# A local minimum that is as good: within a hundredth of a nat per column.
_DETERMINANT_RULE = Agreement("log_determinant", "lower", 0.01)
CASES = (
    Case(
        "isolation_forest",
        "isolation forest, 100 trees, fit and scores of 100 000 rows of 20",
        partial(make, rows=100_000, columns=20),
        forests(),
        rank_quality,
        _FOREST_RULE,
    ),
    Case(
        "small_isolation_forest",
        "isolation forest, 100 trees, fit and scores of 150 rows of 4",
        partial(make, rows=150, columns=4, share=0.05),
        forests(),
        rank_quality,
        _FOREST_RULE,
    ),
    Case(
        "local_outlier_factor",
        "local outlier factors, 20 neighbours, 100 000 rows of 20",
        partial(make, rows=100_000, columns=20),
        factors(),
        rank_quality,
        _FACTOR_RULE,
    ),
    Case(
        "small_local_outlier_factor",
        "local outlier factors, 20 neighbours, 150 rows of 4",
        partial(make, rows=150, columns=4, share=0.05),
        factors(),
        rank_quality,
        _FACTOR_RULE,
    ),
    Case(
        "min_cov_det",
        "minimum covariance determinant, 100 000 rows of 20, a fifth of them in a cluster of its own",
        partial(make_cluster, rows=100_000, columns=20),
        covariances(),
        determinant_quality,
        _DETERMINANT_RULE,
    ),
    Case(
        "small_min_cov_det",
        "minimum covariance determinant, 150 rows of 4, a fifth of them in a cluster of its own",
        partial(make_cluster, rows=150, columns=4),
        covariances(),
        determinant_quality,
        Agreement("log_determinant", "lower", 0.1),
    ),
)
