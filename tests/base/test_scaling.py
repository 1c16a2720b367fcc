"""How work grows with data and shrinks with workers: measured slopes, Amdahl's law, gradients summed over workers."""

import math
import time

import numpy as np
import pytest

import mercer
from mercer._objective import Logistic
from mercer._source import open_source
from mercer._statistic.loss import LossGradient
from mercer.cluster import DBSCAN, KMeans
from mercer.decomposition import PCA
from mercer.errors import ParameterError
from mercer.kernel_approximation import RBFSampler
from mercer.kernels import RBF
from mercer.linear_model import LogisticRegression

RNG = np.random.default_rng(0)
# Wide enough that products outweigh what each column costs by itself: the slope is 1.9 to 2.0 there, 1.65 at 96 to 384.
WIDE = {d: RNG.normal(size=(5000, d)) for d in (200, 800)}
LONG = RNG.normal(size=(400_000, 16))
PLANE = RNG.uniform(size=(64_000, 2))
WAVES = {
    n_waves: RBFSampler(n_components=n_waves, gamma=0.1, random_state=0, n_jobs=1).fit(LONG[:1000])
    for n_waves in (32, 64, 512)
}
SIGNS = (LONG[:, 0] + RNG.normal(size=len(LONG)) > 0).astype(float)


def k_means(n_rows=50_000, n_clusters=8, n_features=16):
    """Five iterations from given centres: n k d multiplications each."""
    return KMeans(n_clusters, init=LONG[:n_clusters, :n_features], tol=0, max_iter=5, n_jobs=1).fit(
        LONG[:n_rows, :n_features]
    )


@pytest.mark.catalogue("WF-08")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("run", "sizes", "exponent"),
    [
        (lambda n: k_means(n_rows=n), [25_000, 100_000, 400_000], 1),
        (lambda k: k_means(n_clusters=k), [64, 128, 256], 1),
        (lambda n: LogisticRegression(max_iter=5, tol=0, n_jobs=1).fit(LONG[:n], SIGNS[:n]), [50_000, 400_000], 1),
        (lambda n: PCA(2, svd_solver="covariance_eigh", n_jobs=1).fit(LONG[:n]), [50_000, 400_000], 1),
        (lambda d: PCA(2, svd_solver="full", n_jobs=1).fit(WIDE[d]), [200, 800], 2),
        (lambda n: RBF(1.0)(LONG[:n], LONG[:n]), [1000, 4000], 2),
        (lambda n: WAVES[64].transform(LONG[:n]), [10_000, 160_000], 1),
        (lambda D: WAVES[D].transform(LONG[:20_000]), [32, 512], 1),
        # Every row is a neighbour of every other: the worst case, whatever the search.
        (lambda n: DBSCAN(eps=50.0, algorithm="brute", n_jobs=1).fit(LONG[:n]), [250, 1000], 2),
        # A few neighbours in the plane: the search by boxes does not compare all pairs.
        (lambda n: DBSCAN(eps=(3 / n) ** 0.5, n_jobs=1).fit(PLANE[:n]), [4000, 64_000], 1),
    ],
    ids=[
        *("k-means in n", "k-means in k", "logistic in n", "PCA in n", "SVD in d", "kernel in n"),
        *("random features in n", "random features in D", "DBSCAN at worst", "DBSCAN in the plane"),
    ],
)
def test_time_grows_by_the_stated_exponent(run, sizes, exponent):
    # The first call imports and allocates. Seconds of the processor: what else the machine does is not counted.
    run(sizes[0])
    # Caches that other processes share disturb a measurement now and then: one of five must show the exponent.
    slopes = []
    while len(slopes) < 5 and exponent != pytest.approx(slopes[-1] if slopes else math.nan, abs=0.45):
        slopes.append(mercer.measure_growth(run, sizes, clock=time.process_time))
    assert slopes[-1] == pytest.approx(exponent, abs=0.45)


def test_a_growth_is_the_slope_in_logarithms():
    now = [0.0]

    def run(size):
        now[0] += 1e-3 * size**1.5

    assert mercer.measure_growth(run, [10, 100, 1000], clock=lambda: now[0]) == pytest.approx(1.5)
    with pytest.raises(ParameterError, match=r"sizes must be two or more different positive integers .* got \[3, 3\]"):
        mercer.measure_growth(run, [3, 3])


@pytest.mark.catalogue("WF-09")
def test_amdahls_law_gives_the_speed_ups_of_the_table():
    assert mercer.amdahl(0.95, 8) == pytest.approx(5.925926, abs=1e-6)
    assert mercer.amdahl(0.95, math.inf) == pytest.approx(20)
    assert mercer.amdahl(0.5, 2) == pytest.approx(4 / 3)
    assert mercer.amdahl(0.0, 64) == 1
    assert mercer.amdahl(1.0, 64) == 64
    assert mercer.amdahl(1.0, math.inf) == math.inf
    with pytest.raises(ParameterError, match=r"parallel_share must be a number in \[0, 1\]"):
        mercer.amdahl(1.5, 2)


@pytest.mark.catalogue("WF-09")
def test_a_forecast_knows_what_more_workers_would_bring():
    said = mercer.forecast(LogisticRegression(), LONG, SIGNS)
    assert 0 < said.parallel_share <= 1
    assert said.speed_up(4) == mercer.amdahl(said.parallel_share, 4)


@pytest.mark.catalogue("WF-10")
def test_a_gradient_summed_over_workers_is_that_of_one_worker():
    statistic = LossGradient(Logistic(), RNG.normal(size=(1, 17)))
    alone, *shared = (open_source(LONG, SIGNS, threads=workers).reduce(statistic) for workers in (1, 2, 5))
    for sums in shared:
        assert sums.value == alone.value
        np.testing.assert_array_equal(sums.gradient, alone.gradient)
    halves = [
        open_source(LONG[part], SIGNS[part]).reduce(statistic) for part in (slice(0, 131072), slice(131072, None))
    ]
    np.testing.assert_allclose(halves[0].gradient + halves[1].gradient, alone.gradient, rtol=1e-12)


@pytest.mark.catalogue("WF-10")
def test_workers_do_not_cure_bad_conditioning():
    n = 60_000
    X = LONG[:n] @ np.diag(np.logspace(0, 4, 16))
    steps = [LogisticRegression(n_jobs=workers, max_iter=500).fit(X, SIGNS[:n]).n_iter_[0] for workers in (1, 2, 5)]
    assert len(set(steps)) == 1
    assert steps[0] > 1
