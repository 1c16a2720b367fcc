"""KernelLogisticRegression: the linear model, optimality, probabilities, errors."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_circles, make_classification

from mercer import kernels
from mercer.errors import DataError
from mercer.kernel_ridge import KernelLogisticRegression
from mercer.linear_model import LogisticRegression


@pytest.fixture(scope="module")
def data():
    return make_classification(150, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)


@pytest.mark.catalogue("KM-18")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_the_linear_kernel_is_logistic_regression(data, n_classes, solver):
    X, y = data[0][data[1] < n_classes], data[1][data[1] < n_classes]
    weight = np.random.default_rng(0).integers(1, 3, len(y))
    ours = KernelLogisticRegression(0.5, kernel="linear", solver=solver, tol=1e-9, max_iter=2000).fit(X, y, weight)
    theirs = LogisticRegression(C=0.5, tol=1e-9, max_iter=2000).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


@pytest.mark.catalogue("KM-18")
def test_the_gradient_vanishes_in_feature_space(data):
    X, y = data[0][data[1] < 2], data[1][data[1] < 2]
    model = KernelLogisticRegression(2.0, gamma=0.2, tol=1e-10).fit(X, y)
    K, a = model.kernel_(X), model.dual_coef_[0]
    f = K @ a + model.intercept_[0]
    # The stationary point has a = C (y - p), up to directions that the kernel does not see.
    np.testing.assert_allclose(K @ a, K @ (2.0 * (y - expit(f))), atol=1e-3)
    assert np.sum(y - expit(f)) == pytest.approx(0.0, abs=1e-3)
    assert (np.diff(model.history_["objective"]) <= 1e-12).all()


@pytest.mark.catalogue("KM-18")
def test_rings_are_told_apart_with_probabilities_between_zero_and_one():
    X, ring = make_circles(200, factor=0.4, noise=0.08, random_state=0)
    names = np.array(["inner", "outer"])[1 - ring]
    model = KernelLogisticRegression(10.0, gamma=2.0).fit(X, names)
    assert model.score(X, names) == 1.0
    chances = model.predict_proba(X)
    assert ((chances > 0) & (chances < 1)).all()
    np.testing.assert_allclose(np.log(chances), model.predict_log_proba(X), atol=1e-10)
    assert ((model.decision_function(X) > 0) == (model.predict(X) == model.classes_[1])).all()


def test_given_kernels_and_balanced_classes(data):
    X, y = data
    K = kernels.RBF(gamma=0.2)(X)
    given = KernelLogisticRegression(kernel="precomputed", class_weight="balanced").fit(K, y)
    rows = KernelLogisticRegression(gamma=0.2, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(given.predict_proba(K), rows.predict_proba(X), atol=1e-4)


def test_functions_that_are_no_kernels_are_refused(data):
    X, y = data
    with pytest.raises(
        DataError, match=r"the kernel must be positive semidefinite; its smallest eigenvalue on these rows is -"
    ):
        KernelLogisticRegression(kernel=kernels.Sigmoid(0.5, -1.0)).fit(X, y)
    with pytest.raises(DataError, match="only one class"):
        KernelLogisticRegression().fit(X, np.zeros(len(y)))
