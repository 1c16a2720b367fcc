"""Tests run on other random data: those that hold for the data of one seed alone are found."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tools.reseed import derive_generator

TESTS = """
import numpy as np
import pytest

X = np.random.default_rng(0).random(3)

def test_of_any_data():
    assert len(X) == 3

def test_of_constants():
    assert float(X[0]) == 0.6369616873214543

@pytest.mark.fixed_seed("a record of NumPy's bits")
def test_of_one_seed_with_a_reason():
    assert np.random.default_rng(0).random() == 0.6369616873214543

def test_that_fails_anyway():
    assert False
"""


def test_a_test_that_needs_its_seed_is_listed(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_example.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = --import-mode=importlib\nmarkers =\n  fixed_seed(reason): its seed matters\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "tools.reseed", "tests", "--seeds", "2", "--after", "3"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    place = "tests/test_example.py::"

    def said(run):
        number = derive_generator(np.random.default_rng, 0, run).random()
        return f"assert {number} == 0.6369616873214543"

    assert ended.stdout.splitlines() == [
        f"left out: {place}test_that_fails_anyway: assert False",
        *(f"run {run}: {place}test_of_constants: {said(run)}" for run in (4, 5)),
        f"fails in 2 of 2 runs: {place}test_of_constants",
        "3 tests of 1 files, 2 seeds, 1 fail.",
    ]
    assert ended.returncode == 1


@pytest.mark.parametrize("seed", [3, [1, 2], (4,), np.int64(5)])
@pytest.mark.fixed_seed("compares with the generators that reseeding replaces")
def test_runs_draw_other_numbers_and_the_same_again(seed):
    first, *others = (derive_generator(np.random.default_rng, seed, run).random() for run in (0, 1, 2, 1))
    assert first == np.random.default_rng(seed).random()
    assert len({first, *others}) == 3
    assert others[0] == others[2]


def test_what_is_no_seed_is_passed_on():
    generator = np.random.default_rng(0)
    assert derive_generator(np.random.default_rng, generator, 1) is generator
