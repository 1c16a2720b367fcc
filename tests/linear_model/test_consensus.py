"""Random sample consensus: outliers left out, the number of trials, checks, ways of fitting, the same bits."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model

from mercer.linear_model import LinearRegression, RANSACRegressor, Ridge
from mercer.linear_model._consensus import count_trials


def draw(n=200, d=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + 5.0
    y = X @ np.arange(1.0, d + 1.0) + 2.0 + 0.01 * random.normal(size=n)
    wrong = random.random(n) < 0.3
    y[wrong] += random.choice([-1.0, 1.0], wrong.sum()) * random.uniform(1.0, 50.0, wrong.sum())
    return X, y, wrong


def test_the_fit_is_least_squares_of_the_rows_that_are_not_wrong():
    X, y, wrong = draw()
    model = RANSACRegressor(residual_threshold=0.2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.inlier_mask_, ~wrong)
    np.testing.assert_allclose(model.estimator_.coef_, LinearRegression().fit(X[~wrong], y[~wrong]).coef_)
    assert model.history_["objective"][-1] == (~wrong).sum()
    theirs = sklearn.linear_model.RANSACRegressor(residual_threshold=0.2, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=1e-6)


def test_equations_solved_at_once_give_what_fits_one_by_one_do(monkeypatch):
    X, y, _ = draw(80)
    for size in (None, 6):
        several = RANSACRegressor(min_samples=size, random_state=3).fit(X, y)
        with monkeypatch.context() as changed:
            changed.setattr("mercer.linear_model._consensus._Trials._is_plain", False)
            single = RANSACRegressor(min_samples=size, random_state=3).fit(X, y)
        np.testing.assert_array_equal(several.inlier_mask_, single.inlier_mask_)
        assert several.n_trials_ == single.n_trials_
        np.testing.assert_allclose(several.predict(X), single.predict(X))


def test_trials_end_when_one_of_good_rows_is_likely():
    assert count_trials(0.5, 2, 0.99) == 17  # 1 - 0.75^17 > 0.99 > 1 - 0.75^16
    assert count_trials(1.0, 2, 0.99) <= 1
    assert count_trials(0.5, 2, 0.0) == 0
    assert count_trials(0.0, 2, 0.99) == np.inf
    X, y, _ = draw()
    assert RANSACRegressor(residual_threshold=0.2, random_state=0).fit(X, y).n_trials_ < 100
    assert RANSACRegressor(residual_threshold=0.2, stop_n_inliers=4, random_state=0).fit(X, y).n_trials_ == 1


def test_threads_change_no_bit_and_any_regressor_sparse_rows_and_tables_of_targets_serve():
    X, y, wrong = draw()
    settings = {"estimator": Ridge(1e-6), "min_samples": 5, "residual_threshold": 0.5, "random_state": 0}
    models = [RANSACRegressor(**settings, n_jobs=threads).fit(X, y) for threads in (1, 3)]
    np.testing.assert_array_equal(models[0].estimator_.coef_, models[1].estimator_.coef_)
    np.testing.assert_array_equal(models[0].inlier_mask_, ~wrong)
    sparse = RANSACRegressor(residual_threshold=0.2, random_state=0).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_array_equal(sparse.inlier_mask_, ~wrong)
    table = RANSACRegressor(residual_threshold=0.4, random_state=0).fit(X, np.column_stack([y, -y]))
    assert table.predict(X).shape == (200, 2)
    np.testing.assert_array_equal(table.inlier_mask_, ~wrong)


def test_refused_draws_are_counted_and_no_consensus_says_why():
    X, y, _ = draw()
    with pytest.raises(ValueError, match=r"could not find a valid consensus set.*100 refused by is_data_valid"):
        RANSACRegressor(is_data_valid=lambda X, y: False).fit(X, y)
    with pytest.raises(ValueError, match="skipped more iterations than `max_skips`"):
        RANSACRegressor(is_model_valid=lambda model, X, y: False, max_skips=3).fit(X, y)
    model = RANSACRegressor(is_data_valid=lambda X, y: X[0, 0] > 5.0, random_state=0).fit(X, y)
    assert 0 < model.n_skips_invalid_data_ < model.n_trials_
    with pytest.raises(ValueError, match="`min_samples` needs to be explicitly set"):
        RANSACRegressor(Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="n_samples = 200; got 300"):
        RANSACRegressor(min_samples=300).fit(X, y)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_of_rows_and_targets_change_nothing_but_units(factor):
    X, y, _ = draw()
    plain = RANSACRegressor(random_state=0).fit(X, y)
    for rows, targets in ((factor * X, y), (X, factor * y), (X + 1e6, y)):
        model = RANSACRegressor(random_state=0).fit(rows, targets)
        np.testing.assert_array_equal(model.inlier_mask_, plain.inlier_mask_)
