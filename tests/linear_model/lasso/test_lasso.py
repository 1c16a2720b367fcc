"""Lasso and elastic net: closed forms, optimality conditions, scikit-learn's objective, scales, and errors."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet as TheirElasticNet

from mercer.errors import DataError
from mercer.linear_model import ElasticNet, Lasso, LinearRegression, Ridge

TIGHT = {"tol": 1e-11, "max_iter": 100_000}
# Descent on the scatter of all columns, and on working sets.
SIZES = {"gram": (120, 20), "working sets": (60, 600)}


def example(n=120, d=20, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    X[:, 1:] += 0.7 * X[:, :-1]
    y = X[:, :6] @ random.normal(size=6) * 2 + 3.0 + random.normal(size=n)
    return X, y


def objective(model, X, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    w, ratio = np.asarray(model.coef_, dtype=np.float64), getattr(model, "l1_ratio", 1.0)
    residual = y - X @ w - model.intercept_
    penalty = model.alpha * (ratio * np.abs(w).sum() + (1 - ratio) / 2 * w @ w)
    return float(weight @ residual**2 / (2 * weight.sum()) + penalty)


@pytest.mark.catalogue("LM-06")
@pytest.mark.parametrize("method", SIZES)
def test_orthonormal_columns_are_thresholded_by_half_of_lambda(method):
    n, d = {"gram": (30, 8), "working sets": (900, 600)}[method]
    random = np.random.default_rng(0)
    X, _ = np.linalg.qr(random.normal(size=(n, d)))
    y = X @ random.normal(size=d)
    least_squares, penalty = X.T @ y, 0.8
    # |y - X w|^2 + lambda |w|_1 is 2 n times the objective at alpha = lambda / (2 n).
    model = Lasso(alpha=penalty / (2 * n), fit_intercept=False, **TIGHT).fit(X, y)
    expected = np.sign(least_squares) * np.maximum(np.abs(least_squares) - penalty / 2, 0.0)
    assert model.solver_used_ == method
    assert model.coef_ == pytest.approx(expected, abs=1e-9)
    assert ((model.coef_ == 0) == (expected == 0)).all()


@pytest.mark.catalogue("LM-06", "OP-20")
@pytest.mark.parametrize("method", SIZES)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.6])
def test_the_optimality_conditions_hold_column_by_column(method, positive, ratio):
    X, y = example(*SIZES[method])
    model = ElasticNet(alpha=0.05, l1_ratio=ratio, positive=positive, **TIGHT).fit(X, y)
    w, slopes = model.coef_, X.T @ (y - model.predict(X)) / len(y)
    bound = 0.05 * ratio
    used = w != 0
    assert model.solver_used_ == method
    assert 0 < used.sum() < X.shape[1]
    assert slopes[used] == pytest.approx(bound * np.sign(w[used]) + 0.05 * (1 - ratio) * w[used], abs=1e-6)
    assert ((slopes if positive else np.abs(slopes))[~used] <= bound + 1e-6).all()
    assert not positive or (w >= 0).all()


@pytest.mark.catalogue("LM-06")
@pytest.mark.parametrize("method", SIZES)
def test_from_the_largest_slope_on_every_coefficient_is_zero(method):
    X, y = example(*SIZES[method])
    first = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
    above, below = (Lasso(alpha=first * factor, **TIGHT).fit(X, y) for factor in (1 + 1e-9, 0.999))
    assert (above.coef_ == 0).all()
    assert above.intercept_ == pytest.approx(y.mean())
    assert np.count_nonzero(below.coef_) == 1


@pytest.mark.parametrize("method", SIZES)
@pytest.mark.parametrize("ratio", [1.0, 0.3])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_scikit_learns_and_at_least_as_low(method, ratio, positive, weighted):
    X, y = example(*SIZES[method])
    weight = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float) if weighted else None
    given = {"alpha": 0.02, "l1_ratio": ratio, "positive": positive, "max_iter": 100_000}
    ours = ElasticNet(**given, tol=1e-10).fit(X, y, weight)
    theirs = TheirElasticNet(**given, tol=1e-10).fit(X, y, weight)
    assert objective(ours, X, y, weight) <= objective(theirs, X, y, weight) + 1e-9
    assert ours.history_["objective"][-1] == pytest.approx(objective(ours, X, y, weight), rel=1e-9)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-2)


@pytest.mark.parametrize("method", SIZES)
def test_the_objective_falls_and_the_gap_bounds_the_distance_from_the_optimum_at_every_step(method):
    X, y = example(*SIZES[method])
    best = objective(Lasso(alpha=0.01, **TIGHT).fit(X, y), X, y)
    history = Lasso(alpha=0.01, tol=1e-8, max_iter=10_000).fit(X, y).history_
    assert len(history["gap"]) > 2
    assert (history["objective"] - best <= history["gap"] + 1e-9).all()
    assert np.diff(history["objective"]).max() <= 1e-12


@pytest.mark.parametrize("scale", [1e-140, 1e-70, 1e70, 1e140])
@pytest.mark.parametrize("method", SIZES)
def test_units_of_rows_and_targets_change_nothing_but_units(scale, method):
    X, y = example(*SIZES[method])
    plain = Lasso(alpha=0.1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The penalty is in these units, which the warning says; the answer is right in them all the same.
        warnings.filterwarnings("ignore", r"Lasso: column \d+ spreads over")
        scaled = Lasso(alpha=0.1 * scale**2).fit(scale * X, scale * y)
    assert scaled.coef_ == pytest.approx(plain.coef_, abs=1e-6)
    assert np.count_nonzero(plain.coef_) >= 5


def test_sums_of_squares_that_overflow_are_an_error_that_says_what_to_do():
    X, y = example()
    with pytest.raises(DataError, match=r"Lasso: .*the sums of squares overflow\. Scale the columns"):
        Lasso().fit(1e160 * X, y)


def test_a_random_order_of_coordinates_ends_at_the_same_minimum():
    X, y = example()
    cyclic, drawn = (Lasso(alpha=0.05, selection=s, random_state=0, **TIGHT).fit(X, y) for s in ("cyclic", "random"))
    assert drawn.coef_ == pytest.approx(cyclic.coef_, abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_gram_matrix_that_is_known_is_used_and_a_wrong_one_refused(weighted):
    X, y = example()
    weight = np.random.default_rng(1).uniform(size=len(y)) if weighted else np.ones(len(y))
    rows = X - np.average(X, axis=0, weights=weight)
    gram = rows.T @ (weight[:, None] * rows) * len(y) / weight.sum()
    given = Lasso(alpha=0.05, precompute=gram, **TIGHT).fit(rows, y, weight)
    assert given.coef_ == pytest.approx(Lasso(alpha=0.05, **TIGHT).fit(X, y, weight).coef_, abs=1e-9)
    with pytest.raises(DataError, match="did not pass validation"):
        Lasso(alpha=0.05, precompute=2 * gram).fit(rows, y, weight)


def test_without_a_penalty_least_squares_answers_with_scikit_learns_warning():
    X, y = example()
    with pytest.warns(UserWarning, match="With alpha=0, this algorithm does not converge well"):
        model = Lasso(alpha=0.0).fit(X, y)
    assert model.coef_ == pytest.approx(LinearRegression().fit(X, y).coef_)


def test_without_an_l1_part_ridge_answers_with_a_duality_gap():
    X, y = example()
    model = ElasticNet(alpha=0.5, l1_ratio=0.0).fit(X, y)
    assert model.coef_ == pytest.approx(Ridge(alpha=0.5 * len(y)).fit(X, y).coef_)
    assert 0 <= model.dual_gap_ < 1e-9


@pytest.mark.parametrize("rows", [np.asarray, csr_array])
def test_constant_and_double_columns_and_a_constant_target_are_no_trouble(rows):
    X, y = example()
    X = X[:, :3]
    spoilt = np.column_stack([np.full(len(y), 7.0), X, X, np.zeros(len(y))])
    model, plain = Lasso(alpha=0.1, **TIGHT).fit(rows(spoilt), y), Lasso(alpha=0.1, **TIGHT).fit(X, y)
    assert (model.coef_[[0, -1]] == 0).all()
    assert model.coef_[1:4] + model.coef_[4:7] == pytest.approx(plain.coef_, abs=1e-7)
    still = Lasso(alpha=0.1).fit(rows(spoilt), np.full(len(y), 5.0))
    assert (still.coef_ == 0).all()
    assert still.intercept_ == 5.0
    assert still.converged_


def test_several_targets_are_fitted_each_for_itself():
    X, y = example()
    together = Lasso(alpha=0.1, **TIGHT).fit(X, np.column_stack([y, X[:, 3], np.ones(len(y))]))
    assert together.coef_[0] == pytest.approx(Lasso(alpha=0.1, **TIGHT).fit(X, y).coef_, abs=1e-9)
    assert together.coef_.shape == (3, 20)
    assert len(together.dual_gap_) == len(together.n_iter_) == 3
    assert (together.sparse_coef_.toarray() == together.coef_).all()


def test_a_warm_start_goes_on_from_the_last_fit_and_refuses_other_shapes():
    X, y = example(60, 600)
    model = Lasso(alpha=0.01, warm_start=True, **TIGHT).fit(X, y)
    sweeps = model.n_iter_
    assert model.fit(X, y).n_iter_ < sweeps / 2
    with pytest.raises(DataError, match=r"warm_start needs coefficients of shape \(1, 20\).*got \(1, 600\)"):
        model.fit(*example())


def test_a_fit_that_is_cut_short_says_how_far_it_is_and_keeps_what_it_has():
    X, y = example(60, 600)
    with pytest.warns(ConvergenceWarning, match=r"Lasso: stopped by max_iter .*duality gap .*raise max_iter or tol"):
        model = Lasso(alpha=0.001, max_iter=3, tol=1e-10).fit(X, y)
    assert not model.converged_
    assert objective(model, X, y) < objective(Lasso(alpha=0.001).fit(X, 0 * y + y.mean()), X, y)
