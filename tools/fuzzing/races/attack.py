"""Run every fit in which threads share native steps: ``make sanitize-threads`` does so under the thread sanitizer.

The sanitizer watches the memory that the native modules touch and ends a process with status 66 at a data race. So each
fit has a process of its own. Four threads work on few rows: they meet often. Each fit is also compared with the fit of
one thread, bit by bit. `--all` adds a fit of every class that takes `n_jobs`: there threads work on blocks of rows, and
the sums of blocks meet in Python.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer._native import level
from mercer._version import __version__
from mercer._written_file import write_whole
from mercer.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from mercer.manifold import TSNE
from mercer.neural_network import BernoulliRBM, MLPClassifier
from mercer.svm import SVC, SVR, OneClassSVM
from tests.laws.subjects import digest, first_settings, fitted
from tools.fuzzing.results import find_commit

# More threads than most machines in tests have cores: threads are then suspended in the middle of a step too.
_THREADS = 4

# The status with which a process ends that did what it was asked to, or found other bits; 66 is the sanitizer's own.
_OUTCOMES = {0: "same bits", 1: "other bits", 66: "race"}
# Each shared native loop by the estimator that runs it.
_FITS: dict[str, Callable[[int], Any]] = {
    "boosting, classes": lambda n: HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, n_jobs=n),
    "boosting, numbers": lambda n: HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=63, n_jobs=n),
    "kernel machine, classes": lambda n: SVC(C=10.0, n_jobs=n),
    "kernel machine, one against the rest": lambda n: SVC(multi_class="ovr", n_jobs=n),
    "kernel machine, numbers": lambda n: SVR(C=10.0, n_jobs=n),
    "kernel machine, one class": lambda n: OneClassSVM(n_jobs=n),
    "map": lambda n: TSNE(max_iter=260, perplexity=10, random_state=0, n_jobs=n),
    "network": lambda n: MLPClassifier((32, 16), max_iter=5, random_state=0, n_jobs=n),
    "Boltzmann machine": lambda n: BernoulliRBM(16, n_iter=3, random_state=0, n_jobs=n),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this attack."""
    parser.add_argument("--rows", type=int, default=3000, help="rows of each fit")
    parser.add_argument("--only", nargs="*", default=[], help=f"some of: {', '.join(_FITS)}")
    parser.add_argument("--all", action="store_true", help="fit every class that takes n_jobs too")
    parser.add_argument("--here", help="fit this one in this process, and return 1 if the bits differ")
    parser.add_argument("--store", type=Path, help="a JSON file that gets the outcome of every fit")


def run(options: argparse.Namespace) -> int:
    """Run each fit in a process of its own, print and store the outcomes, and return 1 unless all bits are the same."""
    if options.here is not None:
        return _compare(options.here, options.rows)
    fits: dict[str, dict[str, Any]] = {}
    for name in _list_fits(options.all):
        if options.only and name not in options.only:
            continue
        begun = time.perf_counter()
        words = [sys.executable, "-m", "tools.fuzzing", "races", "--here", name, "--rows", str(options.rows)]
        status = subprocess.run(words, check=False).returncode
        outcome = _OUTCOMES.get(status, f"status {status}")
        fits[name] = {"outcome": outcome, "seconds": round(time.perf_counter() - begun, 1)}
        print(f"{name}: {outcome} with {_THREADS} threads and 1", flush=True)
        if options.store is not None:
            write_whole(options.store, json.dumps(_describe(options, fits), indent=1) + "\n")
    return 0 if all(fit["outcome"] == "same bits" for fit in fits.values()) else 1


def _list_fits(everything: bool) -> list[str]:
    """Return the names of shared loops, and those of classes if all are wanted."""
    return [*_FITS, *(one.name for one in first_settings() if one.takes("n_jobs"))] if everything else list(_FITS)


def _compare(name: str, n_rows: int) -> int:
    """Fit with several threads and with one; return 1 if they give different bits."""
    if name in _FITS:
        return _compare_loop(name, n_rows)
    subject = next(one for one in first_settings() if one.name == name)
    X, y = subject.data(min(n_rows, subject.most_rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        several, one = (digest(fitted(subject.make(n_jobs=n).fit(X, y))) for n in (_THREADS, 1))
    return int(several != one)


def _compare_loop(name: str, n_rows: int) -> int:
    """Compare fits in which threads share a native loop."""
    random = np.random.default_rng(0)
    X = random.random((n_rows, 8))
    y = (X[:, 0] + 0.3 * random.normal(size=n_rows) > 0.5).astype(int)
    # A map compares all rows: fewer are enough for several items of work.
    rows = slice(0, n_rows // 4 if name == "map" else n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        several, one = (digest(fitted(_FITS[name](n).fit(X[rows], y[rows]))) for n in (_THREADS, 1))
    return int(several != one)


def _describe(options: argparse.Namespace, fits: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the outcomes with what is needed to repeat them."""
    return {
        "attack": "races",
        "mercer": __version__,
        "commit": find_commit(),
        "python": platform.python_version(),
        "level": level(),
        "sanitizers": ["tsan"] if "tsan" in os.environ.get("LD_PRELOAD", "") else [],
        "threads": _THREADS,
        "rows": options.rows,
        "total": dict(Counter(fit["outcome"] for fit in fits.values())),
        "fits": fits,
    }
