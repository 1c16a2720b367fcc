"""Bandwidths by rule and by the likelihood of rows left out."""

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KernelDensity as TheirDensity

from mercer.errors import DataError, ParameterError
from mercer.neighbors import KernelDensity
from mercer.neighbors._cell_grid import GridPlan
from mercer.neighbors._density_method import Method
from mercer.neighbors._profile import PROFILES, log_volume, value
from mercer.neighbors._row_tree import Locations
from mercer.neighbors._tree_sums import TreeSums


def rows(n=200, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def left_out_score(X, h, kernel="gaussian"):
    """The mean log-density of each row under the others, from all pairs."""
    n, d = X.shape
    r = np.linalg.norm(X[:, None] - X[None], axis=2) / h
    K = value(kernel, r)
    np.fill_diagonal(K, 0.0)
    with np.errstate(divide="ignore"):
        return np.mean(np.log(K.sum(axis=1))) - np.log(n - 1) - log_volume(kernel, d) - d * np.log(h)


@pytest.mark.catalogue("DE-03")
@pytest.mark.parametrize(("rule", "expected"), [("scott", 256 ** (-1 / 8)), ("silverman", (256 * 6 / 4) ** (-1 / 8))])
def test_rules_are_their_formulas_and_count_repetitions(rule, expected):
    assert KernelDensity(bandwidth=rule).fit(rows(256, 4)).bandwidth_ == pytest.approx(expected, rel=1e-15)
    weighted = KernelDensity(bandwidth=rule).fit(rows(128, 4), sample_weight=np.full(128, 2.0))
    assert weighted.bandwidth_ == pytest.approx(expected, rel=1e-15)


@pytest.mark.catalogue("DE-03")
def test_the_normal_reference_follows_the_scale_of_each_column():
    X = rows(400, 2)
    plain = KernelDensity(bandwidth="normal_reference").fit(X)
    np.testing.assert_allclose(plain.bandwidth_, X.std(axis=0) * 400 ** (-1 / 6))
    scale = np.array([100.0, 0.01])
    scaled = KernelDensity(bandwidth="normal_reference").fit(X * scale)
    np.testing.assert_allclose(scaled.bandwidth_, plain.bandwidth_ * scale)
    # The density of scaled rows is the scaled density: what a rule that ignores the scale breaks.
    np.testing.assert_allclose(
        scaled.score_samples(X[:9] * scale), plain.score_samples(X[:9]) - np.log(scale).sum(), rtol=1e-9
    )
    heavy = KernelDensity(bandwidth="normal_reference").fit(X[:50], sample_weight=np.full(50, 3.0))
    np.testing.assert_allclose(
        heavy.bandwidth_, KernelDensity(bandwidth="normal_reference").fit(X[:50].repeat(3, axis=0)).bandwidth_
    )


def test_the_normal_reference_of_one_wide_column_is_near_its_best_bandwidth():
    # 1.06 s n^(-1/5): with s = 100 and 256 rows some 35, where Scott's factor alone is 0.33.
    X = 100.0 * np.random.default_rng(3).normal(size=(256, 1))
    rule = KernelDensity(bandwidth="normal_reference").fit(X).bandwidth_[0]
    assert rule == pytest.approx(1.06 * X.std() * 256 ** (-1 / 5), rel=2e-3)
    best = KernelDensity(bandwidth="cross_validation").fit(X).bandwidth_
    assert 0.5 < rule / best < 2


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_rules_that_ignore_the_scale_say_so(rule):
    with pytest.warns(UserWarning, match=r"standard deviation 1; that of column 1 is .*normal_reference"):
        KernelDensity(bandwidth=rule).fit(rows(64, 2) * [1.0, 100.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelDensity(bandwidth=rule).fit(rows(64, 2))


def test_a_normal_reference_needs_two_different_rows_and_the_euclidean_metric():
    flat = KernelDensity(bandwidth="normal_reference").fit(np.c_[np.arange(9.0), np.ones(9)])
    assert flat.bandwidth_[1] == pytest.approx(flat.bandwidth_[0] / np.sqrt(2))
    with pytest.raises(DataError, match="needs two different rows; got one row, repeated"):
        KernelDensity(bandwidth="normal_reference").fit(np.ones((9, 2)))
    with pytest.raises(ParameterError, match="needs the Euclidean metric"):
        KernelDensity(bandwidth="normal_reference", metric="manhattan").fit(rows(9, 2))


@pytest.mark.catalogue("DE-03")
@pytest.mark.parametrize("kernel", PROFILES)
def test_the_chosen_bandwidth_is_the_best_of_a_grid(kernel):
    X = rows()
    model = KernelDensity(bandwidth="cross_validation", kernel=kernel).fit(X)
    assert model.converged_
    best = left_out_score(X, model.bandwidth_, kernel)
    assert model.history_["objective"][-1] == pytest.approx(best, rel=1e-9)
    # To the accuracy asked for: within one per cent of h the likelihood is flat, but for steps of the tophat.
    slack = 2e-2 if kernel == "tophat" else 1e-4
    assert best >= max(left_out_score(X, h, kernel) for h in model.bandwidth_ * np.geomspace(0.05, 20, 80)) - slack


def test_each_score_in_the_history_is_the_left_out_likelihood_of_its_bandwidth():
    X = rows(100, 3)
    history = KernelDensity(bandwidth="cross_validation").fit(X).history_
    expected = [left_out_score(X, h) for h in history["bandwidth"]]
    np.testing.assert_allclose(history["score"], expected, rtol=1e-7)
    np.testing.assert_array_equal(history["objective"], np.maximum.accumulate(history["score"]))


@pytest.mark.catalogue("DE-03")
def test_for_gaussian_rows_cross_validation_is_within_a_factor_of_two_of_silvermans_rule():
    X = rows(1000, 1)
    chosen, rule = (KernelDensity(bandwidth=name).fit(X).bandwidth_ for name in ("cross_validation", "silverman"))
    assert 0.5 < chosen / rule < 2


@pytest.mark.catalogue("DE-02", "DE-03")
def test_small_bandwidths_are_spikes_and_large_ones_flat():
    X, held_out = rows(100, 1), rows(100, 1, seed=1)
    scores = [KernelDensity(bandwidth=h).fit(X).score(held_out) for h in (1e-4, 1e-2, 0.4, 20.0, 1e4)]
    assert np.argmax(scores) == 2
    assert scores[0] < -1e5
    flat = np.exp(KernelDensity(bandwidth=1e4).fit(X).score_samples(held_out))
    assert np.ptp(flat) / flat.mean() < 1e-7
    # Variance over training sets falls with h, and the bias at the mode, where the density is 0.399, rises.
    at_zero = {
        h: [np.exp(KernelDensity(bandwidth=h).fit(rows(50, 1, seed)).score_samples([[0.0]])[0]) for seed in range(600)]
        for h in (0.05, 1.0)
    }
    assert np.std(at_zero[0.05]) > 3 * np.std(at_zero[1.0])
    assert abs(np.mean(at_zero[1.0]) - 0.399) > 2 * abs(np.mean(at_zero[0.05]) - 0.399)


def test_repeated_rows_leave_together_so_that_they_cannot_pull_the_bandwidth_to_zero():
    X = rows(80)
    once = KernelDensity(bandwidth="cross_validation", tol=1e-6).fit(X)
    thrice = KernelDensity(bandwidth="cross_validation", tol=1e-6).fit(np.repeat(X, 3, axis=0))
    heavy = KernelDensity(bandwidth="cross_validation", tol=1e-6).fit(X, sample_weight=np.full(80, 3.0))
    # The search begins at another bandwidth for three times the weight, and ends within tol of the same.
    assert thrice.bandwidth_ == pytest.approx(once.bandwidth_, rel=1e-4)
    assert heavy.bandwidth_ == pytest.approx(thrice.bandwidth_, rel=1e-6)


def test_isolated_rows_are_left_out_without_underflow():
    X = np.array([[0.0], [1.0], [1000.0]])
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter after 1 steps"):
        model = KernelDensity(bandwidth="cross_validation", max_iter=1).fit(X)
    h = model.history_["bandwidth"][0]
    square = (X - X.T) ** 2 / h**2
    np.fill_diagonal(square, np.inf)
    expected = np.mean(logsumexp(-square / 2, axis=1)) - np.log(2 * np.sqrt(2 * np.pi) * h)
    assert model.history_["score"][0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("metric", "norm"), [("euclidean", 2), ("manhattan", 1)])
def test_few_held_out_rows_are_scored_under_all_others(metric, norm):
    X = rows(600)
    model = KernelDensity(bandwidth="cross_validation", metric=metric, n_held_out=100).fit(X)
    tree, h = model.tree_, model.history_["bandwidth"][0]
    held_out = tree.data[tree.rows_of(tree.some_leaves(100))]
    assert 100 <= len(held_out) < 200
    r = np.linalg.norm(held_out[:, None] - X[None], ord=norm, axis=2) / h
    terms = np.where(r > 0, -0.5 * r**2, -np.inf)
    expected = np.mean(logsumexp(terms, axis=1)) - np.log(599) - log_volume("gaussian", 2, norm) - 2 * np.log(h)
    assert model.history_["score"][0] == pytest.approx(expected, rel=1e-8)
    all_of_them = KernelDensity(bandwidth="cross_validation", metric=metric, n_held_out=600).fit(X)
    assert all_of_them.bandwidth_ == KernelDensity(bandwidth="cross_validation", metric=metric).fit(X).bandwidth_


def test_the_lattice_leaves_rows_out_as_the_tree_does(monkeypatch):
    # Many rows near together and some far out, a repeated one among them: the lattice is not sure of all.
    X = np.vstack([0.5 * rows(3000), 3 * rows(30, seed=1)])
    X[3] = X[4]
    tree = KernelDensity().fit(X).tree_
    leaves, locations = tree.some_leaves(None), Locations.of(tree)
    monkeypatch.setattr(GridPlan, "seconds", lambda plan, n_points: 0.0)
    by_lattice, by_tree = (
        Method("test", algorithm, "gaussian", "euclidean").log_left_out(tree, 0.2, locations, leaves, 1e-7)
        for algorithm in ("auto", "kd_tree")
    )
    exact = TreeSums(tree, "gaussian", np.full(2, 0.2)).log_left_out(locations, leaves)
    assert np.abs(by_tree - exact).max() < 1.01e-7
    assert np.abs(by_lattice - exact).max() < 1.01e-7
    assert 0 < np.mean(by_lattice == by_tree) < 0.5


def test_a_given_number_is_kept_to_the_bit_and_scored_as_scikit_learn_does():
    X = rows()
    model = KernelDensity(bandwidth=0.1).fit(X)
    assert model.bandwidth_ == 0.1
    assert model.score(X) == pytest.approx(TheirDensity(bandwidth=0.1).fit(X).score(X), rel=1e-12)
    assert model.certificate_.kind == "none"


@pytest.mark.parametrize("X", [[[1.0, 2.0]], [[1.0, 2.0]] * 4])
def test_cross_validation_of_one_row_is_refused(X):
    with pytest.raises(
        DataError, match=r"needs two different rows; got (n_samples=1|one row, repeated)\. Give a number"
    ):
        KernelDensity(bandwidth="cross_validation").fit(X)


def test_cross_validation_refuses_equal_rows_whose_spread_is_rounding():
    with pytest.raises(DataError, match="needs two different rows"):
        KernelDensity(bandwidth="cross_validation").fit(np.full((40, 5), 0.1) * np.arange(1.0, 6.0))
