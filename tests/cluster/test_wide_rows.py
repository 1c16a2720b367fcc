"""Distances of few long rows by products: digits of close pairs, rows far away, the same tree as from differences."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage as their_linkage
from scipy.spatial.distance import cdist

from mercer.cluster import AgglomerativeClustering, FeatureAgglomeration, linkage
from mercer.cluster._hierarchy.linkage import measure_wide


def long_rows(kind, seed=0):
    """Draw 40 rows of 5 000 columns, which are measured by products in three runs."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(40, 5000))
    if kind == "moved":
        X += 1e5 * random.normal(size=5000)
    elif kind == "one long":
        X[3] *= 1e6
    elif kind == "pairs":
        X[1::20] = X[::20] * (1 + 1e-9)
    elif kind == "one cloud":
        X = X[0] + 1e-6 * X
    return X


@pytest.mark.parametrize("kind", ["plain", "moved", "one long", "pairs", "one cloud"])
@pytest.mark.parametrize("threads", [1, 3])
def test_products_keep_the_digits_of_differences(kind, threads):
    X = long_rows(kind)
    D = measure_wide("rows", X, threads)
    np.testing.assert_allclose(D, cdist(X, X), rtol=1e-11, atol=0)
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(D, measure_wide("rows", X, 1))


def test_equal_rows_are_at_no_distance():
    X = long_rows("plain")
    X[7] = X[30]
    D = measure_wide("rows", X, 1)
    assert D[7, 30] == D[30, 7] == 0.0
    np.testing.assert_array_equal(np.diagonal(D), 0.0)


@pytest.mark.parametrize("method", ["ward", "single", "complete", "average", "centroid"])
@pytest.mark.parametrize("kind", ["plain", "pairs"])
def test_the_tree_of_long_rows_is_scipys(method, kind):
    X = long_rows(kind)
    ours, theirs = linkage(X, method), their_linkage(X, method)
    np.testing.assert_allclose(ours[:, 2:], theirs[:, 2:], rtol=1e-10)
    if kind == "plain":
        np.testing.assert_array_equal(ours[:, :2], theirs[:, :2])


def test_weights_of_long_rows_are_repetitions():
    X = long_rows("plain")[:12]
    weight = np.arange(12) % 3 + 1.0
    heights = linkage(X, "ward", sample_weight=weight)[:, 2]
    repeated = linkage(np.repeat(X, weight.astype(int), axis=0), "ward")[:, 2]
    np.testing.assert_allclose(heights, repeated[-11:], rtol=1e-10)


def test_columns_merge_as_the_rows_of_the_turned_table():
    X = long_rows("plain").T
    columns = FeatureAgglomeration(4, compute_distances=True).fit(X)
    rows = AgglomerativeClustering(4, compute_distances=True).fit(np.ascontiguousarray(X.T))
    np.testing.assert_array_equal(columns.children_, rows.children_)
    np.testing.assert_array_equal(columns.distances_, rows.distances_)
    assert not hasattr(columns, "exemplars_")
    np.testing.assert_allclose(rows.exemplars_[0], X.T[rows.labels_ == 0].mean(axis=0))
