"""Logistic regression of two classes: labels of either kind, one optimum from every start and solver, the posterior."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.linear_model import LogisticRegression, SGDClassifier
from mercer.objectives import L2, Logistic
from mercer.optim import (
    GradientNorm,
    MaxIter,
    RowObjective,
    check_gradient,
    minimize,
    minimize_stochastic,
    numerical_hessian,
)


def draw(n=120, seed=0):
    """Return rows of unlike scale and labels -1 and 1, three quarters of them -1."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)) * [1.0, 20.0, 0.1] + [5.0, 0.0, 0.0]
    y = np.where(1.2 * (X[:, 0] - 5) + 0.05 * X[:, 1] + random.logistic(size=n) > 1.2, 1, -1)
    return X, y


def cost(p, X, y, strength, ratio, intercept=True):
    """Return sum log(1 + exp(-y z)) + strength (ratio |w|_1 + (1 - ratio) |w|^2 / 2), for labels -1 and 1."""
    w, b = (p[:-1], p[-1]) if intercept else (p, 0.0)
    return np.sum(np.logaddexp(0.0, -y * (X @ w + b))) + strength * (
        ratio * np.abs(w).sum() + (1 - ratio) * (w @ w) / 2
    )


@pytest.mark.catalogue("LM-14")
@pytest.mark.parametrize("names", [(-1, 1), (0, 1), ("no", "yes"), (5, -3), (False, True)])
def test_labels_are_names_and_the_larger_one_is_the_positive_class(names):
    X, y = draw()
    labels = np.where(y == 1, names[1], names[0])
    model, plain = LogisticRegression(tol=1e-10).fit(X, labels), LogisticRegression(tol=1e-10).fit(X, y)
    sign = 1 if sorted(names) == list(names) else -1
    np.testing.assert_allclose(model.coef_, sign * plain.coef_, rtol=1e-5)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1] if sign == 1 else model.predict_proba(X)[:, 0],
        plain.predict_proba(X)[:, 1],
        rtol=1e-6,
    )
    assert model.classes_.tolist() == sorted(names)


@pytest.mark.catalogue("LM-14")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("C", "ratio"), [(1.0, 0.0), (0.05, 0.0), (0.5, 1.0), (0.3, 0.4)])
def test_penalised_fits_have_the_least_cost_that_a_search_finds(intercept, C, ratio):
    X, y = draw()
    solver = "saga" if ratio else "newton-cholesky"
    X = X / [1.0, 20.0, 0.1]
    settings = {"C": C, "l1_ratio": ratio, "solver": solver, "tol": 1e-10, "max_iter": 5000, "random_state": 0}
    model = LogisticRegression(fit_intercept=intercept, **settings).fit(X, y)
    found = np.append(model.coef_[0], model.intercept_) if intercept else model.coef_[0]
    options = {"maxiter": 20_000, "xatol": 1e-10, "fatol": 1e-13}
    best = min(
        scipy_minimize(cost, start, (X, y, 1 / C, ratio, intercept), method="Nelder-Mead", options=options).fun
        for start in (found, 0.1 * np.ones(len(found)))
    )
    assert cost(found, X, y, 1 / C, ratio, intercept) <= best * (1 + 1e-8)


@pytest.mark.catalogue("LM-14")
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"])
def test_every_start_and_every_solver_reach_one_optimum(solver):
    X, y = draw()
    X = X / [1.0, 20.0, 0.1]
    reference = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(X, y)
    random = np.random.default_rng(0)
    for _ in range(4):
        model = LogisticRegression(solver=solver, tol=1e-9, max_iter=20_000, warm_start=True, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(max_iter=1).fit(X, y)
        model.coef_, model.intercept_ = 5 * random.normal(size=(1, 3)), 5 * random.normal(size=1)
        model.set_params(max_iter=20_000).fit(X, y)
        np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-4)
        np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=2e-3)


