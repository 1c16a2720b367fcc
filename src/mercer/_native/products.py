"""Matrix products, whole or fused with what is wanted of them, so that the product itself never exists."""

import cython

if cython.compiled:
    from cython.cimports.libc.stdint import int32_t
    from cython.cimports.mercer._native import blas, tiles
else:
    from mercer._native import blas, tiles

    int32_t = cython.int

__all__ = ["multiply_transposed", "nearest", "nearest_workspace"]

real = cython.fused_type(cython.float, cython.double)


def multiply_transposed(A: cython.const[real][:, ::1], B: cython.const[real][:, ::1], out: real[:, ::1]):
    """Write A B^T to the first columns of `out`, which may be wider than that, by BLAS."""
    with cython.nogil:
        blas.multiply_transposed(A, B, out)


def nearest_workspace(k: cython.Py_ssize_t, d: cython.Py_ssize_t) -> int:
    """Return the length of the scratch array that `nearest` needs for k centres of d features."""
    return tiles.packed_size(k, d)


def nearest(
    X: cython.const[real][:, ::1],
    centres: cython.const[real][:, ::1],
    half_squared_norms: cython.const[real][::1],
    labels: int32_t[::1],
    least: real[::1],
    workspace: real[::1],
):
    """Find the centre nearest to each row, by argmin over k of ||c_k||^2 / 2 - x . c_k; ties go to the lowest k.

    A row's answer does not depend on the rows beside it, nor on any BLAS.

    Parameters
    ----------
    X : (n, d) rows, finite
    centres : (k, d), finite, k >= 1
    half_squared_norms : (k,), the ||c_k||^2 / 2
    labels : (n,) int32, written
    least : (n,), written: the least ||c_k||^2 / 2 - x . c_k, which is (distance^2 - ||x||^2) / 2
    workspace : (nearest_workspace(k, d),) scratch
    """
    with cython.nogil:
        tiles.pack(centres, half_squared_norms, workspace)
        tiles.nearest(X, workspace, centres.shape[0], labels, least)
