"""Elementary functions of each element of an array, and sums over each row of a matrix.

The arithmetic is that of ``inline.pxd``: branch-free, vectorised, the same bits at every CPU level. Its error
is documented at the top of ``elementary.h``.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)


def exp(x: cython.const[real][::1], out: real[::1]):
    """Write e to the power of each element of `x` to `out`."""
    with cython.nogil:
        for i in range(x.shape[0]):
            out[i] = inline.exp(x[i])


def expm1(x: cython.const[real][::1], out: real[::1]):
    """Write exp(x) - 1, accurate near zero, to `out`."""
    with cython.nogil:
        for i in range(x.shape[0]):
            out[i] = inline.expm1(x[i])


def log(x: cython.const[real][::1], out: real[::1]):
    """Write the natural logarithm of each element of `x` to `out`."""
    with cython.nogil:
        for i in range(x.shape[0]):
            out[i] = inline.log(x[i])


def log1p(x: cython.const[real][::1], out: real[::1]):
    """Write log(1 + x), accurate near zero, to `out`."""
    with cython.nogil:
        for i in range(x.shape[0]):
            out[i] = inline.log1p(x[i])


def tanh(x: cython.const[real][::1], out: real[::1]):
    """Write the hyperbolic tangent of each element of `x` to `out`."""
    with cython.nogil:
        for i in range(x.shape[0]):
            out[i] = inline.tanh(x[i])


def expit(x: cython.const[real][::1], out: real[::1]):
    """Write the logistic sigmoid 1 / (1 + exp(-x)) to `out`."""
    with cython.nogil:
        for i in range(x.shape[0]):
            out[i] = inline.expit(x[i])


def log1pexp(x: cython.const[real][::1], out: real[::1]):
    """Write log(1 + exp(x)), the softplus, to `out`."""
    with cython.nogil:
        for i in range(x.shape[0]):
            out[i] = inline.log1pexp(x[i])


def logsumexp(X: cython.const[real][:, ::1], out: cython.double[::1]):
    """Write log(sum of exp) over each row of `X` to `out`."""
    with cython.nogil:
        for i in range(X.shape[0]):
            out[i] = inline.logsumexp(X[i])


def dot(X: cython.const[real][:, ::1], Y: cython.const[real][:, ::1], out: cython.double[::1]):
    """Write the dot product of each row of `X` with the same row of `Y` to `out`."""
    with cython.nogil:
        for i in range(X.shape[0]):
            out[i] = inline.dot(X[i], Y[i])


def distance_squared(X: cython.const[real][:, ::1], Y: cython.const[real][:, ::1], out: cython.double[::1]):
    """Write the squared Euclidean distance of each row of `X` to the same row of `Y` to `out`."""
    with cython.nogil:
        for i in range(X.shape[0]):
            out[i] = inline.distance_squared(X[i], Y[i])
