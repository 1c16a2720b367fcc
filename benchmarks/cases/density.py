"""Kernel density: log-densities at many points, judged by densities summed here over all rows."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled

_BANDWIDTH = 0.1
# Points whose densities are summed over all rows for the judgement.
_JUDGED = 200


def make(scale: float) -> dict[str, np.ndarray]:
    """Standard normal rows and points in two columns."""
    random = np.random.default_rng(0)
    return {
        "X": random.normal(size=(scaled(100_000, scale), 2)),
        "X_test": random.normal(size=(scaled(10_000, scale), 2)),
    }


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean log-density of the points, and the worst relative error of some densities."""
    found, points = solution["logarithms"], data["X_test"][:_JUDGED]
    constant = len(data["X"]) * 2 * np.pi * _BANDWIDTH**2
    exact = [np.exp(-np.sum((data["X"] - x) ** 2, axis=1) / (2 * _BANDWIDTH**2)).sum() / constant for x in points]
    errors = np.abs(np.exp(found[:_JUDGED]) / exact - 1)
    return {"mean_log_density": float(found.mean()), "worst_error": float(errors.max())}


def score_points(tool: Any, data: Data, threads: int, **parameters: Any) -> tuple[Any, np.ndarray]:
    """Fit to the rows and score the points."""
    model = tool(bandwidth=_BANDWIDTH, **parameters)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=threads)
    model.fit(data["X"])
    return model, model.score_samples(data["X_test"])


def score_by_kdepy(tool: Any, data: Data, threads: int) -> tuple[Any, np.ndarray]:
    """The same by KDEpy's tree, which leaves far rows out: it errs by some parts in a thousand."""
    model = tool(kernel="gaussian", bw=_BANDWIDTH).fit(data["X"])
    return model, np.log(model.evaluate(data["X_test"]))


def contestant(name: str, path: str, **parameters: Any) -> Contestant:
    return Contestant(
        name,
        path,
        partial(score_points, **parameters),
        lambda scored: {"logarithms": scored[1]},
        lambda scored, rows: scored[0].score_samples(rows),
    )


CASES = (
    Case(
        "kde_score",
        "Gaussian kernel density, 100 000 rows of 2, h = 0.1, log-density at 10 000 points",
        make,
        (
            contestant("mercer", "mercer.neighbors.KernelDensity"),
            contestant("mercer_rtol", "mercer.neighbors.KernelDensity", rtol=1e-6),
            contestant("sklearn", "sklearn.neighbors.KernelDensity"),
            contestant("sklearn_rtol", "sklearn.neighbors.KernelDensity", rtol=1e-4),
            Contestant(
                "kdepy",
                "KDEpy.TreeKDE",
                score_by_kdepy,
                lambda scored: {"logarithms": scored[1]},
                lambda scored, rows: np.log(scored[0].evaluate(rows)),
            ),
        ),
        quality,
        # scikit-learn's rtol of 1e-4 moves the mean by some 2e-5; worst_error tells contestants apart.
        Agreement("mean_log_density", "higher", 1e-4),
    ),
)
