"""Leaving one out in closed form, and measures of complexity, against brute force on inputs of many kinds."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsRegressor

from mercer.errors import DataError, ParameterError
from mercer.kernel_ridge import KernelRidge
from mercer.kernels import RBF, Polynomial
from mercer.linear_model import Lasso, LinearRegression, Ridge, leave_one_out_residuals
from mercer.mixture import GaussianMixture
from mercer.model_selection import degrees_of_freedom, parameter_count, roughness, weight_norm
from mercer.neural_network import MLPClassifier, prune_weights
from mercer.preprocessing import SplineBasis
from mercer.svm import SVC
from mercer.tree import DecisionTreeClassifier


def solve_ridge(X, y, alpha, intercept):
    """Return a function that predicts: ridge by normal equations of centred rows, in plain NumPy."""
    shift, level = (X.mean(axis=0), y.mean(axis=0)) if intercept else (0.0, 0.0)
    rows = X - shift
    w = np.linalg.solve(rows.T @ rows + alpha * np.eye(X.shape[1]), rows.T @ (y - level))
    return lambda new: (new - shift) @ w + level


def leave_out(fit, X, y):
    residuals = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        residuals.append(y[i] - fit(X[rest], y[rest])(X[i : i + 1])[0])
    return np.array(residuals)


@pytest.mark.catalogue("MS-03")
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1e3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(40, 3), (12, 1), (30, 8)])
def test_the_closed_form_is_brute_force_to_twelve_digits(alpha, intercept, shape):
    random = np.random.default_rng(1)
    X, y = random.normal(size=shape) + 2.0, random.normal(size=shape[0]) + 5.0
    brute = leave_out(lambda rows, targets: solve_ridge(rows, targets, alpha, intercept), X, y)
    closed = leave_one_out_residuals(X, y, alpha=alpha, fit_intercept=intercept)
    np.testing.assert_allclose(closed, brute, rtol=1e-12, atol=1e-12 * np.abs(y).max())


@pytest.mark.catalogue("MS-03")
def test_several_targets_and_more_columns_than_rows():
    random = np.random.default_rng(2)
    X, Y = random.normal(size=(10, 25)), random.normal(size=(10, 2)) * [1.0, 100.0]
    brute = leave_out(lambda rows, targets: solve_ridge(rows, targets, 0.5, True), X, Y)
    np.testing.assert_allclose(leave_one_out_residuals(X, Y, alpha=0.5), brute, rtol=1e-11, atol=1e-10)
    with pytest.raises(ParameterError, match=r"alpha must be a number in \[0, inf\); got -1"):
        leave_one_out_residuals(X, Y, alpha=-1)


@pytest.mark.catalogue("MS-03")
@pytest.mark.parametrize("kernel", [RBF(1.3), Polynomial(3)])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_kernel_ridge_leaves_one_out_to_twelve_digits(kernel, alpha):
    random = np.random.default_rng(3)
    X, y = random.normal(size=(25, 2)), random.normal(size=25)
    model = KernelRidge(alpha=alpha, kernel=kernel, leave_one_out=True).fit(X, y)

    def fit(rows, targets):
        weights = np.linalg.solve(np.asarray(kernel(rows, rows)) + alpha * np.eye(len(rows)), targets)
        return lambda new: np.asarray(kernel(new, rows)) @ weights

    brute = y - leave_out(fit, X, y)
    # The brute-force solves themselves have some 1e-13 of rounding times the condition number of K + alpha I.
    np.testing.assert_allclose(np.ravel(model.loo_predictions_), brute, rtol=1e-12, atol=1e-12 * np.abs(brute).max())


@pytest.mark.catalogue("MS-08")
@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("intercept", [True, False])
def test_degrees_of_freedom_are_traces_of_smoothers(shift, intercept):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 4)), shift + random.normal(size=30)
    columns = 4 + intercept
    assert degrees_of_freedom(LinearRegression(fit_intercept=intercept), X, y) == pytest.approx(
        columns, rel=1e-3 if shift else 1e-5
    )
    rows = X - X.mean(axis=0) if intercept else X
    traces = []
    for alpha in (0.1, 10.0, 1e4):
        values = np.linalg.svd(rows, compute_uv=False) ** 2
        traces.append(float(np.sum(values / (values + alpha))) + intercept)
        freedom = degrees_of_freedom(Ridge(alpha, fit_intercept=intercept), X, y)
        # Targets of 1e8 keep eight digits, and differences of their predictions four.
        assert freedom == pytest.approx(traces[-1], rel=1e-3 if shift else 1e-4)
    assert traces == sorted(traces, reverse=True)


@pytest.mark.catalogue("MS-08")
def test_degrees_of_freedom_of_smoothers_that_are_not_linear_models():
    random = np.random.default_rng(1)
    X, y = random.normal(size=(24, 1)), random.normal(size=24)
    # The mean of k neighbours, oneself among them, moves by 1 / k of one's own target.
    assert degrees_of_freedom(KNeighborsRegressor(4), X, y) == pytest.approx(24 / 4)
    K, alpha = np.exp(-0.5 * (X - X.T) ** 2), 0.2
    exact = np.trace(K @ np.linalg.inv(K + alpha * np.eye(24)))
    assert degrees_of_freedom(KernelRidge(alpha=alpha, kernel=RBF(1.0)), X, y) == pytest.approx(exact, rel=1e-6)
    with pytest.raises(ParameterError, match="step must be a number other than zero; got 0"):
        degrees_of_freedom(LinearRegression(), X, y, step=0)


@pytest.mark.catalogue("MS-08")
def test_roughness_of_lines_parabolas_waves_and_splines():
    assert roughness(lambda x: 1e6 - 3e5 * x[:, 0], -2.0, 5.0) < 1e-6
    assert roughness(lambda x: -7.0 * x[:, 0] ** 2, -1.0, 4.0) == pytest.approx(14.0**2 * 5, rel=1e-6)
    wave = roughness(lambda x: np.sin(3 * x[:, 0]), 0.0, 2 * np.pi, n_points=20_001)
    assert wave == pytest.approx(81 * np.pi, rel=1e-4)
    x = np.linspace(0, 1, 60)[:, None]
    y = np.sin(8 * x[:, 0])
    basis = SplineBasis().fit(x)

    def bend(alpha):
        model = Ridge(alpha).fit(basis.transform(x), y)
        return roughness(lambda z: model.predict(basis.transform(z)), 0.0, 1.0)

    bends = [bend(alpha) for alpha in (1e-6, 1e-1, 10.0)]
    assert bends == sorted(bends, reverse=True)


@pytest.mark.catalogue("MS-08")
def test_norms_and_counts_of_weights():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    model = LinearRegression().fit(X, 3 * X[:, 0] - 4 * X[:, 1] + 7)
    assert weight_norm(model) == pytest.approx(5.0)
    assert parameter_count(model) == 3
    assert parameter_count(Lasso(100.0).fit(X, X[:, 0])) == 1
    with pytest.raises(DataError, match="weight_norm: the model must be fitted and have coef_"):
        weight_norm(LinearRegression())


@pytest.mark.catalogue("MS-08")
def test_free_numbers_of_models_that_are_not_linear():
    X, y = load_iris(return_X_y=True)
    network = MLPClassifier((5,), max_iter=2, random_state=0).fit(X, y)
    assert parameter_count(network) == 4 * 5 + 5 + 5 * 3 + 3
    # Half of the 35 weights pruned, all 8 biases kept.
    assert parameter_count(prune_weights(network, 0.4)) == 21 + 8
    for kind, covariances in (("full", 3 * 10), ("tied", 10), ("diag", 3 * 4), ("spherical", 3)):
        mixture = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
        assert parameter_count(mixture) == 2 + 3 * 4 + covariances
        assert mixture.bic(X) == pytest.approx(-2 * 150 * mixture.score(X) + parameter_count(mixture) * np.log(150))
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    # Three leaves of two splits, each leaf with two free shares of three classes.
    assert (tree.get_n_leaves(), parameter_count(tree)) == (3, 2 * 2 + 3 * 2)
    machine = SVC().fit(X[:100], y[:100])
    assert parameter_count(machine) == len(machine.support_) + 1
    assert parameter_count(SVC(kernel="linear").fit(X[:100], y[:100])) == 4 + 1
