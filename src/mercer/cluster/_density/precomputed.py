"""Matrices of distances that users give, checked."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._base.validation import check_rows
from mercer.errors import DataError

__all__ = ["checked_distances", "spread_out"]

Array = Any


def checked_distances(estimator: Any, X: Any, **options: Any) -> Array:
    """A square matrix of distances without negative ones; dense, or CSR with what is near."""
    D = check_rows(estimator, X, threads=estimator._threads(), accept_sparse="csr", **options)
    subject = type(estimator).__name__
    if D.shape[0] != D.shape[1]:
        message = (
            f"{subject}: The precomputed distance matrix must be square (n_samples x n_samples); it has shape "
            f"{D.shape}. Give one row and one column per sample."
        )
        raise DataError(message)
    values = D.data if issparse(D) else D
    least = np.min(values, initial=0.0)
    if least < 0:
        message = (
            f"{subject}: Negative values in data passed to precomputed distance matrix; got {least:g}. Give "
            f"distances, not similarities."
        )
        raise DataError(message)
    return D


def spread_out(D: Array) -> Array:
    """Some rows of a sparse matrix of distances as a dense one: what is not stored is infinitely far."""
    if not issparse(D):
        return D
    dense = np.full(D.shape, np.inf)
    numbers = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    dense[numbers, D.indices] = D.data
    return dense
