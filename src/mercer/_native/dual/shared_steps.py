"""Pair steps taken by several threads, each with a share of the columns of a working set.

A thread owns the slopes of its columns and a copy of all coefficients. A step has two exchanges: which coefficient
costs least to raise, and which partner promises the largest fall of the objective. Each thread writes the best of its
own columns to a line that only it writes, waits for the lines of the others, and draws the same conclusion as they do;
then each changes its copy of the coefficients, and its slopes. Every value is made by the operations of a descent on
one thread, and shares lie in the order of places, among equals the lowest place wins: the bits are those of one thread.
No thread writes its least cost a second time before all have written their partners, hence have read what was written
before: one line for each exchange is enough.

`inner` (7, q) is the state of the program and `rules` (5,) its limits, see ``pair_steps``. Measured on two cores with
1280 rows of floats: 1.6 us a step on one thread, 1.1 us shared by two; with 4096 rows 5.0 and 3.1.
"""

import cython

from mercer._native.dual import pair_steps, pairs
from mercer._native.shared import team

real = cython.fused_type(cython.float, cython.double)
INFINITY = float("inf")

# Rows of `lines`, each of 128 bytes, so that threads share no cache line. The word of the first is the number of shares
# once the leader has opened the steps to others, -1 if it will not; then the step after which they begin. The word of
# the second counts the threads that have come. Then each share has a row for each of the two exchanges; their words are
# the number of the step they belong to.
OPENING = 0
ARRIVALS = 1
LEAST = 2
PARTNER = 3
# Places in the row of the first exchange: cost and place of the coefficient to raise in either group, and whether the
# owner of the share asks all to leave.
LEAST_COST = 1
LEAST_PLACE = 2
OTHER_COST = 3
OTHER_PLACE = 4
LEAVES = 5
# Places in the row of the second exchange: promise, violation, place and gain of the best partner, and its kernel value
# with the coefficient that rises.
PARTNER_PROMISE = 1
PARTNER_VIOLATION = 2
PARTNER_PLACE = 3
PARTNER_GAIN = 4
PARTNER_VALUE = 5
# Places in the account of a thread: promise and violation of the best pair and the number of steps; of the leader also
# nanoseconds and steps alone, nanoseconds and steps beside others, how many these were, whether one was late; then cost
# and place of what is raised in either group, gain of the partner, and the kernel value between them.
PROMISE = 0
VIOLATION = 1
STEPS = 2
ALONE_TIME = 3
ALONE_STEPS = 4
SHARED_TIME = 5
SHARED_STEPS = 6
OTHERS = 7
WAS_LATE = 8
FIRST_COST = 9
FIRST_PLACE = 10
SECOND_COST = 11
SECOND_PLACE = 12
GAIN = 13
VALUE = 14

# Steps that the leader still takes alone after the first thread has come, while others are coming.
PATIENCE = 16
# Looks, of 20 to 50 nanoseconds each, after which a thread is late because it has no core: an exchange takes 150 ns.
LATE = 2000


def wait_for_all(
    lines: cython.double[:, ::1], row: cython.Py_ssize_t, shares: cython.Py_ssize_t, number: cython.longlong
) -> cython.int:
    """Wait until all shares have written step `number`; return whether one was late. `row` is that of the first."""
    share: cython.Py_ssize_t
    missing: cython.Py_ssize_t
    look: cython.Py_ssize_t = 0
    while True:
        missing = 0
        for share in range(shares):
            missing += team.load_word(lines, row + 2 * share) != number
        if missing == 0:
            return look > LATE
        team.spin(look)
        look += 1


