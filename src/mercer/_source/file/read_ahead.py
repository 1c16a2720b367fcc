"""Run an iterator on a thread of its own, a few items ahead of its consumer."""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

# Items read ahead: enough to keep the consumer busy through one slow read, few enough to hold little memory.
_AHEAD = 4
# Seconds of one wait. A signal that comes just before a wait begins is handled when that wait ends.
_TURN = 0.05
# Seconds that closing waits for the thread: Ctrl-C must answer within 0.2 s, even if the iterator is slow to return.
_PATIENCE = 0.1


class ReadAhead:
    """Runs an iterator on a thread of its own, a few items ahead of its consumer.

    It ends with the iterator, with its error (raised where the items are asked for), or with :meth:`close`. Then the
    iterator is closed, if it can be, by the thread that ran it.
    """

    def __init__(self, items: Iterator[Any], ahead: int = _AHEAD) -> None:
        self.items = items
        self.ahead = ahead
        self.ready: deque[Any] = deque()
        self.changed = threading.Condition()
        self.closed = False
        self.ended = False
        self.error: BaseException | None = None
        # A daemon thread does not keep the process alive when a pass is abandoned.
        self.thread = threading.Thread(target=self._read, name="mercer-read-ahead", daemon=True)
        self.thread.start()

    def __iter__(self) -> "ReadAhead":
        return self

    def __next__(self) -> Any:
        with self.changed:
            while not (self.ready or self.ended or self.closed):
                self.changed.wait(_TURN)
            if self.closed:
                raise StopIteration
            if self.ready:
                item = self.ready.popleft()
                self.changed.notify_all()
                return item
            self.closed = True
        # An error of the reading thread comes after the items that were read before it.
        if self.error is not None:
            raise self.error
        raise StopIteration

    def close(self) -> None:
        """Stop reading, and wait up to 0.1 s for the thread; consumers that wait for an item get none."""
        with self.changed:
            self.closed = True
            self.ready.clear()
            self.changed.notify_all()
        # The reading thread may close the queue itself, and cannot wait for its own end.
        if threading.current_thread() is not self.thread:
            self.thread.join(_PATIENCE)

    def _read(self) -> None:
        """Read all items on the thread, close the iterator, and keep its error for the consumer."""
        error = None
        try:
            for item in self.items:
                if not self._put(item):
                    break
        # Whatever the iterator raises is raised again where its items are used.
        except BaseException as problem:
            error = problem
        try:
            getattr(self.items, "close", bool)()
        except BaseException as problem:
            error = error or problem
        with self.changed:
            self.ended, self.error = True, error
            self.changed.notify_all()

    def _put(self, item: Any) -> bool:
        """Add an item once there is room for it; return False if nobody wants items any more."""
        with self.changed:
            while len(self.ready) >= self.ahead and not self.closed:
                self.changed.wait(_TURN)
            if not self.closed:
                self.ready.append(item)
                self.changed.notify_all()
            return not self.closed
