"""Regression, one class and the enclosing sphere."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.metrics.pairwise import rbf_kernel

from mercer.errors import DataError, UnsupportedError
from mercer.linear_model import QuantileRegressor
from mercer.svm import SVDD, SVR, LinearSVC, LinearSVR, NuSVR, OneClassSVM


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(250, noise=0.5, random_state=0)


@pytest.mark.catalogue("KM-13")
def test_residuals_and_coefficients_keep_the_conditions_of_the_tube(friedman):
    X, y = friedman
    C, epsilon, tol = 3.0, 0.4, 1e-7
    model = SVR(C=C, epsilon=epsilon, gamma=0.2, tol=tol).fit(X, y)
    b = np.zeros(len(X))
    b[model.support_] = model.dual_coef_[0]
    residual = y - (rbf_kernel(X, gamma=0.2) @ b + model.intercept_[0])
    assert abs(b.sum()) < 1e-9
    assert (np.abs(residual[b == 0]) <= epsilon + tol).all()
    inside = (b != 0) & (np.abs(b) < C)
    np.testing.assert_allclose(residual[inside], epsilon * np.sign(b[inside]), atol=tol)
    assert (np.sign(b) * residual >= epsilon - tol)[np.abs(b) == C].all()
    np.testing.assert_allclose(model.predict(X), y - residual, atol=1e-10)


@pytest.mark.catalogue("KM-13")
def test_a_tube_wider_than_the_targets_gives_a_constant_and_none_gives_absolute_deviations():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:60, 2:3], y[:60]
    wide = SVR(epsilon=0.5 * np.ptp(y) + 1.0).fit(X, y)
    assert wide.support_.size == 0
    assert np.ptp(wide.predict(X)) == 0
    assert abs(wide.predict(X)[0] - y).max() <= 0.5 * np.ptp(y) + 1.0
    lines = SVR(kernel="linear", C=1e6, epsilon=0.0, tol=1e-6).fit(X, y)
    median = QuantileRegressor(alpha=0.0).fit(X, y)
    best = np.abs(y - median.predict(X)).sum()
    assert np.abs(y - lines.predict(X)).sum() == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("solver", ["block", "qp"])
def test_regression_is_that_of_libsvm(friedman, solver):
    X, y = friedman
    ours = SVR(C=5.0, tol=1e-5, solver=solver).fit(X, y)
    theirs = sklearn.svm.SVR(C=5.0, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
    assert ours.certificate_.value < 1e-2


def test_platts_steps_reach_the_same_tube(friedman):
    X, y = friedman[0][:40], friedman[1][:40]
    expected = SVR(gamma=0.3).fit(X, y)
    found = SVR(gamma=0.3, solver="smo").fit(X, y)
    assert found.history_["objective"][-1] == pytest.approx(expected.history_["objective"][-1], abs=1e-2)


def test_large_regressions_go_in_blocks():
    X, y = make_friedman1(2200, noise=1.0, random_state=1)
    ours, theirs = SVR(C=10.0, gamma=0.1).fit(X, y), sklearn.svm.SVR(C=10.0, gamma=0.1).fit(X, y)
    assert ours.certificate_.satisfied
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-2)


def test_squared_excess_makes_coefficients_twice_c_times_it(friedman):
    X, y = friedman
    model = SVR(C=0.8, epsilon=0.3, loss="squared_epsilon_insensitive", tol=1e-8).fit(X, y)
    b = np.zeros(len(X))
    b[model.support_] = model.dual_coef_[0]
    residual = y - model.predict(X)
    np.testing.assert_allclose(b, 1.6 * np.sign(residual) * np.maximum(np.abs(residual) - 0.3, 0), atol=1e-6)


def test_nu_finds_the_tube_that_holds_its_share(friedman):
    X, y = friedman
    ours, theirs = NuSVR(nu=0.3, C=4.0, tol=1e-6).fit(X, y), sklearn.svm.NuSVR(nu=0.3, C=4.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    outside = np.abs(y - ours.predict(X)) > ours.epsilon_ + 1e-5
    assert outside.mean() <= 0.3 <= ours.n_support_[0] / len(X)
    tube = SVR(C=4.0, epsilon=ours.epsilon_, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(tube.predict(X), ours.predict(X), atol=1e-3)


@pytest.mark.catalogue("KM-12")
def test_the_sphere_around_three_points_is_the_notes_own():
    model = SVDD(C=0.6, tol=1e-9).fit([[0.0], [2.0], [10.0]])
    assert model.support_.tolist() == [0, 2]
    np.testing.assert_allclose(model.dual_coef_, [[0.5, 0.5]])
    np.testing.assert_allclose(model.coef_, [[5.0]])
    assert model.radius_ == pytest.approx(5.0)
    np.testing.assert_allclose(model.decision_function([[5.0], [0.0], [12.0]]), [25.0, 0.0, -24.0], atol=1e-9)


@pytest.mark.catalogue("KM-12")
def test_the_sphere_and_the_plane_decide_alike_for_a_constant_diagonal():
    X = np.random.default_rng(0).normal(size=(120, 3))
    nu = 0.15
    sphere = SVDD(C=1.0 / (nu * len(X)), kernel="rbf", gamma=0.4, tol=1e-9).fit(X)
    plane = OneClassSVM(nu=nu, gamma=0.4, tol=1e-9).fit(X)
    np.testing.assert_allclose(sphere.decision_function(X) * nu * len(X) / 2, plane.decision_function(X), atol=1e-5)
    assert np.mean(sphere.decision_function(X) < -1e-6) <= nu
    theirs = sklearn.svm.OneClassSVM(nu=nu, gamma=0.4, tol=1e-9).fit(X)
    np.testing.assert_allclose(plane.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert plane.offset_ == pytest.approx(theirs.offset_, abs=1e-5)


def test_weights_are_repetitions(friedman):
    X, y = friedman
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    for make in (lambda: SVR(tol=1e-9), lambda: NuSVR(nu=0.4, tol=1e-9)):
        weighted, repeated = make().fit(X, y, weight.astype(float)), make().fit(X.repeat(weight, 0), y.repeat(weight))
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "loss"),
    [({"loss": "hinge"}, "hinge"), ({"C": 0.1, "intercept_scaling": 3.0}, ""), ({"penalty": "l1", "dual": False}, "")],
)
def test_linear_machines_are_those_of_liblinear(settings, loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=200), [-0.5, 0.5])
    ours = LinearSVC(tol=1e-7, **settings).fit(X, y)
    theirs = sklearn.svm.LinearSVC(tol=1e-8, max_iter=200_000, random_state=0, **settings).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)


def test_linear_regression_is_that_of_liblinear(friedman):
    X, y = friedman
    for settings in ({}, {"loss": "squared_epsilon_insensitive", "epsilon": 0.2}, {"fit_intercept": False}):
        ours = LinearSVR(tol=1e-7, **settings).fit(X, y)
        theirs = sklearn.svm.LinearSVR(tol=1e-8, max_iter=200_000, random_state=0, **settings).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=5e-3)


def test_what_cannot_be_had_together_is_said(friedman):
    X, y = friedman
    with pytest.raises(
        UnsupportedError, match="LinearSVC: Unsupported set of arguments: the combination of penalty='l1'"
    ):
        LinearSVC(penalty="l1", loss="hinge").fit(X, y > 10)
    with pytest.raises(UnsupportedError, match="LinearSVR: Unsupported set of arguments: loss='epsilon_insensitive'"):
        LinearSVR(dual=False).fit(X, y)
    with pytest.raises(DataError, match=r"SVDD: C must be at least 1 / \(sum of weights\) = 0.004"):
        SVDD(C=0.001).fit(X)
    with pytest.raises(DataError, match=r"SVDD: scores need k\(x, x\)"):
        SVDD(kernel="precomputed").fit(np.eye(3)).predict(np.eye(3))


def test_a_warm_start_on_another_number_of_rows_starts_from_zero():
    X = np.linspace(0.0, 6.0, 60)[:, None]
    y = np.sin(X[:, 0])
    warm = SVR(C=10.0, gamma=1.0, warm_start=True).fit(X, y).fit(X[:40], y[:40])
    cold = SVR(C=10.0, gamma=1.0).fit(X[:40], y[:40])
    np.testing.assert_array_equal(warm.dual_coef_, cold.dual_coef_)
