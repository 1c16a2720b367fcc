"""The base of encoders that turn each column of a table into some columns of numbers, by their parameters alone."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.blockwise.composed import StreamedTransformer
from mercer._base.column_names import read_column_names
from mercer._base.interface import BaseEstimator, TransformerMixin
from mercer._base.parameter import Declared, check_parameters
from mercer._types import Array

_ROWS = "X : frame or array-like of shape (n_samples, n_features), or a table elsewhere\n    Rows."


class ColumnsInMemory(Declared, TransformerMixin, BaseEstimator):
    """An encoder of columns in memory; a subclass opens, names and encodes them."""

    _row_text: ClassVar[str] = _ROWS

    def _open_rows(self, X: Any, reset: bool) -> Any:
        """Return the columns of rows, checked."""
        raise NotImplementedError  # each encoder defines its own

    def _encode_rows(self, columns: Any) -> Array:
        """Return the numbers of some rows."""
        raise NotImplementedError  # each encoder defines its own

    def _list_parts(self) -> list[str]:
        """Return the endings of the names of the columns that each column gives."""
        raise NotImplementedError  # each encoder defines its own

    def fit(self, X: Any, y: Any = None) -> Any:
        """Store the columns; nothing else is learnt."""
        check_parameters(type(self).__name__, self._parameters, self.get_params(deep=False))
        self._encode_rows(self._open_rows(X, True))
        return self

    def transform(self, X: Any) -> Any:
        """Turn columns into numbers."""
        check_is_fitted(self)
        return self._encode_rows(self._open_rows(X, False))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the name of each column, followed by that of its part."""
        check_is_fitted(self)
        names = read_column_names(self, input_features)
        return np.asarray([f"{name}_{part}" for name in names for part in self._list_parts()], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return "n_features_in_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class ColumnsEncoder(StreamedTransformer, ColumnsInMemory):
    """An encoder of columns in any place."""
