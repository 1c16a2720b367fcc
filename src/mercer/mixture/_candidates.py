"""Mixture candidates for a study of structure."""

from typing import Any

from mercer._base.candidate import Candidate, Shape
from mercer.mixture._gaussian_mixture import GaussianMixture


def _mixture(shape: Shape) -> Any:
    return GaussianMixture(2, n_init=2, reg_covar=1e-3, random_state=shape.seed)


def _space(shape: Shape) -> dict[str, list[Any]]:
    kinds = ["diag", "full"] if shape.n_columns <= 10 and shape.n_rows >= 200 else ["diag"]
    return {"covariance_type": kinds, "n_components": [1, 2, 3, 4, 5, 6, 7, 8]}


def _count(model: Any) -> tuple[float, str]:
    kind = {"diag": "diagonal"}.get(model.covariance_type, model.covariance_type)
    return float(model.n_components), f"{model.n_components} bell curves, {kind} covariances"


CANDIDATES = (
    Candidate(
        "Gaussian mixture",
        "mixtures",
        ("clustering",),
        30,
        _mixture,
        _space,
        ("scaled", "dense"),
        complexity=_count,
        text="A density that is a sum of bell curves; a row belongs to the one that most likely made it.",
    ),
)
