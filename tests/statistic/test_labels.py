"""Labels and counts of rows: found block by block, merged in rising order, weighted."""

import array_api_strict
import numpy as np
import pytest

from mercer._source import ArraySource
from mercer._source.block import DenseBlock
from mercer._statistic.labels import Labels, Rows


@pytest.mark.parametrize("names", [np.array([3, 1, 2]), np.array(["pine", "ash", "oak"]), np.array([2.0, -1.0, 0.5])])
def test_labels_of_many_blocks_come_sorted_with_their_weights(names):
    random = np.random.default_rng(0)
    y, weight = names[random.integers(3, size=40_000)], random.random(40_000)
    y[:20_000] = names[0]  # whole blocks that know one label only
    found = ArraySource(np.zeros((40_000, 2)), y, weight).reduce(Labels())
    np.testing.assert_array_equal(found.classes, np.sort(names))
    np.testing.assert_allclose(found.weights, [weight[y == name].sum() for name in np.sort(names)], rtol=1e-12)
    assert found.n_rows == 40_000


def test_labels_are_found_in_strict_array_operations():
    y = np.random.default_rng(0).integers(4, size=100)
    xp = array_api_strict
    blocks = [DenseBlock(xp.zeros((50, 1)), 0, xp.asarray(part), None, xp) for part in (y[:50], y[50:])]
    found = Labels().of(blocks[0]) + Labels().of(blocks[1])
    np.testing.assert_array_equal(np.asarray(found.weights), np.bincount(y))


def test_rows_are_counted_with_and_without_weights():
    weight = np.array([0.0, 2.0, 0.5])
    plain = ArraySource(np.zeros((3, 1))).reduce(Rows())
    heavy = ArraySource(np.zeros((3, 1)), None, weight).reduce(Rows())
    assert (plain.n_rows, plain.n_positive, plain.weight) == (3, 3, 3.0)
    assert (heavy.n_rows, heavy.n_positive, heavy.weight) == (3, 2, 2.5)
