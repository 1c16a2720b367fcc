"""Run tests against a mutant: which tests execute which line, and whether one of them fails."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.mutation.mutants import Mutant

# The most tests that run for one mutant, the quickest first: what these do not notice, slower ones hardly do.
_MOST_TESTS = 60


@dataclass(frozen=True)
class Coverage:
    """The tests that execute each line: from "path:line" to names of tests, the quickest first."""

    tests: dict[str, list[str]]

    def find_tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that execute the line of `mutant`.

        A line that runs once, when its module is imported, is executed before any test: it belongs to every test of the
        module.
        """
        key = f"{mutant.path}:{mutant.line}"
        return self.tests.get(key, self.tests.get(f"{mutant.path}:module", []))[:_MOST_TESTS]


def record_coverage(sources: list[str], tests: list[str]) -> Coverage:
    """Run `tests` once and note which of them execute each line of `sources`; all of them must pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tools.mutation.tracing", *tests]
    out = Path(f".mutation-{os.getpid()}.json")
    setting = {"MUTATION_SOURCES": os.pathsep.join(sources), "MUTATION_OUT": str(out)}
    done = subprocess.run(command, env=os.environ | setting, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"record_coverage: the tests must pass before anything is changed.\n{done.stdout[-3000:]}")
    recorded = json.loads(out.read_text())
    out.unlink()
    return Coverage(recorded)


def try_mutant(mutant: Mutant, tests: list[str], limit: float) -> str:
    """Return "killed" if one of `tests` fails with `mutant` in place of its module, else "survived"."""
    setting = {"MUTATION_PATH": mutant.path, "MUTATION_INDEX": str(mutant.index), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-p", "tools.mutation.replacing", *tests]
    try:
        done = subprocess.run(command, env=os.environ | setting, check=False, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "killed"
    return "survived" if done.returncode == 0 else "killed"
