"""Terms of texts and their counts, against Python's own strings, at every level."""

import importlib
import itertools
import re
from collections import Counter

import numpy
import pytest
from sklearn.utils import murmurhash3_32


@pytest.fixture
def text_terms(level):
    return importlib.import_module(f"mercer._native.{level}.text_terms")


@pytest.fixture
def term_counts(level):
    return importlib.import_module(f"mercer._native.{level}.term_counts")


def lay_out(texts):
    """The symbols of texts with a line end between each two, where each ends, and the kinds of ASCII symbols."""
    joined = "\n".join(texts)
    symbols = numpy.frombuffer(joined.encode() or b"\n", numpy.uint8)
    ends = numpy.cumsum([len(text) + 1 for text in texts]) - 1
    letters = [chr(code) for code in range(128)]
    kinds = numpy.array([(one.isalnum() or one == "_") + 2 * one.isspace() for one in letters], numpy.uint8)
    return joined, symbols, ends.astype(numpy.int64), kinds


def make_table(module, room=256):
    slots = numpy.full(1 << (2 * room - 1).bit_length(), -1, numpy.int32)
    parts = [numpy.zeros(room, numpy.int64) for _ in range(3)]
    size = numpy.array([0, 99], numpy.int64)
    return module.TermTable(slots, *parts, size), parts, size


TEXTS = ["the cat  sat on the mat", "", "a _cat_ and\ta cat", "end."]


def test_words_are_numbered_in_the_order_of_first_occurrence(text_terms):
    joined, symbols, ends, kinds = lay_out(TEXTS)
    table, (starts, lengths, _), size = make_table(text_terms)
    ids, pointers = numpy.zeros(40, numpy.int32), numpy.zeros(len(TEXTS) + 1, numpy.int64)
    assert text_terms.find_words(symbols, ends, kinds, 2, table, ids, pointers, 0) == len(TEXTS)
    terms = [joined[first : first + length] for first, length in zip(starts[: size[0]], lengths)]
    assert terms == ["the", "cat", "sat", "on", "mat", "_cat_", "and", "end"]
    found = [[terms[i] for i in ids[first:stop]] for first, stop in itertools.pairwise(pointers)]
    assert found == [re.findall(r"\b\w\w+\b", text) for text in TEXTS]


def test_a_full_table_ends_a_call_before_the_text_that_needs_room(text_terms):
    _, symbols, ends, kinds = lay_out(TEXTS)
    table, (_, _, hashes), size = make_table(text_terms, room=12)
    ids, pointers = numpy.zeros(40, numpy.int32), numpy.zeros(len(TEXTS) + 1, numpy.int64)
    assert text_terms.find_words(symbols, ends, kinds, 2, table, ids, pointers, 0) == 2
    slots = numpy.full(64, -1, numpy.int32)
    text_terms.fill_slots(hashes, int(size[0]), slots)
    assert sorted(slots[slots >= 0]) == list(range(5))


@pytest.mark.parametrize("padded", [False, True])
def test_runs_of_symbols_are_those_of_slices(text_terms, padded):
    _, symbols, ends, kinds = lay_out(TEXTS)
    room, room_ends = numpy.zeros(2 * len(symbols) + 9, numpy.uint8), numpy.zeros_like(ends)
    text_terms.squeeze_spaces(symbols, ends, kinds, padded, room, room_ends)
    squeezed = room[: room_ends[-1] + 1]
    joined = squeezed.tobytes().decode()
    table, (starts, lengths, _), _ = make_table(text_terms, room=600)
    ids, pointers = numpy.zeros(400, numpy.int32), numpy.zeros(len(TEXTS) + 1, numpy.int64)
    assert text_terms.find_runs(squeezed, room_ends, 3, 6, padded, table, ids, pointers, 0) == len(TEXTS)
    for text, first, stop in zip(TEXTS, pointers, pointers[1:]):
        found = Counter(joined[starts[i] : starts[i] + lengths[i]] for i in ids[first:stop])
        words = [f" {word} " for word in text.split()] if padded else [re.sub(r"\s\s+", " ", text)]
        wanted = Counter(one[i : i + n] for one in words for n in range(3, 7) for i in range(len(one) - n + 1))
        assert found == wanted


