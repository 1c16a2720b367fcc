"""Measures of clusterings: hand-computed cases, scikit-learn's values, invariance, and errors with their cures."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.metrics
from sklearn.datasets import make_blobs

from mercer import metrics
from mercer.errors import DataError, ParameterError

LINE = np.array([[0.0], [1.0], [10.0], [11.0]])
PAIRS = [0, 0, 1, 1]
INTERNAL = ["silhouette_score", "davies_bouldin_score", "calinski_harabasz_score", "dunn_index", "within_scatter"]
EXTERNAL = ["purity_score", "conditional_entropy", "pair_f_score"]


@pytest.fixture(scope="module")
def blobs():
    X, labels = make_blobs(1500, 4, centers=6, cluster_std=2.0, random_state=0)
    return X, labels


@pytest.mark.catalogue("CL-21")
def test_two_pairs_on_a_line_have_the_values_computed_by_hand():
    # Of 0: a = 1, b = 10.5; of 1: a = 1, b = 9.5.
    np.testing.assert_allclose(
        metrics.silhouette_samples(LINE, PAIRS), [9.5 / 10.5, 8.5 / 9.5, 8.5 / 9.5, 9.5 / 10.5], rtol=1e-14
    )
    assert metrics.within_scatter(LINE, PAIRS) == 1.0
    assert metrics.calinski_harabasz_score(LINE, PAIRS) == 100.0 * 2 / 1
    assert metrics.davies_bouldin_score(LINE, PAIRS) == (0.5 + 0.5) / 10
    assert metrics.dunn_index(LINE, PAIRS) == 9.0


@pytest.mark.catalogue("CL-21")
@pytest.mark.parametrize("name", INTERNAL[:3])
def test_values_are_those_of_scikit_learn(blobs, name):
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-5)):
        X = blobs[0].astype(dtype)
        expected = getattr(sklearn.metrics, name)(X.astype(np.float64), blobs[1])
        assert getattr(metrics, name)(X, blobs[1]) == pytest.approx(expected, rel=rtol)


@pytest.mark.catalogue("CL-21", "CL-19")
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "precomputed", "chebyshev"])
@pytest.mark.parametrize("sample_size", [None, 300])
def test_silhouettes_of_every_metric_are_those_of_scikit_learn(blobs, metric, sample_size):
    X, labels = blobs[0][:700], blobs[1][:700]
    X = sklearn.metrics.pairwise_distances(X) if metric == "precomputed" else X
    options = {"metric": metric, "sample_size": sample_size, "random_state": 3}
    expected = sklearn.metrics.silhouette_score(X, labels, **options)
    assert metrics.silhouette_score(X, labels, **options) == pytest.approx(expected, rel=1e-10)


@pytest.mark.catalogue("CL-21")
def test_dunn_is_the_least_gap_over_the_widest_group(blobs):
    X, labels = blobs[0][:400], blobs[1][:400]
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    same = labels[:, None] == labels[None]
    expected = distances[~same].min() / distances[same].max()
    assert metrics.dunn_index(X + 1e6, labels) == pytest.approx(expected, rel=1e-5)
    assert metrics.dunn_index(X, labels) == pytest.approx(expected, rel=1e-12)


@pytest.mark.catalogue("CL-21")
def test_agreement_with_classes_by_hand():
    true, pred = ["a", "a", "a", "b", "b", "c"], [0, 0, 1, 1, 1, 1]
    assert metrics.purity_score(true, pred) == 4 / 6
    two, four = 0.0, -(0.25 * np.log(0.25) * 2 + 0.5 * np.log(0.5))
    assert metrics.conditional_entropy(true, pred) == pytest.approx((2 * two + 4 * four) / 6)
    # Pairs in one cluster: 1 + 6; in one class: 3 + 1; in both: 1 + 1.
    assert metrics.pair_f_score(true, pred) == pytest.approx(2 * 2 / (7 + 4))
    assert metrics.pair_f_score(true, pred, beta=2.0) == pytest.approx(5 * 2 / (4 * 4 + 7))


@pytest.mark.catalogue("CL-21")
@pytest.mark.parametrize("name", INTERNAL)
def test_internal_measures_do_not_depend_on_the_names_of_labels_or_the_order_of_rows(blobs, name):
    X, labels = blobs
    order = np.random.default_rng(0).permutation(len(X))
    renamed = np.array(["f", "b", "e", "a", "c", "d"])[labels]
    measure = getattr(metrics, name)
    assert measure(X[order], renamed[order]) == pytest.approx(measure(X, labels), rel=1e-10)


@pytest.mark.catalogue("CL-21")
@pytest.mark.parametrize(
    ("name", "perfect"), [("purity_score", 1.0), ("conditional_entropy", 0.0), ("pair_f_score", 1.0)]
)
def test_equal_partitions_agree_perfectly_whatever_their_names(name, perfect):
    assert getattr(metrics, name)([0, 0, 1, 2, 2], ["x", "x", "z", "y", "y"]) == perfect


@pytest.mark.catalogue("CL-21")
def test_silhouettes_lie_between_minus_one_and_one_and_lone_rows_have_zero(blobs):
    X, labels = blobs[0], blobs[1].copy()
    labels[7] = 99
    silhouettes = metrics.silhouette_samples(X, labels)
    assert silhouettes[7] == 0.0
    assert np.abs(silhouettes).max() <= 1.0


@pytest.mark.parametrize("name", ["silhouette_samples", "dunn_index"])
def test_the_number_of_threads_does_not_change_a_bit(blobs, name):
    found = [np.asarray(getattr(metrics, name)(*blobs, n_jobs=n_jobs)).tobytes() for n_jobs in (1, 2, 5)]
    assert len(set(found)) == 1


def test_sparse_rows_and_equal_rows_lose_no_digits():
    X = np.repeat([[1e4, 0.0], [1e4, 1e-3], [0.0, 3.0]], 4, axis=0)
    labels = [0, 0, 1, 1] * 3
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    expected = metrics.silhouette_samples(distances, labels, metric="precomputed")
    for rows in (X, scipy.sparse.csr_array(X)):
        np.testing.assert_allclose(metrics.silhouette_samples(rows, labels), expected, atol=1e-9)


@pytest.mark.catalogue("CL-21")
def test_the_interval_holds_the_score_of_all_rows_as_often_as_it_says(blobs):
    X, labels = blobs
    score = metrics.silhouette_score(X, labels)
    found = [
        metrics.silhouette_interval(X, labels, sample_size=150, confidence=0.8, random_state=seed) for seed in range(60)
    ]
    assert 0.65 <= np.mean([one.low <= score <= one.high for one in found]) <= 0.95
    whole = metrics.silhouette_interval(X, labels, sample_size=10**6)
    assert whole.low == whole.high == pytest.approx(score)
    assert whole.n_drawn == len(X)


@pytest.mark.parametrize("name", INTERNAL)
@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_one_group_or_only_lone_rows_are_refused(name, labels):
    with pytest.raises(DataError, match=r"Number of labels is .\. Valid values are 2 to n_samples - 1"):
        getattr(metrics, name)(LINE, labels)


def test_labellings_and_parameters_that_make_no_sense_are_refused():
    for name in EXTERNAL:
        with pytest.raises(DataError, match=f"{name}: the two labellings must be of the same rows"):
            getattr(metrics, name)([0, 1], [0])
    with pytest.raises(ParameterError, match=r"confidence must be a number in \(0, 1\); got 1"):
        metrics.silhouette_interval(LINE, PAIRS, confidence=1.0)
    with pytest.raises(DataError, match=r"non-zero elements on the diagonal. Use np.fill_diagonal"):
        metrics.silhouette_score(np.ones((4, 4)), PAIRS, metric="precomputed")
