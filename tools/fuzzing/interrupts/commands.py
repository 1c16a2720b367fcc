"""Press Ctrl-C while the command line works: it ends with a line and status 130, and leaves no half file."""

import os
import random as seeds
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

# Rows of the table that the model is trained on, and of those that commands read: each takes a second or two.
_ROWS = 150
_NEW_ROWS = 200_000
# What a shell reports for a program that Ctrl-C ended.
_INTERRUPTED = 130
# The commands that are interrupted; REPORT is the folder of a run, and OUT a file or a folder to write.
_COMMANDS: tuple[list[str], ...] = (
    ["predict", "REPORT", "new.csv", "-o", "OUT.csv"],
    ["run", "train.csv", "--target", "kind", "--budget", "20s", "-o", "OUT"],
    ["export", "REPORT", "--python", "OUT.py"],
    ["explain", "REPORT", "train.csv", "--row", "3"],
)
_ENTRY = "import sys; from mercer.app.command import main; sys.exit(main())"


def name_command(number: int) -> str:
    """Return what a case does, in words."""
    return f"Ctrl-C during mercer {_COMMANDS[number % len(_COMMANDS)][0]}, moment {number}"


def _start(folder: Path, words: list[str]) -> "subprocess.Popen[str]":
    quiet = {"cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A session of its own: a terminal's Ctrl-C would reach it twice.
    return subprocess.Popen(
        [sys.executable, "-c", _ENTRY, *words], start_new_session=True, preexec_fn=_hear_interrupts, **quiet
    )


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _write_tables(folder: Path) -> None:
    """Write tables, train a model on one, and keep the seconds of each command."""
    random = np.random.default_rng(0)
    for name, count in (("train.csv", _ROWS), ("new.csv", _NEW_ROWS)):
        size = random.normal(size=count).round(3)
        kinds = np.where(size + 0.5 * random.normal(size=count) > 0, "ash", "oak")
        lines = [f"{a},{b:.3f},{kind}\n" for a, b, kind in zip(size, random.normal(size=count), kinds, strict=True)]
        (folder / name).write_text("size,weight,kind\n" + "".join(lines), encoding="utf-8")
    words = ["run", "train.csv", "--target", "kind", "--budget", "10s", "-o", "report"]
    process = _start(folder, words)
    _, complaint = process.communicate()
    if process.returncode:
        raise RuntimeError(complaint)


def _fill_in(words: list[str], number: int) -> list[str]:
    return [word.replace("REPORT", "report").replace("OUT", f"out{number}") for word in words]


def try_commands(first: int, last: int) -> Iterator[tuple[str, str]]:
    """Yield the outcome of each case, with words where it is not a documented one."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write_tables(folder)

        @cache
        def measure(place: int) -> float:
            start = time.perf_counter()
            _start(folder, _fill_in(_COMMANDS[place], -1 - place)).communicate()
            return time.perf_counter() - start

        for number in range(first, last):
            before = {path.relative_to(folder) for path in folder.rglob("*")}
            process = _start(folder, _fill_in(_COMMANDS[number % len(_COMMANDS)], number))
            time.sleep(seeds.Random(number).uniform(0.0, 1.05 * measure(number % len(_COMMANDS))))
            if process.poll() is None:
                os.kill(process.pid, signal.SIGINT)
            _, said = process.communicate()
            after = {path.relative_to(folder) for path in folder.rglob("*")}
            yield _judge(process.returncode, said, [str(path) for path in after - before])


def _judge(status: int, said: str, left: list[str]) -> tuple[str, str]:
    half = [path for path in left if path.endswith((".tmp", ".part"))]
    if half:
        return "raw", f"a file was left: {half[0].rpartition('.')[2]} []"
    if status == 0:
        return "finished", ""
    if "mercer" not in said and status in (1, -signal.SIGINT):
        # Python itself was starting: none of our code had begun.
        return "restored", ""
    if status not in (_INTERRUPTED, -signal.SIGINT) or "Traceback" in said:
        return "raw", f"status {status}, and: {said.strip().splitlines()[-1][:150] if said.strip() else 'nothing'} []"
    return "restored", ""
