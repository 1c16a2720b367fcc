"""Try numbered cases in forked processes: a crash or a hang costs one case, and a new process goes on with the next."""

import json
import os
import selectors
import signal
from collections.abc import Callable, Iterator
from typing import Any

# Yields the name of each case from `first` to `last` before trying it, and its faults after.
Work = Callable[[int, int], Iterator[dict[str, Any]]]


def try_in_children(work: Work, first: int, count: int, limit: float) -> list[tuple[str, str]]:
    """Return (fault, case) of each fault of `count` cases; a case that takes more than `limit` seconds is a hang."""
    findings: list[tuple[str, str]] = []
    stop = first + count
    while first < stop:
        lines, hung = _run_child(work, first, stop, limit)
        done = [line for line in lines if "faults" in line]
        findings += [(fault, line["case"]) for line in done for fault in line["faults"]]
        first += len(done)
        if first < stop:
            findings.append(("hang" if hung else "crash", lines[-1]["case"] if lines else "before the first case"))
            first += 1
    return findings


def _run_child(work: Work, first: int, last: int, limit: float) -> tuple[list[dict[str, Any]], bool]:
    """Return what the child told about the cases from `first` to `last`, and whether it hung."""
    child, reading = _start_child(work, first, last)
    lines: list[dict[str, Any]] = []
    hung = False
    # Without a buffer: lines that wait in one would not wake the selector, and a hang would be laid to an earlier case.
    with selectors.DefaultSelector() as selector, os.fdopen(reading, "rb", buffering=0) as pipe:
        selector.register(pipe, selectors.EVENT_READ)
        while line := (pipe.readline() if selector.select(limit) else None):
            lines.append(json.loads(line))
        if line is None:
            hung = True
            os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return lines, hung


def _start_child(work: Work, first: int, last: int) -> tuple[int, int]:
    """Fork a process that works; return its id and the end of a pipe to read.

    The parent has imported everything and runs no threads, so that a child starts in milliseconds.
    """
    reading, writing = os.pipe()
    identifier = os.fork()
    if identifier:
        os.close(writing)
        return identifier, reading
    os.close(reading)
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for line in work(first, last):
            os.write(writing, (json.dumps(line) + "\n").encode())
    finally:
        os._exit(0)
