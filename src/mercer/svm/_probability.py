"""Probabilities of classes from the scores of machines, such that the most probable class is the one decided for.

Platt's sigmoid 1 / (1 + exp(A f + B)) crosses one half where f = -B / A, not where the machine decides. Here the score
zero keeps probability one half: with two classes the log-odds are s+ f for positive scores and s- f for negative ones,
two slopes in place of slope and shift. With more, each class has the sum of log sigmoid(s f) over its machines, times a
temperature, through a softmax. The two numbers minimise the log-loss of scores that cross-validation gives, for rows
that each machine has not seen.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from mercer._plain import plain

__all__ = ["Calibration", "calibrate"]

Array = Any
_FOLDS = 5


@plain
@dataclass(frozen=True)
class Calibration:
    """Two positive numbers: slopes above and below zero for two classes, else slope and temperature."""

    first: float = 1.0
    second: float = 1.0

    def probabilities(self, scores: Array, n_classes: int, one_against_one: bool) -> Array:
        """The probabilities (n, n_classes) at scores (n, machines)."""
        evidence = self._evidence(np.asarray(scores, dtype=np.float64), n_classes, one_against_one)
        evidence -= evidence.max(axis=1, keepdims=True)
        found = np.exp(evidence)
        return (found / found.sum(axis=1, keepdims=True)).astype(scores.dtype)

    def _evidence(self, scores: Array, n_classes: int, one_against_one: bool) -> Array:
        if n_classes == 2:
            odds = np.where(scores[:, 0] > 0, self.first, self.second) * scores[:, 0]
            return np.stack([np.zeros_like(odds), odds], axis=1)
        if not one_against_one:
            return self.second * -np.logaddexp(0.0, -self.first * scores)
        sums = np.zeros((len(scores), n_classes))
        for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
            sums[:, i] -= np.logaddexp(0.0, -self.first * scores[:, k])
            sums[:, j] -= np.logaddexp(0.0, self.first * scores[:, k])
        return self.second * sums


def calibrate(machine: Any, X: Any, y: Any, sample_weight: Any) -> Calibration:
    """The calibration by cross-validation in at most five folds, stratified; one and one where a class has one row."""
    labels = np.asarray(y).ravel()
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    used = np.flatnonzero(weight > 0)
    classes, numbers, counts = np.unique(labels[used], return_inverse=True, return_counts=True)
    n_folds = int(min(_FOLDS, counts.min()))
    if n_folds < 2:
        return Calibration()
    scores = None
    model = clone(machine).set_params(probability=False, max_time=None)
    seed = machine.random_state if isinstance(machine.random_state, int | np.random.RandomState) else None
    folds = StratifiedKFold(n_folds, shuffle=seed is not None, random_state=seed)
    for seen, unseen in folds.split(used, numbers):
        fitted = model.fit(_rows(machine, X, used[seen], used[seen]), labels[used[seen]], weight[used[seen]])
        found = fitted._scores(_rows(machine, X, used[unseen], used[seen]))
        scores = np.empty((len(used), found.shape[1])) if scores is None else scores
        scores[unseen] = found
    one_against_one = machine._is_one_against_one
    return _fitted(scores, numbers, weight[used], len(classes), one_against_one)


def _fitted(scores: Array, numbers: Array, weight: Array, n_classes: int, one_against_one: bool) -> Calibration:
    """The two numbers of least log-loss, searched by their logarithms."""

    def loss(logarithms: Array) -> float:
        found = Calibration(*np.exp(logarithms)).probabilities(scores, n_classes, one_against_one)
        hit = found[np.arange(len(found)), numbers]
        # A weak pull towards one keeps slopes finite where cross-validation makes no mistake.
        return float(-np.sum(weight * np.log(np.maximum(hit, 1e-300))) + 0.01 * np.sum(np.square(logarithms)))

    start = np.zeros(2)
    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-8, "maxiter": 400})
    return Calibration(*(float(value) for value in np.exp(np.clip(found.x, -10.0, 10.0))))


def _rows(machine: Any, X: Any, rows: Array, columns: Array) -> Any:
    """Some rows, whatever holds them; of kernel values some columns too."""
    table = csr_array(X) if issparse(X) else X.iloc if hasattr(X, "iloc") else np.asarray(X)
    part = table[rows]
    return part[:, columns] if isinstance(machine.kernel, str) and machine.kernel == "precomputed" else part
