"""Estimate the best score that any model could reach from these columns."""

import numpy as np

from mercer.app.study.dataset import Dataset, draw_rows
from mercer.app.study.formatting import spell_amount
from mercer.app.study.metrics import Metric
from mercer.app.study.row_map import encode_rows
from mercer.decision import neighbor_bounds
from mercer.neighbors import NearestNeighbors

# Rows among which neighbours are searched.
_MOST_ROWS = 4000
# With fewer rows of a class its neighbours are too far away.
_FEWEST_OF_A_CLASS = 30
# Both estimates extrapolate to neighbours at distance zero, which needs few columns and many rows.
_MOST_COLUMNS = 12
_FEWEST_ROWS = 200
# Neighbours of each row in the Gamma test.
_NEIGHBOURS = 10


def estimate_best(dataset: Dataset, metric: Metric, score: float, seed: int) -> tuple[float | None, str]:
    """Return an estimate of the best score that any model could reach, or None, and a sentence about it."""
    if dataset.task == "regression":
        return _bound_regression(dataset, metric, score, seed)
    return _bound_classification(dataset, metric, score, seed)


def count_contradictions(dataset: Dataset) -> int:
    """Count rows that equal another row in all columns but have a different target."""
    groups = dataset.X.groupby(list(dataset.X.columns), dropna=False, sort=False).ngroup().to_numpy()
    _, first = np.unique(groups, return_index=True)
    same = dataset.y == dataset.y[first][groups]
    mixed = np.unique(groups[~same])
    return int(np.isin(groups, mixed).sum())


def _bound_classification(dataset: Dataset, metric: Metric, score: float, seed: int) -> tuple[float | None, str]:
    """Bound the accuracy of any classifier by the error of nearest neighbours (Cover and Hart)."""
    if metric.scorer not in ("accuracy", "balanced_accuracy"):
        return None, f"There is no estimate of the best possible {metric.words}."
    counts = np.array([(dataset.y == name).sum() for name in dataset.classes])
    if counts.min() < _FEWEST_OF_A_CLASS:
        return None, f"The rarest class has {counts.min()} rows, too few to estimate the best possible score."
    random = np.random.default_rng(seed)
    sample = draw_rows(dataset, _MOST_ROWS, seed)
    if metric.scorer == "balanced_accuracy":
        # With equally many rows of each class, the error rate is that of balanced accuracy.
        each = min(int(counts.min()), _MOST_ROWS // len(counts))
        members = [np.flatnonzero(dataset.y == name) for name in dataset.classes]
        sample = dataset.take(np.sort(np.concatenate([random.choice(rows, each, replace=False) for rows in members])))
    numbers = encode_rows(sample)
    if numbers.shape[1] > _MOST_COLUMNS:
        n_columns = numbers.shape[1]
        text = (
            f"With {n_columns} encoded columns, the nearest rows are too far away to estimate the best possible score."
        )
        return None, text
    half = random.permutation(len(sample))[: len(sample) // 2]
    bounds, fewer = neighbor_bounds(numbers, sample.y), neighbor_bounds(numbers[half], sample.y[half])
    if fewer.neighbor_error > bounds.neighbor_error + bounds.standard_error:
        return (
            None,
            "There are too few rows to estimate the best possible score: the error of nearest neighbours still falls.",
        )
    best = max(1 - bounds.lower, score)
    text = (
        f"For {100 * bounds.neighbor_error:.3g} % of the rows the nearest other row has a different class. By the "
        f"bound of Cover and Hart, no model that uses these columns can score much above {100 * best:.3g} %."
    )
    return float(best), text


def _bound_regression(dataset: Dataset, metric: Metric, score: float, seed: int) -> tuple[float | None, str]:
    """Bound the R² of any regression by the noise between near rows."""
    if metric.scorer != "r2":
        return None, f"There is no estimate of the best possible {metric.words}."
    sample = draw_rows(dataset, _MOST_ROWS, seed)
    numbers = encode_rows(sample)
    n_rows, n_columns = numbers.shape
    # Neighbours in many columns are far apart, and their differences are then signal and not noise.
    if n_columns > _MOST_COLUMNS or n_rows < _FEWEST_ROWS:
        text = f"With {n_rows} rows and {n_columns} encoded columns the rows are too far apart to estimate the noise."
        return None, text
    noise = _estimate_noise(numbers, sample.y)
    # R^2 of a perfect model: 1 - noise / variance of the target.
    best = 1 - noise / float(np.var(sample.y))
    # An estimate that the model has reached already bounds nothing.
    if best <= score:
        return (
            None,
            "The estimated noise is not below the error of the model, so there is no estimate of the best possible R².",
        )
    text = (
        f"Rows that are close to each other differ as if the noise had a standard deviation of "
        f"{spell_amount(float(np.sqrt(noise)))}. No model that uses these columns can reach an R² much above "
        f"{best:.3g}. (This is the Gamma test, which needs many rows and few columns.)"
    )
    return float(best), text


def _estimate_noise(numbers: np.ndarray, y: np.ndarray) -> float:
    """Estimate the variance of the noise by the Gamma test: half the squared difference of neighbours at distance 0."""
    near = NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(numbers)
    distance, row = near.kneighbors()
    delta = (distance**2).mean(axis=0)
    gamma = ((y[row] - y[:, None]) ** 2).mean(axis=0) / 2
    slope, start = np.polyfit(delta, gamma, 1)
    # The intercept of gamma(p) over delta(p), p = 1 ... _NEIGHBOURS, estimates the variance of the noise.
    return float(np.clip(start, 0, gamma[0])) if slope > 0 else float(gamma.mean())
