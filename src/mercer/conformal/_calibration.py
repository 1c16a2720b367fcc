"""What conformal regressors and classifiers share: the rows kept apart, groups with a promise of their own, and
shifts."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._base import seed_sequence
from mercer.errors import DataError


def deal_rows(wrapper: Any, n: int, size: float, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the fit and those kept apart, both in their order; `size` is a share or a number of rows."""
    kept = math.ceil(size * n) if isinstance(size, float) else int(size)
    if not 0 < kept < n:
        raise DataError(
            f"{type(wrapper).__name__}: calibration_size={size!r} keeps {kept} rows apart of n_samples={n}, which "
            f"leaves none for the fit. Give more rows, or use method='cv+'."
        )
    order = np.random.default_rng(seed_sequence(random_state)).permutation(n)
    return np.sort(order[kept:]), np.sort(order[:kept])


def call_for_rows(wrapper: Any, name: str, function: Callable[[Any], Any], X: Any) -> np.ndarray:
    """Return what a function of the user says of each row; raise DataError if it does not say one thing of each."""
    values = np.asarray(function(X))
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if values.shape != (n,):
        raise DataError(
            f"{type(wrapper).__name__}: {name} must return a value for each of {n} rows; got the shape {values.shape}."
        )
    return values


def check_groups(wrapper: Any, known: np.ndarray, groups: np.ndarray) -> None:
    """Raise DataError if there is a group without scores: nothing can be promised to it."""
    strange = np.setdiff1d(groups, known)
    if len(strange):
        raise DataError(
            f"{type(wrapper).__name__}: no row kept for calibration is in the group {str(strange[0])!r} of condition. "
            f"Keep more rows, or join groups."
        )


def weigh_rows(wrapper: Any, function: Callable[[Any], Any], X: Any) -> np.ndarray:
    """Return the likelihood ratios of rows; raise DataError unless they are finite and not negative."""
    values = call_for_rows(wrapper, "likelihood_ratio", function, X).astype(np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise DataError(
            f"{type(wrapper).__name__}: likelihood_ratio must return finite numbers that are not negative; got "
            f"{values[~np.isfinite(values) | (values < 0)][0]:g}."
        )
    return values


def find_shifted(scores: np.ndarray, shares: np.ndarray, own: np.ndarray, coverage: float) -> np.ndarray:
    """Return the quantile of weighted scores for new rows with their own weights, whose scores may be infinite."""
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(shares[order])
    total = reached[-1] + own
    place = np.searchsorted(reached, coverage * total * (1.0 - 1e-12))
    values = np.append(scores[order], np.inf)
    return np.asarray(np.where(total > 0, values[place], np.inf))
