"""Layers of binary units: their probabilities, draws from them, and sums of softplus.

A draw takes its random number from a counter: the number of unit j of row i is a hash of the key and of i k + j, see
unit_sums.py. So draws do not depend on the order in which rows are worked on, nor on who works on them.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.machine import unit_sums
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.machine import unit_sums
    from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)


def activate_units(scores: real[:, ::1], bias: cython.const[real][::1]) -> None:
    """Replace the scores of a layer by probabilities, sigmoid(score + bias).

    Parameters
    ----------
    scores : (n, k), changed
    bias : (k,)
    """
    with cython.nogil:
        for i in range(scores.shape[0]):
            for j in range(scores.shape[1]):
                scores[i, j] = inline.expit(scores[i, j] + bias[j])


def draw_units(
    scores: real[:, ::1],
    bias: cython.const[real][::1],
    states: real[:, ::1],
    low_key: cython.uint,
    high_key: cython.uint,
) -> None:
    """Replace the scores of a layer by probabilities, and draw a state of 0 or 1 of each unit.

    Parameters
    ----------
    scores : (n, k), changed
    bias : (k,)
    states : (n, k), written
    low_key, high_key : the key of these draws
    """
    # Uniform in [0, 1) with 24 bits, exact in float32 and float64: both precisions draw alike.
    scale: real = 2.0**-24
    with cython.nogil:
        for i in range(scores.shape[0]):
            for j in range(scores.shape[1]):
                scores[i, j] = inline.expit(scores[i, j] + bias[j])
                word = cython.cast(cython.uint, i * scores.shape[1] + j)
                word = unit_sums.hash_word(unit_sums.hash_word(word ^ low_key) ^ high_key)
                # As a signed number: CPUs convert these to floating point at once.
                number = cython.cast(cython.int, word >> 8)
                chance = number * scale
                states[i, j] = 1.0 if chance < scores[i, j] else 0.0


def sum_softplus(
    scores: cython.const[real][:, ::1], bias: cython.const[real][::1], scratch: real[:, ::1], out: cython.double[::1]
) -> None:
    """Write the sum over units of log(1 + exp(score + bias)) of each row to `out`.

    Parameters
    ----------
    scores : (n, k)
    bias : (k,)
    scratch : (2, k)
    out : (n,), written
    """
    with cython.nogil:
        for i in range(scores.shape[0]):
            for j in range(scores.shape[1]):
                scratch[0, j] = scores[i, j] + bias[j]
            out[i] = unit_sums.sum_units(scratch[0], scratch[1])


def score_flips(
    rows: cython.const[real][:, ::1],
    scores: cython.const[real][:, ::1],
    visible: cython.const[real][::1],
    hidden: cython.const[real][::1],
    weights: cython.const[real][:, ::1],
    flips: cython.const[cython.longlong][::1],
    scratch: real[:, ::1],
    out: cython.double[::1],
) -> cython.double:
    """Write log P(v_j | all other visible units) of one unit j of each row to `out`; return their sum.

    It is -log(1 + exp(F(v) - F(v'))), where v' is v with the unit turned over and F is the free energy.

    Parameters
    ----------
    rows : (n, d)
    scores : (n, k): scores of the hidden units, without bias
    visible, hidden : (d,), (k,): biases
    weights : (d, k)
    flips : (n,): the unit of each row
    scratch : (3, k)
    out : (n,), written
    """
    total: cython.double = 0.0
    with cython.nogil:
        for i in range(scores.shape[0]):
            flip = flips[i]
            # +1 turns the unit on, -1 off.
            step = 1 - 2 * rows[i, flip]
            for j in range(scores.shape[1]):
                scratch[0, j] = scores[i, j] + hidden[j]
                scratch[1, j] = scratch[0, j] + step * weights[flip, j]
            # F(v) = -b.v - sum_j softplus(c_j + v.W_j): the difference needs the hidden scores before and after the
            # turn.
            gain = unit_sums.sum_units(scratch[1], scratch[2]) - unit_sums.sum_units(scratch[0], scratch[2])
            out[i] = -inline.log1pexp(gain + cython.cast(cython.double, step) * visible[flip])
            total += out[i]
    return total
