"""What linear transformers share: transform and inverse_transform, wherever the rows are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.later import map_later
from mercer._base.model_placement import check_placement
from mercer._base.opening import open_new_rows
from mercer._base.scikit_learn import copy_without_callbacks
from mercer._base.validation import few_rows
from mercer._source import Block, Source, open_place, open_source, place_of
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import DataError


@dataclass(frozen=True, eq=False)
class MethodOnBlock:
    """A method of a copy of a fitted model on the rows of a block; rows elsewhere may be processed after a refit."""

    model: Any
    name: str

    @classmethod
    def of(cls, model: Any, name: str) -> "MethodOnBlock":
        """Return the method `name` of a copy of `model` without its callbacks."""
        return cls(copy_without_callbacks(model), name)

    def __call__(self, block: Block) -> Array:
        return getattr(self.model, self.name)(block)


class LinearMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Maps rows x to ``components_ x``; a class whose map is another one overrides the three methods at the end."""

    # Whether a user may give sparse rows to ``transform``.
    _maps_sparse: bool = True
    components_: Any
    _threads: Any

    def transform(self, X: Any) -> Array:
        """Project rows on the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores. Of rows in files and streams an object that an estimator takes in their stead: it reads and projects
            the rows block by block in each pass.
        """
        if (rows := few_rows(self, X)) is not None:
            return self._map_few(rows)
        if (place := place_of(X)) in ("file", "stream"):
            return map_later(self, X, place, lambda model: MethodOnBlock.of(model, "_scores"), sparse=self._maps_sparse)
        sparse = "csr" if self._maps_sparse else False
        return open_new_rows(self, X, accept_sparse=sparse).map(MethodOnBlock.of(self, "_scores"))

    def inverse_transform(self, X: Any) -> Array:
        """Restore rows from their scores: exact up to what the components left out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores, as :meth:`transform` makes them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows.
        """
        return self._open_scores(X).map(lambda block: self._restore(block.X))

    def _open_scores(self, X: Any) -> Source:
        """Open what `inverse_transform` is given."""
        check_is_fitted(self)
        check_placement(self, X)
        if (place := place_of(X)) == "device":
            source = open_place(place, X, None, None, subject=type(self).__name__, targets=None, threads=1)
        else:
            X = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
            source = open_source(X, threads=self._threads())
        if source.n_features != self._n_features_out:
            raise DataError(
                f"{type(self).__name__}: X has {source.n_features} columns, but inverse_transform expects "
                f"{self._n_features_out}, one per component; give what transform returned."
            )
        return source

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _map_few(self, rows: np.ndarray) -> Array:
        """Map a small NumPy matrix that has been checked."""
        return rows @ self.components_.T

    def _scores(self, block: Block) -> Array:
        """Map the rows of a block, dense or sparse, where they are."""
        return block.matmul(self.components_.T)

    def _restore(self, scores: Array) -> Array:
        """Return rows from scores."""
        return namespace_of(scores).matmul(scores, self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class CentredMap(LinearMap):
    """A linear map of dense rows less their mean; rows are restored about it."""

    _maps_sparse = False

    def _mean(self) -> Any:
        """Return what is taken off the rows before they are mapped."""
        return self.mean_

    def _map_few(self, rows: np.ndarray) -> Array:
        return (rows - self._mean()) @ self.components_.T

    def _scores(self, block: Block) -> Array:
        return block.xp.matmul(block.X - self._mean(), self.components_.T)

    def _restore(self, scores: Array) -> Array:
        return super()._restore(scores) + self._mean()
