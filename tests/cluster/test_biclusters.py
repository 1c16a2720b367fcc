"""Biclusters, agglomeration of columns, and affinity propagation."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster as theirs

from mercer.cluster import (
    AffinityPropagation,
    FeatureAgglomeration,
    SpectralBiclustering,
    SpectralCoclustering,
    affinity_propagation,
)
from mercer.cluster._biclusters import even_out
from mercer.errors import DataError, ParameterError


def are_equal_partitions(first, second):
    return len(set(zip(first.tolist(), second.tolist()))) == len(set(first.tolist())) == len(set(second.tolist()))


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_of_a_shuffled_table_are_found(sparse):
    random = np.random.default_rng(0)
    rows, columns = random.permutation(np.repeat(range(3), 10)), random.permutation(np.repeat(range(3), 8))
    X = np.where(rows[:, None] == columns, random.uniform(4, 6, (30, 24)), random.uniform(0, 1, (30, 24)))
    model = SpectralCoclustering(3, random_state=0).fit(scipy.sparse.csr_array(X) if sparse else X)
    assert are_equal_partitions(model.row_labels_, rows)
    assert are_equal_partitions(model.column_labels_, columns)
    assert are_equal_partitions(np.append(model.row_labels_, model.column_labels_), np.append(rows, columns))


@pytest.mark.parametrize("method", ["bistochastic", "scale", "log"])
def test_a_checkerboard_is_found(method):
    random = np.random.default_rng(1)
    rows, columns = random.permutation(np.repeat(range(3), 10)), random.permutation(np.repeat(range(2), 12))
    levels = np.array([[1.0, 5.0], [7.0, 2.0], [9.0, 12.0]])
    X = levels[rows[:, None], columns] + random.normal(size=(30, 24)) / 10
    model = SpectralBiclustering((3, 2), method=method, random_state=0).fit(X)
    assert are_equal_partitions(model.row_labels_, rows)
    assert are_equal_partitions(model.column_labels_, columns)
    assert model.rows_.shape == (6, 30)
    assert (model.rows_[:, :, None] & model.columns_[:, None]).sum(axis=0).min() == 1


def test_equal_sums_are_reached_by_factors_of_rows_and_columns():
    X = np.random.default_rng(2).uniform(0.5, 2.0, (7, 5))
    rows, columns = even_out(X)
    scaled = rows[:, None] * X * columns
    np.testing.assert_allclose(scaled.sum(axis=1), np.sqrt(5 / 7), rtol=1e-4)
    np.testing.assert_allclose(scaled.sum(axis=0), np.sqrt(7 / 5), rtol=1e-4)


def test_biclusters_that_cannot_be_are_refused():
    X = np.ones((5, 5))
    with pytest.raises(DataError, match="n_clusters should be <= n_samples=5"):
        SpectralCoclustering(6).fit(X)
    with pytest.raises(ParameterError, match="n_best=4 must be <= n_components=3"):
        SpectralBiclustering(2, n_components=3, n_best=4).fit(X)
    with pytest.raises(DataError, match="Cannot compute log of a sparse matrix"):
        SpectralBiclustering(2, method="log").fit(scipy.sparse.csr_array(X))


@pytest.mark.parametrize("function", [np.mean, np.median, None])
def test_columns_are_pooled_as_scikit_learn_pools_them(function):
    X = np.random.default_rng(3).normal(size=(40, 9))
    X[:, 5:] = X[:, :4] + 0.01 * X[:, 5:]
    ours = FeatureAgglomeration(5, pooling_func=function).fit(X)
    expected = theirs.FeatureAgglomeration(5, pooling_func=function or np.mean).fit(X)
    assert are_equal_partitions(ours.labels_, expected.labels_)
    pooled = ours.transform(X)
    for label in range(5):
        members = X[:, ours.labels_ == label]
        np.testing.assert_allclose(pooled[:, label], (function or np.mean)(members, axis=1))
    np.testing.assert_array_equal(ours.inverse_transform(pooled), pooled[:, ours.labels_])
    assert not hasattr(ours, "predict")


def test_messages_are_those_of_their_formulas():
    X = np.random.default_rng(4).normal(size=(25, 2))
    S = -((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(S, np.median(S))
    n, A, R = len(S), np.zeros_like(S), np.zeros_like(S)
    for _ in range(60):
        for i in range(n):
            for k in range(n):
                rival = max(A[i, j] + S[i, j] for j in range(n) if j != k)
                R[i, k] = 0.5 * R[i, k] + 0.5 * (S[i, k] - rival)
        votes = np.maximum(R, 0)
        np.fill_diagonal(votes, 0)
        own = votes.sum(axis=0)
        fresh = np.minimum(0, np.diagonal(R) + own - votes)
        np.fill_diagonal(fresh, own)
        A = 0.5 * A + 0.5 * fresh
    exemplars = np.flatnonzero(np.diagonal(A + R) > 0)
    model = AffinityPropagation(random_state=0).fit(X)
    assert model.converged_
    np.testing.assert_array_equal(model.cluster_centers_indices_, exemplars)
    labels = S[:, exemplars].argmax(axis=1)
    labels[exemplars] = np.arange(len(exemplars))
    np.testing.assert_array_equal(model.labels_, labels)


def test_rounds_and_labels_are_those_of_scikit_learn():
    random = np.random.default_rng(5)
    X = random.normal(size=(90, 3)) + 6.0 * random.integers(0, 4, (90, 1))
    ours, expected = AffinityPropagation(random_state=0).fit(X), theirs.AffinityPropagation(random_state=0).fit(X)
    np.testing.assert_array_equal(ours.labels_, expected.labels_)
    S = -((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(affinity_propagation(S, random_state=1)[1], ours.labels_)
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)