def test_runs_of_words_and_their_union_with_known_terms(text_terms):
    words = numpy.array([0, 1, 0, 1, 2], numpy.int32)
    starts = numpy.array([0, 3, 5], numpy.int64)
    table, (heads, parts, _), size = make_table(text_terms)
    ids, pointers = numpy.zeros(20, numpy.int32), numpy.zeros(3, numpy.int64)
    assert text_terms.join_words(words, starts, 3, 2, 3, table, ids, pointers, 0) == 2
    # The runs 0 1, 0 1 0 and 1 0 of the first text, and 1 2 of the second.
    assert ids[: pointers[-1]].tolist() == [3, 4, 5, 6]
    assert list(zip(heads[: size[0]], parts)) == [(0, 1), (3, 0), (1, 0), (1, 2)]
    whole, (known_heads, known_words, _), known_size = make_table(text_terms)
    out = numpy.zeros(4, numpy.int64)
    numbers = numpy.array([7, 5, 6], numpy.int64)
    text_terms.merge_pairs(heads, parts, 4, numbers, whole, out)
    assert out.tolist() == [0, 1, 2, 3]
    assert list(zip(known_heads[: known_size[0]], known_words)) == [(14, 5), (1, 7), (10, 7), (10, 6)]
    text_terms.merge_pairs(heads, parts, 4, numbers, whole, out)
    assert known_size[0] == 4


def test_terms_of_other_texts_are_found_in_the_arena(text_terms):
    arena, (whole, known, size) = numpy.zeros(99, numpy.uint32), make_table(text_terms)
    filled = 0
    for texts, wanted in ((["cat mat"], [0, 1]), (["mat dog", "cat"], [1, 2, 0])):
        _, symbols, ends, kinds = lay_out(texts)
        table, (starts, lengths, hashes), n = make_table(text_terms)
        ids, pointers = numpy.zeros(9, numpy.int32), numpy.zeros(len(texts) + 1, numpy.int64)
        text_terms.find_words(symbols, ends, kinds, 1, table, ids, pointers, 0)
        numbers = numpy.zeros(int(n[0]), numpy.int64)
        filled = text_terms.merge_runs(symbols, starts, lengths, hashes, int(n[0]), whole, arena, filled, numbers)
        assert numbers.tolist() == wanted
    assert "".join(map(chr, arena[:filled])) == "catmatdog"
    assert size[0] == 3
    assert known[1][:3].tolist() == [3, 3, 3]


def test_counts_are_sorted_rows_of_the_columns_asked_for(term_counts):
    random = numpy.random.default_rng(0)
    ids = random.integers(0, 300, 4000).astype(numpy.int32)
    pointers = numpy.array([0, 5, 5, 1500, 4000], numpy.int64)
    owners, places = numpy.full(300, -1, numpy.int32), numpy.zeros(300, numpy.int64)
    terms, counts, ends = numpy.zeros(4000, numpy.int32), numpy.zeros(4000), numpy.zeros(5, numpy.int64)
    term_counts.count_terms(ids, pointers, owners, places, terms, counts, ends)
    # Two terms share a column, and some have none.
    columns = random.permutation(numpy.r_[numpy.arange(200), numpy.arange(50), numpy.full(50, -1)]).astype(numpy.int32)
    signs = random.choice([-1.0, 1.0], 300)
    out, sums, rows = numpy.zeros(4000, numpy.int32), numpy.zeros(4000), numpy.zeros(5, numpy.int64)
    term_counts.arrange_rows(ends, terms, counts, columns, signs, rows, out, sums)
    for row in range(4):
        wanted = Counter()
        for term in ids[pointers[row] : pointers[row + 1]]:
            if columns[term] >= 0:
                wanted[columns[term]] += signs[term]
        assert list(zip(out[rows[row] : rows[row + 1]], sums[rows[row] : rows[row + 1]])) == sorted(wanted.items())


def test_hashes_are_those_of_murmurhash3(term_counts):
    words = ["", "a", "ab", "abc", "abcd", "straße", "naïve café", "x" * 37]
    encoded = [word.encode() for word in words]
    ends = numpy.cumsum([len(one) for one in encoded]).astype(numpy.int64)
    out = numpy.zeros(len(words), numpy.int32)
    term_counts.hash_terms(numpy.frombuffer(b"".join(encoded), numpy.uint8), ends, 0, out)
    assert out.tolist() == [murmurhash3_32(one, seed=0) for one in encoded]
