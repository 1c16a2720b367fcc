"""Small tables: the same answers however the rows are stored, and a search where a step is too long."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer.linear_model import LogisticRegression


def make_rows(n=60, d=4):
    draw = np.random.default_rng(3)
    X = draw.normal(size=(n, d)) * np.arange(1.0, d + 1.0)
    return X, (X[:, 0] - X[:, 1] + draw.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("C", [0.1, 10.0, np.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_rows_take_the_same_steps(C, fit_intercept):
    X, y = make_rows()
    dense = LogisticRegression(C=C, fit_intercept=fit_intercept).fit(X, y)
    sparse = LogisticRegression(C=C, fit_intercept=fit_intercept).fit(csr_array(X), y)
    assert dense.n_iter_[0] == sparse.n_iter_[0]
    for name in ("objective", "gradient"):
        np.testing.assert_allclose(dense.history_[name], sparse.history_[name], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-8)
    assert dense.certificate_.value == pytest.approx(sparse.certificate_.value, rel=1e-6, abs=1e-12)


def test_a_start_from_which_newton_overshoots_ends_at_the_minimum():
    X, y = make_rows()
    model = LogisticRegression(warm_start=True, C=1e4, tol=1e-8).fit(X, y)
    expected = model.coef_.copy()
    model.coef_, model.intercept_ = np.full((1, 4), 60.0), np.full(1, -60.0)
    model.fit(X, y)
    assert model.converged_
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-5)


def test_no_steps_leave_the_start_with_a_certificate():
    X, y = make_rows()
    with pytest.warns(match="max_iter"):
        model = LogisticRegression(max_iter=0).fit(X, y)
    assert (model.coef_ == 0).all()
    assert model.certificate_.value > model.certificate_.tolerance
