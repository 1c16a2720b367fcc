"""The best single split of weighted, labelled rows, column by column; one pass over all rows before it, and one after.

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

real = cython.fused_type(cython.float, cython.double)
# A cut must beat the best one by more than the sums are off by rounding: among equals the first wins, whatever the
# order of the rows.
MARGIN = cython.declare(cython.double, 1e-10)


# Entries of a block; its weights are summed eight at a time. Wider blocks are left out less often.
BLOCK = cython.declare(cython.Py_ssize_t, 64)


@cython.final
@cython.cclass
class Best:
    """The best cut of a column so far: its fraction above / below, and the entry after which to cut, or -1.

    L is the weight left of a cut and l the part of it in the second class; `total` T and `positive` t are those of all
    rows. The Gini gain of the cut is 2 / T^2 times the fraction (l T - L t)^2 / (L (T - L)).
    """

    total: cython.double
    positive: cython.double
    above: cython.double
    below: cython.double
    place: cython.Py_ssize_t

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def is_below(self, left: cython.double, second: cython.double, factor: cython.double) -> cython.bint:
        """Return whether a cut with L = `left` and l = `second` has more than `factor` times the best fraction."""
        above: cython.double = second * self.total - left * self.positive
        below: cython.double = left * (self.total - left)
        # a / b > c / d as a d > c b, without a division.
        return above * above * self.below > self.above * below * factor and below > 0.0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def offer(self, left: cython.double, second: cython.double, place: cython.Py_ssize_t) -> cython.void:
        """Take a cut if it is better; the margin keeps the first of two cuts that differ by rounding."""
        if self.is_below(left, second, 1.0 + MARGIN):
            self.above = second * self.total - left * self.positive
            self.above *= self.above
            self.below = left * (self.total - left)
            self.place = place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_block(
    order: cython.const[cython.int][::1],
    signed: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    sums: cython.double[:, ::1],
    block: cython.Py_ssize_t,
) -> cython.void:
    """Write line `block` + 1 of `sums`: L and l of line `block` plus the weights of a whole block of entries."""
    sizes = cython.declare(cython.double[8])
    both = cython.declare(cython.double[8])
    for lane in range(8):
        sizes[lane] = 0.0
        both[lane] = 0.0
    for entry in range(start, start + BLOCK, 8):
        for lane in range(8):
            weight = signed[order[entry + lane] >> 1]
            # Labels come in no order, so a branch on the sign would be mispredicted half of the time.
            sizes[lane] += fabs(weight)
            both[lane] += weight
    for lane in range(4):
        sizes[lane] += sizes[lane + 4]
        both[lane] += both[lane + 4]
    weight = (sizes[0] + sizes[1]) + (sizes[2] + sizes[3])
    sums[block + 1, 0] = sums[block, 0] + weight
    # |w| + w is 2 w in the second class and 0 in the first.
    sums[block + 1, 1] = sums[block, 1] + 0.5 * (weight + ((both[0] + both[1]) + (both[2] + both[3])))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scan(
    order: cython.const[cython.int][::1],
    signed: cython.const[cython.double][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    left: cython.double,
    second: cython.double,
    best: Best,
) -> cython.void:
    """Offer all cuts after the entries from `start` to `stop`; L and l before the first of them are given."""
    for entry in range(start, stop):
        weight = signed[order[entry] >> 1]
        left += fabs(weight)
        second += 0.5 * (fabs(weight) + weight)
        if order[entry] & 1:
            best.offer(left, second, entry)


def search_two(
    order: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    signed: cython.const[cython.double][::1],
    total: cython.double,
    positive: cython.double,
    sums: cython.double[:, ::1],
    scores: cython.double[::1],
    places: cython.longlong[::1],
):
    """Find the cut of largest Gini gain between two classes in columns `first` to `last`, which list all rows.

    The gain is a convex function of l and L - l, which both rise along a column: inside a block it is at most the
    largest of its values at the corners, where one class or the other comes first. So the weights of blocks are summed
    first, and only blocks that can hold a cut as good as the best end of a block are searched.

    Parameters
    ----------
    order, starts : the columns, one after another; column j is ``order[starts[j]:starts[j + 1]]``
    signed : (n,) weights, negative in the first class
    total, positive : the weight of all rows, and that of the second class
    sums : (m // 64 + 2, 2) scratch for columns of at most m entries
    scores, places : (d,), written: the fraction (see `Best`), and the entry after which to cut, or -1
    """
    ends = Best()
    best = Best()
    ends.total, ends.positive = total, positive
    best.total, best.positive = total, positive
    with cython.nogil:
        for j in range(first, last):
            blocks = (starts[j + 1] - starts[j]) // BLOCK
            ends.above, ends.below = 0.0, 1.0
            best.above, best.below, best.place = 0.0, 1.0, -1
            sums[0, 0] = 0.0
            sums[0, 1] = 0.0
            for block in range(blocks):
                start = starts[j] + block * BLOCK
                add_block(order, signed, start, sums, block)
                if order[start + BLOCK - 1] & 1:
                    ends.offer(sums[block + 1, 0], sums[block + 1, 1], start + BLOCK - 1)
            for block in range(blocks):
                # The corners: all of the second class of the block before the first class, and the other way round.
                # Cuts that differ from the best end by rounding are searched, because the first of them is wanted.
                more = sums[block + 1, 1] - sums[block, 1]
                if ends.is_below(sums[block, 0] + more, sums[block + 1, 1], 1.0 - 2.0 * MARGIN) or ends.is_below(
                    sums[block + 1, 0] - more, sums[block, 1], 1.0 - 2.0 * MARGIN
                ):
                    start = starts[j] + block * BLOCK
                    scan(order, signed, start, start + BLOCK, sums[block, 0], sums[block, 1], best)
            scan(order, signed, starts[j] + blocks * BLOCK, starts[j + 1], sums[blocks, 0], sums[blocks, 1], best)
            scores[j] = best.above / best.below
            places[j] = best.place


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
    n_classes: cython.Py_ssize_t = totals.shape[0]
    implicit: cython.bint
    missing: cython.bint
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
                        missing_left[j] = cython.cast(cython.int, side)
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
    left: cython.double = 0.0
    right: cython.double = 0.0
    left_pure: cython.double = 0.0
    right_pure: cython.double = 0.0
    both_pure: cython.double = 0.0
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
