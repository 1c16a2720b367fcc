"""Widths of Gaussians by their perplexity: a Newton iteration for each row, kept inside a bracket."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

# Bracket of log(beta times the mean squared distance): a Gaussian e^20 times narrower than the distances, or wider, has
# the perplexity of its limit to 1e-8.
_LOWEST = cython.declare(cython.double, -20.0)
_HIGHEST = cython.declare(cython.double, 40.0)
# Nats within which the entropy must be met: a relative error of 1e-9 of the perplexity.
_CLOSE = cython.declare(cython.double, 1e-9)
# Most iterations of a row: bisection alone would narrow the bracket to 1e-10 in 40.
_MOST = cython.declare(cython.int, 60)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh(
    squares: cython.const[cython.double][::1],
    least: cython.double,
    beta: cython.double,
    weights: cython.double[::1],
    moments: cython.double[::1],
) -> cython.void:
    """Write w = exp(-beta (square - least)); `moments` get the sum of w, and the mean and variance of -log w."""
    for j in range(squares.shape[0]):
        weights[j] = inline.exp(-beta * (squares[j] - least))
    total = inline.sum(weights)
    mean = beta * (inline.dot(weights, squares) / total - least)
    moments[0] = total
    moments[1] = mean if mean > 0.0 else 0.0
    mean = 0.0
    for j in range(squares.shape[0]):
        mean += weights[j] * (beta * (squares[j] - least) - moments[1]) * (beta * (squares[j] - least) - moments[1])
    moments[2] = mean / total


def match_perplexity(
    squares: cython.const[cython.double][:, ::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    entropy: cython.double,
    betas: cython.double[::1],
    gaps: cython.double[::1],
    weights: cython.double[:, ::1],
    moments: cython.double[::1],
):
    """Find beta for each row so that the weights exp(-beta square), divided by their sum, have the given entropy.

    Parameters
    ----------
    squares : (n, k): squared distances
    first, last : the rows to work on
    entropy : the logarithm of the perplexity, in nats
    betas, gaps : (n,), written: 1 / (2 sigma^2), and the entropy reached minus the one asked for
    weights : (n, k), written
    moments : (3,), scratch
    """
    turn: cython.int
    least: cython.double
    scale: cython.double
    at: cython.double
    with cython.nogil:
        for i in range(first, last):
            least = squares[i, 0]
            for j in range(squares.shape[1]):
                least = squares[i, j] if squares[i, j] < least else least
            scale = inline.sum(squares[i]) / squares.shape[1] - least
            scale = scale if scale > 0.0 else 1.0
            low, high, at, before = _LOWEST, _HIGHEST, 0.0, 1e300
            turn = 0
            while turn < _MOST:
                turn += 1
                _weigh(squares[i], least, inline.exp(at) / scale, weights[i], moments)
                gaps[i] = inline.log(moments[0]) + moments[1] - entropy
                if abs(gaps[i]) < _CLOSE or high - low < 1e-13:
                    break
                # The entropy falls as beta grows.
                if gaps[i] > 0.0:
                    low = at
                else:
                    high = at
                # dH / d log(beta) is minus the variance of beta d^2.
                at = at + gaps[i] / moments[2] if moments[2] > 1e-12 else high
                # Newton steps may run in a cycle of two: a step that has not halved the gap is followed by a bisection.
                if not (low < at and at < high) or abs(gaps[i]) > 0.5 * before:
                    at = 0.5 * (low + high)
                before = abs(gaps[i])
            betas[i] = inline.exp(at) / scale
            for j in range(squares.shape[1]):
                weights[i, j] /= moments[0]
