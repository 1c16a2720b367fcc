"""What every test relies on, whatever started the test run."""

import gc
import importlib.util
import os
import random
import re
import signal

import hypothesis
import pytest

# Threads of OpenMP (in scikit-learn, torch and peers) wait asleep. By default they spin for milliseconds after each
# loop, which takes the cores from the other processes that run tests. OpenMP reads this when it is first loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Those of OpenBLAS too: by default they spin for 0.05 s after each product, which took half of the CPU time of whole
# families of tests. 2**4 cycles are the fewest that it takes.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

# A shell script that runs the tests in the background makes them ignore Ctrl-C, which tests of interruption would then
# wait for in vain. Python's own handler is what users at a terminal have; processes that tests start inherit it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Drawn examples take as long as a busy machine needs (0.2 s is hypothesis's own limit), and are the same in every run:
# `make soak` draws new ones.
hypothesis.settings.register_profile("tests", deadline=None, derandomize=True)
hypothesis.settings.load_profile("tests")


# Modules and lists of tests are some million objects that live until the end. The garbage collector searches them
# neither while they are made nor later: fits that measure their memory collect garbage first, which took most of their
# time.
gc.disable()


def pytest_addoption(parser):
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files, and tests within a file, in random order")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Shuffle files, and tests within each: fixtures of a file are still made once."""
    seed = config.getoption("--shuffle")
    if seed is not None:
        order = random.Random(seed)
        ranks = {path: order.random() for path in dict.fromkeys(item.path for item in items)}
        items.sort(key=lambda item: (ranks[item.path], order.random()))


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.enable()


# Packages that extras install. Where one is not there, the tests that import it are skipped and say so.
EXTRAS = {
    "dask",
    "distributed",
    "polars",
    "pyarrow",
    "openpyxl",
    "matplotlib",
    "torch",
    "onnx",
    "onnxruntime",
    "pandas",
}


def skip_without_extra(report, place):
    """Make a failed report one of a skipped test where it failed for want of a package of `EXTRAS`."""
    found = re.search(r"ModuleNotFoundError: No module named '(\w+)", str(report.longrepr)) if report.failed else None
    if found and found[1] in EXTRAS and importlib.util.find_spec(found[1]) is None:
        report.outcome, report.longrepr = "skipped", (place, 0, f"Skipped: {found[1]} is not installed")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return skip_without_extra((yield), str(collector.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return skip_without_extra((yield), str(item.path))
