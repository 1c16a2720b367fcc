"""Intervals over time."""

import math

import numpy as np
import pytest

from mercer.conformal import AdaptiveConformal
from mercer.errors import DataError, ParameterError


@pytest.mark.parametrize("kind", ["jump", "drift", "hostile"])
def test_the_share_of_misses_is_near_its_target_for_any_rows(kind):
    random = np.random.default_rng(1)
    n, rate = 3000, 0.05
    y = random.normal(size=n)
    if kind == "jump":
        y[n // 2 :] *= 20.0
    elif kind == "drift":
        y *= np.linspace(1.0, 50.0, n)
    else:
        y = np.exp(random.normal(scale=4.0, size=n)) * np.tile([1.0, 1e6, 1e-6], n // 3)
    follower = AdaptiveConformal(coverage=0.8, rate=rate)
    intervals = follower.run(np.zeros(n), y)
    held = (intervals[:, 0] <= y) & (y <= intervals[:, 1])
    assert abs(held.mean() - 0.8) <= (0.8 + rate) / (rate * n) + 1e-9
    assert follower.n_seen == n
    assert follower.n_missed == n - held.sum()


def test_an_interval_uses_the_rows_before_it_alone():
    random = np.random.default_rng(2)
    y = random.normal(size=200)
    changed = y.copy()
    changed[120:] += 100.0
    one, other = (AdaptiveConformal().run(np.zeros(200), values) for values in (y, changed))
    np.testing.assert_array_equal(one[:121], other[:121])
    assert not np.array_equal(one[121:], other[121:])


def test_a_level_that_rounding_leaves_above_zero_asks_for_all_rows():
    follower = AdaptiveConformal()
    follower.run(np.zeros(50), np.arange(50.0))
    # 0.02 times 0.1 added up and taken off again leaves some 1e-17.
    follower.level = 1e-17
    assert follower.width() == math.inf
    follower.level = 1.0
    assert follower.width() == 0.0


def test_wrong_input_gets_a_sentence():
    with pytest.raises(ParameterError, match=r"rate must be a number in \(0, inf\); got 0"):
        AdaptiveConformal(rate=0)
    with pytest.raises(ParameterError, match=r"window must be an integer in \[1, inf\); got 1.5"):
        AdaptiveConformal(window=1.5)
    with pytest.raises(DataError, match="3 predictions need as many y; got 2"):
        AdaptiveConformal().run([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(DataError, match="got NaN"):
        AdaptiveConformal().update(0.0, math.nan)
