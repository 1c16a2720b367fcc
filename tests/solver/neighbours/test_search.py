"""One search for nearest rows: the same bits whatever the method, the threads and the split into blocks."""

import numpy as np
import pytest

from mercer._solver.neighbours import RowSearch, _crossovers, nearest_rows, rows_within
from mercer._solver.neighbours import panels as panels_module
from mercer._solver.neighbours import search as search_module


def rows_of(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_three_points_on_a_line():
    distances, indices = nearest_rows(np.array([[0.9]]), np.array([[0.0], [1.0], [3.0]]), 2)
    np.testing.assert_array_equal(indices, [[1, 0]])
    np.testing.assert_allclose(distances, [[0.1, 0.9]])


def test_ties_go_to_the_lower_index_and_equal_rows_are_neighbours_of_each_other():
    rows = np.zeros((70, 2))
    distances, indices = nearest_rows(rows, rows, 3, leave_out_self=True)
    np.testing.assert_array_equal(indices[0], [1, 2, 3])
    np.testing.assert_array_equal(indices[2], [0, 1, 3])
    np.testing.assert_array_equal(indices[50], [0, 1, 2])
    assert not distances.any()


@pytest.mark.parametrize("shape", [(3000, 2), (700, 40)])
def test_methods_threads_and_block_sizes_give_the_same_bits(shape, monkeypatch):
    rows = rows_of(*shape)
    distances, indices = RowSearch(rows).nearest(rows, 7)
    for method in ("brute", "tree"):
        for threads in (1, 3):
            other = RowSearch(rows, method=method, threads=threads).nearest(rows, 7)
            np.testing.assert_array_equal(other[1], indices)
            np.testing.assert_array_equal(other[0], distances)
    monkeypatch.setattr(panels_module, "_PRODUCTS", 2**16)
    monkeypatch.setattr(panels_module, "_BLOCK", 1)
    other = RowSearch(rows, method="brute").nearest(rows, 7)
    np.testing.assert_array_equal(other[1], indices)


@pytest.mark.parametrize("threads", [1, 3])
def test_comparisons_of_bytes_are_used_where_they_are_fast_and_change_no_bit(threads, monkeypatch):
    rows = rows_of(900, 12)
    queries = rows_of(500, 12, seed=1)
    search = RowSearch(rows, method="brute", threads=threads)
    distances, indices = search.nearest(queries, 7)
    assert "packed" not in search.bytes.__dict__
    monkeypatch.setattr(search_module, "are_bytes_fast", lambda: True)
    monkeypatch.setattr(_crossovers, "BYTE_PAIRS", 1)
    # Rows are few here, so that those measured again would decide.
    monkeypatch.setattr(search_module, "_MEASURE", 0.0)
    monkeypatch.setattr(search_module, "_MEASURE_COLUMN", 0.0)
    others = RowSearch(rows, method="brute", threads=threads)
    other = others.nearest(queries, 7)
    assert "packed" in others.bytes.__dict__
    assert "packed" not in others.panels.__dict__
    np.testing.assert_array_equal(other[1], indices)
    np.testing.assert_array_equal(other[0], distances)


def test_rows_that_rounding_hides_are_compared_in_float32(monkeypatch):
    monkeypatch.setattr(search_module, "are_bytes_fast", lambda: True)
    monkeypatch.setattr(_crossovers, "BYTE_PAIRS", 1)
    # Two narrow clusters far apart: in bytes, all rows of a cluster are equal.
    rows = rows_of(1200, 5) * 1e-4 + np.repeat([[0.0], [1.0]], 600, axis=0)
    search = RowSearch(rows, method="brute")
    search.nearest(rows, 5)
    assert "packed" in search.panels.__dict__


def test_one_query_gives_the_bits_of_many():
    rows = rows_of(500, 9)
    distances, indices = nearest_rows(rows[:40] + 0.1, rows, 4)
    for query in range(40):
        alone = nearest_rows(rows[query : query + 1] + 0.1, rows, 4)
        np.testing.assert_array_equal(alone[1][0], indices[query])
        np.testing.assert_array_equal(alone[0][0], distances[query])


def test_rows_that_differ_in_the_last_digits_of_float64_are_told_apart():
    # Scores in float32 see one point here; exact distances decide.
    rows = 1.0 + np.arange(400.0)[:, None] * 2.0**-50
    _, indices = RowSearch(rows, method="brute").nearest(rows, 3, leave_out_self=True)
    np.testing.assert_array_equal(indices[100], [99, 101, 98])


def test_a_radius_equal_to_a_distance_includes_the_row():
    rows = rows_of(300, 5, seed=3)
    distances, indices = nearest_rows(rows, rows, 6)
    for query in range(0, 300, 17):
        starts, near, lengths = rows_within(rows[query : query + 1], rows, distances[query, 5], by_distance=True)
        np.testing.assert_array_equal(near, indices[query])
        np.testing.assert_array_equal(lengths, distances[query])
        assert starts.tolist() == [0, 6]


def test_all_rows_within_an_infinite_radius():
    rows = rows_of(100, 3)
    starts, indices, _ = rows_within(rows, rows, np.inf)
    assert starts[-1] == 100 * 100
    np.testing.assert_array_equal(indices[:100], np.arange(100))


@pytest.mark.fixed_seed("the model of costs counts leaves on a sample, and near its border may choose the table")
def test_data_of_few_intrinsic_dimensions_are_searched_by_the_tree():
    # Forty columns, but the rows lie on a curve: the tree visits few leaves, and the model counts them.
    time = rows_of(20000, 1)
    rows = np.sin(time * np.arange(1.0, 41.0))
    search = RowSearch(rows)
    assert search._places(rows, 5) is not None
    assert RowSearch(rows_of(3000, 40))._places(rows_of(3000, 40), 5) is None


def test_no_neighbours_are_found_where_none_are_asked_for():
    rows = np.arange(6.0).reshape(3, 2)
    distances, indices = nearest_rows(rows, rows[:1], 0)
    assert distances.shape == indices.shape == (3, 0)
