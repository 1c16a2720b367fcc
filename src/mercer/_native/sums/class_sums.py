"""Sums over the rows of each class of a block: of values, of squares about the class means, of products of columns."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
    from cython.cimports.mercer._native.sums import panels
else:
    from mercer._native.shared import inline
    from mercer._native.sums import panels

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.Py_ssize_t)

# Rows packed at once: 128 rows of a panel of 16 columns are half of a first-level cache.
TILE = cython.declare(cython.Py_ssize_t, 128)
# Stored values: the sums of a value are prefetched that many values ahead.
AHEAD = cython.declare(cython.Py_ssize_t, 16)


def pad_width(d: cython.Py_ssize_t) -> int:
    """Return how many rows and columns `add_products` needs for products of d columns."""
    return (d + panels.width() - 1) // panels.width() * panels.width()


def count_packed(d: cython.Py_ssize_t) -> int:
    """Return the length of the scratch array that `add_products` needs for d columns."""
    return TILE * ((d + panels.width() - 1) // panels.width() * panels.width())


def add_rows(
    X: cython.const[real][:, ::1],
    labels: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1],
    point: cython.const[cython.double][::1],
    out: cython.double[:, ::1],
):
    """Add to `out` (k, d) the sum of the rows of each class less a point (d,), weighted unless `weight` is empty."""
    share: cython.double = 1.0
    with cython.nogil:
        for i in range(X.shape[0]):
            k = labels[i]
            if weight.shape[0] > 0:
                share = weight[i]
            for j in range(X.shape[1]):
                out[k, j] += share * (cython.cast(cython.double, X[i, j]) - point[j])


def add_counts(
    X: cython.const[real][:, ::1],
    labels: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1],
    rows: cython.Py_ssize_t,
    least: cython.double[::1],
    weights: cython.double[:, ::1],
    out: cython.double[:, :, ::1],
):
    """Add up the rows of each class in each part of a block, their weights, and find the least value of each column.

    Parameters
    ----------
    X : (n, d) rows
    labels : (n,) the class of each row
    weight : (n,) weights; or empty
    rows : how many make a part; the last may be shorter
    least : (d,) lowered to the least values; NaN is passed over, and shows in the sums
    weights : (parts, k) raised by the weight of the rows of each class
    out : (parts, k, d) raised by their sums
    """
    share: cython.double = 1.0
    with cython.nogil:
        for i in range(X.shape[0]):
            part, k = i // rows, labels[i]
            if weight.shape[0] > 0:
                share = weight[i]
            weights[part, k] += share
            for j in range(X.shape[1]):
                value = X[i, j]
                # Comparisons with NaN are false, which passes it over.
                least[j] = value if value < least[j] else least[j]
                out[part, k, j] += share * value


def add_exceeding(
    X: cython.const[real][:, ::1],
    labels: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1],
    rows: cython.Py_ssize_t,
    threshold: cython.double,
    weights: cython.double[:, ::1],
    out: cython.double[:, :, ::1],
):
    """Add up, as :func:`add_counts` does, the weight of the rows whose value is above the threshold."""
    share: cython.double = 1.0
    with cython.nogil:
        for i in range(X.shape[0]):
            part, k = i // rows, labels[i]
            if weight.shape[0] > 0:
                share = weight[i]
            weights[part, k] += share
            for j in range(X.shape[1]):
                out[part, k, j] += share if cython.cast(cython.double, X[i, j]) > threshold else 0.0


def add_stored(
    values: cython.const[real][::1],
    columns: cython.const[index][::1],
    bounds: cython.const[index][::1],
    labels: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1],
    out: cython.double[:, ::1],
):
    """Add to `out` (k, d) the stored values of sparse rows by class, weighted unless `weight` is empty.

    The sums of all classes do not fit a cache: they are asked for some values ahead. Rows taken class by class would
    make do with the sums of one, but lie apart themselves, which costs more.

    Parameters
    ----------
    values, columns : (m,) stored values and their columns
    bounds : (n + 1,) where in them each row begins, and the last ends
    labels : (n,) the class of each row
    weight : (n,) weights; or empty
    out : (k, d) sums
    """
    share: cython.double = 1.0
    with cython.nogil:
        for i in range(labels.shape[0]):
            k = labels[i]
            if weight.shape[0] > 0:
                share = weight[i]
            for place in range(bounds[i], bounds[i + 1]):
                # The place that will be added to some values from now is asked for already: the sums lie scattered over
                # memory.
                if place + AHEAD < columns.shape[0]:
                    inline.prefetch(out[k], columns[place + AHEAD], columns[place + AHEAD] + 1)
                out[k, columns[place]] += share * cython.cast(cython.double, values[place])


def add_squares(
    X: cython.const[real][:, ::1],
    labels: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1],
    means: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
):
    """Add to `out` (k, d) the squares of the rows of each class about its mean, weighted unless `weight` is empty."""
    share: cython.double = 1.0
    with cython.nogil:
        for i in range(X.shape[0]):
            k = labels[i]
            if weight.shape[0] > 0:
                share = weight[i]
            for j in range(X.shape[1]):
                # About the class mean, since sums of x^2 less n mean^2 would cancel.
                step = cython.cast(cython.double, X[i, j]) - means[k, j]
                out[k, j] += share * step * step


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pack(
    X: cython.const[real][:, ::1],
    rows: cython.const[cython.Py_ssize_t][::1],
    labels: cython.const[cython.Py_ssize_t][::1],
    means: cython.const[cython.double][:, ::1],
    root: cython.const[cython.double][::1],
    packed: cython.double[::1],
) -> cython.void:
    """Lay out some rows in panels, each less the mean of its class and scaled; padding must be zero already."""
    width: cython.Py_ssize_t = panels.width()
    share: cython.double = 1.0
    start = 0
    while start < X.shape[1]:
        stop = min(X.shape[1], start + width)
        for i in range(rows.shape[0]):
            row = rows[i]
            k = labels[row]
            if root.shape[0] > 0:
                share = root[row]
            # Panel by panel: the rows of one panel of `width` columns lie one after another.
            place = start * rows.shape[0] + i * width - start
            for j in range(start, stop):
                # The square root of the weight on both factors of a product gives the weight once.
                packed[place + j] = share * (cython.cast(cython.double, X[row, j]) - means[k, j])
        start = stop


def add_products(
    X: cython.const[real][:, ::1],
    order: cython.const[cython.Py_ssize_t][::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    labels: cython.const[cython.Py_ssize_t][::1],
    root: cython.const[cython.double][::1],
    means: cython.const[cython.double][:, ::1],
    packed: cython.double[::1],
    out: cython.double[:, :, ::1],
):
    """Add to out[g], at and right of its diagonal, the products of columns over the rows of group g about class means.

    Parameters
    ----------
    X : (n, d) rows
    order : (n,) row numbers, group by group
    starts : (m + 1,) where in `order` each of the m groups begins, and the last ends
    labels : (n,) the class of each row
    root : (n,) square roots of the weights; or empty
    means : (k, d) class means
    packed : (count_packed(d),) scratch
    out : (m, pad_width(d), the same)
    """
    with cython.nogil:
        packed[:] = 0.0
        for group in range(starts.shape[0] - 1):
            first = starts[group]
            while first < starts[group + 1]:
                stop = min(first + TILE, starts[group + 1])
                # The rows of a short tile overwrite the padding of longer ones.
                if stop - first < TILE or first == starts[group]:
                    packed[:] = 0.0
                _pack(X, order[first:stop], labels, means, root, packed)
                panels.products(packed, stop - first, out[group])
                first = stop


def merge(
    first: cython.double[:, :, ::1],
    second: cython.const[cython.double][:, :, ::1],
    means: cython.double[:, ::1],
    steps: cython.double[:, ::1],
    weights: cython.const[cython.double][::1],
    others: cython.const[cython.double][::1],
):
    """Merge the moments of two sets of labelled rows into `first` and `means` (Chan, Golub and LeVeque, 1983).

    Parameters
    ----------
    first, second : (k or 1, w, w) scatters of each class, or of all; read and written at and right of the diagonal
    means, steps : (k, d) the means of both; the second become the steps between them
    weights, others : (k,) the weights of both
    """
    d: cython.Py_ssize_t = means.shape[1]
    with cython.nogil:
        # S = S1 + S2 + w1 w2 / (w1 + w2) step step', with step the difference of the means.
        for group in range(first.shape[0]):
            for i in range(d):
                for j in range(i, d):
                    first[group, i, j] += second[group, i, j]
        for k in range(means.shape[0]):
            # A class that neither set has keeps its means.
            if weights[k] + others[k] == 0.0:
                continue
            group = k if first.shape[0] > 1 else 0
            share = others[k] / (weights[k] + others[k])
            for i in range(d):
                steps[k, i] -= means[k, i]
            for i in range(d):
                factor = (weights[k] * share) * steps[k, i]
                for j in range(i, d):
                    first[group, i, j] += factor * steps[k, j]
            for i in range(d):
                means[k, i] += share * steps[k, i]
