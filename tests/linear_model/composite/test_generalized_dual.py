"""Coordinate ascent in the dual: parity, certificates, weights, warm starts."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC, LinearSVR

from mercer.linear_model import GeneralizedLinearEstimator
from mercer.objectives import EpsilonInsensitive, Huber, Pinball, SquaredEpsilonInsensitive
from tests.linear_model.composite.test_generalized import labels, make, numbers

LOSSES = ["hinge", "squared_hinge", "logistic", "absolute", "squared", Huber(1.0), Pinball(0.8)]
LOSSES += [EpsilonInsensitive(0.5), SquaredEpsilonInsensitive(0.5)]


def data(loss, n=300, classes=2):
    return labels(n, classes=classes) if loss in ("hinge", "squared_hinge", "logistic") else numbers(n)


def test_the_hinge_loss_is_the_support_vector_machine():
    X, y = labels()
    model = make("hinge", alpha=0.05, solver="dual", tol=1e-8).fit(X + 5.0, y)
    theirs = SVC(kernel="linear", C=1 / (0.05 * len(y)), tol=1e-8).fit(X + 5.0, y)
    assert model.coef_ == pytest.approx(theirs.coef_, abs=1e-3)
    assert model.solver_used_ == "dual"
    assert model.certificate_.satisfied


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_without_an_intercept_it_is_liblinear(loss):
    X, y = labels()
    model = make(loss, alpha=0.05, solver="dual", fit_intercept=False, tol=1e-8).fit(X, y)
    theirs = LinearSVC(C=1 / (0.05 * len(y)), loss=loss, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, y)
    assert model.coef_ == pytest.approx(theirs.coef_, abs=1e-3)
    assert not model.intercept_.any()


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_of_numbers_it_is_liblinear_too(loss):
    X, y = numbers()
    ours = {"epsilon_insensitive": EpsilonInsensitive, "squared_epsilon_insensitive": SquaredEpsilonInsensitive}[loss]
    model = make(ours(0.5), alpha=0.05, solver="dual", fit_intercept=False, tol=1e-8).fit(X, y)
    theirs = LinearSVR(C=1 / (0.05 * len(y)), epsilon=0.5, loss=loss, fit_intercept=False, tol=1e-10, max_iter=100_000)
    assert model.coef_ == pytest.approx(theirs.fit(X, y).coef_, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_reweighting_agrees_within_the_gaps(loss, intercept):
    X, y = data(loss)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    given = {"alpha": 0.02, "fit_intercept": intercept, "tol": 1e-6}
    first, second = (make(loss, solver=solver, **given).fit(X, y, weight) for solver in ("dual", "irls"))
    assert first.certificate_.kind == "duality gap"
    assert first.converged_
    apart = first.history_["objective"][-1] - second.history_["objective"][-1]
    assert -second.certificate_.value - 1e-12 <= apart <= first.certificate_.value + 1e-12


def test_several_classes_are_each_against_the_rest():
    X, y = labels(classes=3)
    model = make("hinge", alpha=0.05, solver="dual", tol=1e-7).fit(X, y)
    for k in range(3):
        one = make("hinge", alpha=0.05, solver="dual", tol=1e-7).fit(X, y == k)
        assert model.coef_[k] == pytest.approx(one.coef_[0], abs=5e-3)


def test_the_objective_falls_and_the_bound_holds_at_every_step():
    X, y = labels(1000)
    model = make("hinge", alpha=1e-4, solver="dual", tol=1e-7).fit(X, y)
    objective, gap = model.history_["objective"], model.history_["gap"]
    assert (np.diff(objective) <= 0).all()
    assert (objective - gap <= objective[-1] + 1e-12).all()


def test_sparse_rows_give_the_dense_answer():
    X, y = labels()
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = (
        make("hinge", alpha=0.02, solver="dual", tol=1e-7).fit(Z, y) for Z in (X, scipy.sparse.csr_array(X))
    )
    assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-3)


def test_auto_takes_the_dual_for_corners_and_many_columns_only():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(100, 250)), random.integers(0, 2, size=100)
    assert GeneralizedLinearEstimator("hinge").fit(X, y).solver_used_ == "dual"
    assert GeneralizedLinearEstimator("hinge").fit(X[:, :50], y).solver_used_ == "irls"
    assert GeneralizedLinearEstimator("squared_hinge").fit(X, y).solver_used_ == "irls"
    assert GeneralizedLinearEstimator("hinge", "l1", alpha=0.1).fit(X[:, :30], y).solver_used_ == "irls"


@pytest.mark.parametrize("solver", ["irls", "fista", "dual"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huber"])
def test_a_warm_start_from_the_solution_is_quick_and_no_worse(solver, loss):
    X, y = numbers() if loss == "huber" else labels()
    model = make(loss, alpha=0.05, solver=solver, tol=1e-5, warm_start=True).fit(X, y)
    steps, objective = model.n_iter_, model.history_["objective"][-1]
    model.fit(X, y)
    # The momentum of FISTA is lost, and the hinge has no curvature to make up for it.
    if loss != "hinge":
        assert model.n_iter_ <= max(1, steps // 2)
    reached = model.history_["objective"][-1] if model.n_iter_ else objective
    assert reached <= objective + model.certificate_.tolerance


def test_a_warm_start_with_other_columns_is_refused():
    X, y = labels()
    model = make("hinge", alpha=0.05, warm_start=True, tol=1e-4).fit(X, y)
    with pytest.raises(
        ValueError, match=r"warm_start needs the last coefficients to have shape \(1, 4\); got \(1, 5\)"
    ):
        model.fit(X[:, :4], y)


def test_what_has_no_such_dual_is_refused_with_a_cure(tmp_path):
    X, y = labels()
    for given in ({"loss": "exponential"}, {"loss": "hinge", "penalty": "l1"}, {"loss": "hinge", "alpha": 0.0}):
        with pytest.raises(ValueError, match="solver='dual' takes an l2 penalty"):
            GeneralizedLinearEstimator(**{"penalty": "l2", "solver": "dual"} | given).fit(X, y)
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="solver='dual' needs all rows in memory"):
        GeneralizedLinearEstimator("hinge", solver="dual").fit(tmp_path / "X.npy", y)
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter after 1 steps, not converged; duality gap"):
        GeneralizedLinearEstimator("hinge", solver="dual", alpha=1e-6, max_iter=1).fit(X, y)
