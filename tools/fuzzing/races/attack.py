"""Run every fit in which threads share native steps: ``make sanitize-threads`` does so under the thread sanitizer.

The sanitizer watches the memory that the native modules touch and ends the process with status 66 at a data race. Four
threads work on few rows: they meet often. Each fit is also compared with the fit of one thread, bit by bit.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from mercer.manifold import TSNE
from mercer.neural_network import BernoulliRBM, MLPClassifier
from mercer.svm import SVC, SVR, OneClassSVM
from tests.laws.subjects import digest, fitted

__all__ = ["add_options", "run"]

# More threads than most machines in tests have cores: threads are then suspended in the middle of a step too.
_THREADS = 4

# Each shared native loop by the estimator that runs it, and how many times a fit is repeated.
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


def run(options: argparse.Namespace) -> int:
    """Fit, print, and return 1 if four threads and one give different bits; a race ends the process before."""
    random = np.random.default_rng(0)
    X = random.random((options.rows, 8))
    y = (X[:, 0] + 0.3 * random.normal(size=options.rows) > 0.5).astype(int)
    different = 0
    for name, make in _FITS.items():
        if options.only and name not in options.only:
            continue
        # A map compares all rows: fewer are enough for several items of work.
        rows = slice(0, options.rows // 4 if name == "map" else options.rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            several, one = (digest(fitted(make(n).fit(X[rows], y[rows]))) for n in (_THREADS, 1))
        different += several != one
        print(
            f"{name}: {'the same bits' if several == one else 'OTHER BITS'} with {_THREADS} threads and 1", flush=True
        )
    return 1 if different else 0
