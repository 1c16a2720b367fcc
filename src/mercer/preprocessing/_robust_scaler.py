"""Columns of median zero and unit spread, by quantiles: outliers do not decide the scale."""

from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from mercer._base.blockwise import ColumnMap, ReversibleTransformer
from mercer._base.blockwise.quantiles import find_quantiles
from mercer._base.interface import OneToOneFeatureMixin
from mercer._base.parameter import Boolean, Pair, parameter
from mercer._source import Source
from mercer._stored import Stored, alike, floats
from mercer._types import Array
from mercer.errors import DataError, ParameterError


class RobustScaler(OneToOneFeatureMixin, ReversibleTransformer):
    r"""Centre each column at its median, and divide it by the distance of two of its quantiles.

    .. math:: z_j = (x_j - q_{50, j}) / (q_{b, j} - q_{a, j})

    with the percentiles q of the training rows and (a, b) the parameter ``quantile_range``.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,) or None
        The medians; None without ``with_centering``.
    scale_ : ndarray of shape (n_features,) or None
        The distances of the quantiles, and 1 where they are the same; None without ``with_scaling``.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    Each column is sorted. Missing entries (NaN) are left out, and stay missing. In memory quantiles are exact.
    Elsewhere one pass counts the values, 16 MB a column at most: quantiles are exact as long as at most
    2\ :sup:`20` values differ in a column, and a warning states the error of others. Rows: NumPy, sparse (where
    ``with_centering=False``), frames, files, streams (also such as can be read only once), Dask.

    Examples
    --------
    >>> from mercer.preprocessing import RobustScaler
    >>> scaler = RobustScaler().fit([[1.0], [2.0], [3.0], [4.0], [1000.0]])
    >>> scaler.center_, scaler.scale_
    (array([3.]), array([2.]))
    """

    with_centering: bool = parameter(
        Boolean(),
        default=True,
        doc="Whether medians are taken off. Sparse rows would not stay sparse: they need False.",
    )
    with_scaling: bool = parameter(Boolean(), default=True, doc="Whether to divide by the distance of the quantiles.")
    quantile_range: tuple[float, float] = parameter(
        Pair(), default=(25.0, 75.0), doc="The percentiles a and b, from 0 to 100."
    )
    copy: bool = parameter(
        Boolean(), default=True, doc="Whether results are new arrays; False writes those of NumPy floats over the rows."
    )
    unit_variance: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether distances are divided by those of a standard normal column: such columns get variance one.",
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _stored: ClassVar[dict[str, Stored]] = alike(floats("columns | none"), "center_", "scale_")
    _takes_gaps = True
    _takes_sparse = True

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, Array]:
        low, high = self.quantile_range
        if not 0 <= low <= high <= 100:
            raise ParameterError(
                f"{type(self).__name__}: Invalid quantile range: {self.quantile_range}. Give two percentiles from 0 to "
                f"100, the smaller one first."
            )
        quantiles = yield from find_quantiles(self, source, np.array([low, 50.0, high]) / 100.0)
        return quantiles

    def _fitted(self, state: Array) -> dict[str, Any]:
        low, centre, high = state
        span = high - low
        scale = np.where(span == 0, 1.0, span)
        if self.unit_variance:
            scale = scale / (ndtri(self.quantile_range[1] / 100.0) - ndtri(self.quantile_range[0] / 100.0))
        return {
            "center_": centre if self.with_centering else None,
            "scale_": scale if self.with_scaling else None,
        }

    def _check_storage(self, source: Source) -> None:
        if source.is_sparse and self.with_centering:
            raise DataError(
                f"{type(self).__name__}: Cannot center sparse matrices: use `with_centering=False`, or make the rows "
                f"dense; got {source.n_features} sparse columns."
            )

    def _make_map(self, back: bool = False) -> ColumnMap:
        return ColumnMap(type(self).__name__, self.center_, self.scale_, back)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.with_centering
        return tags
