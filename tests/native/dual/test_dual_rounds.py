"""The passes of a team over a dual program, and the choice of working sets: against definitions, at every CPU level."""

import importlib
import threading

import numpy as np
import pytest

from mercer.svm._dual.block_descent import choose
from mercer.svm._dual.program import DualProgram

N, D, WIDTH, BLOCK = 150, 3, 64, 32
FORM = np.array([1.0, 1.0, 0.5, 2.0])


def native(level, name):
    return importlib.import_module(f"mercer._native.{level}.{name}")


class Field:
    """Rows and a program of which the second group begins at 90, ready for a team; the table has 20 rows."""

    def __init__(self, level, dtype, members=1):
        random = np.random.default_rng(0)
        tiles, across = -(-N // WIDTH), 128 // np.dtype(dtype).itemsize
        self.X = random.normal(size=(N, D)).astype(dtype)
        self.rows = np.arange(N)
        # Two coefficients of one row, as machines of regression have them.
        self.rows[120:] = self.rows[:30]
        self.b, self.lower, self.upper = random.choice([0.0, 0.5, 1.0], size=N), np.zeros(N), np.ones(N)
        self.slope, self.rise, self.fall = random.normal(size=N), np.empty(N), np.empty(N)
        self.table, self.ends = np.full((20, N), np.nan, dtype), np.empty((tiles, 4))
        self.found, self.lengths = np.empty((4, tiles * WIDTH), np.intp), np.empty((tiles, 4), np.intp)
        self.counts = np.zeros((members, 4, 16), np.int32)
        self.squares = (self.X.astype(float) ** 2).sum(axis=1).astype(dtype)
        self.work = native(level, "dual_rounds").DualTasks(
            FORM, np.zeros(32 + 8 * members, np.int64), BLOCK, self.counts
        )
        self.work.hold_tiles(WIDTH, self.found, self.lengths, self.ends)
        moving = (self.b, self.slope, self.rise, self.fall)
        self.work.hold_program(self.rows, self.lower, self.upper, 0.0, 90, moving)
        shapes = ((-(-N // across), D, across), (N,), (members * (BLOCK // across + 1), D, across), (members * 8, D))
        scratch = [np.empty(shape, dtype) for shape in (*shapes, (members * 8, WIDTH))]
        self.work.hold_values(int(dtype == np.float64), (self.X, self.squares, *scratch))
        self.work.hold_table(self.table)
        self.work.offer_pack()
        self.finish()

    def finish(self):
        while self.work.advance(2):
            pass

    def values(self, rows, others):
        gaps = self.X[rows, None].astype(float) - self.X[others]
        values = 2.0 * np.exp(-0.5 * (gaps**2).sum(axis=2))
        return np.where(rows[:, None] == others, 2.0, values)

    def sweep(self, positions, change):
        """Make the rows of some positions, but for the first two, and add all to the slopes."""
        slots = np.arange(len(positions))[::-1].copy()
        self.table[slots[:2]] = self.values(self.rows[positions[:2]], self.rows)
        half = len(slots) // 8 * 4
        groups = np.array([[max(0, half - 2), half], [len(slots) - 2, len(slots)]])
        self.work.offer_sweep(self.rows[positions[2:]], slots[2:], slots, change, groups)
        self.finish()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sweep_adds_rows_and_marks_moves(level, dtype):
    field = Field(level, dtype)
    before, positions = field.slope.copy(), np.array([3, 7, 11, 60, 61, 119, 121, 140, 149])
    change = np.random.default_rng(1).normal(size=len(positions))
    field.sweep(positions, change)
    expected = before + change @ field.values(field.rows[positions], field.rows)
    np.testing.assert_allclose(field.slope, expected, atol=1e-5 if dtype == np.float32 else 1e-13)
    np.testing.assert_array_equal(field.rise, np.where(field.b >= 1.0, np.inf, 0.0))
    np.testing.assert_array_equal(field.fall, np.where(field.b <= 0.0, -np.inf, 0.0))
    cost, gain, found = field.slope + field.rise, field.slope + field.fall, np.empty(4)
    native(level, "dual_choice").widen(field.ends, found)
    assert found.tolist() == [cost[:90].min(), gain[:90].max(), cost[90:].min(), gain[90:].max()]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_square_is_symmetric_and_has_the_values_of_rows(level, dtype):
    field = Field(level, dtype)
    chosen = np.sort(np.random.default_rng(1).choice(120, 70, replace=False))
    K = np.full((70, 70), np.nan, dtype)
    pairs = np.array([(i, j) for j in range(3) for i in range(j + 1)])
    field.work.offer_square(chosen, field.squares[chosen], np.arange(70), pairs, K)
    field.finish()
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, field.values(chosen, chosen), rtol=1e-5 if dtype == np.float32 else 1e-13)
    field.sweep(chosen[:10], np.zeros(10))
    # Those of the rows made in the sweep, bit for bit, though they were made beside others.
    if level != "interpreted":
        np.testing.assert_array_equal(field.table[:8][::-1][:, chosen], K[2:10])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_members_who_come_and_go_change_no_bit(level, dtype):
    positions, change = np.arange(0, 150, 9), np.random.default_rng(1).normal(size=17)
    alone, field = Field(level, dtype), Field(level, dtype, members=3)
    alone.sweep(positions, change)
    field.work.call()
    members = [threading.Thread(target=field.work.help, args=(member,)) for member in (1, 2)]
    for one in members:
        one.start()
    field.sweep(positions, change)
    field.work.dismiss()
    for one in members:
        one.join()
    for name in ("slope", "rise", "fall", "ends", "table"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(field, name))


@pytest.mark.parametrize("reach", [np.nan, 0.7, 1e9])
def test_candidates_are_those_that_cost_least(level, reach):
    choice, field = native(level, "dual_choice"), Field(level, np.float64)
    field.slope[:] = np.round(field.slope, 1)
    field.sweep(np.array([0, 1]), np.zeros(2))
    edges, cuts, wanted = np.empty((4, 2)), np.empty(4, np.intp), np.array([20, 20, 9, 9])
    assert choice.place_bins(field.ends, np.full(4, reach), 16, edges) == 4
    field.work.offer_count(edges)
    field.finish()
    assert choice.cut(field.counts, wanted, cuts)
    field.work.offer_collect(cuts)
    field.finish()
    for k, count in enumerate(wanted):
        group, lift = slice(0, 90) if k < 2 else slice(90, N), (field.rise, field.fall)[k % 2]
        values, places = np.empty(count), np.empty(count, np.intp)
        choice.sort_candidates(field.found[k], field.lengths, k, field.slope, lift, values, places)
        costs = ((field.slope + lift) * (1 if k % 2 == 0 else -1))[group]
        expected = np.argsort(costs, kind="stable")[:count]
        np.testing.assert_array_equal(places, group.start + expected)
        np.testing.assert_array_equal(values, costs[expected])
    assert not choice.cut(field.counts, np.array([90, 90, 60, 60]), cuts)


@pytest.mark.parametrize("kept", [0, 10, 40])
@pytest.mark.parametrize("split", [80, 30])
def test_a_working_set_is_that_of_its_definition(level, kept, split):
    random = np.random.default_rng(kept)
    slope, size = random.normal(size=80), 24
    rise, fall = np.where(random.random(80) < 0.3, np.inf, 0.0), np.where(random.random(80) < 0.3, -np.inf, 0.0)
    nothing = np.zeros(80)
    program = DualProgram(np.arange(80), nothing, nothing, nothing, nothing, split=split)
    last = np.sort(random.choice(80, kept, replace=False))
    share = -(-(size - min(kept, size // 2)) // len(program.groups))
    counts = np.array([min(share, group.stop - group.start) for group in program.groups])
    lists = np.empty((2 * len(program.groups), share), np.intp)
    for k in range(len(lists)):
        group, costs = program.groups[k // 2], (slope + rise, -(slope + fall))[k % 2]
        lists[k, : counts[k // 2]] = group.start + np.argsort(costs[group], kind="stable")[: counts[k // 2]]
    chosen, order = np.empty(size, np.intp), np.empty((len(counts), 2 * share), np.intp)
    written = native(level, "dual_choice").choose(
        lists, counts, share, last, rise, fall, np.zeros(80, np.uint8), order, chosen
    )
    np.testing.assert_array_equal(chosen[:written], choose(program, slope, rise, fall, last, size))
