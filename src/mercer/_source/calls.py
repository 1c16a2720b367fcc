"""Calls on threads of their own, and how one ends whose result nobody waits for any more."""

import threading

# The call that a thread works for.
_place = threading.local()


class Dropped(BaseException):
    """Ends the work of a thread whose result nobody waits for any more."""


class Call:
    """A call on a thread of its own; ``dropped`` is set once nobody waits for its result any more."""

    __slots__ = ("dropped",)

    def __init__(self) -> None:
        self.dropped = False


def begin_call(call: Call) -> None:
    """Let this thread work for a call: its numbered work ends at the next item once the call is dropped."""
    _place.call = call


def check_dropped() -> None:
    """Raise Dropped if this thread works for a call whose result nobody waits for any more."""
    call = getattr(_place, "call", None)
    if call is not None and call.dropped:
        raise Dropped
