"""Isomap, locally linear and spectral embeddings: curves unrolled, scikit-learn's numbers, new rows, broken graphs."""

import numpy as np
import pytest
import sklearn.manifold
from scipy.linalg import circulant
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.datasets import make_s_curve

from mercer.errors import DataError
from mercer.manifold import (
    Isomap,
    LocallyLinearEmbedding,
    SpectralEmbedding,
    _isomap,
    compare_maps,
    continuity,
    locally_linear_embedding,
    neighborhood_recall,
    spectral_embedding,
    trustworthiness,
)

S, T = make_s_curve(300, random_state=0)


def arc(n=120):
    angle = np.linspace(0, 4, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]), angle


def same_up_to_sign(first, second, tolerance):
    signs = np.sign(np.sum(first * second, axis=0))
    np.testing.assert_allclose(first * signs, second, atol=tolerance)


def test_shortest_paths_along_an_arc_are_its_lengths():
    X, angle = arc()
    model = Isomap(n_neighbors=2, n_components=1).fit(X)
    np.testing.assert_allclose(model.dist_matrix_, np.abs(angle[:, None] - angle[None]), rtol=1e-3)
    assert abs(np.corrcoef(model.embedding_[:, 0], angle)[0, 1]) > 0.99999


def test_isomap_is_scikit_learns_also_for_new_rows():
    theirs, ours = sklearn.manifold.Isomap(n_neighbors=8).fit(S[:250]), Isomap(n_neighbors=8).fit(S[:250])
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, atol=1e-10)
    same_up_to_sign(ours.embedding_, theirs.embedding_, 1e-6)
    same_up_to_sign(ours.transform(S[250:]), theirs.transform(S[250:]), 1e-6)
    np.testing.assert_allclose(ours.transform(S[:250]), ours.embedding_, atol=1e-8)
    assert ours.reconstruction_error() == pytest.approx(theirs.reconstruction_error())


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa"])
@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_locally_linear_embeddings_are_scikit_learns(method, solver):
    options = {"n_neighbors": 12, "n_components": 2, "method": method, "eigen_solver": solver, "tol": 0.0}
    ours, error = locally_linear_embedding(S, **options)
    theirs, expected = sklearn.manifold.locally_linear_embedding(S, **options, random_state=0)
    assert error == pytest.approx(expected, rel=1e-3, abs=1e-10)
    # Eigenvectors of two close eigenvalues may be mixed by rounding: their span is compared.
    spans = np.linalg.svd(ours.T @ theirs, compute_uv=False)
    np.testing.assert_allclose(spans, 1.0, atol=1e-4)


def test_second_derivatives_of_a_developable_surface_vanish_in_its_coordinates():
    """The Hessian form keeps the plane of the two true coordinates of the S-curve: its length and its width."""
    points = LocallyLinearEmbedding(n_neighbors=14, method="hessian").fit_transform(S)
    columns = np.column_stack([np.ones(len(S)), points])
    for truth in (T, S[:, 1]):
        left = truth - columns @ np.linalg.lstsq(columns, truth, rcond=None)[0]
        assert np.sum(left**2) < 0.02 * np.sum((truth - truth.mean()) ** 2)


def test_locally_linear_places_of_new_rows_are_combinations_of_their_neighbours():
    theirs = sklearn.manifold.LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense").fit(S[:250])
    ours = LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense").fit(S[:250])
    same_up_to_sign(ours.transform(S[250:]), theirs.transform(S[250:]), 1e-8)
    np.testing.assert_array_equal(ours.transform(S[:250]), ours.embedding_)


