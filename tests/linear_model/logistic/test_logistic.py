"""Logistic and softmax regression: known answers, optimality, invariance, and the errors."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import DataError, ParameterError
from mercer.linear_model import LogisticRegression

SMOOTH = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")


def draw_labelled(n_classes=2, n=300, d=6):
    return make_classification(n, d, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=0)


def objective(model, X, y, C=1.0, ratio=0.0):
    scores = X @ model.coef_.T + model.intercept_
    scores = np.column_stack([np.zeros(len(X)), scores]) if scores.shape[1] == 1 else scores
    loss = logsumexp(scores, axis=1) - scores[np.arange(len(X)), y]
    w = model.coef_
    return float(np.mean(loss) + (ratio * np.abs(w).sum() + (1 - ratio) / 2 * np.sum(w**2)) / (C * len(X)))


@pytest.mark.catalogue("LM-14")
def test_an_intercept_alone_is_the_log_odds_of_the_classes():
    y = np.array([0] * 30 + [1] * 10)
    model = LogisticRegression(tol=1e-10).fit(np.zeros((40, 1)), y)
    assert model.intercept_[0] == pytest.approx(np.log(10 / 30))
    assert model.coef_[0, 0] == 0.0


@pytest.mark.catalogue("LM-14")
def test_probabilities_approach_the_posterior_of_gaussians_with_one_covariance():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=40_000)
    X = random.normal(size=(40_000, 2)) + np.where(y[:, None] == 1, [1.0, -0.5], [-1.0, 0.5])
    model = LogisticRegression(C=1e6).fit(X, y)
    posterior = expit(X @ np.array([2.0, -1.0]))
    # Coefficients are off by the inverse of the Fisher information, in all directions at once: sqrt(chi^2) of three,
    # which is below 7 but once in 10^10 fits.
    rows = np.c_[X, np.ones(40_000)]
    spread = posterior * (1 - posterior)
    covariance = np.linalg.inv(rows.T @ (spread[:, None] * rows))
    deviation = np.sqrt(np.einsum("ij,jk,ik->i", rows, covariance, rows))
    score = model.decision_function(X)
    assert (np.abs(score - X @ np.array([2.0, -1.0])) < 7 * deviation).all()
    assert np.abs(model.predict_proba(X)[:, 1] - posterior).max() < 0.06


@pytest.mark.catalogue("LM-15")
def test_softmax_reaches_the_minimum_that_a_general_optimiser_finds():
    X, y = load_iris(return_X_y=True)

    def cost(flat):
        W, b = flat[:12].reshape(3, 4), flat[12:]
        scores = X @ W.T + b
        loss = logsumexp(scores, axis=1) - scores[np.arange(150), y]
        return np.mean(loss) + np.sum(W**2) / 300

    best = minimize(cost, np.zeros(15), options={"gtol": 1e-8}).fun
    assert objective(LogisticRegression(tol=1e-8).fit(X, y), X, y) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", SMOOTH)
def test_every_smooth_solver_reaches_the_same_minimum(solver, n_classes):
    X, y = draw_labelled(n_classes)
    model = LogisticRegression(solver=solver, tol=1e-7, max_iter=5000, random_state=0).fit(X, y)
    reference = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X, y)
    assert model.converged_
    assert model.coef_ == pytest.approx(reference.coef_, abs=1e-4)
    assert model.history_["objective"][-1] == pytest.approx(objective(model, X, y), abs=1e-12)


@pytest.mark.parametrize("ratio", [0.5, 1.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_proximal_newton_and_saga_agree_on_penalties_with_corners(n_classes, ratio):
    X, y = draw_labelled(n_classes)
    settings = {"l1_ratio": ratio, "C": 0.05, "tol": 1e-8, "max_iter": 5000, "random_state": 0}
    fast = LogisticRegression(solver="auto", **settings).fit(X, y)
    slow = LogisticRegression(solver="saga", **settings).fit(X, y)
    assert fast.solver_used_ == "proximal-newton"
    assert fast.coef_ == pytest.approx(slow.coef_, abs=1e-5)
    assert np.array_equal(fast.coef_ == 0, slow.coef_ == 0)


def test_the_dual_of_liblinear_is_its_primal():
    X, y = draw_labelled()
    for settings in ({}, {"intercept_scaling": 3.0}, {"fit_intercept": False}):
        primal = LogisticRegression(solver="liblinear", tol=1e-7, **settings).fit(X, y)
        dual = LogisticRegression(
            solver="liblinear", dual=True, tol=1e-7, max_iter=20_000, random_state=0, **settings
        ).fit(X, y)
        assert dual.solver_used_ == "dual-coordinate"
        assert dual.coef_ == pytest.approx(primal.coef_, abs=1e-4)
        assert dual.intercept_ == pytest.approx(primal.intercept_, abs=1e-4)


@pytest.mark.parametrize("solver", ["lbfgs", "saga"])
def test_the_gap_bounds_how_far_an_early_stop_is_from_the_minimum(solver):
    X, y = draw_labelled(3)
    best = objective(LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X, y), X, y)
    for steps in (1, 2, 4, 8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(solver=solver, max_iter=steps, random_state=0).fit(X, y)
        assert objective(model, X, y) - best <= model.certificate_.value + 1e-12


def test_working_sets_find_the_same_model_as_the_whole():
    X, y = make_classification(200, 700, n_informative=10, random_state=0)
    settings = {"l1_ratio": 1.0, "C": 0.2, "tol": 1e-6, "random_state": 0}
    model = LogisticRegression(solver="auto", **settings).fit(X, y)
    saga = LogisticRegression(solver="saga", max_iter=5000, **settings).fit(X, y)
    assert model.history_["working_set"].max() < 700
    assert objective(model, X, y, 0.2, 1.0) == pytest.approx(objective(saga, X, y, 0.2, 1.0), abs=1e-6)


def test_badly_scaled_columns_take_no_more_steps():
    X, y = draw_labelled(n=1000)
    even = LogisticRegression(C=1e6).fit(X, y)
    odd = LogisticRegression(C=1e6).fit(X * np.logspace(-3, 3, 6) + 100.0, y)
    assert odd.n_iter_[0] <= even.n_iter_[0] + 3
    assert odd.predict_proba(X * np.logspace(-3, 3, 6) + 100.0) == pytest.approx(even.predict_proba(X), abs=1e-3)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "saga", "auto"])
def test_sparse_rows_give_the_dense_model(solver):
    X, y = draw_labelled(3)
    X[np.abs(X) < 0.7] = 0
    ratio = 1.0 if solver == "auto" else 0.0
    settings = {"solver": solver, "l1_ratio": ratio, "tol": 1e-6, "max_iter": 2000, "random_state": 0}
    dense = LogisticRegression(**settings).fit(X, y)
    sparse = LogisticRegression(**settings).fit(csr_array(X), y)
    assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-5)
    assert sparse.predict_proba(csr_array(X)) == pytest.approx(dense.predict_proba(X), abs=1e-5)


@pytest.mark.catalogue("LM-14")
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "newton-cg"])
def test_separable_classes_without_a_penalty_are_said_to_diverge(solver):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    with pytest.warns(ConvergenceWarning, match="the classes are separable and nothing is penalised"):
        LogisticRegression(C=np.inf, solver=solver).fit(X, y)


def test_log_probabilities_stay_finite_where_probabilities_vanish():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    model = LogisticRegression(C=1e6).fit(X, y)
    assert np.isfinite(model.predict_log_proba([[1e4], [-1e4]])).all()
    assert np.exp(model.predict_log_proba(X)) == pytest.approx(model.predict_proba(X))


def test_what_a_solver_cannot_do_is_an_error():
    X, y = draw_labelled(3)
    with pytest.raises(ParameterError, match=r"Solver lbfgs supports only 'l2' or None penalties, got l1 penalty"):
        LogisticRegression(l1_ratio=1.0).fit(X, y)
    with pytest.raises(ParameterError, match=r"Solver lbfgs supports only dual=False"):
        LogisticRegression(dual=True).fit(X, y)
    with pytest.raises(DataError, match=r"Only binary classification is supported.*got 3 classes"):
        LogisticRegression(solver="liblinear").fit(X, y)
    with pytest.raises(DataError, match=r"contains only one class"):
        LogisticRegression().fit(X, np.zeros(len(X)))


def test_verbose_prints_a_line_for_each_step(capsys):
    X, y = draw_labelled()
    model = LogisticRegression(verbose=1).fit(X, y)
    assert capsys.readouterr().out.count("LogisticRegression: step") == model.n_iter_[0]
