"""The uncompiled twin of ``team.pxd``: a lock for what is atomic there."""

import threading
import time

# Words of the array `control`: the ticket, the count of items done, whether to end, the number of the task, and where
# the words of the threads begin.
TICKET = 0
DONE = 8
STOPPED = 16
TASK = 24
OWN = 32

_lock = threading.Lock()


def publish(control, items):
    """Offer a task of fewer than 2**20 items; the one before must be done."""
    with _lock:
        control[DONE] = 0
        number = ((int(control[TICKET]) >> 40) + 1) & 0x3FFFFF
        control[TICKET] = number << 40 | items << 20
        control[TASK] = number


def claim(control):
    """Claim the next item; return the ticket, which says whether there was one."""
    with _lock:
        control[TICKET] += 1
        return int(control[TICKET]) - 1


def claim_rest(control, items):
    """Claim all items that are left; return how many, the first ones, others have claimed before."""
    with _lock:
        control[TICKET] += items
        return min(items, (int(control[TICKET]) - items) & 0xFFFFF)


def read_item(ticket):
    """Return the item of a ticket, -1 if none was left."""
    number = ticket & 0xFFFFF
    return number if number < ((ticket >> 20) & 0xFFFFF) else -1


def read_task(ticket):
    """Return the number of the task that a ticket belongs to."""
    return ticket >> 40


def read_current(control):
    """Return the number of the task that is offered."""
    return int(control[TASK])


def add_done(control, items):
    """Count some items as done."""
    with _lock:
        control[DONE] += items


def is_done(control, items):
    """Return whether all items of the present task are done."""
    return int(control[DONE]) == items


def set_stopped(control, stopped):
    """Tell the worker threads to end (1), or allow new ones to work (0)."""
    control[STOPPED] = stopped


def is_stopped(control):
    """Return whether the worker threads shall end."""
    return bool(control[STOPPED])


def wait(look):
    """Wait a little; longer after many looks."""
    time.sleep(0 if look < 1000 else 5e-5)


def spin(look):
    """Wait for less than a microsecond as a rule; leave the core to others after many looks."""
    time.sleep(0)


def read_clock():
    """Return nanoseconds since some time in the past."""
    return time.perf_counter_ns()


def load_word(lines, row):
    """Return the word of a row."""
    return int(lines[row, 0])


def store_word(lines, row, number):
    """Write the word of a row."""
    lines[row, 0] = number


def add_word(lines, row, step):
    """Add to the word of a row."""
    with _lock:
        lines[row, 0] += step
