"""Inner products of the rows of two matrices, where that is faster than the BLAS: see ``shared/row_panels.h``."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import row_panels
else:
    from mercer._native.shared import row_panels


def gains() -> bool:
    """Say whether this CPU level has these products; elsewhere the BLAS is as fast."""
    return bool(row_panels.gains())


def count_scratch() -> int:
    """Return the length of the scratch array that `add_products` needs."""
    return row_panels.count_scratch()


def add_products(
    A: cython.const[cython.double][:, ::1],
    B: cython.const[cython.double][:, ::1],
    lower: cython.bint,
    out: cython.double[:, ::1],
    scratch: cython.double[::1],
):
    """Add A B^T to `out`.

    Parameters
    ----------
    A : (m, k)
    B : (n, k)
    lower : whether only places at and below the diagonal are wanted, where A is B; the others keep their values
    out : (m, n)
    scratch : (count_scratch(),)
    """
    with cython.nogil:
        row_panels.add_products(A, B, 1.0, lower, out, scratch)
