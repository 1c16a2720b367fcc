"""Print the growth of the work of some algorithms, counted rather than timed: the same on any machine, however busy.

Run with ``MERCER_INTERPRET=1``: native modules are then Python, and the unit of work is one executed line of them.
Factorisations by LAPACK count their multiplications, and distances by a metric of the user's one each.
"""

import json
import sys
import warnings

import numpy as np

import mercer
from mercer._native import level
from mercer._statistic import triangle
from mercer.cluster import DBSCAN, KMeans
from mercer.decomposition import PCA, _direct
from mercer.kernel_approximation import RBFSampler
from mercer.kernels import RBF
from mercer.linear_model import LogisticRegression

ROWS = np.random.default_rng(0).normal(size=(800, 8))
SIGNS = (ROWS[:, 0] + np.random.default_rng(1).normal(size=len(ROWS)) > 0).astype(float)
WIDE = np.random.default_rng(2).normal(size=(400, 80))
PLANE = np.random.default_rng(3).uniform(size=(1000, 2))
WAVES = {number: RBFSampler(n_components=number, random_state=0, n_jobs=1).fit(ROWS[:100]) for number in (32, 128)}


class Work:
    """A clock that advances by one with each line of native code, and by what factorisations and metrics add."""

    def __init__(self):
        self.done = 0

    def read(self):
        return float(self.done)

    def enter(self, frame, event, argument):
        """Trace the calls of functions of native modules."""
        return self.count_line if "_native" in frame.f_code.co_filename else None

    def count_line(self, frame, event, argument):
        self.done += event == "line"
        return self.count_line

    def count_factorisation(self, function):
        """Return `function` of a matrix that adds the multiplications of its factorisation."""

        def counted(matrix, *arguments, **options):
            shape = np.shape(matrix)
            self.done += shape[0] * shape[1] * min(shape)
            return function(matrix, *arguments, **options)

        return counted

    def measure_distance(self, a, b):
        self.done += 1
        return float(np.abs(a - b).sum())

    def measure_growth(self, run, sizes):
        """Return the exponent by which the work of ``run(size)`` grows."""
        sys.settrace(self.enter)
        try:
            return mercer.measure_growth(run, sizes, repeats=1, clock=self.read)
        finally:
            sys.settrace(None)


def list_cases(work):
    """Return the name, the function of a size and the sizes of each case."""

    def k_means(n_rows, n_clusters):
        # Three iterations from given centres: n k d multiplications each.
        KMeans(n_clusters, init=ROWS[:n_clusters], tol=0, max_iter=3, n_jobs=1).fit(ROWS[:n_rows])

    return {
        "k-means in n": (lambda n: k_means(n, 8), [200, 800]),
        # Both sizes have more centres than are searched in lanes, whose uncompiled twin does many rows in one line.
        "k-means in k": (lambda k: k_means(500, k), [130, 260]),
        "logistic in n": (
            lambda n: LogisticRegression(max_iter=3, tol=0, n_jobs=1).fit(ROWS[:n], SIGNS[:n]),
            [100, 400],
        ),
        "PCA in n": (lambda n: PCA(2, svd_solver="covariance_eigh", n_jobs=1).fit(ROWS[:n]), [200, 800]),
        "SVD in d": (lambda d: PCA(2, svd_solver="full", n_jobs=1).fit(WIDE[:, :d]), [20, 80]),
        # min(n^2 d, d^2 n): rows and columns change places where there are more of the other.
        "SVD in n": (lambda n: PCA(2, svd_solver="full", n_jobs=1).fit(WIDE[:n, :20]), [100, 400]),
        "SVD of wide rows in n": (lambda n: PCA(2, svd_solver="full", n_jobs=1).fit(WIDE.T[:n]), [20, 80]),
        "SVD of wide rows in d": (lambda d: PCA(2, svd_solver="full", n_jobs=1).fit(WIDE.T[:20, :d]), [100, 400]),
        "kernel in n": (lambda n: RBF(1.0)(ROWS[:n], ROWS[:n]), [25, 100]),
        "random features in n": (lambda n: WAVES[32].transform(ROWS[:n]), [100, 400]),
        "random features in D": (lambda D: WAVES[D].transform(ROWS[:100]), [32, 128]),
        # Every row is a neighbour of every other: the worst case, whatever the search.
        "DBSCAN at worst": (
            lambda n: DBSCAN(eps=50.0, metric=work.measure_distance, algorithm="brute", n_jobs=1).fit(ROWS[:n]),
            [100, 400],
        ),
        # A few neighbours in the plane: the search by boxes does not compare all pairs.
        "DBSCAN in the plane": (lambda n: DBSCAN(eps=(3 / n) ** 0.5, n_jobs=1).fit(PLANE[:n]), [250, 1000]),
    }


def main():
    assert level() == "interpreted"
    warnings.simplefilter("ignore")
    work = Work()
    _direct.svd = work.count_factorisation(_direct.svd)
    triangle.reduce_rows = work.count_factorisation(triangle.reduce_rows)
    growth = {name: work.measure_growth(run, sizes) for name, (run, sizes) in list_cases(work).items()}
    print(json.dumps(growth))


if __name__ == "__main__":
    main()
