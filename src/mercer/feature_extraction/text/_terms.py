"""Count the terms of texts by native code: words, runs of symbols, runs of words."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mercer._native.text import term_counts, text_terms
from mercer._types import Array

# Patterns of tokens that are the longest runs of word symbols, with the least length of a run.
NATIVE_PATTERNS = {
    rf"{flag}{pattern}": length
    for flag in ("", "(?u)")
    for pattern, length in ((r"\b\w\w+\b", 2), (r"\w\w+", 2), (r"\b\w+\b", 1), (r"\w+", 1), (r"\b\w{2,}\b", 2))
}
# Symbols of the texts that are counted together: a call then takes some 10 ms, and their distinct terms, which are
# joined with those of other texts one by one, are a tenth of their tokens.
_CHUNK = 2**21
# Texts of a chunk, so that short ones are counted in turns too.
_MOST_TEXTS = 50_000
_WORD = 1  # the bit of the symbols of words
_SPACE = 2  # the bit of spaces


@dataclass(frozen=True, eq=False)
class Found:
    """The distinct terms of some texts, as native code has found them: runs of symbols, and pairs made of them."""

    symbols: Array
    runs: tuple[Array, Array, Array]
    pairs: tuple[Array, Array, Array] = (np.empty(0, np.int64),) * 3

    @property
    def n_runs(self) -> int:
        """Return the number of runs, whose numbers come before those of pairs."""
        return len(self.runs[0])

    def __len__(self) -> int:
        return self.n_runs + len(self.pairs[0])


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each term is in each of some texts: sparse rows, whose columns are numbers of `terms`.

    Terms are those that native code found, or a list of anything.
    """

    terms: Any
    pointers: Array
    ids: Array
    counts: Array

    @property
    def n_texts(self) -> int:
        """Return the number of texts."""
        return len(self.pointers) - 1

    def arrange(self, columns: Array, signs: Array | None = None) -> tuple[Array, Array, Array]:
        """Return row pointers, columns and values with the column of each term, or -1 for none, in order."""
        pointers, places = np.empty_like(self.pointers), np.empty(len(self.ids), np.int32)
        values = np.empty(len(self.ids))
        columns = np.ascontiguousarray(columns, np.int32)
        weights = np.empty(0) if signs is None else signs
        term_counts.arrange_rows(self.pointers, self.ids, self.counts, columns, weights, pointers, places, values)
        return pointers, places[: pointers[-1]], values[: pointers[-1]]


