"""Distance matrices that users give: checks, and dense rows of sparse ones."""

from typing import Any

import numpy as np

from mercer._base.validation import check_rows
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows
from mercer.errors import DataError


def check_distances(estimator: Any, X: Any, **options: Any) -> Array:
    """Return a square matrix of distances, dense or CSR; raise if it is not square or has negative entries."""
    D = check_rows(estimator, X, threads=estimator._threads(), accept_sparse="csr", **options)
    subject = type(estimator).__name__
    if D.shape[0] != D.shape[1]:
        raise DataError(
            f"{subject}: The precomputed distance matrix must be square (n_samples x n_samples); it has shape "
            f"{D.shape}. Give one row and one column per sample."
        )
    values = D.data if is_sparse_matrix(D) else D
    least = np.min(values, initial=0.0)
    if least < 0:
        raise DataError(
            f"{subject}: Negative values in data passed to precomputed distance matrix; got {least:g}. Give "
            f"distances, not similarities."
        )
    return D


def densify(D: Rows) -> Array:
    """Return rows of a sparse distance matrix as a dense array: entries that are not stored are infinite."""
    if not is_sparse_matrix(D):
        return D
    dense = np.full(D.shape, np.inf)
    rows = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    dense[rows, D.indices] = D.data
    return dense
