"""Terms that were found, with the numbers of texts that hold them and of their occurrences; sums over texts."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError
from mercer.feature_extraction.text._terms import Counts, Store


class TermSums:
    """The terms of all texts so far, how many texts hold each and how often it occurs; sums over texts."""

    def __init__(self) -> None:
        self.store = Store()
        self.documents, self.occurrences = np.zeros(0), np.zeros(0)
        self.n_texts = 0

    @property
    def terms(self) -> list[Any]:
        """Return the terms, in the order of first occurrence."""
        return self.store.terms

    def add(self, counts: Counts) -> Array:
        """Add the terms of some texts, and return their numbers."""
        numbers, n = self.store.number(counts.terms), len(self.store.terms)
        if n > len(self.documents):
            # At least doubled, so that a stream of texts does not copy the sums again and again.
            more = np.zeros(n)
            self.documents = np.concatenate([self.documents, more])
            self.occurrences = np.concatenate([self.occurrences, more])
        self.documents[numbers] += np.bincount(counts.ids, minlength=len(numbers))
        self.occurrences[numbers] += np.bincount(counts.ids, counts.counts, minlength=len(numbers))
        self.n_texts += counts.n_texts
        return numbers

    def add_sums(self, terms: Array, documents: Array, occurrences: Array, n_texts: int) -> None:
        """Add the sums of earlier texts."""
        n = len(self.terms)
        places = {term: number for number, term in enumerate(self.terms)}
        numbers = np.fromiter((places.setdefault(term, len(places)) for term in terms), np.int64, len(terms))
        self.terms.extend(list(places)[n:])
        for name, values in (("documents", documents), ("occurrences", occurrences)):
            sums = np.concatenate([getattr(self, name)[:n], np.zeros(len(places) - n)])
            sums[numbers] += values
            setattr(self, name, sums)
        self.n_texts += n_texts

    def totals(self) -> tuple[Array, Array]:
        """Return for each term how many texts hold it, and how often it occurs."""
        n = len(self.terms)
        return self.documents[:n], self.occurrences[:n]


class Columns:
    """The columns of terms, found when a term is first met in a pass over texts."""

    def __init__(self, find: Callable[[list[Any]], Array]) -> None:
        self.find, self.store, self.known = find, Store(), np.empty(0, np.int64)

    def of(self, counts: Counts) -> Array:
        """Return the column of each term of some texts."""
        numbers = self.store.number(counts.terms)
        new = self.store.terms[len(self.known) :]
        if new:
            self.known = np.concatenate([self.known, self.find(new)])
        return self.known[numbers]


def number_terms(subject: str, vocabulary: Any) -> dict[Any, int]:
    """Return the column of each term of a vocabulary that a user gives."""
    if not isinstance(vocabulary, Mapping):
        terms = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
        columns = {term: column for column, term in enumerate(terms)}
        if len(columns) < len(terms):
            term = next(term for column, term in enumerate(terms) if columns[term] != column)
            raise DataError(f"{subject}: Duplicate term in vocabulary: {term!r}. Give each term once.")
    else:
        columns = dict(vocabulary)
        if len(set(columns.values())) < len(columns):
            raise DataError(f"{subject}: Vocabulary contains repeated indices. Give each term a column of its own.")
        missing = set(range(len(columns))) - set(columns.values())
        if missing:
            raise DataError(
                f"{subject}: Vocabulary of size {len(columns)} doesn't contain index {min(missing)}. Number the terms "
                f"from 0 on."
            )
    if not columns:
        raise DataError(f"{subject}: empty vocabulary passed to fit; give terms, or vocabulary=None.")
    return columns


def find_columns(subject: str, terms: list[Any], vocabulary: Mapping[Any, int]) -> Array:
    """Return the column of each term, -1 for those that are not in the vocabulary."""
    columns = np.fromiter((vocabulary.get(term, -1) for term in terms), np.int64, len(terms))
    if columns.max(initial=-1) >= len(vocabulary) or columns.min(initial=0) < -1:
        raise DataError(
            f"{subject}: vocabulary_ must number its {len(vocabulary)} terms from 0 on; got {columns.max()}. Fit again."
        )
    return columns
