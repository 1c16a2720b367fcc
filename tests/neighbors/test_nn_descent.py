"""The approximate index: its recall, distances, seeds, threads, fallbacks and refusals."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import mercer
from mercer._solver.neighbours import descent
from mercer.errors import ParameterError
from mercer.neighbors import NearestNeighbors


@pytest.fixture(autouse=True)
def _build_graphs_of_few_rows(monkeypatch):
    monkeypatch.setattr("mercer.neighbors._nearest.nearest_neighbors.FEWEST_ROWS", 100)


def clusters(n=3000, d=8):
    return make_blobs(n, d, centers=20, cluster_std=1.0, center_box=(-30, 30), random_state=0)[0]


def uniform(n=3000, d=6):
    return np.random.default_rng(0).uniform(size=(n, d))


def recall(indices, exact):
    return np.mean([np.isin(line, others).mean() for line, others in zip(exact, indices, strict=True)])


@pytest.mark.parametrize("make", [clusters, uniform])
def test_the_graph_and_searches_find_almost_all_neighbours(make):
    X = make()
    queries = make()[:400] + 0.01
    model = NearestNeighbors(algorithm="nn_descent", random_state=0).fit(X)
    exact = NearestNeighbors().fit(X)
    for rows in (None, queries):
        distances, indices = model.kneighbors(rows)
        truth = exact.kneighbors(rows)
        assert recall(indices, truth[1]) > 0.97
        # Distances are exact, whatever the neighbour is.
        points = X if rows is None else queries
        assert np.allclose(distances, np.linalg.norm(points[:, None] - X[indices], axis=2))
        assert (np.diff(distances, axis=1) >= 0).all()
    own = model.kneighbors(None)[1]
    assert model.recall_ == pytest.approx(recall(own, exact.kneighbors(None)[1]), abs=0.03)
    assert not (own == np.arange(len(X))[:, None]).any()
    assert "approximate" in model.certificate_.statement


def test_one_seed_gives_the_same_bits_on_any_number_of_threads():
    X = uniform().astype(np.float32)
    models = [NearestNeighbors(algorithm="nn_descent", random_state=3, n_jobs=threads).fit(X) for threads in (1, 3)]
    for first, second in zip(models[0].kneighbors(X[:50]), models[1].kneighbors(X[:50]), strict=True):
        assert (first == second).all()
    assert (models[0]._neighbours == models[1]._neighbours).all()


def test_more_neighbours_than_the_graph_has_are_searched_for_along_it():
    X = clusters(1000)
    model = NearestNeighbors(n_neighbors=3, algorithm="nn_descent", random_state=0).fit(X)
    indices = model.kneighbors(None, n_neighbors=40, return_distance=False)
    exact = NearestNeighbors().fit(X).kneighbors(None, n_neighbors=40, return_distance=False)
    assert recall(indices, exact) > 0.9
    assert not (indices == np.arange(1000)[:, None]).any()


def test_rows_that_no_edge_leads_to_are_searched_for_exactly():
    # Two heaps of equal rows: a graph of 20 edges does not join them, and a query wants rows of both.
    X = np.repeat([[0.0, 0.0], [100.0, 0.0]], 120, axis=0)
    model = NearestNeighbors(algorithm="nn_descent", random_state=0).fit(X)
    distances, _ = model.kneighbors([[0.0, 1.0]], n_neighbors=130)
    assert np.allclose(np.sort(distances[0]), [1.0] * 120 + [np.hypot(100.0, 1.0)] * 10)
    assert model.recall_ == 1.0


def test_few_rows_are_searched_exactly(monkeypatch):
    monkeypatch.undo()
    X = uniform(500)
    model = NearestNeighbors(algorithm="nn_descent").fit(X)
    assert model.recall_ == 1.0
    assert descent.FEWEST_ROWS > 500
    for first, second in zip(model.kneighbors(X), NearestNeighbors().fit(X).kneighbors(X), strict=True):
        assert (first == second).all()
    assert "exact" in model.certificate_.statement


def test_a_graph_survives_its_file_and_not_a_refit(tmp_path):
    X = clusters(600)
    model = NearestNeighbors(algorithm="nn_descent", random_state=0).fit(X)
    mercer.save(model, tmp_path / "graph.mercer")
    loaded = mercer.load(tmp_path / "graph.mercer")
    assert (loaded.kneighbors(X[:9] + 0.1)[1] == model.kneighbors(X[:9] + 0.1)[1]).all()
    model.set_params(algorithm="auto").fit(X[:50])
    assert not hasattr(model, "recall_")
    assert model.kneighbors(X[:2])[1].max() < 50


def test_other_metrics_and_radii_are_refused_with_the_cure():
    X = uniform(300)
    with pytest.raises(ParameterError, match=r"got metric='l1'. Use algorithm='auto'"):
        NearestNeighbors(algorithm="nn_descent", metric="l1").fit(X)
    with pytest.raises(ParameterError, match="Use algorithm='auto' for a radius"):
        NearestNeighbors(algorithm="nn_descent").fit(X).radius_neighbors(X)
