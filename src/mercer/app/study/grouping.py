"""Trying ways to group rows: each setting's groups, how far apart they are, and how they hold when rows change."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import ParameterGrid

from mercer._base.candidate import Candidate, Shape
from mercer.metrics import silhouette_interval

__all__ = ["Grouping", "bic_curve", "group", "stability"]

_SILHOUETTE_ROWS = 1000
_PAIRS = 6


@dataclass(frozen=True)
class Grouping:
    """One way to group the rows: its best setting, the groups, and the silhouette times the share of grouped rows."""

    offer: Candidate
    model: Any
    setting: dict[str, Any]
    labels: np.ndarray
    score: float

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(np.unique(self.labels[self.labels >= 0]))


def group(offer: Candidate, numbers: np.ndarray, seed: int) -> tuple[Grouping, list[Any]]:
    """The best setting of one way to group rows, and all fitted models in the order of the settings."""
    shape = Shape(*numbers.shape, 0, seed)
    settings = list(ParameterGrid(offer.settings(shape)))
    models, found = [], []
    for setting in settings:
        model = clone(offer.make(shape)).set_params(**setting)
        labels = np.asarray(model.fit_predict(numbers))
        models.append(model)
        found.append(Grouping(offer, model, dict(setting), labels, _apartness(numbers, labels, seed)))
    if hasattr(models[0], "bic"):
        return found[int(np.argmin([model.bic(numbers) for model in models]))], models
    return max(found, key=lambda one: one.score), models


def _apartness(numbers: np.ndarray, labels: np.ndarray, seed: int) -> float:
    kept = labels >= 0
    n_groups = len(np.unique(labels[kept]))
    if n_groups < 2 or kept.sum() <= n_groups:
        return 0.0
    found = silhouette_interval(numbers[kept], labels[kept], sample_size=_SILHOUETTE_ROWS, random_state=seed)
    return float(found.score * kept.mean())


def bic_curve(models: list[Any], numbers: np.ndarray) -> tuple[list[int], list[float]]:
    """The least BIC a row for each number of components, over the kinds of covariance."""
    table: dict[int, float] = {}
    for model in models:
        value = float(model.bic(numbers)) / len(numbers)
        table[model.n_components] = min(value, table.get(model.n_components, np.inf))
    numbers_tried = sorted(table)
    return numbers_tried, [table[one] for one in numbers_tried]


def stability(model: Any, numbers: np.ndarray, seed: int) -> float:
    """Agreement of the groups of two random halves in the rows they share (adjusted Rand index), mean over pairs."""
    random = np.random.default_rng(seed)
    agreed = []
    for _ in range(_PAIRS):
        halves = [np.sort(random.choice(len(numbers), len(numbers) // 2, replace=False)) for _ in range(2)]
        labels = [np.asarray(clone(model).fit_predict(numbers[half])) for half in halves]
        _, first, second = np.intersect1d(*halves, return_indices=True)
        agreed.append(adjusted_rand_score(labels[0][first], labels[1][second]))
    return float(np.mean(agreed))
