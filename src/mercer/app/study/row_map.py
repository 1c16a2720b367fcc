"""Map the rows to a plane by the principal components of the encoded columns."""

from typing import Any

import numpy as np

from mercer.app.study.dataset import Dataset
from mercer.app.study.diagnosis import measure_losses
from mercer.app.study.recipe import make_encoder
from mercer.app.study.record import Map
from mercer.decomposition import PCA
from mercer.preprocessing import StandardScaler

# Points on the map; more would hide each other and make the page slow.
_MOST_POINTS = 1500


def encode_rows(dataset: Dataset) -> np.ndarray:
    """Return the columns as numbers with mean zero and variance one."""
    rows = make_encoder(dataset, marked=False).fit_transform(dataset.X, None)
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    return StandardScaler().fit_transform(dense)


def map_rows(dataset: Dataset, predictions: Any, seed: int, groups: list[str] | None = None) -> Map | None:
    """Return the rows in a plane, with the class, cluster or target of each, and its loss while it was unseen."""
    kept = np.arange(len(dataset))
    if len(kept) > _MOST_POINTS:
        kept = np.sort(np.random.default_rng(seed).choice(len(kept), _MOST_POINTS, replace=False))
    numbers = encode_rows(dataset.take(kept))
    if numbers.shape[1] < 2:
        return None
    pca = PCA(2, random_state=seed).fit(numbers)
    places = pca.transform(numbers)
    shares = [float(share) for share in pca.explained_variance_ratio_]
    wrong: list[float] = []
    if predictions is not None:
        true = np.searchsorted(dataset.classes, dataset.y) if dataset.classes else dataset.y
        wrong = measure_losses(true[kept], predictions[kept], dataset.task).tolist()
    names = [str(label) for label in dataset.y[kept]] if dataset.classes else []
    if groups is not None:
        names = [groups[row] for row in kept]
    return Map(
        "principal components",
        places[:, 0].tolist(),
        places[:, 1].tolist(),
        names,
        dataset.y[kept].tolist() if dataset.task == "regression" else [],
        wrong,
        shares,
        f"The two axes hold {100 * sum(shares):.3g} % of the variance of the encoded columns.",
    )
