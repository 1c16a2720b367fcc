"""Passes of a semi-Markov chain, whose states last for a number of steps with a distribution of its own.

A segment of state j that begins at step t and lasts d steps weighs p_j(d) exp(S[t + d, j] - S[t, j]), where S are
cumulative log densities of the steps. The last segment goes on after the end of the sequence: it has the probability of
lasting at least d steps. All tables hold logarithms; a pass costs O(n (K^2 + K D)).
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

INFINITY = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_logs(terms: cython.double[::1], n: cython.Py_ssize_t) -> cython.double:
    """Return the log of the sum of exponentials of the first n terms."""
    most: cython.double = -INFINITY
    total: cython.double = 0.0
    for i in range(n):
        most = terms[i] if terms[i] > most else most
    # An empty or impossible sum; the difference below would be NaN.
    if most == -INFINITY:
        return most
    for i in range(n):
        total += inline.exp(terms[i] - most)
    return most + inline.log(total)


def pass_segments_on(
    cumulative: cython.const[cython.double][:, ::1],
    first: cython.const[cython.double][::1],
    transitions: cython.const[cython.double][:, ::1],
    durations: cython.const[cython.double][:, ::1],
    survivors: cython.const[cython.double][:, ::1],
    begins: cython.double[:, ::1],
    ends: cython.double[:, ::1],
    terms: cython.double[::1],
) -> float:
    """Pass forward; return the log-likelihood.

    Parameters
    ----------
    cumulative : (n + 1, K)
    first, transitions : (K,), (K, K): from state to state; a state does not follow itself
    durations, survivors : (K, D): log P(duration = d) and log P(duration >= d) in column d - 1
    begins : (n, K), written: a segment begins at the step, and the steps before it
    ends : (n + 1, K), written: a segment ends before the step; in the last row it goes on
    terms : (max(K, D),): scratch
    """
    n: cython.Py_ssize_t = begins.shape[0]
    k: cython.Py_ssize_t = first.shape[0]
    with cython.nogil:
        for t in range(n + 1):
            # A segment that ends before step t lasts at most t steps.
            most = durations.shape[1] if durations.shape[1] < t else t
            for j in range(k):
                for d in range(1, most + 1):
                    # A segment that reaches the end of the sequence may go on: it needs only to last at least d steps.
                    terms[d - 1] = (
                        begins[t - d, j]
                        + (survivors[j, d - 1] if t == n else durations[j, d - 1])
                        + (cumulative[t, j] - cumulative[t - d, j])
                    )
                ends[t, j] = _sum_logs(terms, most)
            if t == n:
                break
            # A segment begins at t where another state's segment ended before t.
            for j in range(k):
                for i in range(k):
                    terms[i] = ends[t, i] + transitions[i, j]
                begins[t, j] = first[j] if t == 0 else _sum_logs(terms, k)
        # The likelihood sums over the state of the segment that is cut off by the end.
        for j in range(k):
            terms[j] = ends[n, j]
        total = _sum_logs(terms, k)
    return total


def pass_segments_back(
    cumulative: cython.const[cython.double][:, ::1],
    transitions: cython.const[cython.double][:, ::1],
    durations: cython.const[cython.double][:, ::1],
    survivors: cython.const[cython.double][:, ::1],
    begins: cython.const[cython.double][:, ::1],
    total: cython.double,
    rests: cython.double[:, ::1],
    afters: cython.double[:, ::1],
    counts: cython.double[:, ::1],
    open_counts: cython.double[:, ::1],
    terms: cython.double[::1],
) -> None:
    """Pass backward, and add the expected numbers of segments by state and duration.

    Parameters
    ----------
    begins, total : from :func:`pass_segments_on`
    rests : (n, K), written: the steps from here on, if a segment begins here
    afters : (n, K), written: the steps from here on, if a segment ended before here
    counts, open_counts : (K, D), added to: segments that end, and last ones that go on
    """
    n: cython.Py_ssize_t = begins.shape[0]
    k: cython.Py_ssize_t = begins.shape[1]
    with cython.nogil:
        for t in range(n - 1, -1, -1):
            most = durations.shape[1] if durations.shape[1] < n - t else n - t
            for j in range(k):
                for d in range(1, most + 1):
                    terms[d - 1] = cumulative[t + d, j] - cumulative[t, j]
                    # The last segment is cut off: it counts as one of at least d steps.
                    if t + d == n:
                        terms[d - 1] += survivors[j, d - 1]
                        open_counts[j, d - 1] += inline.exp(begins[t, j] + terms[d - 1] - total)
                    else:
                        terms[d - 1] += durations[j, d - 1] + afters[t + d, j]
                        # P(segment of state j from t to t + d | all) = begins x duration x densities x what follows,
                        # over the total.
                        counts[j, d - 1] += inline.exp(begins[t, j] + terms[d - 1] - total)
                rests[t, j] = _sum_logs(terms, most)
            # After a segment of state i ended, a state j begins.
            for i in range(k):
                for j in range(k):
                    terms[j] = transitions[i, j] + rests[t, j]
                afters[t, i] = _sum_logs(terms, k)


def find_segments(
    cumulative: cython.const[cython.double][:, ::1],
    first: cython.const[cython.double][::1],
    transitions: cython.const[cython.double][:, ::1],
    durations: cython.const[cython.double][:, ::1],
    survivors: cython.const[cython.double][:, ::1],
    begins: cython.double[:, ::1],
    ends: cython.double[:, ::1],
    lengths: cython.longlong[:, ::1],
    sources: cython.longlong[:, ::1],
    path: cython.longlong[::1],
) -> float:
    """Find the best segmentation; write the state of each step, and return its log probability.

    Parameters
    ----------
    begins, ends : (n, K), (n + 1, K): scratch
    lengths, sources : (n + 1, K), (n, K): scratch: the best last duration, and the best state before
    path : (n,), written
    """
    t: cython.Py_ssize_t
    j: cython.Py_ssize_t
    i: cython.Py_ssize_t
    d: cython.Py_ssize_t
    most: cython.Py_ssize_t
    n: cython.Py_ssize_t = begins.shape[0]
    k: cython.Py_ssize_t = first.shape[0]
    value: cython.double
    best: cython.double
    with cython.nogil:
        for t in range(n + 1):
            most = durations.shape[1] if durations.shape[1] < t else t
            for j in range(k):
                ends[t, j] = -INFINITY
                lengths[t, j] = 1
                # The same recursion as `pass_segments_on`, with a maximum in place of the sum.
                for d in range(1, most + 1):
                    value = begins[t - d, j] + (survivors[j, d - 1] if t == n else durations[j, d - 1])
                    value += cumulative[t, j] - cumulative[t - d, j]
                    if value > ends[t, j]:
                        ends[t, j] = value
                        lengths[t, j] = d
            if t == n:
                break
            for j in range(k):
                begins[t, j] = first[j] if t == 0 else -INFINITY
                sources[t, j] = 0
                for i in range(k):
                    if t > 0 and ends[t, i] + transitions[i, j] > begins[t, j]:
                        begins[t, j] = ends[t, i] + transitions[i, j]
                        sources[t, j] = i
        # The best last state, then back from segment to segment.
        j = 0
        for i in range(1, k):
            j = i if ends[n, i] > ends[n, j] else j
        best = ends[n, j]
        t = n
        while t > 0:
            d = lengths[t, j]
            for i in range(t - d, t):
                path[i] = j
            t -= d
            if t > 0:
                j = sources[t, j]
    return best
