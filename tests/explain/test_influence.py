"""Influence of training rows, against new fits without each row."""

import numpy as np
import pytest
import sklearn.linear_model

from mercer.errors import DataError, UnsupportedError
from mercer.explain import influence
from mercer.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def make_rows(n=40):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + random.normal(size=n) + 4.0


def leave_out(model, X, y):
    """The change of coefficients and intercept by new fits, row by row."""
    changes = []
    whole = model.fit(X, y)
    start = np.append(np.ravel(whole.coef_), whole.intercept_)
    for row in range(len(X)):
        rest = np.arange(len(X)) != row
        new = model.fit(X[rest], y[rest])
        changes.append(np.append(np.ravel(new.coef_), new.intercept_) - start)
    model.fit(X, y)
    return np.array(changes)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        LinearRegression(fit_intercept=False),
        Ridge(alpha=3.0),
        sklearn.linear_model.Ridge(alpha=3.0),
        sklearn.linear_model.LinearRegression(),
    ],
    ids=repr,
)
def test_squared_losses_change_as_new_fits_say(model):
    X, y = make_rows()
    expected = leave_out(model, X, y)
    found = influence(model, X, y)
    assert found.is_exact
    np.testing.assert_allclose(found.coefficients, expected[:, :-1], atol=1e-8)
    np.testing.assert_allclose(found.intercept, expected[:, -1], atol=1e-8)
    scores = found.change_scores(X[:2])
    np.testing.assert_allclose(scores, X[:2] @ expected[:, :-1].T + expected[:, -1], atol=1e-7)


def test_leverages_of_least_squares_sum_to_the_parameters():
    X, y = make_rows()
    assert influence(LinearRegression().fit(X, y), X, y).leverages.sum() == pytest.approx(4.0)


@pytest.mark.parametrize(
    "model", [LogisticRegression(C=1.0, tol=1e-10), sklearn.linear_model.LogisticRegression(tol=1e-10)]
)
def test_logistic_regression_changes_nearly_as_new_fits_say(model):
    X, y = make_rows(200)
    labels = np.where(y > 4.0, "up", "down")
    expected = leave_out(model, X, labels)
    found = influence(model, X, labels)
    assert not found.is_exact
    changes = np.column_stack([found.coefficients, found.intercept])
    # Exactly one step of Newton's method on the objective without the row, computed by itself.
    design = np.column_stack([X, np.ones(len(X))])
    parameters = np.append(model.coef_[0], model.intercept_)
    chances = 1 / (1 + np.exp(-design @ parameters))
    penalty = np.array([1.0, 1.0, 1.0, 0.0])
    for row in range(0, 200, 20):
        rest = np.arange(len(X)) != row
        gradient = design[rest].T @ (chances - (labels == "up"))[rest] + penalty * parameters
        curvature = (design[rest].T * (chances * (1 - chances))[rest]) @ design[rest] + np.diag(penalty)
        np.testing.assert_allclose(changes[row], -np.linalg.solve(curvature, gradient), atol=1e-5)
    # The step errs by the square of the change: the new fits are much nearer to it than to the old one.
    assert np.linalg.norm(changes - expected) < 0.2 * np.linalg.norm(expected)


def test_other_rows_and_other_models_are_refused():
    X, y = make_rows()
    with pytest.raises(DataError, match="X and y must be those of the fit"):
        influence(LinearRegression().fit(X, y), X, y**3)
    with pytest.raises(DataError, match="y must have 40 values"):
        influence(LinearRegression().fit(X, y), X, y[:5])
    with pytest.raises((DataError, UnsupportedError)):
        influence(Lasso(alpha=0.5).fit(X, y), X, y)
    with pytest.raises(UnsupportedError, match="linear with one output"):
        influence(LogisticRegression().fit(X, np.digitize(y, [3.0, 5.0])), X, y)
