"""KernelRidge and its relatives: closed forms, leave-one-out, penalties, errors."""

import numpy as np
import pytest
import scipy.sparse
import torch
from scipy.linalg import LinAlgWarning
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as THEIR_RBF
from sklearn.kernel_ridge import KernelRidge as Theirs
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import kernels
from mercer._solver.tiled_matrix import kernel_matrix, lower_kernel_matrix, multiply_off_diagonal
from mercer.errors import DataError, MemoryForecastError, ParameterError
from mercer.kernel_ridge import KernelRidge, KernelRidgeCV, RegularizationNetwork, _exact


@pytest.fixture(scope="module")
def data():
    return make_friedman1(250, 6, noise=0.5, random_state=0)


@pytest.mark.catalogue("KM-16")
def test_the_linear_kernel_is_ridge_regression(data):
    X, y = data
    expected = Ridge(2.0, fit_intercept=False).fit(X, y).predict(X)
    np.testing.assert_allclose(KernelRidge(2.0).fit(X, y).predict(X), expected, rtol=1e-9)
    centred = KernelRidge(2.0, fit_intercept=True).fit(X, y).predict(X)
    np.testing.assert_allclose(centred, Ridge(2.0).fit(X, y).predict(X), rtol=1e-9)


@pytest.mark.catalogue("KM-16")
def test_no_penalty_interpolates_and_features_of_degree_two_are_the_squared_product(data):
    X, y = data[0][:60], data[1][:60]
    exact = KernelRidge(1e-10, kernel="rbf", gamma=1.0).fit(X, y)
    np.testing.assert_allclose(exact.predict(X), y, rtol=1e-5)
    X = X[:, :2]
    lifted = np.column_stack([X[:, 0] ** 2, np.sqrt(2) * X[:, 0] * X[:, 1], X[:, 1] ** 2])
    model = KernelRidge(0.1, kernel=kernels.Polynomial(2, coef0=0.0)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), KernelRidge(0.1).fit(lifted, y).predict(lifted), rtol=1e-8)


@pytest.mark.catalogue("KM-16")
def test_it_is_the_mean_of_a_gaussian_process(data):
    X, y = data
    process = GaussianProcessRegressor(THEIR_RBF(0.7), alpha=0.3, optimizer=None).fit(X, y)
    model = KernelRidge(0.3, kernel=kernels.RBF(0.7)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), process.predict(X), rtol=1e-7)


@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", kernels.Matern(2.0) + 0.5])
def test_weights_targets_and_penalties_agree_with_scikit_learn(data, solver, kernel):
    X, y = data
    Y, weight, alpha = np.column_stack([y, X[:, 0]]), np.random.default_rng(0).integers(0, 3, len(y)), [0.1, 2.0]
    ours = KernelRidge(alpha, kernel=kernel, solver=solver).fit(X, Y, weight)
    if isinstance(kernel, str):
        theirs = Theirs(alpha, kernel=kernel).fit(X, Y, weight)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    repeated = KernelRidge(alpha, kernel=kernel, solver=solver).fit(
        np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)
    )
    np.testing.assert_allclose(ours.predict(X), repeated.predict(X), rtol=1e-6, atol=1e-8)
    assert ours.solver_used_ == solver


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
def test_predictions_without_a_row_are_those_of_a_fit_without_it(data, intercept, solver):
    X, y = data[0][:40], data[1][:40]
    weight = np.random.default_rng(0).random(40) + 0.5
    options = {"alpha": 0.3, "kernel": "rbf", "gamma": 0.5, "fit_intercept": intercept, "solver": solver}
    model = KernelRidge(**options, leave_one_out=True).fit(X, y, weight)
    for row in (0, 7, 39):
        kept = np.arange(40) != row
        other = KernelRidge(**options).fit(X[kept], y[kept], weight[kept])
        assert model.loo_predictions_[row] == pytest.approx(other.predict(X[row : row + 1])[0], rel=1e-8)


