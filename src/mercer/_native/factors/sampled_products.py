"""The product of two factors at the stored entries of a sparse matrix only."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

index = cython.fused_type(cython.int, cython.longlong)


def multiply_sampled(
    pointers: cython.const[index][::1],
    columns: cython.const[index][::1],
    W: cython.const[cython.double][:, ::1],
    T: cython.const[cython.double][:, ::1],
    out: cython.double[::1],
) -> None:
    """Write w_i . t_j to `out` for every stored entry (i, j) of a CSR matrix; rows of `T` are columns."""
    with cython.nogil:
        for row in range(W.shape[0]):
            for place in range(pointers[row], pointers[row + 1]):
                out[place] = inline.dot(W[row], T[columns[place]])
