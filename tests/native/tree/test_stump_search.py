"""The native search for stumps, at every CPU level and uncompiled, against a plain search."""

import importlib

import numpy as np
import pytest

CRITERIA = {
    "gini": lambda p: 1 - (p**2).sum(),
    "entropy": lambda p: -(p[p > 0] * np.log(p[p > 0])).sum(),
    "error": lambda p: 1 - p.max(),
}


@pytest.fixture
def native(level):
    return importlib.import_module(f"mercer._native.{level}.stump_search")


def column(values):
    order = np.argsort(values, kind="stable")
    rising = np.append(np.diff(values[order]) > 0, False)
    return (2 * order + rising).astype(np.int32)


def best_gain(values, labels, weight, k, impurity):
    def cost(side):
        sums = np.bincount(labels[side], weight[side], k)
        return sums.sum() * impurity(sums / sums.sum()) / weight.sum() if sums.sum() else 0.0

    whole = cost(np.ones(len(values), dtype=bool))
    return max(whole - cost(values <= one) - cost(values > one) for one in values)


def rows(k):
    random = np.random.default_rng(k)
    return random.normal(size=40).round(1), random.integers(0, k, 40).astype(np.int32), random.random(40)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_general_search_finds_the_largest_gain(native, criterion, k):
    values, labels, weight = rows(k)
    order = column(values)
    scores, places, missing = np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32)
    number = list(CRITERIA).index(criterion)
    totals, starts = np.bincount(labels, weight, k), np.array([0, 40])
    native.search(order, starts, 0, 1, labels, weight, totals, number, np.empty((5, k)), scores, places, missing)
    assert scores[0] == pytest.approx(best_gain(values, labels, weight, k, CRITERIA[criterion]), abs=1e-12)


def make_noisy_step(n, digits, seed):
    """Rows whose label changes at zero and is wrong for a quarter of them; few digits make equal values."""
    random = np.random.default_rng(seed)
    values = random.normal(size=n).round(digits)
    labels = ((values > 0) ^ (random.random(n) < 0.25)).astype(np.int32)
    return values, labels, random.random(n) * (random.random(n) > 0.1)


@pytest.mark.parametrize(
    ("values", "labels", "weight"),
    [
        rows(2),
        # Several blocks of 64 entries and a rest, with and without equal values.
        *(make_noisy_step(n, digits, seed) for n, digits, seed in [(64, 9, 0), (300, 9, 1), (300, 1, 2), (257, 0, 3)]),
        # One class first, then the other: the best cut is inside a block, and at its end.
        *((np.arange(200.0), (np.arange(200) >= cut).astype(np.int32), np.ones(200)) for cut in (70, 128, 199)),
        # Two cuts are equally good: the first is taken.
        (np.arange(192.0), (np.arange(192) // 64 == 1).astype(np.int32), np.ones(192)),
        (np.arange(200.0), np.isin(np.arange(200) % 100, range(30, 70)).astype(np.int32), np.ones(200)),
    ],
)
def test_the_search_for_two_classes_finds_the_same_cut(native, values, labels, weight):
    order, starts = column(values), np.array([0, len(values)])
    totals = np.bincount(labels, weight, 2)
    scores, places, missing = np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32)
    native.search(order, starts, 0, 1, labels, weight, totals, 0, np.empty((5, 2)), scores, places, missing)
    other, place, sums = np.zeros(1), np.zeros(1, dtype=np.int64), np.empty((len(values) // 64 + 2, 2))
    signed = np.where(labels == 1, weight, -weight)
    native.search_two(order, starts, 0, 1, signed, totals.sum(), totals[1], sums, other, place)
    assert place[0] == places[0]
    assert 2 * other[0] / totals.sum() ** 2 == pytest.approx(scores[0])
