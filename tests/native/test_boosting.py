"""Native boosting: bins, histograms, partitions, splits and walks against NumPy, at every level."""

import importlib
import threading

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


class Ground:
    """A native ground of few rows, and the arrays that it works on."""

    def __init__(self, level, bins, offsets, counts=(), limits=(1.0, 5.0, 0.0, 10.0), members=1):
        n, d = bins.shape
        width, size, n_blocks = int(np.diff(offsets).max()), 2 * int(offsets[-1]), -(-n // UNIT)
        self.words, self.order = np.empty((n, 2), np.int64), np.empty(n, np.uint16)
        self.begin, self.stop = np.zeros((3, n_blocks), np.int32), np.zeros((3, n_blocks), np.int32)
        self.histograms, self.totals = np.empty((2, size), np.int64), np.empty((members, 2), np.int64)
        self.nodes, self.allowed = np.empty((2, 6)), np.ones((2, d), np.uint8)
        self.native = module(level, "growth").Ground(
            (bins, np.ascontiguousarray(bins.T), np.array(counts, np.int64), self.words, self.order),
            (offsets, np.zeros(d, np.uint8), np.zeros(d, np.int32), np.array(limits)),
            (
                np.zeros((members, size), np.int64),
                np.empty((members, UNIT), np.uint16),
                np.empty((members, 4, width)),
                np.empty((members, width), np.int32),
                np.zeros(members, np.uint8),
                self.totals,
            ),
            (self.nodes, self.allowed, np.empty((2, d)), np.empty((2, d), np.int64)),
            np.zeros(24, np.int64),
            8,
            UNIT,
        )
        self.native.hold(self.begin, self.stop, self.histograms)
        self.native.restrict(np.arange(d, dtype=np.int32))

    def start(self, gradients, scales, drawn=(), items=2):
        scales = np.array(scales)
        self.native.prepare(gradients, np.array(drawn, np.int64), scales, 1 / scales)
        self.native.offer_root(0, items)
        self.advance()

    def advance(self):
        while self.native.advance(1):
            pass

    def rows(self, node):
        places = enumerate(zip(self.begin[node], self.stop[node], strict=True))
        found = [b * UNIT + self.order[b * UNIT + first : b * UNIT + last].astype(int) for b, (first, last) in places]
        return np.concatenate(found)


def test_histograms_and_partitions_are_those_of_numpy(level):
    rng = np.random.default_rng(0)
    n, d, width, bins, offsets = field(rng, np.uint8)
    gradients = np.column_stack([rng.normal(size=n), rng.random(n)])
    ground = Ground(level, bins, offsets)
    ground.start(gradients, [2.0**20, 2.0**10])
    words = ground.words
    np.testing.assert_allclose(words[:, 0] / 2.0**20, gradients[:, 0], atol=2.0**-21)
    np.testing.assert_allclose((words[:, 1] >> 8) / 2.0**10, gradients[:, 1], atol=2.0**-11)
    assert np.all(words[:, 1] & 255 == 1)
    np.testing.assert_array_equal(ground.totals.sum(axis=0), words.sum(axis=0))
    ground.native.offer_columns(-1, 0, -1, -1, 2)
    ground.advance()
    np.testing.assert_array_equal(ground.histograms[0], histogram_of(bins, words, offsets, np.arange(n)))
    goes_left = (rng.random(width) < 0.5).astype(np.uint8)
    ground.native.offer_split(0, 1, 2, goes_left, 0, 3)
    ground.advance()
    left = np.flatnonzero(goes_left[bins[:, 2]])
    right = np.setdiff1d(np.arange(n), left)
    np.testing.assert_array_equal(ground.rows(1), left)
    np.testing.assert_array_equal(ground.rows(2), right)
    ground.native.offer_columns(0, 1, -1, -1, d)
    ground.advance()
    np.testing.assert_array_equal(ground.histograms[1], histogram_of(bins, words, offsets, left))
    np.testing.assert_array_equal(ground.histograms[0], histogram_of(bins, words, offsets, right))


def test_rows_that_are_not_drawn_are_not_in_the_root(level):
    rng = np.random.default_rng(2)
    n, _, _, bins, offsets = field(rng, np.uint8)
    counts, gradients = rng.integers(1, 4, n), np.column_stack([rng.normal(size=n), rng.random(n)])
    drawn = rng.integers(0, counts + 1)
    ground = Ground(level, bins, offsets, counts)
    ground.start(gradients * counts[:, None], [2.0**20, 2.0**10], drawn)
    np.testing.assert_array_equal(ground.rows(0), np.flatnonzero(drawn))
    ground.native.offer_columns(-1, 0, -1, -1, 1)
    ground.advance()
    single = Ground(level, np.repeat(bins, drawn, axis=0), offsets)
    single.start(np.repeat(gradients, drawn, axis=0), [2.0**20, 2.0**10])
    single.native.offer_columns(-1, 0, -1, -1, 1)
    single.advance()
    np.testing.assert_array_equal(ground.histograms[0], single.histograms[0])


def test_a_team_adds_what_one_thread_adds(level):
    rng = np.random.default_rng(3)
    n, d, _, bins, offsets = field(rng, np.uint8)
    gradients = np.column_stack([rng.normal(size=n), rng.random(n)])
    ground = Ground(level, bins, offsets, members=3)
    helpers = [threading.Thread(target=ground.native.help, args=(member,)) for member in (1, 2)]
    ground.native.call()
    for helper in helpers:
        helper.start()
    for _ in range(20):
        ground.start(gradients, [2.0**20, 2.0**10], items=3)
        ground.native.offer_columns(-1, 0, -1, -1, d)
        ground.advance()
        np.testing.assert_array_equal(ground.histograms[0], histogram_of(bins, ground.words, offsets, np.arange(n)))
    ground.native.dismiss()
    for helper in helpers:
        helper.join(10)
        assert not helper.is_alive()


def test_some_columns_of_a_node_are_those_of_all(level):
    rng = np.random.default_rng(4)
    n, _, width, bins, offsets = field(rng, np.uint8)
    ground = Ground(level, bins, offsets)
    ground.start(np.column_stack([rng.normal(size=n), rng.random(n)]), [2.0**20, 2.0**10])
    goes_left = (rng.random(width) < 0.5).astype(np.uint8)
    ground.native.offer_split(0, 1, 2, goes_left, -1, 2)
    ground.advance()
    ground.native.restrict(np.array([1, 4], dtype=np.int32))
    ground.native.offer_build(2, 3)
    ground.advance()
    ground.histograms[0] = -1
    ground.native.offer_columns(-1, 0, -1, -1, 2)
    ground.advance()
    expected = histogram_of(bins, ground.words, offsets, ground.rows(2))
    for column in range(5):
        place = slice(2 * offsets[column], 2 * offsets[column + 1])
        np.testing.assert_array_equal(ground.histograms[0, place], expected[place] if column in (1, 4) else -1)


@pytest.mark.parametrize("missing", [False, True])
def test_the_split_found_is_the_best_of_all(level, missing):
    rng = np.random.default_rng(1)
    n, d, width, bins, offsets = field(rng, np.uint8)
    if not missing:
        bins[bins == width - 1] = 0
    gradient, curvature = rng.integers(-1000, 1000, n).astype(float), rng.integers(1, 50, n).astype(float)
    ground = Ground(level, bins, offsets)
    ground.start(np.column_stack([gradient, curvature]), [1.0, 1.0])
    ground.nodes[1] = gradient.sum(), curvature.sum(), n, -np.inf, np.inf, 0.0
    ground.native.offer_columns(-1, 0, -1, 0, d)
    ground.advance()
    places, goes_left = np.empty(5, np.int64), np.zeros(width, np.uint8)
    best = ground.native.choose(1, 0, goes_left, places)
    most = 0.0
    for j in range(d):
        for b in range(width - 1):
            for with_missing in (False, True):
                left = (bins[:, j] <= b) | (with_missing & (bins[:, j] == width - 1))
                if min(left.sum(), (~left).sum()) >= 5:
                    parts = (gradient[side].sum() ** 2 / (curvature[side].sum() + 1) for side in (left, ~left))
                    most = max(most, sum(parts))
    assert best == pytest.approx(most, rel=1e-12)
    left = goes_left[bins[:, places[0]]].astype(bool)
    assert places[3] == ground.words[left, 0].sum()
    assert places[4] == ground.words[left, 1].sum()


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
