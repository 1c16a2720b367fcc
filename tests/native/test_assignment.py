"""Nearest centres, cluster sums and the k-means++ updates, at every level and uncompiled."""

import importlib

import numpy
import pytest

import mercer.cluster._centres
from mercer.cluster._centres import Centres

REALS = [numpy.float64, numpy.float32]


@pytest.fixture
def assignment(level, monkeypatch):
    module = importlib.import_module(f"mercer._native.{level}.assignment")
    monkeypatch.setattr(mercer.cluster._centres, "assignment", module)
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
    for search in (Centres(centres).search, lambda *out: assignment.search_directly(X, centres, *out[1:])):
        labels, distances = numpy.full(len(X), -1, numpy.int32), numpy.full(len(X), numpy.nan)
        search(X, labels, distances)
        numpy.testing.assert_array_equal(labels, expected.argmin(axis=1))
        numpy.testing.assert_array_equal(distances, expected.min(axis=1))


@pytest.mark.parametrize("real", REALS)
def test_lower_bounds_hold_and_skipping_lists_only_doubtful_rows(assignment, real):
    X, centres, _ = draw(80, 4, 6, real)
    n, k = len(X), len(centres)
    labels, distances, lower = numpy.empty(n, numpy.int32), numpy.empty(n), numpy.empty(n)
    Centres(centres).search(X, labels, distances, lower)
    others = direct_distances(X, centres)
    others[numpy.arange(n), labels] = numpy.inf
    assert (lower <= numpy.sqrt(others.min(axis=1)) * (1 + 1e-12)).all()
    rows = numpy.empty(n, numpy.int32)
    count = assignment.skip(X, centres, numpy.zeros(k), numpy.zeros(k), labels, distances.copy(), lower, rows)
    skipped = numpy.setdiff1d(numpy.arange(n), rows[:count])
    assert (distances[skipped] < others.min(axis=1)[skipped]).all()
    far = assignment.skip(X, centres, numpy.full(k, 1e6), numpy.zeros(k), labels, distances.copy(), lower, rows)
    assert far == n


@pytest.mark.parametrize("real", REALS)
def test_members_are_added_with_their_weights(assignment, real):
    X, centres, weight = draw(60, 3, 5, real)
    expected = direct_distances(X, centres)
    labels = expected.argmin(axis=1).astype(numpy.int32)
    weights, sums, costs = numpy.zeros(5), numpy.zeros((5, 3)), numpy.zeros(5)
    assignment.add_members(X, weight, labels, expected.min(axis=1), weights, sums, costs)
    members = (labels[:, None] == numpy.arange(5)) * weight[:, None]
    numpy.testing.assert_allclose(weights, members.sum(axis=0), rtol=1e-13)
    numpy.testing.assert_allclose(sums, members.T @ X.astype(float), rtol=1e-13)
    numpy.testing.assert_allclose(costs, members.T @ expected.min(axis=1), rtol=1e-13)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_candidates_are_judged_and_the_chosen_one_kept(assignment, real, weighted):
    X, centres, weight = draw(50, 3, 4, real)
    weight = weight if weighted else numpy.empty(0)
    w = weight if weighted else numpy.ones(50)
    closest = numpy.full(50, 6.0)
    expected = numpy.minimum(closest[:, None], direct_distances(X, centres))
    totals = numpy.zeros(4)
    rows, shift = numpy.arange(50, dtype=numpy.int32), centres[0].copy()
    tile, products = numpy.empty((32, 3), real), numpy.empty((4, 32), real)
    norms = ((centres - shift).astype(float) ** 2).sum(axis=1)
    assignment.try_candidates(X, weight, shift, centres - shift, norms, closest, rows, tile, products, totals)
    numpy.testing.assert_allclose(totals, w @ expected, rtol=1e-5)
    total = assignment.keep_nearest(X, weight, centres[2], closest)
    numpy.testing.assert_array_equal(closest, expected[:, 2])
    assert total == pytest.approx(w @ expected[:, 2], rel=1e-13)
