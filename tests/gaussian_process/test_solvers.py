"""Solvers other than the exact one, and the tiles that the exact one is made of."""

import numpy as np
import pytest
import scipy.stats

from mercer._solver import tiled_cholesky
from mercer._solver.tiled_cholesky import (
    factor,
    factorise,
    forward,
    inverse_diagonal,
    inverse_factor,
    inverse_tile,
    lower_tiles,
    multiply_upper,
    restore,
    solve,
)
from mercer.errors import UnsupportedError
from mercer.gaussian_process import GaussianProcessRegressor
from mercer.gaussian_process._evidence import compute_own_noise, sum_own_noise
from mercer.gaussian_process._inducing import InducingEvidence
from mercer.gaussian_process._iterative import PROBES, compute_control_share
from mercer.kernels import RBF, Laplacian, Matern, White

PRIOR = 1.0 * RBF(np.array([1.0, 1.5])) + White(0.05)


def rows(n=250):
    random = np.random.default_rng(1)
    X = random.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * random.normal(size=n)


def fitted(solver, **options):
    X, y = rows()
    given = {"kernel": PRIOR, "optimizer": None, "random_state": 0} | options
    return GaussianProcessRegressor(solver=solver, **given).fit(X, y, sample_weight=1.0 + np.arange(250) % 2)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("n", [1, 255, 256, 401, 700])
def test_tiles_give_the_factor_the_solution_and_the_inverse(n, large, monkeypatch):
    if large:
        monkeypatch.setattr(tiled_cholesky, "_LARGE", 0)
    root = np.random.default_rng(0).normal(size=(n, n))
    A = root @ root.T + n * np.eye(n)
    L = np.tril(A)
    assert factorise(L, 2) == 0
    L = np.tril(L)
    np.testing.assert_allclose(L, np.linalg.cholesky(A), rtol=1e-9, atol=1e-9)
    B = root[:, :2].copy()
    np.testing.assert_allclose(A @ solve(L, B), B, atol=1e-9)
    np.testing.assert_allclose(L @ forward(L, B), B, atol=1e-9)
    V, inverse = inverse_factor(L), np.linalg.inv(A)
    for here, there in lower_tiles(n):
        np.testing.assert_allclose(inverse_tile(V, here, there), inverse[here, there], atol=1e-10)


def test_a_factor_leaves_what_is_above_the_diagonal_and_any_threads_give_its_bits():
    root = np.random.default_rng(0).normal(size=(700, 700))
    A = root @ root.T + 700 * np.eye(700)
    found = [A.copy() for _ in range(3)]
    for threads, one in enumerate(found, start=1):
        assert factorise(one, threads) == 0
        np.testing.assert_array_equal(np.triu(one, 1), np.triu(A, 1))
        np.testing.assert_array_equal(one, found[0])
    inverses = [inverse_factor(found[0], threads) for threads in (1, 3)]
    np.testing.assert_array_equal(*inverses)
    np.testing.assert_allclose(inverse_diagonal(found[0], 2), np.diag(np.linalg.inv(A)), rtol=1e-10)
    product = multiply_upper(found[0], np.diag(A), root[:, :2])
    np.testing.assert_allclose(product, A @ root[:, :2], rtol=1e-9, atol=1e-6)
    restore(found[0], np.diag(A))
    np.testing.assert_array_equal(found[0], np.triu(A) + np.triu(A, 1).T)


def test_a_matrix_without_a_factor_is_told_by_the_minor_that_fails():
    A = np.eye(300)
    A[250, 250] = -1.0
    assert factorise(A) == 251
    with pytest.raises(np.linalg.LinAlgError, match="its leading minor of order 251 is not positive"):
        factor(A)


def test_conjugate_gradients_give_the_exact_posterior_and_an_evidence_within_its_stated_error():
    exact, iterative = fitted("exact"), fitted("iterative", n_inducing=60)
    at = rows()[0][:20] + 0.1
    for found, expected in zip(iterative.predict(at, return_std=True), exact.predict(at, return_std=True)):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(iterative.alpha_, exact.alpha_, rtol=1e-6, atol=1e-6)
    gap = iterative.log_marginal_likelihood_value_ - exact.log_marginal_likelihood_value_
    # The error is estimated from the probes too: the ratio has Student's distribution. 1 of 10^5 draws is beyond.
    widest = scipy.stats.t.ppf(1 - 5e-6, PROBES - 1)
    assert abs(gap) < widest * iterative.log_marginal_likelihood_error_ < 10.0
    assert iterative.residual_ <= 1e-10


def test_the_estimated_slope_is_that_of_the_exact_evidence_about():
    exact, iterative = fitted("exact"), fitted("iterative", n_inducing=60)
    theta = PRIOR.theta + 0.1
    slopes = [model.log_marginal_likelihood(theta, True)[1] for model in (exact, iterative)]
    np.testing.assert_allclose(slopes[1], slopes[0], atol=0.1 * np.abs(slopes[0]).max())


def test_with_a_good_preconditioner_the_estimated_slope_is_exact():
    exact, iterative = fitted("exact"), fitted("iterative", n_inducing=250)
    theta = PRIOR.theta - 0.3
    slopes = [model.log_marginal_likelihood(theta, True)[1] for model in (exact, iterative)]
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-5, atol=1e-4)


def test_the_share_of_a_control_variate_is_one_for_a_perfect_preconditioner_and_nothing_for_one_that_tells_nothing():
    sizes = np.array([3.0, 4.0, 6.0])
    assert compute_control_share(sizes, np.ones(3)) == pytest.approx(1.0)
    assert compute_control_share(sizes, np.full(3, 0.1)) == pytest.approx(0.1)
    assert compute_control_share(sizes, sizes) == 1.0
    assert compute_control_share(sizes, sizes**2) == 0.0


