"""Show how far a study is: a progress bar on a terminal, a line now and then elsewhere."""

import sys
import time
from types import TracebackType
from typing import Any

__all__ = ["Progress", "spell_seconds"]

# Seconds between two lines, if standard error is no terminal.
_EVERY = 5.0


def spell_seconds(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Progress:
    """Shows the progress of a study on standard error."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.last = time.monotonic()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> "Progress":
        if not self.quiet and sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import BarColumn, TaskProgressColumn, TextColumn
                from rich.progress import Progress as Bar
            except ImportError:
                return self
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[left]}"),
            )
            self.bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("starting", total=1.0, left="")
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, event: Any) -> None:
        """Show one event: what is done now, the share that is done, and the seconds left."""
        if self.quiet:
            return
        left = "" if event.seconds_left is None else f"about {spell_seconds(event.seconds_left)} left"
        if self.bar is not None:
            self.bar.update(self.task, completed=event.share, description=event.text, left=left)
            return
        now = time.monotonic()
        if now - self.last >= _EVERY:
            self.last = now
            sys.stderr.write(f"mercer: {event.share:4.0%} {event.text}{', ' if left else ''}{left}\n")
            sys.stderr.flush()
