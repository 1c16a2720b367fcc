"""Probabilities of classes from the scores of machines, such that the most probable class is the one decided for.

Platt's sigmoid 1 / (1 + exp(A f + B)) crosses one half at f = -B / A, not at zero where the machine decides. Here the
score zero keeps probability one half. With two classes the log-odds are s+ f for positive scores and s- f for negative
ones: two slopes instead of a slope and a shift. With more classes, each class has the sum of log sigmoid(s f) over its
machines, times a temperature t, and a softmax makes probabilities of them. The two parameters minimise the log-loss of
cross-validated scores, that is, of rows that the machine which scores them has not seen.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.base import clone

from mercer._plain import plain
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array

# Folds of the cross-validation, as in LIBSVM.
_FOLDS = 5


@plain
@dataclass(frozen=True)
class Calibration:
    """Two positive parameters: with two classes the slopes above and below zero, else slope and temperature."""

    first: float = 1.0
    second: float = 1.0

    def compute_probabilities(self, scores: Array, n_classes: int, one_against_one: bool) -> Array:
        """Return the probabilities of shape (n, n_classes) at scores of shape (n, machines)."""
        evidence = self._compute_evidence(np.asarray(scores, dtype=np.float64), n_classes, one_against_one)
        evidence -= evidence.max(axis=1, keepdims=True)
        odds = np.exp(evidence)
        return (odds / odds.sum(axis=1, keepdims=True)).astype(scores.dtype)

    def _compute_evidence(self, scores: Array, n_classes: int, one_against_one: bool) -> Array:
        """Return the log-probabilities up to a constant by row."""
        if n_classes == 2:
            # Two slopes, one for each side of zero.
            odds = np.where(scores[:, 0] > 0, self.first, self.second) * scores[:, 0]
            return np.stack([np.zeros_like(odds), odds], axis=1)
        if not one_against_one:
            return self.second * -np.logaddexp(0.0, -self.first * scores)
        sums = np.zeros((len(scores), n_classes))
        for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
            # log sigmoid(s f) for the first class of the pair, log sigmoid(-s f) for the second.
            sums[:, i] -= np.logaddexp(0.0, -self.first * scores[:, k])
            sums[:, j] -= np.logaddexp(0.0, self.first * scores[:, k])
        return self.second * sums


def calibrate(machine: Any, X: Any, y: Any, sample_weight: Any) -> Calibration:
    """Return the calibration of `machine` by stratified cross-validation in at most five folds.

    Where a class has a single row, both parameters are one.
    """
    from sklearn.model_selection import StratifiedKFold

    labels = np.asarray(y).ravel()
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    used = np.flatnonzero(weight > 0)
    classes, codes, counts = np.unique(labels[used], return_inverse=True, return_counts=True)
    n_folds = int(min(_FOLDS, counts.min()))
    # A class with one row cannot be both in the training part and in the held-out part.
    if n_folds < 2:
        return Calibration()
    # The number of machines is known after the first fold.
    scores = None
    model = clone(machine).set_params(probability=False, max_time=None)
    seed = machine.random_state if isinstance(machine.random_state, int | np.random.RandomState) else None
    folds = StratifiedKFold(n_folds, shuffle=seed is not None, random_state=seed)
    for seen, unseen in folds.split(used, codes):
        # Kernel matrices lose columns too: those of rows outside the training part.
        fitted = model.fit(_take_rows(machine, X, used[seen], used[seen]), labels[used[seen]], weight[used[seen]])
        held_out = fitted._scores(_take_rows(machine, X, used[unseen], used[seen]))
        scores = np.empty((len(used), held_out.shape[1])) if scores is None else scores
        scores[unseen] = held_out
    return _fit_parameters(scores, codes, weight[used], len(classes), machine._is_one_against_one)


def _fit_parameters(scores: Array, codes: Array, weight: Array, n_classes: int, one_against_one: bool) -> Calibration:
    """Return the parameters of least log-loss, by a search over their logarithms; `codes` are the classes of rows."""

    def loss(logarithms: Array) -> float:
        probabilities = Calibration(*np.exp(logarithms)).compute_probabilities(scores, n_classes, one_against_one)
        hit = probabilities[np.arange(len(probabilities)), codes]
        # The weak penalty of the logarithms keeps slopes finite where the cross-validation makes no mistake.
        return float(-np.sum(weight * np.log(np.maximum(hit, 1e-300))) + 0.01 * np.sum(np.square(logarithms)))

    start = np.zeros(2)
    minimum = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-8, "maxiter": 400})
    return Calibration(*(float(value) for value in np.exp(np.clip(minimum.x, -10.0, 10.0))))


def _take_rows(machine: Any, X: Any, rows: Array, columns: Array) -> Any:
    """Return some rows of a frame, an array or a sparse matrix; of a kernel matrix, only some columns as well."""
    table = csr_array(X) if is_sparse_matrix(X) else X.iloc if hasattr(X, "iloc") else np.asarray(X)
    part = table[rows]
    return part[:, columns] if isinstance(machine.kernel, str) and machine.kernel == "precomputed" else part
