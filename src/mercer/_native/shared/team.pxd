# Atomic operations by which worker threads share tasks; team.h says how, team.py is the uncompiled twin, and
# team_items.py has the loops that are built of them.
#
# `control` has 32 + 8 threads words. Each of the four below has a cache line of its own, and so has each thread. A thread
# that waits reads STOPPED and TASK, which change once a task, and not TICKET, which the threads at work write in turn.

cdef extern from *:
    """
    #include "team.h"
    """
    long long mercer_team_add(long long *place, long long step) noexcept nogil
    long long mercer_team_load(long long *place) noexcept nogil
    void mercer_team_store(long long *place, long long value) noexcept nogil
    void mercer_team_wait(Py_ssize_t look) noexcept nogil
    void mercer_team_spin(Py_ssize_t look) noexcept nogil
    long long mercer_team_clock() noexcept nogil

cdef enum:
    TICKET = 0
    DONE = 8
    STOPPED = 16
    TASK = 24
    OWN = 32


cdef inline void publish(long long[::1] control, Py_ssize_t items) noexcept nogil:
    """Offer a task of fewer than 2**20 items; the one before must be done."""
    cdef long long number = mercer_team_load(&control[TICKET]) >> 40
    mercer_team_store(&control[DONE], 0)
    number = (number + 1) & 0x3FFFFF
    mercer_team_store(&control[TICKET], number << 40 | (<long long> items) << 20)
    mercer_team_store(&control[TASK], number)


cdef inline long long claim(long long[::1] control) noexcept nogil:
    """Claim the next item; return the ticket, which says whether there was one."""
    return mercer_team_add(&control[TICKET], 1)


cdef inline Py_ssize_t claim_rest(long long[::1] control, Py_ssize_t items) noexcept nogil:
    """Claim all items that are left; return how many, the first ones, others have claimed before."""
    cdef long long ticket = mercer_team_add(&control[TICKET], items)
    return min(items, <Py_ssize_t> (ticket & 0xFFFFF))


cdef inline Py_ssize_t read_item(long long ticket) noexcept nogil:
    """Return the item of a ticket, -1 if none was left."""
    cdef Py_ssize_t number = ticket & 0xFFFFF
    return number if number < ((ticket >> 20) & 0xFFFFF) else -1


cdef inline long long read_task(long long ticket) noexcept nogil:
    """Return the number of the task that a ticket belongs to."""
    return ticket >> 40


cdef inline long long read_current(long long[::1] control) noexcept nogil:
    """Return the number of the task that is offered."""
    return mercer_team_load(&control[TASK])


cdef inline void add_done(long long[::1] control, Py_ssize_t items) noexcept nogil:
    """Count some items as done: many at once rather than one by one, since all threads write to one place."""
    if items > 0:
        mercer_team_add(&control[DONE], items)


cdef inline int is_done(long long[::1] control, Py_ssize_t items) noexcept nogil:
    """Return whether all items of the present task are done."""
    return mercer_team_load(&control[DONE]) == items


cdef inline void set_stopped(long long[::1] control, int stopped) noexcept nogil:
    """Tell the worker threads to end (1), or allow new ones to work (0)."""
    mercer_team_store(&control[STOPPED], stopped)


cdef inline int is_stopped(long long[::1] control) noexcept nogil:
    """Return whether the worker threads shall end."""
    return mercer_team_load(&control[STOPPED]) != 0


cdef inline void wait(Py_ssize_t look) noexcept nogil:
    """Wait a little; longer after many looks."""
    mercer_team_wait(look)


cdef inline void spin(Py_ssize_t look) noexcept nogil:
    """Wait for less than a microsecond as a rule; leave the core to others after many looks."""
    mercer_team_spin(look)


cdef inline long long read_clock() noexcept nogil:
    """Return nanoseconds since some time in the past."""
    return mercer_team_clock()


# The first word of a row of numbers, as a whole number of the same size that threads exchange.

cdef inline long long load_word(double[:, ::1] lines, Py_ssize_t row) noexcept nogil:
    """Return the word of a row."""
    return mercer_team_load(<long long *> &lines[row, 0])


cdef inline void store_word(double[:, ::1] lines, Py_ssize_t row, long long number) noexcept nogil:
    """Write the word of a row; a thread that reads it sees all that was written before."""
    mercer_team_store(<long long *> &lines[row, 0], number)


cdef inline void add_word(double[:, ::1] lines, Py_ssize_t row, long long step) noexcept nogil:
    """Add to the word of a row."""
    mercer_team_add(<long long *> &lines[row, 0], step)
