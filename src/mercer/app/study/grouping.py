"""Group rows by each clustering method, and measure how separate and how stable the groups are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import ParameterGrid

from mercer._base.candidate import Candidate, Shape
from mercer.metrics import silhouette_interval

# Rows on which the silhouette is measured.
_SILHOUETTE_ROWS = 1000
# Pairs of random halves on which the stability is measured.
_PAIRS = 6


@dataclass(frozen=True)
class Grouping:
    """One clustering: its best setting, the groups, and the silhouette times the share of the rows in a group."""

    offer: Candidate
    model: Any
    setting: dict[str, Any]
    labels: np.ndarray
    score: float

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(np.unique(self.labels[self.labels >= 0]))


def group_rows(offer: Candidate, numbers: np.ndarray, seed: int) -> tuple[Grouping, list[Any]]:
    """Return the best setting of one clustering method, and the fitted models of all settings."""
    shape = Shape(len(numbers), numbers.shape[1], 0, seed)
    settings = list(ParameterGrid(offer.settings(shape)))
    models, groupings = [], []
    for setting in settings:
        model = clone(offer.make(shape)).set_params(**setting)
        labels = np.asarray(model.fit_predict(numbers))
        models.append(model)
        groupings.append(Grouping(offer, model, dict(setting), labels, _measure_separation(numbers, labels, seed)))
    # Mixtures have a likelihood, and BIC charges for each parameter; other methods are compared by separation.
    if hasattr(models[0], "bic"):
        return groupings[int(np.argmin([model.bic(numbers) for model in models]))], models
    return max(groupings, key=lambda grouping: grouping.score), models


def _measure_separation(numbers: np.ndarray, labels: np.ndarray, seed: int) -> float:
    """Return the silhouette of the groups times the share of the rows in a group; 0 if there is only one group."""
    kept = labels >= 0
    n_groups = len(np.unique(labels[kept]))
    if n_groups < 2 or kept.sum() <= n_groups:
        return 0.0
    silhouette = silhouette_interval(numbers[kept], labels[kept], sample_size=_SILHOUETTE_ROWS, random_state=seed)
    return float(silhouette.score * kept.mean())


def make_bic_curve(models: list[Any], numbers: np.ndarray) -> tuple[list[int], list[float]]:
    """Return the numbers of components tried and the least BIC per row of each, over the kinds of covariance."""
    table: dict[int, float] = {}
    for model in models:
        value = float(model.bic(numbers)) / len(numbers)
        table[model.n_components] = min(value, table.get(model.n_components, np.inf))
    numbers_tried = sorted(table)
    return numbers_tried, [table[count] for count in numbers_tried]


def measure_stability(model: Any, numbers: np.ndarray, seed: int) -> float:
    """Return how well the groups of two random halves agree on common rows: the mean adjusted Rand index."""
    random = np.random.default_rng(seed)
    agreed = []
    for _ in range(_PAIRS):
        # Two halves of n / 2 rows have about n / 4 rows in common, on which their groups are compared.
        halves = [np.sort(random.choice(len(numbers), len(numbers) // 2, replace=False)) for _ in range(2)]
        labels = [np.asarray(clone(model).fit_predict(numbers[half])) for half in halves]
        _, first, second = np.intersect1d(halves[0], halves[1], return_indices=True)
        agreed.append(adjusted_rand_score(labels[0][first], labels[1][second]))
    return float(np.mean(agreed))


def name_groups(labels: np.ndarray) -> list[str]:
    """Return the name of the group of each row, as the report and ``mercer predict`` write it.

    Both count the labels of the model from 1; the label -1 means that a row is in no group.
    """
    return [f"group {int(label) + 1}" if label >= 0 else "no group" for label in labels]
