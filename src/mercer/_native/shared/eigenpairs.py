"""Eigenvalues and eigenvectors of a symmetric matrix, without the interpreter's lock.

SciPy's own functions hold the lock while LAPACK computes, so that no other thread notices Ctrl-C. These calls cannot be
cut into pieces of 50 ms: a thread of its own runs them, and the main thread waits.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import lapack
else:
    from mercer._native.shared import lapack

real = cython.fused_type(cython.float, cython.double)


def decompose_some(
    A: real[:, ::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    values: real[::1],
    vectors: real[:, ::1],
    support: cython.int[::1],
    work: real[::1],
    counters: cython.int[::1],
) -> int:
    """Write eigenvalues `first` to `last`, in rising order, and their vectors as rows; A is overwritten.

    `values` has room for all eigenvalues, `support` for two numbers each; `work` and `counters` have the sizes that
    LAPACK's ``syevr`` asks for. Returns 0, or LAPACK's number of the failure.
    """
    failed: cython.Py_ssize_t = 0
    with cython.nogil:
        failed = lapack.decompose_some(A, first, last, values, vectors, support, work, counters)
    return failed


def decompose_whole(A: real[:, ::1], values: real[::1], work: real[::1], counters: cython.int[::1]) -> int:
    """Write all eigenvalues, in rising order, and overwrite A by the vectors, as rows.

    `work` and `counters` have the sizes that LAPACK's ``syevd`` asks for. Returns 0, or LAPACK's number of the failure.
    """
    failed: cython.Py_ssize_t = 0
    with cython.nogil:
        failed = lapack.decompose_whole(A, values, work, counters)
    return failed
