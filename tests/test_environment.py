"""The tests can run wherever they are started from."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_tests_of_interruption_pass_when_the_parent_ignores_interrupts():
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/solver/test_driver.py",
        "-k",
        "ctrl_c",
    ]
    program = (
        "import signal, subprocess, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        f"sys.exit(subprocess.run({command!r}).returncode)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout[-2000:]
    assert " passed" in finished.stdout