class Store:
    """All terms of a pass over texts, numbered in the order of first occurrence."""

    def __init__(self) -> None:
        self.terms: list[Any] = []
        self._numbers: dict[Any, int] = {}  # of terms that Python found
        self._runs, self._pairs = Table(), Table()
        self._arena, self._filled = np.empty(0, np.uint32), 0
        # The number here of each run, and of each pair.
        self._run_numbers = self._pair_numbers = np.empty(0, np.int64)

    def number(self, found: Any) -> Array:
        """Return the number of each term of some texts; new ones are appended to `terms`."""
        if isinstance(found, list):
            for term in found:
                if term not in self._numbers:
                    self._numbers[term] = len(self.terms)
                    self.terms.append(term)
            return np.fromiter(map(self._numbers.__getitem__, found), np.int64, len(found))
        runs = self._number_runs(found)
        if not len(found.pairs[0]):
            return self._run_numbers[runs]
        pairs = self._number_pairs(found, runs)
        return np.concatenate([self._run_numbers[runs], self._pair_numbers[pairs]])

    def _number_runs(self, found: Found) -> Array:
        """Return the places of runs in their table."""
        starts, lengths, hashes = found.runs
        runs, before = np.empty(len(starts), np.int64), len(self._runs)
        self._runs.require(len(starts))
        if self._filled + lengths.sum() > len(self._arena):
            more = np.empty(len(self._arena) + int(lengths.sum()), np.uint32)
            self._arena = np.concatenate([self._arena[: self._filled], more])
        begin, native = self._filled, self._runs.native
        self._filled = text_terms.merge_runs(
            found.symbols, starts, lengths, hashes, len(starts), native, self._arena, begin, runs
        )
        new, places, lengths = self._arena[begin : self._filled], self._runs.starts, self._runs.lengths
        text = new.tobytes().decode("utf-32-le", "surrogatepass")
        self._run_numbers = np.concatenate([self._run_numbers, len(self.terms) + np.arange(len(self._runs) - before)])
        chosen = slice(before, len(self._runs))
        first = (places[chosen] - begin).tolist()
        self.terms += [text[start : start + length] for start, length in zip(first, lengths[chosen].tolist())]
        return runs

    def _number_pairs(self, found: Found, runs: Array) -> Array:
        """Return the places of pairs in their table."""
        heads, words, _ = found.pairs
        pairs, before = np.empty(len(heads), np.int64), len(self._pairs)
        self._pairs.require(len(heads))
        text_terms.merge_pairs(heads, words, len(heads), runs, self._pairs.native, pairs)
        chosen = slice(before, len(self._pairs))
        heads, words = self._pairs.starts[chosen], self._pairs.lengths[chosen]
        self._pair_numbers = np.concatenate([self._pair_numbers, len(self.terms) + np.arange(len(heads))])
        # A head is a word, or a pair that stands before its own ones.
        is_pair = heads % 2 == 1
        of_heads = np.where(
            is_pair, self._pair_numbers[np.where(is_pair, heads // 2, 0)], self._run_numbers[heads // 2 * ~is_pair]
        )
        of_words, terms = self._run_numbers[words], self.terms
        for head, word in zip(of_heads.tolist(), of_words.tolist()):
            terms.append(f"{terms[head]} {terms[word]}")
        return pairs


def cut_chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield texts in lists of some million symbols."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size >= _CHUNK or len(chunk) >= _MOST_TEXTS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


@dataclass(frozen=True, eq=False)
class NativeCounter:
    """Counts the terms of texts.

    Parameters
    ----------
    unit : {"word", "char", "char_wb"}
    shortest : the least length of a word
    fewest, most : the least and most words or symbols of a term
    lowercase : whether texts become lower case
    change : a function of each text after that, or None
    stop_words : words that are left out
    """

    unit: str
    shortest: int
    fewest: int
    most: int
    lowercase: bool
    change: Callable[[str], str] | None
    stop_words: frozenset[str]

    def count(self, texts: list[str]) -> Counts:
        """Count the terms of some texts."""
        joined, ends = self._join(texts)
        symbols, kinds = _read_symbols(joined)
        if self.unit == "word":
            words = _find_words(symbols, ends, kinds, self.shortest)
            if self.stop_words:
                words = words.drop(self.stop_words)
            return (words if self.most == 1 else words.join(self.fewest, self.most)).count()
        padded = self.unit == "char_wb"
        squeezed, squeezed_ends = np.empty(2 * len(symbols) + len(ends) + 1, symbols.dtype), np.empty_like(ends)
        text_terms.squeeze_spaces(symbols, ends, kinds, padded, squeezed, squeezed_ends)
        squeezed = squeezed[: squeezed_ends[-1] + 1]
        return _find_runs(squeezed, squeezed_ends, self.fewest, self.most, padded).count()

    def _join(self, texts: list[str]) -> tuple[str, Array]:
        """Return the texts as one, changed, with a line end between each two, and where each ends."""
        if self.change is not None:
            change, lower = self.change, self.lowercase
            texts = [change(text.lower() if lower else text) for text in texts]
        joined = "\n".join(texts)
        if self.lowercase and self.change is None:
            # No letter becomes shorter: equal lengths tell that each text keeps its place.
            lowered = joined.lower()
            if len(lowered) != len(joined):
                texts = [text.lower() for text in texts]
                lowered = "\n".join(texts)
            joined = lowered
        return joined, np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1) - 1


def _read_symbols(text: str) -> tuple[Array, Array]:
    """Return the code points of a text, and the kinds of all that may be in it."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii") or b"\n", np.uint8), _tell_kinds(128)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32), _tell_kinds(0x110000)


@cache
def _tell_kinds(n: int) -> Array:
    """Return for each code point below `n` whether it is part of words, and whether it is a space."""
    letters = np.arange(n, dtype=np.uint32).view("U1")
    kinds = np.where(np.char.isalnum(letters), _WORD, 0) | np.where(np.char.isspace(letters), _SPACE, 0)
    kinds[ord("_")] = _WORD
    return kinds.astype(np.uint8)


class Table:
    """The growing table of terms that native code numbers."""

    def __init__(self, room: int = 500) -> None:
        # Hashes begin with a number that differs between processes: nobody can prepare texts whose terms collide.
        self.size = np.array([0, hash("mercer") & 0xFFFFFFFF], np.int64)
        self.starts, self.lengths, self.hashes = (np.empty(0, np.int64) for _ in range(3))
        self.n_slots = 0
        self.require(room)

    def __len__(self) -> int:
        return int(self.size[0])

    def require(self, more: int) -> None:
        """Make room for `more` terms; what grows at least doubles."""
        n, wanted = len(self), len(self) + more
        if wanted <= len(self.hashes) and 2 * wanted <= self.n_slots:
            return
        room = max(2 * n, wanted)
        self.starts, self.lengths, self.hashes = (
            np.concatenate([values[:n], np.empty(room - n, np.int64)])
            for values in (self.starts, self.lengths, self.hashes)
        )
        self.n_slots = 1 << (2 * room - 1).bit_length()
        slots = np.full(self.n_slots, -1, np.int32)
        text_terms.fill_slots(self.hashes, n, slots)
        self.native = text_terms.TermTable(slots, self.starts, self.lengths, self.hashes, self.size)

    def run(self, find: Callable[[Any, int], int], sizes: Array) -> tuple[Array, Array, Array]:
        """Call ``find(table, text)`` until all texts are done, and return what describes the terms.

        Text i has at most ``sizes[i]`` terms.
        """
        text = 0
        while text < len(sizes):
            text = find(self.native, text)
            if text < len(sizes):
                self.require(int(sizes[text]))
        n = len(self)
        return self.starts[:n], self.lengths[:n], self.hashes[:n]


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of texts, as numbers of `terms`; those of text i end at ``pointers[i + 1]``."""

    terms: Any
    pointers: Array
    ids: Array

    def drop(self, stop_words: frozenset[Any]) -> "Tokens":
        """Return the tokens without some words, whose numbers stay unused."""
        store = Store()
        store.number(self.terms)
        kept = np.fromiter((term not in stop_words for term in store.terms), bool, len(store.terms))[self.ids]
        before = np.concatenate([[0], np.cumsum(kept)])
        return Tokens(self.terms, before[self.pointers], self.ids[kept])

    def join(self, fewest: int, most: int) -> "Tokens":
        """Return runs of `fewest` to `most` words, with blanks between them."""
        lengths, n_words = np.diff(self.pointers), len(self.terms)
        # A text of n tokens has n + 1 - k runs of k of them.
        runs = sum(np.maximum(lengths + 1 - k, 0) for k in range(fewest, most + 1))
        ids, pointers = np.empty(int(np.sum(runs)), np.int32), np.zeros(len(self.pointers), np.int64)

        def find(table: Any, text: int) -> int:
            starts = self.pointers
            return text_terms.join_words(self.ids, starts, n_words, fewest, most, table, ids, pointers, text)

        pairs = Table().run(find, lengths * (most - 1))
        return Tokens(Found(self.terms.symbols, self.terms.runs, pairs), pointers, ids)

    def count(self) -> Counts:
        """Count the tokens of each text."""
        n = len(self.terms)
        ids, counts = np.empty(len(self.ids), np.int32), np.empty(len(self.ids))
        pointers = np.empty(len(self.pointers), np.int64)
        scratch = np.full(n, -1, np.int32), np.empty(n, np.int64)
        term_counts.count_terms(self.ids, self.pointers, *scratch, ids, counts, pointers)
        return Counts(self.terms, pointers, ids[: pointers[-1]], counts[: pointers[-1]])


def _find_words(symbols: Array, ends: Array, kinds: Array, shortest: int) -> Tokens:
    """Return the words of texts."""
    ids = np.empty((len(symbols) + 1) // (shortest + 1) + 1, np.int32)
    pointers = np.zeros(len(ends) + 1, np.int64)

    def find(table: Any, text: int) -> int:
        return text_terms.find_words(symbols, ends, kinds, shortest, table, ids, pointers, text)

    words = Table().run(find, np.diff(ends, prepend=-1))
    return Tokens(Found(symbols, words), pointers, ids[: pointers[-1]])


def _find_runs(symbols: Array, ends: Array, shortest: int, longest: int, padded: bool) -> Tokens:
    """Return the runs of symbols of texts."""
    sizes = np.diff(ends, prepend=-1) * (longest - shortest + 1)
    pointers = np.zeros(len(ends) + 1, np.int64)
    ids = np.empty(int(sizes.sum()) + 1, np.int32)

    def find(table: Any, text: int) -> int:
        return text_terms.find_runs(symbols, ends, shortest, longest, padded, table, ids, pointers, text)

    runs = Table().run(find, sizes)
    return Tokens(Found(symbols, runs), pointers, ids[: pointers[-1]])


def count_tokens(split: Callable[[Any], Iterable[Any]], texts: list[Any], counter: NativeCounter | None) -> Counts:
    """Count what a function of Python's cuts texts into; a counter drops stop words and joins tokens to runs."""
    numbers: dict[Any, int] = {}
    ids: list[int] = []
    pointers = [0]
    for text in texts:
        tokens = split(text)
        if counter is not None:
            tokens = _list_runs(tokens, counter)
        ids.extend(numbers.setdefault(token, len(numbers)) for token in tokens)
        pointers.append(len(ids))
    return Tokens(list(numbers), np.array(pointers, np.int64), np.array(ids, np.int32)).count()


def _list_runs(tokens: Iterable[Any], counter: NativeCounter) -> Iterable[Any]:
    """Return runs of tokens that are no stop words."""
    kept = [token for token in tokens if token not in counter.stop_words] if counter.stop_words else list(tokens)
    if counter.most == 1:
        return kept
    lengths = range(counter.fewest, min(counter.most, len(kept)) + 1)
    # A run of one token is the token, whatever it is.
    return [
        kept[i] if n == 1 else " ".join(kept[i : i + n]) for n in lengths for i in range(len(kept) - n + 1) if n > 0
    ]
