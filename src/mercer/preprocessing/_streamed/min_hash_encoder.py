"""Texts as numbers that agree as often as the texts are alike, in any place."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._base.parameter import Boolean, Integer, Pair, Seed, parameter
from mercer._base.randomness import seed_sequence
from mercer._source.table.distinct import Distinct, find_all_distinct
from mercer._types import Array
from mercer.preprocessing._categories.reading import read_columns
from mercer.preprocessing._streamed.table_columns import ColumnsEncoder

# Symbols of the texts that are hashed at a time, so that what numbers each of their runs stays in the cache.
_SYMBOLS = 2**17
# An odd number of 64 bits without a pattern: the base of the hash of a run of symbols.
_BASE = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class MinHashEncoder(ColumnsEncoder):
    r"""Turn texts into numbers that agree as often as the texts are alike.

    A text is the set G of its runs of symbols. Component k is the least hash of its runs by the k-th hash function, and
    of two texts

    .. math:: P(\min_{g \in G} h_k(g) = \min_{g \in G'} h_k(g)) = \frac{|G \cap G'|}{|G \cup G'|},

    the share of runs that both have (Jaccard). Trees that split at such numbers group texts that begin, end or are
    spelled alike: typing errors, plurals, names of products.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        Number and names of the columns.

    See Also
    --------
    OneHotEncoder : For categories that are few and spelled alike.
    mercer.feature_extraction.text.HashingVectorizer : Counts of all runs, in many columns.

    Notes
    -----
    Nothing is learnt: the same text gives the same numbers everywhere, also with other rows around it. Each different
    text is hashed once, in O(s k) for s symbols and k components. A missing or empty text gives zeros; other values are
    hashed as they are written. Hashes are between 0 and 1. Rows: frames and arrays, files, streams that can be read
    again, Dask dataframes.

    References
    ----------
    .. [1] A. Broder, "On the resemblance and containment of documents", Compression and Complexity of Sequences, 1997.
    .. [2] P. Cerda and G. Varoquaux, "Encoding high-cardinality string categorical variables", IEEE Transactions on
       Knowledge and Data Engineering 34, 2022.

    Examples
    --------
    >>> from mercer.preprocessing import MinHashEncoder
    >>> made = MinHashEncoder(n_components=1000).fit_transform([["accountant"], ["accountants"], ["nurse"]])
    >>> ((made[0] == made[1]).mean() > 0.7).item(), ((made[0] == made[2]).mean() < 0.1).item()
    (True, True)
    """

    n_components: int = parameter(Integer(1), default=30, kw_only=False, doc="How many numbers a text gives.")
    ngram_range: tuple[int, int] = parameter(
        Pair(), default=(2, 4), doc="The fewest and the most symbols of a run; blanks stand around each text."
    )
    minmax_hash: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether every second number is the largest hash of the function before, which takes half the time.",
    )
    random_state: Any = parameter(Seed(), default=0, doc="The seed of the hash functions.")

    def _open_rows(self, X: Any, reset: bool) -> list[Any]:
        return read_columns(self, X, reset=reset)

    def _list_parts(self) -> list[str]:
        return [str(number) for number in range(self.n_components)]

    def fit(self, X: Any, y: Any = None) -> "MinHashEncoder":
        """Draw the hash functions, and store the columns."""
        n_functions = -(-self.n_components // 2) if self.minmax_hash else self.n_components
        words = seed_sequence(self.random_state).generate_state(2 * n_functions, np.uint64)
        # Odd factors, so that no bit of a hash is lost.
        self._factors, self._shifts = words[:n_functions] | np.uint64(1), words[n_functions:]
        return super().fit(X, y)

    def _encode_rows(self, columns: list[Any]) -> Array:
        found = find_all_distinct(columns, 1)
        return np.concatenate([self._hash_column(column) for column in found], axis=1)

    def _hash_column(self, column: Distinct) -> Array:
        """Return the numbers of a column; the last row of the table, behind all texts, is that of missing ones."""
        texts = ["" if value is None else str(value) for value in column.values.tolist()]
        table = np.zeros((len(texts) + 1, self.n_components))
        for first, part in _cut_texts(texts):
            self._hash_texts(part, table[first : first + len(part)])
        return table[column.codes]

    def _hash_texts(self, texts: list[str], out: Array) -> None:
        """Write the numbers of some texts."""
        runs, owners = find_runs(texts, *self.ngram_range)
        if not len(runs):
            return
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        rows = owners[starts]
        step = 1 + self.minmax_hash
        for number, (factor, shift) in enumerate(zip(self._factors, self._shifts, strict=True)):
            mixed = (runs * factor + shift) >> _HALF
            out[rows, step * number] = np.minimum.reduceat(mixed, starts) / 2.0**32
            if self.minmax_hash and 2 * number + 1 < self.n_components:
                out[rows, 2 * number + 1] = np.maximum.reduceat(mixed, starts) / 2.0**32


def _cut_texts(texts: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield texts in lists of about as many symbols, and the place of the first."""
    first, symbols = 0, 0
    for place, text in enumerate(texts):
        symbols += len(text)
        if symbols >= _SYMBOLS:
            yield first, texts[first : place + 1]
            first, symbols = place + 1, 0
    if first < len(texts):
        yield first, texts[first:]


def find_runs(texts: list[str], fewest: int, most: int) -> tuple[Array, Array]:
    """Return the hashes of all runs of symbols of texts, ordered by text, and the number of the text of each.

    A text that is shorter than a run is one run itself; an empty text has none.
    """
    padded = [f" {text} " if text else "" for text in texts]
    lengths = np.fromiter(map(len, padded), np.int64, len(padded))
    joined = "".join(padded).encode("utf-32-le", "surrogatepass")
    symbols = np.frombuffer(joined, np.uint32).astype(np.uint64)
    owners = np.repeat(np.arange(len(texts)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(symbols))
    short = np.repeat(np.minimum(lengths, fewest), lengths)
    found: list[Array] = []
    whose: list[Array] = []
    hashes = np.zeros(len(symbols), np.uint64)
    with np.errstate(over="ignore"):
        for size in range(1, most + 1):
            # One more symbol on the right: the hash of a run is a polynomial of its symbols, mixed below.
            moved = np.zeros_like(symbols)
            moved[: len(symbols) - size + 1] = symbols[size - 1 :]
            hashes = (hashes ^ (moved + np.uint64(size))) * _BASE
            hashes ^= hashes >> _HALF
            whole = (left >= size) & ((short <= size) if size >= fewest else (short == size) & (left == short))
            # Shorter texts are one run, which begins at their first symbol.
            kept = np.flatnonzero(whole)
            found.append(hashes[kept])
            whose.append(owners[kept])
    runs, owner = np.concatenate(found), np.concatenate(whose)
    order = np.argsort(owner, kind="stable")
    return runs[order], owner[order]
