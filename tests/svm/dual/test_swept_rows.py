"""Places for kernel rows that are made, added and kept or not: whatever is there already, each is added once."""

import numpy as np
import pytest

from mercer.svm._dual.gram_rows import GROUP, SweptRows


def carry_out(rows, positions, sweep, number):
    """Do what a sweep says with rows that hold their position and the number of the sweep; the positions added."""
    found, made, added = [], 0, 0
    for next_made, next_added in sweep.groups:
        some = sweep.missing[made:next_made]
        rows.values[sweep.room[made:next_made], 0] = positions[some]
        found.append(rows.values[sweep.slots[added:next_added], 0].copy())
        made, added = next_made, next_added
    assert made == len(sweep.missing)
    return np.concatenate(found)


@pytest.mark.parametrize("capacity", [0, 70, 150, 300, 1000])
def test_every_row_is_there_when_it_is_added(capacity):
    random, rows = np.random.default_rng(0), SweptRows(500, capacity * 544 * 8, np.float64)
    for number in range(20):
        positions = np.sort(random.choice(500, random.integers(1, 300), replace=False))
        sweep = rows.sweep(positions)
        np.testing.assert_array_equal(carry_out(rows, positions, sweep, number), positions)
        assert (sweep.groups[:-1, 1] % 4 == 0).all()
        assert (np.diff(sweep.groups[:, 0], prepend=0) <= GROUP).all()


def test_rows_that_stay_are_not_made_again():
    rows = SweptRows(500, 300 * 544 * 8, np.float64)
    assert len(rows.sweep(np.arange(200)).missing) == 200
    assert len(rows.sweep(np.arange(100, 220)).missing) == 20
    # Room is for 236 rows beside those that pass: some of 300 are not kept.
    assert len(rows.sweep(np.arange(200, 500)).missing) == 280
    assert len(rows.sweep(np.arange(200, 500)).missing) == 300 - 236


def test_memory_is_for_as_many_rows_as_asked_and_a_few_that_pass():
    assert SweptRows(500, 300 * 544 * 4, np.float32).values.shape == (300, 544)
    assert SweptRows(500, 0, np.float32).values.shape == (64, 544)
    assert len(SweptRows(500, 1000 * 544 * 4, np.float32).values) == 564


def test_nothing_to_sweep_is_one_group_of_nothing():
    sweep = SweptRows(10, 5, np.float64).sweep(np.empty(0, np.intp))
    np.testing.assert_array_equal(sweep.groups, [[0, 0]])
