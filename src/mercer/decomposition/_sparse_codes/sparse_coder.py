"""What estimators of sparse codes share, and the codes for atoms of one's own."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.linear_map import MethodOnBlock
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, attribute, check_parameters, parameter
from mercer._source import Block, open_source
from mercer._stored import Stored, size
from mercer._types import Array
from mercer.decomposition._sparse_codes.coding import ALGORITHMS, CodingRule, encode, encode_rows
from mercer.errors import DataError

_CODES = (
    'How rows are coded: ``"lasso_lars"`` and ``"lasso_cd"`` are the Lasso, whose codes coordinate descent finds; '
    '``"lars"`` and ``"omp"`` take `transform_n_nonzero_coefs` atoms one after the other; ``"threshold"`` shrinks the '
    "products with the atoms."
)


class SparseCoding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LimitedEstimator):
    """Maps rows to sparse weights of atoms."""

    _needs_rows: ClassVar[str] = "its codes have an entry for each row"

    transform_algorithm: str = parameter(Choice(*ALGORITHMS), default="omp", doc=_CODES)
    transform_n_nonzero_coefs: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc='Atoms in a row, for ``"lars"`` and ``"omp"``; None is a tenth of the columns.',
    )
    transform_alpha: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        doc="The penalty of ``transform``; None is `alpha` where there is one, or 1.",
    )
    split_sign: bool = parameter(
        Boolean(), default=False, doc="Whether positive and negative parts of the codes are columns of their own."
    )
    positive_code: bool = parameter(Boolean(), default=False, doc="Whether codes are kept from being negative.")
    transform_max_iter: int = parameter(Integer(0), default=1000, doc="Most sweeps over the atoms for a row.")

    _stored: ClassVar[dict[str, Stored]] = {}

    def _atoms(self) -> Array:
        """Return the atoms (k, d) of a fitted model."""
        raise NotImplementedError  # learnt in some, given in others

    def _transform_rule(self) -> CodingRule:
        alpha = self.transform_alpha if self.transform_alpha is not None else vars(self).get("alpha")
        count = self.transform_n_nonzero_coefs
        return CodingRule.of(
            self.transform_algorithm, alpha, count, self.positive_code, self.transform_max_iter, self._atoms().shape
        )

    def transform(self, X: Any) -> Array:
        """Return the codes of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Codes; with `split_sign` their positive and their negative parts.
        """
        self._transform_rule()
        if (rows := few_rows(self, X)) is not None:
            return self._scores(open_source(rows).block(0))
        return open_new_rows(self, X).map(MethodOnBlock.of(self, "_scores"))

    def inverse_transform(self, X: Any) -> Array:
        """Return the rows that codes stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Codes, as :meth:`transform` makes them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows.
        """
        check_is_fitted(self)
        codes, atoms = check_array(X, dtype=[np.float64, np.float32]), np.asarray(self._atoms())
        wanted = len(atoms) * (2 if self.split_sign else 1)
        if codes.shape[1] != wanted:
            raise DataError(
                f"{type(self).__name__}: The number of components in the code is different from the number of "
                f"components in the dictionary. Expected {wanted}, got {codes.shape[1]}."
            )
        if self.split_sign:
            codes = codes[:, : len(atoms)] - codes[:, len(atoms) :]
        return codes @ atoms.astype(codes.dtype, copy=False)

    def _scores(self, block: Block) -> Array:
        codes = encode_rows(block.X, self._atoms(), self._transform_rule(), warns=True).astype(
            block.X.dtype, copy=False
        )
        return np.concatenate([np.maximum(codes, 0), np.maximum(-codes, 0)], axis=1) if self.split_sign else codes

    @property
    def _n_features_out(self) -> int:
        return len(self._atoms()) * (2 if self.split_sign else 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SparseCoder(SparseCoding):
    r"""Sparse codes of rows for atoms of one's own.

    A row x becomes the code w that is, with ``"lasso_lars"`` or ``"lasso_cd"``,

    .. math:: \arg\min_w \tfrac12 \lVert x - w D \rVert^2 + \alpha \lVert w \rVert_1 ,

    D the `dictionary`, or found by least angles or matching pursuit with a number of atoms.

    Attributes
    ----------
    n_components_ : int
        The number of atoms.

    Notes
    -----
    Learns nothing: ``fit`` checks the columns, and ``transform`` works without it. The Lasso's codes are found for all
    rows at once, in native code. Rows in memory.

    References
    ----------
    Efron, Hastie, Johnstone and Tibshirani (2004), Least angle regression. Friedman, Hastie and Tibshirani (2010),
    Regularization paths for generalized linear models via coordinate descent.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import SparseCoder
    >>> D = np.array([[0.0, 1.0, 0.0], [-1.0, -1.0, 2.0], [1.0, 1.0, 1.0]])
    >>> coder = SparseCoder(D, transform_algorithm="lasso_cd", transform_alpha=1e-10)
    >>> coder.transform([[-1.0, -1.0, -1.0], [0.0, 0.0, 3.0]]).round(6) + 0.0
    array([[ 0.,  0., -1.],
           [ 0.,  1.,  1.]])

    See Also
    --------
    DictionaryLearning : Atoms that are learnt from the rows.
    """

    dictionary: Any = parameter(ArrayRule(), kw_only=False, doc="The atoms, of shape (n_components, n_features).")
    max_time: float | None = attribute(None)

    _stores_record: ClassVar[bool] = False
    _stored: ClassVar[dict[str, Stored]] = {"n_components_": size("components")}

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check that the rows have the columns of the atoms."""
        source = self._open(X)
        atoms = self._atoms()
        if source.n_features != atoms.shape[1]:
            raise DataError(
                f"SparseCoder: Dictionary and X have different numbers of features: dictionary.shape: {atoms.shape} "
                f"X.shape: {(source.n_rows, source.n_features)}. Give atoms with the columns of the rows."
            )
        self.n_components_ = len(atoms)
        return self

    def _atoms(self) -> Array:
        return np.asarray(self.dictionary)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def sparse_encode(
    X: Any,
    dictionary: Any,
    *,
    gram: Any = None,
    cov: Any = None,
    algorithm: str = "lasso_lars",
    n_nonzero_coefs: int | None = None,
    alpha: float | None = None,
    copy_cov: bool = True,
    init: Any = None,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    check_input: bool = True,
    verbose: int = 0,
    positive: bool = False,
) -> Array:
    """Find the sparse codes of rows for given atoms.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    dictionary : array-like of shape (n_components, n_features)
        Atoms.
    gram : array-like of shape (n_components, n_components), default=None
        Inner products of the atoms; None computes them.
    cov : array-like of shape (n_components, n_samples), default=None
        Inner products of atoms and rows; None computes them.
    algorithm : {"lasso_lars", "lasso_cd", "lars", "omp", "threshold"}, default="lasso_lars"
        How rows are coded, as in :class:`SparseCoder`.
    n_nonzero_coefs : int or None, default=None
        Atoms in a row, for ``"lars"`` and ``"omp"``; None is a tenth of the columns.
    alpha : float or None, default=None
        The penalty; None is 1.
    copy_cov, n_jobs, check_input, verbose
        Have no effect: nothing is overwritten, and rows are always checked.
    init : array-like of shape (n_samples, n_components), default=None
        Codes to start from, for the Lasso.
    max_iter : int, default=1000
        Most sweeps over the atoms for a row.
    positive : bool, default=False
        Whether codes are kept from being negative.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Codes.

    Examples
    --------
    >>> from mercer.decomposition import sparse_encode
    >>> sparse_encode([[3.0, 0.5]], [[1.0, 0.0], [0.0, 1.0]], alpha=1.0)
    array([[2., 0.]])
    """
    rules = {"algorithm": Choice(*ALGORITHMS), "n_nonzero_coefs": Integer(1) | Nothing(), "max_iter": Integer(0)}
    check_parameters("sparse_encode", rules | {"alpha": Real(0) | Nothing()}, locals())
    rows = check_array(X, dtype=[np.float64, np.float32], input_name="X")
    atoms = check_array(dictionary, dtype=np.float64, input_name="dictionary")
    if rows.shape[1] != atoms.shape[1]:
        raise DataError(
            f"sparse_encode: Dictionary and X have different numbers of features: dictionary.shape: {atoms.shape} "
            f"X.shape: {rows.shape}. Give atoms with the columns of the rows."
        )
    rule = CodingRule.of(algorithm, alpha, n_nonzero_coefs, positive, max_iter, atoms.shape)
    wide = np.asarray(rows, dtype=np.float64)
    G = atoms @ atoms.T if gram is None else np.asarray(gram, dtype=np.float64)
    P = wide @ atoms.T if cov is None else np.asarray(cov, dtype=np.float64).T
    start = None if init is None else np.array(init, dtype=np.float64, order="C")
    squares = np.einsum("ij,ij->i", wide, wide)
    return encode(np.ascontiguousarray(P), np.ascontiguousarray(G), squares, rule, start, True).astype(
        rows.dtype, copy=False
    )
