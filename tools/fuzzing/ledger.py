"""Try numbered cases in forked processes that note each outcome in shared memory: some 0.1 ms a case can be told apart.

The ledger has one byte for each case. A child writes the code of the outcome there as soon as it knows it, so that the
first byte without a code names the case in which a child crashed or hung, and a new child goes on with the next one.
"""

import json
import math
import mmap
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing import TimeoutError, get_context
from typing import Any, TypeVar

# The code of each outcome is its place here; 0 is a case that was not tried yet.
OUTCOMES = ("", "refused", "answered", "sentence", "finished", "kept", "restored", "raw", "crash", "hang")
# Seconds between two looks at a child.
_LOOK = 0.02
# Words of a sanitizer or of Python's fault handler that say where a child crashed.
_WORDS = ("SUMMARY", "runtime error", "Fatal Python", "WARNING: ThreadSanitizer")

Job = TypeVar("Job")
Result = TypeVar("Result")
# Yields (outcome, description) of each case from `first` on; the description is kept for raw errors alone.
Work = Callable[[int, int], Iterator[tuple[str, str]]]
# Describes a case in words, without trying it.
Name = Callable[[int], str]


@dataclass
class Tally:
    """What the cases of one subject came to."""

    subject: str
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    # (outcome, what is known of the case) of each crash and hang, and of some raw errors.
    findings: list[tuple[str, str]] = field(default_factory=list)


def try_cases(subject: str, work: Work, name: Name, cases: range, limit: float) -> Tally:
    """Try the cases; one that takes more than `limit` seconds is a hang."""
    start, tally = time.perf_counter(), Tally(subject)
    first = cases.start
    with mmap.mmap(-1, len(cases) or 1) as ledger, tempfile.TemporaryFile() as notes, tempfile.TemporaryFile() as log:
        while first < cases.stop:
            hung = _run_child(work, range(first, cases.stop), (ledger, cases.start), (notes.fileno(), log), limit)
            while first < cases.stop and ledger[first - cases.start]:
                first += 1
            if first < cases.stop:
                outcome = "hang" if hung else "crash"
                ledger[first - cases.start] = OUTCOMES.index(outcome)
                tally.findings.append((outcome, f"case {first}: {name(first)} {_read_words(log)}".strip()))
                first += 1
        tally.counts = Counter(OUTCOMES[code] for code in ledger[: len(cases)])
        notes.seek(0)
        tally.findings += [tuple(json.loads(line)) for line in notes]
    tally.seconds = time.perf_counter() - start
    return tally


def _run_child(work: Work, cases: range, place: tuple[mmap.mmap, int], files: tuple[int, Any], limit: float) -> bool:
    """Run a child from the first case to the last, or to where it ends; return whether it hung and was killed."""
    ledger, offset = place
    child = os.fork()
    if not child:
        _work_and_exit(work, cases, place, files)
    seen, last = -1, time.perf_counter()
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(_LOOK)
        done = ledger[cases.start - offset : cases.stop - offset].find(b"\0")
        if done != seen:
            seen, last = done, time.perf_counter()
        elif time.perf_counter() - last > limit:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return True
    return False


def _work_and_exit(work: Work, cases: range, place: tuple[mmap.mmap, int], files: tuple[int, Any]) -> None:
    """Work through the cases in the child, and leave it without the parent's clean-up."""
    ledger, offset = place
    notes, log = files
    try:
        log.seek(0)
        log.truncate()
        os.dup2(log.fileno(), 2)
        shown: set[str] = set()
        for number, (outcome, what) in zip(cases, work(cases.start, cases.stop), strict=True):
            # One example of each raw error is enough.
            if outcome == "raw" and what.partition("[")[0] not in shown:
                shown.add(what.partition("[")[0])
                os.write(notes, (json.dumps([outcome, f"case {number}: {what}"]) + "\n").encode())
            ledger[number - offset] = OUTCOMES.index(outcome)
    finally:
        os._exit(0)


def _read_words(log: Any) -> str:
    """Return the line in which a sanitizer or the fault handler said what happened."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    return next((f"({line.strip()[:200]})" for line in lines if any(word in line for word in _WORDS)), "")


def run_jobs(
    function: Callable[[Job], Result], jobs: list[Job], processes: int, seconds: float = math.inf
) -> Iterator[Result]:
    """Yield ``function(job)`` of each job, as they are done, by several processes; end after `seconds` in any case."""
    if processes == 1:
        yield from map(function, jobs)
        return
    start = time.perf_counter()
    # Forked workers start with everything imported; they run no threads of their own before they fork again.
    with get_context("fork").Pool(processes) as pool:
        results = pool.imap_unordered(function, jobs)
        for _ in jobs:
            left = None if seconds == math.inf else max(0.0, start + seconds - time.perf_counter())
            try:
                yield results.next(left)
            except TimeoutError:
                return
