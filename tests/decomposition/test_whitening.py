"""Whitening: covariance I by every method, and a map that can be undone."""

import numpy as np
import pytest

from mercer.decomposition import PCA, Whitening, whitening_matrix
from mercer.errors import DataError

X = np.random.default_rng(0).normal(size=(200, 4)) @ np.random.default_rng(1).normal(size=(4, 4)) + 7.0


@pytest.mark.catalogue("PM-07")
@pytest.mark.parametrize("method", ["pca", "zca", "cholesky"])
def test_white_rows_have_the_identity_as_covariance_and_can_be_restored(method):
    model = Whitening(method).fit(X)
    rows = model.transform(X)
    np.testing.assert_allclose(np.cov(rows.T), np.eye(4), atol=1e-10)
    # The mean errs by eps, times its size and that of the map.
    rounding = 4 * np.finfo(float).eps * np.abs(X).max() * np.abs(model.components_).sum(axis=1).max()
    np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=rounding)
    np.testing.assert_allclose(model.inverse_transform(rows), X, atol=1e-10)
    np.testing.assert_allclose(model.components_, whitening_matrix(np.cov(X.T), kind=method), rtol=1e-8, atol=1e-12)
    # Any rotation of white rows is white.
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
    np.testing.assert_allclose(np.cov((rows @ turn).T), np.eye(4), atol=1e-10)


@pytest.mark.catalogue("PM-07")
def test_of_all_white_rows_those_of_zca_are_nearest():
    gaps = {}
    for method in ("pca", "zca", "cholesky"):
        gaps[method] = ((Whitening(method).fit_transform(X) - (X - X.mean(axis=0))) ** 2).sum()
    assert gaps["zca"] == min(gaps.values())


def test_it_agrees_with_pca_and_with_batches_and_weights():
    np.testing.assert_allclose(Whitening().fit_transform(X), PCA(whiten=True).fit_transform(X), atol=1e-9)
    batches = Whitening()
    for start in range(0, 200, 50):
        batches.partial_fit(X[start : start + 50])
    np.testing.assert_allclose(batches.components_, Whitening().fit(X).components_, rtol=1e-9)
    weight = np.random.default_rng(2).integers(0, 3, 200)
    weighted = Whitening("zca").fit(X, sample_weight=weight)
    repeated = Whitening("zca").fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-8, atol=1e-10)


def test_the_floor_keeps_directions_without_variance_finite():
    flat = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.raises(DataError, match=r"must have full rank to be whitened; got rank 4 of 5. Give floor"):
        Whitening(floor=0.0).fit(flat)
    model = Whitening(floor=0.01).fit(flat)
    variances = np.diag(np.cov(model.transform(flat).T))
    assert (variances <= 1 + 1e-9).all()
    np.testing.assert_allclose(model.inverse_transform(model.transform(flat)), flat, atol=1e-8)
    with pytest.raises(DataError, match="columns are constant"):
        Whitening().fit(np.ones((5, 2)))