@pytest.mark.catalogue("LM-14")
def test_gradient_descent_newton_and_stochastic_gradients_agree():
    X, y = draw(400)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    strength = 0.02
    objective = RowObjective(Logistic(), X, (y == 1).astype(float), penalty=strength * L2())
    exact = LogisticRegression(C=1 / (strength * 400), solver="newton-cholesky", tol=1e-12).fit(X, y)
    target = np.append(exact.coef_, exact.intercept_)
    stop = GradientNorm(1e-7) | MaxIter(20_000)
    for method, options in (("gradient_descent", {"learning_rate": 1.0}), ("newton", {"hess": objective.hessian})):
        result = minimize(objective, objective.start, grad=objective.gradient, method=method, stop=stop, **options)
        np.testing.assert_allclose(result.x, target, atol=1e-4)
    model = SGDClassifier(
        "log_loss",
        alpha=strength,
        random_state=0,
        learning_rate="invscaling",
        eta0=0.5,
        power_t=0.5,
        max_iter=400,
        tol=None,
        average=True,
    ).fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), target, atol=0.05)

    def batch_gradient(p, rows):
        z = y[rows] * (X[rows] @ p[:-1] + p[-1])
        pull = -y[rows] * expit(-z) / len(rows)
        return np.append(X[rows].T @ pull + strength * p[:-1], pull.sum())

    def batch_value(p, rows):
        return float(np.mean(np.logaddexp(0, -y[rows] * (X[rows] @ p[:-1] + p[-1]))) + strength * (p[:-1] @ p[:-1]) / 2)

    result = minimize_stochastic(
        batch_value, np.zeros(4), n_samples=400, batch_size=20, grad=batch_gradient, stop=MaxIter(200), random_state=0
    )
    assert batch_value(result.x, np.arange(400)) < batch_value(target, np.arange(400)) + 1e-3


@pytest.mark.catalogue("LM-14")
def test_gradient_and_hessian_have_their_closed_forms_and_the_cost_is_convex():
    X, y = draw(60)
    ones = (y == 1).astype(float)
    objective = RowObjective(Logistic(), X, ones, fit_intercept=False)
    w = np.array([0.1, -0.02, 3.0])
    s = expit(X @ w)
    np.testing.assert_allclose(objective.gradient(w) * 60, X.T @ (s - ones), rtol=1e-10)
    hessian = X.T @ (X * (s * (1 - s))[:, None])
    np.testing.assert_allclose(objective.hessian(w) * 60, hessian, rtol=1e-10)
    assert check_gradient(objective, objective.gradient, w).passed
    np.testing.assert_allclose(numerical_hessian(objective, w) * 60, hessian, rtol=1e-3, atol=1e-4)
    random = np.random.default_rng(0)
    for _ in range(20):
        a, b = random.normal(size=(2, 3)) * 10
        assert np.linalg.eigvalsh(objective.hessian(a)).min() >= -1e-12
        assert objective((a + b) / 2) <= (objective(a) + objective(b)) / 2 + 1e-12


@pytest.mark.catalogue("LM-14")
def test_the_sigmoid_mirrors_and_far_scores_stay_exact():
    z = np.array([-800.0, -40.0, -1e-9, 0.0, 0.7, 40.0, 800.0])[:, None]
    loss = Logistic()
    share = loss.mean(z, np)
    np.testing.assert_allclose(1 - share, loss.mean(-z, np), atol=1e-16)
    np.testing.assert_allclose(loss.curvature(z, np.zeros(7), np), share * (1 - share), atol=1e-16)
    # log(1 + e^z) and not log of a rounded share: -800 costs 800 for class 1 and nothing for class 0.
    assert loss.value(z, np.ones(7), np)[[0, -1]].tolist() == [800.0, 0.0]
    assert loss.value(z, np.zeros(7), np)[[0, -1]].tolist() == [0.0, 800.0]


@pytest.mark.catalogue("LM-14")
@pytest.mark.parametrize("prior", [0.5, 0.08])
def test_probabilities_approach_the_posterior_of_shared_gaussians_of_any_scale_and_priors(prior):
    random = np.random.default_rng(3)
    means, covariance = np.array([[0.0, 100.0], [3.0, 110.0]]), np.array([[4.0, 6.0], [6.0, 25.0]])
    y = np.where(random.random(60_000) < prior, 1, -1)
    X = random.multivariate_normal([0, 0], covariance, 60_000) + means[(y == 1).astype(int)]
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(X, y)
    world = LinearDiscriminantAnalysis.from_parameters(means, covariance, [1 - prior, prior], [-1, 1])
    np.testing.assert_allclose(model.coef_, world.coef_, rtol=0.1, atol=0.03)
    gap = np.abs(model.predict_proba(X[:5000]) - world.predict_proba(X[:5000]))
    assert gap.max() < 0.04
    assert gap.mean() < 0.01


@pytest.mark.catalogue("LM-14")
def test_separable_classes_warn_without_a_penalty_and_not_with_one():
    X, y = np.array([[-300.0], [-100.0], [5.0], [900.0]]), np.array([-1, -1, 1, 1])
    with pytest.warns(ConvergenceWarning, match="the classes are separable and nothing is penalised"):
        LogisticRegression(C=np.inf, fit_intercept=False).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression(solver="newton-cholesky").fit(X, y)
        overlap = np.array([1, -1, 1, 1])
        LogisticRegression(C=np.inf, solver="newton-cholesky").fit(np.array([[0.0], [1.0], [2.0], [3.0]]), overlap)
