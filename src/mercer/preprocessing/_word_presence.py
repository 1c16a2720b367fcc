"""Messages as vectors of yes and no: which words of a vocabulary does each hold?"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from mercer._base.interface import BaseEstimator, TransformerMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Declared, Integer, Nothing, check_parameters, parameter
from mercer._source.namespace import is_sparse_matrix
from mercer.errors import DataError

# A word is a run of letters, digits and underscores; a single letter is one too.
_WORD = re.compile(r"\w+")


class WordPresence(Declared, TransformerMixin, BaseEstimator):
    """Binary predicates of messages, "contains word w_j": 1 where a message holds a word of the vocabulary, else 0.

    How often a word is in a message does not matter, and words outside the vocabulary are ignored. The rows are what
    :class:`mercer.naive_bayes.BernoulliNB` takes.

    Attributes
    ----------
    vocabulary_ : ndarray of str of shape (n_words,)
        The word of each column.

    Notes
    -----
    A message is a text, which is cut into runs of letters, digits and underscores, or a list of tokens, which are taken
    as they are; None has no words. Cost: each message is read once.

    Examples
    --------
    >>> from mercer.preprocessing import WordPresence
    >>> words = WordPresence().fit(["A cheap offer, cheap!", ["meeting", "a"]])
    >>> words.get_feature_names_out().tolist()
    ['a', 'cheap', 'meeting', 'offer']
    >>> words.transform(["Cheap cheap flights"]).toarray()
    array([[0., 1., 0., 0.]])
    """

    vocabulary: Any = parameter(
        ArrayRule("entries") | Nothing(),
        default=None,
        doc="The words, in the order of the columns; None means the words of the training messages, sorted.",
    )
    lowercase: bool = parameter(Boolean(), default=True, doc='Whether "Offer" and "offer" are one word.')
    min_frequency: int = parameter(
        Integer(1), default=1, doc="Least number of training messages that a word must be in."
    )
    max_words: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="Largest size of the vocabulary; the words of most messages are kept, of equals the first in the alphabet.",
    )

    def fit(self, X: Any, y: Any = None) -> "WordPresence":
        """Learn the vocabulary.

        Parameters
        ----------
        X : sequence of messages
            Texts, or lists of tokens.
        """
        check_parameters(type(self).__name__, self._parameters, self.get_params(deep=False))
        if self.vocabulary is not None:
            words = [self._fold(word) for word in np.asarray(self.vocabulary, dtype=object).ravel()]
            if len(set(words)) < len(words):
                word, count = Counter(words).most_common(1)[0]
                raise DataError(f"WordPresence: vocabulary must hold each word once; got {word!r} {count} times.")
        else:
            counts = Counter(word for held in self._read(X) for word in held)
            common = sorted((-count, word) for word, count in counts.items() if count >= self.min_frequency)
            words = sorted(word for _, word in common[: self.max_words])
        if not words:
            raise DataError(
                "WordPresence: no word is left for the vocabulary. Lower min_frequency, or give longer messages."
            )
        self.vocabulary_ = np.array(words, dtype=object)
        return self

    def transform(self, X: Any) -> csr_array:
        """Return which words of the vocabulary each message holds.

        Parameters
        ----------
        X : sequence of messages
            Texts, or lists of tokens.

        Returns
        -------
        csr_array of shape (n_messages, n_words)
            Ones and zeros.
        """
        check_is_fitted(self)
        places = {word: place for place, word in enumerate(self.vocabulary_)}
        rows = [sorted(places[word] for word in held if word in places) for held in self._read(X)]
        starts = np.cumsum([0, *map(len, rows)])
        columns = np.array([place for row in rows for place in row], dtype=np.int64)
        return csr_array((np.ones(len(columns)), columns, starts), shape=(len(rows), len(places)))

    def inverse_transform(self, X: Any) -> list[np.ndarray]:
        """Return the words of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_messages, n_words)
            Rows as :meth:`transform` returns them; what is not zero is a word.

        Returns
        -------
        list of ndarray of str
            In the order of the columns.
        """
        check_is_fitted(self)
        rows = X.toarray() if is_sparse_matrix(X) else np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != len(self.vocabulary_):
            raise DataError(
                f"WordPresence: rows must have {len(self.vocabulary_)} columns, one a word; got shape {rows.shape}."
            )
        return [self.vocabulary_[row != 0] for row in rows]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the words, in the order of the columns; `input_features` is ignored."""
        check_is_fitted(self)
        return self.vocabulary_

    def _read(self, X: Any) -> list[set[str]]:
        """Return the distinct words of each message."""
        if isinstance(X, str) or not isinstance(X, Iterable):
            raise DataError(
                f"WordPresence: X must be a sequence of messages; got {type(X).__name__}. Put one into a list."
            )
        return [self._find_words(row, message) for row, message in enumerate(X)]

    def _find_words(self, row: int, message: Any) -> set[str]:
        # pandas writes a missing text as NaN, a float.
        if message is None or (isinstance(message, float) and np.isnan(message)):
            return set()
        if isinstance(message, str):
            return {self._fold(word) for word in _WORD.findall(message)}
        tokens = message if isinstance(message, list | tuple | set | frozenset | np.ndarray) else [message]
        for token in tokens:
            if not isinstance(token, str):
                text = (
                    f"WordPresence: a message must be a text or a list of tokens, which are texts; got "
                    f"{type(token).__name__} in row {row}."
                )
                raise DataError(text)
        return {self._fold(str(token)) for token in tokens}

    def _fold(self, word: Any) -> str:
        return str(word).lower() if self.lowercase else str(word)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
