"""Texts as counts of hashed terms."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from sklearn.preprocessing import normalize

from mercer._base.interface import TransformerMixin
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, parameter
from mercer._native.text import term_counts
from mercer._types import Array
from mercer.errors import DataError
from mercer.feature_extraction.text._terms import Counts
from mercer.feature_extraction.text._vectorizer import Vectorizer
from mercer.feature_extraction.text._vocabulary import Columns

_LARGEST = np.iinfo(np.int32).max


class HashingVectorizer(TransformerMixin, Vectorizer, auto_wrap_output_keys=None):
    """Count the terms of texts in columns that their hashes choose.

    The column of a term is the absolute value of its hash (MurmurHash3 of 32 bits, as scikit-learn's) modulo
    ``n_features``; with ``alternate_sign`` a term of negative hash counts negatively, so that terms which share a
    column cancel in the mean.

    See Also
    --------
    CountVectorizer : A column for each term, whose names are kept.

    Notes
    -----
    Nothing is learnt: rows can be made anywhere, and in any order. Each distinct term of a list of texts is hashed
    once. Texts are counted on all threads; the result does not depend on how many there are.

    Examples
    --------
    >>> from mercer.feature_extraction.text import HashingVectorizer
    >>> rows = HashingVectorizer(n_features=16, norm=None).transform(["the cat sat", "a cat and the other cat"])
    >>> rows.toarray().sum(axis=1).tolist()
    [1.0, -1.0]
    """

    n_features: int = parameter(Integer(1, _LARGEST), default=2**20, after="analyzer", doc="The number of columns.")
    norm: str | None = parameter(
        Choice("l1", "l2") | Nothing(), default="l2", after="binary", doc="The norm that each row gets, or None."
    )
    alternate_sign: bool = parameter(
        Boolean(), default=True, after="norm", doc="Whether terms of negative hash count negatively."
    )

    _row_text: ClassVar[str] = "X : iterable\n    Texts, bytes, files or their names; a fit does not read them."

    def fit(self, X: Any, y: Any = None) -> "HashingVectorizer":
        """Check the parameters; nothing is learnt."""
        if isinstance(X, str):
            raise DataError(
                "HashingVectorizer: Iterable over raw text documents expected, string object received. Put the text "
                "into a list."
            )
        self._check_settings()
        return self

    def partial_fit(self, X: Any, y: Any = None) -> "HashingVectorizer":
        """Check the parameters; nothing is learnt."""
        return self.fit(X)

    def transform(self, X: Iterable[Any]) -> Any:
        """Count the terms of texts.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            Counts, divided by the norm of their row.
        """
        self._check_settings()
        self._check_stop_words()
        parts: list[Any] = []

        # The hash of each term, which tells its column and its sign.
        hashes = Columns(_hash_terms)

        def receive(counts: Counts) -> None:
            codes = hashes.of(counts)
            signs = np.where(codes < 0, -1.0, 1.0) if self.alternate_sign else None
            parts.append(counts.arrange(np.abs(codes) % self.n_features, signs))

        self._count(X, receive)
        rows = self._make_rows(parts, self.n_features)
        return rows if self.norm is None else normalize(rows, norm=self.norm, copy=False)

    def fit_transform(self, X: Iterable[Any], y: Any = None) -> Any:
        """Count the terms of texts.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            Counts, divided by the norm of their row.
        """
        return self.fit(X).transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def _hash_terms(terms: list[Any]) -> Array:
    """Return the hashes of terms, which may be other things than texts."""
    return hash_texts([term if isinstance(term, str) else str(term) for term in terms]).astype(np.int64)


def hash_texts(texts: list[str]) -> Array:
    """Return MurmurHash3 of texts in UTF-8, as signed numbers of 32 bits."""
    encoded = [text.encode("utf-8") for text in texts]
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    hashes = np.empty(len(encoded), np.int32)
    term_counts.hash_terms(np.frombuffer(b"".join(encoded), np.uint8), ends, 0, hashes)
    return hashes