@pytest.mark.parametrize("options", [{"n_neighbors": 15}, {"affinity": "rbf", "gamma": 2.0}])
def test_spectral_embedding_is_scikit_learns_and_extends_to_new_rows(options):
    theirs = sklearn.manifold.SpectralEmbedding(2, random_state=0, **options).fit(S)
    ours = SpectralEmbedding(2, **options).fit(S)
    same_up_to_sign(ours.embedding_, theirs.embedding_, 1e-7)
    np.testing.assert_allclose(ours.transform(S), ours.embedding_, atol=1e-8)
    new = SpectralEmbedding(2, **options).fit(S[:299]).transform(S[299:])
    assert np.abs(new).max() <= 1.2 * np.abs(ours.embedding_).max()
    same_up_to_sign(spectral_embedding(ours.affinity_matrix_, n_components=2), theirs.embedding_, 1e-7)


def test_the_eigenvectors_of_a_path_are_cosines():
    n = 30
    path = np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    first = spectral_embedding(path, n_components=1, norm_laplacian=False)[:, 0]
    expected = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    np.testing.assert_allclose(np.abs(first), np.abs(expected) / np.linalg.norm(expected), atol=1e-8)


def test_a_graph_in_parts_is_joined_with_a_sentence():
    X = np.vstack([arc(40)[0], arc(40)[0] + 100.0])
    with pytest.warns(UserWarning, match=r"components of the neighbors graph is 2 > 1.*Raise n_neighbors"):
        assert np.isfinite(Isomap(n_neighbors=4).fit(X).dist_matrix_).all()
    with pytest.warns(UserWarning, match="it has 2 parts. Raise n_neighbors"):
        SpectralEmbedding(n_neighbors=4).fit(X)


def test_duplicates_of_all_rows_are_mapped_together():
    X = np.repeat(arc(40)[0], 2, axis=0)
    points = Isomap(n_neighbors=5, n_components=1).fit_transform(X)
    np.testing.assert_allclose(points[::2], points[1::2], atol=1e-6)


def test_measures_are_scikit_learns_and_count_what_they_say():
    maps = {"isomap": Isomap(n_neighbors=8).fit_transform(S), "first columns": S[:, :2]}
    for points in maps.values():
        assert trustworthiness(S, points) == pytest.approx(sklearn.manifold.trustworthiness(S, points), abs=1e-12)
        assert continuity(S, points) == pytest.approx(trustworthiness(points, S), abs=1e-12)
    D, E = (np.linalg.norm(table[:, None] - table[None], axis=2) for table in (S, maps["isomap"]))
    np.fill_diagonal(D, np.inf)
    np.fill_diagonal(E, np.inf)
    shared = [len(set(np.argsort(D[i])[:5]) & set(np.argsort(E[i])[:5])) / 5 for i in range(len(S))]
    assert neighborhood_recall(S, maps["isomap"]) == pytest.approx(np.mean(shared))
    table = compare_maps(S, maps)
    assert list(table) == ["isomap", "first columns"]
    assert table["isomap"]["trustworthiness"] == trustworthiness(S, maps["isomap"])
    correlation = spearmanr(pdist(S), pdist(maps["isomap"])).statistic
    assert table["isomap"]["distance_correlation"] == pytest.approx(correlation)


def test_too_many_neighbours_and_wrong_shapes_are_refused_with_the_cure():
    X = arc(10)[0]
    for model in (Isomap(n_neighbors=10), LocallyLinearEmbedding(n_neighbors=10)):
        with pytest.raises(ValueError, match=r"n_samples = 10, n_neighbors = 10; lower n_neighbors"):
            model.fit(X)
    with pytest.raises(ValueError, match="Both n_neighbors and radius"):
        Isomap(radius=1.0).fit(X)
    with pytest.raises(ValueError, match="n_neighbors must be greater than"):
        LocallyLinearEmbedding(n_neighbors=4, method="hessian").fit(X)
    with pytest.raises(ValueError, match="less than n_samples / 2"):
        trustworthiness(X, X, n_neighbors=5)
    with pytest.raises(ValueError, match="one point per row, 10; got 9"):
        continuity(X, X[:9], n_neighbors=2)
    with pytest.raises(ValueError, match="affinities must not be negative"):
        spectral_embedding(-np.ones((4, 4)))
    with pytest.raises(ValueError, match="at least one map"):
        compare_maps(X, {})


