"""What fitted separations share: sources from rows, rows from sources, and rows without some sources."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base import open_new_rows
from mercer._base.linear_map import CentredMap
from mercer._source import Block
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import ParameterError


@dataclass(frozen=True, eq=False)
class _Removal:
    """Rows of a block without the parts that some sources have in them."""

    unmixing: Array
    mixing: Array
    mean: Any

    def __call__(self, block: Block) -> Array:
        sources = block.xp.matmul(block.X - self.mean, self.unmixing.T)
        return block.X - block.xp.matmul(sources, self.mixing.T)


class Unmixer(CentredMap):
    """Transforms by ``components_`` (k, d), ``mixing_`` (d, k) and ``mean_`` (d,)."""

    components_: Array
    mixing_: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "mean_": floats("columns"),
    }

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
        source, mixing, mean = self._open_scores(X), self.mixing_, self._mean()
        if len(excluded := self._check_numbers(exclude)):
            xp = namespace_of(mixing)
            keep = np.ones(mixing.shape[1])
            keep[excluded] = 0.0
            mixing = mixing * xp.asarray(keep, dtype=mixing.dtype, device=getattr(mixing, "device", None))
        return source.map(lambda block: block.xp.matmul(block.X, mixing.T) + mean)

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
        numbers = self._check_numbers(exclude)
        xp = namespace_of(self.components_)
        chosen = xp.asarray(numbers, device=getattr(self.components_, "device", None))
        unmixing = xp.take(self.components_, chosen, axis=0)
        return open_new_rows(self, X).map(_Removal(unmixing, xp.take(self.mixing_, chosen, axis=1), self._mean()))

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
