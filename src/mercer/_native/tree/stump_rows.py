# cython: infer_types=True
"""One pass over all rows before the search of a stump, and one after it: class weights, and the two sides."""

import cython

real = cython.fused_type(cython.float, cython.double)


def sign_weights(
    labels: cython.const[cython.int][::1],
    weight: cython.const[cython.double][::1],
    signed: cython.double[::1],
    totals: cython.double[::1],
):
    """Write the weights to `signed`, negative in the first of two classes, and their sums by class to `totals` (2,)."""
    first: cython.double = 0.0
    second: cython.double = 0.0
    with cython.nogil:
        for i in range(weight.shape[0]):
            signed[i] = weight[i] if labels[i] == 1 else -weight[i]
            # Adding zero changes no sum, and no branch depends on the labels.
            first += 0.0 if labels[i] == 1 else weight[i]
            second += weight[i] if labels[i] == 1 else 0.0
        totals[0], totals[1] = first, second


def split_rows(
    X: cython.const[real][:, :],
    feature: cython.Py_ssize_t,
    threshold: cython.double,
    missing_left: cython.int,
    labels: cython.const[cython.int][::1],
    weight: cython.const[cython.double][::1],
    sides: cython.Py_ssize_t[::1],
    sums: cython.double[:, ::1],
    counts: cython.longlong[::1],
):
    """Write the side of each row, 0 for left and 1 for right, and add up what is on either.

    Parameters
    ----------
    X : (n, d); NaN is missing
    feature, threshold : a row is left where its value is at most the threshold; all are where `feature` is negative
    missing_left : whether missing values are left
    labels, weight : (n,)
    sides : (n,), written
    sums : (2, K), added to: class weights
    counts : (2,), added to: rows whose weight is not zero
    """
    side: cython.Py_ssize_t
    counted: cython.Py_ssize_t
    value: cython.double = 0.0
    left: cython.Py_ssize_t = 0
    right: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(weight.shape[0]):
            side = 0
            if feature >= 0:
                value = X[i, feature]
                # Missing values are neither below nor equal. Sides come in no order: bits, not branches, decide them.
                side = (value > threshold) | ((value != value) & (1 - missing_left))
            sides[i] = side
            sums[side, labels[i]] += weight[i]
            counted = 1 if weight[i] != 0.0 else 0
            right += counted & side
            left += counted & (1 - side)
        counts[0] += left
        counts[1] += right
