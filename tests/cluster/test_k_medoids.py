"""k-medoids: the best medoids of few rows, every method, weights, starts, and distances of any kind."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import mercer
from mercer.cluster import KMeans, KMedoids
from mercer.cluster._distances import GivenDistances
from mercer.cluster._medoids.board import Board
from mercer.errors import DataError, MemoryForecastError, ParameterError
from mercer.watch import Checkpoint

X = np.random.default_rng(0).normal(size=(120, 3))
METHODS = ("fasterpam", "pam", "alternate", "clara")


def deviation(D, medoids, weight=None):
    near = D[list(medoids)].min(axis=0)
    return near.sum() if weight is None else near @ weight


@pytest.mark.catalogue("CL-05")
@pytest.mark.parametrize("method", ["fasterpam", "pam", "clara"])
def test_the_best_of_all_choices_is_found_for_few_rows(method):
    for seed in range(5):
        rows = np.random.default_rng(seed).normal(size=(12, 2))
        D = cdist(rows, rows)
        best = min(deviation(D, chosen) for chosen in combinations(range(12), 3))
        # One start in two ends in another local minimum; that twenty do has a chance of 1e-6.
        found = min(KMedoids(3, method=method, random_state=start).fit(rows).inertia_ for start in range(20))
        assert found == pytest.approx(best)


@pytest.mark.catalogue("CL-05")
@pytest.mark.parametrize("method", METHODS)
def test_medoids_are_rows_labels_are_nearest_and_the_total_never_rises(method):
    model = KMedoids(6, method=method, random_state=0).fit(X)
    D = cdist(X, X)
    assert np.array_equal(model.cluster_centers_, X[model.medoid_indices_])
    assert np.array_equal(model.labels_, D[model.medoid_indices_].argmin(axis=0))
    assert model.inertia_ == pytest.approx(deviation(D, model.medoid_indices_))
    assert model.score(X) == pytest.approx(-model.inertia_)
    assert (np.diff(model.history_["objective"]) <= 0).all()
    assert np.array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X), D[:, model.medoid_indices_])


@pytest.mark.catalogue("CL-05")
@pytest.mark.parametrize("method", ["fasterpam", "pam"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_no_swap_helps_at_the_end(method, k):
    model = KMedoids(k, method=method, random_state=0).fit(X)
    D = cdist(X, X)
    for q in range(k):
        for row in range(120):
            swapped = model.medoid_indices_.copy()
            swapped[q] = row
            assert deviation(D, swapped) >= model.inertia_ * (1 - 1e-12)
    assert model.converged_
    assert model.certificate_.kind == "swap gain"
    assert model.certificate_.satisfied


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_change_of_every_swap_is_what_a_recount_says(k, weighted):
    D, weight = cdist(X, X), np.random.default_rng(1).integers(0, 3, size=120).astype(float) if weighted else None
    board = Board(GivenDistances(D), weight, 1)
    medoids = board.candidates[:k]
    board.place(medoids)
    change, which, _ = board.try_swaps(board.candidates)
    for i, row in enumerate(board.candidates):
        options = [deviation(D, [*np.delete(medoids, q), row], weight) - board.total for q in range(k)]
        if row not in medoids:
            assert change[i] == pytest.approx(min(options))
            assert options[which[i]] == pytest.approx(min(options))
    board.swap(int(board.candidates[-1]), k - 1, D[board.candidates[-1]])
    assert board.total == pytest.approx(deviation(D, board.medoids, weight))
    again = Board(GivenDistances(D), weight, 1)
    again.place(board.medoids)
    for name in ("nearest", "near", "next", "loss", "total"):
        np.testing.assert_allclose(getattr(board, name), getattr(again, name))


@pytest.mark.catalogue("CL-05")
def test_one_far_outlier_moves_the_mean_and_not_the_medoid():
    rows = np.append(np.arange(9.0), 1000.0)[:, None]
    assert KMedoids(1).fit(rows).cluster_centers_.item() in (4.0, 5.0)
    assert KMeans(1, n_init=1).fit(rows).cluster_centers_.item() > 100


@pytest.mark.parametrize("method", ["fasterpam", "pam", "alternate"])
def test_weights_are_repetitions_and_rows_without_weight_are_no_medoids(method):
    weight = np.random.default_rng(1).integers(0, 4, size=120)
    weighted = KMedoids(4, method=method, init="build").fit(X, sample_weight=weight)
    repeated = KMedoids(4, method=method, init="build").fit(X.repeat(weight, axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    assert (weight[weighted.medoid_indices_] > 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_threads_and_kinds_of_distances_change_no_medoid(method):
    models = [KMedoids(5, method=method, random_state=0, n_jobs=threads).fit(X) for threads in (1, 2, 5)]
    D = cdist(X, X)
    models.append(KMedoids(5, method=method, random_state=0, metric="precomputed").fit(D))
    models.append(KMedoids(5, method=method, random_state=0, metric="minkowski", metric_params={"p": 2}).fit(X))
    models.append(KMedoids(5, method=method, random_state=0, metric=lambda a, b: np.linalg.norm(a - b)).fit(X))
    for model in models:
        assert np.array_equal(model.medoid_indices_, models[0].medoid_indices_)
        assert np.array_equal(model.labels_, models[0].labels_)
    assert np.array_equal(models[3].predict(D[:7]), models[0].labels_[:7])
    assert not hasattr(models[3], "cluster_centers_")


def test_float32_distances_are_read_as_they_are():
    D = cdist(X, X).astype(np.float32)
    single = KMedoids(5, metric="precomputed", random_state=0).fit(D)
    double = KMedoids(5, metric="precomputed", random_state=0).fit(D.astype(float))
    assert np.array_equal(single.medoid_indices_, double.medoid_indices_)
    assert single.transform(D).dtype == np.float32


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_build_takes_the_best_row_then_the_next_best():
    D = cdist(X, X)
    chosen = []
    for _ in range(3):
        costs = [deviation(D, [*chosen, row]) if row not in chosen else np.inf for row in range(120)]
        chosen.append(int(np.argmin(costs)))
    model = KMedoids(3, init="build", max_iter=1).fit(X)
    assert model.inertia_ <= deviation(D, chosen) * (1 + 1e-12)
    by_hand = KMedoids(3, init=np.array(chosen), max_iter=1).fit(X)
    assert np.array_equal(by_hand.medoid_indices_, model.medoid_indices_)


@pytest.mark.parametrize("method", METHODS)
def test_equal_rows_and_as_many_clusters_as_rows_end_at_zero(method):
    assert KMedoids(3, method=method, random_state=0).fit(np.ones((7, 2))).inertia_ == 0
    model = KMedoids(6, method=method, random_state=0).fit(X[:6])
    assert model.inertia_ == 0
    assert sorted(model.medoid_indices_.tolist()) == list(range(6))


@pytest.mark.parametrize(
    ("rows", "options", "error", "words"),
    [
        (X, {"n_clusters": 121}, DataError, "n_samples=120 should be >= n_clusters=121"),
        (X, {"n_clusters": 2, "init": [0, 0]}, DataError, "init must name 2 different rows"),
        (X, {"n_clusters": 2, "init": [[0.0, 0.0]]}, DataError, "init must be 2 row numbers, or 2 rows"),
        (X, {"n_clusters": 2, "init": [0, 1], "method": "clara"}, ParameterError, "init must be a name; got an array"),
        (X, {"method": "clara", "draw_size": 3}, ParameterError, "draw_size must be at least n_clusters=8; got 3"),
        (-np.ones((9, 9)), {"metric": "precomputed"}, DataError, "distances must be non-negative; got -1"),
        (X, {"metric": "mahalanobis"}, ParameterError, "needs metric_params={'VI': ...}"),
        (X, {"metric": "oak"}, ParameterError, "KMedoids: metric must be one that SciPy's cdist knows"),
        (X, {"metric": "precomputed"}, DataError, "Distance matrix should be square"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(rows, options, error, words):
    with pytest.raises(error, match=words):
        KMedoids(**options).fit(rows)


class Crash:
    """A callback that ends a fit by an error after its second step."""

    left = 2

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context):
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("killed")


@pytest.mark.parametrize("method", ["pam", "clara"])
def test_a_crashed_fit_resumes_with_the_same_medoids(method, tmp_path):
    options = {"n_clusters": 6, "method": method, "init": "random", "random_state": 0}
    whole = KMedoids(**options).fit(X)
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(RuntimeError, match="killed"):
        KMedoids(**options).set_callbacks(Checkpoint(path, every=0), Crash()).fit(X)
    checkpoint = Checkpoint(path, every=0)
    resumed = KMedoids(**options).set_callbacks(checkpoint).fit(X)
    assert checkpoint.resumed_from_ == 1
    assert np.array_equal(resumed.medoid_indices_, whole.medoid_indices_)
    assert np.array_equal(resumed.history_["objective"], whole.history_["objective"])


def test_memory_is_forecast():
    with mercer.config_context(max_memory=10_000), pytest.raises(MemoryForecastError, match="120 rows to 8 medoids"):
        KMedoids().fit(X)
