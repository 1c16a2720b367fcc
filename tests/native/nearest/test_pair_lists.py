"""Lists of rows from pairs, at every level and uncompiled."""

import importlib

import numpy
import pytest


@pytest.fixture
def pair_lists(level):
    return importlib.import_module(f"mercer._native.{level}.pair_lists")


@pytest.mark.parametrize("sorts", [True, False])
def test_pairs_go_to_the_list_of_their_query_in_their_order(pair_lists, sorts):
    draw = numpy.random.default_rng(0)
    pairs = draw.integers(0, 9, (60, 2))
    pairs = pairs[pairs[:, 0] != 4]  # a query without rows
    pairs = pairs[numpy.argsort(pairs[:, 1], kind="stable")] if sorts else pairs
    distances = draw.random(len(pairs))
    starts = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(pairs[:, 0], minlength=9))])
    places, indices, found = starts[:-1].copy(), numpy.full(len(pairs), -1), numpy.empty(len(pairs))
    assert pair_lists.place_pairs(pairs, distances, places, indices, found) == sorts
    order = numpy.argsort(pairs[:, 0], kind="stable")
    numpy.testing.assert_array_equal(indices, pairs[order, 1])
    numpy.testing.assert_array_equal(found, distances[order])
    numpy.testing.assert_array_equal(places, starts[1:])
