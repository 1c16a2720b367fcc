"""The tree of boxes and the searches in it, and the grid, at every level and uncompiled, against full searches."""

import importlib

import numpy
import pytest

import mercer._solver.neighbours.space_tree
import mercer.cluster._density.dbscan_search
import mercer.cluster._density.denclue
import mercer.cluster._density.spanning_tree
from mercer._solver.neighbours.space_tree import NO_LABEL, SpaceTree
from mercer.cluster._density.dbscan_search import cluster_grid
from mercer.cluster._density.denclue import GaussianDensity
from mercer.cluster._density.spanning_tree import Boruvka, walk_edges

REALS = [numpy.float64, numpy.float32]


@pytest.fixture
def natives(level, monkeypatch):
    """Every search runs in the native modules of one level."""
    for name, users in {
        "box_tree": (mercer._solver.neighbours.space_tree, mercer.cluster._density.spanning_tree),
        "box_search": (mercer._solver.neighbours.space_tree, mercer.cluster._density.denclue),
        "reachability": (mercer._solver.neighbours.space_tree, mercer.cluster._density.spanning_tree),
        "epsilon_grid": (mercer.cluster._density.dbscan_search,),
    }.items():
        module = importlib.import_module(f"mercer._native.{level}.{name}")
        for user in users:
            monkeypatch.setattr(user, name, module)


def draw(n, d, real):
    # A lattice is full of ties: distances equal to a radius, and to each other.
    return numpy.random.default_rng(n).integers(0, 5, size=(n, d)).astype(real)


def squares(X):
    return ((X.astype(float)[:, None] - X.astype(float)[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("shape", [(1, 1), (32, 2), (90, 3), (70, 20)])
def test_leaves_hold_all_rows_inside_their_boxes(natives, shape, real):
    X = draw(*shape, real)
    tree = SpaceTree(X, 1, "test")
    assert sorted(tree.order) == list(range(len(X)))
    for (first, count), (low, high) in zip(tree.nodes, tree.boxes, strict=True):
        rows = X[tree.order[32 * first : 32 * (first + count)]]
        numpy.testing.assert_array_equal(rows.min(axis=0), low)
        numpy.testing.assert_array_equal(rows.max(axis=0), high)
    packed = tree.leaves.transpose(0, 2, 1).reshape(-1, X.shape[1])
    numpy.testing.assert_array_equal(packed[: len(X)], X[tree.order])
    assert numpy.isinf(packed[len(X) :]).all()


@pytest.mark.parametrize("real", REALS)
def test_searches_within_a_radius_find_what_a_full_search_finds(natives, real):
    X = draw(75, 3, real)
    tree, near = SpaceTree(X, 1, "test"), squares(X) <= 2.0
    radius = numpy.sqrt(2.0) * (1 + 1e-15)
    weight = numpy.random.default_rng(0).integers(0, 3, 75).astype(float)
    totals = (near @ weight)[tree.order]
    numpy.testing.assert_array_equal(tree.count_within(radius, weight, 1e9), totals)
    numpy.testing.assert_array_equal(tree.count_within(radius, weight, 5.0) >= 5.0, totals >= 5.0)
    counted = totals >= 8
    places = near[numpy.ix_(tree.order, tree.order)]
    found = tree.components(radius, counted)
    expected = numpy.where(counted, numpy.arange(75), -1)
    for _ in range(75):
        reach = numpy.where(places & counted[None] & counted[:, None], expected[None], 99).min(axis=1)
        expected = numpy.where(counted, reach, -1)
    numpy.testing.assert_array_equal(found, expected)
    given = numpy.where(counted, found, NO_LABEL).astype(numpy.int32)
    lowest = numpy.where(places, given[None], NO_LABEL).min(axis=1)
    spread = numpy.where(counted, found, numpy.where(lowest == NO_LABEL, -1, lowest))
    numpy.testing.assert_array_equal(tree.share_labels(radius, given), spread)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("d", [2, 18])
def test_the_spanning_tree_is_the_one_of_all_distances_with_the_same_ties(natives, d, real):
    X = draw(66, d, real)
    tree = SpaceTree(X, 1, "test")
    search = Boruvka(tree, 4, 1.5)
    D = numpy.sqrt(squares(X))
    numpy.testing.assert_array_equal(search.core_distances(), numpy.sort(D, axis=1)[:, 3])
    edges, lengths = search.edges()
    others, walked = walk_edges(lambda row: D[row], search.core_distances(), 1.5)
    assert {frozenset(edge) for edge in edges.tolist()} == {frozenset(edge) for edge in others.tolist()}
    numpy.testing.assert_allclose(numpy.sort(lengths), numpy.sort(walked))


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_grid_finds_what_the_tree_finds(natives, d, real):
    X = (draw(80, d, real) + numpy.random.default_rng(0).normal(size=(80, d)) * (d > 1)).astype(real)
    weight = numpy.random.default_rng(1).integers(0, 3, 80).astype(float)
    for given in (None, weight):
        labels, core = cluster_grid(X, 0.9, 4, given, 1, "test")
        total = (squares(X) <= 0.81) @ (numpy.ones(80) if given is None else weight)
        numpy.testing.assert_array_equal(core, (total >= 4) & (given is None or weight > 0))
        assert (labels[core] >= 0).all()


@pytest.mark.parametrize("real", REALS)
def test_gaussian_sums_and_means_are_their_formulas(natives, real):
    X = draw(50, 3, real)
    weight = numpy.random.default_rng(0).random(50)
    sums = numpy.exp(-squares(X) / (2 * 0.7**2)) * weight
    scale = weight.sum() * (2 * numpy.pi * 0.7**2) ** 1.5
    for group in (1, 32):
        log_density, means = GaussianDensity(SpaceTree(X, 1, "test"), weight, 0.7).climb(X.astype(float), group)
        numpy.testing.assert_allclose(numpy.exp(log_density), sums.sum(axis=1) / scale, rtol=1e-12)
        numpy.testing.assert_allclose(means, sums @ X / sums.sum(axis=1, keepdims=True), rtol=1e-12)
