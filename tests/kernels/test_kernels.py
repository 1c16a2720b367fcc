"""Mercer kernels: formulas, gradients, algebra, tiles."""

import subprocess
import sys

import array_api_strict
import numpy as np
import pytest
import scipy.sparse
import sklearn.decomposition
import sklearn.gaussian_process.kernels as theirs
import sklearn.kernel_approximation
import sklearn.kernel_ridge
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.metrics.pairwise import pairwise_kernels

from mercer import kernels
from mercer.errors import DataError, ParameterError

FREE = (1e-3, 1e3)
ARD = np.array([0.5, 1.0, 2.0])
ALL = [
    kernels.Linear(),
    kernels.Cosine(),
    kernels.Polynomial(3, 0.5, 1.0, FREE, FREE),
    kernels.RBF(0.7),
    kernels.RBF(ARD),
    kernels.RBF(gamma=0.3),
    kernels.Laplacian(0.8),
    kernels.Laplacian(ARD, "manhattan"),
    kernels.Laplacian(gamma=0.8, norm="manhattan"),
    kernels.Matern(ARD, nu=0.5),
    kernels.Matern(ARD),
    kernels.Matern(nu=2.5),
    kernels.Matern(nu=2.2),
    kernels.RationalQuadratic(ARD, 1.2),
    kernels.InverseMultiquadric(0.7),
    kernels.Plummer(0.8),
    kernels.Periodic(0.9, 2.0),
    kernels.Sigmoid(0.3, 0.2, FREE, FREE),
    kernels.Constant(2.0),
    kernels.White(0.5),
    2.0 * kernels.RBF() + kernels.Linear() * kernels.Matern().on([0, 2]) + kernels.White(0.1),
    kernels.RBF() - 0.5 * kernels.Laplacian(),
    kernels.RationalQuadratic() ** 2,
]
named = pytest.mark.parametrize("kernel", ALL, ids=lambda one: type(one).__name__)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(9, 3))


@pytest.fixture
def others():
    return np.random.default_rng(1).normal(size=(7, 3))


@pytest.mark.catalogue("KM-01")
def test_values_are_the_formulas(rows, others):
    dots, s = rows @ others.T, ((rows[:, None] - others[None]) ** 2).sum(axis=2)
    pairs = [
        (kernels.Linear(), dots),
        (kernels.Polynomial(3, coef0=2.0), (dots + 2) ** 3),
        (kernels.RBF(0.7), np.exp(-s / (2 * 0.7**2))),
        (kernels.InverseMultiquadric(0.6), (s + 0.36) ** -0.5),
        (kernels.Laplacian(0.7), np.exp(-np.sqrt(s) / 0.7)),
        (kernels.Plummer(0.6), (s + 0.36) ** -1.5),
        (kernels.Sigmoid(0.3, 0.2), np.tanh(0.3 * dots + 0.2)),
    ]
    for kernel, values in pairs:
        np.testing.assert_allclose(kernel(rows, others), values, rtol=1e-12)


@pytest.mark.catalogue("KM-01")
@named
def test_kernels_are_symmetric_and_stationary_ones_do_not_see_translations(kernel, rows):
    K = kernel(rows)
    np.testing.assert_allclose(K, K.T, rtol=1e-13)
    np.testing.assert_allclose(kernel.diagonal(rows), np.diag(K), rtol=1e-12)
    if kernel.stationary:
        np.testing.assert_allclose(kernel(rows + 5.0), K, rtol=1e-10)
        assert np.ptp(np.diag(K)) == 0


@pytest.mark.parametrize(
    ("ours", "reference"),
    [
        (kernels.RBF(ARD), theirs.RBF(ARD)),
        (kernels.Matern(ARD, nu=0.5), theirs.Matern(ARD, nu=0.5)),
        (kernels.Matern(0.8, nu=2.5), theirs.Matern(0.8, nu=2.5)),
        (kernels.Matern(0.8, nu=3.2), theirs.Matern(0.8, nu=3.2)),
        (kernels.RationalQuadratic(0.8, 1.3), theirs.RationalQuadratic(0.8, 1.3)),
        (
            2.0 * kernels.RBF(0.5) + kernels.White(0.3),
            theirs.ConstantKernel(2.0) * theirs.RBF(0.5) + theirs.WhiteKernel(0.3),
        ),
    ],
    ids=repr,
)
def test_values_theta_bounds_and_gradients_are_those_of_scikit_learn(ours, reference, rows, others):
    np.testing.assert_allclose(ours(rows, others), reference(rows, others), rtol=1e-9)
    np.testing.assert_allclose(ours.theta, reference.theta)
    np.testing.assert_allclose(ours.bounds, reference.bounds)
    (K, slopes), (expected, gradient) = ours.gradient(rows), reference(rows, eval_gradient=True)
    np.testing.assert_allclose(K, expected, rtol=1e-9)
    np.testing.assert_allclose(slopes, gradient, atol=1e-5)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine"])
