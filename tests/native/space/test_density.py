"""The tree of boxes, sums over it and the lattice of cells, at every level and uncompiled."""

import importlib

import numpy
import pytest

import mercer.neighbors._cell_grid
import mercer.neighbors._row_tree
import mercer.neighbors._tree_sums
from mercer.neighbors._cell_grid import CellGrid, GridPlan
from mercer.neighbors._profile import PROFILES, value
from mercer.neighbors._row_tree import Locations, build_tree
from mercer.neighbors._tree_sums import TreeSums

REALS = [numpy.float64, numpy.float32]
BANDWIDTH = numpy.array([0.5, 0.8])


@pytest.fixture
def native(level, monkeypatch):
    """Put one build of the native modules in the place of the one in use."""
    for name, user in (
        ("box_tree", mercer.neighbors._row_tree),
        ("density_sums", mercer.neighbors._tree_sums),
        ("density_grid", mercer.neighbors._cell_grid),
    ):
        monkeypatch.setattr(user, name, importlib.import_module(f"mercer._native.{level}.{name}"))


def draw(real, n=60, seed=0):
    random = numpy.random.default_rng(seed)
    # Values on a coarse grid have ties, which selection must survive.
    X = numpy.round(random.normal(size=(n, 2)), 1).astype(real)
    return X, random.integers(0, 3, n).astype(float), random.normal(size=(25, 2))


def brute(profile, X, weight, points):
    r = numpy.linalg.norm((points[:, None] - X.astype(float)[None]) / BANDWIDTH, axis=2)
    return value(profile, r) @ weight


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("leaf_size", [1, 7, 100])
def test_a_tree_has_every_row_of_weight_once_and_boxes_hold_their_rows(native, real, leaf_size):
    X, weight, _ = draw(real)
    tree = build_tree(X, weight, numpy.ones(2), leaf_size)
    assert sorted(tree.order) == numpy.flatnonzero(weight).tolist()
    numpy.testing.assert_array_equal(tree.data, X[tree.order])
    sizes = numpy.diff(tree.bounds[tree.leaves], axis=1)
    assert sizes.max() == tree.largest_leaf
    assert sizes.min() >= min(leaf_size, len(tree.data))
    for (begin, end), low, high, mass in zip(tree.bounds, tree.lower, tree.upper, tree.mass, strict=True):
        numpy.testing.assert_array_equal(tree.data[begin:end].min(axis=0), low)
        numpy.testing.assert_array_equal(tree.data[begin:end].max(axis=0), high)
        assert mass == tree.weight[begin:end].sum()


def test_the_halves_of_a_node_are_cut_at_the_median_of_its_longest_side(native):
    X = numpy.column_stack([numpy.arange(16.0), numpy.zeros(16)])[numpy.random.default_rng(0).permutation(16)]
    tree = build_tree(X, None, numpy.ones(2), 2)
    numpy.testing.assert_array_equal(numpy.sort(tree.data[:, 0].reshape(8, 2), axis=1).ravel(), numpy.arange(16))


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("profile", PROFILES)
def test_sums_are_those_over_all_rows(native, real, profile):
    X, weight, points = draw(real)
    tree = build_tree(X, weight, BANDWIDTH, 4)
    expected = brute(profile, X, weight, points)
    for every_row in (False, True):
        with numpy.errstate(divide="ignore"):
            found = numpy.exp(TreeSums(tree, profile, BANDWIDTH, every_row=every_row).log_at(points))
        numpy.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("profile", PROFILES)
def test_rows_left_out_leave_with_their_equals(native, profile):
    X, weight, _ = draw(numpy.float64, 30)
    X[7] = X[3]
    tree = build_tree(X, weight, BANDWIDTH, 4)
    r = numpy.linalg.norm((tree.data[:, None] - tree.data[None]) / BANDWIDTH, axis=2)
    expected = numpy.where(r > 0, value(profile, r), 0.0) @ tree.weight
    with numpy.errstate(divide="ignore"):
        locations, leaves = Locations.of(tree), tree.some_leaves(None)
        found = numpy.exp(TreeSums(tree, profile, BANDWIDTH).log_left_out(locations, leaves))
    numpy.testing.assert_allclose(found, expected, rtol=1e-13)


def test_the_lattice_errs_by_less_than_it_says(native):
    X, weight, points = draw(numpy.float64, 20)
    tree = build_tree(X, weight, BANDWIDTH, 4)
    points = numpy.vstack([points[:5], tree.data[:1], [[50.0, 0.0]]])
    grid = CellGrid.build(tree, BANDWIDTH, GridPlan(6, 5, GridPlan.of(tree, BANDWIDTH, 1e-2).shape), 1, "test")
    sums, error = grid.sums_at(points, 1)
    assert numpy.isinf(error[-1])
    assert (abs(sums - brute("gaussian", X, weight, points))[:-1] <= error[:-1]).all()
    # Six nodes err by more than rounding: it is their error that the bound above holds for.
    assert abs(sums - brute("gaussian", X, weight, points))[:-1].max() > 1e-12


def test_every_level_gives_the_same_bits(native, level):
    X, weight, points = draw(numpy.float64, 40)
    tree = build_tree(X, weight, BANDWIDTH, 4)
    found = [TreeSums(tree, profile, BANDWIDTH).log_at(points) for profile in ("gaussian", "exponential")]
    chosen = mercer.neighbors._tree_sums.density_sums
    mercer.neighbors._tree_sums.density_sums = importlib.import_module("mercer._native.interpreted.density_sums")
    try:
        expected = [TreeSums(tree, profile, BANDWIDTH).log_at(points) for profile in ("gaussian", "exponential")]
    finally:
        mercer.neighbors._tree_sums.density_sums = chosen
    numpy.testing.assert_array_equal(found, expected)
