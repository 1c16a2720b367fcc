"""Steps of online principal component analysis: Hebb's, Oja's and Sanger's rule, one row after the other.

With the scores y = W x of a centred row x, all rules add rate y_i r to axis i; they differ in the residual r:
x itself (Hebb, who has no decay, so that the axes grow without bound), x less its projection on all axes (Oja), or less
that on the axes up to the i-th (Sanger), by which the axes become the principal components in their order.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

# The numbers of the rules; 0 is Hebb's.
_OJA = cython.declare(cython.int, 1)
_SANGER = cython.declare(cython.int, 2)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def remove_axis(r: cython.double[::1], score: cython.double, axis: cython.double[::1]) -> cython.void:
    """Subtract score times axis from `r`."""
    for column in range(r.shape[0]):
        r[column] -= score * axis[column]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def normalise_axis(axis: cython.double[::1]) -> cython.void:
    """Divide an axis by its length; an axis of length zero stays."""
    length: cython.double = inline.dot(axis, axis) ** 0.5
    if length > 0:
        for column in range(axis.shape[0]):
            axis[column] /= length


def follow_rows(
    X: cython.const[cython.double][:, ::1],
    rates: cython.const[cython.double][::1],
    mean_rates: cython.const[cython.double][::1],
    rule: cython.int,
    normalise: cython.bint,
    mean: cython.double[::1],
    W: cython.double[:, ::1],
    scores: cython.double[::1],
    r: cython.double[::1],
) -> None:
    """Take one step for each row of `X`; overwrites the running `mean` and the axes `W`.

    `rates` and `mean_rates` have an entry for each row; a mean rate of zero leaves the mean as it is. `scores` (one for
    each axis) and `r` (one for each column) are scratch.
    """
    with cython.nogil:
        for row in range(X.shape[0]):
            for column in range(X.shape[1]):
                # The running mean moves first; the row is centred by the new mean.
                mean[column] += mean_rates[row] * (X[row, column] - mean[column])
                r[column] = X[row, column] - mean[column]
            # All scores are taken with the axes before this step.
            for axis in range(W.shape[0]):
                scores[axis] = inline.dot(W[axis], r)
            # Oja: one residual for all axes. Sanger: the residual shrinks from axis to axis.
            if rule == _OJA:
                for axis in range(W.shape[0]):
                    remove_axis(r, scores[axis], W[axis])
            for axis in range(W.shape[0]):
                if rule == _SANGER:
                    remove_axis(r, scores[axis], W[axis])
                step = rates[row] * scores[axis]
                for column in range(X.shape[1]):
                    W[axis, column] += step * r[column]
                # Hebb's rule has no decay: without this its axes grow without bound.
                if normalise:
                    normalise_axis(W[axis])
