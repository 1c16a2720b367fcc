"""Passes along a chain of states, at every level and uncompiled."""

import importlib
from types import SimpleNamespace

import numpy
import pytest
from scipy.special import logsumexp

NAMES = ("best_paths", "chain_passes", "gaussian_values", "log_passes")


@pytest.fixture
def native(level):
    return SimpleNamespace(**{name: importlib.import_module(f"mercer._native.{level}.{name}") for name in NAMES})


def pad(table, fill=0.0):
    out = numpy.full((*table.shape[:-1], -(-table.shape[-1] // 8) * 8), fill)
    out[..., : table.shape[-1]] = table
    return out


def draw(k, n, seed=0):
    generator = numpy.random.default_rng(seed)
    start, moves = generator.dirichlet(numpy.ones(k)), generator.dirichlet(numpy.ones(k), k)
    return start, moves, generator.normal(size=(n, k)) * 2


def by_logs(start, moves, scores):
    """Filtered and smoothed probabilities, expected transitions and the log-likelihood."""
    forward = [numpy.log(start) + scores[0]]
    for row in scores[1:]:
        forward.append(logsumexp(forward[-1][:, None] + numpy.log(moves), axis=0) + row)
    backward = [numpy.zeros(len(start))]
    for row in scores[:0:-1]:
        backward.append(logsumexp(numpy.log(moves) + row + backward[-1], axis=1))
    forward, backward = numpy.array(forward), numpy.array(backward[::-1])
    total = logsumexp(forward[-1])
    pairs = forward[:-1, :, None] + numpy.log(moves) + (scores + backward)[1:, None, :] - total
    filtered = numpy.exp(forward - logsumexp(forward, axis=1, keepdims=True))
    return filtered, numpy.exp(forward + backward - total), numpy.exp(pairs).sum(axis=0), total


@pytest.mark.parametrize("k", [1, 3, 8, 10, 16, 21])
def test_two_sequences_in_one_table_are_filtered_and_smoothed(native, k):
    start, moves, scores = draw(k, 12)
    lanes = -(-k // 8) * 8
    densities, tops = pad(scores, -numpy.inf), numpy.empty(12)
    native.chain_passes.exponentiate(densities, densities.reshape(-1), tops)
    starts = numpy.array([0, 5])
    filtered, predicted, scale = numpy.zeros((13, lanes)), numpy.empty((12, lanes)), numpy.empty(12)
    done = native.chain_passes.pass_forward(densities, starts, pad(start), pad(moves), filtered, predicted, scale)
    assert done == 12
    smoothed, ratio, sums = numpy.empty((12, lanes)), numpy.empty((12, lanes)), numpy.zeros((lanes, lanes))
    native.chain_passes.pass_backward(filtered, predicted, starts, pad(moves.T), numpy.ones(lanes), smoothed, ratio)
    native.chain_passes.add_transitions(filtered[:12], ratio, sums)
    parts = [by_logs(start, moves, part) for part in (scores[:5], scores[5:])]
    numpy.testing.assert_allclose(filtered[1:, :k], numpy.concatenate([p[0] for p in parts]), atol=1e-13)
    numpy.testing.assert_allclose(smoothed[:, :k], numpy.concatenate([p[1] for p in parts]), atol=1e-13)
    numpy.testing.assert_allclose(sums[:k, :k] * moves, parts[0][2] + parts[1][2], atol=1e-12)
    numpy.testing.assert_allclose((numpy.log(scale) + tops).sum(), parts[0][3] + parts[1][3], rtol=1e-13)
    assert numpy.all(smoothed[:, k:] == 0)


def test_every_level_gives_the_same_bits(native):
    start, moves, scores = draw(11, 40)
    reference = None
    for passes in (native.chain_passes, importlib.import_module("mercer._native.interpreted.chain_passes")):
        densities, tops = pad(scores, -numpy.inf), numpy.empty(40)
        passes.exponentiate(densities, densities.reshape(-1), tops)
        filtered, predicted, scale = numpy.zeros((41, 16)), numpy.empty((40, 16)), numpy.empty(40)
        passes.pass_forward(densities, numpy.array([0]), pad(start), pad(moves), filtered, predicted, scale)
        smoothed, ratio = numpy.empty((40, 16)), numpy.empty((40, 16))
        passes.pass_backward(filtered, predicted, numpy.array([0]), pad(moves.T), numpy.ones(16), smoothed, ratio)
        if reference is not None:
            numpy.testing.assert_array_equal(smoothed, reference)
        reference = smoothed


def test_a_step_without_probability_ends_the_pass(native):
    densities = numpy.zeros((3, 8))
    densities[0, 0] = densities[1, 1] = densities[2, 0] = 1.0
    moves = pad(numpy.eye(2))
    filtered, predicted, scale = numpy.zeros((4, 8)), numpy.empty((3, 8)), numpy.empty(3)
    start = pad(numpy.array([1.0, 0.0]))
    passed = native.chain_passes.pass_forward(densities, numpy.array([0]), start, moves, filtered, predicted, scale)
    assert passed == 1


@pytest.mark.parametrize("k", [2, 9])
def test_the_product_of_steps_is_what_they_do_to_any_vector(native, k):
    _, moves, scores = draw(k, 7)
    densities, product = numpy.exp(pad(scores, -numpy.inf)), pad(numpy.eye(k))
    native.chain_passes.multiply_chain(densities, pad(moves), product, numpy.empty_like(product))
    expected = numpy.linalg.multi_dot([moves * numpy.exp(row) for row in scores])
    numpy.testing.assert_allclose(product[:, :k] / product.sum(), expected / expected.sum(), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 8, 17])
def test_best_paths_have_the_best_scores(native, k):
    start, moves, scores = draw(k, 70)
    lanes, table = -(-k // 8) * 8, pad(scores, -numpy.inf)
    best, shifts, path = numpy.empty((71, lanes)), numpy.empty(70), numpy.empty(70, dtype=numpy.intp)
    first, forward, back = (pad(numpy.log(part), -numpy.inf) for part in (start, moves, moves.T))
    native.best_paths.score_paths(table, numpy.array([0]), first, forward, best, shifts)
    assert native.best_paths.trace_path(best, numpy.array([0]), back, -1, path) == -1
    delta, origin = numpy.log(start) + scores[0], []
    for row in scores[1:]:
        options = delta[:, None] + numpy.log(moves)
        origin.append(options.argmax(axis=0))
        delta = options.max(axis=0) + row
    expected = [int(delta.argmax())]
    for row in origin[::-1]:
        expected.append(int(row[expected[-1]]))
    numpy.testing.assert_array_equal(path, expected[::-1])
    numpy.testing.assert_allclose(best[-1, :k].max() + shifts.sum(), delta.max(), rtol=1e-13)
    ends = numpy.arange(k)
    native.best_paths.trace_all(best[1:], back, ends)
    for last in range(k):
        path = numpy.empty(69, dtype=numpy.intp)
        before = native.best_paths.trace_path(best[1:], numpy.empty(0, dtype=numpy.intp), back, last, path)
        assert before == ends[last]
    product = pad(numpy.log(numpy.eye(k) + 1e-300), -numpy.inf)
    native.best_paths.multiply_best(table[1:], forward, product, numpy.empty_like(product))
    through = (numpy.log(start) + scores[0])[:, None] + product[:, :k]
    numpy.testing.assert_allclose(through.max(axis=0).max(), delta.max(), rtol=1e-12)


@pytest.mark.parametrize(("k", "d", "n"), [(1, 1, 1), (3, 2, 300), (10, 4, 9)])
@pytest.mark.parametrize("full", [False, True])
def test_gaussian_densities_and_moments(native, k, d, n, full):
    generator = numpy.random.default_rng(0)
    X, means = generator.normal(size=(n, d)), generator.normal(size=(k, d))
    lower = numpy.tril(generator.normal(size=(k, d, d)))
    if not full:
        lower = numpy.stack([numpy.diag(numpy.diag(part)) for part in lower])
    rows, columns = numpy.tril_indices(d)
    factors = pad(lower[:, rows, columns].T if full else numpy.diagonal(lower, axis1=1, axis2=2).T)
    offsets = numpy.zeros((d + 1, factors.shape[1]))
    offsets[0, :k], offsets[0, k:] = 0.5, -numpy.inf
    out = numpy.empty((n, factors.shape[1]))
    native.gaussian_values.score_gaussians(X, pad(means.T), factors, offsets, full, numpy.empty((d, 8)), out)
    steps = X[:, None, :] - means
    along = numpy.einsum("kij,nkj->nki", lower, steps)
    numpy.testing.assert_allclose(out[:, :k], 0.5 - 0.5 * (along**2).sum(axis=2), rtol=1e-12)
    assert numpy.all(out[:, k:] == -numpy.inf)
    shares = pad(generator.random((n, k)))
    mass, first, squares = numpy.zeros((3, d, shares.shape[1]))
    products = numpy.zeros((d * (d - 1) // 2 if full else 0, shares.shape[1]))
    native.gaussian_values.sum_gaussians(X, shares, pad(means.T), full, mass, first, squares, products)
    numpy.testing.assert_allclose(mass[0, :k], shares[:, :k].sum(axis=0), rtol=1e-12)
    numpy.testing.assert_allclose(
        first[:, :k].T, numpy.einsum("nk,nkj->kj", shares[:, :k], steps), rtol=1e-9, atol=1e-9
    )
    second = numpy.einsum("nk,nki,nkj->kij", shares[:, :k], steps, steps)
    numpy.testing.assert_allclose(squares[:, :k].T, numpy.diagonal(second, axis1=1, axis2=2), rtol=1e-10)
    if full:
        rows, columns = numpy.tril_indices(d, -1)
        numpy.testing.assert_allclose(products[:, :k].T, second[:, rows, columns], rtol=1e-9, atol=1e-9)


def test_missing_entries_are_left_out_of_independent_columns(native):
    X = numpy.array([[1.0, numpy.nan], [numpy.nan, numpy.nan], [2.0, 3.0]])
    means, factors = pad(numpy.array([[0.0], [1.0]])), pad(numpy.array([[1.0], [2.0]]))
    offsets = pad(numpy.array([[-3.0], [1.0], [2.0]]))
    out = numpy.empty((3, 8))
    native.gaussian_values.score_gaussians(X, means, factors, offsets, False, numpy.empty((2, 8)), out)
    numpy.testing.assert_allclose(out[:, 0], [-3 + 2 - 0.5, 0.0, -3 - 2.0 - 8.0])
    mass, first, squares = numpy.zeros((3, 2, 8))
    shares = pad(numpy.ones((3, 1)))
    native.gaussian_values.sum_gaussians(X, shares, means, False, mass, first, squares, numpy.zeros((0, 8)))
    numpy.testing.assert_allclose(mass[:, 0], [2.0, 1.0])
    numpy.testing.assert_allclose(first[:, 0], [3.0, 2.0])
    numpy.testing.assert_allclose(squares[:, 0], [5.0, 4.0])


@pytest.mark.parametrize("k", [1, 4])
def test_logarithms_give_the_same_probabilities(native, k):
    start, moves, scores = draw(k, 9)
    table, terms, counts = numpy.empty((9, k)), numpy.empty(k), numpy.zeros((k, k))
    native.log_passes.log_forward(scores, numpy.log(start), numpy.log(moves.T).copy(), terms, table)
    _, smoothed, expected, total = by_logs(start, moves, scores)
    assert logsumexp(table[-1]) == pytest.approx(total, rel=1e-13)
    native.log_passes.log_backward(scores, numpy.log(moves), terms, table, numpy.empty(k), counts)
    numpy.testing.assert_allclose(table, smoothed, atol=1e-12)
    numpy.testing.assert_allclose(counts, expected, atol=1e-11)
