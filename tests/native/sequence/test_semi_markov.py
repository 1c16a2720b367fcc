"""Passes over segments, at every level and uncompiled, against sums written out."""

import importlib

import numpy as np
import pytest


def test_two_steps_have_the_sums_of_their_segmentations(level):
    module = importlib.import_module(f"mercer._native.{level}.semi_markov")
    random = np.random.default_rng(0)
    density, first = random.random((2, 2)), np.array([0.3, 0.7])
    moves = np.array([[0.0, 1.0], [1.0, 0.0]])
    lasting = np.array([[0.4, 0.6], [0.1, 0.9]])
    beyond = np.array([[1.0, 0.6], [1.0, 0.9]])
    cumulative = np.concatenate([np.zeros((1, 2)), np.cumsum(np.log(density), axis=0)])
    with np.errstate(divide="ignore"):
        tables = np.log(first), np.log(moves), np.log(lasting), np.log(beyond)
    begins, ends, terms = np.empty((2, 2)), np.empty((3, 2)), np.empty(2)
    total = module.pass_segments_on(cumulative, *tables, begins, ends, terms)
    # One segment of two steps that goes on, or a segment of one step and another that goes on.
    one = first * beyond[:, 1] * density.prod(axis=0)
    two = first * lasting[:, 0] * density[0] * density[1, ::-1]
    assert np.exp(total) == pytest.approx(one.sum() + two.sum())
    rests, afters = np.empty((2, 2, 2))
    counts, open_counts = np.zeros((2, 2, 2))
    module.pass_segments_back(cumulative, *tables[1:], begins, total, rests, afters, counts, open_counts, terms)
    share = np.exp(total)
    np.testing.assert_allclose(counts, np.stack([two / share, [0.0, 0.0]], axis=1), atol=1e-14)
    np.testing.assert_allclose(open_counts, np.stack([two[::-1] / share, one / share], axis=1), atol=1e-14)
    assert np.logaddexp.reduce(begins[0] + rests[0]) == pytest.approx(total)
    path = np.empty(2, dtype=np.int64)
    scratch = np.empty((3, 2), dtype=np.int64), np.empty((2, 2), dtype=np.int64)
    best = module.find_segments(cumulative, *tables, np.empty((2, 2)), np.empty((3, 2)), *scratch, path)
    assert np.exp(best) == pytest.approx(max(one.max(), two.max()))
    expected = [one.argmax()] * 2 if one.max() > two.max() else [two.argmax(), 1 - two.argmax()]
    np.testing.assert_array_equal(path, expected)
