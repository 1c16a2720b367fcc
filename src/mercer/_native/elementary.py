"""Elementary functions over arrays."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import inline
else:
    from mercer._native import inline

real = cython.fused_type(cython.float, cython.double)


def exp(x: cython.const[real][::1], out: real[::1]):
    """Write the exponential of each element of `x` to `out`."""
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(x.shape[0]):
            out[i] = inline.exp(x[i])
