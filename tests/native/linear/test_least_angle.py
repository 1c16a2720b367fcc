"""The path of least angles in native code: the same at every level, with equal slopes, and a factor that stays one."""

import importlib

import numpy as np
import pytest


@pytest.fixture
def native(level):
    return importlib.import_module(f"mercer._native.{level}.least_angle")


def walk(native, G, cross, lasso, most):
    """Follow the path of columns with products G; return the knots, the heights, and the factor of those in use."""
    d = len(cross)
    columns, slots, L = np.zeros((3, d)), np.zeros((2, d)), np.zeros((d, d))
    columns[0] = cross
    order, marks, place = np.zeros(d, np.intp), np.zeros(d, np.int8), np.arange(d)
    top = np.abs(cross).max()
    counts = np.array([0, -1, int(np.argmax(np.abs(cross))), 1])
    numbers, rules = np.array([top, 0.0, 0.0, top]), np.array([most + 1.0, 0.0, lasso, 0.0, 0.0, 1e-7])
    knots, heights = np.zeros((most + 1, d)), np.zeros((most + 1, 3))
    heights[0, 0] = top
    native.take_steps(G, place, columns, slots, L, order, marks, counts, numbers, rules, knots, heights)
    used = order[: counts[0]]
    return knots[: counts[3]], heights[: counts[3], 0], L[: len(used), : len(used)], used


@pytest.mark.parametrize("lasso", [False, True])
def test_slopes_of_columns_in_use_are_equal_at_every_knot(native, lasso):
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 9)) @ random.normal(size=(9, 9))
    G, cross = X.T @ X, X.T @ random.normal(size=20)
    knots, heights, L, used = walk(native, G, cross, lasso, 30)
    assert heights[-1] == pytest.approx(0.0, abs=1e-9 * heights[0])
    for knot, height in zip(knots, heights, strict=True):
        slopes = cross - G @ knot
        np.testing.assert_allclose(np.abs(slopes[knot != 0]), height, atol=1e-10 * heights[0])
        assert np.abs(slopes).max() <= height + 1e-10 * heights[0]
    lower = np.tril(L)
    np.testing.assert_allclose(lower @ lower.T, G[np.ix_(used, used)], rtol=1e-9)


def test_columns_that_left_the_lassos_path_are_out_of_the_factor(native):
    random, left = np.random.default_rng(2), np.zeros(1)
    while not left.any():  # a path from which columns leave: nine in ten
        X = random.normal(size=(12, 8)) @ random.normal(size=(8, 8))
        G, cross = X.T @ X, X.T @ random.normal(size=12)
        knots, _, L, used = walk(native, G, cross, True, 40)
        left = (knots[:-1] != 0) & (knots[1:] == 0)
    lower = np.tril(L)
    np.testing.assert_allclose(lower @ lower.T, G[np.ix_(used, used)], rtol=1e-8)
