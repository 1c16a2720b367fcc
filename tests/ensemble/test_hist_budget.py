"""One knob instead of many: what a budget tries, decides and refuses."""

import itertools
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.exceptions import ConvergenceWarning

from mercer.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from mercer.ensemble._histogram.budget import _search_leaves
from mercer.errors import ParameterError


def additive(n=600):
    """Return rows with a sum of functions of one column each, for which small trees are best."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 6))
    return X, 3 * X[:, 0] + np.sin(6 * X[:, 1]) + X[:, 2] ** 2 + 0.5 * rng.normal(size=n)


# Truth.


def test_leaves_halve_or_double_as_long_as_that_is_better():
    asked = []

    def score(best):
        return lambda leaves: asked.append(leaves) or -abs(np.log2(leaves / best))

    assert _search_leaves(score(64)) == 64
    assert asked == [16, 8, 32, 64, 128]
    asked.clear()
    assert _search_leaves(score(4)) == 4
    assert asked == [16, 8, 32, 4, 2]
    assert _search_leaves(score(1e9)) == 256


def test_the_model_is_the_one_that_the_best_trial_says():
    X, y = additive()
    model = HistGradientBoostingRegressor(budget=1.0, random_state=0).fit(X, y)
    best = max(model.budget_trials_, key=lambda one: one["score"])
    decided = {name: best[name] for name in ("learning_rate", "max_leaf_nodes", "max_iter")}
    plain = HistGradientBoostingRegressor(**decided, early_stopping=False, random_state=0).fit(X, y)
    assert model.n_iter_ == best["max_iter"]
    assert np.array_equal(model.predict(X), plain.predict(X))


@pytest.mark.fixed_seed("500 held-out rows can rank trees of nearly equal errors otherwise")
def test_a_sum_of_functions_of_one_column_is_given_small_trees():
    # The held-out tenth of fewer rows could not tell.
    model = HistGradientBoostingRegressor(budget=1.0, random_state=0).fit(*additive(5000))
    best = max(model.budget_trials_, key=lambda one: one["score"])
    assert best["max_leaf_nodes"] <= 8


def test_the_users_own_rows_may_be_the_judge():
    X, y = additive()
    model = HistGradientBoostingRegressor(budget=0.5, random_state=0)
    model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    best = max(model.budget_trials_, key=lambda one: one["score"])
    assert best["score"] == pytest.approx(-0.5 * np.mean((model.predict(X[400:]) - y[400:]) ** 2), rel=1e-9)


# Optimality.


def test_a_budget_beats_the_defaults_where_these_are_too_rough():
    X, y = make_friedman1(2500, noise=1.0, random_state=0)
    plain = HistGradientBoostingRegressor(random_state=0).fit(X[:500], y[:500])
    model = HistGradientBoostingRegressor(budget=1.0, random_state=0).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > plain.score(X[500:], y[500:])


# Invariance.


def test_threads_leave_no_trace():
    X, y = make_classification(500, 8, random_state=0)
    models = [HistGradientBoostingClassifier(budget=0.5, n_jobs=jobs, random_state=0).fit(X, y) for jobs in (1, 3)]
    assert models[0].budget_trials_ == models[1].budget_trials_
    assert np.array_equal(models[0].decision_function(X), models[1].decision_function(X))


# Edges.


def test_the_time_limit_holds_for_trials_and_fit_together(monkeypatch):
    X, y = make_classification(200, 5, random_state=0)
    readings = itertools.count()
    # A clock that advances by a second whenever it is read, at every step among others.
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(readings)))
    limits = {"unlimited": None, "limited": 60.0}
    spent, models = {}, {}
    for name, seconds in limits.items():
        began = next(readings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            models[name] = HistGradientBoostingClassifier(budget=2.0, max_time=seconds, random_state=0).fit(X, y)
        spent[name] = next(readings) - began
    assert spent["unlimited"] > 180
    # Each of some eight trials and the last fit end with the step in which their time is over.
    assert spent["limited"] < 70
    assert models["limited"].score(X, y) > 0.7


# Errors.


def test_a_parameter_that_the_budget_decides_is_refused():
    words = r"learning_rate must be left at 0.1 with budget=1.0, which decides it; got 0.3. Leave out one of the two."
    with pytest.raises(ParameterError, match=words):
        HistGradientBoostingRegressor(budget=1.0, learning_rate=0.3).fit(*additive(100))
