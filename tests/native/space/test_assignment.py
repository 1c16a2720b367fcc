"""Nearest centres, cluster sums and the k-means++ updates, at every level and uncompiled."""

import importlib

import numpy
import pytest

import mercer._solver.centres.centres
from mercer._solver.centres.centres import Centres
from mercer._source.block import DenseBlock

REALS = [numpy.float64, numpy.float32]


@pytest.fixture(params=["lanes", "products"])
def search(request, monkeypatch):
    monkeypatch.setattr(Centres, "suits_lanes", lambda self, n_rows: request.param == "lanes")
    return request.param


@pytest.fixture
def assignment(level, monkeypatch):
    module = importlib.import_module(f"mercer._native.{level}.assignment")
    monkeypatch.setattr(mercer._solver.centres.centres, "assignment", module)
    return module


def draw(n, d, k, real):
    # A coarse grid far from the origin is full of ties, which products alone would break by their rounding.
    generator = numpy.random.default_rng(0)
    X = (generator.integers(0, 3, size=(n, d)) + 500).astype(real)
    return X, (generator.integers(0, 3, size=(k, d)) + 500.5).astype(real), generator.random(n)


def direct_distances(X, centres):
    return ((X.astype(float)[:, None] - centres.astype(float)) ** 2).sum(axis=2)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (70, 4, 9), (300, 3, 2)])
def test_labels_are_the_first_of_the_nearest_whatever_the_products_round(assignment, shape, real):
    X, centres, _ = draw(*shape, real)
    expected = direct_distances(X, centres)
    for search in (Centres(centres).search_by_products, Centres(centres).search_by_lanes):
        labels, distances = numpy.full(len(X), -1, numpy.int32), numpy.full(len(X), numpy.nan)
        search(X, labels, distances)
        numpy.testing.assert_array_equal(labels, expected.argmin(axis=1))
        numpy.testing.assert_array_equal(distances, expected.min(axis=1))


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("width", [4, 37])
def test_labels_alone_are_those_found_with_distances(assignment, width, real):
    X, centres, _ = draw(500, width, 9, real)
    # Beside the ties of a grid, rows whose nearest centre no rounding puts in doubt, near the origin and far from it.
    X[250:] += numpy.random.default_rng(1).normal(size=(250, width)).astype(real)
    for rows, points in ((X, centres), (X - real(500), centres - real(500))):
        found = Centres(points).find_labels(DenseBlock(rows, 0))
        numpy.testing.assert_array_equal(found, direct_distances(rows, points).argmin(axis=1))
        numpy.testing.assert_array_equal(found, Centres(points).find_nearest(DenseBlock(rows, 0))[0])


