"""Pair descent against the definition of its steps, at every CPU level and uncompiled."""

import importlib

import numpy as np
import pytest


def problem(n, kink, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-0.5 * ((X[:, None, :] - X[None]) ** 2).sum(axis=2))
    q = -np.sign(X[:, 0]) if kink == 0 else -X[:, 0]
    lower = np.where(q < 0, 0.0, -1.0) if kink == 0 else -np.ones(n)
    upper = np.where(q < 0, 1.0, 0.0) if kink == 0 else np.ones(n)
    return K, q, lower, upper


def start(pair_descent, K, q, lower, upper, kink=0.0):
    """The state of a program before its first step; see ``pair_steps`` for its rows."""
    inner = np.zeros((7, len(q)))
    inner[1], inner[4], inner[5], inner[6] = q, lower, upper, K.diagonal()
    pair_descent.mark_moves(inner[0], lower, upper, kink, inner[2], inner[3])
    return inner


def whole(dtype):
    """What a square that lacks nothing has beside it."""
    return np.empty((0, 0), dtype), np.empty((0, 0), dtype), np.empty(0, np.uint8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kink", "split"), [(0.0, 40), (0.1, 40), (0.0, 15)])
def test_the_descent_ends_where_no_pair_violates_and_keeps_its_sums(level, dtype, kink, split):
    pair_descent = importlib.import_module(f"mercer._native.{level}.pair_descent")
    K, q, lower, upper = problem(40, kink, 0)
    K = K.astype(dtype)
    inner = start(pair_descent, K, q, lower, upper, kink)
    b, slope, rise, fall = inner[:4]
    steps = pair_descent.descend(K, *whole(dtype), inner, np.array([kink, split, 1e-6, 5000]), np.empty(2))
    assert 0 < steps < 5000
    np.testing.assert_allclose(slope, K.astype(np.float64) @ b + q, atol=1e-10)
    assert (b >= lower).all()
    assert (b <= upper).all()
    for group in (slice(0, split), slice(split, 40)):
        assert abs(b[group].sum()) < 1e-12
        if group.start < group.stop:
            assert (slope + fall)[group].max() - (slope + rise)[group].min() <= 1e-6


def test_rows_are_added_and_mirrored(level):
    pair_descent = importlib.import_module(f"mercer._native.{level}.pair_descent")
    rng = np.random.default_rng(0)
    table = rng.normal(size=(7, 20)).astype(np.float32)
    slots, change, slope = np.array([6, 0, 3, 2, 5]), rng.normal(size=5), np.zeros(20)
    pair_descent.add_rows(table, slots, change, 3, 18, slope)
    expected = change @ table[slots].astype(np.float64)
    np.testing.assert_allclose(slope[3:18], expected[3:18], atol=1e-12)
    assert not slope[:3].any()
    K = rng.normal(size=(40, 40))
    expected = K.copy()
    expected[23:, :23] = K[:23, 23:].T
    pair_descent.mirror(K, 0, 23, 23, 40)
    np.testing.assert_array_equal(K, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_level_takes_the_steps_of_the_uncompiled_source(level, dtype):
    found = []
    for name in (level, "interpreted"):
        pair_descent = importlib.import_module(f"mercer._native.{name}.pair_descent")
        K, q, lower, upper = problem(53, 0.0, 1)
        # Twins: among equals the first is taken, whatever the number of lanes.
        K[20:40], q[20:40] = K[:20], q[:20]
        K[:, 20:40] = K[:, :20]
        K = K.astype(dtype)
        inner = start(pair_descent, K, q, lower, upper)
        pair_descent.descend(K, *whole(dtype), inner, np.array([0.0, 37, 1e-3, 60]), np.empty(2))
        found.append(inner[:2])
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_lack_values_take_them_over_when_looked_at(level, dtype):
    pair_descent = importlib.import_module(f"mercer._native.{level}.pair_descent")
    K, q, lower, upper = problem(40, 0.0, 0)
    K, found = K.astype(dtype), []
    partial = np.full((40, 40), np.nan, dtype)
    partial[:18, 18:] = K[:18, 18:]
    np.fill_diagonal(partial, K.diagonal())
    ready = np.zeros(40, np.uint8)
    lacking = (partial, K[:18, :18].copy(), K[18:, 18:].copy(), ready)
    for values in ((K, *whole(dtype)), lacking):
        inner = start(pair_descent, K, q, lower, upper)
        pair_descent.descend(*values, inner, np.array([0.0, 40, 1e-3, 15]), np.empty(2))
        found.append(inner[:2])
    np.testing.assert_array_equal(found[0], found[1])
    assert 0 < ready.sum() < 40
    np.testing.assert_array_equal(partial[ready > 0], K[ready > 0])


@pytest.mark.parametrize("count", [0, 1, 7, 30])
def test_the_least_values_come_in_order_and_among_equals_by_place(level, count):
    pair_descent = importlib.import_module(f"mercer._native.{level}.pair_descent")
    rng = np.random.default_rng(0)
    slope, lift = rng.integers(0, 6, size=40).astype(float), rng.choice([0.0, np.inf], p=[0.8, 0.2], size=40)
    for sign, first, last in ((1.0, 0, 40), (-1.0, 5, 35)):
        values, places = np.empty(count), np.empty(count, dtype=np.intp)
        pair_descent.find_least(slope, sign * lift, sign, first, last, values, places)
        expected = first + np.argsort(sign * (slope + sign * lift)[first:last], kind="stable")[:count]
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_array_equal(values, sign * (slope + sign * lift)[expected])


@pytest.mark.parametrize("kink", [0.0, 0.2])
def test_measures_are_their_definitions(level, kink):
    pair_descent = importlib.import_module(f"mercer._native.{level}.pair_descent")
    rng = np.random.default_rng(2)
    lower, upper, slope = -rng.choice([0.0, 1.0], size=30), rng.choice([0.0, 1.0, 2.0], size=30), rng.normal(size=30)
    b = np.where(rng.random(30) < 0.5, lower, upper) * rng.choice([1.0, 0.5], size=30)
    rise, fall, found = np.empty(30), np.empty(30), np.empty(4)
    pair_descent.mark_moves(b, lower, upper, kink, rise, fall)
    pair_descent.measure(b, slope, lower, upper, kink, 4, 28, found)
    part = slice(4, 28)
    costs, gains = (slope + rise)[part], (slope + fall)[part]
    free = np.isfinite(costs) & (costs == gains)
    np.testing.assert_allclose(found, [gains.max(), costs.min(), costs[free].sum(), free.sum()], rtol=1e-12)
    grid = lower[part] + (upper - lower)[part] * np.linspace(0, 1, 201)[:, None]
    excess = slope[part] - 0.3
    least = np.minimum((grid * excess + kink * np.abs(grid)).min(axis=0), 0.0)
    expected = np.sum(b[part] * excess + kink * np.abs(b[part]) - least)
    assert pair_descent.measure_gap(b, slope, lower, upper, kink, 0.3, 4, 28) == pytest.approx(expected, abs=1e-12)
    slope[4], lower[4], upper[4], b[4] = 0.3, 0.0, np.inf, 0.5
    assert np.isfinite(pair_descent.measure_gap(b, slope, lower, upper, kink, 0.3, 4, 28))
    slope[4] = 0.0
    assert pair_descent.measure_gap(b, slope, lower, upper, kink, 0.3, 4, 28) == np.inf
