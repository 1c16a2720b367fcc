"""What nobody could do better: the part of the error that these columns leave to chance."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mercer.app.study.material import Material, draw
from mercer.app.study.metrics import Metric
from mercer.app.study.plane import encoded
from mercer.decision import neighbor_bounds

__all__ = ["contradictions", "floor"]

_MOST_ROWS = 4000
_FEWEST_OF_A_CLASS = 30
# Neighbours are near only where columns are few beside rows.
_MOST_COLUMNS = 12
_FEWEST_ROWS = 200
_NEIGHBOURS = 10


def floor(material: Material, metric: Metric, score: float, seed: int) -> tuple[float | None, str]:
    """An estimate of the best score that anyone could reach from these columns, and how it was made."""
    if material.task == "regression":
        return _best_regression(material, metric, score, seed)
    return _best_classification(material, metric, score, seed)


def contradictions(material: Material) -> int:
    """Rows that have the same columns as another row and another target."""
    groups = material.X.groupby(list(material.X.columns), dropna=False, sort=False).ngroup().to_numpy()
    _, first = np.unique(groups, return_index=True)
    same = material.y == material.y[first][groups]
    mixed = np.unique(groups[~same])
    return int(np.isin(groups, mixed).sum())


def _best_classification(material: Material, metric: Metric, score: float, seed: int) -> tuple[float | None, str]:
    if metric.scorer not in ("accuracy", "balanced_accuracy"):
        return None, f"No bound on the {metric.words} that anyone could reach can be made from neighbours."
    counts = np.array([(material.y == name).sum() for name in material.classes])
    if counts.min() < _FEWEST_OF_A_CLASS:
        return None, f"The rarest class has {counts.min()} rows: too few to say what anyone could reach."
    random = np.random.default_rng(seed)
    sample = draw(material, _MOST_ROWS, seed)
    if metric.scorer == "balanced_accuracy":
        # Errors count the same in each class where each class has as many rows.
        each = min(int(counts.min()), _MOST_ROWS // len(counts))
        members = [np.flatnonzero(material.y == name) for name in material.classes]
        sample = material.take(np.sort(np.concatenate([random.choice(one, each, replace=False) for one in members])))
    numbers = encoded(sample)
    if numbers.shape[1] > _MOST_COLUMNS:
        return None, f"Among {numbers.shape[1]} encoded columns no neighbour is near enough to say what is possible."
    half = random.permutation(len(sample))[: len(sample) // 2]
    bounds, fewer = neighbor_bounds(numbers, sample.y), neighbor_bounds(numbers[half], sample.y[half])
    if fewer.neighbor_error > bounds.neighbor_error + bounds.standard_error:
        return None, "Neighbours still come nearer with more rows: it is too early to say what anyone could reach."
    best = max(1 - bounds.lower, score)
    text = (
        f"The nearest neighbour of a row has another class {100 * bounds.neighbor_error:.3g} % of the time: by Cover "
        f"and Hart's bound nobody gets much above {100 * best:.3g} %, as far as neighbours can tell."
    )
    return float(best), text


def _best_regression(material: Material, metric: Metric, score: float, seed: int) -> tuple[float | None, str]:
    if metric.scorer != "r2":
        return None, f"No bound on the {metric.words} that anyone could reach was made."
    sample = draw(material, _MOST_ROWS, seed)
    numbers = encoded(sample)
    n_rows, n_columns = numbers.shape
    if n_columns > _MOST_COLUMNS or n_rows < _FEWEST_ROWS:
        text = f"With {n_rows} rows of {n_columns} encoded columns no rows are near enough to each other to tell noise."
        return None, text
    noise = _noise(numbers, sample.y)
    best = 1 - noise / float(np.var(sample.y))
    if best <= score:
        return None, "The differences between near rows tell no noise below what the model leaves."
    text = (
        f"Rows that are near each other differ as if noise had a spread of {np.sqrt(noise):.3g}, so that nobody gets "
        f"much above an R² of {best:.3g} from these columns (the Gamma test: it wants many rows and few columns)."
    )
    return float(best), text


def _noise(numbers: np.ndarray, y: np.ndarray) -> float:
    """Variance of the noise by the Gamma test: half the squared difference between neighbours, at distance zero."""
    near = NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(numbers)
    distance, row = near.kneighbors()
    delta = (distance**2).mean(axis=0)
    gamma = ((y[row] - y[:, None]) ** 2).mean(axis=0) / 2
    slope, start = np.polyfit(delta, gamma, 1)
    return float(np.clip(start, 0, gamma[0])) if slope > 0 else float(gamma.mean())
