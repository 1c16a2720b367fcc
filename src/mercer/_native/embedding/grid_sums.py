"""Sums over the points of a flat map by a grid: points are spread over nodes by cubic B-splines, and read off so.

Also the attraction along edges, row by row, for maps whose repulsion comes from a grid.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.embedding import map_cells
else:
    from mercer._native.embedding import map_cells


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh(place: cython.double, weights: cython.double[::1]) -> cython.Py_ssize_t:
    """Write the weights of the four nodes around `place`, in units of the grid; return the first of them."""
    node: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, place)
    t: cython.double = place - node
    s: cython.double = 1.0 - t
    weights[0] = s * s * s / 6.0
    weights[1] = (4.0 + t * t * (3.0 * t - 6.0)) / 6.0
    weights[2] = (4.0 + s * s * (3.0 * s - 6.0)) / 6.0
    weights[3] = t * t * t / 6.0
    return node - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slope(place: cython.double, slopes: cython.double[::1]) -> cython.void:
    """Write the derivatives of the weights of `_weigh`."""
    t: cython.double = place - cython.cast(cython.Py_ssize_t, place)
    s: cython.double = 1.0 - t
    slopes[0] = -0.5 * s * s
    slopes[1] = 0.5 * t * (3.0 * t - 4.0)
    slopes[2] = -0.5 * s * (3.0 * s - 4.0)
    slopes[3] = 0.5 * t * t


def spread_points(
    places: cython.const[cython.double][:, ::1],
    origin: cython.const[cython.double][::1],
    inverse: cython.double,
    scratch: cython.double[:, ::1],
    grid: cython.double[:, ::1],
):
    """Add one unit for each point to the 16 nodes around it; `scratch` (2, 4), `inverse` one over the spacing."""
    with cython.nogil:
        for i in range(places.shape[0]):
            row = _weigh((places[i, 0] - origin[0]) * inverse, scratch[0])
            column = _weigh((places[i, 1] - origin[1]) * inverse, scratch[1])
            for a in range(4):
                for b in range(4):
                    grid[row + a, column + b] += scratch[0, a] * scratch[1, b]


def read_grid(
    places: cython.const[cython.double][:, ::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    origin: cython.const[cython.double][::1],
    inverse: cython.double,
    grid: cython.const[cython.double][:, ::1],
    scratch: cython.double[:, ::1],
    push: cython.double[:, ::1],
    potential: cython.double[::1],
):
    """Write the potential of points `first` to `last`, and minus half its gradient; `scratch` (4, 4)."""
    line: cython.double
    down: cython.double
    total: cython.double
    along: cython.double
    across: cython.double
    with cython.nogil:
        for i in range(first, last):
            row = _weigh((places[i, 0] - origin[0]) * inverse, scratch[0])
            column = _weigh((places[i, 1] - origin[1]) * inverse, scratch[1])
            _slope((places[i, 0] - origin[0]) * inverse, scratch[2])
            _slope((places[i, 1] - origin[1]) * inverse, scratch[3])
            total = 0.0
            along = 0.0
            across = 0.0
            for a in range(4):
                line = 0.0
                down = 0.0
                for b in range(4):
                    line += scratch[1, b] * grid[row + a, column + b]
                    down += scratch[3, b] * grid[row + a, column + b]
                total += scratch[0, a] * line
                along += scratch[2, a] * line
                across += scratch[0, a] * down
            potential[i] = total
            push[i, 0] = -0.5 * inverse * along
            push[i, 1] = -0.5 * inverse * across


def attract_rows(
    places: cython.const[cython.float][:, ::1],
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.int][::1],
    weights: cython.const[cython.float][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    pull: cython.float[:, ::1],
):
    """Write sum_j p_ij (y_i - y_j) / (1 + |y_i - y_j|^2) over the edges of rows `first` to `last`."""
    with cython.nogil:
        for i in range(first, last):
            map_cells.attract(places, i, ends, weights, starts[i], starts[i + 1], pull[i])
