"""Draws of binary units: their probabilities, their frequencies, and the same bits at every level."""

import importlib

import numpy as np
import pytest
from scipy.special import expit

from mercer._native.machine import unit_draws as here


@pytest.fixture
def unit_draws(level):
    return importlib.import_module(f"mercer._native.{level}.unit_draws")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_are_sigmoids_and_draws_have_the_same_bits_at_every_level(unit_draws, dtype):
    random = np.random.default_rng(0)
    scores, bias = random.normal(size=(7, 13)).astype(dtype), random.normal(size=13).astype(dtype)
    expected = expit(scores.astype(np.float64) + bias)
    first, states = scores.copy(), np.empty_like(scores)
    unit_draws.draw_units(first, bias, states, 0xDEADBEEF, 77)
    np.testing.assert_allclose(first, expected, rtol=1e-6)
    assert set(np.unique(states)) == {0.0, 1.0}
    second, others = scores.copy(), np.empty_like(scores)
    here.draw_units(second, bias, others, 0xDEADBEEF, 77)
    assert np.array_equal(first, second)
    assert np.array_equal(states, others)
    unit_draws.activate_units(scores, bias)
    assert np.array_equal(scores, first)


def test_draws_have_the_frequencies_of_their_probabilities_and_keys_are_independent():
    chances = np.array([0.001, 0.1, 0.5, 0.9, 0.999])
    scores = np.tile(np.log(chances / (1.0 - chances)), (200_000, 1))
    first, second = np.empty_like(scores), np.empty_like(scores)
    here.draw_units(scores.copy(), np.zeros(5), first, 1, 0)
    here.draw_units(scores.copy(), np.zeros(5), second, 2, 0)
    error = np.sqrt(chances * (1 - chances) / len(scores))
    assert (np.abs(first.mean(axis=0) - chances) < 4.5 * error).all()
    agreement = (first[:, 2] == second[:, 2]).mean()
    assert abs(agreement - 0.5) < 4.5 * 0.5 / np.sqrt(len(scores))
    # Neighbours in a row and in a column are uncorrelated.
    centred = first[:, 2] - 0.5
    assert abs(np.mean(centred[1:] * centred[:-1])) < 4.5 * 0.25 / np.sqrt(len(scores))
    assert abs(np.mean(centred * (first[:, 1] - 0.1))) < 4.5 * 0.15 / np.sqrt(len(scores))


@pytest.mark.parametrize("k", [1, 3, 4, 513, 1100])
def test_softplus_sums_match_logaddexp_even_for_large_scores(unit_draws, k):
    random = np.random.default_rng(k)
    scores, bias = 300.0 * random.normal(size=(3, k)), random.normal(size=k)
    out = np.empty(3)
    unit_draws.sum_softplus(scores, bias, np.empty((2, k)), out)
    np.testing.assert_allclose(out, np.logaddexp(0.0, scores + bias).sum(axis=1), rtol=1e-13, atol=1e-13)


def test_the_score_of_a_turned_unit_is_its_conditional_probability(unit_draws):
    random = np.random.default_rng(0)
    weights, hidden, visible = random.normal(size=(4, 9)), random.normal(size=9), random.normal(size=4)
    rows = (random.random((5, 4)) < 0.5).astype(np.float64)
    flips = np.array([0, 3, 2, 1, 1])
    out = np.empty(5)
    total = unit_draws.score_flips(rows, rows @ weights, visible, hidden, weights, flips, np.empty((3, 9)), out)
    turned = rows.copy()
    turned[np.arange(5), flips] = 1.0 - turned[np.arange(5), flips]
    logs = [v @ visible + np.logaddexp(0.0, v @ weights + hidden).sum(axis=1) for v in (rows, turned)]
    # The difference of two logarithms keeps their rounding: some ten terms each, of the size of their sum.
    rounding = 20 * np.finfo(float).eps * max(np.abs(logs[0]).max(), np.abs(logs[1]).max(), 1.0)
    np.testing.assert_allclose(out, logs[0] - np.logaddexp(*logs), rtol=0, atol=rounding)
    assert total == pytest.approx(out.sum())
