"""Sums over the entries of parameters, in any array library; one order of summation, whatever a BLAS would do."""

from typing import Any

import numpy as np

from mercer._source.namespace import namespace_of


def inner(a: Any, b: Any) -> float:
    """Return the sum of the products of entries."""
    if isinstance(a, np.ndarray):
        # np.sum gives the same bits and takes twice as long for few entries.
        return float(np.add.reduce(a * b, axis=None, dtype=np.float64))
    return float(namespace_of(a).sum(a * b))


def largest_entry(a: Any) -> float:
    """Return the largest absolute entry; zero if there are none, NaN if one is NaN."""
    if isinstance(a, np.ndarray):
        return float(np.maximum.reduce(np.abs(a), axis=None, initial=0.0))
    xp = namespace_of(a)
    return float(xp.max(xp.abs(a)))
