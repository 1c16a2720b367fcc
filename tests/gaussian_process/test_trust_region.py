"""The search for hyper-parameters: its model, its curvatures, and its maxima beside those of L-BFGS-B."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_friedman1

from mercer._source.threads import one_blas_thread
from mercer.gaussian_process import GaussianProcessRegressor
from mercer.gaussian_process._evidence import ExactEvidence
from mercer.gaussian_process._trust_region import correct_flat_directions, maximise_model, update_by_secant
from mercer.kernels import RBF, Constant, Matern, RationalQuadratic, White

NOISE = 1e-8


def smooth(n=150):
    """Make rows and a function of three of five columns: two length scales of the best kernel are infinite."""
    X = np.random.default_rng(1).normal(size=(n, 5))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
    return X, y + 0.1 * np.random.default_rng(2).normal(size=n)


def wave(n=120):
    t = np.sort(np.random.default_rng(3).uniform(0, 10, n))
    y = np.sin(3 * t) + 0.3 * t + 0.2 * np.random.default_rng(4).normal(size=n)
    return t[:, None], y - y.mean()


def friedman(n=120):
    X, y = make_friedman1(n, 8, noise=1.0, random_state=0)
    return X, (y - y.mean()) / y.std()


def noise_alone(n=100):
    return np.random.default_rng(5).normal(size=(n, 3)), np.random.default_rng(6).normal(size=n)


PROBLEMS = {
    "a width a column": (smooth, 1.0 * RBF(np.ones(5)) + White(0.1)),
    "narrow start": (smooth, 100.0 * RBF(np.full(5, 0.1)) + White(1e-3)),
    "wide start": (smooth, 0.01 * RBF(np.full(5, 30.0)) + White(10.0)),
    "Matern": (friedman, 1.0 * Matern(np.ones(8), nu=2.5) + White(0.1)),
    "sum": (wave, 1.0 * RBF(10.0) + 1.0 * Matern(0.5, nu=1.5) + White(0.1)),
    "mixed lengths": (wave, 1.0 * RationalQuadratic(1.0, 1.0) + White(0.1)),
    "product": (smooth, 1.0 * RBF(np.ones(5)) * RBF(3.0) + 0.5 * Matern(1.0, nu=0.5) + White(0.1)),
    "noise alone": (noise_alone, 1.0 * RBF(np.ones(3)) + White(1.0)),
}


def fitted(name, **options):
    rows, kernel = PROBLEMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianProcessRegressor(kernel, alpha=NOISE, **options).fit(*rows())


@pytest.mark.parametrize("kernel", [PROBLEMS[name][1] for name in ("sum", "product", "mixed lengths")], ids=repr)
def test_curvatures_are_the_average_information(kernel):
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(300, 5 if "RBF(length_scale=array" in repr(kernel) else 1)), random.normal(size=(300, 2))
    value, slope, found = ExactEvidence(X, Y, np.full(300, 0.1)).measure(kernel, 2)[:3]
    K, slopes = kernel.gradient(X)
    inverse = np.linalg.inv(K + 0.1 * np.eye(300))
    turned = np.einsum("ijp,jk->pik", slopes, inverse @ Y)
    np.testing.assert_allclose(found, 0.5 * np.einsum("pik,ij,qjk->pq", turned, inverse, turned), rtol=1e-6, atol=1e-9)
    again = ExactEvidence(X, Y, np.full(300, 0.1)).evaluate(kernel, True, 1)
    assert again[0] == value
    np.testing.assert_array_equal(again[1], slope)


def test_curvatures_of_weights_are_those_of_repetitions():
    X, y = smooth(60)
    kernel, weight = PROBLEMS["a width a column"][1], 1 + np.arange(60) % 3
    weighted = ExactEvidence(X, y[:, None], np.full(60, 0.02), weight.astype(float)).measure(kernel)[2]
    repeated = ExactEvidence(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)[:, None], np.full(weight.sum(), 0.02)
    ).measure(kernel)[2]
    np.testing.assert_allclose(weighted, repeated, rtol=1e-7)


def test_the_top_of_the_model_meets_the_conditions_of_a_box():
    random = np.random.default_rng(0)
    for _ in range(50):
        p = int(random.integers(1, 9))
        root, slope = random.normal(size=(p, p)), random.normal(size=p)
        low, high = -random.exponential(size=p), random.exponential(size=p)
        low[random.random(p) < 0.2] = 0.0
        B = root @ root.T
        move = maximise_model(slope, B, low, high)
        left = slope - B @ move
        assert ((low <= move) & (move <= high)).all()
        assert np.abs(left[(low < move) & (move < high)]).max(initial=0.0) < 1e-6
        assert left[move >= high].min(initial=0.0) > -1e-6
        assert left[move <= low].max(initial=0.0) < 1e-6


def test_a_flat_model_leads_to_the_sides_of_the_box():
    move = maximise_model(np.array([1e-6, -1e-9, 0.0]), np.zeros((3, 3)), np.full(3, -2.0), np.full(3, 3.0))
    np.testing.assert_array_equal(move, [3.0, -2.0, 0.0])


def test_a_secant_explains_the_last_step_and_needs_curvature():
    B, step, change = np.diag([1.0, 2.0]), np.array([1.0, 0.5]), np.array([3.0, 1.0])
    np.testing.assert_allclose(update_by_secant(B, step, change) @ step, change)
    assert update_by_secant(B, step, -change) is None


def test_known_curvatures_replace_learnt_ones_only_of_flat_directions_that_go_on():
    B, known = np.full((3, 3), 1.0) + np.eye(3), 1e-3 * np.eye(3)
    found = correct_flat_directions(B, known, np.array([True, False, False]))
    np.testing.assert_array_equal(found, [[1e-3, 0, 0], [0, 2, 1], [0, 1, 2]])


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.fixed_seed("of several maxima, either search may find the higher one")
def test_the_search_ends_as_high_as_that_of_scipy_and_sooner_where_both_end_together(name):
    (X, y), kernel = PROBLEMS[name][0](), PROBLEMS[name][1]
    evidence, count = ExactEvidence(X, y[:, None], np.full(len(y), NOISE)), 0

    def loss(theta):
        nonlocal count
        count += 1
        value, slope = evidence.evaluate(kernel.with_theta(theta))
        return (-value, -slope) if np.isfinite(value) else (1e25, 0.0 * slope)

    with one_blas_thread():
        theirs = minimize(loss, kernel.theta, jac=True, method="L-BFGS-B", bounds=kernel.bounds)
    model = fitted(name, n_jobs=1)
    assert model.log_marginal_likelihood_value_ >= -theirs.fun - 1e-5
    if model.log_marginal_likelihood_value_ < -theirs.fun + 1e-2:
        assert model.n_iter_ < count
    assert model.converged_
    assert model.certificate_.value < 1e-2
    assert np.all(np.diff(model.history_["objective"]) >= 0)


@pytest.mark.fixed_seed("by chance, a column that does not matter explains some noise in other draws")
def test_widths_that_do_not_matter_grow_large_within_few_evaluations():
    model = fitted("a width a column", tol=1e-3)
    assert model.n_iter_ <= 25
    assert (model.kernel_.theta[4:6] > np.log(100.0)).all()


def test_several_starts_end_at_the_highest_of_their_maxima():
    one, several = fitted("sum"), fitted("sum", n_restarts_optimizer=3, random_state=0)
    assert several.log_marginal_likelihood_value_ >= one.log_marginal_likelihood_value_ - 1e-6


def test_a_constant_of_fixed_size_has_no_curvature_of_its_own():
    X, y = wave(40)
    kernel = Constant(2.0, "fixed") * RBF(1.0) + White(0.1)
    assert ExactEvidence(X, y[:, None], np.full(40, NOISE)).measure(kernel)[2].shape == (2, 2)
