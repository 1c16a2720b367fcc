"""The loops by which worker threads take the items of one task after another, without the interpreter.

The leader publishes a task (``team.publish``) and works on it with :func:`take_item`; the worker threads call
:func:`await_item` until it returns -1. Items are claimed by an atomic counter; ``team.h`` says why a late thread cannot
take an item of one task for that of another. The two words of a thread, at `team.OWN` + 8 times its index, lie in a
cache line that no other thread writes: the task whose items it found used up, and the items done but not reported yet.
"""

import cython

from mercer._native.shared import team

SEEN = 0
UNREPORTED = 1
# Words of a thread: a cache line of 64 bytes.
WORDS = 8


def report_items(control: cython.longlong[::1], member: cython.Py_ssize_t) -> cython.void:
    """Count the items that thread `member` has done since its last report."""
    own: cython.Py_ssize_t = team.OWN + WORDS * member
    team.add_done(control, control[own + UNREPORTED])
    control[own + UNREPORTED] = 0


def await_item(
    control: cython.longlong[::1], member: cython.Py_ssize_t, patience: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Return the next item for worker thread `member`, which waits for a task if there is none; -1 if it shall end.

    A thread that waits goes to sleep `patience` times as late as :func:`team.wait` would have it.
    """
    own: cython.Py_ssize_t = team.OWN + WORDS * member
    while True:
        # A task that this thread has not finished looking at.
        if team.read_current(control) != control[own + SEEN]:
            ticket = team.claim(control)
            # The ticket names task and item in one word, so that a late claim cannot mix them up.
            if team.read_item(ticket) >= 0:
                control[own + UNREPORTED] += 1
                return team.read_item(ticket)
            # Items are reported together, when no more can be had: one shared write in place of one for each item.
            report_items(control, member)
            control[own + SEEN] = team.read_task(ticket)
        look = 0
        # Nothing to do until the leader publishes another task.
        while team.read_current(control) == control[own + SEEN]:
            if team.is_stopped(control):
                return -1
            team.wait(look // patience)
            look += 1


def take_item(control: cython.longlong[::1], items: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the next of `items` items for the leader, thread 0; -1 when none is left and all are done."""
    look: cython.Py_ssize_t = 0
    number: cython.Py_ssize_t = team.read_item(team.claim(control))
    # All items are claimed; other threads may still be working on theirs.
    if number < 0:
        report_items(control, 0)
        while not team.is_done(control, items):
            team.wait(look)
            look += 1
        return -1
    control[team.OWN + UNREPORTED] += 1
    return number


def stop_workers(control: cython.longlong[::1]) -> cython.void:
    """Take back the task that is offered, and tell the worker threads to end."""
    team.publish(control, 0)
    team.set_stopped(control, 1)
