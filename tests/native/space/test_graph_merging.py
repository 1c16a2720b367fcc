"""Merges along the edges of a graph, at every level and uncompiled, against a search through all edges."""

import importlib

import numpy
import pytest

LINKAGES = {"complete": 0, "average": 1, "weighted": 2, "ward": 3, "centroid": 4, "median": 5}


@pytest.fixture
def merging(level):
    return importlib.import_module(f"mercer._native.{level}.graph_merging")


def draw_graph(n=24):
    generator = numpy.random.default_rng(3)
    X = generator.normal(size=(n, 3))
    # A path, so that the graph is connected, and some chords.
    pairs = {(i, i + 1) for i in range(n - 1)} | {
        tuple(sorted(pair)) for pair in generator.integers(n, size=(30, 2)) if pair[0] != pair[1]
    }
    return X, numpy.array(sorted(pairs))


def find_heights(X, pairs, linkage):
    """Return the heights of all merges, from tables of all clusters and edges."""
    sizes, means = dict.fromkeys(range(len(X)), 1.0), dict(enumerate(X))

    def gap(a, b):
        share = 2 * sizes[a] * sizes[b] / (sizes[a] + sizes[b]) if linkage == "ward" else 1.0
        return float(numpy.sqrt(share) * numpy.linalg.norm(means[a] - means[b]))

    lengths = {frozenset(pair): gap(*pair) for pair in pairs.tolist()}
    heights, new = [], len(X)
    while lengths:
        pair = min(lengths, key=lambda edge: (lengths[edge], *sorted(edge)))
        a, b = sorted(pair)
        heights.append(lengths.pop(pair))
        m, n = sizes.pop(a), sizes.pop(b)
        share = 0.5 if linkage == "median" else m / (m + n)
        sizes[new], means[new] = m + n, share * means[a] + (1 - share) * means[b]
        for other in [cluster for cluster in sizes if cluster != new]:
            known = [(weight, lengths.pop(frozenset((part, other)), None)) for part, weight in ((a, m), (b, n))]
            known = [(weight, length) for weight, length in known if length is not None]
            if known:
                weights, values = zip(*known)
                rules = {"complete": max(values), "weighted": numpy.mean(values), "single": min(values)}
                rules |= {"average": numpy.average(values, weights=weights)}
                lengths[frozenset((other, new))] = rules.get(linkage) if linkage in rules else gap(other, new)
        new += 1
    return numpy.array(heights)


def lay_out(merging, X, pairs, linkage, room):
    n, by_means = len(X), linkage in ("ward", "centroid", "median")
    means = numpy.zeros((2 * n - 1, X.shape[1] if by_means else 0))
    means[:n] = X[:, : means.shape[1]]
    sizes, rows = numpy.zeros(2 * n - 1), numpy.zeros(2 * n - 1, numpy.intp)
    sizes[:n], rows[:n] = 1.0, numpy.arange(n)
    whole = numpy.int32
    places = numpy.full(2 * n - 1, -1, whole), numpy.zeros(2 * n - 1, whole)
    clusters = merging.Clusters(means, sizes, *places, rows, numpy.zeros(2 * n - 1, whole))
    ends, lengths = numpy.zeros((room, 2), whole), numpy.zeros(room)
    ends[: len(pairs)] = pairs
    lengths[: len(pairs)] = numpy.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    counts = numpy.array([len(pairs), 0], numpy.intp)
    edges = merging.Edges(
        ends, lengths, numpy.zeros((room, 2), whole), numpy.zeros(room), numpy.zeros(room, whole), counts
    )
    merging.link_edges(clusters, edges, LINKAGES[linkage], by_means)
    return clusters, edges


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("work", [1, 10**6])
def test_the_closest_neighbours_merge_first(merging, linkage, work):
    X, pairs = draw_graph()
    clusters, edges = lay_out(merging, X, pairs, linkage, 1000)
    found, heights, made = numpy.full((23, 2), -1), numpy.zeros(23), 0
    for _ in range(400):
        union = 24 + made
        made += merging.merge_closest(clusters, edges, LINKAGES[linkage], union, work, found[made:], heights[made:])
    assert made == 23
    numpy.testing.assert_allclose(heights, find_heights(X, pairs, linkage), rtol=1e-12)
    # A row of either cluster names it, so the pairs span all rows.
    label = list(range(24))
    for a, b in found.tolist():
        assert label[a] != label[b]
        label = [label[a] if one == label[b] else one for one in label]
    assert len(set(label)) == 1


def test_a_merge_for_whose_edges_there_is_no_room_waits(merging):
    X, pairs = draw_graph()
    clusters, edges = lay_out(merging, X, pairs, "average", len(pairs) + 1)
    found, heights = numpy.empty((23, 2), numpy.intp), numpy.empty(23)
    assert merging.merge_closest(clusters, edges, 1, 24, 10**6, found, heights) == 0


def test_the_shortest_edges_that_span_the_graph_are_the_merges_of_single_linkage(level):
    hierarchy = importlib.import_module(f"mercer._native.{level}.hierarchy")
    X, pairs = draw_graph()
    lengths = numpy.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    order = numpy.argsort(lengths)
    ends, parents = pairs[order].astype(numpy.int32), numpy.arange(24, dtype=numpy.int32)
    kept, made = numpy.empty(23, numpy.intp), 0
    for start in range(0, len(ends), 7):
        made += hierarchy.span_edges(ends[start : start + 7], start, parents, kept[made:])
    assert made == 23
    numpy.testing.assert_allclose(lengths[order][kept], find_heights(X, pairs, "single"))
