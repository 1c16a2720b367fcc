"""Values above a threshold become one, others zero."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.blockwise import BlockMap, StatelessTransformer
from mercer._base.parameter import Real, parameter
from mercer._source import Block, Source
from mercer._types import Array
from mercer.errors import DataError


class Binarizer(StatelessTransformer):
    """Turn values into 1 where they are above a threshold, and into 0 elsewhere.

    Attributes
    ----------
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is learnt.

    Notes
    -----
    One comparison a value. Nothing is learnt: ``fit`` only notes the columns, and ``transform`` works without it.
    Sparse rows stay sparse, if the threshold is not negative. Rows: NumPy, sparse, frames, files, streams, Dask,
    devices.

    Examples
    --------
    >>> from mercer.preprocessing import Binarizer
    >>> Binarizer(threshold=1.0).transform([[1.0, -1.0, 2.0], [3.0, 0.0, 0.0]])
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """

    threshold: float = parameter(Real(), default=0.0, doc="Values up to it become 0, those above it 1.")

    def _check_storage(self, source: Source) -> None:
        if source.is_sparse and self.threshold < 0:
            raise DataError(
                f"{type(self).__name__}: Cannot binarize a sparse matrix with threshold < 0: its zeros would become "
                f"ones; got {self.threshold:g}. Make the rows dense."
            )

    def _make_map(self, back: bool = False) -> "_Above":
        return _Above(type(self).__name__, self.threshold)


@dataclass(frozen=True, eq=False)
class _Above(BlockMap):
    """One where a value is above the threshold, else zero."""

    threshold: float

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        return xp.astype(rows > self.threshold, rows.dtype)

    def write(self, block: Block, out: Array) -> None:
        np.greater(block.X, self.threshold, out=out, casting="unsafe")

    def on_entries(self, X: Any, in_place: bool) -> Any:
        result = X if in_place else X.copy()
        result.data[:] = result.data > self.threshold
        result.eliminate_zeros()
        return result
