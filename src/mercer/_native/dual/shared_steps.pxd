# Pair steps taken by several threads, each with a share of the columns. shared_steps.py is the uncompiled twin.
#
# A member has the slopes of its columns, and all coefficients, to itself. A step has two exchanges: which coefficient
# costs least to raise, and which partner promises most. Each member tells the best of its columns in a line of its own,
# waits for those of the others, and comes to their conclusion; then each changes its copy of the coefficients, and its
# slopes. Every value is made by the operations of a descent alone, and shares lie in the order of places, of which the
# lowest wins among equals: the bits are those of a descent alone. Nobody tells what is least a second time before all
# have told their partners, hence read what was told before: one line for either is enough.
#
# `lines` has rows of 128 bytes: the first says how many shares there are once the leader has opened the steps to others,
# -1 if it will not, and after which step; the second counts who has come; then two rows for each share, for the two
# exchanges. The first word of a row is a whole number. `inner` (7, q) has coefficients, slopes, what is added to these
# when coefficients rise and fall, bounds, and the diagonal with whatever is added to it. `rules`: the kink, where the
# second group begins, the tolerance, steps at most, and how many of them the leader takes alone first, to measure them.
# It then is alone until all have come, or until some steps after the first, when those who have come must do. If the last
# rule is below 0, it does not begin before all have come.
#
# An account is what one member keeps: promise and violation of the best pair, the number of steps, then, of the leader,
# nanoseconds and steps alone, nanoseconds and steps beside others, how many these were, and whether one was late; cost
# and place of what is raised, in either group, gain of the partner, and the value between them.
#
# Measured on two cores with 1280 rows of floats: 1.6 us a step alone, 1.1 shared by two; with 4096 rows 5.0 and 3.1.

from libc.math cimport INFINITY

from mercer._native.dual cimport pair_steps, pairs
from mercer._native.shared cimport team
from mercer._native.shared.team cimport mercer_team_add, mercer_team_load, mercer_team_store

cdef extern from *:
    """
    /* Steps that the leader takes alone while others are coming, once the first has come. */
    #define MERCER_PATIENCE 16
    /* Looks, of 20 to 50 nanoseconds, after which somebody is late who has no core: an exchange takes 150. */
    #define MERCER_LATE 2000
    """
    const Py_ssize_t PATIENCE "MERCER_PATIENCE"
    const Py_ssize_t LATE "MERCER_LATE"

ctypedef fused real:
    float
    double


cdef inline long long word(double[:, ::1] lines, Py_ssize_t row) noexcept nogil:
    """The number at the beginning of a row."""
    return mercer_team_load(<long long *> &lines[row, 0])


cdef inline void tell(double[:, ::1] lines, Py_ssize_t row, long long number) noexcept nogil:
    """Write the number at the beginning of a row, after all else."""
    mercer_team_store(<long long *> &lines[row, 0], number)


cdef inline void arrive(double[:, ::1] lines) noexcept nogil:
    """Count one more who has come."""
    mercer_team_add(<long long *> &lines[1, 0], 1)


cdef inline int meet(double[:, ::1] lines, Py_ssize_t row, Py_ssize_t shares, long long number) noexcept nogil:
    """Wait until all shares have told the number of a step; whether one was late. `row` is that of the first."""
    cdef Py_ssize_t share, missing, look = 0
    while True:
        missing = 0
        for share in range(shares):
            missing += word(lines, row + 2 * share) != number
        if missing == 0:
            return look > LATE
        team.hold(look)
        look += 1


