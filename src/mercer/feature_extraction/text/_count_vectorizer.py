"""Texts as counts of their terms."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Instance as InstanceRule
from mercer._base.parameter import Integer, Nothing, Real, parameter
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array
from mercer.errors import DataError
from mercer.feature_extraction.text._terms import Counts
from mercer.feature_extraction.text._vectorizer import Vectorizer
from mercer.feature_extraction.text._vocabulary import Columns, TermSums, find_columns, number_terms

_SHARE = Real(0, 1) | Integer(1)


class CountVectorizer(Vectorizer):
    """Count how often each term is in each text.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term, in the order of the terms.
    fixed_vocabulary_ : bool
        Whether the terms were given.
    solver_used_ : {"native", "python"}
        Who cut the texts into terms; Python where ``analyzer`` or ``tokenizer`` is a function, or ``token_pattern``
        another expression than runs of word symbols.
    n_samples_seen_ : int
        The number of texts that the terms come from.

    See Also
    --------
    TfidfVectorizer : Counts weighted by how rare a term is.
    HashingVectorizer : Columns by hash, without a vocabulary.

    Notes
    -----
    Terms, and how many texts hold each, are sums over texts: ``fit`` reads a stream of texts once and keeps the terms
    alone, and ``partial_fit`` goes on with more texts. Texts are counted in lists of two million symbols, on all
    threads; what is found does not depend on how many there are. Rules such as ``min_df`` look at all texts so far.
    ``fit_transform`` also keeps the counts of all texts, 12 bytes for each term of a text.

    Examples
    --------
    >>> from mercer.feature_extraction.text import CountVectorizer
    >>> texts = ["The cat sat.", "A cat and the other cat."]
    >>> counter = CountVectorizer().fit(texts)
    >>> counter.get_feature_names_out().tolist()
    ['and', 'cat', 'other', 'sat', 'the']
    >>> counter.transform(texts).toarray()
    array([[0, 1, 0, 1, 1],
           [1, 2, 1, 0, 1]])
    """

    max_df: float = parameter(
        _SHARE,
        default=1.0,
        after="analyzer",
        doc="The most texts that a term may be in: a number, or a share if it is a float.",
    )
    min_df: float = parameter(
        _SHARE,
        default=1,
        after="max_df",
        doc="The fewest texts that a term must be in: a number, or a share if it is a float.",
    )
    max_features: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        after="min_df",
        doc="The most terms; those that occur most often are kept.",
    )
    vocabulary: Any = parameter(
        InstanceRule(dict, set, frozenset) | ArrayRule("entries") | InstanceRule(object) | Nothing(),
        default=None,
        after="max_features",
        doc="The terms, or the column of each; the rules on numbers of texts then have no effect.",
    )
    dtype: Any = parameter(
        InstanceRule(type, np.dtype, str),
        default=np.int64,
        after="binary",
        doc="The type of the entries of the result.",
    )

    def fit(self, raw_documents: Iterable[Any], y: Any = None) -> "CountVectorizer":
        """Learn the terms."""
        self._check_settings()
        self._learn(raw_documents)
        return self

    def partial_fit(self, raw_documents: Iterable[Any], y: Any = None) -> "CountVectorizer":
        """Learn the terms of more texts, beside those seen before."""
        self._check_settings()
        self._learn(raw_documents, again="_seen_terms" in vars(self))
        return self

    def fit_transform(self, raw_documents: Iterable[Any], y: Any = None) -> Any:
        """Learn the terms and return their counts.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            Counts.
        """
        self._check_settings()
        kept: list[tuple[Array, Counts]] = []
        columns = self._learn(raw_documents, kept)
        parts = []
        # Counts are released one by one, as they become rows.
        kept.reverse()
        while kept:
            numbers, counts = kept.pop()
            parts.append(counts.arrange(columns[numbers]))
        return self._make_rows(parts, len(self.vocabulary_))

    def transform(self, raw_documents: Iterable[Any]) -> Any:
        """Count the terms of the vocabulary.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            Counts; terms that are not in the vocabulary are left out.
        """
        vocabulary, name = self._find_vocabulary(), type(self).__name__
        parts: list[Any] = []
        columns = Columns(lambda terms: find_columns(name, terms, vocabulary))
        self._count(raw_documents, lambda counts: parts.append(counts.arrange(columns.of(counts))))
        return self._make_rows(parts, len(vocabulary))

    def inverse_transform(self, X: Any) -> list[Array]:
        """Return the terms of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; what is not zero is a term.

        Returns
        -------
        list of ndarray
            In the order of the columns.
        """
        vocabulary = self._find_vocabulary()
        terms = np.array(sorted(vocabulary, key=vocabulary.__getitem__))
        rows = check_array(X, accept_sparse="csr")
        if rows.shape[1] != len(terms):
            raise DataError(
                f"{type(self).__name__}: rows must have {len(terms)} columns, one a term; got {rows.shape[1]}."
            )
        if not is_sparse_matrix(rows):
            return [terms[row != 0] for row in rows]
        pieces = np.split(np.arange(len(rows.data)), rows.indptr[1:-1])
        return [terms[np.sort(rows.indices[piece[rows.data[piece] != 0]])] for piece in pieces]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the terms in the order of the columns."""
        vocabulary = self._find_vocabulary()
        names = np.empty(len(vocabulary), object)
        names[:] = sorted(vocabulary, key=vocabulary.__getitem__)
        return names

    def _find_vocabulary(self) -> dict[Any, int]:
        """Return the columns of terms; those that a user gives need no fit."""
        if "vocabulary_" not in vars(self):
            if self.vocabulary is None:
                raise NotFittedError(f"{type(self).__name__}: Vocabulary not fitted or provided. Call fit first.")
            self.vocabulary_, self.fixed_vocabulary_ = number_terms(type(self).__name__, self.vocabulary), True
        if not self.vocabulary_:
            raise DataError(f"{type(self).__name__}: Vocabulary is empty; fit again, or give terms.")
        found: dict[Any, int] = self.vocabulary_
        return found

    def _learn(
        self, raw_documents: Iterable[Any], kept: list[tuple[Array, Counts]] | None = None, again: bool = False
    ) -> Array:
        """Learn the vocabulary of texts, `again` beside those seen before, and return the columns of the terms.

        The counts of the texts are added to `kept`, with the numbers of their terms.
        """
        name, seen, sums = type(self).__name__, vars(self), TermSums()
        fixed = None if self.vocabulary is None else number_terms(name, self.vocabulary)
        self._check_stop_words()
        if fixed is not None and self.lowercase and any(isinstance(term, str) and _has_capital(term) for term in fixed):
            self._warn_of_capitals()

        def receive(counts: Counts) -> None:
            numbers = sums.add(counts)
            if kept is not None:
                kept.append((numbers, counts))

        used = self._count(raw_documents, receive)
        if again:
            documents, occurrences = seen["_seen_counts"]
            sums.add_sums(seen["_seen_terms"], documents, occurrences, seen["n_samples_seen_"])
        if fixed is None:
            vocabulary, places = self._choose_terms(sums)
            columns = np.full(len(sums.terms), -1)
            columns[places] = np.arange(len(places))
        else:
            vocabulary, columns = fixed, find_columns(name, sums.terms, fixed)
        self.vocabulary_, self.fixed_vocabulary_ = vocabulary, fixed is not None
        self.solver_used_, self.n_samples_seen_ = used, sums.n_texts
        self._seen_terms = np.empty(len(sums.terms), object)
        self._seen_terms[:] = sums.terms
        self._seen_counts = np.stack(sums.totals())
        held = np.zeros(len(vocabulary))
        held[columns[columns >= 0]] = self._seen_counts[0][columns >= 0]
        self._conclude_terms(held, sums.n_texts)
        return columns

    def _conclude_terms(self, held: Array, n_texts: int) -> None:
        """Store what else follows from the number of texts that hold the term of each column."""

    def _warn_of_capitals(self) -> None:
        import warnings

        warnings.warn(
            f"{type(self).__name__}: Upper case characters found in vocabulary while 'lowercase' is True. These "
            f"entries will not be matched with any documents.",
            UserWarning,
            stacklevel=4,
        )

    def _choose_terms(self, sums: TermSums) -> tuple[dict[Any, int], Array]:
        """Return the columns of the terms that keep the rules on numbers of texts, and the places of these terms."""
        name = type(self).__name__
        # Words that are only part of terms, or stop words, are in no text.
        documents, occurrences = sums.totals()
        found = np.flatnonzero(documents).tolist()
        if not found:
            raise DataError(
                f"{name}: empty vocabulary; perhaps the documents only contain stop words. Give longer texts, or "
                f"other settings."
            )
        most, fewest = (
            rule if isinstance(rule, Integral) else rule * sums.n_texts for rule in (self.max_df, self.min_df)
        )
        if most < fewest:
            raise DataError(
                f"{name}: max_df corresponds to < documents than min_df: {most} and {fewest}. Raise max_df, or lower "
                f"min_df."
            )
        order = np.array(sorted(found, key=sums.terms.__getitem__))
        documents, occurrences = documents[order], occurrences[order]
        kept = (documents <= most) & (documents >= fewest)
        if self.max_features is not None and kept.sum() > self.max_features:
            weights = documents if self.binary else occurrences
            kind = np.dtype(self.dtype)
            weights = weights.astype(np.int64 if kind.kind in "iub" else kind)[kept]
            # As scikit-learn orders them, so that the same terms of equal counts are kept.
            chosen = np.flatnonzero(kept)[(-weights).argsort()[: self.max_features]]
            kept = np.zeros(len(kept), bool)
            kept[chosen] = True
        if not kept.any():
            raise DataError(
                f"{name}: After pruning, no terms remain. Try a lower min_df or a higher max_df; got {self.min_df} and "
                f"{self.max_df} of {sums.n_texts} texts."
            )
        places = order[kept]
        return {sums.terms[place]: column for column, place in enumerate(places.tolist())}, places

    def __sklearn_is_fitted__(self) -> bool:
        return "vocabulary_" in vars(self)


def _has_capital(term: str) -> bool:
    return any(map(str.isupper, term))
