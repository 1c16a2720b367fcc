"""Columns to mean zero and variance one; the likelihood of the columns is recomputed here from means and scales."""

from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split


def make(scale: float) -> dict[str, np.ndarray]:
    """Thirty columns in units from a thousandth to a thousand, far from zero; as many test rows as training rows."""
    random = np.random.default_rng(0)
    rows = scaled(1_000_000, scale)
    units = np.logspace(-3.0, 3.0, 30)
    return split(random.normal(size=(2 * rows, 30)) * units + 10.0 * units, rows)


def solution(model: Any) -> dict[str, np.ndarray]:
    return {"mean": model.mean_, "scale": model.scale_}


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return the mean of (x - m)^2 / s^2 + log s^2 in like units: least at the true means and variances."""
    units = np.logspace(-3.0, 3.0, 30)
    total = 0.0
    for block in np.array_split(data["X"], max(1, len(data["X"]) // 10_000)):
        total += float(np.sum(((block - solution["mean"]) / solution["scale"]) ** 2))
    return {"objective": total / data["X"].size + float(np.mean(2.0 * np.log(solution["scale"] / units)))}


CASES = (
    Case(
        "standard_scaler",
        "StandardScaler, 1,000,000 x 30",
        make,
        estimators(
            {
                "mercer": "mercer.preprocessing.StandardScaler",
                "sklearn": "sklearn.preprocessing.StandardScaler",
            },
            solution,
            verb="transform",
        ),
        quality,
        Agreement("objective", "lower", 1e-9),
    ),
)