cdef inline Py_ssize_t edge(Py_ssize_t n, Py_ssize_t share, Py_ssize_t shares) noexcept nogil:
    """Where a share begins: lines of a cache have one owner."""
    return min(n, 16 * ((n + 15) // 16 * share // shares))


cdef inline void tell_least(double[:, ::1] lines, Py_ssize_t share, const double[:, ::1] own, Py_ssize_t lowest,
                            Py_ssize_t other, int leaves, long long number) noexcept nogil:
    """Tell which coefficients of a share cost least to raise, in either group, and whether its owner wants to leave."""
    cdef Py_ssize_t row = 2 + 2 * share
    lines[row, 1] = own[1, lowest] + own[2, lowest] if lowest >= 0 else INFINITY
    lines[row, 2] = lowest
    lines[row, 3] = own[1, other] + own[2, other] if other >= 0 else INFINITY
    lines[row, 4] = other
    lines[row, 5] = leaves
    tell(lines, row, number)


cdef inline void hear_least(const double[:, ::1] lines, Py_ssize_t shares, double[::1] account) noexcept nogil:
    """Note the least cost of all shares and its place, in either group; -1 if there is none."""
    cdef Py_ssize_t row, kind
    for kind in range(1, 5, 2):
        account[kind + 8] = INFINITY
        account[kind + 9] = -1.0
        for row in range(2, 2 + 2 * shares, 2):
            if lines[row, kind] < account[kind + 8]:
                account[kind + 8] = lines[row, kind]
                account[kind + 9] = lines[row, kind + 1]


cdef inline void tell_partner(const real[:, ::1] K, const double[:, ::1] inner, const double[:, ::1] own,
                              double[:, ::1] lines, double[::1] account, Py_ssize_t share, Py_ssize_t first,
                              Py_ssize_t middle, Py_ssize_t last, long long number) noexcept nogil:
    """Find the partner of a share, in either group, that promises most, and tell it; -1 if there is none."""
    cdef Py_ssize_t i = <Py_ssize_t> account[10], other = <Py_ssize_t> account[12], j = -1, partner, row = 3 + 2 * share
    account[0] = 0.0
    account[1] = -INFINITY
    if i >= 0:
        j = pairs.partner(K[i], inner[6], own[1], own[3], inner[6, i], account[9], pair_steps.FLAT, first, middle,
                          account)
    if other >= 0:
        partner = pairs.partner(K[other], inner[6], own[1], own[3], inner[6, other], account[11], pair_steps.FLAT,
                                middle, last, account)
        if partner >= 0:
            i = other
            j = partner
    lines[row, 1] = account[0]
    lines[row, 2] = account[1]
    lines[row, 3] = j
    lines[row, 4] = own[1, j] + own[3, j] if j >= 0 else 0.0
    lines[row, 5] = K[i, j] if j >= 0 else 0.0
    tell(lines, row, number)


cdef inline Py_ssize_t hear_partner(const double[:, ::1] lines, Py_ssize_t shares, double[::1] account) noexcept nogil:
    """The partner that promises most of all shares; note promise, violation, its gain, and its value with the other."""
    cdef Py_ssize_t row, j = -1
    account[0] = 0.0
    account[1] = -INFINITY
    for row in range(3, 3 + 2 * shares, 2):
        account[1] = max(account[1], lines[row, 2])
        if lines[row, 3] >= 0.0 and lines[row, 1] > account[0]:
            account[0] = lines[row, 1]
            j = <Py_ssize_t> lines[row, 3]
            account[13] = lines[row, 4]
            account[14] = lines[row, 5]
    return j


cdef inline int take_steps(const real[:, ::1] K, const double[:, ::1] inner, double[:, ::1] own,
                           const double[::1] rules, double[:, ::1] lines, double[::1] account, Py_ssize_t share,
                           Py_ssize_t shares, Py_ssize_t awaited, double patience) noexcept nogil:
    """Take steps with a share; return 1 at the end of the descent, 0 if the leader has made all leave before it.

    `own` has the first four rows of `inner`, of the columns of the share, and all coefficients. The leader has the
    first share. Alone it leaves when so many others as it awaits have come, or `patience` steps after the first of them
    (after as many steps, if it awaits nobody); beside others, when one is late.
    """
    cdef Py_ssize_t n = inner.shape[1], first = edge(n, share, shares), last = edge(n, share + 1, shares)
    cdef Py_ssize_t split = <Py_ssize_t> rules[1], middle = max(first, min(split, last)), waited = 0, i = 0, j = 0
    cdef Py_ssize_t lowest, other, group
    cdef double size = 0.0
    cdef int leaves = 0
    while True:
        lowest = pairs.update(K[i], K[j], size, own[1], own[2], first, middle)
        other = pairs.update(K[i], K[j], size, own[1], own[2], middle, last)
        tell_least(lines, share, own, lowest, other, leaves, <long long> account[2] + 1)
        leaves = meet(lines, 2, shares, <long long> account[2] + 1)
        if lines[2, 5] > 0.0:
            return 0
        hear_least(lines, shares, account)
        tell_partner(K, inner, own, lines, account, share, first, middle, last, <long long> account[2] + 1)
        leaves |= meet(lines, 3, shares, <long long> account[2] + 1)
        j = hear_partner(lines, shares, account)
        if j < 0 or account[1] <= rules[2] or account[2] >= rules[3]:
            return 1
        group = 0 if j < split else 2
        i = <Py_ssize_t> account[10 + group]
        size = pair_steps.move(i, j, account[13] - account[9 + group], inner[6, i] + inner[6, j] - 2.0 * account[14],
                               inner[4], inner[5], rules[0], own[0])
        if size <= 0.0:
            return 1
        # The diagonal may hold more than K does: a row's own share.
        if first <= i < last:
            pair_steps.mark(i, own[0], inner[4], inner[5], rules[0], own[2], own[3])
            own[1, i] += size * (inner[6, i] - K[i, i])
        if first <= j < last:
            pair_steps.mark(j, own[0], inner[4], inner[5], rules[0], own[2], own[3])
            own[1, j] -= size * (inner[6, j] - K[j, j])
        account[2] += 1.0
        if shares == 1:
            waited = waited + 1 if awaited == 0 or word(lines, 1) > 0 else 0
            leaves = waited >= patience or (awaited > 0 and word(lines, 1) >= awaited)


cdef inline void join(const real[:, ::1] K, double[:, ::1] inner, double[:, :, ::1] copies, const double[::1] rules,
                      double[:, ::1] lines, double[:, ::1] account, Py_ssize_t share) noexcept nogil:
    """Take a share of the steps, from when the leader opens them to others until all leave."""
    cdef Py_ssize_t n = inner.shape[1], first, last, k, row, look = 0
    cdef long long shares = 0
    arrive(lines)
    while shares == 0:
        team.hold(look)
        look += 1
        shares = word(lines, 0)
    if shares < 0:
        return
    first = edge(n, share, shares)
    last = edge(n, share + 1, shares)
    for k in range(n):
        copies[share, 0, k] = inner[0, k]
    for row in range(1, 4):
        for k in range(first, last):
            copies[share, row, k] = inner[row, k]
    account[share, 2] = lines[0, 1]
    take_steps(K, inner, copies[share], rules, lines, account[share], share, shares, 0, INFINITY)
    for row in range(1, 4):
        for k in range(first, last):
            inner[row, k] = copies[share, row, k]


cdef inline void expect(double[:, ::1] lines, double[:, ::1] account) noexcept nogil:
    """Make ready for a descent, before others are called to it."""
    cdef Py_ssize_t k
    for k in range(lines.shape[0]):
        tell(lines, k, 0)
    for k in range(account.shape[1]):
        account[0, k] = 0.0


cdef inline void lead(const real[:, ::1] K, double[:, ::1] inner, const double[::1] rules, double[:, ::1] lines,
                      double[:, ::1] accounts, long long[::1] control, Py_ssize_t called) noexcept nogil:
    """Descend alone for a while, then beside those of the called who have come, then alone if one of these was late.

    The account gets nanoseconds and steps alone, then beside others, the number of these, and 1 if one was late.
    """
    cdef double[::1] account = accounts[0]
    cdef Py_ssize_t coming, look = 0
    cdef double apart = rules[4]
    cdef long long now, then = team.clock()
    cdef int ended = 0
    while apart < 0.0 and word(lines, 1) < called:
        team.rest(look)
        look += 1
    if apart > 0.0:
        ended = take_steps(K, inner, inner, rules, lines, account, 0, 1, 0, apart)
    if not ended:
        ended = take_steps(K, inner, inner, rules, lines, account, 0, 1, called, PATIENCE)
    # Whoever has not claimed a share by now finds none; those claimed are the first, without a gap.
    coming = team.close(control, called)
    if not ended and word(lines, 1) < coming:
        ended = take_steps(K, inner, inner, rules, lines, account, 0, 1, coming, INFINITY)
    now = team.clock()
    account[3] = now - then
    account[4] = account[2]
    if not ended and coming > 0:
        lines[0, 1] = account[2]
        # What the leader has told itself alone.
        tell(lines, 2, 0)
        tell(lines, 3, 0)
        tell(lines, 0, coming + 1)
        ended = take_steps(K, inner, inner, rules, lines, account, 0, coming + 1, 0, INFINITY)
        account[5] = team.clock() - now
        account[6] = account[2] - account[4]
        account[7] = coming
        account[8] = not ended
    else:
        tell(lines, 0, -1)
    team.finish(control, called - coming)
    look = 0
    while not team.is_done(control, called):
        team.rest(look)
        look += 1
    # By now the leader has slept.
    if look > LATE // 2:
        account[8] = 1.0
    if not ended:
        then = team.clock()
        take_steps(K, inner, inner, rules, lines, account, 0, 1, 0, INFINITY)
        account[3] += team.clock() - then
        account[4] = account[2] - account[6]
