"""Jacobi rotations that make a set of symmetric matrices as diagonal as one rotation of the space can.

The matrices are stored with the number of the matrix as the last index, so that the loops over the set run along
memory.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rotate(first: cython.double[::1], second: cython.double[::1], c: cython.double, s: cython.double) -> cython.void:
    """Replace two rows by c first + s second and c second - s first."""
    for i in range(first.shape[0]):
        kept = first[i]
        first[i] = c * kept + s * second[i]
        second[i] = c * second[i] - s * kept


def sweep_pairs(A: cython.double[:, :, ::1], V: cython.double[:, ::1], threshold: cython.double):
    """Rotate every pair of axes once by its best angle, in place; return the largest sine of an angle.

    The angle maximises the sum of squares of the diagonals. With h = (a_pp - a_qq, 2 a_pq) of each matrix, (cos 2t,
    sin 2t) is the leading eigenvector of the 2 x 2 matrix sum h h^T (Cardoso and Souloumiac, 1996).

    Parameters
    ----------
    A : (k, k, m): m symmetric matrices, rotated to V A V^T
    V : (k, k): the rotation so far, one axis a row
    threshold : angles with a smaller sine are left out
    """
    cython.declare(p=cython.Py_ssize_t, q=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t)
    cython.declare(along=cython.double, across=cython.double, apart=cython.double, twice=cython.double)
    cython.declare(root=cython.double, c=cython.double, s=cython.double, x=cython.double, y=cython.double)
    k: cython.Py_ssize_t = A.shape[0]
    largest: cython.double = 0.0
    with cython.nogil:
        for p in range(k - 1):
            for q in range(p + 1, k):
                along = 0.0
                across = 0.0
                for i in range(A.shape[2]):
                    # h = (a_pp - a_qq, 2 a_pq); of sum h h^T only the difference of the diagonal and the off-diagonal
                    # matter.
                    apart = A[p, p, i] - A[q, q, i]
                    twice = A[p, q, i] + A[q, p, i]
                    along += apart * apart - twice * twice
                    across += 2.0 * apart * twice
                root = sqrt(along * along + across * across)
                # All matrices are already diagonal in this pair, or isotropic: no angle is better than another.
                if root == 0.0:
                    continue
                # (x, y) has half the angle of (along, across), and the rotation has half the angle of (x, y). Of the
                # two forms of the half angle the one without a difference of equal numbers is used.
                if along >= 0.0:
                    x = sqrt(0.5 * (1.0 + along / root))
                    y = across / root / (2.0 * x)
                else:
                    y = sqrt(0.5 * (1.0 - along / root))
                    y = -y if across < 0.0 else y
                    x = across / root / (2.0 * y)
                # cos t = sqrt((1 + cos 2t) / 2) and sin t = sin 2t / (2 cos t).
                c = sqrt(0.5 * (1.0 + x))
                s = y / (2.0 * c)
                if (s if s > 0.0 else -s) <= threshold:
                    continue
                largest = max(largest, s if s > 0.0 else -s)
                # A becomes R A R^T: first rows p and q, then columns.
                for j in range(k):
                    _rotate(A[p, j], A[q, j], c, s)
                for j in range(k):
                    _rotate(A[j, p], A[j, q], c, s)
                _rotate(V[p], V[q], c, s)
    return largest
