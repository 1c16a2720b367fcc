"""Forward and backward passes of a hidden Markov chain in probabilities, scaled at every step.

A table has a row per step and a lane per state, rounded up to a multiple of eight; the lanes beyond the states hold
zeros. Several sequences may follow each other in one table: `starts` lists the rows at which one begins.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.sequence import steps
    from cython.cimports.mercer._native.shared import blas, inline
else:
    from mercer._native.sequence import steps
    from mercer._native.shared import blas, inline

# A smaller sum over all states is near the end of the range of doubles: the pass is repeated in logarithms.
LEAST = cython.declare(cython.double, 1e-280)


def exponentiate(scores: cython.double[:, ::1], flat: cython.double[::1], tops: cython.double[::1]):
    """Replace log densities by densities divided by the largest of their step, and write its logarithm to `tops`.

    Parameters
    ----------
    scores : (n, lanes); lanes beyond the states hold minus infinity
    flat : (n * lanes,): the same memory as one row
    tops : (n,): zero where no state has a density
    """
    with cython.nogil:
        for t in range(scores.shape[0]):
            most = steps.top(scores[t])
            most = most if most > -1.7e308 else 0.0
            tops[t] = most
            steps.shift(scores[t], -most)
        for lane in range(flat.shape[0]):
            flat[lane] = inline.exp(flat[lane])


def pass_forward(
    densities: cython.const[cython.double][:, ::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    initial: cython.const[cython.double][::1],
    transition: cython.const[cython.double][:, ::1],
    filtered: cython.double[:, ::1],
    predicted: cython.double[:, ::1],
    scale: cython.double[::1],
) -> cython.Py_ssize_t:
    """Filter the states; return the number of steps done, fewer than n where a sum is too small to go on.

    Parameters
    ----------
    densities : (n, lanes): of each step given each state, up to a factor of the step
    starts : rows at which a sequence begins, ascending
    initial : (lanes,): probabilities of first states
    transition : (states, lanes)
    filtered : (n + 1, lanes): row t + 1 gets p(state | steps up to t); row 0 holds what entered the table
    predicted : (n, lanes): p(state | steps before t)
    scale : (n,): the density of each step given those before it, up to the factor
    """
    following: cython.Py_ssize_t = 0
    done: cython.Py_ssize_t = densities.shape[0]
    with cython.nogil:
        for t in range(densities.shape[0]):
            if following < starts.shape[0] and starts[following] == t:
                following += 1
                for lane in range(initial.shape[0]):
                    predicted[t, lane] = initial[lane]
                # The first step is predicted by the initial distribution.
                scale[t] = steps.condition(predicted[t], densities[t], filtered[t + 1])
            else:
                # predicted = filtered A; filtered' is predicted times the densities, over its sum, which is the scale.
                scale[t] = steps.step(filtered[t], transition, densities[t], predicted[t], filtered[t + 1])
            # Also true for NaN. The caller goes on in logarithms from here.
            if not scale[t] > LEAST:
                done = t
                break
    return done


def pass_backward(
    filtered: cython.const[cython.double][:, ::1],
    predicted: cython.const[cython.double][:, ::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    transposed: cython.const[cython.double][:, ::1],
    message: cython.double[::1],
    smoothed: cython.double[:, ::1],
    ratio: cython.double[:, ::1],
):
    """Smooth the states from the last step to the first.

    With r_t = p(state | all) / p(state | steps before t), the smoothed probabilities of step t - 1 are the filtered
    ones times (A r_t), and those of a pair of states are filtered times A times r_t. All numbers are probabilities and
    their ratios: nothing grows with the length of the sequence.

    Parameters
    ----------
    filtered, predicted, starts : as `pass_forward` left them
    transposed : (states, lanes): row j holds the transitions into state j
    message : (lanes,): how likely each last state makes what follows, ones at the end of a sequence; on return the same
        for the step before the table
    smoothed : (n, lanes): p(state | all steps)
    ratio : (n, lanes): r_t, zero at the start of a sequence
    """
    n: cython.Py_ssize_t = predicted.shape[0]
    before: cython.Py_ssize_t = starts.shape[0] - 1
    with cython.nogil:
        # At the last step: filtered times how likely each state makes what follows.
        steps.condition(filtered[n], message, smoothed[n - 1])
        for t in range(n - 1, -1, -1):
            if before >= 0 and starts[before] == t:
                before -= 1
                # No transition leads into the first step of a sequence: its ratios count nothing.
                for lane in range(ratio.shape[1]):
                    ratio[t, lane] = 0.0
                    message[lane] = 1.0
                if t > 0:
                    steps.condition(filtered[t], message, smoothed[t - 1])
                continue
            # r_t = p(state | all) / p(state | before); where the prediction is zero so is the ratio.
            steps.divide(smoothed[t], predicted[t], LEAST, ratio[t])
            if t > 0:
                # The message to step t - 1 is A r_t, and its smoothed probabilities are filtered times that.
                steps.step(ratio[t], transposed, filtered[t], message, smoothed[t - 1])
            else:
                steps.advance(ratio[t], transposed, message)


def add_transitions(
    filtered: cython.const[cython.double][:, ::1],
    ratio: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
):
    """Add the sum over steps of filtered (before) times ratio (after) to `out`, (lanes, lanes).

    Times the transition probabilities, these are the expected numbers of transitions.
    """
    with cython.nogil:
        blas.add_transposed_product(filtered, ratio, out)


def multiply_chain(
    densities: cython.const[cython.double][:, ::1],
    transition: cython.const[cython.double][:, ::1],
    product: cython.double[:, ::1],
    following: cython.double[:, ::1],
):
    """Replace `product`, (states, lanes), by product * (A D_1) (A D_2)..., with D_t the densities of step t.

    The product is divided by its largest row sum at each step; `following` is scratch of the same shape.
    """
    with cython.nogil:
        for t in range(densities.shape[0]):
            most = 0.0
            for row in range(product.shape[0]):
                steps.advance(product[row], transition, following[row])
                # The sum of a row after the densities; the largest of them scales the whole product, so ratios of rows
                # are kept.
                total = inline.dot(following[row], densities[t])
                most = total if total > most else most
            # A product of zeros stays zero: the densities were impossible from every state.
            most = 1.0 / most if most > 0.0 else 0.0
            for row in range(product.shape[0]):
                for lane in range(product.shape[1]):
                    product[row, lane] = following[row, lane] * densities[t, lane] * most
