"""What the estimators of nonnegative factorisation share: parameters, the map of new rows, and the way back."""

import math
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows
from mercer._base.linear_map import LinearMap, MethodOnBlock
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, attribute, parameter
from mercer._source import Block, open_source
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, floats, size
from mercer._types import Array
from mercer.decomposition._nonnegative.problem import Penalties, read_beta
from mercer.errors import DataError


def check_not_negative(X: Any, subject: str) -> None:
    """Raise if rows given to a fitted model have a negative entry."""
    values = X.data if is_sparse_matrix(X) else X
    if values.size and values.min() < 0:
        raise DataError(
            f"Negative values in data passed to {subject} (input X): factors without negative entries cannot make "
            f"them. Shift or clip the rows."
        )


class FactorModel(LinearMap, LimitedEstimator):
    """Maps rows x to the nonnegative w with the least loss between x and ``w components_``."""

    _needs_rows: ClassVar[str] = "its factors have an entry for each row"

    n_components: Any = parameter(
        Integer(1) | Choice("auto") | Nothing(),
        default="auto",
        kw_only=False,
        doc='How many parts; ``"auto"`` is that of a given H, else, as None, the number of columns.',
    )
    init: str | None = parameter(Choice("random", "nndsvd", "nndsvda", "nndsvdar", "custom") | Nothing(), default=None)
    beta_loss: Any = parameter(
        Real(-math.inf, math.inf, "neither") | Choice("frobenius", "kullback-leibler", "itakura-saito"),
        default="frobenius",
    )
    tol: float = parameter(Real(0), default=1e-4)
    max_iter: int = parameter(Integer(1), default=200)
    alpha_W: float = parameter(Real(0, closed="left"), default=0.0, doc="Size of the penalty on W.")
    alpha_H: Any = parameter(
        Real(0, closed="left") | Choice("same"),
        default="same",
        doc='Size of the penalty on H; ``"same"`` is that on W.',
    )
    l1_ratio: float = parameter(Real(0, 1), default=0.0, doc="Share of the l1 norm in the penalties.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0)

    _places: ClassVar[tuple[str, ...]] = ("memory",)
    components_: Any = attribute()
    n_components_: int = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "n_components_": size("components"),
        "reconstruction_err_": floats(),
    }
    _takes_sparse = True

    @fitting
    def fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Self:
        """Find the parts of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows without negative entries.
        W : array-like of shape (n_samples, n_components), default=None
            The start with ``init="custom"``.
        H : array-like of shape (n_components, n_features), default=None
            The start with ``init="custom"``.
        """
        self._learn(X, W, H)
        return self

    @fitting
    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Array:
        """Find the parts of `X` and return the weights of its rows, as ``transform`` gives them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows without negative entries.
        W : array-like of shape (n_samples, n_components), default=None
            The start with ``init="custom"``.
        H : array-like of shape (n_components, n_features), default=None
            The start with ``init="custom"``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            W.
        """
        weights = self._learn(X, W, H)
        return self.transform(X) if weights is None else weights

    @abstractmethod
    def _learn(self, X: Any, W: Any, H: Any) -> Array | None:
        """Fit from a given start; return the weights of the rows where they are those that ``transform`` gives."""

    def transform(self, X: Any) -> Array:
        """Find the nonnegative weights of the components in new rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows without negative entries.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            W.
        """
        if (rows := few_rows(self, X)) is not None:
            check_not_negative(rows, type(self).__name__)
            return self._scores(open_source(rows).block(0))
        source = open_new_rows(self, X, accept_sparse="csr")
        check_not_negative(source.whole(), type(self).__name__)
        return source.map(MethodOnBlock.of(self, "_scores"))

    def inverse_transform(self, X: Any) -> Array:
        """Return the rows that weights of the components make: ``X @ components_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_components)
            Weights, as :meth:`transform` makes them.
        """
        check_is_fitted(self)
        if is_sparse_matrix(X):
            X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]).toarray()
        return super().inverse_transform(X)

    @abstractmethod
    def _scores(self, block: Block) -> Array:
        """Return the weights of the rows of a block, for the parts of the fit."""

    def _penalties(self, n_rows: int) -> Penalties:
        """Return the penalties for `n_rows` rows of the fitted columns."""
        return Penalties.of(self, n_rows, self.n_features_in_)

    @property
    def _beta(self) -> float:
        return read_beta(self.beta_loss)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
