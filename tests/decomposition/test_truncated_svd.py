"""The truncated singular value decomposition is the best approximation of low rank, from sparse and dense rows."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD as SklearnTruncatedSVD

from mercer.decomposition import PCA, TruncatedSVD
from mercer.errors import DataError

X = np.random.default_rng(0).normal(size=(60, 20)) @ np.diag(np.linspace(3.0, 0.1, 20)) + 0.5
# Columns of falling scale part the singular values, which random directions need.
SPARSE = scipy.sparse.random_array((300, 80), density=0.1, random_state=np.random.default_rng(1), format="csr")
SPARSE = (SPARSE @ scipy.sparse.diags_array(0.9 ** np.arange(80))).tocsr()


@pytest.mark.parametrize("algorithm", ["randomized", "arpack"])
def test_the_components_are_the_right_singular_vectors_of_the_rows_as_given(algorithm):
    _, values, vectors = np.linalg.svd(X, full_matrices=False)
    model = TruncatedSVD(3, algorithm=algorithm, n_iter=30, random_state=0).fit(X)
    np.testing.assert_allclose(model.singular_values_, values[:3], rtol=1e-10)
    np.testing.assert_allclose(np.abs(model.components_ @ vectors[:3].T), np.eye(3), atol=1e-8)
    # Eckart and Young: what is left are the other singular values.
    assert model.reconstruction_error_**2 == pytest.approx((values[3:] ** 2).sum())
    restored = model.inverse_transform(model.transform(X))
    assert np.linalg.norm(X - restored) == pytest.approx(model.reconstruction_error_)
    assert model.certificate_.value < 1e-8


@pytest.mark.parametrize("algorithm", ["randomized", "arpack"])
def test_it_agrees_with_scikit_learn_on_sparse_rows(algorithm):
    mine = TruncatedSVD(5, algorithm=algorithm, n_iter=20, random_state=0).fit(SPARSE)
    theirs = SklearnTruncatedSVD(5, algorithm="arpack", random_state=0).fit(SPARSE)
    np.testing.assert_allclose(mine.singular_values_, theirs.singular_values_, rtol=1e-6)
    np.testing.assert_allclose(mine.explained_variance_, theirs.explained_variance_, rtol=1e-4)
    np.testing.assert_allclose(mine.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-4)


def test_sparse_and_dense_rows_give_the_same_model():
    sparse, dense = (TruncatedSVD(4, n_iter=30, random_state=0).fit(rows) for rows in (SPARSE, SPARSE.toarray()))
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-8)
    np.testing.assert_allclose(sparse.transform(SPARSE), dense.transform(SPARSE.toarray()), atol=1e-8)


def test_of_centred_rows_it_is_the_principal_component_analysis():
    centred = X - X.mean(axis=0)
    svd, pca = TruncatedSVD(4, algorithm="arpack", random_state=0).fit(centred), PCA(4).fit(X)
    np.testing.assert_allclose(svd.components_, pca.components_, atol=1e-10)
    np.testing.assert_allclose(svd.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-10)


def test_a_weight_is_a_repetition():
    weight = np.random.default_rng(2).integers(0, 4, 60)
    weighted = TruncatedSVD(3, n_iter=20, random_state=0).fit(X, sample_weight=weight)
    repeated = TruncatedSVD(3, n_iter=20, random_state=0).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-8)
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-9)


def test_single_precision_stays_single():
    model = TruncatedSVD(5, random_state=0).fit(load_digits().data.astype(np.float32))
    assert model.components_.dtype == np.float32
    assert model.transform(load_digits().data.astype(np.float32)).dtype == np.float32


def test_rows_of_zeros_and_too_many_components():
    model = TruncatedSVD(2, random_state=0).fit(np.zeros((10, 4)))
    np.testing.assert_array_equal(model.singular_values_, 0.0)
    np.testing.assert_array_equal(model.explained_variance_ratio_, 0.0)
    with pytest.raises(DataError, match=r"n_components=21 must be at most 20 for n_features=20 with .* lower it"):
        TruncatedSVD(21).fit(X)
    with pytest.raises(DataError, match="must be at most 5 for n_samples=5 and n_features=20"):
        TruncatedSVD(6).fit(X[:5])
    with pytest.raises(DataError, match=r"must be at most 19 .*'arpack'"):
        TruncatedSVD(20, algorithm="arpack").fit(X)
