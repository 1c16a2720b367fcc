"""The base of what turns texts into rows: its parameters, the functions made of them, and the passes over texts."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer as TheirVectorizer
from sklearn.feature_extraction.text import strip_accents_ascii, strip_accents_unicode

from mercer._base.interface import BaseEstimator
from mercer._base.parameter import (
    Array,
    Boolean,
    Choice,
    Function,
    Instance,
    Integer,
    Nothing,
    Pair,
    Text,
    check_parameters,
    parameter,
)
from mercer._base.parameter.declaration import DeclaredEstimator
from mercer._source.threads import n_threads, run_taken
from mercer.errors import DataError, ParameterError
from mercer.feature_extraction._sparse_kind import convert_kind
from mercer.feature_extraction.text._terms import NATIVE_PATTERNS, Counts, NativeCounter, count_tokens, cut_chunks

_STRIPPERS = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}
# Texts that one thread counts: to start others takes longer than a millisecond's work.
_FEW_TEXTS = 1_000
_DEFAULT_PATTERN = r"(?u)\b\w\w+\b"


class Vectorizer(DeclaredEstimator, BaseEstimator):
    """The base of vectorizers: from texts to counts of terms, on all threads, in the order of the texts."""

    input: str = parameter(
        Choice("content", "file", "filename"),
        default="content",
        doc='What the items are: texts or bytes ("content"), objects with a method ``read``, or names of files.',
    )
    encoding: str = parameter(Text(), default="utf-8", doc="The encoding of bytes and files.")
    decode_error: str = parameter(
        Choice("strict", "ignore", "replace"),
        default="strict",
        doc="What is done with bytes that are not of the encoding: an error, or they are left out or replaced.",
    )
    strip_accents: Any = parameter(
        Choice("ascii", "unicode") | Function() | Nothing(),
        default=None,
        doc='How accents are removed: "ascii" also drops what has no ASCII form, "unicode" keeps it; a function is '
        "given each text.",
    )
    lowercase: bool = parameter(Boolean(), default=True, doc="Whether texts become lower case first.")
    preprocessor: Any = parameter(
        Function() | Nothing(), default=None, doc="A function of each text in the place of lower case and accents."
    )
    tokenizer: Any = parameter(
        Function() | Nothing(), default=None, doc="A function from a text to its tokens, for words alone."
    )
    stop_words: Any = parameter(
        Choice("english") | Array("entries") | Instance(set, frozenset) | Nothing(),
        default=None,
        doc="Words that are left out, or scikit-learn's list of English ones.",
    )
    token_pattern: str | None = parameter(
        Text() | Nothing(),
        default=_DEFAULT_PATTERN,
        doc="The regular expression of a token, for words alone; a group in it is the token.",
    )
    ngram_range: tuple[int, int] = parameter(
        Pair(), default=(1, 1), doc="The least and the most words, or symbols, of a term."
    )
    analyzer: Any = parameter(
        Choice("word", "char", "char_wb") | Function(),
        default="word",
        doc='Terms of words, of symbols ("char"), or of symbols inside a word and the blanks around it ("char_wb"); '
        "or a function from a text to its terms.",
    )
    binary: bool = parameter(Boolean(), default=False, doc="Whether every count above one is one.")
    dtype: Any = parameter(
        Instance(type, np.dtype, str), default=np.float64, doc="The type of the entries of the result."
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    def decode(self, doc: Any) -> str:
        """Return a text as Python's str.

        Parameters
        ----------
        doc : str, bytes, file or name of a file
            As ``input`` says.

        Returns
        -------
        str
        """
        return TheirVectorizer(input=self.input, encoding=self.encoding, decode_error=self.decode_error).decode(doc)

    def build_preprocessor(self) -> Callable[[str], str]:
        """Return the function that changes a text before it is cut into tokens.

        Returns
        -------
        callable
        """
        names = ("preprocessor", "strip_accents", "lowercase")
        return TheirVectorizer(**{name: getattr(self, name) for name in names}).build_preprocessor()

    def build_tokenizer(self) -> Callable[[str], list[str]]:
        """Return the function that cuts a text into tokens.

        Returns
        -------
        callable
        """
        return TheirVectorizer(tokenizer=self.tokenizer, token_pattern=self.token_pattern).build_tokenizer()

    def get_stop_words(self) -> frozenset[str] | None:
        """Return the words that are left out.

        Returns
        -------
        frozenset of str or None
        """
        words = self.stop_words
        if words is None:
            return None
        return TheirVectorizer(stop_words=list(words) if isinstance(words, np.ndarray) else words).get_stop_words()

    def build_analyzer(self) -> Callable[[Any], list[Any]]:
        """Return the function from an item to its terms, in Python.

        Returns
        -------
        callable
            It decodes, changes and cuts an item, and makes runs of tokens. The estimator itself counts by native code
            where it can.
        """
        given = {name: getattr(self, name) for name in ("input", "encoding", "decode_error", "analyzer", "ngram_range")}
        if not callable(self.analyzer):
            given["preprocessor"] = self.build_preprocessor()
        if self.analyzer == "word":
            given |= {"tokenizer": self.build_tokenizer(), "stop_words": self.get_stop_words()}
            given["stop_words"] = None if given["stop_words"] is None else sorted(given["stop_words"])
        return TheirVectorizer(**given).build_analyzer()

    def _check_settings(self) -> None:
        """Raise where parameters do not fit together, and warn of those without effect."""
        name = type(self).__name__
        check_parameters(name, self._parameters, self.get_params(deep=False))
        fewest, most = self.ngram_range
        if fewest > most:
            raise ParameterError(
                f"{name}: Invalid value for ngram_range={self.ngram_range} lower boundary larger than the upper "
                f"boundary. Give the smaller number first."
            )
        for unused, reason in self._list_unused():
            warnings.warn(
                f"{name}: The parameter {unused!r} will not be used since {reason}.", UserWarning, stacklevel=5
            )

    def _list_unused(self) -> Iterator[tuple[str, str]]:
        """Yield parameters that have no effect beside others, each with the reason."""
        words = isinstance(self.analyzer, str) and self.analyzer == "word"
        if self.tokenizer is not None and self.token_pattern is not None:
            yield "token_pattern", "'tokenizer' is not None'"
        if callable(self.analyzer):
            for unused, default in (("preprocessor", None), ("ngram_range", (1, 1))):
                if getattr(self, unused) != default:
                    yield unused, "'analyzer' is callable'"
        if not words:
            for unused, usual in (("stop_words", None), ("token_pattern", _DEFAULT_PATTERN), ("tokenizer", None)):
                if getattr(self, unused) not in (None, usual):
                    yield unused, "'analyzer' != 'word'"

    def _check_stop_words(self) -> None:
        """Warn if the tokens of a stop word are none themselves, so that they stay in the texts."""
        words = None if self.analyzer != "word" else self.get_stop_words()
        # The tokens of scikit-learn's list are in it, as the default settings cut and change them.
        if not words or (self.stop_words == "english" and self._plan() is not None and self.lowercase):
            return
        try:
            change, split = self.build_preprocessor(), self.build_tokenizer()
            missing = {token for word in words for token in split(change(word))} - words
        except Exception:
            # Functions of the user's may take no single words.
            return
        if missing:
            warnings.warn(
                f"{type(self).__name__}: Your stop_words may be inconsistent with your preprocessing. Tokenizing the "
                f"stop words generated tokens {sorted(missing)} not in stop_words.",
                UserWarning,
                stacklevel=5,
            )

    def _has_own(self, *methods: str) -> bool:
        """Return whether a subclass defines methods of this class anew."""
        return any(getattr(type(self), method) is not getattr(Vectorizer, method) for method in methods)

    def _plan(self) -> NativeCounter | None:
        """Return what counts the terms natively, or None where a function of Python's cuts texts into tokens."""
        fewest = self.ngram_range[0]
        if callable(self.analyzer) or fewest < 1 or self._has_own("build_analyzer"):
            return None
        shortest = 1
        if self.analyzer == "word":
            if self.tokenizer is not None or self._has_own("build_tokenizer"):
                return None
            if self.token_pattern not in NATIVE_PATTERNS:
                return None
            shortest = NATIVE_PATTERNS[self.token_pattern]
        return self._make_counter(shortest)

    def _make_counter(self, shortest: int) -> NativeCounter:
        """Return the counter of the parameters."""
        fewest, most = self.ngram_range
        change, lower = None, bool(self.lowercase)
        if self.preprocessor is not None or self._has_own("build_preprocessor"):
            change, lower = self.build_preprocessor(), False
        elif self.strip_accents is not None:
            change = _STRIPPERS.get(self.strip_accents, self.strip_accents)
        words = self.get_stop_words() if self.analyzer == "word" else None
        return NativeCounter(self.analyzer, shortest, int(fewest), int(most), lower, change, words or frozenset())

    def _count(self, raw_documents: Iterable[Any], receive: Callable[[Counts], None]) -> str:
        """Call `receive` with the counts of the terms of texts, run by run in their order; return who counted them."""
        if isinstance(raw_documents, str):
            raise DataError(
                f"{type(self).__name__}: Iterable over raw text documents expected, string object received. Put the "
                f"text into a list."
            )
        if (plan := self._plan()) is not None:
            chunks = cut_chunks(self._read_texts(raw_documents))
            few = isinstance(raw_documents, list) and len(raw_documents) <= _FEW_TEXTS
            threads = 1 if few else n_threads(self.n_jobs)
            if threads > 1:
                run_taken(plan.count, chunks, threads, receive)
                return "native"
            for chunk in chunks:
                receive(plan.count(chunk))
            return "native"
        if self._counts_tokens():
            counter, change, split = self._make_counter(1), self.build_preprocessor(), self.build_tokenizer()
            for chunk in cut_chunks(self._read_texts(raw_documents)):
                receive(count_tokens(lambda text: split(change(text)), chunk, counter))
            return "python"
        analyze = self.build_analyzer()
        for items in _cut_items(raw_documents):
            receive(count_tokens(analyze, items, None))
        return "python"

    def _counts_tokens(self) -> bool:
        """Return whether tokens come from Python, and runs of them are made here."""
        return isinstance(self.analyzer, str) and self.ngram_range[0] > 0 and not self._has_own("build_analyzer")

    def _read_texts(self, raw_documents: Iterable[Any]) -> Iterator[str]:
        """Yield items as texts."""
        plain = self.input == "content" and not self._has_own("decode")
        for item in raw_documents:
            if plain and type(item) is str:
                yield item
                continue
            text = self.decode(item)
            if not isinstance(text, str):
                # scikit-learn's users catch the error of Python's own, of a number that has no lower case.
                raise AttributeError(
                    f"{type(self).__name__}: {type(text).__name__!r} object has no attribute 'lower': items must be "
                    f"texts or bytes; got {str(text)[:40]!r}. Turn them into texts."
                )
            yield str(text)

    def _make_rows(self, parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], width: int) -> Any:
        """Return a sparse matrix of the pointers, columns and values of runs of rows."""
        sizes = [part[0][-1] for part in parts]
        starts = np.cumsum([0, *sizes])
        index = np.int32 if starts[-1] < np.iinfo(np.int32).max else np.int64
        pointers = np.concatenate([np.zeros(1, index), *(part[0][1:] + start for part, start in zip(parts, starts))])
        columns = np.concatenate([np.empty(0, index), *(part[1] for part in parts)])
        dtype = np.dtype(self.dtype)
        values = np.concatenate([np.empty(0, dtype), *(part[2].astype(dtype, copy=False) for part in parts)])
        if self.binary:
            values.fill(1)
        rows = csr_array(
            (values, columns.astype(index, copy=False), pointers.astype(index)), (len(pointers) - 1, width)
        )
        rows = convert_kind(rows)
        rows.has_sorted_indices = rows.has_canonical_format = True
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _cut_items(items: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield items of any kind in lists."""
    chunk: list[Any] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == 1000:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
