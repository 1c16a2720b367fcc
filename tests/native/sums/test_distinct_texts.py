"""Numbers of distinct texts, at every level and uncompiled."""

import importlib

import numpy
import pytest


@pytest.fixture
def distinct_texts(level):
    return importlib.import_module(f"mercer._native.{level}.distinct_texts")


def number(module, texts, slots=64, place=numpy.int32):
    """Number texts, None for a missing one, as the caller does: with more slots where half of them are taken."""
    encoded = [b"" if text is None else text.encode() for text in texts]
    data = numpy.frombuffer(b"".join(encoded) or b" ", numpy.uint8)
    starts = numpy.cumsum([0, *map(len, encoded)]).astype(place)
    known = numpy.array([text is not None for text in texts], dtype=numpy.uint8)
    codes, table = numpy.full(len(texts), -7, numpy.int32), numpy.full(slots, -1, numpy.int32)
    marks, counts = numpy.empty((len(texts) + 1, 3), numpy.uint64), numpy.zeros(len(texts) + 2, numpy.int64)
    row = found = 0
    while row < len(texts):
        row, found = module.number_texts(data, starts, known, row, len(texts), table, marks, counts, found, codes)
        if row < len(texts):
            table = numpy.empty(4 * len(table), numpy.int32)
            module.take_slots(marks, found, table)
    return codes, counts[: found + 1], marks[:found]


def expected_codes(texts):
    numbers = {}
    return [-1 if text is None else numbers.setdefault(text, len(numbers)) for text in texts]


@pytest.mark.parametrize("place", [numpy.int32, numpy.int64])
def test_texts_are_numbered_as_they_appear_whatever_their_length(distinct_texts, place):
    rng = numpy.random.default_rng(3)
    # Prefixes of one text, of 0 to 40 bytes, with a last letter that differs: all lengths around whole words of eight.
    some = [("abcdefgh" * 5)[: rng.integers(41)] + "xyz"[rng.integers(3)] for _ in range(150)]
    some[7::10] = [None] * 15
    codes, counts, marks = number(distinct_texts, some, place=place)
    assert codes.tolist() == expected_codes(some)
    assert counts.tolist() == [some.count(None), *(codes.tolist().count(code) for code in range(len(marks)))]


def test_a_full_table_is_left_and_gone_on_with(distinct_texts):
    some = [f"text {number % 37}" for number in range(100)]
    codes, counts, _ = number(distinct_texts, some, slots=4)
    assert codes.tolist() == expected_codes(some)
    assert counts.sum() == 100


def test_zero_bytes_and_empty_texts_are_told_apart(distinct_texts):
    some = ["", "\0", "\0\0", "", "a", "a\0", "\0"]
    assert number(distinct_texts, some)[0].tolist() == [0, 1, 2, 0, 3, 4, 1]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_values_follow_the_codes(distinct_texts, dtype):
    out = numpy.full((4, 2), 9, dtype)
    distinct_texts.write_values(numpy.array([1, -1, 0, 1], numpy.int32), numpy.array([5, 6, 7], dtype), out, 1)
    assert out.tolist() == [[9, 7], [9, 5], [9, 6], [9, 7]]
