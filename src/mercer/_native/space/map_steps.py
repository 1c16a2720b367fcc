"""The online self-organising map: each row attracts its nearest unit, and that unit's neighbours on the grid."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)


def follow_rows(
    X: cython.const[real][:, ::1],
    order: cython.const[cython.longlong][::1],
    weight: cython.const[cython.double][::1],
    across: cython.const[cython.double][:, ::1],
    up: cython.const[cython.double][:, ::1],
    columns: cython.const[cython.int][::1],
    rows: cython.const[cython.int][::1],
    rate: cython.double,
    point: cython.double[::1],
    centres: cython.double[:, ::1],
):
    """Move the centres by w_q += (1 - (1 - rate h_qp)^weight) (x - w_q) for each row x in turn, p its nearest unit.

    A Gaussian of the grid distance is a product of one factor across and one up: h_qp = across * up.

    Parameters
    ----------
    X : (n, d)
    order : (m,), indices of the rows, in the order in which they are shown
    weight : (n,), or empty when all weights are one
    across, up : the factors between any two grid columns, and between any two grid rows
    columns, rows : (k,), the grid column and row of each unit
    rate : in [0, 1]
    point : (d,) scratch
    centres : (k, d), moved
    """
    i: cython.Py_ssize_t
    share: cython.double
    with cython.nogil:
        for t in range(order.shape[0]):
            i = order[t]
            if weight.shape[0] > 0 and weight[i] <= 0.0:
                continue
            for j in range(X.shape[1]):
                point[j] = X[i, j]
            # The winner is the unit nearest to the row; ties go to the lowest number.
            winner = 0
            least = inline.distance_squared(point, centres[0])
            for q in range(1, centres.shape[0]):
                share = inline.distance_squared(point, centres[q])
                if share < least:
                    least = share
                    winner = q
            for q in range(centres.shape[0]):
                # Every unit moves, the farther from the winner on the grid the less.
                share = rate * across[columns[winner], columns[q]] * up[rows[winner], rows[q]]
                # A smaller step is below the rounding of the centre itself.
                if share < 1e-17:
                    continue
                if weight.shape[0] > 0 and weight[i] != 1.0:
                    # 1 - (1 - s)^w by expm1 and log1p, which keep the digits of small s.
                    share = 1.0 if share >= 1.0 else -inline.expm1(weight[i] * inline.log1p(-share))
                for j in range(X.shape[1]):
                    centres[q, j] += share * (point[j] - centres[q, j])
