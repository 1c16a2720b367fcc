"""Random axes keep distances as the lemma of Johnson and Lindenstrauss says, and the measured distortion shows it."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import DataDimensionalityWarning

from mercer.errors import DataError
from mercer.random_projection import (
    GaussianRandomProjection,
    SparseRandomProjection,
    johnson_lindenstrauss_eps,
    johnson_lindenstrauss_min_dim,
    measure_distortion,
)

BOTH = [GaussianRandomProjection, SparseRandomProjection]
X = np.random.default_rng(0).normal(size=(60, 4000))


def test_the_bound_and_its_inverse():
    for eps in (0.05, 0.1, 0.5):
        count = johnson_lindenstrauss_min_dim(5000, eps=eps)
        assert count == int(4 * np.log(5000) / (eps**2 / 2 - eps**3 / 3))
        assert johnson_lindenstrauss_eps(5000, int(count)) == pytest.approx(eps, rel=3e-3)
    # 4 ln 1000 = 27.6 axes' worth of error 1/6 at most: 165 axes promise nothing.
    assert johnson_lindenstrauss_eps(1000, 165) == 1.0
    assert johnson_lindenstrauss_eps(1000, 166) < 1.0
    with pytest.raises(DataError, match=r"eps must be in \(0, 1\); got 1. 0.1 is usual"):
        johnson_lindenstrauss_min_dim(10, eps=1.0)


@pytest.mark.parametrize("make", BOTH)
def test_all_distances_are_kept_within_the_promised_error(make):
    model = make(eps=0.25, random_state=0)
    Y = model.fit_transform(X)
    assert model.n_components_ == johnson_lindenstrauss_min_dim(60, eps=0.25)
    distortion = measure_distortion(X, Y)
    assert len(distortion.ratios) == 60 * 59 // 2
    assert distortion.eps < 0.25
    assert distortion.share_within(0.25) == 1.0
    assert distortion.mean == pytest.approx(1.0, abs=0.03)
    assert distortion.least < 1 < distortion.greatest


@pytest.mark.parametrize("make", BOTH)
def test_squared_lengths_have_the_right_mean_and_variance(make):
    # |A x|^2 / |x|^2 has mean 1 and variance 2/k for Gaussian axes (less for sparse ones, by their bounded entries).
    x = np.random.default_rng(1).normal(size=(1, 200))
    ratios = [float((make(50, random_state=seed).fit(x).transform(x) ** 2).sum() / (x**2).sum()) for seed in range(150)]
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 * np.sqrt(2 / 50 / 150))
    assert np.var(ratios) == pytest.approx(2 / 50, rel=0.5)


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("stored", [True, False])
def test_the_way_back_is_a_right_inverse_and_gives_the_shortest_rows(make, stored):
    model = make(30, compute_inverse_components=stored, random_state=0)
    Y = model.fit_transform(X)
    back = model.inverse_transform(Y)
    np.testing.assert_allclose(model.transform(back), Y, atol=1e-9)
    assert (np.linalg.norm(back, axis=1) < np.linalg.norm(X, axis=1)).all()
    assert hasattr(model, "inverse_components_") == stored


def test_sparse_axes_have_the_density_and_the_values_that_were_asked_for():
    model = SparseRandomProjection(200, density=0.05, random_state=0).fit(X)
    assert scipy.sparse.issparse(model.components_)
    assert model.components_.nnz == pytest.approx(0.05 * 200 * 4000, rel=0.02)
    np.testing.assert_allclose(np.abs(model.components_.data), 1 / np.sqrt(0.05 * 200))
    assert np.mean(model.components_.data > 0) == pytest.approx(0.5, abs=0.02)
    # Places are independent: the counts of rows vary as a binomial distribution does.
    counts = np.diff(model.components_.indptr)
    assert np.var(counts) == pytest.approx(4000 * 0.05 * 0.95, rel=0.35)
    dense = SparseRandomProjection(20, density=1.0, random_state=0).fit(X)
    np.testing.assert_allclose(np.abs(dense.components_), 1 / np.sqrt(20))


def test_sparse_rows_stay_sparse_unless_told_otherwise():
    rows = scipy.sparse.random_array((50, 300), density=0.01, random_state=np.random.default_rng(0), format="csr")
    sparse = SparseRandomProjection(10, random_state=0).fit(rows)
    dense = SparseRandomProjection(10, dense_output=True, random_state=0).fit(rows)
    assert scipy.sparse.issparse(sparse.transform(rows))
    np.testing.assert_allclose(sparse.transform(rows).toarray(), dense.transform(rows))
    np.testing.assert_allclose(dense.transform(rows), dense.transform(rows.toarray()))


def test_too_few_columns_and_equal_rows_are_sentences():
    with pytest.raises(DataError, match=r"lead to a target dimension of 5920 .* Raise eps, or give n_components"):
        GaussianRandomProjection().fit(np.zeros((1000, 100)))
    with pytest.warns(DataDimensionalityWarning, match=r"\(3 < 5\).*lower n_components"):
        GaussianRandomProjection(5).fit(np.ones((4, 3)))
    with pytest.raises(DataError, match="4 equal rows"):
        measure_distortion(np.ones((4, 3)), np.ones((4, 2)))
    with pytest.raises(DataError, match="same number of rows, at least 2; got 4 and 3"):
        measure_distortion(np.ones((4, 3)), np.ones((3, 2)))


def test_random_pairs_are_pairs_of_distinct_rows():
    distortion = measure_distortion(X[:40], 2 * X[:40], n_pairs=100, random_state=0)
    np.testing.assert_allclose(distortion.ratios, 4.0)
    assert len(distortion.ratios) == 100
