"""The uncompiled twin of ``shared_steps.pxd``: the same operations and the same exchanges, hence the same bits."""

import threading

from mercer._native.dual import pair_steps, pairs
from mercer._native.shared import team

__all__ = ["expect", "join", "lead", "take_steps"]

INFINITY = float("inf")
# Steps that the leader takes alone while others are coming, once the first has come, and looks after which one is late.
PATIENCE, LATE = 16, 2000

_lock = threading.Lock()


def arrive(lines):
    """Count one more who has come."""
    with _lock:
        lines[1, 0] += 1


def meet(lines, row, shares, number):
    """Wait until all shares have told the number of a step; whether one was late. `row` is that of the first."""
    look = 0
    while (lines[row : row + 2 * shares : 2, 0] != number).any():
        team.hold(look)
        look += 1
    return look > LATE


def edge(n, share, shares):
    """Where a share begins: lines of a cache have one owner."""
    return min(n, 16 * ((n + 15) // 16 * share // shares))


def tell_least(lines, share, own, lowest, other, leaves, number):
    """Tell which coefficients of a share cost least to raise, in either group, and whether its owner wants to leave."""
    line = lines[2 + 2 * share]
    for k, place in ((1, lowest), (3, other)):
        line[k] = own[1, place] + own[2, place] if place >= 0 else INFINITY
        line[k + 1] = place
    line[5] = leaves
    line[0] = number


def hear_least(lines, shares, account):
    """Note the least cost of all shares and its place, in either group; -1 if there is none."""
    told = lines[2 : 2 + 2 * shares : 2]
    for kind in (1, 3):
        account[kind + 8 : kind + 10] = told[told[:, kind].argmin(), kind : kind + 2]


def tell_partner(K, inner, own, lines, account, share, first, middle, last, number):
    """Find the partner of a share, in either group, that promises most, and tell it; -1 if there is none."""
    line, i, j = lines[3 + 2 * share], -1, -1
    account[:2] = 0.0, -INFINITY
    for kind, begin, end in ((9, first, middle), (11, middle, last)):
        one = int(account[kind + 1])
        if one >= 0:
            terms = (K[one], inner[6], own[1], own[3], inner[6, one], account[kind], pair_steps.FLAT, begin, end)
            partner = pairs.partner(*terms, account)
            if partner >= 0:
                i, j = one, partner
    line[1:4] = account[0], account[1], j
    line[4:6] = (own[1, j] + own[3, j], K[i, j]) if j >= 0 else (0.0, 0.0)
    line[0] = number


def hear_partner(lines, shares, account):
    """The partner that promises most of all shares; note promise, violation, its gain, and its value with the other."""
    told = lines[3 : 3 + 2 * shares : 2]
    best = told[:, 1].argmax()
    account[:2] = told[:, 1:3].max(axis=0)
    account[13:15] = told[best, 4:6]
    return int(told[best, 3])


def take_steps(K, inner, own, rules, lines, account, share, shares, awaited, patience):
    """Take steps with a share; return 1 at the end of the descent, 0 if the leader has made all leave before it."""
    first, last = edge(inner.shape[1], share, shares), edge(inner.shape[1], share + 1, shares)
    kink, split, tolerance, most = float(rules[0]), int(rules[1]), rules[2], rules[3]
    middle, waited, i, j, size, leaves = max(first, min(split, last)), 0, 0, 0, 0.0, 0
    while True:
        lowest = pairs.update(K[i], K[j], size, own[1], own[2], first, middle)
        other = pairs.update(K[i], K[j], size, own[1], own[2], middle, last)
        tell_least(lines, share, own, lowest, other, leaves, account[2] + 1)
        leaves = meet(lines, 2, shares, account[2] + 1)
        if lines[2, 5] > 0.0:
            return 0
        hear_least(lines, shares, account)
        tell_partner(K, inner, own, lines, account, share, first, middle, last, account[2] + 1)
        leaves |= meet(lines, 3, shares, account[2] + 1)
        j = hear_partner(lines, shares, account)
        if j < 0 or account[1] <= tolerance or account[2] >= most:
            return 1
        cost, i = account[9:11] if j < split else account[11:13]
        i = int(i)
        terms = (account[13] - cost, inner[6, i] + inner[6, j] - 2.0 * account[14], inner[4], inner[5], kink, own[0])
        size = pair_steps.move(i, j, *terms)
        if size <= 0.0:
            return 1
        # The diagonal may hold more than K does: a row's own share.
        for k, sign in ((i, 1.0), (j, -1.0)):
            if first <= k < last:
                pair_steps.mark(k, own[0], inner[4], inner[5], kink, own[2], own[3])
                own[1, k] += sign * (size * (inner[6, k] - K[k, k]))
        account[2] += 1
        if shares == 1:
            waited = waited + 1 if awaited == 0 or lines[1, 0] > 0 else 0
            leaves = waited >= patience or 0 < awaited <= lines[1, 0]


def join(K, inner, copies, rules, lines, account, share):
    """Take a share of the steps, from when the leader opens them to others until all leave."""
    arrive(lines)
    while lines[0, 0] == 0:
        team.hold(0)
    shares = int(lines[0, 0])
    if shares < 0:
        return
    part = slice(edge(inner.shape[1], share, shares), edge(inner.shape[1], share + 1, shares))
    own = copies[share][:4, : inner.shape[1]]
    own[0] = inner[0]
    own[1:, part] = inner[1:4, part]
    account[share, 2] = lines[0, 1]
    take_steps(K, inner, own, rules, lines, account[share], share, shares, 0, INFINITY)
    inner[1:4, part] = own[1:, part]


def expect(lines, account):
    """Make ready for a descent, before others are called to it."""
    lines[:, 0] = 0
    account[0] = 0.0


def lead(K, inner, rules, lines, accounts, control, called):
    """Descend alone for a while, then beside those of the called who have come, then alone if one of these was late."""
    account, apart, then = accounts[0], rules[4], team.clock()
    alone = (K, inner, inner, rules, lines, account, 0, 1)
    while apart < 0.0 and lines[1, 0] < called:
        team.rest(0)
    ended = apart > 0.0 and take_steps(*alone, 0, apart)
    ended = ended or take_steps(*alone, called, PATIENCE)
    # Whoever has not claimed a share by now finds none; those claimed are the first, without a gap.
    coming = team.close(control, called)
    if not ended and lines[1, 0] < coming:
        ended = take_steps(*alone, coming, INFINITY)
    now = team.clock()
    account[3:5] = now - then, account[2]
    if not ended and coming > 0:
        lines[0, 1] = account[2]
        # What the leader has told itself alone.
        lines[2:4, 0] = 0
        lines[0, 0] = coming + 1
        ended = take_steps(K, inner, inner, rules, lines, account, 0, coming + 1, 0, INFINITY)
        account[5:9] = team.clock() - now, account[2] - account[4], coming, not ended
    else:
        lines[0, 0] = -1
    team.finish(control, called - coming)
    look = 0
    while not team.is_done(control, called):
        team.rest(look)
        look += 1
    account[8] = account[8] or look > LATE // 2
    if not ended:
        then = team.clock()
        take_steps(*alone, 0, INFINITY)
        account[3] += team.clock() - then
        account[4] = account[2] - account[6]
