"""Moments of a run of blocks: centred, weighted, with further columns, merge along the tree, at every level."""

import importlib

import numpy
import pytest

REALS = [numpy.float64, numpy.float32]
SHAPES = [(1, 1, 0), (3, 2, 1), (128, 4, 0), (129, 16, 1), (300, 17, 3), (257, 33, 0), (100, 40, 8)]
EMPTY = numpy.empty(0)


@pytest.fixture
def scatter(level):
    return importlib.import_module(f"mercer._native.{level}.scatter")


def draw(n, d, k, real):
    generator = numpy.random.default_rng(n + d + k)
    return generator.normal(3, 1, size=(n, d)).astype(real), generator.normal(size=(n, k)), generator.random(n)


def moments(scatter, X, Y, weight=EMPTY, unit=64, centre=True):
    """Return the weight, mean and full scatter that native code finds."""
    width, n = X.shape[1] + Y.shape[1], len(X)
    m, padded = max(1, -(-n // unit)), scatter.pad_width(width)
    size = weight if len(weight) else numpy.ones(n)
    totals = numpy.array([size[i * unit : (i + 1) * unit].sum() for i in range(m)])
    means, sums = numpy.zeros((m, width)), numpy.zeros((m, padded, padded))
    packed = numpy.full(scatter.count_packed(width), numpy.nan)
    scatter.moments_run(X, Y, unit, weight, numpy.sqrt(weight), centre, packed, totals, means, sums)
    full = numpy.empty((width, width))
    scatter.unfold(sums[0], full)
    return totals[0], means[0], full


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_the_definition(scatter, real, shape, weighted):
    X, Y, weight = draw(*shape, real)
    size = weight if weighted else numpy.ones(len(X))
    rows = numpy.c_[X.astype(float), Y]
    mean = size @ rows / size.sum()
    expected = ((rows - mean) * size[:, None]).T @ (rows - mean)
    total, found, full = moments(scatter, X, Y, weight if weighted else EMPTY)
    assert total == pytest.approx(size.sum(), rel=1e-13)
    numpy.testing.assert_allclose(found, mean, rtol=1e-11, atol=1e-12)
    numpy.testing.assert_allclose(full, expected, rtol=1e-10, atol=1e-10 * shape[0])
    numpy.testing.assert_array_equal(full, full.T)


def test_without_centring_the_mean_is_zero_and_squares_are_raw(scatter):
    X, Y, _ = draw(200, 5, 0, float)
    _, mean, full = moments(scatter, X, Y, centre=False)
    assert not mean.any()
    numpy.testing.assert_allclose(full, X.T @ X, rtol=1e-12)


@pytest.mark.parametrize("n_blocks", [2, 3, 5, 7, 8])
def test_a_run_has_the_bits_of_its_blocks_merged_one_by_one(scatter, n_blocks):
    X, Y, _ = draw(n_blocks * 32 - 5, 6, 1, float)
    whole = moments(scatter, X, Y, unit=32)
    stack = []
    for start in range(0, len(X), 32):
        part, height = moments(scatter, X[start : start + 32], Y[start : start + 32], unit=32), 0
        while stack and stack[-1][0] == height:
            part, height = merge(scatter, stack.pop()[1], part), height + 1
        stack.append((height, part))
    total = stack.pop()[1]
    while stack:
        total = merge(scatter, stack.pop()[1], total)
    for found, expected in zip(whole, total, strict=True):
        numpy.testing.assert_array_equal(found, expected)


def merge(scatter, first, second):
    weight, mean, full = first[0], first[1].copy(), first[2].copy()
    scatter.merge_moments(full, second[2], mean, second[1].copy(), weight, second[0])
    mirrored = numpy.empty_like(full)
    scatter.unfold(full, mirrored)
    return weight + second[0], mean, mirrored


def test_nan_reaches_the_sums_of_its_column_and_no_other(scatter):
    X, Y, _ = draw(300, 20, 0, float)
    X[7, 3] = numpy.nan
    full = moments(scatter, X, Y)[2]
    assert numpy.isnan(full[3]).all()
    assert numpy.isnan(full[:, 3]).all()
    assert numpy.isfinite(numpy.delete(numpy.delete(full, 3, 0), 3, 1)).all()


def test_no_rows_give_zero(scatter):
    total, mean, full = moments(scatter, numpy.empty((0, 4)), numpy.empty((0, 0)))
    assert total == 0
    assert not mean.any()
    assert not full.any()
