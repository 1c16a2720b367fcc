"""Warnings about kernels that do not tell rows apart, and about matrices that are not positive semi-definite."""

import warnings
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import eigsh

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows
from mercer.kernels import Kernel, Prepared

# The most rows for which all eigenvalues are computed; above, the Lanczos method finds the smallest.
_WHOLE = 500
# Kernel values between different rows, as shares of k(x, x). The kernel is too wide if all are above 1 - _ALIKE.
_ALIKE = 1e-6
# The kernel is too narrow if all are below this.
_APART = 1e-12


def warn_if_indefinite(subject: Any, K: Array) -> None:
    """Warn if the kernel matrix `K` has an eigenvalue well below zero: it is then of no Mercer kernel."""
    symmetric = 0.5 * (K + K.T) if len(K) <= _WHOLE else K
    if len(K) <= _WHOLE:
        values = eigvalsh(symmetric)
        least, largest = float(values[0]), float(np.abs(values).max(initial=0.0))
    else:
        # Two digits of the smallest eigenvalue are enough to compare it with the largest.
        start = np.ones(len(K))
        least = float(eigsh(K, k=1, which="SA", tol=1e-2, v0=start, return_eigenvectors=False, maxiter=200)[0])
        # Gershgorin: no eigenvalue exceeds the largest absolute row sum.
        largest = float(np.abs(K).sum(axis=1).max())
    if least < -1e-6 * largest:
        warnings.warn(
            f"{type(subject).__name__}: the given kernel values are not positive semi-definite: their smallest "
            f"eigenvalue is {least:.3g}, the largest {largest:.3g}. The fit is a stationary point, not an optimum; "
            f"clip the eigenvalues or use another kernel.",
            UserWarning,
            stacklevel=7,
        )


def warn_if_degenerate(subject: Any, kernel: Kernel, rows: Rows, prepared: Prepared | None = None) -> None:
    """Warn if the values between different rows are all one or all zero, and name a length scale that helps.

    `prepared` holds these rows, and perhaps more, in the form that the kernel needs, where the fit has it already.
    """
    if not kernel.stationary or rows.shape[0] < 3:
        return
    # The values of one row most often show that the kernel tells rows apart; only else are all of them compared.
    prepared = kernel.prepare(rows) if prepared is None else prepared
    places, table = np.arange(len(prepared)), np.empty((1, len(prepared)), dtype=prepared.dtype)
    kernel.write_rows(prepared, places[:1], places, places[:1], table, 0)
    first = np.abs(table[0])
    if ((first > _APART * first[0]) & (first < (1 - _ALIKE) * first[0])).any():
        return
    K = np.asarray(kernel(rows), dtype=np.float64)
    centred = np.asarray(rows.toarray() if is_sparse_matrix(rows) else rows, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    squares = np.sum(centred**2, axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * centred @ centred.T, 0.0))
    apart = (distances > 0) & ~np.eye(len(K), dtype=bool)
    if not apart.any():
        return
    own, values = float(np.abs(np.diag(K)).max()), np.abs(K[apart])
    alike, lost = bool(np.all(values >= (1 - _ALIKE) * own)), bool(np.all(values <= _APART * own))
    if not alike and not lost:
        return
    median = float(np.median(distances[apart]))
    what = "all rows look alike to it" if alike else "no row resembles another"
    scale = "too wide" if alike else "too narrow"
    warnings.warn(
        f"{type(subject).__name__}: the kernel is {scale} for these rows ({what}); their median distance is "
        f"{median:.3g}, for which gamma={1.0 / (2.0 * median**2):.3g} (length_scale={median:.3g}) is the usual start.",
        UserWarning,
        stacklevel=7,
    )
