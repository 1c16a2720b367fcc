"""Forward and backward passes in logarithms, for sequences whose probabilities leave the range of doubles.

Each step takes an exponential per pair of states, ten times the work of ``chain_passes``. Only steps of such sequences
come here: a chain that must pass through a state whose density is 1e-300 times that of another.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline


def log_forward(
    scores: cython.const[cython.double][:, ::1],
    initial: cython.const[cython.double][::1],
    transposed: cython.const[cython.double][:, ::1],
    terms: cython.double[::1],
    forward: cython.double[:, ::1],
):
    """Write log p(steps up to t, state) of one sequence to `forward`, (n, states).

    Parameters
    ----------
    scores : (n, states): log densities
    initial : (states,): logarithms
    transposed : (states, states): row j holds the logarithms of transitions into state j
    terms : (states,): scratch
    """
    with cython.nogil:
        for t in range(scores.shape[0]):
            for j in range(terms.shape[0]):
                if t == 0:
                    forward[t, j] = initial[j] + scores[t, j]
                    continue
                for i in range(terms.shape[0]):
                    # log sum_i exp(forward_i + log a_ij).
                    terms[i] = forward[t - 1, i] + transposed[j, i]
                forward[t, j] = inline.logsumexp(terms) + scores[t, j]


def log_backward(
    scores: cython.const[cython.double][:, ::1],
    transition: cython.const[cython.double][:, ::1],
    terms: cython.double[::1],
    forward: cython.double[:, ::1],
    backward: cython.double[::1],
    counts: cython.double[:, ::1],
):
    """Replace `forward` by p(state | all steps), and add the probabilities of all transitions to `counts`.

    Parameters
    ----------
    scores, transition : logarithms
    terms, backward : (states,): scratch
    forward : (n, states): as `log_forward` left it
    counts : (states, states)
    """
    k: cython.Py_ssize_t = terms.shape[0]
    n: cython.Py_ssize_t = scores.shape[0]
    with cython.nogil:
        # The log-likelihood of the whole sequence; every posterior is divided by it.
        total = inline.logsumexp(forward[n - 1])
        for i in range(k):
            backward[i] = 0.0
            forward[n - 1, i] = inline.exp(forward[n - 1, i] - total)
        for t in range(n - 2, -1, -1):
            for j in range(k):
                # What follows state j at the next step: its density there and all after.
                terms[j] = scores[t + 1, j] + backward[j]
            for i in range(k):
                for j in range(k):
                    # p(i at t, j at t + 1 | all) = forward_i a_ij b_j backward_j / total.
                    counts[i, j] += inline.exp(forward[t, i] + transition[i, j] + terms[j] - total)
            for i in range(k):
                # `backward` is no longer needed at its old step: one entry after the other is replaced.
                backward[i] = _sum_exponentials(transition[i], terms)
                forward[t, i] = inline.exp(forward[t, i] + backward[i] - total)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_exponentials(
    first: cython.const[cython.double][::1], second: cython.const[cython.double][::1]
) -> cython.double:
    """Return log(sum of exp(first + second))."""
    most: cython.double = first[0] + second[0]
    total: cython.double = 0.0
    for j in range(1, first.shape[0]):
        most = first[j] + second[j] if first[j] + second[j] > most else most
    # All terms are minus infinity: the difference below would be NaN.
    if not most > -1.7e308:
        return most
    for j in range(first.shape[0]):
        total += inline.exp(first[j] + second[j] - most)
    return most + inline.log(total)
