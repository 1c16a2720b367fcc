"""Huber regression: its objective beside scikit-learn's, its limits, its scale, and outliers that do not sway it."""

import numpy as np
import pytest
from sklearn.linear_model import HuberRegressor as TheirHuber

from mercer.linear_model import HuberRegressor, LinearRegression, QuantileRegressor


def example(n=300, d=5, outliers=0.1):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d)) + 2.0
    coef = random.normal(size=d) * 3
    y = X @ coef + 1.0 + random.normal(size=n)
    y[: int(outliers * n)] += 50.0
    return X, y, coef


def objective(model, X, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    t = np.abs(y - X @ model.coef_ - model.intercept_) / model.scale_
    H = np.where(t <= model.epsilon, t**2, 2 * model.epsilon * t - model.epsilon**2)
    return float(np.sum(weight * model.scale_ * (1 + H)) + model.alpha * np.sum(model.coef_**2))


@pytest.mark.catalogue("LM-19")
@pytest.mark.parametrize(("epsilon", "alpha"), [(1.35, 1e-4), (1.1, 1.0), (3.0, 10.0)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_objective_is_scikit_learns_and_at_least_as_low(epsilon, alpha, fit_intercept):
    X, y, _ = example()
    given = {"epsilon": epsilon, "alpha": alpha, "fit_intercept": fit_intercept}
    model = HuberRegressor(**given, tol=1e-9).fit(X, y)
    theirs = TheirHuber(**given, max_iter=10_000, tol=1e-9).fit(X, y)
    assert model.history_["objective"][-1] == pytest.approx(objective(model, X, y), rel=1e-12)
    assert objective(model, X, y) <= objective(theirs, X, y) * (1 + 1e-12)
    assert model.coef_ == pytest.approx(theirs.coef_, abs=1e-3)
    assert model.scale_ == pytest.approx(theirs.scale_, rel=1e-3)


@pytest.mark.catalogue("LM-19")
def test_outliers_move_least_squares_far_and_huber_little():
    X, y, coef = example()
    truth = X @ coef + 1.0
    assert np.abs(HuberRegressor().fit(X, y).predict(X) - truth).mean() < 0.5
    assert np.abs(LinearRegression().fit(X, y).predict(X) - truth).mean() > 3.0


@pytest.mark.catalogue("LM-19")
def test_a_large_epsilon_gives_least_squares():
    X, y, _ = example(outliers=0.0)
    huber = HuberRegressor(epsilon=1e3, alpha=0.0, tol=1e-10).fit(X, y)
    assert huber.coef_ == pytest.approx(LinearRegression().fit(X, y).coef_, abs=1e-7)
    assert huber.scale_ == pytest.approx(np.sqrt(np.mean(huber.residuals(X, y) ** 2)), rel=1e-7)


def test_an_epsilon_near_one_comes_close_to_least_absolute_deviations():
    X, y, _ = example()
    huber = HuberRegressor(epsilon=1 + 1e-5, alpha=0.0).fit(X, y)
    assert huber.coef_ == pytest.approx(QuantileRegressor(alpha=0.0).fit(X, y).coef_, abs=0.1)


def test_the_gap_bounds_the_distance_from_the_optimum_at_every_step():
    X, y, _ = example()
    best = HuberRegressor(tol=1e-13).fit(X, y).history_["objective"].min()
    history = HuberRegressor().fit(X, y).history_
    assert (history["objective"] - best <= history["gap"] + 1e-9 * best).all()
    assert np.diff(history["objective"]).max() < 0


def test_units_of_the_target_scale_the_model_and_nothing_else():
    X, y, _ = example()
    plain, thousands = (HuberRegressor(alpha=0.0, tol=1e-10).fit(X, factor * y) for factor in (1.0, 1e3))
    assert thousands.coef_ == pytest.approx(1e3 * plain.coef_, rel=1e-8)
    assert thousands.scale_ == pytest.approx(1e3 * plain.scale_, rel=1e-8)
    assert (thousands.outliers_ == plain.outliers_).all()
    assert plain.outliers_.sum() >= 30


def test_a_plane_that_meets_all_rows_takes_the_scale_to_its_least_value():
    X, _, coef = example(50)
    model = HuberRegressor(alpha=0.0).fit(X, X @ coef)
    assert model.coef_ == pytest.approx(coef, abs=1e-6)
    assert model.scale_ < 1e-6


def test_more_columns_than_rows_and_a_constant_target():
    X, y, _ = example(6, 20)
    model = HuberRegressor().fit(X, y)
    theirs = TheirHuber(max_iter=5000).fit(X, y)
    assert objective(model, X, y) <= objective(theirs, X, y)
    flat = HuberRegressor().fit(X, np.full(6, 3.0))
    assert flat.predict(X) == pytest.approx(np.full(6, 3.0))


def test_a_warm_start_at_the_optimum_takes_no_step():
    X, y, _ = example()
    model = HuberRegressor(warm_start=True).fit(X, y)
    assert model.n_iter_ > 0
    assert model.fit(X, y).n_iter_ == 0


def test_several_targets_are_refused():
    X, y, _ = example(20)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        HuberRegressor().fit(X, np.column_stack([y, y]))


def test_rows_that_are_elsewhere_have_the_same_model_and_a_word_on_outliers():
    X, y, _ = example()
    here = HuberRegressor().fit(X, y)
    elsewhere = HuberRegressor().fit([(X[:100], y[:100]), (X[100:], y[100:])])
    assert (elsewhere.coef_ == here.coef_).all()
    with pytest.raises(AttributeError, match="outliers_ is kept only of rows in memory or on a device"):
        _ = elsewhere.outliers_
