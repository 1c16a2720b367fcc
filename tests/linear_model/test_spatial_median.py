"""Theil-Sen regression."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import TheilSenRegressor as TheirTheilSen

from mercer.errors import ParameterError
from mercer.linear_model import TheilSenRegressor
from mercer.linear_model._spatial_median import look_from


def draw(n=40, d=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = X @ np.arange(1.0, d + 1) + 3.0 + 0.1 * random.normal(size=n)
    y[: n // 8] += 40.0
    return X, y


def test_the_answer_is_the_spatial_median_of_all_planes():
    X, y = draw(n=16)
    A = np.column_stack([np.ones(16), X])
    planes = np.array([np.linalg.solve(A[list(one)], y[list(one)]) for one in combinations(range(16), 3)])
    model = TheilSenRegressor(tol=1e-9, max_iter=5000).fit(X, y)

    def distance(point):
        return np.linalg.norm(planes - point, axis=1).mean()

    best = minimize(distance, np.median(planes, axis=0), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13})
    found = np.append(model.intercept_, model.coef_)
    assert distance(found) <= best.fun * (1 + 1e-9)
    assert model.converged_
    assert model.n_subpopulation_ == len(planes)
    np.testing.assert_allclose(model.history_["objective"][-1], distance(found))


def test_wrong_rows_below_the_breakdown_point_change_little():
    X, y = draw(n=80, d=1, seed=1)
    model = TheilSenRegressor(random_state=0).fit(X, y)
    assert model.breakdown_ > 1 / 8
    np.testing.assert_allclose(model.coef_, [1.0], atol=0.15)
    np.testing.assert_allclose(model.intercept_, 3.0, atol=0.15)


def test_all_rows_in_one_set_are_least_squares():
    X, y = draw()
    A = np.column_stack([np.ones(len(X)), X])
    expected = np.linalg.lstsq(A, y, rcond=None)[0]
    model = TheilSenRegressor(n_subsamples=len(X)).fit(X, y)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), expected)


def test_a_point_that_many_share_holds_the_median():
    points = np.array([[0.0, 0.0]] * 3 + [[1.0, 0.0], [0.0, 5.0]])
    state = look_from(points, np.zeros(2))
    assert state.slope == 0.0
    np.testing.assert_array_equal(state.following, [0.0, 0.0])


def test_all_sets_give_what_scikit_learn_finds():
    X, y = draw(n=20, d=2, seed=2)
    ours, theirs = TheilSenRegressor(tol=1e-8).fit(X, y), TheirTheilSen(tol=1e-9, max_iter=3000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.breakdown_ == pytest.approx(theirs.breakdown_)


def test_sets_that_cannot_be_are_refused():
    X, y = draw()
    with pytest.raises(ParameterError, match="n_subsamples > n_samples"):
        TheilSenRegressor(n_subsamples=1000).fit(X, y)
    with pytest.raises(ParameterError, match=r"n_features\+1 > n_subsamples \(3 > 2\)"):
        TheilSenRegressor(n_subsamples=2).fit(X, y)