def test_names_mean_what_they_mean_in_scikit_learn(name, rows, others):
    np.testing.assert_allclose(
        kernels.as_kernel(name, rows=rows)(rows, others), pairwise_kernels(rows, others, metric=name), rtol=1e-10
    )


def test_gamma_may_be_scaled_to_the_rows(rows):
    assert kernels.as_kernel("rbf", gamma="scale", rows=rows).gamma == pytest.approx(1 / (3 * rows.var()))
    sparse = scipy.sparse.csr_array(rows * (rows > 0))
    assert kernels.as_kernel("rbf", gamma="scale", rows=sparse).gamma == pytest.approx(1 / (3 * sparse.toarray().var()))
    assert kernels.as_kernel("rbf", gamma="auto", rows=rows).gamma == 1 / 3


@named
def test_gradients_are_differences_and_their_sums_need_no_third_dimension(kernel, rows, others):
    theta, step = kernel.theta, 1e-6
    for Y in (None, others):
        slopes = kernel.gradient(rows, Y)[1]
        assert slopes.shape[2] == len(theta) == len(kernel.bounds)
        for p, unit in enumerate(np.eye(len(theta))):
            up, down = kernel.with_theta(theta + step * unit), kernel.with_theta(theta - step * unit)
            np.testing.assert_allclose(slopes[:, :, p], (up(rows, Y) - down(rows, Y)) / (2 * step), atol=1e-7)
    weights = np.random.default_rng(2).normal(size=(9, 9))
    weights = weights + weights.T
    sums = kernel.gradient_sums(kernel.prepare(rows), weights, kernel(rows), threads=2)
    np.testing.assert_allclose(sums, np.einsum("ij,ijp->p", weights, kernel.gradient(rows)[1]), atol=1e-10)


@named
def test_gradients_by_inputs_are_differences(kernel, rows, others):
    step = 1e-6
    numeric = np.stack(
        [(kernel(rows + step * unit, others) - kernel(rows - step * unit, others)) / (2 * step) for unit in np.eye(3)],
        2,
    )
    np.testing.assert_allclose(kernel.input_gradient(rows, others), numeric, atol=1e-6)
    np.testing.assert_allclose(kernel.input_gradient(rows[0], others), numeric[0], atol=1e-6)


@named
def test_tiles_are_parts_of_the_whole(kernel, rows, others):
    ready, index = kernel.prepare(rows), np.array([4, 1, 1, 8])
    tile = kernel.between(ready.take(slice(2, 5)), ready.take(index), out=np.empty((3, 4)))
    np.testing.assert_allclose(tile, kernel(rows)[2:5][:, index], rtol=1e-10, atol=1e-14)
    apart = kernel.between(kernel.prepare(rows), kernel.prepare(others))
    np.testing.assert_allclose(apart, kernel(rows, others), rtol=1e-9, atol=1e-13)


@named
def test_float32_stays_and_clones_and_devices_agree(kernel, rows, others):
    narrow = kernel(rows.astype(np.float32), others.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, kernel(rows, others), atol=2e-5)
    np.testing.assert_array_equal(clone(kernel)(rows), kernel(rows))
    if not isinstance(kernel, kernels.Sum) and getattr(kernel, "nu", 0.5) in (0.5, 1.5, 2.5):
        X, Y = array_api_strict.asarray(rows), array_api_strict.asarray(others)
        np.testing.assert_allclose(np.asarray(kernel.of(array_api_strict, X, Y)), kernel(rows, others), atol=1e-12)


def test_rows_far_from_the_origin_keep_their_distances(rows, others):
    shift = 1e7
    np.testing.assert_allclose(kernels.RBF()(rows + shift, others + shift), kernels.RBF()(rows, others), rtol=1e-6)


def test_sparse_rows_give_the_dense_values(rows, others):
    X, Y = rows * (rows > 0), others * (others > 0)
    for kernel in (kernels.RBF(ARD), kernels.Polynomial(2), kernels.Cosine(), kernels.Matern(), kernels.Sigmoid(0.1)):
        for left, right in ((scipy.sparse.csr_array(X), Y), (X, scipy.sparse.csr_array(Y))):
            np.testing.assert_allclose(kernel(left, right), kernel(X, Y), rtol=1e-9, atol=1e-12)


def test_searches_reach_hyperparameters_of_parts():
    kernel = 2.0 * kernels.RBF() + kernels.White()
    kernel.set_params(k1__k2__length_scale=3.0)
    assert kernel.k1.k2.length_scale == 3.0
    assert "k2__noise_level" in kernel.get_params()
    assert [one.name for one in kernel.hyperparameters] == [
        "k1__k1__constant_value",
        "k1__k2__length_scale",
        "k2__noise_level",
    ]


