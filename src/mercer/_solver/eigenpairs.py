"""Eigenvectors of symmetric matrices, computed so that Ctrl-C is noticed meanwhile.

``scipy.linalg.eigh`` holds the interpreter's lock while LAPACK computes: a second thread does not help, because the
main thread cannot run before LAPACK returns. It also takes 10 us to look at its arguments, as long as a decomposition
of 10 rows. Native code gives matrices to the same LAPACK routine and releases the lock; the bits are those of SciPy.
"""

from functools import lru_cache

import numpy as np
from scipy.linalg import LinAlgError, eigh, lapack

from mercer._native.shared import eigenpairs
from mercer._types import Array


def find_eigenpairs(
    matrix: Array, first: int = 0, last: int | None = None, driver: str = "evr", *, check_finite: bool = False
) -> tuple[Array, Array]:
    """Return eigenvalues `first` to `last` of a symmetric matrix, in rising order, and their vectors as columns.

    The result has the bits of ``scipy.linalg.eigh(matrix, subset_by_index=[first, last], driver=driver)``. Only the
    lower triangle is read, and the matrix is kept. Above `HEAVY` rows, see :mod:`mercer._solver.request`, call it
    inside ``Dense(..., heavy=True)`` or `run_aside`: the interpreter's lock is free while LAPACK computes, and the
    waiting thread notices Ctrl-C.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
    first : int, default=0
    last : int, default=None
        The last one; n - 1 where None.
    driver : {"evr", "evd"}, default="evr"
        Relatively robust representations, or divide and conquer, which finds all eigenvalues.
    check_finite : bool, default=False
        Whether to raise ``ValueError`` where an entry is NaN or infinite, as SciPy does by default.
    """
    if check_finite and not np.isfinite(matrix).all():
        raise ValueError("array must not contain infs or NaNs")
    n = len(matrix)
    last = n - 1 if last is None else last
    if n == 0 or matrix.dtype.char not in "fd":
        # With driver="evd" SciPy refuses a subset, also that of all.
        some = None if (first, last) == (0, n - 1) else [first, last]
        return eigh(matrix, driver=driver, check_finite=False, subset_by_index=some)
    # LAPACK counts along columns: the copy is in Fortran order, and native code sees its transpose.
    A = np.array(matrix, dtype=matrix.dtype.char, order="F").T
    values = np.empty(n, A.dtype)
    if driver == "evd":
        failed = eigenpairs.decompose_whole(A, values, *_take_room("syevd", A))
        vectors = A
    else:
        vectors = np.empty((last - first + 1, n), A.dtype)
        support = np.empty(2 * n, np.intc)
        failed = eigenpairs.decompose_some(A, first, last, values, vectors, support, *_take_room("syevr", A))
    if failed:
        raise LinAlgError(
            f"eigenvectors of a {n} x {n} matrix: LAPACK's {driver} must end without a failure; it returned {failed}. "
            "Look for values that are not finite, or scale the rows."
        )
    return values[: last - first + 1], vectors.T


def _take_room(routine: str, A: Array) -> tuple[Array, Array]:
    """Return the two arrays of workspace that a LAPACK routine asks for; their sizes decide how it forms blocks."""
    size, n_counters = _ask_sizes(routine, len(A), A.dtype.char)
    return np.empty(size, A.dtype), np.empty(n_counters, np.intc)


@lru_cache(maxsize=256)
def _ask_sizes(routine: str, n: int, kind: str) -> tuple[int, int]:
    """Ask LAPACK for the lengths of both workspaces for n rows of the type whose character is `kind`."""
    ask = lapack.get_lapack_funcs(routine + "_lwork", dtype=kind)
    size, n_counters, _ = ask(n, lower=1)
    # Single precision cannot hold every large whole number: round up, as SciPy does.
    size = np.nextafter(size, np.float32(np.inf), dtype=np.float32) if kind == "f" else size
    return int(size), int(n_counters)