def test_the_penalty_chosen_has_the_least_error_of_rows_left_out(data):
    X, y = data
    model = KernelRidgeCV((1e-3, 0.1, 10.0), kernel="rbf", fit_intercept=True).fit(X, y)
    errors = [
        np.mean(
            (KernelRidge(a, kernel="rbf", fit_intercept=True, leave_one_out=True).fit(X, y).loo_predictions_ - y) ** 2
        )
        for a in (1e-3, 0.1, 10.0)
    ]
    np.testing.assert_allclose(model.loo_errors_, errors, rtol=1e-6)
    assert model.alpha_ == (1e-3, 0.1, 10.0)[int(np.argmin(errors))]
    both = KernelRidgeCV((1e-3, 10.0), kernel="rbf", alpha_per_target=True).fit(X, np.column_stack([y, y[::-1]]))
    assert list(both.alpha_) == [1e-3, 10.0]


@pytest.mark.catalogue("KM-25")
@pytest.mark.filterwarnings("ignore::mercer.kernels.KernelScaleWarning")
def test_searches_reach_into_kernels_and_scales_too_small_or_large_lose(data):
    X, y = data
    search = GridSearchCV(
        KernelRidge(0.1, kernel=kernels.RBF()),
        {"kernel__length_scale": [0.01, 1.0, 100.0]},
        cv=4,
        return_train_score=True,
    ).fit(X, y)
    assert search.best_params_ == {"kernel__length_scale": 1.0}
    table = search.cv_results_
    assert table["mean_train_score"][0] > 0.9
    assert table["mean_test_score"][0] < 0.1
    assert table["mean_test_score"][1] == max(table["mean_test_score"])


@pytest.mark.catalogue("KM-24")
def test_a_regularisation_network_is_kernel_ridge_with_the_transform_of_its_filter(data):
    X, y = data
    network = RegularizationNetwork(0.2, bandwidth=2.0).fit(X, y)
    ridge = KernelRidge(0.2, kernel=kernels.RBF(0.5)).fit(X, y)
    np.testing.assert_array_equal(network.predict(X), ridge.predict(X))
    assert network.penalty_ == pytest.approx(0.5 * network.dual_coef_ @ kernels.RBF(0.5)(X) @ network.dual_coef_)
    scores = [RegularizationNetwork(0.2, bandwidth=b).fit(X, y).score(X, y) for b in (0.3, 1.0, 3.0)]
    assert scores == sorted(scores)


@pytest.mark.catalogue("KM-24")
@pytest.mark.parametrize("filter", ["gaussian", "lorentzian", "exponential"])
def test_bumps_are_inverse_fourier_transforms_of_filters(filter):
    model = RegularizationNetwork(0.1, bandwidth=1.5, filter=filter).fit(np.zeros((2, 1)), np.array([0.0, 1.0]))
    k, r = np.linspace(-400, 400, 800_001), np.array([0.0, 0.4, 1.3])
    transform = np.array([np.trapezoid(np.cos(k * x) * model.response(k), k) for x in r])
    bumps = model.kernel_(r[:, None], np.zeros((1, 1)))[:, 0]
    np.testing.assert_allclose(bumps / bumps[0], transform / transform[0], atol=3e-3)


def test_sparse_rows_functions_and_given_kernels(data):
    X, y = data
    expected = KernelRidge(kernel="rbf").fit(X, y).predict(X)
    sparse = scipy.sparse.csr_array(X)
    np.testing.assert_allclose(KernelRidge(kernel="rbf").fit(sparse, y).predict(sparse), expected, rtol=1e-8)
    K = kernels.RBF(gamma=1 / 6)(X)
    np.testing.assert_allclose(KernelRidge(kernel="precomputed").fit(K, y).predict(K), expected, rtol=1e-8)
    pairs = KernelRidge(kernel=lambda x, z, scale: scale * x @ z, kernel_params={"scale": 2.0}).fit(X[:50], y[:50])
    np.testing.assert_allclose(pairs.predict(X), KernelRidge(0.5).fit(X[:50], y[:50]).predict(X), rtol=1e-8)


def test_kernel_objects_are_saved(data, tmp_path):
    X, y = data
    model = KernelRidge(kernel=2.0 * kernels.RBF(np.ones(6)) + kernels.Linear().on([0, 1])).fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_equal_rows_without_a_penalty_have_the_shortest_solution(data):
    X, y = np.repeat(data[0][:30], 2, axis=0), np.repeat(data[1][:30], 2)
    with pytest.warns(LinAlgWarning, match="solver='eigen' was used instead of 'cholesky'; raise alpha"):
        model = KernelRidge(0.0, kernel="rbf", gamma=1.0).fit(X, y)
    assert model.solver_used_ == "eigen"
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-5)


