"""Scores of columns by themselves, as sums over rows: what scikit-learn's functions of X and y give, in any place."""

import warnings
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc
from sklearn.feature_selection import chi2, f_classif, f_regression, r_regression

from mercer._source import Source
from mercer._statistic.by_class import ClassMoments, ClassMomentSums, flat_columns
from mercer._statistic.extent import Extent
from mercer._statistic.moments import Moments
from mercer._statistic.pair import Pair
from mercer._types import Array
from mercer.errors import DataError

Scores = tuple[Array, Array | None]


def compare_means(subject: str, source: Source) -> Generator[Any, Any, Scores]:
    """Compare the means of classes by analysis of variance: F and its p-value, as ``f_classif``."""
    sums: ClassMomentSums = (yield ClassMoments("diagonal")).plainly()
    n_rows, n_classes = sums.weight, len(sums.classes)
    within, between = sums.within(), sums.between()
    flat = flat_columns((within + between) / n_rows, np.abs(sums.means).max(axis=0))
    if flat.any():
        warnings.warn(f"{subject}: Features {np.flatnonzero(flat)} are constant.", UserWarning, stacklevel=2)
    within, between = np.where(flat, 0.0, within), np.where(flat, 0.0, between)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = (between / (n_classes - 1)) / (within / (n_rows - n_classes))
    return scores, fdtrc(n_classes - 1, n_rows - n_classes, scores)


def compare_counts(subject: str, source: Source) -> Generator[Any, Any, Scores]:
    """Compare the sums of classes with what independence would give: chi-square and its p-value, as ``chi2``."""
    pair = yield Pair(ClassMoments("diagonal"), Extent())
    sums: ClassMomentSums = pair.first.plainly()
    if (pair.second.known[0] < 0).any():
        raise DataError(f"{subject}: Input X must be non-negative for chi2. Give counts, or another score_func.")
    observed = sums.means * sums.weights[:, None]
    expected = (sums.weights / sums.weight)[:, None] * observed.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = ((observed - expected) ** 2 / expected).sum(axis=0)
    return scores, chdtrc(len(sums.classes) - 1, scores)


def _correlate(source: Source) -> Generator[Any, Any, tuple[Array, float]]:
    """Return the correlation of each column with the target, 0 where one is constant, and the number of rows."""
    sums = yield Moments(diagonal=True)
    scatter, spread = np.asarray(sums.scatter), float(np.asarray(sums.y_scatter).ravel()[0])
    flat = flat_columns(scatter / sums.weight, np.asarray(sums.mean))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.asarray(sums.cross)[:, 0] / np.sqrt(scatter) / np.sqrt(spread)
    return np.where(flat | ~np.isfinite(found), 0.0, np.clip(found, -1.0, 1.0)), sums.weight


def correlate(subject: str, source: Source) -> Generator[Any, Any, Scores]:
    """Measure the correlation of columns with the target, as ``r_regression``; there is no p-value."""
    scores, _ = yield from _correlate(source)
    return scores, None


def compare_slopes(subject: str, source: Source) -> Generator[Any, Any, Scores]:
    """Test the slope of the target along each column: F and its p-value, as ``f_regression``."""
    found, n_rows = yield from _correlate(source)
    with np.errstate(divide="ignore"):
        scores = found**2 / (1 - found**2) * (n_rows - 2)
    p_values = fdtrc(1, n_rows - 2, scores)
    return np.minimum(scores, np.finfo(np.float64).max), p_values


# scikit-learn's functions, with the targets they take and their sums.
SUMMED: dict[Any, tuple[str, Callable[[str, Source], Generator[Any, Any, Scores]]]] = {
    f_classif: ("labels", compare_means),
    chi2: ("labels", compare_counts),
    f_regression: ("numbers", compare_slopes),
    r_regression: ("numbers", correlate),
}
