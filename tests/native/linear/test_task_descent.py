"""Descent on several targets: sweeps that end at the conditions of the optimum, and a gap that bounds the distance."""

import importlib

import numpy as np
import pytest


@pytest.fixture
def native(level):
    return importlib.import_module(f"mercer._native.{level}.task_descent")


def draw():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 6))
    Y = X[:, :2] @ random.normal(size=(2, 3)) + random.normal(size=(40, 3))
    return X, Y


def objective(X, Y, W, l1, l2):
    residual = Y - X @ W.T
    return 0.5 * np.sum(residual**2) + l1 * np.linalg.norm(W, axis=0).sum() + 0.5 * l2 * np.sum(W**2)


@pytest.mark.parametrize("l2", [0.0, 3.0])
def test_sweeps_end_where_every_slope_is_that_of_the_penalty(native, l2):
    X, Y = draw()
    G, linear, l1 = X.T @ X, np.ascontiguousarray((X.T @ Y).T), 12.0
    W, Q, scratch = np.zeros((3, 6)), linear.copy(), np.empty(4)
    record, order = np.empty((401, 3, 6)), np.arange(6)[None]
    taken = native.gram_descent(G, linear, np.sum(Y**2), (l1, l2), order, 1e-10, 1e-12, W, Q, record, scratch)
    assert 0 < taken < 400
    np.testing.assert_array_equal(record[taken], W)
    np.testing.assert_allclose(Q, linear - W @ G, atol=1e-9)
    norms = np.linalg.norm(W, axis=0)
    assert np.count_nonzero(norms)
    for j in range(6):
        slope = Q[:, j] - l2 * W[:, j]
        if norms[j]:
            np.testing.assert_allclose(slope, l1 * W[:, j] / norms[j], atol=1e-6)
        else:
            assert np.linalg.norm(slope) <= l1
    assert scratch[3] <= 1e-10
    # Descent on the columns themselves stays there.
    residual, moved = np.ascontiguousarray((Y - X @ W.T).T), W.copy()
    columns = np.ascontiguousarray(X.T)
    change = native.column_descent(columns, np.diagonal(G).copy(), l1, l2, order[0], moved, residual, np.empty(3))
    assert change < 1e-9
    np.testing.assert_allclose(residual, (Y - X @ moved.T).T, atol=1e-12)


@pytest.mark.parametrize("l2", [0.0, 3.0])
def test_the_gap_bounds_the_distance_to_the_minimum(native, l2):
    X, Y = draw()
    G, linear, l1 = X.T @ X, np.ascontiguousarray((X.T @ Y).T), 12.0
    W, Q, record = np.zeros((3, 6)), linear.copy(), np.empty((401, 3, 6))
    squares = float(np.sum(Y**2))
    native.gram_descent(G, linear, squares, (l1, l2), np.arange(6)[None], 1e-12, 1e-12, W, Q, record, np.empty(4))
    least = objective(X, Y, W, l1, l2)
    random = np.random.default_rng(1)
    for size in (0.0, 1e-3, 0.1, 1.0):
        V = W + size * random.normal(size=W.shape)
        left = float(np.sum((Y - X @ V.T) ** 2))
        gap = native.duality_gap(V, np.ascontiguousarray(linear - V @ G), left, l1, l2)
        assert gap >= objective(X, Y, V, l1, l2) - least - 1e-9
    assert native.duality_gap(W, np.ascontiguousarray(linear - W @ G), float(np.sum((Y - X @ W.T) ** 2)), l1, l2) < 1e-9
