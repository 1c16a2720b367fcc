"""DENCLUE: the density, the climb, the attractors, and what a noise level joins."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import make_moons

from mercer.cluster import DENCLUE
from mercer.cluster._density import denclue
from mercer.cluster._density.denclue import Ascent, GaussianDensity
from mercer.errors import ParameterError


def hills(n=60, seed=0):
    places = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], n // 3, axis=0)
    return np.random.default_rng(seed).normal(size=(n, 2)) + places


def density(x, X, h):
    return np.mean(multivariate_normal(x, h**2 * np.eye(X.shape[1])).pdf(X))


def gradient(x, X, h):
    weight = np.exp(-((x - X) ** 2).sum(axis=1) / (2 * h**2))
    return weight @ (X - x) / (weight.sum() * h**2)


# Truth.


@pytest.mark.parametrize("h", [0.3, 2.0])
def test_the_density_is_the_mean_of_gaussians_at_the_rows(h):
    X = hills()
    model = DENCLUE(h).fit(X)
    expected = [density(x, X, h) for x in X]
    np.testing.assert_allclose(np.exp(model.log_density_), expected, rtol=1e-12)


def test_named_bandwidths_are_their_formulas():
    X = hills()
    spread = np.sqrt(X.var(axis=0).mean())
    assert DENCLUE("scott").fit(X).bandwidth_ == pytest.approx(spread * 60 ** (-1 / 6))
    assert DENCLUE("silverman").fit(X).bandwidth_ == pytest.approx(spread * 60 ** (-1 / 6))
    line = DENCLUE("silverman").fit(X[:, :1]).bandwidth_
    assert line == pytest.approx(X[:, 0].std() * (60 * 3 / 4) ** (-1 / 5))


# Optimality.


@pytest.mark.catalogue("CL-11")
def test_every_step_raises_the_density_and_attractors_are_its_modes():
    X = hills()
    model = DENCLUE(1.0, tol=1e-8, max_iter=5000).fit(X)
    assert (np.diff(model.history_["objective"]) >= 0).all()
    assert len(model.attractors_) == 3
    for attractor, reached in zip(model.attractors_, model.attractor_log_density_, strict=True):
        np.testing.assert_allclose(gradient(attractor, X, 1.0), 0, atol=1e-7)
        assert np.exp(reached) == pytest.approx(density(attractor, X, 1.0))
        around = attractor + 0.01 * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
        assert max(density(x, X, 1.0) for x in around) < np.exp(reached)
    assert (model.attractor_log_density_[model.labels_] >= model.log_density_).all()


@pytest.mark.catalogue("CL-11")
def test_a_noise_level_above_the_maximum_leaves_noise_and_one_below_joins_what_a_path_joins():
    X, y = make_moons(400, noise=0.05, random_state=0)
    model = DENCLUE(0.1).fit(X)
    assert len(model.attractors_) > 2
    assert model.labels_.max() == 1
    assert all(len(set(y[model.labels_ == cluster])) == 1 for cluster in (0, 1))
    top = np.exp(model.attractor_log_density_.max())
    assert set(DENCLUE(0.1, xi=1.01 * top).fit(X).labels_) == {-1}
    assert (DENCLUE(0.1, xi=0.99 * top).fit(X).labels_ >= 0).any()
    apart = DENCLUE(0.1, xi=0.9 * top).fit(X)
    assert set(apart.labels_) >= {-1, 0}


# Invariance.


def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter():
    X = hills(90)
    weight = np.random.default_rng(0).integers(0, 4, 90)
    weighted = DENCLUE(1.0).fit(X, sample_weight=weight)
    repeated = DENCLUE(1.0).fit(X.repeat(weight, axis=0))
    np.testing.assert_array_equal(weighted.labels_.repeat(weight), repeated.labels_)
    np.testing.assert_allclose(weighted.attractors_, repeated.attractors_, atol=5e-3)
    order = np.random.default_rng(1).permutation(90)
    np.testing.assert_array_equal(DENCLUE(1.0).fit(X[order]).labels_, DENCLUE(1.0).fit(X).labels_[order])


def test_new_rows_climb_to_the_same_attractors_and_far_rows_nowhere():
    X = hills(90)
    model = DENCLUE(1.0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.predict([[8.0, 1.0]]) == model.labels_[40]
    assert model.predict([[1e4, 1e4]]) == -1


# Edges.


def test_equal_rows_make_one_hill_and_one_row_too():
    model = DENCLUE().fit(np.ones((20, 3)))
    assert model.labels_.tolist() == [0] * 20
    np.testing.assert_allclose(model.attractors_, [[1.0, 1.0, 1.0]])
    assert DENCLUE().fit([[4.0, 2.0]]).labels_.tolist() == [0]


# Errors.


def test_a_bandwidth_of_zero_is_refused():
    with pytest.raises(ParameterError, match=r"bandwidth must be one of .* or a number in \(0, inf\)"):
        DENCLUE(0.0).fit(hills())


def test_the_density_at_the_rows_is_that_of_the_first_step_also_of_an_older_checkpoint(monkeypatch):
    X, climbs = hills(), []
    climb = GaussianDensity.climb
    monkeypatch.setattr(GaussianDensity, "climb", lambda *given: climbs.append(given) or climb(*given))
    model = DENCLUE(1.0).fit(X)
    # No pass over the rows beside the steps: Ctrl-C would wait for it.
    assert len(climbs) == model.n_iter_
    start = Ascent.start
    before = np.zeros(len(X))
    # A state that has climbed already, as a checkpoint without the first densities holds it.
    monkeypatch.setattr(Ascent, "start", lambda self, rows: replace(start(self, rows), moves=before))
    older = DENCLUE(1.0).fit(X)
    assert len(climbs) == model.n_iter_ + older.n_iter_ + 1
    np.testing.assert_array_equal(older.log_density_, model.log_density_)


def test_a_second_ctrl_c_while_clusters_are_found_leaves_the_earlier_fit(monkeypatch):
    X = hills()
    model = DENCLUE(1.0).fit(X[:30])
    before = dict(vars(model))

    def press_again(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(denclue, "attractors_of", press_again)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
