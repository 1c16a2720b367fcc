"""Viterbi's algorithm: the best sequence of states, in logarithms.

The forward pass keeps scores only. The way back finds the best predecessor of the one state on the path by the same
additions as the forward pass, so that no table of predecessors is needed. Among equals the lowest state is taken.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.sequence import steps
else:
    from mercer._native.sequence import steps

# Steps between two subtractions of the largest score, which keep the digits of long sums.
PERIOD = cython.declare(cython.Py_ssize_t, 8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_top(row: cython.const[cython.double][::1], states: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the first state of the largest score."""
    top: cython.Py_ssize_t = 0
    for state in range(1, states):
        top = state if row[state] > row[top] else top
    return top


def score_paths(
    scores: cython.const[cython.double][:, ::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    initial: cython.const[cython.double][::1],
    transition: cython.const[cython.double][:, ::1],
    best: cython.double[:, ::1],
    shifts: cython.double[::1],
):
    """Write the score of the best path that ends in each state at each step.

    Parameters
    ----------
    scores : (n, lanes): log densities; minus infinity in lanes beyond the states
    starts, initial, transition : as in `pass_forward`, the latter two as logarithms
    best : (n + 1, lanes): row t + 1 gets the scores of step t less `shifts[t]`; row 0 holds what entered the table
    shifts : (n,): what was subtracted at each step; zero at most of them
    """
    following: cython.Py_ssize_t = 0
    with cython.nogil:
        for t in range(scores.shape[0]):
            # A sequence begins here: nothing comes from the row before.
            if following < starts.shape[0] and starts[following] == t:
                following += 1
                for lane in range(initial.shape[0]):
                    best[t + 1, lane] = initial[lane] + scores[t, lane]
            else:
                steps.best(best[t], transition, scores[t], best[t + 1])
            shifts[t] = 0.0
            # Scores fall with every step; at times the best is taken off, so that they keep their digits.
            if t % PERIOD == PERIOD - 1:
                top = steps.top(best[t + 1])
                # All states impossible: the best is minus infinity, which must not be subtracted.
                if top > -1.7e308:
                    shifts[t] = top
                    steps.shift(best[t + 1], -top)


def trace_path(
    best: cython.const[cython.double][:, ::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    transposed: cython.const[cython.double][:, ::1],
    last: cython.Py_ssize_t,
    path: cython.Py_ssize_t[::1],
) -> cython.Py_ssize_t:
    """Write the best path that ends in state `last`; -1 takes the best last state. Return the state before the table.

    `best` and `starts` are as `score_paths` left them; `transposed` holds logarithms. Without a step before the table
    (a sequence begins at its first row) -1 is returned.
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    states: cython.Py_ssize_t = transposed.shape[0]
    state: cython.Py_ssize_t = last
    before: cython.Py_ssize_t = starts.shape[0] - 1
    top: cython.double
    score: cython.double
    with cython.nogil:
        for t in range(path.shape[0] - 1, -1, -1):
            # The end of a sequence, or of the table: the best of all last states.
            if state < 0:
                state = _find_top(best[t + 1], states)
            path[t] = state
            # The sequence begins at row t, so the next row visited ends another one.
            if before >= 0 and starts[before] == t:
                before -= 1
                state = -1
                continue
            last = state
            state = 0
            top = best[t, 0] + transposed[last, 0]
            for i in range(1, states):
                # The same addition as in the forward pass, so that the comparison has the same bits.
                score = best[t, i] + transposed[last, i]
                state = i if score > top else state
                top = score if score > top else top
    return state


def trace_all(
    best: cython.const[cython.double][:, ::1],
    transposed: cython.const[cython.double][:, ::1],
    ends: cython.Py_ssize_t[::1],
):
    """Replace each last state in `ends` by the state before the table on its best path; no sequence begins inside."""
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    path: cython.Py_ssize_t
    state: cython.Py_ssize_t
    count: cython.Py_ssize_t = ends.shape[0]
    top: cython.double
    score: cython.double
    with cython.nogil:
        for t in range(best.shape[0] - 2, -1, -1):
            for path in range(count):
                state = 0
                top = best[t, 0] + transposed[ends[path], 0]
                for i in range(1, transposed.shape[0]):
                    score = best[t, i] + transposed[ends[path], i]
                    state = i if score > top else state
                    top = score if score > top else top
                ends[path] = state
            # Paths that have met stay together: from there one is followed for all.
            if count > 1:
                # `state` serves as a flag here: 1 as long as all paths agree.
                state = 1
                for path in range(1, count):
                    state = state if ends[path] == ends[0] else 0
                count = 1 if state == 1 else count
        for path in range(count, ends.shape[0]):
            ends[path] = ends[0]


def multiply_best(
    scores: cython.const[cython.double][:, ::1],
    transition: cython.const[cython.double][:, ::1],
    product: cython.double[:, ::1],
    following: cython.double[:, ::1],
):
    """Replace `product`, (states, lanes), by the best scores from each first state through all steps to each last."""
    with cython.nogil:
        for t in range(scores.shape[0]):
            for row in range(product.shape[0]):
                steps.best(product[row], transition, scores[t], following[row])
                for lane in range(product.shape[1]):
                    product[row, lane] = following[row, lane]
