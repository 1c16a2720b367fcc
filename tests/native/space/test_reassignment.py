"""Offers of another cluster, at every level and uncompiled, against costs computed afresh."""

import importlib

import numpy


def cost(D, weight, labels, k):
    total = 0.0
    for q in range(k):
        w = weight * (labels == q)
        total += w @ D @ w / w.sum() if w.sum() else 0.0
    return total / k


def test_offers_are_taken_with_the_chance_that_the_change_of_cost_gives_them(level):
    module = importlib.import_module(f"mercer._native.{level}.reassignment")
    random = numpy.random.default_rng(0)
    D = random.random((8, 8))
    D = D + D.T
    numpy.fill_diagonal(D, 0.0)
    weight = numpy.array([1.0, 2.0, 1.0, 0.0, 3.0, 1.0, 1.0, 1.0])
    labels = numpy.array([0, 0, 1, 1, 1, 0, 2, 0])
    members = numpy.eye(3)[:, labels] * weight
    sums, sizes = members @ D, members.sum(axis=1)
    within = numpy.einsum("ij,ij->i", members, sums)
    objects, offers, chances = random.integers(8, size=60), random.integers(3, size=60), random.random(60)
    expected, moved = labels.copy(), 0
    for i, q, chance in zip(objects, offers, chances, strict=True):
        other = expected.copy()
        other[i] = q
        change = cost(D, weight, other, 3) - cost(D, weight, expected, 3)
        if q != expected[i] and weight[i] > 0 and chance < 1 / (1 + numpy.exp(2.0 * change)):
            expected, moved = other, moved + 1
    found = module.offer_clusters(D, weight, objects, offers, chances, 2.0, labels, sums, sizes, within)
    assert found == moved > 5
    numpy.testing.assert_array_equal(labels, expected)
    members = numpy.eye(3)[:, labels] * weight
    numpy.testing.assert_allclose(sums, members @ D, atol=1e-12)
