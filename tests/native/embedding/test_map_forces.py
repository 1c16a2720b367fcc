"""Native forces on maps against formulas written out, at every CPU level and uncompiled."""

import importlib

import numpy as np
import pytest

from mercer.manifold._tsne.cell_tree import number_nodes


@pytest.fixture
def map_tasks(level):
    return importlib.import_module(f"mercer._native.{level}.map_tasks")


def make_tree(map_tasks, n, d, angle):
    firsts, counts, leaves = number_nodes(-(-n // 16))
    shapes = (len(leaves), d, 16), (len(firsts), 2, d), (len(firsts),), (len(firsts), 2 + d + d * (d + 1) // 2), (n,)
    arrays = [np.zeros(shape, np.float32) for shape in shapes]
    order = np.arange(n, dtype=np.int32)
    return map_tasks.MapTree(order, firsts, counts, leaves, arrays, angle), order


def repel(map_tasks, places, angle):
    n, d = places.shape
    tree, order = make_tree(map_tasks, n, d, angle)
    tree.sort(places)
    tree.place(places)
    push, potential = np.zeros((n, d), np.float32), np.zeros(n)
    map_tasks.repel(tree, tree, 0, -(-n // 16), push, potential, np.zeros((d + 1, 16), np.float32))
    assert np.array_equal(np.sort(order), np.arange(n))
    return push, potential


def exact(places):
    steps = places[:, None].astype(np.float64) - places[None]
    near = 1.0 / (1.0 + np.square(steps).sum(axis=2))
    return (np.square(near)[:, :, None] * steps).sum(axis=1), near.sum(axis=1)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("n", [5, 16, 83])
def test_an_angle_of_zero_gives_the_sums_over_all_pairs(map_tasks, n, d):
    places = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32) * 5
    push, potential = repel(map_tasks, places, 0.0)
    forces, potentials = exact(places)
    np.testing.assert_allclose(push, forces, atol=2e-5)
    np.testing.assert_allclose(potential, potentials, rtol=2e-6)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_cells_change_forces_by_less_than_a_percent(map_tasks, d):
    places = np.random.default_rng(1).normal(size=(300, d)).astype(np.float32) * 8
    push, potential = repel(map_tasks, places, 0.5)
    forces, potentials = exact(places)
    assert np.linalg.norm(push - forces) < 0.01 * np.linalg.norm(forces)
    assert abs(potential.sum() / potentials.sum() - 1) < 2e-3


def test_every_level_gives_the_same_bits(map_tasks):
    oracle = importlib.import_module("mercer._native.interpreted.map_tasks")
    places = np.random.default_rng(2).normal(size=(100, 2)).astype(np.float32) * 8
    for got, expected in zip(repel(map_tasks, places, 0.6), repel(oracle, places, 0.6), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_points_that_coincide_have_no_force(map_tasks):
    push, potential = repel(map_tasks, np.ones((40, 2), np.float32), 0.5)
    assert not push.any()
    np.testing.assert_array_equal(potential, 40.0)


def descend(map_tasks, places, joint, iterations):
    """Iterations of the team, here without helpers."""
    n, d = places.shape
    tree, _ = make_tree(map_tasks, n, d, 0.0)
    state = places.copy(), np.zeros((n, d)), np.ones((n, d))
    rows = [np.flatnonzero(row) for row in joint]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    edges = (starts.astype(np.int64), np.concatenate(rows).astype(np.int32), joint[joint > 0].astype(np.float32))
    shapes = (n, d), (n, d), (n, d), (1, d + 1, 16), (1, n)
    scratch = tuple(np.zeros(shape, np.float32) for shape in shapes)
    work = map_tasks.MapTasks(tree, np.zeros(40, np.int64), edges, state, scratch, np.zeros((-(-n // 64) + 8, 4)))
    work.sort()
    report = np.zeros(3)
    assert work.descend(np.array([2.0, 0.5, 3.0, 5.0]), iterations, np.inf, report) == iterations
    return state[0], report, work.measure()


def test_an_iteration_is_momentum_and_gains_along_the_gradient(map_tasks):
    generator = np.random.default_rng(3)
    joint = generator.random((30, 30)) * (generator.random((30, 30)) < 0.4)
    joint = np.triu(joint, 1) + np.triu(joint, 1).T
    joint /= joint.sum()
    places = generator.normal(size=(30, 2))
    got, report, logarithms = descend(map_tasks, places, joint, 3)
    place, speed, gain = places.copy(), np.zeros((30, 2)), np.ones((30, 2))
    for _ in range(3):
        steps = place[:, None] - place[None]
        near = 1.0 / (1.0 + np.square(steps).sum(axis=2))
        total = near.sum() - 30
        slope = 4.0 * ((2.0 * joint - near / total) * near)[:, :, None]
        slope = (slope * steps).sum(axis=1)
        gain = np.maximum(np.where(slope * speed < 0, gain + 0.2, gain * 0.8), 0.01)
        speed = 0.5 * speed - 3.0 * gain * slope
        place = place + speed
    np.testing.assert_allclose(got, place, atol=1e-5)
    np.testing.assert_allclose(report[[0, 2]], [total, np.square(slope).sum()], rtol=1e-4)
    squares = np.square(place[:, None] - place[None]).sum(axis=2)
    np.testing.assert_allclose(logarithms, (joint * np.log1p(squares)).sum(), rtol=1e-5)


def test_a_row_meets_the_entropy_asked_for(level):
    module = importlib.import_module(f"mercer._native.{level}.perplexities")
    squares = np.random.default_rng(4).chisquare(5, size=(6, 40))
    betas, gaps, weights = np.empty(6), np.empty(6), np.empty((6, 40))
    module.match_perplexity(squares, 0, 6, np.log(7.0), betas, gaps, weights, np.empty(3))
    expected = np.exp(-betas[:, None] * squares)
    np.testing.assert_allclose(weights, expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(np.exp(-(weights * np.log(weights)).sum(axis=1)), 7.0, rtol=1e-8)


def test_a_grid_reads_off_cubic_splines(level):
    module = importlib.import_module(f"mercer._native.{level}.grid_sums")
    places = np.random.default_rng(5).random((9, 2)) * 4
    grid, origin = np.zeros((16, 16)), np.full(2, -1.5)
    module.spread_points(places, origin, 2.0, np.empty((2, 4)), grid)
    # The weights of a point sum to one and have its place as their mean.
    assert grid.sum() == pytest.approx(9.0)
    nodes = -1.5 + 0.5 * np.arange(16)
    np.testing.assert_allclose([nodes @ grid.sum(axis=1), grid.sum(axis=0) @ nodes], places.sum(axis=0))
    # Splines reproduce linear functions and their slopes.
    plane = 3.0 + 2.0 * nodes[:, None] - nodes[None, :]
    push, potential = np.zeros((9, 2)), np.zeros(9)
    module.read_grid(places, 0, 9, origin, 2.0, plane, np.empty((4, 4)), push, potential)
    np.testing.assert_allclose(potential, 3.0 + places @ [2.0, -1.0])
    np.testing.assert_allclose(push, np.tile([-1.0, 0.5], (9, 1)))


@pytest.mark.parametrize("freedom", [0.0, 1.0, 2.5])
def test_forces_of_all_pairs_are_those_of_the_kernel(level, freedom):
    module = importlib.import_module(f"mercer._native.{level}.exact_map")
    generator = np.random.default_rng(6)
    places, joint = generator.normal(size=(12, 2)), generator.random((12, 12))
    steps = places[:, None] - places[None]
    squares = np.square(steps).sum(axis=2)
    near = np.ones((12, 12)) if freedom == 0 else 1.0 / (1.0 + squares / freedom)
    weights = np.exp(-squares) if freedom == 0 else near ** (0.5 * (freedom + 1))
    np.fill_diagonal(weights, 0.0)
    np.fill_diagonal(joint, 0.0)
    pull, push, sums = np.zeros((12, 2)), np.zeros((12, 2)), np.zeros((12, 2))
    columns = np.ascontiguousarray(places.T)
    module.add_forces(columns, joint, freedom, 0, 12, np.empty(12), np.empty(12), pull, push, sums)
    np.testing.assert_allclose(pull, ((joint * near)[:, :, None] * steps).sum(axis=1), atol=1e-13)
    np.testing.assert_allclose(push, ((weights * near)[:, :, None] * steps).sum(axis=1), atol=1e-13)
    module.add_potentials(columns, joint, freedom, 0, 12, np.empty(12), np.empty(12), sums)
    np.testing.assert_allclose(sums[:, 0], weights.sum(axis=1))
    np.fill_diagonal(weights, 1.0)
    np.testing.assert_allclose(sums[:, 1], -(joint * np.log(weights)).sum(axis=1))
