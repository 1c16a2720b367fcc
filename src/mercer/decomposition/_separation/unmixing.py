"""What fitted separations share: sources from rows, rows from sources, and rows without some sources."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import few_rows, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.model_placement import check_placement
from mercer._source import Block, open_place, open_source, place_of
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class _Affine:
    """Rows of a block minus `before`, times the transpose of a matrix, plus `after`."""

    matrix: Array
    before: Any
    after: Any

    def __call__(self, block: Block) -> Array:
        return block.xp.matmul(block.X - self.before, self.matrix.T) + self.after


@dataclass(frozen=True, eq=False)
class _Removal:
    """Rows of a block without the parts that some sources have in them."""

    unmixing: Array
    mixing: Array
    mean: Any

    def __call__(self, block: Block) -> Array:
        xp = block.xp
        sources = xp.matmul(block.X - self.mean, self.unmixing.T)
        return block.X - xp.matmul(sources, self.mixing.T)


class Unmixer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Transforms by ``components_`` (k, d), ``mixing_`` (d, k) and ``mean_`` (d,)."""

    components_: Array
    mixing_: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "mean_": floats("columns"),
    }

    def transform(self, X: Any) -> Array:
        """Return the sources of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Sources.
        """
        if (rows := few_rows(self, X)) is not None:
            return (rows - self._mean()) @ self.components_.T
        source = open_new_rows(self, X)
        return source.map(_Affine(self.components_, self._mean(), 0.0))

    def inverse_transform(self, X: Any, *, exclude: Any = ()) -> Array:
        """Mix sources to rows again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Sources, as :meth:`transform` returns them.
        exclude : sequence of int, default=()
            Numbers of sources that are set to zero first, such as artefacts.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows.
        """
        check_is_fitted(self)
        check_placement(self, X)
        if (place := place_of(X)) == "device":
            source = open_place(place, X, None, None, subject=type(self).__name__, targets=None, threads=1)
        else:
            X = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
            source = open_source(X, threads=self._threads())  # type: ignore[attr-defined]
        if source.n_features != self.components_.shape[0]:
            raise DataError(
                f"{type(self).__name__}: X has {source.n_features} columns, but inverse_transform expects "
                f"{self.components_.shape[0]}, one per source; give what transform returned."
            )
        mixing = self.mixing_
        if len(excluded := self._check_numbers(exclude)):
            xp = namespace_of(mixing)
            keep = np.ones(mixing.shape[1])
            keep[excluded] = 0.0
            mixing = mixing * xp.asarray(keep, dtype=mixing.dtype, device=getattr(mixing, "device", None))
        return source.map(_Affine(mixing, 0.0, self._mean()))

    def remove_sources(self, X: Any, exclude: Any) -> Array:
        """Subtract from rows what some sources contribute to them, such as blinks from a recording.

        What lies outside of all components stays in the rows, unlike with ``inverse_transform(transform(X))``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        exclude : sequence of int
            Numbers of the sources to subtract.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Cleaned rows.
        """
        check_is_fitted(self)
        numbers = self._check_numbers(exclude)
        xp = namespace_of(self.components_)
        chosen = xp.asarray(numbers, device=getattr(self.components_, "device", None))
        unmixing = xp.take(self.components_, chosen, axis=0)
        mixing = xp.take(self.mixing_, chosen, axis=1)
        return open_new_rows(self, X).map(_Removal(unmixing, mixing, self._mean()))

    def _mean(self) -> Any:
        """Return what is taken off the rows before they are unmixed."""
        return self.mean_  # type: ignore[attr-defined]

    def _check_numbers(self, exclude: Any) -> Array:
        """Return the numbers of sources as an array, within the range of sources."""
        numbers, k = np.asarray(exclude), self.components_.shape[0]
        numbers = numbers.astype(np.int64) if numbers.size == 0 else np.atleast_1d(numbers)
        if numbers.dtype.kind not in "iu" or ((numbers < -k) | (numbers >= k)).any():
            raise ParameterError(
                f"{type(self).__name__}: exclude must hold whole numbers from 0 to {k - 1}, one for each source to "
                f"leave out; got {exclude!r}. Give the columns of the sources in what transform returns."
            )
        return numbers % k

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
