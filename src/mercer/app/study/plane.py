"""A map of the rows: principal components of the encoded columns."""

from typing import Any

import numpy as np

from mercer.app.study.diagnosis import row_losses
from mercer.app.study.material import Material
from mercer.app.study.recipe import encoder_for
from mercer.app.study.record import Map
from mercer.decomposition import PCA
from mercer.preprocessing import StandardScaler

__all__ = ["encoded", "map_rows"]

_MOST_POINTS = 1500


def encoded(material: Material) -> np.ndarray:
    """The columns as numbers of spread one."""
    rows = encoder_for(material).fit_transform(material.X, None)
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    return StandardScaler().fit_transform(dense)


def map_rows(material: Material, told: Any, seed: int, groups: list[str] | None = None) -> Map | None:
    """The rows in a plane, coloured by class, cluster or target, and by how wrong they were while unseen."""
    kept = np.arange(len(material))
    if len(kept) > _MOST_POINTS:
        kept = np.sort(np.random.default_rng(seed).choice(len(kept), _MOST_POINTS, replace=False))
    numbers = encoded(material.take(kept))
    if numbers.shape[1] < 2:
        return None
    pca = PCA(2, random_state=seed).fit(numbers)
    places = pca.transform(numbers)
    shares = [float(one) for one in pca.explained_variance_ratio_]
    wrong: list[float] = []
    if told is not None:
        true = np.searchsorted(material.classes, material.y) if material.classes else material.y
        wrong = row_losses(true[kept], told[kept], material.task).tolist()
    names = [str(one) for one in material.y[kept]] if material.classes else []
    if groups is not None:
        names = [groups[one] for one in kept]
    return Map(
        "principal components",
        places[:, 0].tolist(),
        places[:, 1].tolist(),
        names,
        material.y[kept].tolist() if material.task == "regression" else [],
        wrong,
        shares,
        f"The two directions of widest spread hold {100 * sum(shares):.3g} % of the variance of the encoded columns.",
    )
