"""Searches for nearest rows, at every level and uncompiled, against sorted distances of all pairs."""

import importlib

import numpy
import pytest

from mercer._solver.neighbours import byte_panels, descent, panels, space_tree
from mercer._solver.neighbours.search import RowSearch

REALS = [numpy.float64, numpy.float32]


@pytest.fixture
def natives(level, monkeypatch):
    """Every search runs in the native modules of one level."""
    users = [(panels, "row_scan"), (byte_panels, "row_scan"), (space_tree, "box_search"), (space_tree, "box_tree")]
    for user, name in users:
        monkeypatch.setattr(user, name, importlib.import_module(f"mercer._native.{level}.{name}"))


def measure_all(queries, rows):
    """Return squared distances, summed in the order of columns."""
    squares = numpy.zeros((len(queries), len(rows)))
    for x, y in zip(queries.T.astype(float), rows.T.astype(float), strict=True):
        squares += (x[:, None] - y) ** 2
    return squares


def draw(kind, n, d, real):
    rows = numpy.random.default_rng(n + d).normal(size=(n, d))
    if kind == "lattice":
        # A lattice is full of ties.
        rows = numpy.round(rows)
    elif kind == "offset":
        # Far from the origin: |x|^2 - 2 x . y + |y|^2 would lose every digit of a distance.
        rows += 1e6
    elif kind == "outlier":
        rows[n // 2] *= 1e12
    elif kind == "large":
        rows *= 1e30
    elif kind == "wide":
        # Columns of different widths: most of their values are rounded to zero.
        rows *= 10.0 ** numpy.arange(d)
    return rows.astype(real)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("kind", ["normal", "lattice", "offset", "outlier", "large"])
@pytest.mark.parametrize("method", ["brute", "tree"])
def test_nearest_rows_are_those_of_all_distances_sorted(natives, kind, method, real):
    rows = draw(kind, 80, 3, real)
    squares = measure_all(rows, rows)
    numpy.fill_diagonal(squares, numpy.inf)
    order = numpy.argsort(squares, axis=1, kind="stable")[:, :5]
    distances, indices = RowSearch(rows, method=method).nearest(rows, 5, leave_out_self=True)
    numpy.testing.assert_array_equal(indices, order)
    numpy.testing.assert_array_equal(distances, numpy.sqrt(numpy.take_along_axis(squares, order, axis=1)))


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("kind", ["normal", "lattice", "offset", "outlier"])
@pytest.mark.parametrize("method", ["brute", "tree"])
def test_rows_within_a_radius_are_those_of_all_distances(natives, kind, method, real):
    rows, queries = draw(kind, 80, 2, real), draw(kind, 9, 2, real)
    distances = numpy.sqrt(measure_all(queries, rows))
    radius = float(numpy.partition(distances, 10, axis=1)[:, 10].min())
    starts, indices, lengths = RowSearch(rows, method=method).within(queries, radius)
    for query in range(len(queries)):
        near = numpy.flatnonzero(distances[query] <= radius)
        part = slice(starts[query], starts[query + 1])
        numpy.testing.assert_array_equal(indices[part], near)
        numpy.testing.assert_array_equal(lengths[part], distances[query, near])


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("kind", ["normal", "lattice", "offset", "outlier", "large", "wide"])
def test_rows_rounded_to_bytes_lead_to_the_same_nearest_rows(natives, kind, real):
    # More rows than one panel of 64, and columns that do not fill a step of four.
    rows = draw(kind, 150, 6, real)
    queries = numpy.concatenate([rows[:7], rows[60:64] * real(1.5)])
    search = RowSearch(rows).bytes
    distances, indices = panels.empty_heaps(len(queries), 5)
    own = numpy.array([*range(7), -1, -1, -1, -1])
    search.nearest(queries, own, search.place(queries), distances, indices)
    squares = measure_all(queries, rows)
    squares[numpy.arange(7), numpy.arange(7)] = numpy.inf
    order = numpy.argsort(squares, axis=1, kind="stable")[:, :5]
    numpy.testing.assert_array_equal(indices, order)
    numpy.testing.assert_array_equal(distances, numpy.take_along_axis(squares, order, axis=1))


def test_few_rows_are_measured_where_rounding_is_short_beside_distances(natives):
    rows = draw("normal", 640, 6, float)
    search = RowSearch(rows).bytes
    measured = search.count_measured(rows, search.place(rows), 5)
    # In random order, 5 (1 + log(640 / 5)) = 29 rows would change the heap.
    assert 5 <= measured < 120


def test_equal_rows_are_not_rounded(natives):
    assert not RowSearch(numpy.ones((100, 3))).bytes.is_possible


def test_few_queries_are_compared_without_panels(natives):
    rows = draw("lattice", 61, 3, float)
    search = RowSearch(rows, method="brute")
    distances, indices = search.nearest(rows[:2].copy(), 61)
    assert "packed" not in search.panels.__dict__
    squares = measure_all(rows[:2], rows)
    numpy.testing.assert_array_equal(indices, numpy.argsort(squares, axis=1, kind="stable"))
    numpy.testing.assert_array_equal(distances, numpy.sqrt(numpy.sort(squares, axis=1)))


def test_a_query_too_far_for_float32_finds_its_nearest_rows(natives):
    rows = draw("normal", 70, 3, float)
    queries = numpy.concatenate([rows[:20] * 1e40, rows[:20]])
    _, indices = RowSearch(rows, method="brute").nearest(queries, 3)
    expected = numpy.argsort(measure_all(queries, rows), axis=1, kind="stable")[:, :3]
    numpy.testing.assert_array_equal(indices, expected)


@pytest.mark.parametrize("real", REALS)
def test_a_graph_by_descent_is_the_same_at_every_level_and_finds_neighbours(level, real, monkeypatch):
    monkeypatch.setattr(descent, "graph_descent", importlib.import_module(f"mercer._native.{level}.graph_descent"))
    monkeypatch.setattr(descent, "_TREES", 2)
    rows = draw("plain", 150, 3, real)
    graph = descent.build_graph(rows, 5, numpy.random.SeedSequence(0), 1, "test")
    squares = measure_all(rows, rows)
    numpy.fill_diagonal(squares, numpy.inf)
    assert graph.distances**2 == pytest.approx(numpy.take_along_axis(squares, graph.neighbours, axis=1))
    exact = numpy.argsort(squares, axis=1, kind="stable")[:, :5]
    assert numpy.mean([numpy.isin(a, b).mean() for a, b in zip(exact, graph.neighbours, strict=True)]) > 0.95
    queries = rows[:4] + real(0.1)
    distances, indices = descent.GraphIndex(rows, graph, 1, "test").nearest(queries, 3)
    order = numpy.argsort(measure_all(queries, rows), axis=1, kind="stable")[:, :3]
    assert (indices == order).mean() > 0.9
    assert (numpy.diff(distances, axis=1) >= 0).all()