def run(centres, X, weight, unit, drift=None, half_gap=None, rows=None):
    """Sums and searches of a run of blocks, and the labels, distances and bounds it leaves."""
    n, (k, d) = len(X), centres.shape
    rows = rows or (numpy.empty(n, numpy.int32), numpy.empty(n), numpy.empty(n))
    table = numpy.zeros((-(-n // unit), k, d + 2))
    searched = Centres(centres).assign(X, unit, weight, drift, half_gap, rows, table)
    return table, searched, rows


@pytest.mark.parametrize("real", REALS)
def test_lower_bounds_hold_and_only_doubtful_rows_are_searched(assignment, search, real):
    X, centres, _ = draw(80, 4, 6, real)
    n, k = len(X), len(centres)
    full, searched, (labels, distances, lower) = run(centres, X, None, 32)
    assert searched == n
    others = direct_distances(X, centres)
    others[numpy.arange(n), labels] = numpy.inf
    assert (lower <= numpy.sqrt(others.min(axis=1)) * (1 + 1e-12)).all()
    kept = (labels.copy(), distances.copy(), lower.copy())
    still, count, _ = run(centres, X, None, 32, numpy.zeros(k), numpy.zeros(k), kept)
    assert count < n
    numpy.testing.assert_array_equal(still, full)
    assert run(centres, X, None, 32, numpy.full(k, 1e6), numpy.zeros(k), kept)[1] == n


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_members_are_added_block_by_block_with_their_weights_and_costs(assignment, search, real, weighted):
    X, centres, weight = draw(60, 3, 5, real)
    expected = direct_distances(X, centres)
    w = weight if weighted else numpy.ones(60)
    table, _, (labels, distances, _) = run(centres, X, weight if weighted else None, 16)
    numpy.testing.assert_array_equal(labels, expected.argmin(axis=1))
    numpy.testing.assert_array_equal(distances, expected.min(axis=1))
    for block, start in enumerate(range(0, 60, 16)):
        part = slice(start, start + 16)
        members = (labels[part, None] == numpy.arange(5)) * w[part, None]
        numpy.testing.assert_allclose(table[block, :, :3], members.T @ X[part].astype(float), rtol=1e-13)
        numpy.testing.assert_allclose(table[block, :, 3], members.sum(axis=0), rtol=1e-13)
        numpy.testing.assert_allclose(table[block, :, 4], members.T @ distances[part], rtol=1e-13)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_candidates_are_judged_and_the_chosen_ones_kept(level, real, weighted):
    seeding = importlib.import_module(f"mercer._native.{level}.seeding")
    X, centres, weight = draw(50, 3, 4, real)
    weight = weight if weighted else numpy.empty(0)
    w = weight if weighted else numpy.ones(50)
    closest = numpy.full(50, 6.0)
    expected = numpy.minimum(closest[:, None], direct_distances(X, centres))
    totals, shift = numpy.zeros((2, 4)), centres[0].copy()
    tile, products = numpy.empty((16, 3), real), numpy.empty((4, 16), real)
    norms = numpy.empty(4)
    seeding.try_candidates(X, 32, weight, shift, centres - shift, norms, closest, tile, products, totals)
    for block, part in enumerate((slice(0, 32), slice(32, 50))):
        numpy.testing.assert_allclose(totals[block], w[part] @ expected[part], rtol=1e-5)
    sums = numpy.empty(2)
    seeding.keep_nearest(X, 32, weight, centres[2:], closest, sums)
    numpy.testing.assert_array_equal(closest, expected[:, 2:].min(axis=1))
    numpy.testing.assert_allclose(sums, [w[:32] @ closest[:32], w[32:] @ closest[32:]], rtol=1e-13)


@pytest.mark.parametrize(("real", "size"), [(numpy.float32, 1e19), (numpy.float32, 3e38), (numpy.float64, 1e200)])
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_squares_that_overflow_leave_a_valid_centre(assignment, search, real, size):
    # Scores are then infinite or NaN, and no centre is the nearest.
    X = (size * numpy.random.default_rng(1).uniform(-1, 1, (40, 3))).astype(real)
    centres = X[:5].copy()
    labels, distances = numpy.full(40, -7, numpy.int32), numpy.empty(40)
    getattr(Centres(centres), f"search_by_{search}")(X, labels, distances)
    assert set(labels) <= set(range(5))
    _, _, (labels, _, _) = run(centres, X, None, 16)
    assert set(labels) <= set(range(5))


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("shape", [(40, 3, 5), (65, 8, 2), (33, 21, 4), (5, 1, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_both_searches_give_the_same_bits(assignment, monkeypatch, real, shape, weighted):
    X, centres, weight = draw(*shape, real)
    # Beside the ties of the grid, values whose squares round.
    X[::2] += numpy.random.default_rng(2).normal(size=X[::2].shape).astype(real)
    found = []
    for by_lanes in (True, False):
        monkeypatch.setattr(Centres, "suits_lanes", lambda self, n_rows, answer=by_lanes: answer)
        table, _, (labels, distances, _) = run(centres, X, weight if weighted else None, 32)
        found.append((table, labels, distances))
    for first, second in zip(*found, strict=True):
        numpy.testing.assert_array_equal(first, second)


def test_moves_are_summed_over_all_centres(assignment):
    after, before = numpy.array([[1.0, 2.0], [3.0, 4.0]]), numpy.array([[1.0, 0.0], [0.0, 4.0]])
    assert assignment.measure_moves(after, before) == 13.0
