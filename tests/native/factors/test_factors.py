"""Nonnegative rows, products at stored entries and steps of online axes, at every level and uncompiled."""

import importlib

import numpy
import pytest
import scipy.optimize
import scipy.sparse


@pytest.fixture
def rows(level):
    return importlib.import_module(f"mercer._native.{level}.nonnegative_rows")


@pytest.fixture
def exact(level):
    return importlib.import_module(f"mercer._native.{level}.exact_rows")


@pytest.fixture
def sampled(level):
    return importlib.import_module(f"mercer._native.{level}.sampled_products")


@pytest.fixture
def online(level):
    return importlib.import_module(f"mercer._native.{level}.online_axes")


def test_rows_end_at_nonnegative_least_squares(rows):
    draw = numpy.random.default_rng(0)
    H, X = draw.uniform(size=(6, 9)), draw.normal(size=(19, 9))
    W, scratch = numpy.zeros((19, 6)), numpy.empty((16, 16))
    gradient = rows.descend_rows(X @ H.T, H @ H.T, 0.0, W, scratch, 5000, 1e-22)
    # At zero only entries that want to rise count.
    assert gradient == pytest.approx((numpy.maximum(X @ H.T, 0.0) ** 2).sum())
    for w, x in zip(W, X, strict=True):
        numpy.testing.assert_allclose(w, scipy.optimize.nnls(H.T, x)[0], atol=1e-6)


def test_one_sweep_is_coordinate_descent_in_order(rows):
    draw = numpy.random.default_rng(1)
    A = draw.normal(size=(8, 5))
    G, P, start = A.T @ A, draw.normal(size=(18, 5)), draw.uniform(size=(18, 5))
    expected = start.copy()
    for w, p in zip(expected, P - 0.1, strict=True):
        for t in range(5):
            w[t] = max(0.0, w[t] + (p[t] - G[t] @ w) / G[t, t])
    W = start.copy()
    rows.descend_rows(P, G, 0.1, W, numpy.empty((14, 16)), 1, 0.0)
    numpy.testing.assert_allclose(W, expected, rtol=1e-12, atol=1e-12)


def test_a_row_does_not_depend_on_the_rows_beside_it(rows):
    draw = numpy.random.default_rng(2)
    A = draw.normal(size=(8, 5))
    G, P = A.T @ A, draw.normal(size=(33, 5)) * numpy.logspace(-3, 3, 33)[:, None]
    together, alone = numpy.zeros((33, 5)), numpy.zeros((33, 5))
    rows.descend_rows(P, G, 0.0, together, numpy.empty((14, 16)), 50, 1e-3)
    for row in range(33):
        rows.descend_rows(P[row : row + 1], G, 0.0, alone[row : row + 1], numpy.empty((14, 16)), 50, 1e-3)
    numpy.testing.assert_array_equal(together, alone)


def test_a_component_without_curvature_stays(rows):
    G = numpy.array([[0.0, 0.0], [0.0, 2.0]])
    W = numpy.array([[3.0, 5.0]])
    rows.descend_rows(numpy.array([[1.0, 1.0]]), G, 0.0, W, numpy.empty((8, 16)), 3, 0.0)
    numpy.testing.assert_array_equal(W, [[3.0, 0.5]])


def test_tiles_give_the_products_and_the_descent_of_all_rows(rows):
    draw = numpy.random.default_rng(5)
    X, T, start = draw.uniform(size=(37, 7)), draw.uniform(size=(7, 4)), draw.uniform(size=(37, 4))
    expected, W = start.copy(), start.copy()
    P, G = X @ T, T.T @ T
    gradient = rows.descend_rows(P, G, 0.1, expected, numpy.empty((12, 16)), 3, 0.01)
    images, sums = numpy.ones((7, 4)), numpy.zeros(2)
    # Two tiles of 16 rows and one of 5.
    tile, scratch = numpy.empty((16, 4)), numpy.empty((12, 16))
    rows.descend_and_multiply(X, T, G, 0.1, W, tile, scratch, 3, 0.01, images, sums)
    numpy.testing.assert_allclose(W, expected, rtol=1e-10, atol=1e-12)
    numpy.testing.assert_allclose(images, 1.0 + X.T @ expected, rtol=1e-10)
    numpy.testing.assert_allclose(sums, [gradient, (P**2).sum()], rtol=1e-10)


def _solve(exact, P, G, W, l1=0.0, rounds=100):
    k = len(G)
    solved = numpy.zeros(len(P), dtype=numpy.int8)
    exact.solve_rows(P, G, l1, W, numpy.empty(k, dtype=numpy.intp), numpy.empty((k + 2, k)), rounds, solved)
    return solved


