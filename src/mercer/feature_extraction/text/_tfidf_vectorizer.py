"""Texts as counts of their terms, weighted by how rare each term is."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from mercer._base.parameter import Boolean, Choice, Instance, Nothing, parameter
from mercer._types import Array
from mercer.errors import DataError
from mercer.feature_extraction.text._count_vectorizer import CountVectorizer
from mercer.feature_extraction.text._tfidf_transformer import TfidfTransformer

_FLOATS = (np.float64, np.float32, np.float16)


class TfidfVectorizer(CountVectorizer):
    """Count how often each term is in each text, weighted by how rare the term is.

    The same as :class:`CountVectorizer` with :class:`TfidfTransformer` behind it, where the formula stands.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term, in the order of the terms.
    idf_ : ndarray of shape (n_features,)
        The factor of each term, if ``use_idf``.
    fixed_vocabulary_ : bool
        Whether the terms were given.
    solver_used_ : {"native", "python"}
        Who cut the texts into terms, as :class:`CountVectorizer` says.
    n_samples_seen_ : int
        The number of texts that the terms come from.

    See Also
    --------
    CountVectorizer : Counts alone.
    HashingVectorizer : Columns by hash, without a vocabulary.

    Notes
    -----
    The weights need the number of texts that hold each term and no counts of single texts: ``fit`` reads a stream of
    texts once and keeps the terms alone, and ``partial_fit`` goes on with more texts.

    Examples
    --------
    >>> from mercer.feature_extraction.text import TfidfVectorizer
    >>> texts = ["The cat sat.", "A cat and the other cat.", "The end."]
    >>> weights = TfidfVectorizer().fit(texts)
    >>> dict(zip(weights.get_feature_names_out(), weights.idf_.round(3).tolist()))
    {'and': 1.693, 'cat': 1.288, 'end': 1.693, 'other': 1.693, 'sat': 1.693, 'the': 1.0}
    """

    dtype: Any = parameter(
        Instance(type, np.dtype, str),
        default=np.float64,
        after="binary",
        doc="The type of the entries of the result.",
    )
    norm: str | None = parameter(
        Choice("l1", "l2") | Nothing(), default="l2", after="dtype", doc="The norm that each row gets, or None."
    )
    use_idf: bool = parameter(
        Boolean(), default=True, after="norm", doc="Whether counts are weighted by how rare a term is."
    )
    smooth_idf: bool = parameter(
        Boolean(),
        default=True,
        after="use_idf",
        doc="Whether one more text that holds every term is thought to be there.",
    )
    sublinear_tf: bool = parameter(
        Boolean(), default=False, after="smooth_idf", doc="Whether 1 + log(x) stands for each count x."
    )

    @property
    def idf_(self) -> Array:
        """The factor of each term."""
        if "_tfidf" not in vars(self):
            raise NotFittedError("TfidfVectorizer: idf_ is not there before a fit. Call fit first.")
        return self._tfidf.idf_

    @idf_.setter
    def idf_(self, value: Any) -> None:
        if not self.use_idf:
            raise DataError("TfidfVectorizer: `idf_` cannot be set when `use_idf=False`; set use_idf=True first.")
        if self.vocabulary is not None or "vocabulary_" in vars(self):
            terms = self._find_vocabulary()
            if len(terms) != len(value):
                raise DataError(
                    f"TfidfVectorizer: idf length = {len(value)} must be equal to vocabulary size = {len(terms)}."
                )
        if "_tfidf" not in vars(self):
            self._tfidf = self._make_weights()
        self._tfidf.idf_ = np.asarray(value)

    def _make_weights(self) -> TfidfTransformer:
        names = ("norm", "use_idf", "smooth_idf", "sublinear_tf")
        return TfidfTransformer(**{name: getattr(self, name) for name in names})

    def _check_settings(self) -> None:
        super()._check_settings()
        if np.dtype(self.dtype) not in _FLOATS:
            warnings.warn(
                f"TfidfVectorizer: Only {_FLOATS} 'dtype' should be used. {self.dtype} 'dtype' will be converted to "
                f"np.float64.",
                UserWarning,
                stacklevel=4,
            )

    def _conclude_terms(self, held: Array, n_texts: int) -> None:
        kind = np.dtype(self.dtype)
        weights = self._make_weights()
        kind = kind if kind in (np.float64, np.float32) else np.dtype(np.float64)
        weights._set_counts(held, n_texts, kind)
        weights.n_features_in_ = len(self.vocabulary_)
        self._tfidf = weights

    def fit_transform(self, raw_documents: Iterable[Any], y: Any = None) -> Any:
        """Learn the terms and return their weights.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            Weights.
        """
        counts = super().fit_transform(raw_documents)
        return self._tfidf.transform(counts, copy=False)

    def transform(self, raw_documents: Iterable[Any]) -> Any:
        """Weight the terms of texts.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            Weights; terms that are not in the vocabulary are left out.
        """
        check_is_fitted(self, msg="The TF-IDF vectorizer is not fitted")
        return self._tfidf.transform(super().transform(raw_documents), copy=False)

    def __sklearn_is_fitted__(self) -> bool:
        return "_tfidf" in vars(self)
