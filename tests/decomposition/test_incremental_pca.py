"""IncrementalPCA: batches lead to the components of the whole."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, make_low_rank_matrix
from sklearn.decomposition import IncrementalPCA as Reference

from mercer.decomposition import PCA, IncrementalPCA, _incremental_pca
from mercer.errors import DataError

X = np.random.default_rng(4).normal(size=(1000, 12)) @ np.random.default_rng(5).normal(size=(12, 12)) + 5
ATTRIBUTES = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_")


@pytest.mark.catalogue("PM-01")
@pytest.mark.parametrize("batch_size", [13, 100, 1000])
def test_without_cuts_the_batches_are_the_whole(batch_size):
    model, whole = IncrementalPCA(batch_size=batch_size).fit(X), PCA().fit(X)
    if batch_size == 13:
        assert len(model.history_["step"]) == 77
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-8, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(model.var_, X.var(axis=0))
    assert model.noise_variance_ == 0
    assert model.n_samples_seen_ == 1000


def test_with_cuts_the_answer_is_scikit_learns():
    digits = load_digits().data
    ours, theirs = (kind(n_components=10, batch_size=150).fit(digits) for kind in (IncrementalPCA, Reference))
    for name in (*ATTRIBUTES, "var_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-7, atol=1e-9, err_msg=name)


def test_low_rank_rows_lose_nothing_by_cuts():
    rows = make_low_rank_matrix(600, 30, effective_rank=2, tail_strength=0.0, random_state=0) * 100
    model, whole = IncrementalPCA(12, batch_size=50).fit(rows), PCA(12).fit(rows)
    np.testing.assert_allclose(model.explained_variance_[:5], whole.explained_variance_[:5], rtol=1e-6)
    total = model.explained_variance_.sum() + model.noise_variance_ * (30 - 12)
    assert total == pytest.approx(rows.var(axis=0, ddof=1).sum())


def test_fit_is_partial_fit_of_its_batches_and_forgets_what_came_before():
    whole = IncrementalPCA(4, batch_size=250).fit(X)
    parts = IncrementalPCA(4)
    for start in range(0, 1000, 250):
        parts.partial_fit(X[start : start + 250])
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-10, atol=1e-12)
    again = parts.set_params(batch_size=250).fit(X)
    assert again.n_samples_seen_ == 1000
    np.testing.assert_array_equal(again.components_, whole.components_)


def test_sparse_rows_are_the_same_rows():
    sparse = X * (np.random.default_rng(6).random(X.shape) < 0.3)
    dense, rows = IncrementalPCA(3).fit(sparse), IncrementalPCA(3).fit(csr_array(sparse))
    np.testing.assert_array_equal(rows.components_, dense.components_)
    np.testing.assert_allclose(rows.transform(csr_array(sparse)), dense.transform(sparse), atol=1e-10)


def test_float32_batches_give_float32_answers():
    model = IncrementalPCA(3).fit(X.astype(np.float32)).partial_fit(X.astype(np.float32))
    exact = IncrementalPCA(3).fit(X).partial_fit(X)
    assert model.components_.dtype == model.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.components_, exact.components_, atol=1e-5)


def test_errors_name_the_rule_the_value_and_the_cure():
    with pytest.raises(DataError, match=r"n_components=13 invalid for n_features=12, need more rows .*; lower it"):
        IncrementalPCA(13).fit(X)
    with pytest.raises(DataError, match="n_components=5 must be less or equal to the batch number of samples 3"):
        IncrementalPCA(5).partial_fit(X[:3])
    model = IncrementalPCA(5).partial_fit(X)
    with pytest.raises(DataError, match=r"must not change between calls of partial_fit; got 4 after 5. Set it back"):
        model.set_params(n_components=4).partial_fit(X)
    assert model.n_samples_seen_ == 1000


@pytest.mark.parametrize("least", [1.0, 1e-2, 1e-5, 1e-9])
def test_few_axes_are_as_exact_from_the_gram_matrix_as_from_the_triangle(least, monkeypatch):
    sizes = np.append(np.geomspace(10.0, 10.0 * least, 5), np.full(35, least))
    rows = np.random.default_rng(0).normal(size=(300, 40)) * sizes
    model = IncrementalPCA(5, batch_size=100).fit(rows)
    monkeypatch.setattr(_incremental_pca, "_SPAN", 0.0)
    triangle = IncrementalPCA(5, batch_size=100).fit(rows)
    np.testing.assert_allclose(model.singular_values_, triangle.singular_values_, rtol=1e-9)
    np.testing.assert_allclose(model.components_, triangle.components_, atol=1e-8)


@pytest.mark.filterwarnings("ignore:IncrementalPCA. the arithmetic of the fit met overflow")  # of the variances
@pytest.mark.parametrize("scale", [1e-160, 1e150])
def test_rows_whose_squares_leave_the_range_of_float64_have_their_axes(scale):
    rows = np.random.default_rng(0).normal(size=(100, 12)) * np.geomspace(8, 1, 12)
    plain, scaled = (IncrementalPCA(2, batch_size=50).fit(table).components_ for table in (rows, rows * scale))
    np.testing.assert_allclose(scaled, plain, atol=1e-8)
