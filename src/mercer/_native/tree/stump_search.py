"""The best single split of weighted, labelled rows, column by column, and the votes of many such splits.

A column is the list of its rows in rising order of their values. An entry is ``2 row + 1`` if the next value is larger,
so that a cut may follow, and ``2 row`` if it is equal. The entry ``-1`` stands for all rows that are not listed: the
zeros of a sparse column. Without such an entry the values of unlisted rows are missing, and a cut sends these rows to
either side.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import fabs, log
else:
    from math import fabs, log

__all__ = ["cast_votes", "search", "search_two"]

real = cython.fused_type(cython.float, cython.double)
# A cut must beat the best one by more than the sums are off by rounding: among equals the first wins, whatever the
# order of the rows.
MARGIN = cython.declare(cython.double, 1e-10)


def search_two(
    order: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    signed: cython.const[cython.double][::1],
    total: cython.double,
    positive: cython.double,
    scores: cython.double[::1],
    places: cython.longlong[::1],
):
    """Find the cut of largest Gini gain between two classes in columns `first` to `last`, which list all rows.

    L is the weight left of the cut and l the part of it in the second class; T and t are those of all rows. The gain is
    2 / T^2 times the fraction (l T - L t)^2 / (L (T - L)); two fractions a / b and c / d are compared by a d > c b.

    Parameters
    ----------
    order, starts : the columns, one after another; column j is ``order[starts[j]:starts[j + 1]]``
    signed : (n,) weights, negative in the first class
    total, positive : T and t
    scores, places : (d,), written: the fraction, and the entry after which to cut, or -1
    """
    j: cython.Py_ssize_t
    entry: cython.Py_ssize_t
    code: cython.int
    weight: cython.double
    left: cython.double
    twice: cython.double
    above: cython.double
    below: cython.double
    best_above: cython.double
    best_below: cython.double
    place: cython.longlong
    with cython.nogil:
        for j in range(first, last):
            left = 0.0
            twice = 0.0
            best_above = 0.0
            best_below = 1.0
            place = -1
            # `left` is L, and `twice` is 2 l: |w| + w is 2 w in the second class and 0 in the first.
            for entry in range(starts[j], starts[j + 1]):
                code = order[entry]
                weight = signed[code >> 1]
                # Labels come in no order, so a branch on the sign would be mispredicted half of the time: 4x slower.
                left += fabs(weight)
                twice += fabs(weight) + weight
                if code & 1:
                    above = 0.5 * twice * total - left * positive
                    above *= above
                    below = left * (total - left)
                    if above * best_below > best_above * below * (1.0 + MARGIN) and below > 0.0:
                        best_above = above
                        best_below = below
                        place = entry
            scores[j] = best_above / best_below
            places[j] = place


def search(
    order: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    labels: cython.const[cython.int][::1],
    weights: cython.const[cython.double][::1],
    totals: cython.const[cython.double][::1],
    criterion: cython.int,
    sums: cython.double[:, ::1],
    scores: cython.double[::1],
    places: cython.longlong[::1],
    missing_left: cython.int[::1],
):
    """Find the cut of largest score in columns `first` to `last`, for any number of classes and with unlisted rows.

    Parameters
    ----------
    order, starts : the columns
    labels, weights : (n,)
    totals : (K,), of all rows
    criterion : 0 Gini, 1 entropy, 2 error
    sums : (5, K) scratch
    scores, places : (d,), written; a place of -1: no cut has weight on both sides
    missing_left : (d,), written: whether missing rows go left
    """
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    entry: cython.Py_ssize_t
    n_classes: cython.Py_ssize_t = totals.shape[0]
    code: cython.int
    side: cython.int
    implicit: cython.bint
    missing: cython.bint
    score: cython.double
    best: cython.double
    with cython.nogil:
        for j in range(first, last):
            implicit = False
            for k in range(n_classes):
                sums[0, k] = 0.0
                sums[1, k] = 0.0
            for entry in range(starts[j], starts[j + 1]):
                code = order[entry]
                if code < 0:
                    implicit = True
                else:
                    sums[1, labels[code >> 1]] += weights[code >> 1]
            # Rows of `sums`: class weights left of the cut, right of it, of unlisted rows, and of the left and right
            # side with the missing rows added to one of them.
            missing = False
            for k in range(n_classes):
                sums[2, k] = totals[k] - sums[1, k]
                missing |= sums[2, k] > MARGIN * totals[k]
                sums[1, k] += sums[2, k] if implicit else 0.0
            missing = missing and not implicit
            best = -1.0
            places[j] = -1
            missing_left[j] = 0
            for entry in range(starts[j], starts[j + 1]):
                code = order[entry]
                for k in range(n_classes):
                    if code < 0:
                        sums[0, k] += sums[2, k]
                        sums[1, k] -= sums[2, k]
                if code >= 0:
                    sums[0, labels[code >> 1]] += weights[code >> 1]
                    sums[1, labels[code >> 1]] -= weights[code >> 1]
                # After the last entry the only cut left is between known and missing rows.
                if entry + 1 == starts[j + 1]:
                    if not missing:
                        break
                    for k in range(n_classes):
                        sums[1, k] = 0.0
                elif code >= 0 and not code & 1:
                    continue
                for side in range(2 if missing else 1):
                    for k in range(n_classes):
                        sums[3, k] = sums[0, k] + (sums[2, k] if missing and side == 1 else 0.0)
                        sums[4, k] = sums[1, k] + (sums[2, k] if missing and side == 0 else 0.0)
                    score = judge(sums, totals, criterion)
                    if score > best + MARGIN * (best if best > 0.0 else -best) and score >= 0.0:
                        best = score
                        places[j] = entry
                        missing_left[j] = side
            scores[j] = best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def judge(
    sums: cython.double[:, ::1], totals: cython.const[cython.double][::1], criterion: cython.int
) -> cython.double:
    """Return the gain of a cut with class weights ``sums[3]`` and ``sums[4]``; -1 if a side is empty.

    With p the share of the left side the gain is p purity(left) + (1 - p) purity(right) - purity(both).
    """
    k: cython.Py_ssize_t
    left: cython.double = 0.0
    right: cython.double = 0.0
    left_pure: cython.double = 0.0
    right_pure: cython.double = 0.0
    both_pure: cython.double = 0.0
    p: cython.double
    for k in range(totals.shape[0]):
        left += sums[3, k]
        right += sums[4, k]
    # The weight of an empty side, computed by subtraction, may differ from zero by rounding.
    if left <= 1e-14 * right or right <= 1e-14 * left:
        return -1.0
    for k in range(totals.shape[0]):
        left_pure = purity(left_pure, sums[3, k] / left, criterion)
        right_pure = purity(right_pure, sums[4, k] / right, criterion)
        both_pure = purity(both_pure, totals[k] / (left + right), criterion)
    p = left / (left + right)
    p = p * left_pure + (1.0 - p) * right_pure - both_pure
    return p if p > 0.0 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def purity(so_far: cython.double, share: cython.double, criterion: cython.int) -> cython.double:
    """Return the purity of a node with one more class: the sum of p^2 or of p log p, or the largest p."""
    if criterion == 0:
        return so_far + share * share
    if criterion == 1:
        return so_far + (share * log(share) if share > 0.0 else 0.0)
    return share if share > so_far else so_far


def cast_votes(
    X: cython.const[real][:, ::1],
    features: cython.const[cython.longlong][::1],
    thresholds: cython.const[cython.double][::1],
    missing_left: cython.const[cython.uchar][::1],
    votes: cython.const[cython.double][:, :, ::1],
    out: cython.double[:, ::1],
):
    """Add to the scores of each row, for each stump, the votes of the side that the row is on.

    Parameters
    ----------
    X : (n, d); NaN is missing
    features, thresholds, missing_left : (T,); a row is left where its value is at most the threshold
    votes : (T, 2, K), of the left and of the right side
    out : (n, K), added to in the order of the stumps
    """
    i: cython.Py_ssize_t
    t: cython.Py_ssize_t
    k: cython.Py_ssize_t
    side: cython.Py_ssize_t
    value: cython.double
    with cython.nogil:
        for i in range(X.shape[0]):
            for t in range(features.shape[0]):
                value = X[i, features[t]]
                side = 0 if value <= thresholds[t] else 1
                if value != value:
                    side = 1 - missing_left[t]
                for k in range(out.shape[1]):
                    out[i, k] += votes[t, side, k]
