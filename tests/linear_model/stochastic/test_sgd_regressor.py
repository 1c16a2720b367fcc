"""Regression by stochastic gradients: running means, scikit-learn's steps, orders of rows, rates that are too large."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDRegressor as TheirRegressor

from mercer.errors import DataError
from mercer.linear_model import Ridge, SGDRegressor
from mercer.linear_model._solvers.stochastic.epochs import draw_order

LOSSES = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")


def example(n=400, d=5, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1.0) + 2.0 + 0.5 * random.normal(size=n)


@pytest.mark.catalogue("OP-05")
def test_rates_of_one_over_t_give_the_running_mean():
    """Use one constant column and the squared loss: w moves by (y - w) / t."""
    y = np.random.default_rng(0).normal(size=200)
    given = {"fit_intercept": False, "learning_rate": "invscaling", "eta0": 1.0, "power_t": 1.0, "penalty": None}
    model = SGDRegressor(**given, shuffle=False, max_iter=1, tol=None).fit(np.ones((200, 1)), y)
    assert model.coef_[0] == pytest.approx(y.mean(), rel=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("options", [{}, {"penalty": "l1", "alpha": 0.01}, {"average": True}, {"average": 1000}])
def test_steps_equal_scikit_learns_in_the_order_of_the_rows(loss, options):
    X, y = example()
    given = {"loss": loss, "shuffle": False, "max_iter": 5, "tol": None, **options}
    model, theirs = SGDRegressor(**given).fit(X, y), TheirRegressor(**given).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=1e-8)


def test_averages_come_near_the_ridge_solution():
    X, y = example(3000)
    model = SGDRegressor(alpha=0.01, average=True, max_iter=100, tol=None, random_state=0).fit(X, y)
    ridge = Ridge(alpha=0.01 * len(y)).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=0.02)
    assert model.certificate_.kind == "none"
    assert np.isfinite(model.history_["objective"]).all()


def test_partial_fit_goes_on_where_it_was():
    X, y = example()
    whole = SGDRegressor(shuffle=False, max_iter=4, tol=None).fit(X, y)
    model = SGDRegressor(shuffle=False)
    for _ in range(4):
        model.partial_fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-12)
    assert model.t_ == whole.t_


def test_rows_of_weight_zero_are_as_if_absent():
    X, y = example()
    weight = np.random.default_rng(1).integers(0, 2, len(y)).astype(float)
    model = SGDRegressor(random_state=0).fit(X, y, sample_weight=weight)
    assert model.coef_.tolist() == SGDRegressor(random_state=0).fit(X[weight > 0], y[weight > 0]).coef_.tolist()


def test_weights_are_repetitions_in_expectation():
    """Compare averages of many short runs with a weight of two and with the row twice; a weight ignored would show."""
    X, y = example(40)
    weight = np.where(y > 0, 2.0, 1.0)
    twice = weight.astype(int)
    given = {"learning_rate": "constant", "eta0": 0.001, "max_iter": 200, "tol": None, "average": True}
    weighted = SGDRegressor(**given, random_state=0).fit(X, y, sample_weight=weight)
    repeated = SGDRegressor(**given, random_state=0).fit(X.repeat(twice, axis=0), y.repeat(twice))
    ignored = SGDRegressor(**given, random_state=0).fit(X, y)
    gap = np.abs(weighted.coef_ - repeated.coef_).max()
    assert gap < 0.2 * np.abs(ignored.coef_ - repeated.coef_).max()


@pytest.mark.parametrize(("n", "stored"), [(1000, 5.0), (50_001, 60.0), (3000, 1024.0), (90_000, 50.0)])
def test_a_random_order_has_every_row_once_and_fetches_the_same_rows(n, stored):
    rows = np.flatnonzero(np.arange(n) % 3)
    order = draw_order(rows, stored, np.random.default_rng(0))
    assert np.array_equal(np.sort(order.visits), rows)
    assert np.array_equal(np.sort(order.fetches), rows)
    # A row is fetched no later than it is visited: at the latest one window before the end of its own.
    when = np.empty(n, dtype=int)
    when[order.fetches] = np.arange(len(rows))
    assert (when[order.visits] < np.arange(len(rows)) + order.distance).all()
    assert abs(np.corrcoef(order.visits, np.arange(len(rows)))[0, 1]) < 0.2


def test_large_orders_learn_sorted_rows_as_well_as_any():
    X, y = example(60_000, 40)
    by_target = np.argsort(y)
    model = SGDRegressor(max_iter=2, tol=None, random_state=0).fit(X[by_target], y[by_target])
    assert model.score(X, y) > 0.99


@pytest.mark.catalogue("OP-02")
def test_a_rate_that_is_too_large_ends_with_one_that_works():
    X, y = example()
    X *= 10
    with pytest.warns(ConvergenceWarning, match=r"the learning rate is too large .* try eta0=0\.\d+") as caught:
        model = SGDRegressor(learning_rate="constant", eta0=0.1, random_state=0).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ < 10
    advised = float(str(caught[0].message).rpartition("eta0=")[2].rstrip("."))
    assert SGDRegressor(learning_rate="constant", eta0=advised, random_state=0).fit(X, y).score(X, y) > 0.99


def test_starting_points_must_fit_and_serve():
    X, y = example()
    with pytest.raises(DataError, match=r"Provided coef_init does not match dataset; expected shape \(1, 5\)"):
        SGDRegressor().fit(X, y, coef_init=np.zeros(3))
    first = SGDRegressor(random_state=0).fit(X, y)
    again = SGDRegressor(random_state=0, max_iter=1, tol=None)
    again.fit(X, y, coef_init=first.coef_, intercept_init=first.intercept_)
    assert again.history_["objective"][0] < first.history_["objective"][0] / 10
    with pytest.raises(ValueError, match="early_stopping should be False with partial_fit"):
        SGDRegressor(early_stopping=True).partial_fit(X, y)
