"""The uncompiled twin of ``team.pxd``: a lock for what is atomic there."""

import threading
import time

__all__ = [
    "claim",
    "clock",
    "close",
    "current",
    "dismiss",
    "finish",
    "hold",
    "is_done",
    "is_over",
    "item",
    "publish",
    "rest",
    "work",
]

_lock = threading.Lock()


def publish(control, items):
    """Offer a piece of work of fewer than 2**20 items; the last one must be done."""
    with _lock:
        control[8] = 0
        number = ((int(control[0]) >> 40) + 1) & 0x3FFFFF
        control[0] = number << 40 | items << 20
        control[24] = number


def claim(control):
    """Take the next item; the ticket, which says whether there was one."""
    with _lock:
        control[0] += 1
        return int(control[0]) - 1


def close(control, items):
    """Take all items that are left, at once; how many, the first ones, others have taken."""
    with _lock:
        control[0] += items
        return min(items, (int(control[0]) - items) & 0xFFFFF)


def item(ticket):
    """The item of a ticket, -1 if none was left."""
    number = ticket & 0xFFFFF
    return number if number < ((ticket >> 20) & 0xFFFFF) else -1


def work(ticket):
    """The piece of work that a ticket is of."""
    return ticket >> 40


def current(control):
    """The piece of work that is offered."""
    return int(control[24])


def finish(control, items):
    """Say that some items are done."""
    with _lock:
        control[8] += items


def is_done(control, items):
    """Whether all items of the present piece of work are done."""
    return int(control[8]) == items


def dismiss(control, over):
    """Send the team home, or call it (0)."""
    control[16] = over


def is_over(control):
    """Whether the team is dismissed."""
    return bool(control[16])


def rest(look):
    """Wait a little; longer after many looks."""
    time.sleep(0 if look < 1000 else 5e-5)


def hold(look):
    """Wait for less than a microsecond as a rule; leave the core to others after many looks."""
    time.sleep(0)


def clock():
    """Nanoseconds since some time in the past."""
    return time.perf_counter_ns()
