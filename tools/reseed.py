"""Run tests on other random data than their seeds draw, and list those that fail.

``python -m tools.reseed tests/estimation [--seeds 50] [--after 0] [--longest 2]`` runs the test files that draw, once
with their own seeds and then with others: ``np.random.default_rng(n)``, called from a file of tests, is then made from
n and the number of the run. Tests that take longer than ``--longest`` seconds in the first run, or fail in it, are left
out of later ones. ``--after`` passes over the first runs, which an earlier call has tried. A test that holds for the
data of one seed alone says why: ``@pytest.mark.fixed_seed("reason")``.
"""

import argparse
import collections
import contextlib
import inspect
import io
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = "tests"
DRAWING = "default_rng"


def derive_generator(make, seed, run):
    """Return the generator of a seed in a run; run 0 has that of the seed itself."""
    whole = isinstance(seed, int | np.integer) or (
        isinstance(seed, list | tuple) and all(isinstance(one, int | np.integer) for one in seed)
    )
    return make(np.random.SeedSequence([*np.atleast_1d(seed).tolist(), run])) if run and whole else make(seed)


class Reseeding:
    """A pytest plugin that derives the generators of tests, and keeps the seconds and the failure of each test."""

    def __init__(self, run, left_out=()):
        self.run, self.left_out, self.outcomes = run, left_out, {}
        self.make = np.random.default_rng

    def draw(self, seed=None):
        caller = Path(inspect.stack(0)[1].filename)
        return derive_generator(self.make, seed, self.run if caller.is_relative_to(Path(FOLDER).resolve()) else 0)

    def pytest_configure(self):
        np.random.default_rng = self.draw

    def pytest_unconfigure(self):
        np.random.default_rng = self.make

    def pytest_collection_modifyitems(self, config, items):
        out = [
            one for one in items if one.nodeid in self.left_out or (self.run and one.get_closest_marker("fixed_seed"))
        ]
        config.hook.pytest_deselected(items=out)
        items[:] = [one for one in items if one not in out]

    def pytest_collectreport(self, report):
        if report.failed:
            self.outcomes[report.nodeid] = 0.0, "the file cannot be imported"

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            lines = (crash.message if crash else str(report.longrepr)).splitlines()
            # NumPy's messages begin on the second line.
            said = next((line for line in lines if line.strip() not in ("", "AssertionError:")), "no message")
            self.outcomes[report.nodeid] = report.duration, said if report.failed else None


def list_drawing_files(paths):
    """Return the test files of paths whose text names the generator."""
    files = [file for path in map(Path, paths) for file in (path.rglob("test_*.py") if path.is_dir() else [path])]
    return sorted(str(file) for file in files if DRAWING in file.read_text(encoding="utf-8"))


def run_once(files, run, left_out=()):
    """Run the tests of the files, and return the seconds of each by name, with what it said if it failed."""
    for name in [name for name in sys.modules if name.split(".")[0] == FOLDER]:
        del sys.modules[name]  # data of modules are drawn anew
    plugin = Reseeding(run, left_out)
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files], plugins=[plugin])
    return plugin.outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--longest", type=float, default=2.0)
    arguments = parser.parse_args()
    files = list_drawing_files(arguments.paths)
    first = run_once(files, 0)
    left_out = {name for name, (seconds, failure) in first.items() if failure or seconds > arguments.longest}
    for name in sorted(left_out):
        print(f"left out: {name}: {first[name][1] or 'too long'}", flush=True)
    failures: collections.Counter[str] = collections.Counter()
    for run in range(arguments.after + 1, arguments.after + arguments.seeds + 1):
        outcomes = run_once(files, run, left_out)
        for name, (_, failure) in outcomes.items():
            if failure:
                failures[name] += 1
                print(f"run {run}: {name}: {failure}", flush=True)
        print(f"run {run}: {len(outcomes)} tests", file=sys.stderr, flush=True)
    for name, count in sorted(failures.items()):
        print(f"fails in {count} of {arguments.seeds} runs: {name}")
    print(f"{len(first) - len(left_out)} tests of {len(files)} files, {arguments.seeds} seeds, {len(failures)} fail.")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
