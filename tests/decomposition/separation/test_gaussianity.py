"""The test of sources against Gaussian noise: references under a Gaussian, and how often noise is taken for a "
"source."""

import numpy as np
import pytest

from mercer.decomposition import ICA
from mercer.decomposition._separation.gaussianity import exceedance
from mercer.decomposition._separation.scores import Score, make_score


def test_references_under_a_gaussian_are_those_of_hermite_polynomials():
    # For g = y^3 the curvature 3 y^2 - y^4 is -H_4 but for parts along 1 and y^2: variance 24, derivatives 96.
    cube = Score("cube").gaussian()
    assert cube.mean == pytest.approx(0.75)
    assert cube.deviation == pytest.approx(np.sqrt(24))
    assert cube.roughness == pytest.approx(4.0, rel=1e-6)
    # <exp(-v^2 / 2)> is 1 / sqrt(2).
    assert Score("exp").gaussian().mean == pytest.approx(-np.sqrt(0.5))
    assert make_score("logistic") == Score("tanh", 0.5)


def test_in_one_dimension_the_probability_is_the_two_sided_tail():
    assert exceedance(1.959963985, 1, 4.0) == pytest.approx(0.05)


@pytest.mark.parametrize("k", [2, 3, 5, 10, 25, 300])
def test_probabilities_fall_with_the_size_and_rise_with_the_dimension(k):
    sizes = np.linspace(0.0, 60.0, 200)
    values = [exceedance(z, k, 4.5) for z in sizes]
    assert (np.diff(values) <= 1e-12).all()
    assert values[0] == 1.0
    assert values[-1] < 1e-6
    assert exceedance(40.0, k, 4.5) >= exceedance(40.0, k - 1, 4.5)


def test_noise_passes_for_a_source_at_the_promised_rate():
    # The curvature at 180 directions of the plane, for 600 sets of white Gaussian rows.
    random, score = np.random.default_rng(0), make_score("tanh")
    reference = score.gaussian()
    angles = np.linspace(0, np.pi, 180, endpoint=False)
    directions = np.array([np.cos(angles), np.sin(angles)])
    below = 0
    for _ in range(600):
        X = random.normal(size=(400, 2))
        X -= X.mean(axis=0)
        U = X @ np.linalg.cholesky(np.linalg.inv(X.T @ X / 400))
        _, g, slope = score.of(U @ directions, np)
        curvature = slope.mean(axis=0) - (g * (U @ directions)).mean(axis=0)
        below += exceedance(np.abs(curvature).max() * np.sqrt(400) / reference.deviation, 2, reference.roughness) < 0.1
    # 60 expected, with a standard deviation of 7.3: within four of them.
    assert 31 <= below <= 89


def test_more_rows_make_the_same_source_surer():
    random = np.random.default_rng(0)
    values = []
    for n in (200, 1000, 5000):
        values.append(ICA(random_state=0).fit(random.laplace(size=(n, 2))).gaussian_pvalue_.max())
    assert values[0] > values[1] > values[2]