def test_bad_input_is_refused_with_the_cure(data):
    X, y = data
    with pytest.raises(ParameterError, match=r"^KernelRidge: gamma must be a number in \(0, inf\) or None; got 0\.$"):
        KernelRidge(kernel="rbf", gamma=0).fit(X, y)
    with pytest.raises(
        ParameterError, match=r"^KernelRidge: alpha must be one number, or one for each of 1 targets; got 2\.$"
    ):
        KernelRidge([1.0, 2.0]).fit(X, y)
    indefinite = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(
        DataError, match=r"their smallest eigenvalue is -1\. Use a Mercer kernel, or raise alpha above 1"
    ):
        KernelRidge(0.1, kernel="precomputed").fit(indefinite, [1.0, 2.0])
    with mercer.config_context(max_memory=10_000), pytest.raises(MemoryForecastError, match="use solver='falkon'"):
        KernelRidge(kernel="rbf", solver="cholesky").fit(X, y)
    with pytest.warns(kernels.KernelScaleWarning, match="KernelRidge: the kernel matrix is numerically the identity"):
        KernelRidge(kernel=kernels.RBF(1e-4)).fit(X, y)


@pytest.mark.parametrize("threads", [1, 2])
def test_lower_tiles_and_products_are_those_of_the_whole_matrix(threads):
    kernel, X = kernels.RBF(1.5), np.random.default_rng(0).normal(size=(1100, 4))
    rows, B = kernel.prepare(X), np.random.default_rng(1).normal(size=(1100, 3))
    whole = kernel_matrix(kernel, rows)
    lower = lower_kernel_matrix(kernel, rows, threads)
    np.testing.assert_allclose(np.tril(lower), np.tril(whole), rtol=1e-12)
    found = multiply_off_diagonal(kernel, rows, B, threads)
    np.testing.assert_allclose(found, (whole - np.diag(np.diag(whole))) @ B, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(found, multiply_off_diagonal(kernel, rows, B, 5))


@pytest.mark.parametrize("weight", [None, np.ones(700)])
def test_a_solution_that_leaves_something_is_corrected(monkeypatch, weight):
    X = np.random.default_rng(0).normal(size=(700, 2))
    y, solve, answers = np.sin(X[:, 0]), _exact.solve, []

    def inexact(factor, sides):
        answers.append(solve(factor, sides) * (1.0 + 1e-6))
        return answers[-1]

    expected = KernelRidge(alpha=0.1, gamma=0.5, kernel="rbf").fit(X, y)
    monkeypatch.setattr(_exact, "solve", inexact)
    model = KernelRidge(alpha=0.1, gamma=0.5, kernel="rbf").fit(X, y, sample_weight=weight)
    assert len(answers) == 2
    assert model.certificate_.value < 1e-11
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "laplacian", kernels.RBF(2.0) + kernels.White(0.3)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_equations_are_solved_on_a_device_as_in_memory(kernel, weighted):
    random = np.random.default_rng(11)
    X, weight = random.normal(size=(150, 3)), random.integers(0, 3, 150).astype(float) if weighted else None
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.1 * random.normal(size=(150, 2))
    settings = {"alpha": 0.2, "kernel": kernel, "solver": "cholesky", "leave_one_out": True}
    here = KernelRidge(**settings).fit(X, y, weight)
    placed = [None if one is None else torch.asarray(one) for one in (X, y, weight)]
    there = KernelRidge(**settings).fit(*placed)
    assert isinstance(there.dual_coef_, torch.Tensor)
    np.testing.assert_allclose(there.dual_coef_, here.dual_coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(there.loo_predictions_, here.loo_predictions_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(there.predict(placed[0][:9]), here.predict(X[:9]), rtol=1e-8, atol=1e-10)
    assert there.certificate_.satisfied


def test_a_singular_matrix_on_a_device_is_named_with_its_penalty():
    X = torch.zeros((20, 2), dtype=torch.float64)
    with pytest.raises(DataError, match=r"does not exist with alpha=0\. Raise alpha"):
        KernelRidge(alpha=0.0, kernel="rbf", gamma=1.0, solver="cholesky").fit(X, torch.arange(20.0))
