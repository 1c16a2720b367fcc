"""``import mercer`` costs next to nothing on top of ``import numpy``."""

import subprocess
import sys

ALLOWED_SECONDS = 0.050
# The rebuild that an editable install does on its first import is not part of the package: it is over before the clock.
CODE = """
import importlib.util, numpy, time
importlib.util.find_spec("mercer")
start = time.perf_counter()
import mercer
print(time.perf_counter() - start)
"""


def test_importing_mercer_takes_at_most_fifty_milliseconds():
    times = []
    for _ in range(7):
        finished = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
        times.append(float(finished.stdout))
        if times[-1] <= ALLOWED_SECONDS:
            break
    assert min(times) <= ALLOWED_SECONDS


def test_importing_mercer_loads_neither_scikit_learn_nor_scipy():
    code = "import sys, mercer; print([name for name in ('sklearn', 'scipy', 'pandas') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
