"""A new metric of several classes: fewer steps to the same minimum, and the same bits from any state."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from mercer._objective import Softmax
from mercer._solver import drive, lbfgs
from mercer._solver.linear_problem import LinearProblem
from mercer._source import ArraySource
from mercer.linear_model import LogisticRegression
from mercer.linear_model._logistic.penalty import strengths


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_new_metric_saves_steps_and_leads_to_the_same_minimum(monkeypatch, fit_intercept):
    X, y = load_wine(return_X_y=True)
    model = LogisticRegression(fit_intercept=fit_intercept, tol=1e-7, max_iter=1000)
    renewed = model.fit(X, y)
    coefficients, steps = renewed.coef_.copy(), renewed.n_iter_[0]
    monkeypatch.setattr(lbfgs, "_LARGEST_BLOCKS", 0)
    plain = model.fit(X, y)
    assert steps < 0.6 * plain.n_iter_[0]
    np.testing.assert_allclose(coefficients, plain.coef_, rtol=1e-3, atol=1e-5)


def make_problem():
    X, y = load_wine(return_X_y=True)
    penalty = strengths(LogisticRegression(), 1.0, 0.0, X.shape[1], float(len(y)))
    return LinearProblem(Softmax(3), penalty, float(len(y)), True, 1e-4), ArraySource(X, y)


def test_a_fit_that_is_resumed_in_a_new_metric_continues_with_the_same_bits():
    problem, source = make_problem()
    whole = drive(lbfgs.lbfgs(problem, problem.start(), 1000), source)
    # Between the first new metric, after 15 steps, and the second, after 45.
    first = drive(lbfgs.lbfgs(problem, problem.start(), 20), source)
    assert len(first.state.anchor)
    rest = drive(lbfgs.lbfgs(problem, first.state, 1000), source)
    assert rest.state.n_steps == whole.state.n_steps
    assert (rest.state.parameters == whole.state.parameters).all()


def test_threads_and_files_give_the_same_bits_in_a_new_metric(tmp_path):
    X, y = load_wine(return_X_y=True)
    # Several blocks of rows.
    X, y = np.tile(X, (120, 1)), np.tile(y, 120)
    np.save(tmp_path / "rows.npy", X)
    one = LogisticRegression(n_jobs=1).fit(X, y)
    assert one.n_iter_[0] > 15
    for rows, n_jobs in ((X, 2), (str(tmp_path / "rows.npy"), 1)):
        other = LogisticRegression(n_jobs=n_jobs).fit(rows, y)
        assert (other.coef_ == one.coef_).all()
