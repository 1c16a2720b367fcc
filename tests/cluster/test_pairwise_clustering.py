"""PairwiseClustering: the cost and its field, annealing against enumeration, soft k-means, missing distances, maps."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from mercer._native.space import reassignment
from mercer.cluster import KMeans, PairwiseClustering, grid_neighbourhood, pairwise_cost
from mercer.cluster._pairwise.clustering import draw_distances
from mercer.cluster._pairwise.energy import DistanceMatrix, SquaredDistances, mean_field
from mercer.errors import DataError


@pytest.fixture(scope="module")
def groups():
    X, labels = make_blobs(240, 3, centers=4, cluster_std=0.8, random_state=3)
    return X, labels


def random_problem(n=9, k=3, seed=0):
    random = np.random.default_rng(seed)
    D = random.random((n, n))
    D = D + D.T
    np.fill_diagonal(D, 0.0)
    return D, softmax(random.normal(size=(n, k)), axis=1), random.random((k, k))


def direct_cost(D, m):
    # A cluster without objects costs nothing.
    parts = [m[:, q] for q in range(m.shape[1]) if m[:, q].any()]
    return sum((part @ D @ part) / part.sum() for part in parts) / m.shape[1]


@pytest.mark.catalogue("CL-12", "CL-18")
def test_the_cost_is_the_sum_it_is_said_to_be():
    D, m, h = random_problem()
    assert pairwise_cost(D, memberships=m) == pytest.approx(direct_cost(D, m), rel=1e-12)
    assert pairwise_cost(D, memberships=m, neighbourhood=h) == pytest.approx(direct_cost(D, m @ h.T), rel=1e-12)
    assert pairwise_cost(D, memberships=m, neighbourhood=np.eye(3)) == pairwise_cost(D, memberships=m)
    assert pairwise_cost(D[:3, :3], [0, 1, 2]) == 0.0


@pytest.mark.catalogue("CL-12")
def test_squared_distances_cost_the_inertia_times_two_over_the_clusters(groups):
    X, labels = groups
    inertia = sum(((X[labels == q] - X[labels == q].mean(axis=0)) ** 2).sum() for q in range(4))
    assert pairwise_cost(cdist(X, X, "sqeuclidean"), labels) == pytest.approx(2 / 4 * inertia, rel=1e-12)


@pytest.mark.catalogue("CL-14", "CL-15", "CL-18")
@pytest.mark.parametrize("on_a_map", [False, True])
def test_the_field_is_the_derivative_of_the_cost(on_a_map):
    D, m, h = random_problem()
    h = h if on_a_map else None
    field, _, _ = mean_field(DistanceMatrix(D), m, np.ones(9), h)
    for i, q in product(range(9), range(3)):
        step = np.zeros_like(m)
        step[i, q] = 1e-6
        slope = [pairwise_cost(D, memberships=m + sign * step, neighbourhood=h) for sign in (1, -1)]
        assert field[i, q] == pytest.approx((slope[0] - slope[1]) / 2e-6, rel=1e-6)


@pytest.mark.catalogue("CL-14")
def test_the_field_of_squared_distances_is_the_distance_to_the_weighted_means(groups):
    X, _ = groups
    m, weight = random_problem(240)[1], np.random.default_rng(1).random(240)
    centres = (m * weight[:, None]).T @ X / (weight @ m)[:, None]
    expected = 2 / 3 * cdist(X, centres, "sqeuclidean")
    shifted = X - X.mean(axis=0)
    for distances in (SquaredDistances(shifted, (shifted**2).sum(axis=1)), DistanceMatrix(cdist(X, X, "sqeuclidean"))):
        np.testing.assert_allclose(mean_field(distances, m, weight)[0], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.catalogue("CL-13")
def test_incremental_changes_of_the_cost_equal_those_computed_afresh():
    D, _, _ = random_problem(12)
    random = np.random.default_rng(2)
    labels, weight = random.integers(3, size=12), random.integers(1, 3, size=12).astype(float)
    members = np.eye(3)[:, labels] * weight
    sums, sizes = members @ D, members.sum(axis=1)
    within = np.einsum("ij,ij->i", members, sums)
    order, offers = random.integers(12, size=400), random.integers(3, size=400)
    reassignment.offer_clusters(D, weight, order, offers, random.random(400), 1.0, labels, sums, sizes, within)
    members = np.eye(3)[:, labels] * weight
    np.testing.assert_allclose(sums, members @ D, atol=1e-12)
    np.testing.assert_allclose(sizes, members.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(within, np.einsum("ij,ij->i", members, members @ D), atol=1e-12)


@pytest.mark.catalogue("CL-13", "CL-14")
@pytest.mark.parametrize("solver", ["annealing", "mean_field"])
def test_annealing_finds_the_best_of_all_clusterings(solver):
    x = np.array([0.0, 0.3, 1.1, 4.0, 4.2, 9.0, 9.5, 10.5])
    D = np.abs(x[:, None] - x[None])
    # Clusters may be empty; those cost nothing.
    best = min(direct_cost(D, np.eye(3)[list(labels)] + 1e-12) for labels in product(range(3), repeat=8))
    model = PairwiseClustering(3, metric="precomputed", solver=solver, factor=1.05, random_state=0).fit(D)
    assert model.converged_
    assert model.cost_ == pytest.approx(best, abs=1e-9)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 2, 2, 2]


@pytest.mark.catalogue("CL-14")
def test_memberships_are_even_when_hot_and_labels_when_cold(groups):
    X, _ = groups
    hot = PairwiseClustering(4, beta=1e-6, beta_end=1e-6, random_state=0).fit(X)
    np.testing.assert_allclose(hot.memberships_, 0.25, atol=1e-3)
    cold = PairwiseClustering(4, random_state=0).fit(X)
    np.testing.assert_allclose(cold.memberships_.sum(axis=1), 1.0, rtol=1e-12)
    assert cold.memberships_.max(axis=1).mean() > 0.999
    assert cold.cost_ == pytest.approx(2 / 4 * KMeans(4, n_init=10, random_state=0).fit(X).inertia_, rel=1e-6)
    assert cold.history_["n_distinct"][0] == 1
    assert cold.history_["n_distinct"][-1] == 4


@pytest.mark.catalogue("CL-15")
def test_half_of_the_distances_are_enough_for_well_separated_groups(groups):
    X, labels = groups
    D = cdist(X, X)
    full = PairwiseClustering(4, metric="precomputed", random_state=0).fit(D)
    missing = np.triu(np.random.default_rng(0).random(D.shape) < 0.5, 1)
    D[missing | missing.T] = np.nan
    half = PairwiseClustering(4, metric="precomputed", random_state=0).fit(D)
    assert adjusted_rand_score(full.labels_, labels) == 1.0
    np.testing.assert_array_equal(half.labels_, full.labels_)
    present = DistanceMatrix(np.ones((3, 3)) - np.eye(3), np.ones((3, 3)))
    plain = DistanceMatrix(np.ones((3, 3)) - np.eye(3))
    shares = np.full((3, 2), 0.5)
    np.testing.assert_allclose(present.means(shares, shares.sum(axis=0)), plain.means(shares, shares.sum(axis=0)))


@pytest.mark.catalogue("CL-18")
def test_on_a_map_neighbouring_clusters_hold_neighbouring_objects():
    x = np.sort(np.random.default_rng(0).uniform(size=120))
    h = grid_neighbourhood(1, 6, 0.8)
    model = PairwiseClustering(6, neighbourhood=h, random_state=0).fit(x[:, None])
    steps = np.diff(model.labels_)
    assert np.all(steps >= 0) or np.all(steps <= 0)
    assert len(np.unique(model.labels_)) >= 4


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "manhattan", "precomputed"])
@pytest.mark.parametrize("solver", ["mean_field", "annealing"])
def test_rows_of_the_fit_are_predicted_to_be_where_they_are(groups, metric, solver):
    X = cdist(groups[0], groups[0]) if metric == "precomputed" else groups[0]
    model = PairwiseClustering(4, metric=metric, solver=solver, random_state=0).fit(X)
    # Annealing judges a move with the object itself in either cluster, which differs a little on borders.
    assert np.mean(model.predict(X) == model.labels_) >= (1.0 if solver == "mean_field" else 0.95)
    _, first = np.unique(model.labels_, return_index=True)
    assert np.all(np.diff(first) > 0)


def test_integer_weights_are_repetitions(groups):
    X = groups[0]
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    for solver in ("mean_field", "annealing"):
        model = PairwiseClustering(4, solver=solver, random_state=0)
        heavy = model.fit(X, sample_weight=weight.astype(float)).cost_
        assert heavy == pytest.approx(model.fit(X.repeat(weight, axis=0)).cost_, rel=1e-9)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda D: D[:3], r"must be a square matrix; got shape \(3, 4\)"),
        (lambda D: -D, "must be finite and non-negative"),
        (lambda D: D + np.triu(np.ones((4, 4)), 1), r"must be symmetric; got others.*\(X \+ X.T\) / 2"),
        (lambda D: D + np.eye(4), "must be zero on the diagonal"),
        (
            lambda D: np.where(np.arange(4) == 2, np.nan, np.where(np.arange(4) == 2, np.nan, D.T).T),
            "object 2 has none",
        ),
    ],
)
def test_matrices_that_hold_no_distances_are_refused(spoil, words):
    D = np.abs(np.subtract.outer([0.0, 1.0, 5.0, 7.0], [0.0, 1.0, 5.0, 7.0]))
    with pytest.raises(DataError, match=f"PairwiseClustering: .*{words}"):
        PairwiseClustering(2, metric="precomputed").fit(spoil(D))


def test_what_a_solver_cannot_do_is_refused(groups):
    X = groups[0][:10]
    with pytest.raises(DataError, match=r"n_samples=10 should be >= n_clusters=11\. Lower n_clusters"):
        PairwiseClustering(11).fit(X)
    with pytest.raises(DataError, match="solver='annealing' takes no neighbourhood; use solver='mean_field'"):
        PairwiseClustering(2, solver="annealing", neighbourhood=np.eye(2)).fit(X)
    with pytest.raises(DataError, match=r"a row and a column for each of the 2 clusters; got shape \(3, 3\)"):
        PairwiseClustering(2, neighbourhood=np.eye(3)).fit(X)


@pytest.mark.catalogue("CL-15")
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "precomputed"])
def test_a_tenth_of_the_distances_is_enough_for_well_separated_groups(groups, metric):
    X, labels = groups
    rows = cdist(X, X) if metric == "precomputed" else X
    model = PairwiseClustering(4, metric=metric, subsample=0.1, random_state=0).fit(rows)
    assert model.n_distances_ == pytest.approx(0.1 * 240**2, rel=0.15)
    assert adjusted_rand_score(model.labels_, labels) == 1.0
    assert adjusted_rand_score(model.predict(rows), labels) == 1.0
    again = PairwiseClustering(4, metric=metric, subsample=0.1, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.memberships_, again.memberships_)


@pytest.mark.catalogue("CL-15")
def test_a_sample_of_all_distances_is_the_fit_to_all(groups):
    X = groups[0]
    whole = PairwiseClustering(4, metric="euclidean", random_state=0).fit(X)
    sampled = PairwiseClustering(4, metric="euclidean", subsample=1.0, random_state=0).fit(X)
    assert sampled.n_distances_ == whole.n_distances_ == 240**2
    np.testing.assert_allclose(sampled.memberships_, whole.memberships_, atol=1e-8)
    assert sampled.cost_ == pytest.approx(whole.cost_, rel=1e-9)


@pytest.mark.catalogue("CL-15")
def test_means_over_drawn_distances_are_means_over_what_was_drawn_and_unbiased():
    D, m, _ = random_problem(60, 3, seed=4)
    totals = np.zeros((60, 3))
    for seed in range(300):
        random = np.random.default_rng(seed)
        distances, present = draw_distances(lambda part: D[part], 60, 0.3, random, 7)
        table, ones = distances.toarray(), present.toarray()
        if seed < 3:
            np.testing.assert_array_equal(table, table.T)
            np.testing.assert_array_equal(table, np.where(ones > 0, D, 0.0))
            assert ones.sum(axis=1).min() >= 2
            means = DistanceMatrix(distances, present).means(m, m.sum(axis=0))
            direct = [[np.average(D[i, ones[i] > 0], weights=m[ones[i] > 0, q]) for q in range(3)] for i in range(60)]
            np.testing.assert_allclose(means, direct, rtol=1e-12)
        totals += DistanceMatrix(distances, present).means(m, m.sum(axis=0))
    np.testing.assert_allclose(totals / 300, DistanceMatrix(D).means(m, m.sum(axis=0)), atol=0.06)


def test_drawn_distances_may_be_missing_and_need_the_mean_field(groups):
    X = groups[0]
    D = cdist(X, X)
    D[3, 5:200] = D[5:200, 3] = np.nan
    model = PairwiseClustering(4, metric="precomputed", subsample=0.3, random_state=0).fit(D)
    assert adjusted_rand_score(model.labels_, groups[1]) > 0.97
    with pytest.raises(DataError, match="solver='annealing' takes no subsample; use solver='mean_field'"):
        PairwiseClustering(4, solver="annealing", subsample=0.5).fit(X)


@pytest.mark.catalogue("CL-18")
@pytest.mark.parametrize("metric", ["sqeuclidean", "manhattan"])
def test_a_map_without_neighbours_is_the_clustering_without_a_map(groups, metric):
    X = groups[0][:120] * [1.0, 4.0, 0.5]
    plain = PairwiseClustering(4, metric=metric, beta_end=2.0, random_state=1).fit(X)
    mapped = PairwiseClustering(4, metric=metric, beta_end=2.0, random_state=1, neighbourhood=np.eye(4)).fit(X)
    order = [int(np.abs(mapped.memberships_ - column[:, None]).sum(axis=0).argmin()) for column in plain.memberships_.T]
    np.testing.assert_allclose(mapped.memberships_[:, order], plain.memberships_, atol=1e-6)
    assert mapped.cost_ == pytest.approx(plain.cost_, rel=1e-9)


@pytest.mark.catalogue("CL-18")
def test_memberships_on_a_map_are_a_fixed_point_of_the_smoothed_field_by_direct_sums():
    """A neighbourhood that is not symmetric tells h from its transpose; sums are written out, object by object."""
    x = np.sort(np.random.default_rng(5).uniform(size=40)) * 100.0
    D = np.abs(x[:, None] - x[None])
    h = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.0, 0.4, 0.6]])
    model = PairwiseClustering(
        3, metric="precomputed", neighbourhood=h, beta_end=0.15, tol=1e-7, max_iter=20_000, random_state=0
    ).fit(D)
    m, n = model.memberships_, 40
    smooth = [[sum(h[q, r] * m[i, r] for r in range(3)) for q in range(3)] for i in range(n)]
    size = [sum(smooth[i][q] for i in range(n)) for q in range(3)]
    mean = [[sum(smooth[b][q] * D[a, b] for b in range(n)) / size[q] for q in range(3)] for a in range(n)]
    within = [sum(smooth[a][q] * mean[a][q] for a in range(n)) / size[q] for q in range(3)]
    slope = [[2 / 3 * (mean[a][q] - within[q] / 2) for q in range(3)] for a in range(n)]
    field = np.array([[sum(h[q, r] * slope[a][q] for q in range(3)) for r in range(3)] for a in range(n)])
    assert 0.05 < 1 - m.max(axis=1).mean() < 0.6
    np.testing.assert_allclose(m, softmax(-model.beta_ * field, axis=1), atol=1e-4)
    labels = np.eye(3)[model.labels_]
    assert model.cost_ == pytest.approx(direct_cost(D, labels @ h.T), rel=1e-12)
    np.testing.assert_array_equal(model.predict(D), field.argmin(axis=1))
