"""Quantile regression: the exact optimum of its linear programme, by every way to it."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import QuantileRegressor as TheirQuantile
from sklearn.metrics import mean_pinball_loss

from mercer.linear_model import GeneralizedLinearEstimator, QuantileRegressor
from mercer.objectives import Pinball


def example(n=400, d=6, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + random.normal(size=d)
    return X, X @ random.normal(size=d) + random.standard_t(2, size=n)


def objective(model, X, y, weight=None):
    loss = mean_pinball_loss(y, model.predict(X), alpha=model.quantile, sample_weight=weight)
    return loss + model.alpha * np.abs(model.coef_).sum()


@pytest.mark.catalogue("LM-19")
def test_the_median_of_an_intercept_alone_is_the_median():
    y = np.array([3.0, 1.0, 10.0, 4.0, 7.0])
    assert QuantileRegressor().fit(np.zeros((5, 1)), y).intercept_ == pytest.approx(4.0, abs=1e-12)
    weighted = QuantileRegressor().fit(np.zeros((5, 1)), y, sample_weight=[1, 1, 5, 1, 1])
    assert weighted.intercept_ == pytest.approx(10.0, abs=1e-12)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_optimum_is_that_of_scikit_learn_to_rounding(quantile, alpha, fit_intercept):
    X, y = example()
    given = {"quantile": quantile, "alpha": alpha, "fit_intercept": fit_intercept}
    model, theirs = QuantileRegressor(**given).fit(X, y), TheirQuantile(**given).fit(X, y)
    assert objective(model, X, y) == pytest.approx(objective(theirs, X, y), rel=1e-12)
    assert model.coef_ == pytest.approx(theirs.coef_, abs=1e-9)
    assert ((model.coef_ == 0) == (np.abs(theirs.coef_) < 1e-12)).all()
    assert model.converged_
    assert model.certificate_.satisfied


@pytest.mark.parametrize("alpha", [0.0, 0.02])
def test_near_rows_alone_give_the_optimum_of_all_rows(alpha):
    X, y = example(5000, 8)
    near = QuantileRegressor(quantile=0.7, alpha=alpha).fit(X, y)
    whole = QuantileRegressor(quantile=0.7, alpha=alpha, solver="highs-ds").fit(X, y)
    assert (near.solver_used_, whole.solver_used_) == ("near rows", "all rows")
    assert near.history_["rows"][-1] < 2000
    assert near.coef_ == pytest.approx(whole.coef_, abs=1e-9)
    assert near.intercept_ == pytest.approx(whole.intercept_, abs=1e-9)


def test_sparse_rows_and_integer_targets_with_many_ties():
    X, y = example(3000, 5)
    X, y = np.where(np.abs(X) < 1.0, 0.0, X), np.round(y)
    dense = QuantileRegressor(quantile=0.3, alpha=0.01).fit(X, y)
    sparse = QuantileRegressor(quantile=0.3, alpha=0.01).fit(csr_array(X), y)
    assert dense.certificate_.satisfied
    assert objective(sparse, X, y) == pytest.approx(objective(dense, X, y), rel=1e-10)


def test_the_share_of_targets_below_the_plane_is_the_quantile():
    X, y = example(4000, 4)
    for quantile in (0.05, 0.5, 0.9):
        model = QuantileRegressor(quantile=quantile, alpha=0.0).fit(X, y)
        assert np.mean(y < model.predict(X)) == pytest.approx(quantile, abs=2e-3)


def test_smoothing_alone_comes_as_close_as_its_gap_says():
    X, y = example(2000, 5)
    exact = QuantileRegressor(quantile=0.8, alpha=0.05).fit(X, y)
    smooth = GeneralizedLinearEstimator(Pinball(0.8), "l1", alpha=0.05, tol=1e-6).fit(X, y)
    best = exact.history_["objective"][-1]
    assert 0 <= smooth.history_["objective"][-1] - best + 1e-12 <= smooth.certificate_.value + 2e-12


def test_options_go_to_highs_and_its_failure_is_told():
    X, y = example(200, 3)
    with pytest.warns(UserWarning, match="not converged"):
        # Without a penalty, as one that is large is solved by zeros at once.
        model = QuantileRegressor(alpha=0.0, solver="highs-ds", solver_options={"maxiter": 1}).fit(X, y)
    assert not model.converged_


def test_solvers_that_scipy_dropped_are_refused():
    X, y = example(20, 2)
    with pytest.raises(ValueError, match=r"Solver interior-point is not anymore available in SciPy >= 1.11.0"):
        QuantileRegressor(solver="interior-point").fit(X, y)
