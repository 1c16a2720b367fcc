"""Groups of infrequent categories, which share one output."""

from numbers import Integral
from typing import Any

import numpy as np

from mercer._types import Array


def find_infrequent(counts: Array, n_rows: int, min_frequency: Any, max_categories: int | None) -> Array | None:
    """Return the indices of the categories that are too rare, or one too many, to stand alone; None if there are none.

    `min_frequency` is a number of rows, or a share of all; among equal counts the first categories are infrequent.
    """
    rare = np.zeros(len(counts), bool)
    if min_frequency is not None:
        least = min_frequency if isinstance(min_frequency, Integral) else min_frequency * n_rows
        rare = counts < least
    # The group of infrequent categories counts as one of the outputs.
    if max_categories is not None and max_categories < len(counts) - rare.sum() + 1:
        alone = max_categories - 1
        rare[np.argsort(counts, kind="stable")[: len(counts) - alone]] = True
    found = np.flatnonzero(rare)
    return found if len(found) else None


def number_groups(n_categories: int, infrequent: Array | None) -> Array:
    """Return the output of each category: frequent ones in their order, then that of all infrequent ones."""
    if infrequent is None:
        return np.arange(n_categories)
    frequent = np.ones(n_categories, bool)
    frequent[infrequent] = False
    return np.where(frequent, np.cumsum(frequent) - 1, frequent.sum())