def test_kernels_of_scikit_learn_keep_their_own_ways(rows, others):
    given = theirs.RBF(0.8) + theirs.WhiteKernel(0.2)
    kernel = kernels.as_kernel(given)
    np.testing.assert_array_equal(kernel(rows, others), given(rows, others))
    np.testing.assert_array_equal(kernel.theta, given.theta)
    np.testing.assert_allclose(kernel.gradient(rows)[1], given(rows, eval_gradient=True)[1])
    ready = kernel.prepare(rows)
    np.testing.assert_allclose(kernel.between(ready.take(slice(0, 4)), ready), given(rows)[:4])
    np.testing.assert_allclose((kernels.Linear() + given)(rows), rows @ rows.T + given(rows))


def test_definiteness_is_told():
    assert kernels.RBF().positive_definite
    assert not kernels.Sigmoid().positive_definite
    assert not (kernels.RBF() - kernels.Linear()).positive_definite
    assert not (kernels.RBF() ** 0.5).positive_definite
    assert not (kernels.RBF() * kernels.Sigmoid()).positive_definite


def test_bad_hyperparameters_are_refused(rows):
    with pytest.raises(
        ParameterError, match=r"^RBF: length_scale must be a number in \(0, inf\), or one a column; got 0\.$"
    ):
        kernels.RBF(0)(rows)
    with pytest.raises(ParameterError, match=r"^RBF: gamma must be a number in \(0, inf\), or one a column; got 0\.$"):
        kernels.RBF(gamma=0)(rows)
    with pytest.raises(DataError, match="got 2 numbers for 3 columns"):
        kernels.RBF([1.0, 2.0])(rows)
    with pytest.raises(DataError, match=r"must have shape \(9, 9\); got shape \(9,\)"):
        kernels.Callable(lambda X, Y: X[:, 0])(rows)
    with pytest.raises(ParameterError, match="kernel must be one of linear, poly"):
        kernels.as_kernel("gaussian")
    with pytest.raises(ParameterError, match="depends on the data; give rows, or a number"):
        kernels.as_kernel("rbf")


@pytest.mark.parametrize(
    "model",
    [
        sklearn.kernel_ridge.KernelRidge(kernel=kernels.RBF(1.5)),
        sklearn.decomposition.KernelPCA(2, kernel=kernels.RBF(1.5)),
        sklearn.kernel_approximation.Nystroem(kernel=kernels.RBF(1.5), n_components=10, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_kernel_serves_the_estimators_of_scikit_learn(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    named = clone(model).set_params(kernel="rbf", gamma=0.5 / 1.5**2)
    results = []
    for one in (model, named):
        one.fit(X, y)
        results.append(np.abs(one.predict(X) if hasattr(one, "predict") else one.transform(X)))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("ours", "other"),
    [
        (kernels.RBF(1.5), theirs.RBF(1.5)),
        (2.0 * kernels.Matern(1.0) + kernels.White(0.1), 2.0 * theirs.Matern(1.0) + theirs.WhiteKernel(0.1)),
    ],
    ids=["one", "sum"],
)
def test_a_kernel_serves_the_gaussian_processes_of_scikit_learn(ours, other):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    models = [GaussianProcessRegressor(kernel, alpha=1e-6).fit(X, y) for kernel in (ours, other)]
    evidence = [model.log_marginal_likelihood_value_ for model in models]
    assert evidence[0] == pytest.approx(evidence[1], abs=1e-4)
    (mean, spread), (mean_of_other, spread_of_other) = (model.predict(X[:5] + 0.1, return_std=True) for model in models)
    np.testing.assert_allclose(mean, mean_of_other, atol=1e-3)
    np.testing.assert_allclose(spread, spread_of_other, atol=1e-3)
    labels = (y > 0).astype(int)
    scores = [GaussianProcessClassifier(kernel).fit(X, labels).predict_proba(X) for kernel in (ours, other)]
    np.testing.assert_allclose(*scores, atol=1e-3)


def test_a_kernel_made_before_scikit_learns_module_is_known_after_the_next_one():
    """The module takes long to import: kernels are registered with it once it is there, whatever came first."""
    program = (
        "import sys; from mercer import kernels; k = kernels.RBF(1.5);"
        "assert 'sklearn.gaussian_process' not in sys.modules;"
        "from sklearn.gaussian_process import GaussianProcessRegressor;"
        "kernels.White(0.1); GaussianProcessRegressor(k).fit([[0.0], [1.0]], [0.0, 1.0])"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


def test_hyperparameters_at_a_bound_are_told():
    kernel = kernels.RBF(1e5) + kernels.White(0.1)
    with pytest.warns(ConvergenceWarning, match="k1__length_scale is close to its bound 100000"):
        kernel._check_bounds_params()
    kernel.theta = kernel.theta - 1.0
    assert kernel.k1.length_scale == pytest.approx(1e5 / np.e)


def test_equal_kernels_have_equal_hashes():
    assert hash(kernels.RBF(1.5)) == hash(kernels.RBF(1.5))
    assert len({kernels.RBF(1.5), kernels.RBF(1.5), kernels.RBF(2.0)}) == 2
