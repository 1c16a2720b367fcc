"""One class by stochastic gradients: a step by hand, scikit-learn's steps, the optimum of the exact machine, starts."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import SGDOneClassSVM as TheirMachine

from mercer.errors import DataError, ParameterError
from mercer.linear_model import SGDOneClassSVM
from mercer.svm import OneClassSVM

RATES = ({}, {"learning_rate": "constant"}, {"learning_rate": "invscaling", "eta0": 0.1}, {"average": 500})


def example(n=400, d=3, seed=0):
    return np.random.default_rng(seed).normal(2.0, 1.0, size=(n, d))


def objective(X, coef, offset, nu):
    return np.maximum(0.0, offset - X @ coef).mean() + nu * (0.5 * coef @ coef - offset)


def test_a_step_by_hand():
    """A row below the plane pushes w towards itself and rho down; the penalty shrinks w and lifts rho."""
    model = SGDOneClassSVM(0.25, learning_rate="constant", eta0=0.5, max_iter=1, tol=None)
    model.fit([[2.0, -4.0]], coef_init=[0.1, 0.2], offset_init=0.3)
    # The score -0.6 is below 0.3: w <- (1 - 0.5 * 0.25) w + 0.5 x, and rho <- rho - 0.5 + 0.5 * 0.25.
    np.testing.assert_allclose(model.coef_, [1.0875, -1.825], rtol=1e-12)
    np.testing.assert_allclose(model.offset_, [-0.075], rtol=1e-12)


@pytest.mark.parametrize("options", RATES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_steps_equal_scikit_learns_in_the_order_of_the_rows(options, fit_intercept):
    X = example()
    given = {"nu": 0.2, "shuffle": False, "max_iter": 5, "tol": None, "fit_intercept": fit_intercept, **options}
    model, theirs = SGDOneClassSVM(**given).fit(X), TheirMachine(**given).fit(X)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.offset_, theirs.offset_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("nu", [0.2, 0.6])
def test_averages_come_near_the_optimum_of_the_exact_machine(nu):
    """The exact machine minimises nu n times this objective, over nu n times w and rho."""
    X = example(1000)
    rates = {"learning_rate": "invscaling", "eta0": 0.3, "power_t": 0.5}
    model = SGDOneClassSVM(nu, **rates, average=200_000, max_iter=300, tol=None, random_state=0).fit(X)
    exact = OneClassSVM(kernel="linear", nu=nu, tol=1e-8).fit(X)
    factor = nu * len(X)
    least = objective(X, exact.coef_[0] / factor, exact.offset_[0] / factor, nu)
    reached = objective(X, model.coef_, model.offset_[0], nu)
    assert least - 1e-9 <= reached <= least + 2e-4 * abs(least)
    assert abs(np.mean(model.predict(X) == -1) - nu) < 0.01
    assert model.certificate_.kind == "none"


def test_the_history_ends_with_the_objective():
    """One row, so that the loss met on the way is that before the last step."""
    X = np.array([[1.0, 2.0]])
    model = SGDOneClassSVM(0.5, learning_rate="constant", eta0=0.1, max_iter=1, tol=None).fit(X)
    penalty = 0.5 * (0.5 * model.coef_ @ model.coef_ + 1.0 - model.offset_[0])
    assert model.history_["objective"][-1] == pytest.approx(0.0 + penalty, rel=1e-12)


def test_sparse_rows_weights_and_files_take_the_same_steps(tmp_path):
    X = example()
    X[X < 1.0] = 0.0
    given = {"nu": 0.3, "shuffle": False, "max_iter": 4, "tol": None}
    dense = SGDOneClassSVM(**given).fit(X)
    sparse = SGDOneClassSVM(**given).fit(scipy.sparse.csr_array(X))
    np.save(tmp_path / "rows.npy", X)
    filed = SGDOneClassSVM(**given).fit(tmp_path / "rows.npy")
    padded = SGDOneClassSVM(**given).fit(np.vstack([X, X[:7] * 50]), sample_weight=np.r_[np.ones(len(X)), np.zeros(7)])
    for model in (sparse, filed, padded):
        np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-10)
        np.testing.assert_allclose(model.offset_, dense.offset_, rtol=1e-10)
    np.testing.assert_allclose(dense.score_samples(scipy.sparse.csr_array(X)), X @ dense.coef_, rtol=1e-12)


@pytest.mark.parametrize("average", [False, True])
def test_partial_fit_goes_on_where_it_was(average):
    X = example()
    whole = SGDOneClassSVM(shuffle=False, max_iter=4, tol=None, average=average).fit(X)
    model = SGDOneClassSVM(shuffle=False, average=average)
    for _ in range(4):
        model.partial_fit(X)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.offset_, whole.offset_, rtol=1e-12)
    assert model.t_ == whole.t_


def test_a_warm_start_begins_at_the_last_plane():
    X = example()
    given = {"learning_rate": "constant", "eta0": 0.01, "shuffle": False, "tol": None}
    first = SGDOneClassSVM(**given, max_iter=3).fit(X)
    twice = SGDOneClassSVM(**given, max_iter=3).fit(X, coef_init=first.coef_, offset_init=first.offset_)
    warm = SGDOneClassSVM(**given, max_iter=3, warm_start=True).fit(X).fit(X)
    np.testing.assert_array_equal(warm.coef_, twice.coef_)
    np.testing.assert_array_equal(warm.offset_, twice.offset_)


def test_what_does_not_fit_is_refused():
    X = example(20)
    with pytest.raises(DataError, match="Provided offset_init does not match dataset; expected shape"):
        SGDOneClassSVM().fit(X, offset_init=[1.0, 2.0])
    with pytest.raises(DataError, match="Provided coef_init does not match dataset"):
        SGDOneClassSVM().fit(X, coef_init=np.zeros(4))
    with pytest.raises(ParameterError, match="nu must be a number in"):
        SGDOneClassSVM(0.0).fit(X)
