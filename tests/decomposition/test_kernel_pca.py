"""KernelPCA: principal components, unit axes, block products, the way back, reduced sets."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_circles
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.metrics.pairwise import rbf_kernel

from mercer import kernels
from mercer.decomposition import PCA, KernelPCA, reduce_axes
from mercer.errors import DataError


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(400, 5)) * [3.0, 2.0, 1.5, 1.0, 0.5]


@pytest.mark.catalogue("KM-14", "PM-21")
def test_the_linear_kernel_gives_the_scores_of_principal_components(rows):
    ours, theirs = KernelPCA(3, eigen_solver="dense").fit(rows), PCA(3).fit(rows)
    np.testing.assert_allclose(np.abs(ours.transform(rows)), np.abs(theirs.transform(rows)), atol=1e-8)
    np.testing.assert_allclose(ours.eigenvalues_ / (len(rows) - 1), theirs.explained_variance_)


@pytest.mark.parametrize("n_components", [None, 2])
def test_rows_of_few_columns_have_the_components_of_their_matrix_of_pairs(rows, n_components):
    # A column that others determine: the linear kernel has four components, not five.
    rows = np.column_stack([rows[:, :4], rows[:, 0] - rows[:, 1]]) + 7.0
    by_rows, by_pairs = KernelPCA(n_components), KernelPCA(n_components, kernel="precomputed", eigen_solver="dense")
    by_rows.fit(rows), by_pairs.fit(rows @ rows.T)
    assert len(by_rows.eigenvalues_) == (n_components or 4)
    assert by_rows.solver_used_ == "dense"
    assert by_rows.certificate_.satisfied
    for name in ("eigenvalues_", "eigenvectors_", "kernel_means_"):
        np.testing.assert_allclose(getattr(by_rows, name), getattr(by_pairs, name), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by_rows.transform(rows), by_rows.fit_transform(rows), atol=1e-9)


@pytest.mark.catalogue("KM-14")
def test_components_are_uncorrelated_with_variances_of_the_eigenvalues_and_axes_have_unit_length(rows):
    model = KernelPCA(20, kernel="rbf", gamma=0.05, tol=1e-12).fit(rows)
    scores = model.transform(rows)
    np.testing.assert_allclose(scores, model.fit_transform(rows), atol=1e-8)
    np.testing.assert_allclose(scores.T @ scores, np.diag(model.eigenvalues_), atol=1e-6)
    axes = model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    K = model.kernel_(rows)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", axes.T, centred, axes.T), 1.0, rtol=1e-8)
    assert model.eigenvalues_.shape[0] > rows.shape[1]


@pytest.mark.catalogue("KM-14")
def test_rings_are_apart_along_the_leading_component():
    X, ring = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    first = KernelPCA(1, kernel="rbf", gamma=2.0).fit_transform(X)[:, 0]
    inner, outer = first[ring == 1], first[ring == 0]
    assert inner.min() > outer.max() or outer.min() > inner.max()


@pytest.mark.parametrize("solver", ["dense", "arpack", "randomized"])
def test_every_solver_finds_the_eigenpairs_of_scikit_learn(rows, solver):
    ours = KernelPCA(8, kernel="rbf", gamma=0.05, eigen_solver=solver, random_state=0).fit(rows)
    theirs = Theirs(8, kernel="rbf", gamma=0.05, eigen_solver="dense").fit(rows)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(ours.transform(rows[:9])), np.abs(theirs.transform(rows[:9])), atol=1e-6)
    assert ours.solver_used_ == solver
    assert ours.certificate_.satisfied


def test_repeated_eigenvalues_and_few_rows_end_well():
    model = KernelPCA(5, eigen_solver="randomized", random_state=0).fit(np.eye(6))
    np.testing.assert_allclose(model.eigenvalues_, np.ones(5), rtol=1e-9)
    assert KernelPCA(None, kernel="rbf").fit(np.eye(4)).eigenvalues_.shape == (3,)


def test_the_way_back_restores_rows(rows):
    model = KernelPCA(40, kernel="rbf", gamma=0.02, fit_inverse_transform=True, alpha=1e-3).fit(rows)
    restored = model.inverse_transform(model.transform(rows))
    assert np.mean((restored - rows) ** 2) < 0.15 * np.mean(rows**2)


@pytest.mark.catalogue("KM-15")
def test_reduced_sets_have_the_best_coefficients_and_errors_that_fall(rows):
    model = KernelPCA(4, kernel="rbf", gamma=0.05).fit(rows)
    errors = [reduce_axes(model, count).errors for count in (20, 60, 150, 400)]
    assert all((after <= before + 1e-9).all() for before, after in itertools.pairwise(errors))
    np.testing.assert_allclose(errors[-1], 0.0, atol=1e-7)
    np.testing.assert_allclose(reduce_axes(model, 400).transform(rows), model.transform(rows), atol=1e-4)
    few = reduce_axes(model, rows[:30])
    axes = model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    expected = np.linalg.solve(model.kernel_(rows[:30]), model.kernel_(rows[:30], rows) @ axes)
    np.testing.assert_allclose(few.coefficients, expected, rtol=1e-4, atol=1e-6)
    assert few.points.shape == (30, 5)


@pytest.mark.catalogue("KM-15")
def test_an_axis_of_a_linear_kernel_is_one_point_on_its_line(rows):
    """Of the linear kernel the first axis is a vector w of the space: any multiple of it spans the axis exactly."""
    stretched = rows * [3.0, 1.0, 1.0, 0.5, 20.0] + 2.0
    model = KernelPCA(1, kernel="linear").fit(stretched)
    centred = stretched - stretched.mean(axis=0)
    w = np.linalg.svd(centred, full_matrices=False)[2][0]
    moved = reduce_axes(model, stretched[:1], optimize=True)
    assert reduce_axes(model, stretched[:1]).errors[0] > 1e-3
    assert moved.errors[0] < 1e-9
    point = moved.points[0] / np.linalg.norm(moved.points[0])
    assert abs(point @ w) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(np.abs(moved.transform(stretched)[:, 0]), np.abs(centred @ w), atol=1e-3)


@pytest.mark.catalogue("KM-15")
def test_one_point_moves_to_the_best_of_a_fine_grid(rows):
    x = rows[:60, :1] * 2.0
    model = KernelPCA(1, kernel="rbf", gamma=0.4).fit(x)
    a = model.eigenvectors_[:, 0] / np.sqrt(model.eigenvalues_[0])
    grid = np.linspace(x.min() - 2, x.max() + 2, 20001)[:, None]
    # One point z with k(z, z) = 1: the squared distance is 1 - (sum_i a_i k(z, x_i))^2.
    errors = 1 - (rbf_kernel(grid, x, gamma=0.4) @ a) ** 2
    start = x[[np.argmin(1 - (rbf_kernel(x, x, gamma=0.4) @ a) ** 2)]]
    moved = reduce_axes(model, start, optimize=True)
    assert moved.errors[0] == pytest.approx(errors.min(), abs=1e-6)
    assert moved.points[0, 0] == pytest.approx(grid[errors.argmin(), 0], abs=1e-2)
    assert moved.errors[0] < reduce_axes(model, start).errors[0]


@pytest.mark.fixed_seed("the descent ends where a step gains less than 1e-7; some tables leave 2e-6 to gain")
@pytest.mark.catalogue("KM-15")
@pytest.mark.parametrize("kernel", [kernels.RBF(2.0), kernels.Polynomial(2, 0.1, 1.0) + kernels.RBF(1.5)])
def test_moved_points_are_a_minimum_of_the_distances(rows, kernel):
    data = rows[:80, :3] * [1.0, 5.0, 0.2]
    model = KernelPCA(3, kernel=kernel).fit(data)
    axes = model.eigenvectors_ / np.sqrt(model.eigenvalues_)

    def distance(points):
        inner = model.kernel_(points, data) @ axes
        return 3.0 - np.trace(inner.T @ np.linalg.solve(model.kernel_(points), inner))

    moved = reduce_axes(model, 4, optimize=True)
    assert moved.errors.sum() == pytest.approx(distance(moved.points), abs=1e-7)
    assert moved.errors.sum() < 0.9 * reduce_axes(model, 4).errors.sum()
    for point, column in itertools.product(range(4), range(3)):
        step = np.zeros((4, 3))
        step[point, column] = 1e-2 * data[:, column].std()
        assert min(distance(moved.points + step), distance(moved.points - step)) >= moved.errors.sum() - 1e-6
    # The projections cost four kernel values a row, and are those of the formula.
    expected = model.kernel_(data, moved.points) @ moved.coefficients
    np.testing.assert_allclose(moved.transform(data), expected - expected.mean(axis=0), atol=1e-9)


def test_points_that_cannot_be_are_refused(rows):
    model = KernelPCA(2, kernel="rbf").fit(rows)
    with pytest.raises(DataError, match=r"points must have shape \(q, 5\), q at least 1; got \(3, 2\)"):
        reduce_axes(model, np.ones((3, 2)))
    sparse = KernelPCA(2, kernel="rbf").fit(csr_array(rows))
    with pytest.raises(DataError, match="optimize=True moves points in all columns; got sparse rows"):
        reduce_axes(sparse, 3, optimize=True)


def test_functions_that_are_no_kernels_are_refused_where_it_shows(rows):
    with pytest.raises(DataError, match="There are significant negative eigenvalues: the smallest is -"):
        KernelPCA(kernel=kernels.RBF() - 2.0 * kernels.Linear()).fit(rows[:20])
