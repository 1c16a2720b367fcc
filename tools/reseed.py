"""Run tests on other random data than their seeds draw, and list those that fail.

``python -m tools.reseed tests/estimation [--seeds 50] [--longest 2]`` runs the test files that draw, once with their
own seeds and then with others: ``np.random.default_rng(n)``, called from a file of tests, is then made from n and the
number of the run. Tests that take longer than ``--longest`` seconds in the first run, or fail in it, are left out of
later ones. A test that holds for the data of one seed alone says why: ``@pytest.mark.fixed_seed("reason")``. Other
options are passed to pytest, such as ``-n 2``.
"""

import argparse
import collections
import inspect
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

DRAWING = "default_rng"


def derive_generator(make, seed, run):
    """Return the generator of a seed in a run; run 0 has that of the seed itself."""
    whole = isinstance(seed, int | np.integer) or (
        isinstance(seed, list | tuple) and all(isinstance(one, int | np.integer) for one in seed)
    )
    return make(np.random.SeedSequence([*np.atleast_1d(seed).tolist(), run])) if run and whole else make(seed)


class Reseeding:
    """A pytest plugin that derives the generators of tests, and writes seconds, outcome and name of each test."""

    def __init__(self, config):
        self.run, self.file = config.getoption("--reseed"), config.getoption("--reseed-file")
        self.folder = str(config.rootpath / "tests")
        self.writes = self.file and not hasattr(config, "workerinput")
        left_out = config.getoption("--reseed-leave-out")
        self.left_out = set(Path(left_out).read_text(encoding="utf-8").splitlines()) if left_out else set()
        self.make = np.random.default_rng
        np.random.default_rng = self.draw

    def draw(self, seed=None):
        caller = inspect.currentframe().f_back.f_code.co_filename
        return derive_generator(self.make, seed, self.run if caller.startswith(self.folder) else 0)

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
            self.write(0.0, "failed", report.nodeid)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.failed:
            self.write(report.duration, report.outcome, report.nodeid)

    def write(self, seconds, outcome, name):
        if self.writes:
            with open(self.file, "a", encoding="utf-8") as file:
                file.write(f"{seconds:.3f}\t{outcome}\t{name}\n")


def pytest_addoption(parser):
    parser.addoption("--reseed", type=int, help="the number of the run; 0 keeps the seeds")
    parser.addoption("--reseed-file", help="write seconds, outcome and name of each test to this file")
    parser.addoption("--reseed-leave-out", help="a file with the names of tests that are not run")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if config.getoption("--reseed") is not None:
        config.pluginmanager.register(Reseeding(config))


def list_drawing_files(paths):
    """Return the test files in paths that draw, with their own hands: their text names the generator."""
    files = [file for path in map(Path, paths) for file in (path.rglob("test_*.py") if path.is_dir() else [path])]
    return sorted(str(file) for file in files if DRAWING in file.read_text(encoding="utf-8"))


def run_once(files, run, left_out, options):
    """Run the tests of the files, and return the seconds and the outcome of each by name."""
    with tempfile.TemporaryDirectory() as folder:
        out, names = Path(folder, "outcomes"), Path(folder, "left_out")
        out.touch()
        names.write_text("\n".join(left_out), encoding="utf-8")
        plugin = ["-p", "tools.reseed", "--reseed", str(run), "--reseed-file", out, "--reseed-leave-out", names]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *options, *files]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        lines = [line.split("\t", 2) for line in out.read_text(encoding="utf-8").splitlines()]
    return {name: (float(seconds), outcome) for seconds, outcome, name in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--longest", type=float, default=2.0)
    arguments, options = parser.parse_known_args()
    files = list_drawing_files(arguments.paths)
    first = run_once(files, 0, (), options)
    left_out = {
        name for name, (seconds, outcome) in first.items() if seconds > arguments.longest or outcome == "failed"
    }
    failures = collections.defaultdict(list)
    for run in range(1, arguments.seeds + 1):
        for name, (_, outcome) in run_once(files, run, left_out, options).items():
            if outcome == "failed":
                failures[name].append(run)
    for name in sorted(left_out):
        print(f"left out: {name} ({'fails with its seed' if first[name][1] == 'failed' else 'too long'})")
    for name, runs in sorted(failures.items()):
        print(f"fails in {len(runs)} of {arguments.seeds} runs: {name} {runs[:6]}")
    print(f"{len(first) - len(left_out)} tests of {len(files)} files, {arguments.seeds} seeds, {len(failures)} fail.")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
