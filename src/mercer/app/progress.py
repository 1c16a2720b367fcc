"""Show how far a study is: a progress bar on a terminal, a line now and then elsewhere."""

import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

# Seconds between two lines, if standard error is no terminal.
_EVERY = 5.0
# Share of the work up to which the table is being read.
_READING = 0.01


def spell_seconds(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def find_start() -> float:
    """Return when this process has begun, as a time of the monotonic clock.

    Loading the modules of a command takes a second, and many seconds on a busy machine, which a budget includes. Where
    the system does not tell the start, the work done so far stands for the time it took.
    """
    now, worked = time.monotonic(), time.process_time()
    try:
        # The 20th field after the name in brackets is the start in ticks since the machine was booted.
        fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        age = worked
    return now - max(age, worked)


class Progress:
    """Shows the progress of a study on standard error: on a terminal a bar and a table of scores, else lines."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.last = -_EVERY
        self.bar: Any = None
        self.live: Any = None
        self.task: Any = None
        self.results: dict[str, tuple[float, bool]] = {}

    def __enter__(self) -> "Progress":
        if self.quiet:
            return self
        if not sys.stderr.isatty():
            # Loading the modules and reading a large table take seconds, in which a log would show nothing.
            self._write("reading the table")
        else:
            try:
                from rich.console import Console
                from rich.live import Live
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
            self.bar = Bar(*columns)
            self.task = self.bar.add_task("starting", total=1.0, left="")
            self.live = Live(self.bar, console=Console(stderr=True), transient=True)
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def __call__(self, event: Any) -> None:
        """Show one event: what is done now, the share that is done, the seconds left, and the score of a candidate."""
        if self.quiet:
            return
        if event.forecast:
            if self.live is not None:
                self.live.console.print(event.forecast, highlight=False)
            else:
                self._write(event.forecast)
            return
        left = "" if event.seconds_left is None else f"about {spell_seconds(event.seconds_left)} left"
        if event.result is not None:
            name, score, leads = event.result
            if leads:
                self.results = {known: (value, False) for known, (value, _) in self.results.items()}
            self.results[name] = (score, leads)
        if self.bar is not None:
            self.bar.update(self.task, completed=event.share, description=event.text, left=left)
            if event.result is not None:
                self.live.update(self._make_table())
            return
        now = time.monotonic()
        # The first line has told that the table is being read.
        if now - self.last >= _EVERY and event.share > _READING:
            self.last = now
            self._write(f"{event.share:4.0%} {event.text}{', ' if left else ''}{left}")

    def _write(self, text: str) -> None:
        """Write a line to standard error."""
        sys.stderr.write(f"mercer: {text}\n")
        sys.stderr.flush()

    def _make_table(self) -> Any:
        """Return the bar with the scores of the candidates so far above it."""
        from rich.console import Group
        from rich.table import Table

        table = Table("candidate", "score", box=None)
        for name, (score, leads) in self.results.items():
            table.add_row(f"{name} (best so far)" if leads else name, f"{score:.3g}")
        return Group(table, self.bar)
