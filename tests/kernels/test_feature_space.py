"""Feature space: Mercer's condition, coordinates, distances, centring, scales."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances

from mercer import kernels
from mercer.errors import DataError
from mercer.preprocessing import KernelCenterer


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(25, 2))


@pytest.mark.catalogue("KM-02")
@pytest.mark.parametrize(
    "kernel",
    [
        kernels.Linear(),
        kernels.Polynomial(3),
        kernels.RBF(),
        kernels.InverseMultiquadric(),
        kernels.Laplacian(),
        kernels.Laplacian(norm="manhattan"),
        kernels.Plummer(),
        kernels.Matern(),
        kernels.RationalQuadratic(),
        kernels.Periodic(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_kernels_have_no_negative_eigenvalue_and_coordinates_that_give_them_back(kernel, rows):
    K = kernel(rows)
    assert kernels.check_mercer(K)
    features = kernels.EmpiricalFeatureMap(kernel).fit(rows)
    np.testing.assert_allclose(features.transform(rows) @ features.transform(rows).T, K, atol=1e-7 * np.abs(K).max())
    np.testing.assert_allclose(features.fit_transform(rows), features.transform(rows), atol=1e-5 * np.sqrt(K.max()))


@pytest.mark.catalogue("KM-02")
def test_tanh_is_no_kernel_and_says_by_how_much():
    rows = np.array([[-1.0], [0.5], [1.0]])
    found = kernels.check_mercer(kernels.Sigmoid(1.0, -1.0)(rows))
    assert not found
    assert found.smallest_eigenvalue == pytest.approx(np.linalg.eigvalsh(np.tanh(rows @ rows.T - 1.0))[0])
    with pytest.raises(DataError, match="its smallest eigenvalue on these rows is -"):
        kernels.EmpiricalFeatureMap(kernels.Sigmoid(1.0, -1.0)).fit(rows)


@pytest.mark.catalogue("KM-02")
def test_new_rows_get_coordinates_by_their_kernels(rows):
    features = kernels.EmpiricalFeatureMap(kernels.Polynomial(2, coef0=0.0)).fit(rows)
    new = np.array([[0.3, -0.7], [2.0, 1.0]])
    np.testing.assert_allclose(features.transform(new) @ features.transform(new).T, (new @ new.T) ** 2, rtol=1e-6)


@pytest.mark.catalogue("KM-03")
def test_the_squared_dot_product_is_a_dot_product_of_three_features(rows):
    lifted = np.column_stack([rows[:, 0] ** 2, np.sqrt(2) * rows[:, 0] * rows[:, 1], rows[:, 1] ** 2])
    np.testing.assert_allclose(lifted @ lifted.T, kernels.Polynomial(2, coef0=0.0)(rows), rtol=1e-10, atol=1e-12)
    assert kernels.EmpiricalFeatureMap(kernels.Polynomial(2, coef0=0.0)).fit(rows).eigenvalues_.shape == (3,)


@pytest.mark.catalogue("KM-04")
def test_centred_kernels_are_those_of_centred_features(rows):
    K, new = rows @ rows.T, np.random.default_rng(1).normal(size=(4, 2))
    centred = KernelCenterer().fit(K)
    middle = rows - rows.mean(axis=0)
    np.testing.assert_allclose(centred.transform(K), middle @ middle.T, atol=1e-12)
    np.testing.assert_allclose(centred.transform(new @ rows.T), (new - rows.mean(axis=0)) @ middle.T, atol=1e-12)
    shifted = KernelCenterer().fit_transform(K + 7.0)
    np.testing.assert_allclose(shifted, middle @ middle.T, atol=1e-12)
    np.testing.assert_allclose(shifted.sum(axis=0), 0.0, atol=1e-11)
    of_rows = KernelCenterer(kernel=kernels.RBF()).fit(rows)
    np.testing.assert_allclose(of_rows.transform(rows), KernelCenterer().fit_transform(kernels.RBF()(rows)), atol=1e-13)


@pytest.mark.catalogue("KM-05")
def test_distances_in_feature_space_need_kernels_only(rows):
    new = np.array([[3.0, 4.0]])
    np.testing.assert_allclose(kernels.feature_distances("linear", rows), euclidean_distances(rows) ** 2, atol=1e-10)
    expected = ((new - rows.mean(axis=0)) ** 2).sum()
    np.testing.assert_allclose(kernels.distances_from_mean("linear", new, rows), [expected])
    kernel = kernels.RBF(0.5)
    lift = kernels.EmpiricalFeatureMap(kernel).fit(np.r_[rows, new])
    features, point = lift.transform(rows), lift.transform(new)
    expected = ((point - features.mean(axis=0)) ** 2).sum()
    assert kernels.distances_from_mean(kernel, new, rows)[0] == pytest.approx(expected, rel=1e-6)
    assert (kernels.feature_distances(kernel, rows, new) >= 0).all()


@pytest.mark.catalogue("KM-25")
def test_the_median_distance_is_a_length_scale(rows):
    upper = euclidean_distances(rows)[np.triu_indices(25, 1)]
    assert kernels.median_length_scale(rows) == pytest.approx(np.median(upper))
    assert kernels.median_length_scale(1000 * rows) == pytest.approx(1000 * np.median(upper))
    assert kernels.median_length_scale(np.ones((5, 2))) == 1.0


@pytest.mark.parametrize(("scale", "word"), [(1e-4, "the identity"), (1e7, "all ones")])
def test_a_scale_from_which_nothing_can_be_learnt_is_told_with_a_better_one(rows, scale, word):
    with pytest.warns(kernels.KernelScaleWarning, match=f"numerically {word}.*try length_scale="):
        kernels.warn_of_scale("KernelRidge", kernels.RBF(scale), rows)


def test_matrices_that_are_none_of_kernels_are_refused():
    with pytest.raises(DataError, match=r"kernels must be a square matrix; got shape \(2, 3\)"):
        kernels.check_mercer(np.ones((2, 3)))
    with pytest.raises(DataError, match="kernels must be symmetric"):
        kernels.check_mercer(np.array([[1.0, 2.0], [0.0, 1.0]]))
