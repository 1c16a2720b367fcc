"""Linkage matrices against SciPy's, by hand, and cut."""

import itertools

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, pdist

import mercer
from mercer.cluster import cut_linkage, linkage
from mercer.errors import DataError, MemoryForecastError, ParameterError

METHODS = ("single", "complete", "average", "weighted", "ward", "centroid", "median")


def partition(labels):
    return {frozenset(np.flatnonzero(labels == label)) for label in np.unique(labels)}


@pytest.mark.catalogue("CL-06")
def test_four_points_on_a_line_merge_as_by_hand():
    Z = linkage([[0.0], [1.0], [5.0], [7.0]], "average")
    assert Z.tolist() == [[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, 5.5, 4]]
    heights = {method: linkage([[0.0], [1.0], [5.0], [7.0]], method)[-1, 2] for method in METHODS}
    assert heights["single"] == 4.0
    assert heights["complete"] == 7.0
    assert heights["weighted"] == heights["centroid"] == heights["median"] == 5.5
    # Twice the growth of the sum of squares: 2 x 2 2 / 4 x 5.5^2.
    assert heights["ward"] == pytest.approx(np.sqrt(2 * 5.5**2))


@pytest.mark.catalogue("CL-06")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 3, 65, 400])
def test_the_matrix_is_scipys_from_rows_and_from_distances(method, n):
    X = np.random.default_rng(0).normal(size=(n, 4))
    expected = hierarchy.linkage(X, method)
    for given in (X, pdist(X)):
        found = linkage(given, method)
        assert np.array_equal(found[:, [0, 1, 3]], expected[:, [0, 1, 3]])
        np.testing.assert_allclose(found[:, 2], expected[:, 2], rtol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_many_calls_and_packing_again_change_nothing(method, monkeypatch):
    """A fit that is cut into many native calls gives the bits of a fit in one."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    whole = linkage(X, method)
    monkeypatch.setattr("mercer.cluster._hierarchy.merging._WORK", 4000)
    assert np.array_equal(linkage(X, method), whole)


@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted"])
def test_any_metric_gives_scipys_matrix(method):
    X = np.random.default_rng(0).normal(size=(80, 4))
    for metric in ("cityblock", "cosine", "seuclidean", "mahalanobis", lambda a, b: float(np.abs(a - b).max())):
        expected = hierarchy.linkage(X, method, metric)
        found = linkage(X, method, metric)
        assert np.array_equal(found[:, :2], expected[:, :2])
        np.testing.assert_allclose(found[:, 2], expected[:, 2], rtol=1e-10)


@pytest.mark.catalogue("CL-07")
@pytest.mark.parametrize("method", METHODS)
def test_heights_equal_the_linkage_of_the_two_clusters_recomputed(method):
    X = np.random.default_rng(0).normal(size=(25, 3))
    Z = linkage(X, method)
    members, middle = {i: [i] for i in range(25)}, {i: X[i] for i in range(25)}
    for i, (a, b, height, size) in enumerate(Z):
        A, B = members[int(a)], members[int(b)]
        members[25 + i] = A + B
        middle[25 + i] = (middle[int(a)] + middle[int(b)]) / 2
        D, gap = cdist(X[A], X[B]), np.linalg.norm(X[A].mean(axis=0) - X[B].mean(axis=0))
        expected = {
            "single": D.min(),
            "complete": D.max(),
            "average": D.mean(),
            "ward": np.sqrt(2 * len(A) * len(B) / (len(A) + len(B))) * gap,
            "centroid": gap,
            "median": np.linalg.norm(middle[int(a)] - middle[int(b)]),
        }.get(method, height)
        assert height == pytest.approx(expected, rel=1e-9)
        assert size == len(A) + len(B)


@pytest.mark.catalogue("CL-07")
def test_a_ward_merge_raises_the_sum_of_squares_by_half_its_squared_height():
    X = np.random.default_rng(0).normal(size=(30, 2))
    Z = linkage(X, "ward")

    def scatter(labels):
        return sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))

    for k in range(1, 10):
        grown = scatter(cut_linkage(Z, n_clusters=k)) - scatter(cut_linkage(Z, n_clusters=k + 1))
        assert grown == pytest.approx(Z[-k, 2] ** 2 / 2)


@pytest.mark.catalogue("CL-06")
@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted", "ward"])
def test_heights_never_fall_and_single_lies_below_average_below_complete(method):
    X = np.random.default_rng(0).normal(size=(200, 3))
    assert (np.diff(linkage(X, method)[:, 2]) >= 0).all()
    single, average, complete = (linkage(X, one)[-1, 2] for one in ("single", "average", "complete"))
    assert single <= average <= complete


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repetitions(method):
    random = np.random.default_rng(0)
    X, weight = random.normal(size=(12, 2)), random.integers(1, 4, size=12)
    weighted = linkage(X, method, sample_weight=weight)
    repeated = linkage(X.repeat(weight, axis=0), method)
    np.testing.assert_allclose(weighted[:, 2], repeated[weight.sum() - 12 :, 2], rtol=1e-7)
    assert weighted[-1, 3] == weight.sum()


@pytest.mark.catalogue("CL-06")
@pytest.mark.parametrize("method", METHODS)
def test_cuts_are_scipys_partitions(method):
    X = np.random.default_rng(0).normal(size=(60, 2))
    Z = linkage(X, method)
    if method in ("centroid", "median"):
        heights, criterion = [0.5, 1.0], "distance"
        for height in heights:
            assert partition(cut_linkage(Z, height=height)) == partition(hierarchy.fcluster(Z, height, criterion))
        return
    for k in (1, 2, 7, 60):
        labels = cut_linkage(Z, n_clusters=k)
        assert len(np.unique(labels)) == k
        # SciPy 1.13 never gives as many groups as rows.
        assert partition(labels) == partition(np.arange(60) if k == 60 else hierarchy.fcluster(Z, k, "maxclust"))
        firsts = [np.argmax(labels == label) for label in range(k)]
        assert firsts == sorted(firsts)


def test_the_widest_gap_finds_groups_that_are_far_apart():
    random = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    X = np.concatenate([centre + random.normal(size=(20, 2)) for centre in centres])
    labels = cut_linkage(linkage(X, "average"))
    assert partition(labels) == partition(np.repeat([0, 1, 2], 20))


@pytest.mark.parametrize("method", METHODS)
def test_equal_rows_and_extreme_numbers_merge(method):
    assert (linkage(np.ones((6, 2)), method)[:, 2] == 0).all()
    X = np.random.default_rng(0).normal(size=(9, 2))
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(linkage(X * scale, method)[:, 2], linkage(X, method)[:, 2] * scale, rtol=1e-7)
        given = linkage(pdist(X) * scale * 1e100, method)
        np.testing.assert_allclose(given[:, 2], linkage(X, method)[:, 2] * scale * 1e100, rtol=1e-7)


@pytest.mark.parametrize("method", ["ward", "average"])
def test_a_chain_through_all_rows_is_cut_into_calls(method, monkeypatch):
    """Gaps that shrink from left to right: the nearest neighbour of each row is the next one."""
    X = np.cumsum(1.0 / np.arange(1.0, 301.0))[:, None]
    expected = hierarchy.linkage(X, method)
    monkeypatch.setattr("mercer.cluster._hierarchy.merging._WORK", 20_000)
    np.testing.assert_allclose(linkage(X, method)[:, 2], expected[:, 2], rtol=1e-9)


def test_threads_change_no_bit():
    X = np.random.default_rng(0).normal(size=(500, 3))
    for method, metric in itertools.product(("average", "ward"), ("euclidean",)):
        assert len({linkage(X, method, metric, n_jobs=threads).tobytes() for threads in (1, 2, 5)}) == 1


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        ([1.0, 2.0], {}, r"n \(n - 1\) / 2 numbers; got 2"),
        ([1.0, -2.0, 1.0], {}, "distances must be non-negative; got -2"),
        ([[0.0]], {}, "X must be rows, at least 2"),
        ([[0.0], [1.0]], {"method": "ward", "metric": "cityblock"}, "method 'ward' needs metric='euclidean'"),
        ([[0.0], [1.0]], {"sample_weight": [1.0, 0.0]}, "sample_weight must be positive; got 0"),
    ],
)
def test_what_cannot_be_merged_is_refused_in_a_sentence(X, options, words):
    with pytest.raises(DataError, match=words):
        linkage(X, **options)


def test_other_words_and_too_much_memory_are_refused():
    with pytest.raises(ParameterError, match=r"linkage: metric must be one that SciPy's cdist knows.*'oak'"):
        linkage([[0.0], [1.0]], "average", "oak")
    with pytest.raises(ParameterError, match="linkage: method must be one of 'single'"):
        linkage([[0.0], [1.0]], "nearest")
    with pytest.raises(DataError, match="give n_clusters or height, not both"):
        cut_linkage(linkage([[0.0], [1.0]]), n_clusters=1, height=1.0)
    with pytest.raises(DataError, match="n_clusters must be at most the 2 leaves; got 3"):
        cut_linkage(linkage([[0.0], [1.0]]), n_clusters=3)
    with pytest.raises(DataError, match="merge 0 joins 0 and 3, and only 0 to 2 are there"):
        cut_linkage([[0.0, 3.0, 1.0, 2.0], [1.0, 2.0, 1.0, 3.0]], n_clusters=2)
    with pytest.raises(DataError, match="merge 0 joins -1 and 0"):
        cut_linkage([[-1.0, 0.0, 1.0, 2.0], [1.0, 2.0, 1.0, 3.0]], n_clusters=2)
    X = np.random.default_rng(0).normal(size=(300, 2))
    with mercer.config_context(max_memory=300_000):
        with pytest.raises(MemoryForecastError, match="the 300 x 300 distances needs"):
            linkage(X, "average")
        linkage(X, "single")
        linkage(X, "ward")


@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted", "ward", "centroid", "median"])
def test_rows_too_small_for_squares_have_the_hierarchy_of_larger_ones(method):
    X = np.random.default_rng(3).integers(-50, 50, (30, 2)).astype(float)
    # 2^-1030 is below the smallest normal number; whole numbers times it are still exact.
    ours, theirs = linkage(X * 2.0**-1030, method), linkage(X, method)
    np.testing.assert_array_equal(ours[:, :2], theirs[:, :2])
    np.testing.assert_allclose(ours[:, 2], theirs[:, 2] * 2.0**-1030, rtol=1e-9, atol=1e-322)
