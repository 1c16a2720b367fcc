"""GaussianConditionalRegressor: the conditional of the joint Gaussian, least squares by another road."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse
from scipy.linalg import LinAlgWarning

from mercer._source import open_source
from mercer._source.block import DenseBlock
from mercer.errors import DataError
from mercer.linear_model import GaussianConditionalRegressor, LinearRegression
from mercer.linear_model._least_squares.gaussian_conditional import JointMoments

X = np.random.default_rng(0).normal(size=(200, 4)) @ np.random.default_rng(1).normal(size=(4, 4)) + 5.0
Y = X[:, :2] + np.random.default_rng(2).multivariate_normal([1.0, -1.0], [[1.0, 0.8], [0.8, 2.0]], size=200)


@pytest.mark.catalogue("LM-10")
def test_it_equals_least_squares_with_an_intercept():
    for targets in (Y, Y[:, 0]):
        joint, least = GaussianConditionalRegressor().fit(X, targets), LinearRegression().fit(X, targets)
        np.testing.assert_allclose(joint.coef_, least.coef_, rtol=1e-9)
        np.testing.assert_allclose(joint.intercept_, least.intercept_, rtol=1e-9)
        assert joint.coef_.shape == least.coef_.shape


@pytest.mark.catalogue("LM-10")
@pytest.mark.parametrize("ddof", [0, 1])
def test_mean_and_covariance_are_those_of_the_conditional_gaussian(ddof):
    model = GaussianConditionalRegressor(ddof=ddof).fit(X, Y)
    C, m = np.cov(np.hstack([X, Y]).T, ddof=ddof), np.hstack([X, Y]).mean(axis=0)
    np.testing.assert_allclose(model.covariance_, C, rtol=1e-10)
    mean = m[4:] + (X - m[:4]) @ np.linalg.solve(C[:4, :4], C[:4, 4:])
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-9)
    left = C[4:, 4:] - C[4:, :4] @ np.linalg.solve(C[:4, :4], C[:4, 4:])
    np.testing.assert_allclose(model.conditional_covariance_, left, rtol=1e-9)
    _, deviation = model.predict(X, return_std=True)
    np.testing.assert_allclose(deviation[7], np.sqrt(np.diagonal(left)))
    residual = Y - model.predict(X)
    np.testing.assert_allclose(left, residual.T @ residual / (200 - ddof), rtol=1e-8)


def test_batches_give_the_fit_to_all_rows():
    whole, parts = GaussianConditionalRegressor().fit(X, Y), GaussianConditionalRegressor()
    weight = np.resize([1.0, 2.0], 200)
    for part in (slice(0, 30), slice(30, 31), slice(31, 200)):
        parts.partial_fit(X[part], Y[part])
    for name in ("coef_", "intercept_", "covariance_", "conditional_covariance_", "n_samples_seen_"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, err_msg=name)
    parts.fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:], sample_weight=weight[50:])
    weighted = GaussianConditionalRegressor().fit(X, Y, sample_weight=np.r_[np.ones(50), weight[50:]])
    np.testing.assert_allclose(parts.coef_, weighted.coef_, rtol=1e-9)


def test_sparse_rows_and_blocks_give_the_same():
    rows = np.where(X < 5.0, 0.0, X)
    dense = GaussianConditionalRegressor().fit(rows, Y)
    for other in ((scipy.sparse.csr_array(rows), Y), ([(rows[:90], Y[:90]), (rows[90:], Y[90:])], None)):
        np.testing.assert_allclose(GaussianConditionalRegressor().fit(*other).coef_, dense.coef_, rtol=1e-8)


def test_the_statistic_runs_on_array_api_arrays():
    xp = array_api_strict
    strict = JointMoments().of(DenseBlock(xp.asarray(X), 0, xp.asarray(Y), None, xp))
    native = open_source(X, Y).reduce(JointMoments())
    np.testing.assert_allclose(np.asarray(strict.scatter), native.scatter, rtol=1e-12)


def test_columns_that_others_determine_warn_and_predict():
    twice = np.hstack([X, X[:, :1]])
    with pytest.warns(LinAlgWarning, match="5 columns vary in 4 directions only"):
        model = GaussianConditionalRegressor().fit(twice, Y)
    np.testing.assert_allclose(model.predict(twice), LinearRegression().fit(X, Y).predict(X), rtol=1e-7)


def test_targets_of_another_shape_are_refused():
    with pytest.raises(DataError, match="y must have the shape it had before"):
        GaussianConditionalRegressor().partial_fit(X, Y).partial_fit(X, Y[:, 0])
