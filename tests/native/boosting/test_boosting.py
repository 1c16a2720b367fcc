"""Native boosting: bins, histograms, partitions, splits and partitions against NumPy, at every level."""

import importlib
import inspect
import re
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from mercer._native import records
from mercer._native.boosting import leaves
from mercer._native.records import COLUMN, NODE, RULES, SPAN, SPLIT, TASK, WORDS, make_records
from mercer._objective import Exponential, Logistic, Poisson, Softmax, Squared
from mercer._statistic.statistic import fold_sums
from mercer.ensemble._histogram.workers import TreeRoom

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
    out = np.zeros(int(offsets[-1]), WORDS)
    for j in range(bins.shape[1]):
        for name in WORDS.names:
            np.add.at(out[name], offsets[j] + bins[rows, j].astype(int), words[name][rows])
    return out


class Growth:
    """The native tasks of a tree of few rows, their leader, and the arrays that they work on."""

    def __init__(self, level, bins, offsets, counts=(), limits=(), members=1, monotone=None):
        n, d = bins.shape
        width, size, n_blocks = int(np.diff(offsets).max()), int(offsets[-1]), -(-n // UNIT)
        values = (1.0, 5.0, 0.0, 10.0, np.inf, 31.0)
        rules = self.rules = make_records(1, RULES)
        for name, value in zip(RULES.names, (*limits, *values[len(limits) :])):
            rules[name] = value
        self.n_nodes = max(63, 2 * int(rules.max_leaves[0]))
        self.words, self.order = make_records(n, WORDS), np.empty(n, np.uint16)
        self.spans = make_records((n_blocks, self.n_nodes), SPAN)
        self.nodes, self.totals = make_records(self.n_nodes, NODE), make_records((members, 4), WORDS)
        self.tables, self.histograms = np.zeros((self.n_nodes, width), np.uint8), make_records((32, size), WORDS)
        self.chosen, self.n_chosen = np.tile(np.arange(d, dtype=np.int32), (2, 1)), np.full(2, d)
        features = make_records(d, COLUMN)
        features.direction = 0 if monotone is None else monotone
        rules.bounded, rules.count_bits = features.direction.any(), 8
        rows = SimpleNamespace(
            codes=bins,
            columns=np.ascontiguousarray(bins.T),
            counts=np.array(counts, np.int64),
            order=self.order,
            unit=UNIT,
            n_blocks=n_blocks,
        )
        room = TreeRoom(
            *(self.words, offsets, features, rules),
            *(make_records((members, size), WORDS), np.empty((members, UNIT), np.uint16)),
            *(np.empty((members, 4, width)), np.empty((members, width), np.int32)),
            *(np.zeros((members, 64), np.uint8), self.totals),
            *(np.ones((2, d), np.uint8), make_records((2, d), SPLIT), self.chosen, self.n_chosen),
            *(make_records(1, TASK), np.zeros(32 + 8 * members, np.int64)),
        )
        self.native = module(level, "growth").TreeTasks(rows, room)
        self.leader = module(level, "leaves").TreeLeader(rows, room, 64)
        walks = make_records((members, self.n_nodes), SPAN)
        self.native.hold_nodes(self.spans, self.nodes, self.tables, walks, self.histograms)
        self.leader.hold_nodes(self.nodes, self.tables, np.zeros(self.n_nodes, np.int32))
        self.leader.hold_histograms(self.histograms, np.zeros(32, np.int32), 32)

    def start(self, gradients, scales, drawn=(), direct=False, scores=None):
        """Offer the rows of the root, add them, and make it a node."""
        rules = self.rules
        rules.gradient_scale, rules.curvature_scale = scales
        rules.gradient_unit, rules.curvature_unit = 1 / np.array(scales)
        scores = np.zeros((len(gradients), 1)) if scores is None else scores
        y, losses = np.zeros(len(gradients)), np.zeros((len(self.spans), 3))
        self.native.hold_scores(np.ascontiguousarray(gradients[None]), scores, y, np.empty(0), losses, 0.0, 0)
        self.native.hold_sample(np.array(drawn, np.int64), 0, 0.0)
        self.leader.start_tree(0, direct)
        self.advance()
        assert self.leader.make_root()

    def search(self):
        """Search what was added, the histogram of which is that of the root, or of the smaller child."""
        self.leader.offer_search(self.leader.left_wanted, self.leader.right_wanted)
        self.advance()

    def advance(self):
        while self.native.advance(1):
            pass

    def grow(self):
        """Grow the tree to its end; its nodes."""
        self.search()
        while (step := self.leader.open_leaf()) != 0:
            self.leader.offer_split()
            self.advance()
            if step == 2:
                self.search()
        return int(self.leader.n_nodes)

    def rows(self, node):
        places = enumerate(self.spans[:, node])
        found = [b * UNIT + self.order[b * UNIT + first : b * UNIT + last].astype(int) for b, (first, last) in places]
        return np.concatenate(found)

    def histogram(self, node):
        return self.histograms[self.nodes[node].slot]


def test_records_have_the_fields_of_the_native_ones():
    """Compiled functions compare layouts with types alone; the names of fields must agree too."""
    for name in ("Words", "Node", "Rules", "Column", "Split", "Span", "Task"):
        fields = inspect.getsource(leaves).split(f"{name} = cython.struct(")[1].split("\n)\n")[0].split(")\n")[0]
        assert tuple(re.findall(r"(\w+)=", fields)) == getattr(records, name.upper()).names


def slopes(rng, n):
    return np.column_stack([rng.normal(size=n), rng.random(n)])


def test_histograms_and_partitions_are_those_of_numpy(level):
    rng = np.random.default_rng(0)
    n, _, _, bins, offsets = field(rng, np.uint8)
    gradients = slopes(rng, n)
    growth = Growth(level, bins, offsets)
    growth.start(gradients, [2.0**20, 2.0**10])
    words = growth.words
    np.testing.assert_allclose(words.gradient / 2.0**20, gradients[:, 0], atol=2.0**-21)
    np.testing.assert_allclose((words.rest >> 8) / 2.0**10, gradients[:, 1], atol=2.0**-11)
    assert np.all(words.rest & 255 == 1)
    for name in WORDS.names:
        assert growth.totals[name].sum() == words[name].sum()
    growth.search()
    np.testing.assert_array_equal(growth.histogram(0), histogram_of(bins, words, offsets, np.arange(n)))
    assert growth.leader.open_leaf() == 2
    growth.leader.offer_split()
    growth.advance()
    left = np.flatnonzero(growth.tables[0, bins[:, growth.leader.column]])
    right = np.setdiff1d(np.arange(n), left)
    np.testing.assert_array_equal(growth.rows(1), left)
    np.testing.assert_array_equal(growth.rows(2), right)
    growth.search()
    np.testing.assert_array_equal(growth.histogram(1), histogram_of(bins, words, offsets, left))
    np.testing.assert_array_equal(growth.histogram(2), histogram_of(bins, words, offsets, right))


def test_rows_that_are_not_drawn_are_not_in_the_root_but_walk_to_the_leaves(level):
    rng = np.random.default_rng(2)
    n, _, _, bins, offsets = field(rng, np.uint8)
    counts, gradients = rng.integers(1, 4, n), slopes(rng, n)
    drawn, scores = rng.integers(0, counts + 1), rng.normal(size=(n, 1))
    growth, before = Growth(level, bins, offsets, counts, (1.0, 20.0)), scores.copy()
    growth.start(gradients * counts[:, None], [2.0**20, 2.0**10], drawn, scores=scores)
    np.testing.assert_array_equal(growth.rows(0), np.flatnonzero(drawn))
    growth.search()
    single = Growth(level, np.repeat(bins, drawn, axis=0), offsets)
    single.start(np.repeat(gradients, drawn, axis=0), [2.0**20, 2.0**10])
    single.search()
    np.testing.assert_array_equal(growth.histogram(0), single.histogram(0))
    nodes = growth.grow()
    assert nodes >= 3
    values = rng.normal(size=nodes)
    growth.native.hold_values(values)
    growth.leader.offer_scores(0, 1)
    growth.advance()
    node = np.zeros(n, int)
    for number, left in enumerate(growth.nodes.left[:nodes]):
        if left:
            here = np.flatnonzero(node == number)
            node[here] = left + 1 - growth.tables[number, bins[here, growth.nodes[number].feature]]
    np.testing.assert_array_equal(scores, before + values[node][:, None])


def test_a_team_adds_what_one_thread_adds(level):
    rng = np.random.default_rng(3)
    n, _, _, bins, offsets = field(rng, np.uint8)
    gradients = slopes(rng, n)
    alone, growth = Growth(level, bins, offsets), Growth(level, bins, offsets, members=3)
    alone.start(gradients, [2.0**20, 2.0**10])
    nodes = alone.grow()
    helpers = [threading.Thread(target=growth.native.help, args=(member,)) for member in (1, 2)]
    growth.native.call()
    for helper in helpers:
        helper.start()
    for _ in range(10):
        growth.start(gradients, [2.0**20, 2.0**10])
        assert growth.grow() == nodes
        for table in ("nodes", "tables"):
            np.testing.assert_array_equal(getattr(growth, table)[:nodes], getattr(alone, table)[:nodes])
    growth.native.dismiss()
    for helper in helpers:
        helper.join(10)
        assert not helper.is_alive()


def test_some_columns_of_a_node_are_those_of_all(level):
    rng = np.random.default_rng(4)
    n, _, _, bins, offsets = field(rng, np.uint8)
    growth = Growth(level, bins, offsets)
    growth.start(slopes(rng, n), [2.0**20, 2.0**10], direct=True)
    growth.leader.offer_child(0)
    growth.advance()
    growth.search()
    assert growth.leader.open_leaf() == 2
    growth.leader.offer_split()
    growth.advance()
    growth.chosen[1, :2], growth.n_chosen[1] = (1, 4), 2
    growth.histograms[growth.nodes[2].slot] = untouched = np.array((-1, -1), WORDS)
    growth.leader.offer_child(1)
    growth.advance()
    growth.leader.offer_search(False, True)
    growth.advance()
    expected = histogram_of(bins, growth.words, offsets, growth.rows(2))
    for column in range(5):
        place = slice(offsets[column], offsets[column + 1])
        np.testing.assert_array_equal(growth.histogram(2)[place], expected[place] if column in (1, 4) else untouched)


@pytest.mark.parametrize("missing", [False, True])
def test_the_split_found_is_the_best_of_all(level, missing):
    rng = np.random.default_rng(1)
    n, d, width, bins, offsets = field(rng, np.uint8)
    if not missing:
        bins[bins == width - 1] = 0
    gradient, curvature = rng.integers(-1000, 1000, n).astype(float), rng.integers(1, 50, n).astype(float)
    growth = Growth(level, bins, offsets)
    growth.start(np.column_stack([gradient, curvature]), [1.0, 1.0])
    growth.search()
    assert growth.leader.open_leaf() == 2
    most = 0.0
    for j in range(d):
        for b in range(width - 1):
            for with_missing in (False, True):
                left = (bins[:, j] <= b) | (with_missing & (bins[:, j] == width - 1))
                if min(left.sum(), (~left).sum()) >= 5:
                    parts = (gradient[side].sum() ** 2 / (curvature[side].sum() + 1) for side in (left, ~left))
                    most = max(most, sum(parts))
    saved = gradient.sum() ** 2 / (curvature.sum() + 1)
    assert growth.nodes[0].gain == pytest.approx(most - saved, rel=1e-12)
    left = growth.tables[0, bins[:, growth.leader.column]].astype(bool)
    for side, chosen in enumerate((left, ~left)):
        for name in WORDS.names:
            assert growth.nodes[1 + side].words[name] == growth.words[name][chosen].sum()
        assert growth.nodes[1 + side].count == chosen.sum()
        value = -gradient[chosen].sum() / (curvature[chosen].sum() + 1)
        assert growth.nodes[1 + side].value == pytest.approx(value, rel=1e-12)


def test_the_leaf_that_gains_most_is_split_first_and_bounds_hold_below_a_monotone_column(level):
    rng = np.random.default_rng(5)
    n, _, _, bins, offsets = field(rng, np.uint8)
    growth = Growth(level, bins, offsets, limits=(0.0, 2.0, 0.0, 10.0, np.inf, 9.0), monotone=[1, -1, 1, 0, 0])
    growth.start(slopes(rng, n), [2.0**20, 2.0**10])
    assert growth.grow() == 17
    left, gain = growth.nodes.left[:17], growth.nodes.gain[:17]
    # A node that was open when another was split, and was split later or not at all, gained less.
    order = np.argsort(np.where(left > 0, left, 99))
    for place, node in enumerate(order[:8]):
        for other in order[place + 1 :]:
            if other < left[node]:
                assert gain[other] <= gain[node]
    for node in np.flatnonzero(left):
        values = growth.nodes.value[left[node] : left[node] + 2]
        direction = [1, -1, 1, 0, 0][growth.nodes[node].feature]
        assert direction * (values[1] - values[0]) >= 0
        assert np.all(values >= growth.nodes[node].lower)
        assert np.all(values <= growth.nodes[node].upper)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Softmax(3), Poisson(), Exponential()])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_derivatives_of_the_loss_and_blocks_leave_their_sums(level, loss, weighted):
    rng = np.random.default_rng(6)
    n, _, _, bins, offsets = field(rng, np.uint8)
    k, growth = loss.n_scores, Growth(level, bins, offsets)
    scores, y = rng.normal(size=(n, k)), rng.integers(0, max(k, 2), n).astype(float)
    weight = rng.random(n) if weighted else np.empty(0)
    gradients, losses = np.empty((k, n, 2)), np.empty((3, 1 + 2 * k))
    growth.native.hold_scores(gradients, scores, y, weight, losses, loss.shape, 0)
    growth.native.hold_values(np.empty(0))
    growth.leader.offer_scores(loss.native, k)
    growth.advance()
    share, step = weight if weighted else np.ones(n), 1e-5
    for j in range(k):
        up, down = (loss.value(scores + sign * step * np.eye(k)[j], y) for sign in (1, -1))
        np.testing.assert_allclose(gradients[j, :, 0], share * (up - down) / (2 * step), atol=1e-8)
        bend = (up - 2 * loss.value(scores, y) + down) / step**2
        np.testing.assert_allclose(gradients[j, :, 1], share * bend, atol=1e-4)
    np.testing.assert_allclose(losses[:, 0].sum(), share @ loss.value(scores, y), rtol=1e-12)
    np.testing.assert_allclose(losses[:, 1::2].sum(axis=0), np.abs(gradients[:, :, 0]).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(losses[1, 2::2], gradients[:, UNIT : 2 * UNIT, 1].sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("blocks", [1, 2, 7, 64])
def test_sums_of_blocks_are_folded_as_everywhere(level, blocks):
    sums = np.random.default_rng(0).normal(size=(blocks, 3))
    expected = fold_sums(sums.copy())
    module(level, "gradients").fold(sums)
    np.testing.assert_array_equal(sums[0], expected)