def test_neighbours_under_other_metrics_give_the_paths_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(30, 4))
    settings = {"n_neighbors": 5, "metric": "manhattan"}
    paths = sklearn.manifold.Isomap(**settings).fit(X).dist_matrix_
    np.testing.assert_allclose(Isomap(**settings).fit(X).dist_matrix_, paths)


@pytest.mark.parametrize("value", [-1.0, np.nan])
def test_a_function_that_is_no_metric_is_refused_with_its_cure(value):
    X = np.random.default_rng(0).normal(size=(12, 3))
    with pytest.raises(DataError, match=r"must return numbers of at least 0.*Return distances, not similarities"):
        Isomap(n_neighbors=4, metric=lambda first, second: value).fit(X)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("visits", [1.0, 5e6], ids=["one_row_per_call", "all_rows_in_one_call"])
def test_paths_have_the_bits_of_scipys_also_where_edges_are_zero_or_rows_apart(monkeypatch, visits, threads):
    # Sums of lengths are rounded, but monotonely: every exact method ends at the same numbers.
    monkeypatch.setattr(_isomap, "_VISITS", visits)
    random = np.random.default_rng(0)
    edges = random.integers(40, size=(2, 100))
    graph = csr_array((random.random(100) * (random.random(100) > 0.2), edges), shape=(42, 42))
    graph.sum_duplicates()
    found = _isomap._measure_paths(graph, "auto", threads)
    assert np.isinf(found[41, 0])
    np.testing.assert_array_equal(found, shortest_path(graph, method="D", directed=False))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_negative_distances_are_refused_with_their_cure(kind):
    distances = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
    distances[0, 1] = distances[1, 0] = -1.0
    with pytest.raises(DataError, match=r"Negative values in data .*; got -1\. Give distances, not similarities"):
        Isomap(n_neighbors=4, metric="precomputed").fit(kind(distances))


@pytest.mark.parametrize("kind", ["rows", "ring"])
def test_full_graphs_have_the_eigenvectors_of_the_dense_decomposition(kind):
    # A twentieth of all edges and more: products are tried before a factorisation. The eigenvalues of a ring come in
    # pairs, and are too close to one another for products alone.
    n = 400
    if kind == "ring":
        A = circulant([1.0 if min(i, n - i) <= 10 else 0.0 for i in range(n)])
    else:
        X = np.random.default_rng(0).normal(size=(n, 6))
        near = np.argsort(((X[:, None] - X) ** 2).sum(axis=2), axis=1)[:, :40]
        A = np.zeros((n, n))
        A[np.arange(n)[:, None], near] = 1.0
        A = np.maximum(A, A.T)
    models = [
        SpectralEmbedding(4, affinity="precomputed", eigen_solver=solver).fit(graph)
        for solver, graph in ((None, csr_array(A)), ("dense", A))
    ]
    np.testing.assert_allclose(models[0].eigenvalues_, models[1].eigenvalues_, rtol=1e-9, atol=1e-12)
    assert models[0].certificate_.value < 1e-12
    # The same space: vectors of equal eigenvalues may be turned.
    spaces = [np.linalg.qr(model.embedding_)[0] for model in models]
    np.testing.assert_allclose(spaces[0] @ spaces[0].T, spaces[1] @ spaces[1].T, atol=1e-7)


@pytest.mark.parametrize("measure", [trustworthiness, continuity, neighborhood_recall])
def test_measures_of_maps_do_not_depend_on_where_zero_is(measure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    assert measure(X + 1e8, X[:, :2]) == pytest.approx(measure(X, X[:, :2]), abs=1e-6)
    assert measure(X, X[:, :2] + 1e8) == pytest.approx(measure(X, X[:, :2]), abs=1e-6)
