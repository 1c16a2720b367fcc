"""Random Fourier features, Nystrom's features, networks of radial basis functions."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_circles
from sklearn.linear_model import Ridge as TheirRidge

from mercer import kernels
from mercer.errors import DataError, ParameterError
from mercer.kernel_approximation import (
    Nystroem,
    OrthogonalRandomFeatures,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
    RBFSampler,
)
from mercer.kernel_ridge import KernelRidge
from mercer.linear_model import Ridge


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(60, 4))


@pytest.mark.catalogue("KM-22")
@pytest.mark.parametrize(
    ("features", "kernel"),
    [
        (RBFSampler(gamma=0.3), kernels.RBF(gamma=0.3)),
        (RBFSampler(gamma=0.3, kernel="laplacian"), kernels.Laplacian(gamma=0.3, norm="manhattan")),
        (OrthogonalRandomFeatures(gamma=0.3), kernels.RBF(gamma=0.3)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_products_of_features_approach_the_kernel_with_the_root_of_their_number(rows, features, kernel):
    K = kernel(rows)
    errors = []
    for count in (200, 20_000):
        Z = features.set_params(n_components=count, random_state=1).fit_transform(rows)
        errors.append(np.abs(Z @ Z.T - K).max())
    assert errors[1] < 0.03
    assert errors[0] < 0.35
    assert errors[1] < errors[0] / 4


@pytest.mark.catalogue("KM-22")
def test_ridge_on_features_approaches_kernel_ridge(rows):
    y = np.sin(rows[:, 0]) + rows[:, 1]
    Z = RBFSampler(gamma=0.3, n_components=20_000, random_state=0).fit_transform(rows)
    linear = Ridge(0.5, fit_intercept=False).fit(Z, y).predict(Z)
    np.testing.assert_allclose(linear, KernelRidge(0.5, kernel="rbf", gamma=0.3).fit(rows, y).predict(rows), atol=0.05)


def test_orthogonal_features_have_the_smaller_error(rows):
    K, errors = kernels.RBF(gamma=0.1)(rows), {}
    for maker in (RBFSampler, OrthogonalRandomFeatures):
        products = [maker(gamma=0.1, n_components=64, random_state=s).fit_transform(rows) for s in range(60)]
        errors[maker] = np.mean([(Z @ Z.T - K) ** 2 for Z in products])
    assert errors[OrthogonalRandomFeatures] < errors[RBFSampler]


def test_nystroem_is_exact_on_the_rows_drawn_and_for_all_rows(rows):
    model = Nystroem(gamma=0.3, n_components=20, random_state=0).fit(rows)
    drawn, K = model.transform(rows[model.component_indices_]), kernels.RBF(gamma=0.3)(rows)
    np.testing.assert_allclose(drawn @ model.transform(rows).T, K[model.component_indices_], atol=1e-8)
    Z = Nystroem(gamma=0.3, n_components=60, random_state=0).fit_transform(rows)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-8)


def test_sparse_rows_and_kernel_objects(rows):
    sparse = scipy.sparse.csr_array(rows * (rows > 0))
    for features in (RBFSampler(random_state=0), Nystroem(kernels.Matern(2.0), random_state=0, n_components=9)):
        np.testing.assert_allclose(
            features.fit(sparse).transform(sparse),
            features.fit(sparse.toarray()).transform(sparse.toarray()),
            atol=1e-10,
        )
    with pytest.raises(ParameterError, match="Don't pass gamma, coef0 or degree to Nystroem"):
        Nystroem(kernels.RBF(), gamma=0.3).fit(rows)


@pytest.mark.catalogue("KM-23")
def test_the_second_stage_is_ridge_regression_on_the_activations(rows):
    y = np.sin(rows[:, 0])
    model = RBFNetworkRegressor(10, alpha=0.1, width="spread", random_state=0).fit(rows, y)
    active = model.activations(rows)
    gaps = ((rows[:, None] - model.centres_[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(active, np.exp(-gaps / (2 * model.widths_**2)), rtol=1e-8)
    np.testing.assert_allclose(model.predict(rows), TheirRidge(0.1).fit(active, y).predict(active), atol=1e-8)


@pytest.mark.catalogue("KM-23")
def test_one_centre_per_row_without_a_penalty_interpolates(rows):
    y = np.random.default_rng(1).normal(size=60)
    np.testing.assert_allclose(RBFNetworkRegressor(60).fit(rows, y).predict(rows), y, atol=1e-6)


@pytest.mark.catalogue("KM-23")
def test_rows_without_labels_help_to_place_the_centres():
    X, ring = make_circles(400, factor=0.4, noise=0.05, random_state=0)
    few = RBFNetworkClassifier(16, alpha=1e-3, random_state=0).fit(X[:24], ring[:24], unlabelled=X[24:])
    assert few.score(X, ring) > 0.9
    alone = RBFNetworkClassifier(16, alpha=1e-3, random_state=0).fit(X[:24], ring[:24])
    far, near = (((X[:, None] - model.centres_[None]) ** 2).sum(axis=2).min(axis=1).mean() for model in (alone, few))
    assert near < 0.8 * far
    given = RBFNetworkClassifier(centres=few.centres_, width=0.3).fit(X, ring)
    np.testing.assert_array_equal(given.centres_, few.centres_)


def test_weights_are_repetitions_and_classes_keep_their_names(rows):
    y = np.array(["a", "b", "c"])[np.digitize(rows[:, 0], [-0.5, 0.5])]
    weight = np.random.default_rng(2).integers(1, 3, 60)
    weighted = RBFNetworkClassifier(centres=rows[:9], width=1.0, alpha=0.1).fit(rows, y, weight)
    repeated = RBFNetworkClassifier(centres=rows[:9], width=1.0, alpha=0.1).fit(
        np.repeat(rows, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.decision_function(rows), repeated.decision_function(rows), atol=1e-9)
    assert set(weighted.predict(rows)) <= {"a", "b", "c"}


def test_centres_of_another_width_are_refused(rows):
    with pytest.raises(DataError, match=r"centres must be rows of 4 columns; got shape \(2, 3\)"):
        RBFNetworkRegressor(centres=np.ones((2, 3))).fit(rows, rows[:, 0])


@pytest.mark.parametrize(("gamma", "dtype"), [(1e308, np.float64), (1e80, np.float32)])
def test_frequencies_that_overflow_are_refused(gamma, dtype):
    X = np.ones((5, 2), dtype=dtype)
    with pytest.raises(ParameterError, match="gamma must leave the frequencies finite in float"):
        RBFSampler(gamma=gamma, random_state=0).fit(X)
