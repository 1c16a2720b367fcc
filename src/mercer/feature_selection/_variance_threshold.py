"""Columns that vary: those of a small variance are left out."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._base.blockwise import BlockMap, BlockTransformer, refuse_infinite
from mercer._base.parameter import Real, parameter
from mercer._source import Source
from mercer._statistic.column_moments import ColumnMoments
from mercer._statistic.extent import Extent
from mercer._statistic.pair import Pair
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError


class VarianceThreshold(SelectorMixin, BlockTransformer):
    r"""Keep the columns whose variance is above a threshold.

    .. math:: \textstyle\sum_i (x_{ij} - m_j)^2 / n > t

    with the mean m of each column of the n training rows and the threshold t; with :math:`t = 0` the columns that are
    not constant.

    Attributes
    ----------
    variances_ : ndarray of shape (n_features,)
        The variances; NaN for a column without entries.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    One pass, O(d) memory. Missing entries (NaN) are left out. Variances are centred block by block, so that columns far
    from zero keep their digits. Rows: NumPy, sparse, frames, files, streams (also such as can be read only once), Dask.

    Examples
    --------
    >>> from mercer.feature_selection import VarianceThreshold
    >>> rows = [[0.0, 2.0, 0.0], [0.0, 1.0, 4.0], [0.0, 1.0, 1.0]]
    >>> selector = VarianceThreshold().fit(rows)
    >>> selector.get_support(), selector.transform(rows).shape
    (array([False,  True,  True]), (3, 2))
    """

    threshold: float = parameter(Real(0), default=0.0, kw_only=False, doc="The largest variance of a left-out column.")

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _stored: ClassVar[dict[str, Stored]] = {"variances_": floats("columns")}
    _takes_gaps = True
    _takes_sparse = True

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, Array]:
        sums = yield Pair(ColumnMoments(), Extent())
        moments, extent = sums.first, sums.second
        if moments.infinite:
            refuse_infinite(self, moments.infinite)
        variances = moments.scatter / np.where(moments.weights > 0, moments.weights, np.nan)
        if self.threshold == 0:
            low, high = extent.known
            # Rounding may leave a constant column a variance, and take that of tiny numbers: their range tells.
            variances = np.where(low == high, 0.0, np.maximum(variances, np.finfo(np.float64).smallest_normal))
        if not (variances > self.threshold).any():
            alone = " (X contains only one sample)" if extent.n_rows == 1 else ""
            raise DataError(
                f"VarianceThreshold: No feature in X meets the variance threshold {self.threshold:.5f}{alone}. Lower "
                f"threshold; the largest variance is {np.max(variances, initial=0.0, where=~np.isnan(variances)):.3g}."
            )
        return variances

    def _fitted(self, state: Array) -> dict[str, Any]:
        return {"variances_": state}

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.variances_ > self.threshold

    def transform(self, X: Any) -> Array:
        """Leave out the columns of small variance.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features_out)
            Where and what the rows are: a Dask array for those of Dask, a CSR matrix for sparse ones.
        """
        return self._map(X, False)

    def _make_map(self, back: bool = False) -> "Kept":
        return Kept(type(self).__name__, np.flatnonzero(self._get_support_mask()))

    def _count_columns(self, source: Source) -> int:
        return int(self._get_support_mask().sum())


@dataclass(frozen=True, eq=False)
class Kept(BlockMap):
    """Some columns, by index."""

    columns: Array

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        return rows[:, self.columns]

    def write(self, block: Any, out: Array) -> None:
        np.take(block.X, self.columns, axis=1, out=out, mode="clip")

    def on_entries(self, X: Any, in_place: bool) -> Any:
        return X[:, self.columns]
