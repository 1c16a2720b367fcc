# cython: infer_types=True
"""The shares of topics in rows of counts, by coordinate ascent on the variational bound of each row.

With shares s_j = exp(psi(g_j)) of a row and factors t_wj of topic j for column w, the parameters of the row become
g_j = prior + s_j sum_w c_w t_wj / (s . t_w), again and again. Neither the scale of s nor that of any t_w matters.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

index = cython.fused_type(cython.int, cython.longlong)

# Keeps the quotients of columns finite that no topic has; far below any share that is left in a sum.
_TINY = cython.declare(cython.double, 1e-300)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def exp_digamma(x: cython.double) -> cython.double:
    """Return exp(psi(x)) for x > 0, to ten digits.

    psi(x) = psi(x + 6) - sum of 1 / (x + i) for i = 0..5, a fraction in t = x (x + 5); psi(y) is log(y) less the
    asymptotic series in 1 / y, whose first term left out is 0.02 / y^12 < 1e-11.
    """
    t: cython.double = x * (x + 5.0)
    harmonic: cython.double = (2.0 * x + 5.0) * (3.0 * t * t + 20.0 * t + 24.0) / (t * (t + 4.0) * (t + 6.0))
    y: cython.double = x + 6.0
    u: cython.double = 1.0 / y
    v: cython.double = u * u
    rest: cython.double = v * (1.0 / 12 - v * (1.0 / 120 - v * (1.0 / 252 - v * (1.0 / 240 - v * (1.0 / 132)))))
    return y * inline.exp(-(0.5 * u + rest + harmonic))


def infer_rows(
    pointers: cython.const[index][::1],
    columns: cython.const[index][::1],
    counts: cython.const[cython.double][::1],
    topics: cython.const[cython.double][:, ::1],
    prior: cython.double,
    gamma: cython.double[:, ::1],
    weights: cython.const[cython.double][::1],
    most: cython.Py_ssize_t,
    tol: cython.double,
    sums: cython.double[:, ::1],
    logs: cython.double[::1],
    scratch: cython.double[:, ::1],
) -> None:
    """Improve the parameters `gamma` of the rows of a CSR matrix; write sum_w c_w log(s . t_w) of each row to `logs`.

    A row is done when its parameters move by less than `tol` on average, or after `most` updates. Where `sums` has
    rows, one for each column, c_w s_j / (s . t_w) of each row times its weight is added. `scratch` is (2, topics).
    """
    value: cython.double
    change: cython.double
    norm: cython.double
    total: cython.double
    collects: cython.bint = sums.shape[0] > 0
    with cython.nogil:
        shares = scratch[0]
        gains = scratch[1]
        k = topics.shape[1]
        for row in range(gamma.shape[0]):
            for j in range(k):
                shares[j] = exp_digamma(gamma[row, j])
            for _ in range(most):
                for j in range(k):
                    gains[j] = 0.0
                for place in range(pointers[row], pointers[row + 1]):
                    word = columns[place]
                    norm = counts[place] / (inline.dot(shares, topics[word]) + _TINY)
                    for j in range(k):
                        gains[j] += norm * topics[word, j]
                change = 0.0
                for j in range(k):
                    value = prior + shares[j] * gains[j]
                    change += abs(value - gamma[row, j])
                    gamma[row, j] = value
                for j in range(k):
                    shares[j] = exp_digamma(gamma[row, j])
                if change < tol * k:
                    break
            total = 0.0
            for place in range(pointers[row], pointers[row + 1]):
                word = columns[place]
                norm = inline.dot(shares, topics[word]) + _TINY
                total += counts[place] * inline.log(norm)
                if collects:
                    norm = weights[row] * counts[place] / norm
                    for j in range(k):
                        sums[word, j] += norm * shares[j]
            logs[row] = total
