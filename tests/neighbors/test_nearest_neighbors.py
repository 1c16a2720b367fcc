"""Models of neighbours against definitions, worked examples and scikit-learn; ties, weights, places and errors."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.neighbors
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances

import mercer
from mercer.errors import DataError
from mercer.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    kneighbors_graph,
    radius_neighbors_graph,
    select_n_neighbors,
)

ROWS = np.random.default_rng(0).normal(size=(200, 4))
QUERIES = np.random.default_rng(1).normal(size=(31, 4))
LABELS = np.array(["ash", "birch", "cedar"])[np.random.default_rng(2).integers(0, 3, 200)]


@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "ball_tree"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"p": 1},
        {"p": np.inf},
        {"p": 3},
        {"p": 1.5, "metric_params": {"w": np.array([1.0, 2.0, 0.5, 3.0])}},
        {"metric": "sqeuclidean"},
        {"metric": "canberra"},
        {"metric": "seuclidean"},
        {"metric": "mahalanobis"},
        {"metric": lambda x, y: float(np.abs(x - y).max())},
    ],
    ids=[
        "euclidean",
        "p1",
        "p_inf",
        "p3",
        "weighted",
        "sqeuclidean",
        "canberra",
        "seuclidean",
        "mahalanobis",
        "function",
    ],
)
def test_neighbours_are_those_of_sorted_distances(options, algorithm):
    if algorithm == "kd_tree" and callable(options.get("metric")):
        pytest.skip("a k-d tree takes no function")
    model = NearestNeighbors(n_neighbors=6, algorithm=algorithm, **options).fit(ROWS)
    metric, arguments = model.effective_metric_, model.effective_metric_params_
    table = pairwise_distances(QUERIES, ROWS, metric=metric, **arguments)
    order = np.argsort(table, axis=1, kind="stable")[:, :6]
    distances, indices = model.kneighbors(QUERIES)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, np.take_along_axis(table, order, axis=1), rtol=1e-10)
    # Between two distances: the oracle rounds its own differently.
    radius = 1.000001 * float(np.median(distances[:, -1]))
    lists = model.radius_neighbors(QUERIES, radius, return_distance=False)
    assert [one.tolist() for one in lists] == [np.flatnonzero(line <= radius).tolist() for line in table]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_sparse_rows_have_the_neighbours_of_dense_ones(metric):
    rows, queries = np.where(np.abs(ROWS) < 0.5, 0.0, ROWS), np.where(np.abs(QUERIES) < 0.5, 0.0, QUERIES)
    dense = NearestNeighbors(metric=metric, algorithm="brute").fit(rows)
    sparse = NearestNeighbors(metric=metric).fit(scipy.sparse.csr_array(rows))
    for given in (queries, scipy.sparse.csr_array(queries)):
        distances, indices = sparse.kneighbors(given)
        expected = dense.kneighbors(queries)
        np.testing.assert_allclose(distances, expected[0], atol=1e-12)
        np.testing.assert_array_equal(indices, expected[1])
    starts = [len(one) for one in sparse.radius_neighbors(queries, 0.7, return_distance=False)]
    assert starts == [len(one) for one in dense.radius_neighbors(queries, 0.7, return_distance=False)]


def test_a_row_of_zeros_is_at_cosine_distance_one():
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    distances, indices = NearestNeighbors(n_neighbors=3, metric="cosine").fit(rows).kneighbors([[2.0, 0.0]])
    np.testing.assert_allclose(distances, [[0.0, 1.0 - np.sqrt(0.5), 1.0]], atol=1e-15)
    np.testing.assert_array_equal(indices, [[0, 2, 1]])


def test_given_distances_are_searched_as_rows_are():
    table = pairwise_distances(ROWS)
    expected = NearestNeighbors(n_neighbors=4).fit(ROWS).kneighbors()
    for given in (table, kneighbors_graph(ROWS, 9, mode="distance")):
        distances, indices = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(given).kneighbors()
        np.testing.assert_array_equal(indices, expected[1])
        np.testing.assert_allclose(distances, expected[0], atol=1e-7)


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda distances: 1.0 / (1.0 + distances)])
def test_votes_and_means_are_those_of_scikit_learn(weights):
    for ours, theirs in (
        (KNeighborsClassifier, sklearn.neighbors.KNeighborsClassifier),
        (KNeighborsRegressor, sklearn.neighbors.KNeighborsRegressor),
    ):
        targets = LABELS if ours is KNeighborsClassifier else ROWS[:, :2] ** 2
        model = ours(7, weights=weights).fit(ROWS, targets)
        expected = theirs(7, weights=weights).fit(ROWS, targets)
        if ours is KNeighborsClassifier:
            np.testing.assert_array_equal(model.predict(QUERIES), expected.predict(QUERIES))
            np.testing.assert_allclose(model.predict_proba(QUERIES), expected.predict_proba(QUERIES))
        else:
            np.testing.assert_allclose(model.predict(QUERIES), expected.predict(QUERIES))


def test_a_query_that_is_a_row_gets_its_target_by_weights_of_distance():
    model = KNeighborsRegressor(5, weights="distance").fit(ROWS, ROWS[:, 0])
    np.testing.assert_array_equal(model.predict(ROWS), ROWS[:, 0])


def test_without_queries_rows_are_predicted_from_the_others():
    X, y = load_iris(return_X_y=True)
    model = KNeighborsClassifier(1).fit(X, y)
    table = pairwise_distances(X)
    np.fill_diagonal(table, np.inf)
    assert model.score(None, y) == pytest.approx(np.mean(y[table.argmin(axis=1)] == y))
    assert model.score(X, y) == 1.0


def test_of_equal_votes_the_first_class_wins_and_a_weight_decides():
    X, y = [[0.0], [1.0]], ["b", "a"]
    assert KNeighborsClassifier(2).fit(X, y).predict([[0.2]])[0] == "a"
    assert KNeighborsClassifier(2).fit(X, y, sample_weight=[2.0, 1.0]).predict([[0.2]])[0] == "b"
    np.testing.assert_allclose(
        KNeighborsClassifier(2).fit(X, y, sample_weight=[2.0, 1.0]).predict_proba([[0.2]]), [[1 / 3, 2 / 3]]
    )


def test_outliers_have_their_label_and_no_votes():
    model = RadiusNeighborsClassifier(0.5, outlier_label=-1).fit([[0.0], [1.0]], [3, 4])
    with pytest.warns(UserWarning, match="Outlier label -1 is not in training classes"):
        assert model.predict([[0.1], [9.0]]).tolist() == [3, -1]
    strict = RadiusNeighborsClassifier(0.5).fit([[0.0], [1.0]], [3, 4])
    with pytest.raises(mercer.errors.DataError, match=r"No neighbors found for test samples array\(\[1\]\)"):
        strict.predict([[0.1], [9.0]])
    with pytest.warns(UserWarning, match="no neighbors within specified radius"):
        assert np.isnan(RadiusNeighborsRegressor(0.5).fit([[0.0]], [1.0]).predict([[9.0]])[0])


def test_lists_within_a_radius_are_found_a_part_of_the_queries_at_a_time(monkeypatch):
    from mercer.neighbors._nearest import queries

    model = RadiusNeighborsRegressor(5.0).fit(ROWS, ROWS[:, 0])
    expected = model.predict(None)
    monkeypatch.setattr(queries, "_PAIRS", 1000)
    np.testing.assert_array_equal(model.predict(None), expected)


def test_graphs_hold_the_neighbours():
    graph = kneighbors_graph(ROWS, 3, mode="distance", include_self=True)
    assert graph.shape == (200, 200)
    np.testing.assert_array_equal(graph.indices.reshape(200, 3)[:, 0], np.arange(200))
    near = radius_neighbors_graph(ROWS, 1.0).toarray()
    table = pairwise_distances(ROWS)
    np.fill_diagonal(table, np.inf)
    np.testing.assert_array_equal(near, (table <= 1.0).astype(float))
    transformed = KNeighborsTransformer(n_neighbors=3).fit_transform(ROWS)
    assert (np.diff(transformed.indptr) == 4).all()


def test_duplicates_of_one_row_are_neighbours_by_index():
    model = NearestNeighbors(n_neighbors=2).fit(np.ones((5, 3)))
    distances, indices = model.kneighbors()
    assert not distances.any()
    np.testing.assert_array_equal(indices, [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]])


def test_one_thread_gives_the_bits_of_many_and_models_survive(tmp_path):
    one, many = NearestNeighbors(n_jobs=1).fit(ROWS), NearestNeighbors(n_jobs=4).fit(ROWS)
    np.testing.assert_array_equal(one.kneighbors()[0], many.kneighbors()[0])
    mercer.save(one, tmp_path / "rows.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "rows.mercer").kneighbors()[0], one.kneighbors()[0])


def test_more_neighbours_than_rows_are_refused():
    model = NearestNeighbors(n_neighbors=7).fit(np.eye(5))
    message = (
        "NearestNeighbors: n_neighbors must be at most the number of fitted rows, 5; got 7. Lower n_neighbors or fit "
        "more rows."
    )
    with pytest.raises(mercer.errors.DataError) as caught:
        model.kneighbors(np.eye(5))
    assert str(caught.value) == message


@pytest.mark.parametrize(("value", "words"), [(np.nan, "got nan"), (-1.0, "got -1")])
def test_functions_that_are_no_distances_are_refused(value, words):
    model = NearestNeighbors(n_neighbors=1, metric=lambda x, y: value).fit(ROWS[:9])
    with pytest.raises(mercer.errors.DataError, match=f"must return numbers of at least 0; {words}"):
        model.kneighbors(QUERIES)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_one_search_scores_every_number_of_neighbours(task):
    targets = LABELS if task == "classification" else ROWS[:, 0] + 0.1 * np.random.default_rng(3).normal(size=200)
    choice = select_n_neighbors(ROWS, targets, max_neighbors=9, task=task)
    make = KNeighborsClassifier if task == "classification" else KNeighborsRegressor
    expected = [make(k).fit(ROWS, targets).score(None, targets) for k in range(1, 10)]
    np.testing.assert_allclose(choice.scores, expected)
    assert choice.scores[choice.n_neighbors - 1] == choice.scores.max()


def test_queries_whose_distances_overflow_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = NearestNeighbors(n_neighbors=2).fit(X)
    assert np.isfinite(model.kneighbors(X * 1e150)[0]).all()
    with pytest.raises(DataError, match="distances must be finite; those of a query overflow"):
        model.kneighbors(X * 1e155)
