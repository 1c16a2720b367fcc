"""Passes along time in chunks: guesses that are verified, and the exact scan."""

from dataclasses import dataclass

import numpy as np
import pytest

from mercer._solver.scan import combine_prefixes, cut_steps, pass_chunks


@dataclass
class _Result:
    entering: float
    leaving: float
    values: np.ndarray


class _Recurrence:
    """The values of x_t = a_t x_{t-1} + b_t, from x = 1."""

    def __init__(self, a, b, chunk, scans=True):
        self.a, self.b, self.chunks, self.scans = a, b, cut_steps(len(a), chunk), scans
        self.runs, self.effects = [], []

    def guess(self, number, warm_up):
        start = self.chunks[number][0]
        message = 0.0
        for t in range(max(0, start - warm_up), start):
            message = self.a[t] * message + self.b[t]
        return self.run(number, message)

    def run(self, number, entering):
        self.runs.append(number)
        message, values = 1.0 if entering is None else entering, []
        for t in range(*self.chunks[number]):
            message = self.a[t] * message + self.b[t]
            values.append(message)
        return _Result(entering, message, np.array(values))

    def agree(self, guessed, true):
        return abs(guessed - true) <= 1e-13 * abs(true)

    def effect(self, number):
        self.effects.append(number)
        if not self.scans:
            return None
        effect = (1.0, 0.0)
        for t in range(*self.chunks[number]):
            effect = self.combine(effect, (self.a[t], self.b[t]))
        return effect

    def combine(self, first, second):
        return (second[0] * first[0], second[0] * first[1] + second[1])

    def apply(self, message, effect):
        return effect[0] * message + effect[1]


def _by_steps(a, b):
    message, values = 1.0, []
    for t in range(len(a)):
        message = a[t] * message + b[t]
        values.append(message)
    return np.array(values)


def _coefficients(level, n=200):
    generator = np.random.default_rng(0)
    return np.full(n, level), generator.normal(size=n) + 2.0


def test_steps_are_cut_into_chunks_of_one_length_and_a_rest():
    assert cut_steps(7, 3) == [(0, 3), (3, 6), (6, 7)]
    assert cut_steps(0, 3) == []


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("threads", [1, 3])
def test_prefixes_combine_the_elements_in_order(n, threads):
    words = [chr(97 + i) for i in range(n)]
    assert combine_prefixes(words, str.__add__, threads) == ["".join(words[: i + 1]) for i in range(n)]


def test_a_chain_that_forgets_runs_each_chunk_once():
    a, b = _coefficients(0.1)
    passage = _Recurrence(a, b, 50)
    results = pass_chunks(passage, 4, warm_ups=(30, 40))
    np.testing.assert_allclose(np.concatenate([r.values for r in results]), _by_steps(a, b), rtol=1e-12)
    assert passage.runs == [0, 1, 2, 3]


def test_a_wrong_guess_is_repeated_with_a_longer_warm_up():
    a, b = _coefficients(0.5)
    passage = _Recurrence(a, b, 50)
    results = pass_chunks(passage, 4, warm_ups=(10, 50))
    np.testing.assert_allclose(np.concatenate([r.values for r in results]), _by_steps(a, b), rtol=1e-12)
    assert passage.runs == [0, 1, 2, 3, 1, 2, 3]
    assert not passage.effects


@pytest.mark.parametrize("scans", [True, False])
@pytest.mark.parametrize("chunk", [7, 50])
def test_a_chain_that_does_not_forget_is_settled_exactly(scans, chunk):
    a, b = _coefficients(1.0)
    passage = _Recurrence(a, b, chunk, scans)
    results = pass_chunks(passage, len(passage.chunks), warm_ups=(3,))
    np.testing.assert_allclose(np.concatenate([r.values for r in results]), _by_steps(a, b), rtol=1e-12)
    assert bool(passage.effects) == (chunk == 7)


@pytest.mark.parametrize("level", [0.2, 1.0])
def test_the_number_of_threads_changes_no_bit(level):
    a, b = _coefficients(level)
    one, four = (pass_chunks(_Recurrence(a, b, 7), 29, threads, warm_ups=(3, 9)) for threads in (1, 4))
    for first, second in zip(one, four, strict=True):
        np.testing.assert_array_equal(first.values, second.values)
