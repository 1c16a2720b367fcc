"""Measure the crossovers of the library: the sizes from which one way to compute replaces another.

``python -m tools.tune`` lists the tables ``src/mercer/ROOM/_crossovers.py`` and which lines have a benchmark;
``python -m tools.tune ROOM.NAME ROOM...`` times both sides at the sizes of ``benchmarks/crossovers/ROOM.py``, and
``--set`` writes the best size into the table, and what was measured into ``benchmarks/results/crossovers.json``.

A table has a line ``NAME = 512  # unit, and what happens from this size on``. The code reads it as
``size >= _crossovers.NAME`` or the reverse, each time it decides, so that setting the name to zero or to a number above
any size forces either side.
"""

import argparse
import ast
import importlib
import json
import math
import re
import sys
import time
from datetime import date
from pathlib import Path

from benchmarks import machine

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "mercer"
RESULTS = ROOT / "benchmarks" / "results" / "crossovers.json"
NEVER = 2**62  # above any size
LEAST_SECONDS = 0.02  # of one timing: shorter work is repeated within it
TIMINGS = 7  # of each side, by turns; the least counts


def list_crossovers(source=SOURCE):
    """Return the value of each crossover of each table, by the name ``ROOM.NAME``."""
    found = {}
    for path in sorted(source.rglob("_crossovers.py")):
        room = ".".join(path.parent.relative_to(source).parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign):
                found[f"{room}.{node.targets[0].id}"] = eval(ast.unparse(node.value), {"__builtins__": {}})
    return found


def find_work(name):
    """Return the function of ``benchmarks.crossovers`` that makes the work of a crossover, or None."""
    room, _, crossover = name.rpartition(".")
    try:
        module = importlib.import_module(f"benchmarks.crossovers.{room}")
    except ModuleNotFoundError:
        return None
    return getattr(module, crossover.lower(), None)


def time_once(work):
    """Return the CPU seconds that a call takes, over as many calls as a clock can tell apart."""
    calls, seconds = 1, 0.0
    while True:
        start = time.process_time()
        for _ in range(calls):
            work()
        seconds = time.process_time() - start
        if seconds >= LEAST_SECONDS:
            return seconds / calls
        calls = max(2 * calls, math.ceil(calls * LEAST_SECONDS / max(seconds, 1e-6)))


def time_sides(name, make_work):
    """Return for each size the seconds below and from the crossover."""
    room, _, crossover = name.rpartition(".")
    table = importlib.import_module(f"mercer.{room}._crossovers")
    kept, rows = getattr(table, crossover), []
    try:
        for size in make_work.sizes:
            work = make_work(size)
            seconds = {NEVER: math.inf, 0: math.inf}
            for _ in range(TIMINGS):
                for side in seconds:
                    setattr(table, crossover, side)
                    seconds[side] = min(seconds[side], time_once(work))
            rows.append((size, seconds[NEVER], seconds[0]))
    finally:
        setattr(table, crossover, kept)
    return rows


def choose_size(rows):
    """Return the size at which changing sides loses least: the sum over sizes of the log of time over the best time."""

    def loss(start):
        return sum(math.log((before if size < start else after) / min(before, after)) for size, before, after in rows)

    return min([*(size for size, _, _ in rows), NEVER], key=loss)


def write_size(name, size):
    """Write a value into the table that holds a crossover."""
    room, _, crossover = name.rpartition(".")
    path = SOURCE / room.replace(".", "/") / "_crossovers.py"
    text, changes = re.subn(rf"(?m)^{crossover} = [^#\n]*?(?=\s*(#|$))", f"{crossover} = {size}", path.read_text())
    if changes != 1:
        message = f"{path}: {crossover} must stand on one line, once; got {changes} lines."
        raise ValueError(message)
    path.write_text(text)


def store_result(name, size, rows):
    """Write what was measured, and where, beside the other stored results."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[name] = {
        "value": size,
        "day": date.today().isoformat(),
        "machine": machine.describe(),
        "seconds": [{"size": one, "below": before, "from": after} for one, before, after in rows],
    }
    RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")


def tune(name, value, is_set):
    """Time the two sides of a crossover, print them, and set the best size if that is asked for."""
    rows = time_sides(name, find_work(name))
    print(f"{name} = {value}\n{'size':>12}{'below':>12}{'from here':>12}   milliseconds of CPU time")
    for size, before, after in rows:
        print(f"{size:>12}{1e3 * before:>12.3f}{1e3 * after:>12.3f}{'   x' if after < before else ''}")
    best = choose_size(rows)
    print("best from " + (str(best) if best < NEVER else "no size: the first side is the quicker one everywhere"))
    if is_set and best < NEVER:
        write_size(name, best)
        store_result(name, best, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="rooms or crossovers, such as _base or _base.NUMPY_CLASSES")
    parser.add_argument("--set", action="store_true", help="write the best sizes into the tables")
    options = parser.parse_args()
    crossovers = list_crossovers()
    if not options.names:
        for name, value in crossovers.items():
            print(f"{name} = {value}{'' if find_work(name) else '   (no benchmark)'}")
        return 0
    chosen = {
        name: value
        for name, value in crossovers.items()
        if any(name == one or name.startswith(f"{one}.") for one in options.names)
    }
    without = [name for name in chosen if find_work(name) is None]
    if not chosen or without:
        print(f"There is no benchmark of {', '.join(without or options.names)} in benchmarks/crossovers.")
        return 1
    for name, value in chosen.items():
        tune(name, value, options.set)
    return 0


if __name__ == "__main__":
    sys.exit(main())
