"""Columns within a given range, by the least and the greatest value of the training rows."""

from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.blockwise import ColumnMap, ReversibleTransformer, refuse_infinite
from mercer._base.interface import OneToOneFeatureMixin
from mercer._base.parameter import Boolean, Pair, parameter
from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer._statistic.extent import Extent, ExtentSums
from mercer._stored import Stored, alike, floats, integers, part
from mercer.errors import ParameterError


class MinMaxScaler(OneToOneFeatureMixin, ReversibleTransformer):
    r"""Move and stretch each column so that the training rows fill a given range.

    .. math:: z_j = a + (b - a) \, (x_j - l_j) / (h_j - l_j)

    with the least value l (``data_min_``) and the greatest value h (``data_max_``) of each column of the training rows,
    and [a, b] the range ``feature_range``.

    Attributes
    ----------
    data_min_, data_max_, data_range_ : ndarray of shape (n_features,)
        l, h and h - l; NaN for a column without entries.
    scale_ : ndarray of shape (n_features,)
        (b - a) / (h - l), and b - a for a constant column.
    min_ : ndarray of shape (n_features,)
        What is added to the scaled values, a - l ``scale_``.
    n_samples_seen_ : int
        Number of rows seen.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    One pass, O(d) memory. Missing entries (NaN) are left out, and stay missing. ``partial_fit`` gives the range of one
    fit to all rows. Values are moved by l before they are divided, so that columns far from zero keep their digits.
    Rows: NumPy, frames, files, streams (also such as can be read only once), Dask, devices.

    Examples
    --------
    >>> from mercer.preprocessing import MinMaxScaler
    >>> scaler = MinMaxScaler().fit([[-1.0, 2.0], [0.0, 6.0], [1.0, 18.0]])
    >>> scaler.transform([[0.5, 10.0], [2.0, 2.0]])
    array([[0.75, 0.5 ],
           [1.5 , 0.  ]])
    """

    feature_range: tuple[float, float] = parameter(
        Pair(), default=(0, 1), kw_only=False, doc="The range [a, b] that the training rows fill."
    )
    copy: bool = parameter(
        Boolean(), default=True, doc="Whether results are new arrays; False writes those of NumPy floats over the rows."
    )
    clip: bool = parameter(
        Boolean(), default=False, doc="Whether other rows are cut off at the ends of the range; it cannot be undone."
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _stored: ClassVar[dict[str, Stored]] = {
        **alike(floats("columns"), "data_min_", "data_max_", "data_range_", "scale_", "min_"),
        "n_samples_seen_": integers(low=0),
        "_seen": part("ExtentSums"),
    }
    _takes_gaps = True

    @fitting
    def partial_fit(self, X: Any, y: Any = None) -> "MinMaxScaler":
        """Add rows to those that ``fit`` and earlier calls were given: the range is that of one fit to all."""
        self._learn(X, y, seen=vars(self).get("_seen"))
        return self

    def _survey(self, source: Source, seen: ExtentSums | None) -> Generator[Any, Any, ExtentSums]:
        low, high = self.feature_range
        if low >= high:
            raise ParameterError(
                f"{type(self).__name__}: Minimum of desired feature range must be smaller than maximum. Got "
                f"{self.feature_range}. Give the smaller number first."
            )
        found = yield Extent()
        if found.is_infinite:
            refuse_infinite(self)
        return found if seen is None else seen + found

    def _fitted(self, state: ExtentSums) -> dict[str, Any]:
        low, high = state.known
        span, (a, b) = high - low, self.feature_range
        scale = (b - a) / np.where(span == 0, 1.0, span)
        return {
            "data_min_": low,
            "data_max_": high,
            "data_range_": span,
            "scale_": scale,
            "min_": a - low * scale,
            "n_samples_seen_": state.n_rows,
            "_seen": state,
        }

    def _make_map(self, back: bool = False) -> ColumnMap:
        a, b = self.feature_range
        low, span = to_numpy(self.data_min_), to_numpy(self.data_range_)
        unit = np.where(span == 0, 1.0, span) / (b - a)
        limits = (float(a), float(b)) if self.clip and not back else None
        # (x - (l - a u)) / u with u = (h - l) / (b - a): the ends of the range come out without rounding where a is 0.
        return ColumnMap(type(self).__name__, low - a * unit if a else low, unit, back, limits)
