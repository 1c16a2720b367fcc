"""UMAP: memberships against their definition, steps against derivatives, maps against their rows, and errors."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mercer._native.embedding import sampled_steps
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.manifold import UMAP, trustworthiness
from mercer.manifold._umap.fuzzy_graph import divide_by_class, find_reaches, intersect, join_sets, weigh_neighbours
from mercer.manifold._umap.layout import LayoutEngine, Rules, find_curve, schedule_edges

EPOCHS = 100


def make_groups(random, n=60, d=5, gap=12.0, groups=2):
    labels = np.repeat(np.arange(groups), n // groups)
    return random.normal(size=(len(labels), d)) + gap * labels[:, None] * np.eye(d)[labels % d], labels


def kept_neighbours(X, places, k=10):
    """The share of the k nearest rows that are so on the map too."""
    near, nearer = (
        np.argsort(((table[:, None] - table[None]) ** 2).sum(axis=2) + 1e30 * np.eye(len(table)), axis=1)[:, :k]
        for table in (X, places.astype(np.float64))
    )
    return np.mean([len(np.intersect1d(a, b)) for a, b in zip(near, nearer, strict=True)]) / k


def test_memberships_of_a_row_sum_to_the_logarithm_of_the_number_of_neighbours():
    X = np.random.default_rng(0).normal(size=(50, 4))
    model = UMAP(n_neighbors=10, n_epochs=0).fit(X)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    near = np.sort(D, axis=1)[:, 1:10]
    np.testing.assert_allclose(model.rho_, near[:, 0], rtol=1e-12)
    weights = np.exp(-(near - model.rho_[:, None]) / model.sigma_[:, None])
    np.testing.assert_allclose(weights.sum(axis=1), np.log2(10), rtol=1e-8)


def test_the_graph_is_the_fuzzy_union_of_all_neighbourhoods():
    X = np.random.default_rng(1).normal(size=(40, 3))
    for mix in (1.0, 0.3):
        model = UMAP(n_neighbors=6, n_epochs=0, set_op_mix_ratio=mix).fit(X)
        D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
        W = np.exp(-np.maximum(D - model.rho_[:, None], 0.0) / model.sigma_[:, None])
        W[np.arange(40)[:, None], np.argsort(D, axis=1)[:, 6:]] = 0.0
        np.fill_diagonal(W, 0.0)
        expected = mix * (W + W.T - W * W.T) + (1 - mix) * W * W.T
        np.testing.assert_allclose(model.graph_.toarray(), expected, atol=1e-9)
        assert np.array_equal(model.graph_.toarray(), model.graph_.toarray().T)


def test_reaches_interpolate_between_neighbours_that_are_apart():
    distances = np.array([[0.0, 1.0, 3.0, 7.0], [2.0, 2.5, 3.0, 4.0], [0.0, 0.0, 0.0, 5.0], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(find_reaches(distances, 1.0), [1.0, 2.0, 5.0, 0.0])
    np.testing.assert_allclose(find_reaches(distances, 1.5), [2.0, 2.25, 5.0, 0.0])
    np.testing.assert_allclose(find_reaches(distances, 0.5), [0.5, 1.0, 2.5, 0.0])
    np.testing.assert_allclose(find_reaches(distances, 2.0), [3.0, 2.5, 5.0, 0.0])


def test_equal_rows_have_the_least_width():
    distances = np.zeros((3, 5))
    table, widths, reaches = weigh_neighbours(distances, np.arange(15).reshape(3, 5), 15, 1.0, mean=2.0)
    np.testing.assert_allclose(widths, 2e-3)
    assert not reaches.any()
    np.testing.assert_allclose(table.toarray().sum(), 15.0)


@pytest.mark.parametrize(("spread", "min_dist"), [(1.0, 0.1), (1.0, 0.0), (2.0, 0.5), (0.5, 0.5)])
def test_no_curve_near_a_and_b_fits_better(spread, min_dist):
    a, b = find_curve(spread, min_dist)
    distances = np.linspace(0.0, 3.0 * spread, 300)
    wanted = np.where(distances < min_dist, 1.0, np.exp(-(distances - min_dist) / spread))

    def error(a, b):
        return np.sum((1.0 / (1.0 + a * distances ** (2.0 * b)) - wanted) ** 2)

    best = error(a, b)
    for factor in (0.99, 1.01):
        assert best < error(a * factor, b)
        assert best < error(a, b * factor)


def test_the_default_curve_is_that_of_the_paper():
    assert find_curve(1.0, 0.1) == pytest.approx((1.577, 0.895), abs=1e-3)


@pytest.mark.parametrize("attracts", [True, False])
def test_factors_are_derivatives_of_the_loss_of_a_pair(attracts):
    a, b, strength = 1.5, 0.9, 1.7
    distances = np.linspace(0.3, 6.0, 40)

    def loss(d):
        q = 1.0 / (1.0 + a * d ** (2.0 * b))
        return -np.log(q) if attracts else -strength * np.log(1.0 - q)

    forces = np.zeros((2, 40), np.float32)
    forces[0], forces[1] = attracts, distances**2
    sampled_steps.weigh_pairs(forces, 40, np.array([a, b, strength], np.float32))
    derivative = (loss(distances + 1e-5) - loss(distances - 1e-5)) / 2e-5
    # Repulsion has 0.001 added to the squared distance.
    softened = 1.0 if attracts else distances**2 / (distances**2 + 1e-3)
    np.testing.assert_allclose(forces[1] * distances, -derivative * softened, rtol=1e-4)


def take_one_epoch(places, graph, draws=0, rate=0.01, seed=1, threads=1, others=None):
    rules = Rules(1.5, 0.9, 1.0, draws, rate, 1, seed)
    edges = schedule_edges(csr_array(graph), 1, mutual=others is None)
    return LayoutEngine(edges, rules, places, threads, others).run(places, 0, 1)


def test_two_rows_on_an_edge_approach_each_other_by_the_same_steps():
    places = np.array([[0.0, 0.0], [3.0, 4.0]], np.float32)
    moved = take_one_epoch(places, [[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(moved.sum(axis=0), places.sum(axis=0), rtol=1e-6)
    # Two events in an epoch, at the rates of the two steps they fall in.
    factor = 2 * 1.5 * 0.9 * 25 ** (0.9 - 1) / (1 + 1.5 * 25**0.9)
    step = factor * 5.0 * 0.01 * np.array([1.0 + 0.5, 0.75 + 0.25])
    assert np.any(np.isclose(np.linalg.norm(moved[0]), step, rtol=0.01))


def test_an_edge_draws_in_proportion_to_its_weight():
    graph = np.zeros((6, 6))
    for i, weight in enumerate([1.0, 0.5, 0.25]):
        graph[2 * i, 2 * i + 1] = graph[2 * i + 1, 2 * i] = weight
    edges = schedule_edges(csr_array(graph), 200, mutual=True)
    times = np.arange(4 * 200 + 1) / 4
    events = np.floor(times[-1] * edges.rates + edges.phases) - np.floor(edges.phases)
    np.testing.assert_allclose(events, 2 * 200 * edges.weights, atol=1)
    # Both ends of an edge see its events at the same times, and take turns to draw.
    assert np.array_equal(edges.phases[::2] % 1, edges.phases[1::2] % 1)
    assert np.array_equal(edges.phases[1::2] - edges.phases[::2], np.ones(3, np.float32))


def test_edges_of_less_than_one_event_are_left_out():
    edges = schedule_edges(csr_array([[0.0, 1.0, 0.01], [1.0, 0.0, 0.0], [0.01, 0.0, 0.0]]), 50, mutual=True)
    assert len(edges.ends) == 2


def test_rows_of_a_fixed_map_stay_and_attract():
    known = np.array([[0.0, 0.0], [10.0, 0.0]], np.float32)
    moved = take_one_epoch(np.array([[3.0, 0.0]], np.float32), [[1.0, 0.0]], rate=0.1, others=known)
    assert 0.0 < moved[0, 0] < 3.0


def test_draws_repel():
    places = np.array([[0.0, 0.0], [1.0, 0.0]], np.float32)
    graph = [[0.0, 1.0], [1.0, 0.0]]
    near, far = (take_one_epoch(places, graph, draws=draws) for draws in (0, 50))
    assert np.ptp(far[:, 0]) > np.ptp(near[:, 0])


def test_one_seed_gives_the_same_bits_on_any_number_of_threads():
    X, _ = make_groups(np.random.default_rng(3), n=2400)
    maps = [UMAP(n_epochs=20, random_state=5, n_jobs=threads).fit_transform(X) for threads in (1, 2, 3)]
    assert np.array_equal(maps[0], maps[1])
    assert np.array_equal(maps[0], maps[2])
    assert not np.array_equal(maps[0], UMAP(n_epochs=20, random_state=6).fit_transform(X))


def test_powers_of_two_as_units_change_no_bit():
    X, _ = make_groups(np.random.default_rng(4))
    places = UMAP(n_epochs=EPOCHS, random_state=0).fit_transform(X)
    for power in (-20, 20):
        assert np.array_equal(UMAP(n_epochs=EPOCHS, random_state=0).fit_transform(X * 2.0**power), places)


def test_units_change_the_graph_by_roundings_alone():
    X, _ = make_groups(np.random.default_rng(5))
    graph = UMAP(n_epochs=0).fit(X).graph_.toarray()
    for unit in (1e-6, 1e6):
        np.testing.assert_allclose(UMAP(n_epochs=0).fit(unit * X).graph_.toarray(), graph, atol=1e-7)


def test_the_loss_falls_and_neighbours_stay_neighbours():
    random = np.random.default_rng(6)
    angle = random.uniform(0.0, 2.0 * np.pi, 200)
    X = np.column_stack([np.cos(angle), np.sin(angle), 0.02 * random.normal(size=200)])
    model = UMAP(random_state=0).fit(X)
    assert model.history_["objective"][-1] < model.history_["objective"][0]
    assert trustworthiness(X, model.embedding_, n_neighbors=10) > 0.97
    assert kept_neighbours(X, model.embedding_) > 0.5
    assert model.certificate_.kind == "none"


@pytest.mark.parametrize("init", ["spectral", "random", "pca", "array"])
def test_each_start_separates_groups(init):
    X, labels = make_groups(np.random.default_rng(7), n=90, groups=3)
    start = X[:, :2] if init == "array" else init
    places = UMAP(n_epochs=EPOCHS, random_state=0, init=start).fit_transform(X)
    near = np.argsort(((places[:, None] - places[None]) ** 2).sum(axis=2) + 1e9 * np.eye(90), axis=1)[:, 0]
    assert np.mean(labels[near] == labels) > 0.98


def test_parts_of_a_graph_do_not_overlap():
    X, labels = make_groups(np.random.default_rng(8), n=80, gap=100.0, groups=4)
    model = UMAP(n_neighbors=10, n_epochs=0, random_state=0).fit(X)
    # A group may have several parts, which lie where they lie.
    count, parts = connected_components(model.graph_, directed=False)
    assert count >= 4
    assert all(len(np.unique(labels[parts == part])) == 1 for part in range(count))
    if count == 4:
        places = model.embedding_
        centres = np.array([places[labels == g].mean(axis=0) for g in range(4)])
        nearest = ((places[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        assert np.mean(nearest == labels) > 0.95


def test_many_equal_rows_get_a_finite_map():
    X = np.repeat(np.random.default_rng(9).normal(size=(3, 4)), 20, axis=0)
    for rows in (X, np.ones((20, 2))):
        assert np.isfinite(UMAP(n_epochs=EPOCHS, random_state=0).fit_transform(rows)).all()


def test_rows_of_the_fit_get_their_places_and_near_ones_near_places():
    random = np.random.default_rng(10)
    X, _ = make_groups(random, n=200)
    model = UMAP(n_epochs=200, random_state=0).fit(X)
    assert np.array_equal(model.transform(X), model.embedding_)
    moved = model.transform(X + 1e-3 * random.normal(size=X.shape))
    assert np.median(np.linalg.norm(moved - model.embedding_, axis=1)) < 0.1 * np.ptp(model.embedding_)


def test_new_rows_join_their_group_whatever_else_is_placed():
    random = np.random.default_rng(11)
    X, labels = make_groups(random, n=100)
    new, theirs = make_groups(random, n=20)
    model = UMAP(n_epochs=EPOCHS, random_state=0).fit(X)
    places = model.transform(new)
    centres = np.array([model.embedding_[labels == g].mean(axis=0) for g in range(2)])
    assert np.array_equal(((places[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1), theirs)
    assert np.array_equal(places, model.transform(new))


def test_classes_pull_overlapping_rows_apart():
    random = np.random.default_rng(12)
    X, y = make_groups(random, n=100, gap=2.0)

    def purity(places):
        near = np.argsort(((places[:, None] - places[None]) ** 2).sum(axis=2) + 1e9 * np.eye(100), axis=1)[:, :5]
        return np.mean(y[near] == y[:, None])

    plain, named, numbers = (
        UMAP(n_epochs=EPOCHS, random_state=0, target_metric=metric).fit_transform(X, target)
        for metric, target in (
            ("categorical", None), ("categorical", np.array(["left", "right"])[y]), ("euclidean", y + 0.01 * X[:, 0])
        )
    )  # fmt: skip
    assert 1.0 - purity(named) < 0.5 * (1.0 - purity(plain))
    assert purity(numbers) > purity(plain)


def test_class_distances_weaken_edges_by_their_definition():
    graph = csr_array(np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.8], [0.5, 0.8, 0.0]]))
    joined = divide_by_class(graph, np.array([0, 0, 1]), 0.5).toarray()
    W = graph.toarray() * np.array([[1.0, 1.0, np.exp(-5)], [1.0, 1.0, np.exp(-5)], [np.exp(-5), np.exp(-5), 1.0]])
    W /= W.max(axis=1, keepdims=True)
    np.testing.assert_allclose(joined, W + W.T - W * W.T, rtol=1e-12)
    # A row without a class is at the distance one of all.
    W = graph.toarray() * np.array([[1.0, 1.0, np.exp(-1)], [1.0, 1.0, np.exp(-1)], [np.exp(-1), np.exp(-1), 1.0]])
    W /= W.max(axis=1, keepdims=True)
    unknown = divide_by_class(graph, np.array([0, 0, -1]), 0.5).toarray()
    np.testing.assert_allclose(unknown, W + W.T - W * W.T, rtol=1e-12)


def test_a_target_weight_of_one_follows_the_targets_alone():
    random = np.random.default_rng(13)
    graphs = []
    for _ in range(2):
        W = np.triu(random.uniform(0.2, 1.0, (6, 6)), 1)
        graphs.append(csr_array(W + W.T))
    right = graphs[1].toarray()
    right /= right.max(axis=1, keepdims=True)
    joined = intersect(*graphs, 1.0).toarray()
    np.testing.assert_allclose(joined, join_sets(csr_array(right), 1.0).toarray(), rtol=1e-12)


def test_sparse_rows_float32_and_distances_give_the_same_graph():
    random = np.random.default_rng(14)
    X = random.normal(size=(60, 6)) * (random.uniform(size=(60, 6)) > 0.4)
    graph = UMAP(n_epochs=0).fit(X).graph_.toarray()
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(UMAP(n_epochs=0).fit(csr_array(X)).graph_.toarray(), graph, atol=1e-8)
    np.testing.assert_allclose(UMAP(n_epochs=0, metric="precomputed").fit(D).graph_.toarray(), graph, atol=1e-8)
    model = UMAP(n_epochs=EPOCHS, random_state=0, metric="manhattan").fit(X.astype(np.float32))
    assert model.embedding_.dtype == np.float32
    assert model.transform(X[:3].astype(np.float32) + 0.01).dtype == np.float32


def test_more_neighbours_than_rows_are_warned_of():
    X = np.random.default_rng(15).normal(size=(8, 3))
    with pytest.warns(UserWarning, match="n_neighbors must be at most the number of rows.*got 15 and 8 rows"):
        model = UMAP(random_state=0, n_epochs=10).fit(X)
    assert model.n_neighbors_ == 8


def test_errors_say_what_is_wrong():
    X = np.random.default_rng(16).normal(size=(20, 3))
    with pytest.raises(ParameterError, match="min_dist must be less than or equal to spread"):
        UMAP(min_dist=2.0).fit(X)
    with pytest.raises(ParameterError, match="a and b must be given together"):
        UMAP(a=1.0).fit(X)
    with pytest.raises(DataError, match="square distance matrix"):
        UMAP(metric="precomputed").fit(np.abs(X))
    with pytest.raises(UnsupportedError, match="init='pca' needs rows"):
        UMAP(metric="precomputed", init="pca").fit(np.abs(X @ X.T))
    with pytest.raises(DataError, match="init must have shape"):
        UMAP(init=np.zeros((3, 2))).fit(X)
    with pytest.raises(DataError, match="Label rows without a class -1"):
        UMAP().fit(X, np.full(20, np.nan))