@pytest.mark.parametrize("first", [0.0, 1.0], ids=["from zero", "from ones"])
def test_exact_rows_are_nonnegative_least_squares_of_components_that_are_alike(exact, first):
    draw = numpy.random.default_rng(6)
    # Wide bumps overlap: the condition number of G is above 1e5, and coordinate descent takes thousands of sweeps.
    places = numpy.linspace(0.0, 1.0, 40)
    H = numpy.exp(-(((places - numpy.linspace(0.0, 1.0, 6)[:, None]) / 0.6) ** 2))
    X = draw.normal(size=(12, 40)) + draw.uniform(-1.0, 2.0, size=(12, 6)) @ H
    W = numpy.full((12, 6), first)
    assert numpy.linalg.cond(H @ H.T) > 1e5
    assert _solve(exact, X @ H.T, H @ H.T, W).all()
    for w, x in zip(W, X, strict=True):
        numpy.testing.assert_allclose(w, scipy.optimize.nnls(H.T, x)[0], atol=1e-8)


def test_exact_rows_subtract_the_l1_penalty(exact):
    W = numpy.zeros((2, 2))
    assert _solve(exact, numpy.array([[3.0, 0.5], [0.2, 5.0]]), 2.0 * numpy.eye(2), W, l1=1.0).all()
    # (p - l1) / 2, cut at zero.
    numpy.testing.assert_allclose(W, [[1.0, 0.0], [0.0, 2.0]])


def test_exact_rows_say_which_rows_they_did_not_solve(exact):
    # Twice the same component: no unique solution. The second row is zero, which needs no system.
    G, W = numpy.ones((2, 2)), numpy.array([[1.0, 1.0], [0.0, 0.0]])
    numpy.testing.assert_array_equal(_solve(exact, numpy.array([[1.0, 1.0], [-1.0, -1.0]]), G, W), [0, 1])
    assert (W >= 0).all()
    # One round solves for one entry; the other needs a second.
    W = numpy.zeros((1, 2))
    numpy.testing.assert_array_equal(_solve(exact, numpy.array([[1.0, 1.0]]), numpy.eye(2), W, rounds=1), [0])
    # A component without curvature stays.
    W = numpy.array([[3.0, 5.0]])
    assert _solve(exact, numpy.array([[1.0, 1.0]]), numpy.diag([0.0, 2.0]), W).all()
    numpy.testing.assert_allclose(W, [[3.0, 0.5]], rtol=1e-15)


@pytest.mark.parametrize("index", [numpy.int32, numpy.int64])
def test_products_at_stored_entries(sampled, index):
    draw = numpy.random.default_rng(3)
    X = scipy.sparse.random_array((7, 11), density=0.3, random_state=draw, format="csr")
    W, T = draw.normal(size=(7, 13)), draw.normal(size=(11, 13))
    out = numpy.empty(X.nnz)
    sampled.multiply_sampled(X.indptr.astype(index), X.indices.astype(index), W, T, out)
    # The terms of a sum may cancel: its rounding is at most 13 half units of the sum of their sizes.
    rounding = 13 * numpy.finfo(float).eps * (abs(W) @ abs(T).T)[X.nonzero()]
    assert (abs(out - (W @ T.T)[X.nonzero()]) <= rounding).all()


@pytest.mark.parametrize("rule", [0, 1, 2])
def test_one_step_follows_its_formula(online, rule):
    draw = numpy.random.default_rng(4)
    x, W = draw.normal(size=(1, 6)), draw.normal(size=(3, 6))
    mean, axes = numpy.full(6, 0.5), W.copy()
    online.follow_rows(
        x, numpy.array([0.1]), numpy.array([0.25]), rule, False, mean, axes, numpy.empty(3), numpy.empty(6)
    )
    numpy.testing.assert_allclose(mean, 0.5 + 0.25 * (x[0] - 0.5))
    centred = x[0] - mean
    y = W @ centred
    decay = {0: numpy.zeros((3, 3)), 1: numpy.outer(y, y), 2: numpy.tril(numpy.outer(y, y))}[rule]
    numpy.testing.assert_allclose(axes, W + 0.1 * (numpy.outer(y, centred) - decay @ W), rtol=1e-12)


def test_normalised_axes_have_length_one(online):
    draw = numpy.random.default_rng(5)
    X, axes = draw.normal(size=(20, 4)), draw.normal(size=(2, 4))
    online.follow_rows(X, numpy.full(20, 0.5), numpy.zeros(20), 0, True, numpy.zeros(4), axes, numpy.empty(2), X[0] * 0)
    numpy.testing.assert_allclose(numpy.linalg.norm(axes, axis=1), 1.0)
