"""One search for nearest rows: the same bits whatever the method, the threads and the split into blocks."""

import numpy as np
import pytest

from mercer._solver.neighbours import RowSearch, nearest_rows, rows_within
from mercer._solver.neighbours import panels as panels_module


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


def test_data_of_few_intrinsic_dimensions_are_searched_by_the_tree():
    # Forty columns, but the rows lie on a curve: the tree visits few leaves, and the model counts them.
    time = rows_of(20000, 1)
    rows = np.sin(time * np.arange(1.0, 41.0))
    search = RowSearch(rows)
    assert search._places(rows, 5) is not None
    assert RowSearch(rows_of(3000, 40))._places(rows_of(3000, 40), 5) is None
