"""Counts of terms, weighted by how rare each term is."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.interface import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from mercer._base.parameter import Boolean, Choice, Nothing, check_parameters, parameter
from mercer._base.parameter.declaration import DeclaredEstimator
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array


class TfidfTransformer(
    OneToOneFeatureMixin, TransformerMixin, DeclaredEstimator, BaseEstimator, auto_wrap_output_keys=None
):
    r"""Weight counts of terms by how rare each term is.

    .. math:: x_{ij} \Bigl(1 + \log \frac{1 + n}{1 + n_j}\Bigr)

    with the count x of term j in text i, and the number :math:`n_j` of the n training texts that hold the term; without
    ``smooth_idf`` the two ones in the fraction are left out. Each row is then divided by its norm.

    Attributes
    ----------
    idf_ : ndarray of shape (n_features,)
        The factor of each term, if ``use_idf``.
    n_samples_seen_ : int
        The number of training rows.

    See Also
    --------
    TfidfVectorizer : The same of texts.

    Notes
    -----
    The numbers of texts are sums over rows: ``partial_fit`` goes on with more of them, and ends where one fit to all
    rows does.

    References
    ----------
    .. [1] K. Spärck Jones, "A statistical interpretation of term specificity and its application in retrieval", Journal
       of Documentation 28, 1972.

    Examples
    --------
    >>> from mercer.feature_extraction.text import TfidfTransformer
    >>> weights = TfidfTransformer(norm=None).fit([[3, 0, 1], [2, 1, 0], [1, 0, 0]])
    >>> weights.idf_.round(3).tolist()
    [1.0, 1.693, 1.693]
    """

    norm: str | None = parameter(
        Choice("l1", "l2") | Nothing(), default="l2", doc="The norm that each row gets, or None."
    )
    use_idf: bool = parameter(Boolean(), default=True, doc="Whether counts are weighted by how rare a term is.")
    smooth_idf: bool = parameter(
        Boolean(), default=True, doc="Whether one more text that holds every term is thought to be there."
    )
    sublinear_tf: bool = parameter(Boolean(), default=False, doc="Whether 1 + log(x) stands for each count x.")

    _row_text: ClassVar[str] = "X : {array-like, sparse matrix} of shape (n_samples, n_features)\n    Counts."

    def fit(self, X: Any, y: Any = None) -> "TfidfTransformer":
        """Learn how many rows hold each term."""
        for name in ("_held", "n_samples_seen_", "idf_"):
            vars(self).pop(name, None)
        return self._learn(X, True)

    def partial_fit(self, X: Any, y: Any = None) -> "TfidfTransformer":
        """Learn from more rows, beside those seen before."""
        return self._learn(X, "_held" not in vars(self))

    def _learn(self, X: Any, reset: bool) -> "TfidfTransformer":
        """Add rows to the numbers of texts."""
        check_parameters(type(self).__name__, self._parameters, self.get_params(deep=False))
        rows = validate_data(self, X, accept_sparse=("csr", "csc"), reset=reset)
        kind = rows.dtype if rows.dtype in (np.float64, np.float32) else np.dtype(np.float64)
        if not is_sparse_matrix(rows):
            held = np.count_nonzero(rows, axis=0)
        elif rows.format == "csc":
            held = np.diff(rows.indptr)
        else:
            held = np.bincount(rows.indices, minlength=rows.shape[1])
        seen = vars(self)
        self._set_counts(seen.get("_held", 0) + held, seen.get("n_samples_seen_", 0) + rows.shape[0], kind)
        return self

    def _set_counts(self, documents: Array, n_rows: int, kind: Any) -> None:
        """Store how many of `n_rows` texts hold each term, and the weights that follow."""
        self._held, self.n_samples_seen_ = documents, n_rows
        if self.use_idf:
            held = documents.astype(kind) + np.asarray(self.smooth_idf, kind)
            self.idf_ = np.log(np.asarray(n_rows + int(self.smooth_idf), kind) / held) + np.asarray(1, kind)

    def transform(self, X: Any, copy: bool = True) -> Any:
        """Weight counts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        copy : bool, default=True
            Whether the result is a new matrix; False writes that of a CSR matrix of floats over it.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            Weights.
        """
        check_is_fitted(self)
        floats = [np.float64, np.float32]
        rows = validate_data(self, X, accept_sparse="csr", dtype=floats, copy=copy, reset=False)
        asks_array = get_config().get("sparse_interface", "spmatrix") == "sparray"
        if not is_sparse_matrix(rows):
            rows = csr_array(rows)
        if isinstance(rows, csr_matrix) == asks_array:
            rows = (csr_array if asks_array else csr_matrix)(rows)
        if self.sublinear_tf:
            np.log(rows.data, out=rows.data)
            rows.data += 1.0
        if "idf_" in vars(self):
            rows.data *= np.take(self.idf_, rows.indices)
        return rows if self.norm is None else normalize(rows, norm=self.norm, copy=False)

    def __sklearn_is_fitted__(self) -> bool:
        return "n_features_in_" in vars(self) or "idf_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
