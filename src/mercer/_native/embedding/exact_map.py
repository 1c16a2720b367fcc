"""Forces between all pairs of points of a map, in float64, for the t and the Gaussian kernel."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

# The Gaussian kernel; a positive number is the degrees of freedom of a t kernel.
_GAUSSIAN = cython.declare(cython.double, 0.0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare(
    columns: cython.const[cython.double][:, ::1],
    row: cython.Py_ssize_t,
    freedom: cython.double,
    near: cython.double[::1],
    weights: cython.double[::1],
) -> cython.void:
    """Write u and w of one point against all: (1 + d^2 / a)^-1 and u^((a + 1) / 2), or 1 and exp(-d^2)."""
    for j in range(columns.shape[1]):
        near[j] = 0.0
    for c in range(columns.shape[0]):
        for j in range(columns.shape[1]):
            near[j] += (columns[c, j] - columns[c, row]) * (columns[c, j] - columns[c, row])
    if freedom == _GAUSSIAN:
        for j in range(columns.shape[1]):
            weights[j] = inline.exp(-near[j])
            near[j] = 1.0
    elif freedom == 1.0:
        for j in range(columns.shape[1]):
            near[j] = 1.0 / (1.0 + near[j])
            weights[j] = near[j]
    else:
        for j in range(columns.shape[1]):
            near[j] = 1.0 / (1.0 + near[j] / freedom)
            weights[j] = inline.exp(0.5 * (freedom + 1.0) * inline.log(near[j]))
    weights[row] = 0.0


def add_forces(
    columns: cython.const[cython.double][:, ::1],
    affinities: cython.const[cython.double][:, ::1],
    freedom: cython.double,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    near: cython.double[::1],
    weights: cython.double[::1],
    pull: cython.double[:, ::1],
    push: cython.double[:, ::1],
    sums: cython.double[:, ::1],
):
    """Write the attraction and, before division by Z, the repulsion of rows `first` to `last`.

    Parameters
    ----------
    columns : (d, n): the map, a line per coordinate
    affinities : (n, n), symmetric, zero on the diagonal
    freedom : degrees of freedom of the t kernel; 0 means the Gaussian kernel
    near, weights : (n,), scratch
    pull, push : (n, d): sum_j p_ij u_ij (y_i - y_j) and sum_j w_ij u_ij (y_i - y_j), with u and w of `_compare`
    sums : (n, 2): sum_j w_ij, and -sum_j p_ij log w_ij
    """
    with cython.nogil:
        for i in range(first, last):
            _compare(columns, i, freedom, near, weights)
            sums[i, 0] = inline.sum(weights)
            for j in range(columns.shape[1]):
                weights[j] *= near[j]
            total = inline.sum(weights)
            for c in range(columns.shape[0]):
                push[i, c] = columns[c, i] * total - inline.dot(weights, columns[c])
            for j in range(columns.shape[1]):
                weights[j] = affinities[i, j] * near[j]
            total = inline.sum(weights)
            for c in range(columns.shape[0]):
                pull[i, c] = columns[c, i] * total - inline.dot(weights, columns[c])
            sums[i, 1] = 0.0


def add_potentials(
    columns: cython.const[cython.double][:, ::1],
    affinities: cython.const[cython.double][:, ::1],
    freedom: cython.double,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    near: cython.double[::1],
    weights: cython.double[::1],
    sums: cython.double[:, ::1],
):
    """Write `sums` as in :func:`add_forces`; without affinities, of shape (0, 0), its second column is left alone."""
    with cython.nogil:
        for i in range(first, last):
            _compare(columns, i, freedom, near, weights)
            sums[i, 0] = inline.sum(weights)
            if affinities.shape[0] > 0:
                # Affinities are zero on the diagonal, where the weight is zero too.
                weights[i] = 1.0
                for j in range(columns.shape[1]):
                    weights[j] = -inline.log(weights[j] if weights[j] > 1e-300 else 1e-300)
                sums[i, 1] = inline.dot(affinities[i], weights)


def move_points(
    slope: cython.const[cython.double][:, ::1],
    rules: cython.const[cython.double][::1],
    place: cython.double[:, ::1],
    speed: cython.double[:, ::1],
    gain: cython.double[:, ::1],
    columns: cython.double[:, ::1],
):
    """Move all points by momentum and gains against `slope`; `rules` (3,): momentum, rate, longest step of a point."""
    length: cython.double
    factor: cython.double
    with cython.nogil:
        for i in range(place.shape[0]):
            length = 0.0
            for c in range(place.shape[1]):
                value = gain[i, c] + 0.2 if slope[i, c] * speed[i, c] < 0.0 else gain[i, c] * 0.8
                gain[i, c] = value if value > 0.01 else 0.01
                speed[i, c] = rules[0] * speed[i, c] - rules[1] * gain[i, c] * slope[i, c]
                length += speed[i, c] * speed[i, c]
            factor = rules[2] / length**0.5 if length > rules[2] * rules[2] else 1.0
            for c in range(place.shape[1]):
                speed[i, c] *= factor
                place[i, c] += speed[i, c]
                columns[c, i] = place[i, c]