def test_a_search_by_estimates_comes_near_the_exact_maximum_and_certifies_nothing():
    found = fitted("iterative", n_inducing=60, optimizer="fmin_l_bfgs_b", max_iter=100)
    # From there, as there can be several maxima.
    exact = fitted("exact", kernel=found.kernel_, optimizer="fmin_l_bfgs_b")
    assert exact.log_marginal_likelihood(found.kernel_.theta) > exact.log_marginal_likelihood_value_ - 0.05
    assert found.certificate_.kind == "none"


def test_inducing_points_bound_the_evidence_from_below_and_reach_it_with_all_rows():
    exact = fitted("exact").log_marginal_likelihood_value_
    bounds = [fitted("inducing", n_inducing=count).log_marginal_likelihood_value_ for count in (5, 30, 250)]
    assert bounds[0] < bounds[1] < bounds[2] < exact
    assert bounds[2] == pytest.approx(exact, abs=1e-3)


def test_inducing_points_predict_as_all_rows_do_where_they_are_enough():
    exact, inducing = fitted("exact"), fitted("inducing", n_inducing=120)
    at = rows()[0][:20] + 0.1
    for found, expected in zip(inducing.predict(at, return_std=True), exact.predict(at, return_std=True)):
        np.testing.assert_allclose(found, expected, atol=1e-3)


def test_the_slope_of_the_bound_is_that_of_finite_differences():
    model = fitted("inducing", n_inducing=20)
    theta = PRIOR.theta + 0.2
    slope = model.log_marginal_likelihood(theta, True)[1]
    for number, move in enumerate(1e-4 * np.eye(len(theta))):
        above, below = (model.log_marginal_likelihood(theta + sign * move) for sign in (1, -1))
        assert slope[number] == pytest.approx((above - below) / 2e-4, rel=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_curvatures_of_the_bound_are_the_average_information_and_those_of_a_product_of_powers(weighted):
    X, y = rows()
    Y, noise, weight = np.column_stack([y, y**2]), np.full(250, 0.03), 1.0 + np.arange(250) % 2
    evidence = InducingEvidence(X, Y, noise, weight if weighted else None, X[:20])

    def parts(theta):
        """Return the covariance of the targets, and the sum of their unexplained variances over the noise."""
        kernel = PRIOR.with_theta(theta)
        smooth, white = kernel.k1, kernel.k2.noise_level
        across, within = smooth(X[:20], X), smooth(X[:20]) + 1e-8 * smooth(X[:1])[0, 0] * np.eye(20)
        Q, d = across.T @ np.linalg.solve(within, across), (noise + white) / (weight if weighted else 1.0)
        return Q + np.diag(d), np.sum((smooth.diagonal(X) - Q.diagonal()) / d)

    C, T = parts(PRIOR.theta)
    inverse, turned, t = np.linalg.inv(C), [], []
    for move in 1e-5 * np.eye(len(PRIOR.theta)):
        above, below = parts(PRIOR.theta + move), parts(PRIOR.theta - move)
        turned.append((above[0] - below[0]) @ inverse @ Y / 2e-5)
        t.append((above[1] - below[1]) / 2e-5)
    expected = 0.5 * np.einsum("pik,ij,qjk->pq", turned, inverse, turned) + np.outer(t, t) / T
    np.testing.assert_allclose(evidence.measure(PRIOR, 2).information, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
def test_the_slope_of_the_bound_keeps_its_digits_where_points_are_close_and_the_search_ends_certified(noise):
    X = np.linspace(0, 6, 40)[:, None]
    model = GaussianProcessRegressor(1.0 * RBF(), alpha=noise, solver="inducing", n_inducing=40, random_state=0)
    model.fit(X, np.sin(X[:, 0]))
    assert model.certificate_.satisfied
    theta = model.kernel_.theta + 0.3
    slope = model.log_marginal_likelihood(theta, True)[1]
    for number, move in enumerate(1e-4 * np.eye(2)):
        above, below = (model.log_marginal_likelihood(theta + sign * move) for sign in (1, -1))
        assert slope[number] == pytest.approx((above - below) / 2e-4, abs=2e-3, rel=1e-5)


def test_gradients_by_inputs_follow_every_solver():
    for model in (fitted("iterative", n_inducing=60), fitted("inducing", n_inducing=20)):
        at, move = np.array([[0.3, -0.2]]), np.array([[1e-5, 0.0]])
        *_, mean, std = model.predict(at, return_std=True, return_gradient=True)
        above, below = (np.ravel(model.predict(at + sign * move, return_std=True)) for sign in (1, -1))
        np.testing.assert_allclose([mean[0, 0], std[0, 0]], (above - below) / 2e-5, rtol=1e-3, atol=1e-6)


def test_left_out_rows_need_the_factor():
    with pytest.raises(UnsupportedError, match="Fit with solver='exact'"):
        fitted("inducing", n_inducing=20).leave_one_out()


@pytest.mark.parametrize("cusp", [Matern(1.0, nu=0.5), Laplacian(gamma=0.5)])
def test_the_white_noise_of_rows_is_exact_beside_a_kernel_with_a_cusp(cusp):
    # By products, the distance of a row to an equal row would be 1e-8 of its length, and the kernel as far off.
    rows = np.random.default_rng(0).normal(size=(70, 3)) + 1000.0
    kernel = cusp + White(0.1)
    np.testing.assert_allclose(compute_own_noise(kernel, kernel.prepare(rows), rows), 0.1, rtol=1e-14)
    slopes = sum_own_noise(kernel, kernel.prepare(rows), rows, np.ones(70))
    np.testing.assert_allclose(slopes, [0.0] * (len(slopes) - 1) + [7.0], rtol=1e-13)
