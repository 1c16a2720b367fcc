"""How work grows with data and shrinks with workers: measured slopes, Amdahl's law, gradients summed over workers."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer._objective import Logistic
from mercer._source import open_source
from mercer._statistic.loss import LossGradient
from mercer.errors import ParameterError
from mercer.linear_model import LogisticRegression

HOME = Path(__file__).parents[2]
# The exponents that docstrings state; `work_counts` has the algorithms and the sizes.
EXPONENTS = {
    "k-means in n": 1,
    "k-means in k": 1,
    "logistic in n": 1,
    "PCA in n": 1,
    "SVD in d": 2,
    "SVD in n": 1,
    "SVD of wide rows in n": 2,
    "SVD of wide rows in d": 1,
    "kernel in n": 2,
    "random features in n": 1,
    "random features in D": 1,
    "DBSCAN at worst": 2,
    "DBSCAN in the plane": 1,
}
LONG = np.random.default_rng(0).normal(size=(400_000, 16))
SIGNS = (LONG[:, 0] + np.random.default_rng(1).normal(size=len(LONG)) > 0).astype(float)


@pytest.fixture(scope="module")
def growth():
    """Return the exponents by which the counted work of `work_counts` grows."""
    program = [sys.executable, "-m", "tests.base.work_counts"]
    environment = os.environ | {"MERCER_INTERPRET": "1"}
    ran = subprocess.run(program, cwd=HOME, env=environment, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


@pytest.mark.catalogue("WF-08", "PM-02")
@pytest.mark.parametrize("name", EXPONENTS)
def test_work_grows_by_the_stated_exponent(growth, name):
    # What is done once, whatever the size, lowers the slope by 0.15 at most at these small sizes.
    assert growth[name] == pytest.approx(EXPONENTS[name], abs=0.2)


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
    statistic = LossGradient(Logistic(), np.random.default_rng(2).normal(size=(1, 17)))
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
