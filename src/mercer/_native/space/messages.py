"""The messages of affinity propagation, one walk over the rows for each round."""

import cython


@cython.cclass
class Messages:
    """Availabilities and responsibilities before a round and after it, and the sums that rows share.

    ``own`` are the responsibilities of rows for themselves before the round, ``sums`` those that other rows send to
    each row where they are positive.
    """

    similarities: cython.const[cython.double][:, ::1]
    available: cython.const[cython.double][:, ::1]
    responsible: cython.const[cython.double][:, ::1]
    next_available: cython.double[:, ::1]
    next_responsible: cython.double[:, ::1]
    own: cython.const[cython.double][::1]
    sums: cython.const[cython.double][::1]

    def __init__(self, similarities, available, responsible, next_available, next_responsible, own, sums):
        self.similarities, self.available, self.responsible = similarities, available, responsible
        self.next_available, self.next_responsible = next_available, next_responsible
        self.own, self.sums = own, sums


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def make_available(round: Messages, i: cython.Py_ssize_t, damping: cython.double) -> cython.void:
    """Write the availabilities to row i that follow from the responsibilities before the round."""
    n: cython.Py_ssize_t = round.sums.shape[0]
    old = round.available[i]
    sent = round.responsible[i]
    new = round.next_available[i]
    fresh: cython.double = 1.0 - damping
    for k in range(n):
        given: cython.double = sent[k]
        # What others than row i send to row k. The whole sum is rounded first: ties that differ by less stay ties.
        rest: cython.double = (round.own[k] + round.sums[k]) - (given if given > 0.0 else 0.0)
        rest = rest if rest < 0.0 else 0.0
        new[k] = damping * old[k] + fresh * rest
    new[i] = damping * old[i] + fresh * ((round.own[i] + round.sums[i]) - round.own[i])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def send_responsible(
    round: Messages, i: cython.Py_ssize_t, damping: cython.double, sums: cython.double[::1]
) -> cython.void:
    """Write the responsibilities of row i, and add those that are positive to `sums`."""
    n: cython.Py_ssize_t = sums.shape[0]
    near = round.similarities[i]
    available = round.next_available[i]
    old = round.responsible[i]
    new = round.next_responsible[i]
    fresh: cython.double = 1.0 - damping
    first: cython.double = near[0] + available[0]
    second: cython.double = first
    place: cython.Py_ssize_t = 0
    second = -1.7976931348623157e308
    own_sum: cython.double = sums[i]
    for k in range(1, n):
        value: cython.double = near[k] + available[k]
        if value > first:
            second, first, place = first, value, k
        elif value > second:
            second = value
    best_sum: cython.double = sums[place]
    for k in range(n):
        sent: cython.double = damping * old[k] + fresh * (near[k] - first)
        new[k] = sent
        sums[k] += sent if sent > 0.0 else 0.0
    # The rival of the best is the second. Sums are put back, not corrected: messages may be as small as rounding.
    sent = damping * old[place] + fresh * (near[place] - second)
    new[place] = sent
    sums[place] = best_sum + (sent if sent > 0.0 else 0.0)
    # What a row sends to itself is no vote of others.
    sums[i] = own_sum


def exchange(
    round: Messages, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, damping: cython.double, sums: cython.double[::1]
) -> None:
    """Send the messages of the rows from `start` to `stop`, and add up those to each row in `sums`."""
    with cython.nogil:
        for i in range(start, stop):
            make_available(round, i, damping)
            send_responsible(round, i, damping, sums)
