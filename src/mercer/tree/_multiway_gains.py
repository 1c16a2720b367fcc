"""Gains of splits with many branches: one for each category or two for numbers, and one for missing values."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._solver.request import run_large

# Class sums held at a time while thresholds are tried: 32 MiB.
_CELLS = 2**22


@dataclass(frozen=True)
class Gain:
    """The gain of a split of one column, its split information in bits, and its threshold if it is numeric."""

    gain: float
    information: float
    threshold: float = float("nan")


def compute_impurities(weights: Any, criterion: str) -> np.ndarray:
    """Return the impurity of class weights along the last axis: entropy in bits, or Gini; zero without weight."""
    weights = np.asarray(weights, dtype=np.float64)
    total = weights.sum(axis=-1)
    if criterion == "gini":
        squares = (weights**2).sum(axis=-1)
        return np.where(total > 0, 1.0 - squares / np.where(total > 0, total, 1.0) ** 2, 0.0)
    # With shares p = w / W the entropy -sum p log p is log W - (sum w log w) / W: no division by each weight.
    logs = weights * np.log2(np.where(weights > 0, weights, 1.0))
    safe = np.where(total > 0, total, 1.0)
    return np.maximum(np.log2(safe) - logs.sum(axis=-1) / safe, 0.0)


def judge_branches(branches: np.ndarray, missing: np.ndarray, criterion: str, fractional: bool) -> tuple[Any, Any]:
    """Return gain and split information from the class weights of `branches` (..., b, K) and `missing` (..., K).

    With w the weight and I the impurity, the gain is I(all) - sum_b w_b I_b / w, where missing rows are one more
    branch. If `fractional`, missing rows are shared among branches, and the gain is that of the known rows times their
    share of the weight. The split information is the entropy of the weights of all parts.
    """
    known = branches.sum(axis=-2)
    whole = known + missing
    total = whole.sum(axis=-1)
    weight = branches.sum(axis=-1)
    inside = (weight * compute_impurities(branches, criterion)).sum(axis=-1)
    lost = missing.sum(axis=-1)
    if fractional:
        # I(known) less the weighted impurities, times the share of the known rows.
        gain = (known.sum(axis=-1) * compute_impurities(known, criterion) - inside) / total
    else:
        # Missing rows are one more branch.
        gain = compute_impurities(whole, criterion) - (inside + lost * compute_impurities(missing, criterion)) / total
    parts = np.concatenate([weight, lost[..., None]], axis=-1)
    return np.maximum(gain, 0.0), compute_impurities(parts, "entropy")


def find_categorical_gain(
    codes: np.ndarray, classes: np.ndarray, n_codes: int, criterion: str, fractional: bool, least: int
) -> Gain | None:
    """Return the gain of a split with a branch for each category; None unless two or more branches have enough rows.

    Parameters
    ----------
    codes : (m,) categories of the rows, -1 where missing
    classes : (m, K) weights in the column of each row's class
    """
    # The code -1 of missing values adds to the last row.
    sums = np.zeros((n_codes + 1, classes.shape[1]))
    # Code -1 counts in the last row.
    np.add.at(sums, codes, classes)
    branches, missing = sums[:-1], sums[-1]
    weight = branches.sum(axis=1)
    held = weight[weight > 0]
    n_branches = len(held) + int(not fractional and missing.sum() > 0)
    if n_branches < 2 or np.bincount(codes + 1, minlength=n_codes + 1)[1:][weight > 0].min() < least:
        return None
    gain, information = judge_branches(branches[weight > 0], missing, criterion, fractional)
    return Gain(float(gain), float(information))


def find_numeric_gains(
    values: np.ndarray, classes: np.ndarray, criterion: str, fractional: bool, least: int
) -> list[Gain | None]:
    """Return the gain of the best threshold of each column, half-way between two values; None if there is none.

    Parameters
    ----------
    values : (m, d) with NaN where missing
    classes : (m, K) weights in the column of each row's class
    """
    m, d = values.shape
    step = max(1, _CELLS // (m * classes.shape[1]))
    found: list[Gain | None] = []
    for first in range(0, d, step):
        part = values[:, first : first + step]
        # Sorting a value takes as long as ten other operations.
        find = partial(_find_column_gains, part, classes, criterion, fractional, least)
        found += run_large(find, part.size * (10 + classes.shape[1]))
    return found


def _find_column_gains(
    values: np.ndarray, classes: np.ndarray, criterion: str, fractional: bool, least: int
) -> list[Gain | None]:
    m, d = values.shape
    if m < 2:
        return [None] * d
    order = np.argsort(values, axis=0, kind="stable")
    ranked = np.take_along_axis(values, order, axis=0)
    # NaN sorts last: left[i] are the class weights of the first i + 1 rows, known ones first.
    left = np.cumsum(classes[order], axis=0)
    n_known = m - np.isnan(values).sum(axis=0)
    known = left[np.maximum(n_known - 1, 0), np.arange(d)]
    missing = np.maximum(classes.sum(axis=0) - known, 0.0) * (n_known < m)[:, None]
    left = left[:-1]
    # Differences of sums may be -1e-17 where they are zero; a negative weight would make the logarithm NaN.
    branches = np.stack([left, np.maximum(known - left, 0.0)], axis=-2)
    gain, information = judge_branches(branches, np.broadcast_to(missing, left.shape), criterion, fractional)
    before = np.arange(1, m)[:, None]
    # A threshold lies between two different values only; comparisons with NaN are false, so missing rows are never
    # split.
    allowed = (ranked[1:] > ranked[:-1]) & (before >= least) & (n_known - before >= least)
    gain = np.where(allowed, gain, -1.0)
    # The rounding of sums depends on the order of rows: of all thresholds within it of the best, the lowest is taken.
    place = (gain >= gain.max(axis=0) - 1e-12).argmax(axis=0)
    columns = np.arange(d)
    low, high = ranked[place, columns], ranked[place + 1, columns]
    # Halves are added, since low + high can overflow. Where no number lies between, the lower one is the threshold.
    middle = low / 2 + high / 2
    middle = np.where((middle >= low) & (middle < high), middle, low)
    return [
        Gain(float(gain[p, j]), float(information[p, j]), float(middle[j])) if gain[p, j] >= 0 else None
        for j, p in enumerate(place)
    ]
