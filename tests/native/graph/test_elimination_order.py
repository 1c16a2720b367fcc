"""Orders of elimination, at every level and uncompiled: the fill that they leave, and the pieces that they work in."""

import importlib

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from mercer.manifold import _embedding
from mercer.manifold._embedding import invert_sparse, order_unknowns


@pytest.fixture(autouse=True)
def native(level, monkeypatch):
    module = importlib.import_module(f"mercer._native.{level}.elimination_order")
    monkeypatch.setattr(_embedding, "elimination_order", module)
    return module


def count_fill(matrix, order):
    """Count the entries below the diagonal of the triangular factor, by eliminating one unknown after the other."""
    near = [set(matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]) - {i} for i in range(matrix.shape[0])]
    total = 0
    for pivot in order:
        total += len(near[pivot])
        for other in near[pivot]:
            near[other] |= near[pivot]
            near[other] -= {other, pivot}
    return total


def make_grid(side):
    number = np.arange(side * side).reshape(side, side)
    pairs = [(number[1:], number[:-1]), (number[:, 1:], number[:, :-1])]
    rows, columns = (np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1))
    return mirror(rows, columns, side * side)


def mirror(rows, columns, n):
    one = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return csr_array(one + one.T + 2 * n * coo_array(np.eye(n)))


def make_random(n, seed):
    return mirror(*np.nonzero(np.random.default_rng(seed).uniform(size=(n, n)) < 4 / n), n)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_path_and_a_star_have_no_fill(n):
    path = mirror(np.arange(n - 1), np.arange(1, n), n)
    star = mirror(np.zeros(n - 1, int), np.arange(1, n), n)
    for matrix in (path, star):
        order = order_unknowns(matrix)
        assert sorted(order) == list(range(n))
        assert count_fill(matrix, order) == n - 1


def test_unknowns_without_neighbours_and_full_matrices_are_ordered():
    assert sorted(order_unknowns(csr_array(np.eye(5)))) == list(range(5))
    assert sorted(order_unknowns(csr_array(np.ones((6, 6))))) == list(range(6))


@pytest.mark.parametrize("matrix", [make_grid(12), make_random(150, 0), make_random(150, 1)], ids=["grid", "0", "1"])
def test_the_fill_is_little_more_than_that_of_exact_degrees(matrix):
    near = [set(matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]) - {i} for i in range(matrix.shape[0])]
    left, exact = set(range(matrix.shape[0])), []
    while left:
        pivot = min(left, key=lambda i: (len(near[i]), i))
        left.remove(pivot)
        exact.append(pivot)
        for other in near[pivot]:
            near[other] = (near[other] | near[pivot]) - {other, pivot}
    order = order_unknowns(matrix)
    assert sorted(order) == list(range(matrix.shape[0]))
    assert count_fill(matrix, order) <= 1.15 * count_fill(matrix, exact)


def test_pieces_give_the_order_of_one_call_and_end_within_their_work(native, monkeypatch):
    matrix = make_grid(10)
    calls = []

    class Counted:
        Elimination = native.Elimination

        @staticmethod
        def eliminate(state, most_work):
            calls.append(most_work)
            return native.eliminate(state, most_work)

    monkeypatch.setattr(_embedding, "elimination_order", Counted)
    whole = order_unknowns(matrix)
    assert len(calls) == 1
    # Where one entry of work is allowed, a call eliminates one unknown, and those that go with it.
    np.testing.assert_array_equal(order_unknowns(matrix, piece=1), whole)
    assert 50 < len(calls) - 1 <= 100


def test_the_inverse_solves_with_an_order_of_its_own(monkeypatch):
    monkeypatch.setattr(_embedding, "_SOON_ORDERED", 0)
    matrix = make_random(80, 2)
    right = np.random.default_rng(0).normal(size=80)
    for shift in (0.0, -0.5):
        solution = invert_sparse(matrix, shift).matvec(right)
        np.testing.assert_allclose(matrix @ solution - shift * solution, right, atol=1e-10)
