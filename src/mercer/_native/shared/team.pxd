# Work shared by a team of threads; team.h says how. team.py is the uncompiled twin.
#
# Of the control words the first is the ticket, the ninth counts the items done, the seventeenth is 1 when the team is
# dismissed, and the twenty-fifth has the number of the piece of work: each has a cache line of its own. Who waits looks at
# the latter two, which change once a piece, and not at the ticket, which those at work take turns to write.

cdef extern from *:
    """
    #include "team.h"
    """
    long long mercer_team_add(long long *place, long long step) noexcept nogil
    long long mercer_team_load(long long *place) noexcept nogil
    void mercer_team_store(long long *place, long long value) noexcept nogil
    void mercer_team_rest(Py_ssize_t look) noexcept nogil
    void mercer_team_hold(Py_ssize_t look) noexcept nogil
    long long mercer_team_clock() noexcept nogil


cdef inline void publish(long long[::1] control, Py_ssize_t items) noexcept nogil:
    """Offer a piece of work of fewer than 2**20 items; the last one must be done."""
    cdef long long number = mercer_team_load(&control[0]) >> 40
    mercer_team_store(&control[8], 0)
    number = (number + 1) & 0x3FFFFF
    mercer_team_store(&control[0], number << 40 | (<long long> items) << 20)
    mercer_team_store(&control[24], number)


cdef inline long long claim(long long[::1] control) noexcept nogil:
    """Take the next item; the ticket, which says whether there was one."""
    return mercer_team_add(&control[0], 1)


cdef inline Py_ssize_t close(long long[::1] control, Py_ssize_t items) noexcept nogil:
    """Take all items that are left, at once; how many, the first ones, others have taken."""
    cdef long long ticket = mercer_team_add(&control[0], items)
    return min(items, <Py_ssize_t> (ticket & 0xFFFFF))


cdef inline Py_ssize_t item(long long ticket) noexcept nogil:
    """The item of a ticket, -1 if none was left."""
    cdef Py_ssize_t number = ticket & 0xFFFFF
    return number if number < ((ticket >> 20) & 0xFFFFF) else -1


cdef inline long long work(long long ticket) noexcept nogil:
    """The piece of work that a ticket is of."""
    return ticket >> 40


cdef inline long long current(long long[::1] control) noexcept nogil:
    """The piece of work that is offered."""
    return mercer_team_load(&control[24])


cdef inline void finish(long long[::1] control, Py_ssize_t items) noexcept nogil:
    """Say that some items are done: rather once than one by one, since all threads write to one place."""
    if items > 0:
        mercer_team_add(&control[8], items)


cdef inline int is_done(long long[::1] control, Py_ssize_t items) noexcept nogil:
    """Whether all items of the present piece of work are done."""
    return mercer_team_load(&control[8]) == items


cdef inline void dismiss(long long[::1] control, int over) noexcept nogil:
    """Send the team home, or call it (0)."""
    mercer_team_store(&control[16], over)


cdef inline int is_over(long long[::1] control) noexcept nogil:
    """Whether the team is dismissed."""
    return mercer_team_load(&control[16]) != 0


cdef inline void rest(Py_ssize_t look) noexcept nogil:
    """Wait a little; longer after many looks."""
    mercer_team_rest(look)


cdef inline void hold(Py_ssize_t look) noexcept nogil:
    """Wait for less than a microsecond as a rule; leave the core to others after many looks."""
    mercer_team_hold(look)


cdef inline long long clock() noexcept nogil:
    """Nanoseconds since some time in the past."""
    return mercer_team_clock()
