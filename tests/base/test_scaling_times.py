"""Seconds of the processor grow as stated: what `test_scaling` counts, measured. Not for a busy machine, hence soak."""

import math
import time

import numpy as np
import pytest

import mercer
from mercer.cluster import DBSCAN, KMeans
from mercer.decomposition import PCA
from mercer.kernel_approximation import RBFSampler
from mercer.kernels import RBF
from mercer.linear_model import LogisticRegression

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def data():
    """Return long rows with signs as targets, wide rows by width, rows in the plane, and maps by number of waves."""
    random = np.random.default_rng(0)
    long = random.normal(size=(400_000, 16))
    signs = (long[:, 0] + random.normal(size=len(long)) > 0).astype(float)
    # Wide enough that products outweigh what each column costs: the slope is 1.9 to 2.0 there, 1.65 at 96 to 384.
    wide = {d: random.normal(size=(5000, d)) for d in (200, 800)}
    waves = {
        number: RBFSampler(n_components=number, gamma=0.1, random_state=0, n_jobs=1).fit(long[:1000])
        for number in (32, 64, 512)
    }
    return long, signs, wide, random.uniform(size=(64_000, 2)), waves


def k_means(rows, n_clusters):
    """Five iterations from given centres: n k d multiplications each."""
    return KMeans(n_clusters, init=rows[:n_clusters], tol=0, max_iter=5, n_jobs=1).fit(rows)


@pytest.mark.catalogue("WF-08")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("run", "sizes", "exponent"),
    [
        (lambda n, rows, *_: k_means(rows[:n], 8), [25_000, 100_000, 400_000], 1),
        (lambda k, rows, *_: k_means(rows[:50_000], k), [64, 128, 256], 1),
        (
            lambda n, rows, signs, *_: LogisticRegression(max_iter=5, tol=0, n_jobs=1).fit(rows[:n], signs[:n]),
            [50_000, 400_000],
            1,
        ),
        (lambda n, rows, *_: PCA(2, svd_solver="covariance_eigh", n_jobs=1).fit(rows[:n]), [50_000, 400_000], 1),
        (lambda d, rows, signs, wide, *_: PCA(2, svd_solver="full", n_jobs=1).fit(wide[d]), [200, 800], 2),
        (lambda n, rows, *_: RBF(1.0)(rows[:n], rows[:n]), [1000, 4000], 2),
        (lambda n, rows, signs, wide, plane, waves: waves[64].transform(rows[:n]), [10_000, 160_000], 1),
        (lambda D, rows, signs, wide, plane, waves: waves[D].transform(rows[:20_000]), [32, 512], 1),
        (lambda n, rows, *_: DBSCAN(eps=50.0, algorithm="brute", n_jobs=1).fit(rows[:n]), [250, 1000], 2),
        (
            lambda n, rows, signs, wide, plane, *_: DBSCAN(eps=(3 / n) ** 0.5, n_jobs=1).fit(plane[:n]),
            [4000, 64_000],
            1,
        ),
    ],
    ids=[
        *("k-means in n", "k-means in k", "logistic in n", "PCA in n", "SVD in d", "kernel in n"),
        *("random features in n", "random features in D", "DBSCAN at worst", "DBSCAN in the plane"),
    ],
)
def test_time_grows_by_the_stated_exponent(run, sizes, exponent, data):
    # The first call imports and allocates. Seconds of the processor: what else the machine does is not counted.
    run(sizes[0], *data)
    # Caches that other processes share disturb a measurement now and then: one of five must show the exponent.
    slopes = []
    while len(slopes) < 5 and exponent != pytest.approx(slopes[-1] if slopes else math.nan, abs=0.45):
        slopes.append(mercer.measure_growth(lambda size: run(size, *data), sizes, clock=time.process_time))
    assert slopes[-1] == pytest.approx(exponent, abs=0.45)