def find_edge(n: cython.Py_ssize_t, share: cython.Py_ssize_t, shares: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return where a share of n columns begins: at a multiple of 16, so that a cache line of slopes has one owner."""
    return min(n, 16 * ((n + 15) // 16 * share // shares))


def tell_least(
    lines: cython.double[:, ::1],
    share: cython.Py_ssize_t,
    own: cython.const[cython.double][:, ::1],
    lowest: cython.Py_ssize_t,
    other: cython.Py_ssize_t,
    leaves: cython.int,
    number: cython.longlong,
) -> cython.void:
    """Write which coefficients of a share cost least to raise, in either group, and whether its owner will leave."""
    row: cython.Py_ssize_t = LEAST + 2 * share
    lines[row, LEAST_COST] = own[pair_steps.SLOPE, lowest] + own[pair_steps.RISE, lowest] if lowest >= 0 else INFINITY
    lines[row, LEAST_PLACE] = lowest
    lines[row, OTHER_COST] = own[pair_steps.SLOPE, other] + own[pair_steps.RISE, other] if other >= 0 else INFINITY
    lines[row, OTHER_PLACE] = other
    lines[row, LEAVES] = leaves
    team.store_word(lines, row, number)


def read_least(
    lines: cython.const[cython.double][:, ::1], shares: cython.Py_ssize_t, account: cython.double[::1]
) -> cython.void:
    """Write the least cost of all shares and its place, in either group, to the account; -1 if there is none."""
    for group in range(0, 4, 2):
        account[FIRST_COST + group] = INFINITY
        account[FIRST_PLACE + group] = -1.0
        for row in range(LEAST, LEAST + 2 * shares, 2):
            if lines[row, LEAST_COST + group] < account[FIRST_COST + group]:
                account[FIRST_COST + group] = lines[row, LEAST_COST + group]
                account[FIRST_PLACE + group] = lines[row, LEAST_PLACE + group]


def tell_partner(
    K: cython.const[real][:, ::1],
    inner: cython.const[cython.double][:, ::1],
    own: cython.const[cython.double][:, ::1],
    lines: cython.double[:, ::1],
    account: cython.double[::1],
    share: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    middle: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    number: cython.longlong,
) -> cython.void:
    """Write the partner of a share, in either group, that promises most; its place is -1 if there is none.

    The share has the columns from `first` to `last`; those from `middle` on belong to the second group.
    """
    i: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, account[FIRST_PLACE])
    other: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, account[SECOND_PLACE])
    j: cython.Py_ssize_t = -1
    row: cython.Py_ssize_t = PARTNER + 2 * share
    account[PROMISE] = 0.0
    account[VIOLATION] = -INFINITY
    if i >= 0:
        j = pairs.partner(
            K[i], inner[pair_steps.DIAGONAL], own[pair_steps.SLOPE], own[pair_steps.FALL],
            inner[pair_steps.DIAGONAL, i], account[FIRST_COST], pair_steps.FLAT, first, middle, account,
        )  # fmt: skip
    # The partner in the second group must promise more than the one of the first, since it starts from that promise.
    if other >= 0:
        partner = pairs.partner(
            K[other], inner[pair_steps.DIAGONAL], own[pair_steps.SLOPE], own[pair_steps.FALL],
            inner[pair_steps.DIAGONAL, other], account[SECOND_COST], pair_steps.FLAT, middle, last, account,
        )  # fmt: skip
        if partner >= 0:
            i = other
            j = partner
    # The step number is written last: readers that see it also see the numbers written before.
    lines[row, PARTNER_PROMISE] = account[PROMISE]
    lines[row, PARTNER_VIOLATION] = account[VIOLATION]
    lines[row, PARTNER_PLACE] = j
    lines[row, PARTNER_GAIN] = own[pair_steps.SLOPE, j] + own[pair_steps.FALL, j] if j >= 0 else 0.0
    lines[row, PARTNER_VALUE] = K[i, j] if j >= 0 else 0.0
    team.store_word(lines, row, number)


def read_partner(
    lines: cython.const[cython.double][:, ::1], shares: cython.Py_ssize_t, account: cython.double[::1]
) -> cython.Py_ssize_t:
    """Return the partner that promises most of all shares, and write what is known of it to the account."""
    j: cython.Py_ssize_t = -1
    account[PROMISE] = 0.0
    account[VIOLATION] = -INFINITY
    for row in range(PARTNER, PARTNER + 2 * shares, 2):
        account[VIOLATION] = max(account[VIOLATION], lines[row, PARTNER_VIOLATION])
        if lines[row, PARTNER_PLACE] >= 0.0 and lines[row, PARTNER_PROMISE] > account[PROMISE]:
            account[PROMISE] = lines[row, PARTNER_PROMISE]
            j = cython.cast(cython.Py_ssize_t, lines[row, PARTNER_PLACE])
            account[GAIN] = lines[row, PARTNER_GAIN]
            account[VALUE] = lines[row, PARTNER_VALUE]
    return j


def update_owner(
    k: cython.Py_ssize_t,
    size: cython.double,
    value: cython.double,
    inner: cython.const[cython.double][:, ::1],
    own: cython.double[:, ::1],
    kink: cython.double,
) -> cython.void:
    """Mark how coefficient `k` may move now; add `size` times what the diagonal has beyond the kernel value K_kk."""
    pair_steps.mark(
        k, own[pair_steps.COEFFICIENT], inner[pair_steps.LOWER], inner[pair_steps.UPPER], kink, own[pair_steps.RISE],
        own[pair_steps.FALL],
    )  # fmt: skip
    own[pair_steps.SLOPE, k] += size * (inner[pair_steps.DIAGONAL, k] - value)


def move_pair(
    i: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    cost: cython.double,
    inner: cython.const[cython.double][:, ::1],
    own: cython.double[:, ::1],
    kink: cython.double,
    account: cython.const[cython.double][::1],
) -> cython.double:
    """Raise coefficient `i`, which costs `cost`, and lower the partner `j` of the account; return the step size."""
    diagonal: cython.double = inner[pair_steps.DIAGONAL, i] + inner[pair_steps.DIAGONAL, j]
    return pair_steps.move(
        i, j, account[GAIN] - cost, diagonal - 2.0 * account[VALUE], inner[pair_steps.LOWER],
        inner[pair_steps.UPPER], kink, own[pair_steps.COEFFICIENT],
    )  # fmt: skip


def take_steps(
    K: cython.const[real][:, ::1],
    inner: cython.const[cython.double][:, ::1],
    own: cython.double[:, ::1],
    rules: cython.const[cython.double][::1],
    lines: cython.double[:, ::1],
    account: cython.double[::1],
    share: cython.Py_ssize_t,
    shares: cython.Py_ssize_t,
    awaited: cython.Py_ssize_t,
    patience: cython.double,
) -> cython.int:
    """Take steps with a share; return 1 at the end of the descent, 0 if the leader has made all leave before it.

    `own` has the first four rows of `inner`: slopes and moves of the columns of the share, and all coefficients. The
    leader has the first share. Alone, it leaves when `awaited` other threads have come, or `patience` steps after the
    first of them (after `patience` steps, if it awaits nobody); beside others, it leaves when one is late.
    """
    n: cython.Py_ssize_t = inner.shape[1]
    first: cython.Py_ssize_t = find_edge(n, share, shares)
    last: cython.Py_ssize_t = find_edge(n, share + 1, shares)
    split: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, rules[pair_steps.SPLIT])
    middle: cython.Py_ssize_t = max(first, min(split, last))
    waited: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    size: cython.double = 0.0
    leaves: cython.int = 0
    while True:
        number = cython.cast(cython.longlong, account[STEPS]) + 1
        lowest = pairs.update(K[i], K[j], size, own[pair_steps.SLOPE], own[pair_steps.RISE], first, middle)
        other = pairs.update(K[i], K[j], size, own[pair_steps.SLOPE], own[pair_steps.RISE], middle, last)
        tell_least(lines, share, own, lowest, other, leaves, number)
        leaves = wait_for_all(lines, LEAST, shares, number)
        # The leader's line tells whether all leave, so that all read the same.
        if lines[LEAST, LEAVES] > 0.0:
            return 0
        read_least(lines, shares, account)
        tell_partner(K, inner, own, lines, account, share, first, middle, last, number)
        leaves |= wait_for_all(lines, PARTNER, shares, number)
        j = read_partner(lines, shares, account)
        if j < 0 or account[VIOLATION] <= rules[pair_steps.TOLERANCE] or account[STEPS] >= rules[pair_steps.MOST_STEPS]:
            return 1
        group = 0 if j < split else 2
        i = cython.cast(cython.Py_ssize_t, account[FIRST_PLACE + group])
        size = move_pair(i, j, account[FIRST_COST + group], inner, own, rules[pair_steps.KINK], account)
        # Rounding left no room to move.
        if size <= 0.0:
            return 1
        # Only the owner of a column keeps its slope and its moves; all keep the coefficients.
        if first <= i < last:
            update_owner(i, size, K[i, i], inner, own, rules[pair_steps.KINK])
        if first <= j < last:
            update_owner(j, -size, K[j, j], inner, own, rules[pair_steps.KINK])
        account[STEPS] += 1.0
        if shares == 1:
            waited = waited + 1 if awaited == 0 or team.load_word(lines, ARRIVALS) > 0 else 0
            leaves = waited >= patience or (awaited > 0 and team.load_word(lines, ARRIVALS) >= awaited)


def join(
    K: cython.const[real][:, ::1],
    inner: cython.double[:, ::1],
    copies: cython.double[:, :, ::1],
    rules: cython.const[cython.double][::1],
    lines: cython.double[:, ::1],
    accounts: cython.double[:, ::1],
    share: cython.Py_ssize_t,
) -> cython.void:
    """Take a share of the steps, from when the leader opens them to others until all leave."""
    n: cython.Py_ssize_t = inner.shape[1]
    look: cython.Py_ssize_t = 0
    shares: cython.longlong = 0
    team.add_word(lines, ARRIVALS, 1)
    while shares == 0:
        team.spin(look)
        look += 1
        shares = team.load_word(lines, OPENING)
    if shares < 0:
        return
    first = find_edge(n, share, shares)
    last = find_edge(n, share + 1, shares)
    # All coefficients are copied, but slopes and moves only of the own columns.
    for k in range(n):
        copies[share, pair_steps.COEFFICIENT, k] = inner[pair_steps.COEFFICIENT, k]
    for row in range(pair_steps.SLOPE, pair_steps.FALL + 1):
        for k in range(first, last):
            copies[share, row, k] = inner[row, k]
    accounts[share, STEPS] = lines[OPENING, 1]
    take_steps(K, inner, copies[share], rules, lines, accounts[share], share, shares, 0, INFINITY)
    for row in range(pair_steps.SLOPE, pair_steps.FALL + 1):
        for k in range(first, last):
            inner[row, k] = copies[share, row, k]


def clear(lines: cython.double[:, ::1], accounts: cython.double[:, ::1]) -> cython.void:
    """Clear all words and the leader's account before others are called to a descent."""
    for k in range(lines.shape[0]):
        team.store_word(lines, k, 0)
    for k in range(accounts.shape[1]):
        accounts[0, k] = 0.0


def lead(
    K: cython.const[real][:, ::1],
    inner: cython.double[:, ::1],
    rules: cython.const[cython.double][::1],
    lines: cython.double[:, ::1],
    accounts: cython.double[:, ::1],
    control: cython.longlong[::1],
    called: cython.Py_ssize_t,
) -> cython.void:
    """Descend alone for a while, then beside those of the `called` threads that have come, then alone if one was late.

    With STEPS_ALONE above 0 the leader first takes that many steps alone, to measure them; it then is alone until all
    have come, or until PATIENCE steps after the first. With STEPS_ALONE below 0 it does not begin before all have come.
    """
    account: cython.double[::1] = accounts[0]
    look: cython.Py_ssize_t = 0
    apart: cython.double = rules[pair_steps.STEPS_ALONE]
    then: cython.longlong = team.read_clock()
    ended: cython.int = 0
    while apart < 0.0 and team.load_word(lines, ARRIVALS) < called:
        team.wait(look)
        look += 1
    if apart > 0.0:
        ended = take_steps(K, inner, inner, rules, lines, account, 0, 1, 0, apart)
    if not ended:
        ended = take_steps(K, inner, inner, rules, lines, account, 0, 1, called, PATIENCE)
    # Threads that have not claimed a share by now find none left; the claimed shares are the first, without a gap.
    coming = team.claim_rest(control, called)
    if not ended and team.load_word(lines, ARRIVALS) < coming:
        ended = take_steps(K, inner, inner, rules, lines, account, 0, 1, coming, INFINITY)
    now = team.read_clock()
    account[ALONE_TIME] = now - then
    account[ALONE_STEPS] = account[STEPS]
    if not ended and coming > 0:
        lines[OPENING, 1] = account[STEPS]
        # Erase the step numbers that the leader wrote while it was alone.
        team.store_word(lines, LEAST, 0)
        team.store_word(lines, PARTNER, 0)
        team.store_word(lines, OPENING, coming + 1)
        ended = take_steps(K, inner, inner, rules, lines, account, 0, coming + 1, 0, INFINITY)
        account[SHARED_TIME] = team.read_clock() - now
        account[SHARED_STEPS] = account[STEPS] - account[ALONE_STEPS]
        account[OTHERS] = coming
        account[WAS_LATE] = not ended
    else:
        team.store_word(lines, OPENING, -1)
    # Shares that nobody claimed count as done, else the wait below would not end.
    team.add_done(control, called - coming)
    look = 0
    while not team.is_done(control, called):
        team.wait(look)
        look += 1
    # After LATE / 2 looks the leader has slept.
    if look > LATE // 2:
        account[WAS_LATE] = 1.0
    # One thread was late, so the leader ends the descent alone.
    if not ended:
        then = team.read_clock()
        take_steps(K, inner, inner, rules, lines, account, 0, 1, 0, INFINITY)
        account[ALONE_TIME] += team.read_clock() - then
        account[ALONE_STEPS] = account[STEPS] - account[SHARED_STEPS]
