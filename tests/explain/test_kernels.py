"""Shapley values of kernel machines: equal to sums over all coalitions, for mercer's and scikit-learn's."""

import numpy as np
import pytest
import sklearn.gaussian_process
import sklearn.kernel_ridge
import sklearn.svm
from sklearn.gaussian_process import kernels as scikit_kernels

from mercer.explain import shapley
from mercer.gaussian_process import GaussianProcessRegressor
from mercer.kernel_ridge import KernelRidge
from mercer.kernels import RBF
from mercer.svm import SVC, SVR
from tests.explain.games import play_mixtures, solve_game

MODELS = [
    KernelRidge(kernel=RBF(length_scale=[1.0, 2.0, 0.5, 1.5]), alpha=0.1),
    KernelRidge(kernel="laplacian", alpha=0.1),
    SVR(C=10.0),
    GaussianProcessRegressor(kernel=RBF(1.0), alpha=0.1, normalize_y=True, optimizer=None),
    sklearn.kernel_ridge.KernelRidge(kernel="rbf", alpha=0.1),
    sklearn.svm.NuSVR(C=10.0),
    sklearn.gaussian_process.GaussianProcessRegressor(
        kernel=2.0 * scikit_kernels.RBF(1.5) + scikit_kernels.WhiteKernel(0.1), normalize_y=True, optimizer=None
    ),
]


def make_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 3.0


@pytest.mark.parametrize(
    "model", MODELS, ids=lambda model: f"{type(model).__module__.split('.')[0]}-{type(model).__name__}"
)
def test_values_are_those_over_all_coalitions(model):
    X, y = make_rows()
    model.fit(X, y)
    found = shapley(model, X[:3], X[10:17])
    assert found.method == "kernel"
    for row in range(3):
        expected, _ = solve_game(play_mixtures(model.predict, X[row], X[10:17]), 4)
        np.testing.assert_allclose(found.values[row], expected, atol=1e-9)
    np.testing.assert_allclose(found.predictions, model.predict(X[:3]), atol=1e-9)


@pytest.mark.parametrize("machine", [SVC(), sklearn.svm.SVC()], ids=["mercer", "scikit-learn"])
def test_two_classes_are_explained_in_their_scores_also_by_groups(machine):
    X, y = make_rows()
    machine.fit(X, y > 3.0)
    found = shapley(machine, X[:2], X[10:17], output="score", groups=[[0, 1]])
    assert found.method == "kernel"
    np.testing.assert_allclose(found.predictions, machine.decision_function(X[:2]), atol=1e-9)
    pair = shapley(machine.decision_function, X[:2], X[10:17], groups=[[0, 1]], method="exact")
    np.testing.assert_allclose(found.values, pair.values, atol=1e-9)


def test_factors_that_vanish_do_no_harm():
    X, y = make_rows()
    model = sklearn.svm.SVR(gamma=1e3).fit(X, y)
    found = shapley(model, X[:2], 100.0 + X[10:13])
    assert np.isfinite(found.values).all()
    np.testing.assert_allclose(found.predictions, model.predict(X[:2]), atol=1e-9)


def test_many_columns_lose_no_digits():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 60))
    model = sklearn.svm.SVR(gamma=0.01).fit(X, X[:, 0])
    found = shapley(model, X[:3], X[5:9])
    assert found.method == "kernel"
    np.testing.assert_allclose(found.predictions, model.predict(X[:3]), atol=1e-12)
