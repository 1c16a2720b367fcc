"""Native boosting: bins, histograms, partitions, splits and walks against NumPy, at every level."""

import importlib

import numpy as np
import pytest

UNIT = 32


def module(level, name):
    return importlib.import_module(f"mercer._native.{level}.boosting_{name}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_count_the_edges_below(level, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)).astype(dtype)
    X[::7, 1] = np.nan
    X[0, 0], X[1, 0] = np.inf, -np.inf
    edges = np.full((3, 7), np.inf)
    for line, count in zip(edges, (7, 4, 1), strict=True):
        line[:count] = np.sort(rng.normal(size=count))
    missing = np.array([8, 5, 2])
    out = np.empty(X.shape, np.uint8)
    module(level, "bins").assign_bins(X, edges, missing, out)
    below = (edges[None] < X.astype(float)[:, :, None]).sum(axis=2)
    np.testing.assert_array_equal(out, np.where(np.isnan(X), missing, below))


def field(rng, code):
    n, d, width = 75, 5, 9
    bins = rng.integers(0, width, (n, d)).astype(code)
    return n, d, width, bins, (np.arange(d + 1) * width).astype(np.int32)


def histogram_of(bins, words, offsets, rows):
    out = np.zeros(2 * int(offsets[-1]), np.int64)
    for j in range(bins.shape[1]):
        for part in range(2):
            np.add.at(out, 2 * (offsets[j] + bins[rows, j].astype(int)) + part, words[rows, part])
    return out


@pytest.mark.parametrize("code", [np.uint8, np.uint16])
def test_histograms_and_partitions_are_those_of_numpy(level, code):
    native, rng = module(level, "histogram"), np.random.default_rng(0)
    n, _, width, bins, offsets = field(rng, code)
    gradients = np.column_stack([rng.normal(size=n), rng.random(n)])
    words, order = np.empty((n, 2), np.int64), np.empty(n, np.uint16)
    root = np.zeros(2 * int(offsets[-1]), np.int64)
    counts = np.empty(0, np.int64)
    native.quantise_run(gradients, counts, 2.0**20, 2.0**10, 8, bins, offsets[:-1], UNIT, 0, 3, words, order, root)
    np.testing.assert_allclose(words[:, 0] / 2.0**20, gradients[:, 0], atol=2.0**-21)
    np.testing.assert_allclose((words[:, 1] >> 8) / 2.0**10, gradients[:, 1], atol=2.0**-11)
    assert np.all(words[:, 1] & 255 == 1)
    np.testing.assert_array_equal(root, histogram_of(bins, words, offsets, np.arange(n)))
    begin, stop = np.zeros((3, 3), np.int32), np.zeros((3, 3), np.int32)
    stop[0] = [UNIT, UNIT, n - 2 * UNIT]
    goes_left = (rng.random(width) < 0.5).astype(np.uint8)
    part = np.zeros_like(root)
    native.split_run(
        *(bins, words, order, begin, stop, 0, 1, np.ascontiguousarray(bins[:, 2]), goes_left, offsets[:-1]),
        *(UNIT, 0, 3, 0, np.empty(UNIT, np.uint16), part),
    )
    left = np.flatnonzero(goes_left[bins[:, 2]])
    found = [b * UNIT + order[b * UNIT + begin[1, b] : b * UNIT + stop[1, b]].astype(int) for b in range(3)]
    np.testing.assert_array_equal(np.concatenate(found), left)
    np.testing.assert_array_equal(part, histogram_of(bins, words, offsets, left))
    native.take_difference(root, part)
    np.testing.assert_array_equal(root, histogram_of(bins, words, offsets, np.setdiff1d(np.arange(n), left)))


@pytest.mark.parametrize("missing", [False, True])
def test_the_split_found_is_the_best_of_all(level, missing):
    native, rng = module(level, "split"), np.random.default_rng(1)
    n, d, width, bins, offsets = field(rng, np.uint8)
    if not missing:
        bins[bins == width - 1] = 0
    words = np.column_stack([rng.integers(-1000, 1000, n), (rng.integers(1, 50, n) << 8) + 1])
    histogram = histogram_of(bins, words, offsets, np.arange(n))
    gradient, curvature = words[:, 0].astype(float), (words[:, 1] >> 8).astype(float)
    best, places, goes_left = np.zeros(1), np.empty(5, np.int64), np.zeros(width, np.uint8)
    native.find_split(
        *(histogram, offsets, np.ones(d, np.uint8), np.zeros(d, np.uint8), np.zeros(d, np.int32), np.ones(2), 8),
        *(np.array([gradient.sum(), curvature.sum(), n]), np.array([1.0, 5.0, 0.0, -np.inf, np.inf]), 0, 10.0),
        *(np.empty((4, width)), np.empty(width, np.int32), goes_left, best, places),
    )
    most = 0.0
    for j in range(d):
        for b in range(width - 1):
            for with_missing in (False, True):
                left = (bins[:, j] <= b) | (with_missing & (bins[:, j] == width - 1))
                if min(left.sum(), (~left).sum()) >= 5:
                    parts = (gradient[side].sum() ** 2 / (curvature[side].sum() + 1) for side in (left, ~left))
                    most = max(most, sum(parts))
    assert best[0] == pytest.approx(most, rel=1e-12)
    left = goes_left[bins[:, places[0]]].astype(bool)
    assert places[3] == words[left, 0].sum()
    assert places[4] == words[left, 1].sum()


def test_rows_walk_to_the_leaves_that_their_values_name(level):
    native, rng = module(level, "forest"), np.random.default_rng(0)
    X = rng.normal(size=(11, 2))
    X[3, 0] = np.nan
    # Column 0 up to 0.2 goes left, missing values too; on the right, column 1 up to -0.1.
    left, columns, flags = np.array([1, 1, 3, 3, 4]), np.array([0, 0, 1, 0, 0]), np.array([1, 1, 0, 1, 1])
    words = left << 32 | columns << 8 | flags
    thresholds, values = np.array([0.2, np.inf, -0.1, np.inf, np.inf]), np.array([0.0, 1.0, 0.0, 2.0, 3.0])
    scores, root = np.zeros((11, 1)), np.zeros(1, np.int32)
    native.add_scores(
        X, words, thresholds, values, np.zeros((1, 8), np.uint32), root, np.full(1, 2, np.int32), root, scores
    )
    right = np.where(X[:, 1] <= -0.1, 2.0, 3.0)
    np.testing.assert_array_equal(scores[:, 0], np.where(np.isnan(X[:, 0]) | (X[:, 0] <= 0.2), 1.0, right))
