"""Hierarchies and medoids, at every level and uncompiled, against plain sums over all pairs."""

import importlib

import numpy
import pytest
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import cdist

LANES = 8


@pytest.fixture
def points(level):
    return importlib.import_module(f"mercer._native.{level}.points")


@pytest.fixture
def agglomeration(level):
    return importlib.import_module(f"mercer._native.{level}.agglomeration")


@pytest.fixture
def medoids(level):
    return importlib.import_module(f"mercer._native.{level}.medoids")


def pack(X):
    panels = -(-len(X) // LANES)
    padded = numpy.full((panels * LANES, X.shape[1]), numpy.inf)
    padded[: len(X)] = X
    return numpy.ascontiguousarray(padded.reshape(panels, LANES, -1).transpose(0, 2, 1))


def rows(n=21, d=3):
    return numpy.random.default_rng(1).normal(size=(n, d))


def merges(n):
    return numpy.empty((n - 1, 2), dtype=numpy.intp), numpy.empty(n - 1)


@pytest.mark.parametrize("lengths", [False, True])
def test_distances_are_those_of_all_pairs(points, lengths):
    X, out = rows(), numpy.empty((5, 21))
    points.measure(pack(X), X[3:8], lengths, numpy.empty(LANES), out)
    numpy.testing.assert_allclose(out, cdist(X[3:8], X) ** (1 if lengths else 2), rtol=1e-13, atol=1e-15)


def test_a_spanning_tree_of_points_has_the_heights_of_single_linkage(points, agglomeration):
    X = rows()
    expected = scipy_linkage(X, "single")[:, 2]
    pairs, heights = merges(21)
    slots = pack(X).shape[0] * LANES
    keys, names = numpy.full(slots, numpy.inf), numpy.arange(slots)
    points.span_points(pack(X), keys, names, 0, numpy.empty(3), numpy.empty(LANES), pairs, heights)
    numpy.testing.assert_allclose(numpy.sort(heights), expected, rtol=1e-13)
    from_matrix, other = merges(21)
    agglomeration.span_matrix(cdist(X, X), numpy.full(21, numpy.inf), numpy.zeros(21), 0, from_matrix, other)
    assert numpy.array_equal(from_matrix, pairs)
    numpy.testing.assert_allclose(other, heights, rtol=1e-13)


def test_chains_of_points_and_of_a_matrix_build_wards_tree(points, agglomeration):
    X = rows()
    expected = scipy_linkage(X, "ward")[:, 2]
    pairs, heights = merges(21)
    slots = pack(X).shape[0] * LANES
    sizes = numpy.where(numpy.arange(slots) < 21, 1.0, 0.0)
    chain = numpy.empty(22, dtype=numpy.intp)
    scratch = (numpy.empty((2, 3)), numpy.empty(LANES), numpy.empty(1))
    panels, names, made, done, left = pack(X), numpy.arange(slots), numpy.empty(1, dtype=numpy.intp), 0, 0
    while done < 20:
        rest = (pairs[done:], heights[done:], made)
        left = points.chain_points(panels, sizes, names, chain, left, 4, *scratch, *rest)
        done += made[0]
    assert left == 0
    numpy.testing.assert_allclose(numpy.sort(heights), expected, rtol=1e-12)
    D = cdist(X, X, "sqeuclidean")
    numpy.fill_diagonal(D, numpy.inf)
    other, squared = merges(21)
    state = (D, numpy.ones(21), numpy.zeros(21), numpy.arange(21), 3, chain)
    agglomeration.chain_matrix(*state, 0, 1000, other, squared, made)
    assert made[0] == 20
    assert numpy.array_equal(other, pairs)
    numpy.testing.assert_allclose(numpy.sqrt(squared), heights, rtol=1e-12)


@pytest.mark.parametrize(
    ("linkage", "code"), [("complete", 0), ("average", 1), ("weighted", 2), ("ward", 3), ("centroid", 4), ("median", 5)]
)
def test_the_closest_pair_each_time_builds_every_tree(agglomeration, linkage, code):
    X = rows()
    D = cdist(X, X) ** (2 if code >= 3 else 1)
    numpy.fill_diagonal(D, numpy.inf)
    absent, nearest, bounds = numpy.zeros(21), numpy.empty(21, dtype=numpy.intp), numpy.empty(21)
    agglomeration.find_nearest(D, absent, nearest, bounds, 0, 21)
    pairs, heights = merges(21)
    agglomeration.pair_nearest(D, numpy.ones(21), absent, nearest, bounds, numpy.arange(21), code, pairs, heights)
    expected = scipy_linkage(X, linkage)
    numpy.testing.assert_allclose(heights ** (0.5 if code >= 3 else 1), expected[:, 2], rtol=1e-11)
    parents, children, counts = numpy.full(41, -1), numpy.empty((20, 2), dtype=numpy.intp), numpy.ones(41)
    agglomeration.number_merges(pairs, parents, children, counts)
    assert numpy.array_equal(children, expected[:, :2])
    assert numpy.array_equal(counts[21:], expected[:, 3])


@pytest.mark.parametrize("real", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 3])
def test_swaps_of_medoids_change_the_total_by_what_they_say(medoids, real, weighted, k):
    X = rows()
    D = cdist(X, X).astype(real)
    weight = numpy.random.default_rng(2).uniform(0.5, 2.0, size=21) if weighted else numpy.empty(0)
    factor = weight if weighted else numpy.ones(21)
    chosen = numpy.arange(k)
    table = D[:k].astype(float)
    nearest, second = numpy.empty(21, dtype=numpy.int32), numpy.empty(21, dtype=numpy.int32)
    near, after, loss = numpy.empty(21), numpy.empty(21), numpy.empty(k)
    total = medoids.find_two(table, weight, nearest, second, near, after, loss)
    assert total == pytest.approx(factor @ D[:k].min(axis=0))
    change, which = numpy.empty(21), numpy.empty(21, dtype=numpy.int32)
    medoids.try_swaps(D, weight, nearest, near, after, loss, numpy.empty(k), change, which)
    for row in range(k, 21):
        totals = [factor @ D[[*numpy.delete(chosen, q), row]].min(axis=0) for q in range(k)]
        assert total + change[row] == pytest.approx(min(totals), rel=1e-6)
        assert which[row] == numpy.argmin(totals)
    gains = numpy.empty(21)
    medoids.measure_gains(D, weight, near, gains)
    more = [factor @ numpy.minimum(D[row], near) - total for row in range(21)]
    numpy.testing.assert_allclose(gains, more, atol=1e-5)
    replaced = medoids.replace(table, k - 1, D[20], weight, nearest, second, near, after, loss)
    assert replaced == pytest.approx(factor @ D[[*range(k - 1), 20]].min(axis=0))
    numpy.testing.assert_allclose(table[k - 1], D[20])
    again = [numpy.empty_like(one) for one in (nearest, second, near, after, loss)]
    medoids.find_two(table, weight, *again)
    for found, expected in zip((nearest, second, near, after, loss), again, strict=True):
        assert numpy.array_equal(found, expected)


def test_leaves_are_labelled_in_the_order_of_their_first_leaves(agglomeration):
    pairs = numpy.array([[5, 2], [1, 3], [2, 1]], numpy.intp)
    labels = numpy.empty(7, numpy.int64)
    for count, expected in ((3, [0, 1, 1, 1, 2, 1, 3]), (2, [0, 1, 2, 1, 3, 2, 4]), (0, list(range(7)))):
        agglomeration.label_leaves(pairs[:count], numpy.full(7, -1, numpy.intp), labels)
        assert labels.tolist() == expected
