"""Lloyd's steps and the draws of k-means++ in one call, at every level and uncompiled."""

import importlib

import numpy
import pytest

REALS = [numpy.float64, numpy.float32]
LANES = 8


def pack(X):
    padded = numpy.zeros((-(-len(X) // LANES) * LANES, X.shape[1]))
    padded[: len(X)] = X
    return numpy.ascontiguousarray(padded.reshape(-1, LANES, X.shape[1]).transpose(0, 2, 1))


def take_steps(module, X, weight, centres, most, tolerance):
    """Take the steps; return their number, the centres, labels, sums, costs and shifts."""
    n, (k, d) = len(X), centres.shape
    labels, sums = numpy.full(n, -1, numpy.int32), numpy.empty((k, d + 2))
    costs, shifts = numpy.empty((most, k)), numpy.empty(most)
    scratch = numpy.empty((k, d)), numpy.empty((3, LANES)), numpy.empty(LANES, numpy.int32)
    trail = module.Trail((labels, numpy.empty(n)), sums, (costs, shifts), scratch)
    centres = centres.copy()
    steps = module.take_steps(pack(X), X, weight, centres, centres.copy(), tolerance, trail)
    return steps, centres, labels, sums, costs, shifts


def draw(n, d, k, real):
    # A coarse grid is full of ties, which sums in another order would break by their rounding.
    generator = numpy.random.default_rng(1)
    X = (generator.integers(0, 4, size=(n, d)) + 300).astype(real)
    return X, X[:k] + real(0.25), generator.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_assign_to_the_lowest_of_the_nearest_and_move_to_means(level, real, weighted):
    module = importlib.import_module(f"mercer._native.{level}.lloyd_steps")
    X, centres, weight = draw(21, 3, 4, real)
    w = weight if weighted else numpy.ones(21)
    steps, moved, labels, sums, costs, shifts = take_steps(
        module, X, weight if weighted else numpy.empty(0), centres, 3, 0.0
    )
    for step in range(steps):
        squares = ((X.astype(float)[:, None] - centres.astype(float)) ** 2).sum(axis=2)
        members = (squares.argmin(axis=1)[:, None] == numpy.arange(4)) * w[:, None]
        numpy.testing.assert_allclose(costs[step], (members * squares).sum(axis=0), rtol=1e-13)
        means = (members.T @ X.astype(float) / members.sum(axis=0)[:, None]).astype(real)
        numpy.testing.assert_allclose(shifts[step], ((means.astype(float) - centres) ** 2).sum(), rtol=1e-12)
        centres = means
    numpy.testing.assert_array_equal(moved, centres)
    squares = ((X.astype(float)[:, None] - moved.astype(float)) ** 2).sum(axis=2)
    numpy.testing.assert_array_equal(labels, squares.argmin(axis=1))
    numpy.testing.assert_allclose(sums[:, 3], numpy.bincount(labels, w, 4))


def test_steps_end_at_the_tolerance_at_a_fixed_point_and_before_an_empty_centre(level):
    module = importlib.import_module(f"mercer._native.{level}.lloyd_steps")
    X, none = numpy.array([[0.0], [2.0], [10.0], [12.0]]), numpy.empty(0)
    steps, centres, _, _, _, shifts = take_steps(module, X, none, numpy.array([[0.0], [10.0]]), 9, 0.0)
    assert (steps, centres.ravel().tolist(), shifts[:2].tolist()) == (2, [1.0, 11.0], [2.0, 0.0])
    assert take_steps(module, X, none, numpy.array([[0.0], [10.0]]), 9, 2.0)[0] == 1
    steps, centres, labels, sums, _, _ = take_steps(module, X, none, numpy.array([[5.0], [99.0]]), 9, 0.0)
    assert (steps, centres.ravel().tolist(), labels.tolist()) == (0, [5.0, 99.0], [0] * 4)
    assert sums[:, 1].tolist() == [4.0, 0.0]


def test_moves_are_summed_over_all_centres(level):
    module = importlib.import_module(f"mercer._native.{level}.lloyd_steps")
    assert module.measure_moves(numpy.array([[1.0, 2.0], [3.0, 4.0]]), numpy.array([[1.0, 0.0], [0.0, 4.0]])) == 13.0


@pytest.mark.parametrize("real", REALS)
def test_centres_are_drawn_in_proportion_to_their_masses_and_the_best_is_kept(level, real):
    seeding = importlib.import_module(f"mercer._native.{level}.seeding")
    X, weight = numpy.array([[0.0], [1.0], [3.0], [7.0]], real), numpy.array([1.0, 0.0, 2.0, 1.0])
    # Masses about row 0: 0, 0, 18, 49 of 67. Places below and above 18 / 67 lead to rows 2 and 3; row 2 leaves 16,
    # row 3 leaves 18. About rows 0 and 2, row 3 alone has a mass.
    chosen = numpy.zeros(4, numpy.intp)
    seeding.draw_centres(
        *(X, weight, numpy.array([[0.3, 0.2], [0.0, 0.99], [0.5, 0.5]]), chosen, numpy.empty(2, numpy.intp)),
        *(numpy.full(4, numpy.inf), numpy.empty(4), numpy.empty((2, 1), real), numpy.empty(2)),
        *(numpy.empty((3, 1), real), numpy.empty((2, 3), real), numpy.empty((1, 2))),
    )
    # All masses are zero at last: the first centre is taken again.
    assert chosen.tolist() == [0, 2, 3, 0]
