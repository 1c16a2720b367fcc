"""Columns within [-1, 1], by the largest magnitude of the training rows; zeros stay zeros."""

from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.blockwise import ColumnMap, ReversibleTransformer, refuse_infinite
from mercer._base.interface import OneToOneFeatureMixin
from mercer._base.parameter import Boolean, parameter
from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer._statistic.extent import Extent, ExtentSums
from mercer._stored import Stored, alike, floats, integers, part


class MaxAbsScaler(OneToOneFeatureMixin, ReversibleTransformer):
    r"""Divide each column by the largest magnitude of its training rows.

    .. math:: z_j = x_j / m_j, \qquad m_j = \max_i |x_{ij}|

    Nothing is moved, so that sparse rows stay sparse.

    Attributes
    ----------
    max_abs_ : ndarray of shape (n_features,)
        m; NaN for a column without entries.
    scale_ : ndarray of shape (n_features,)
        m, and 1 for a column of zeros.
    n_samples_seen_ : int
        Number of rows seen.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    One pass, O(d) memory. Missing entries (NaN) are left out, and stay missing. ``partial_fit`` gives the magnitudes of
    one fit to all rows. Rows: NumPy, sparse, frames, files, streams (also such as can be read only once), Dask,
    devices.

    Examples
    --------
    >>> from mercer.preprocessing import MaxAbsScaler
    >>> MaxAbsScaler().fit_transform([[1.0, -2.0], [2.0, 0.0], [0.0, 1.0]])
    array([[ 0.5, -1. ],
           [ 1. ,  0. ],
           [ 0. ,  0.5]])
    """

    copy: bool = parameter(
        Boolean(), default=True, doc="Whether results are new arrays; False writes those of NumPy floats over the rows."
    )
    clip: bool = parameter(
        Boolean(), default=False, doc="Whether other rows are cut off at -1 and 1; it cannot be undone."
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _stored: ClassVar[dict[str, Stored]] = {
        **alike(floats("columns"), "max_abs_", "scale_"),
        "n_samples_seen_": integers(low=0),
        "_seen": part("ExtentSums"),
    }
    _takes_gaps = True
    _takes_sparse = True

    @fitting
    def partial_fit(self, X: Any, y: Any = None) -> "MaxAbsScaler":
        """Add rows to those that ``fit`` and earlier calls were given: the magnitudes are those of one fit to all."""
        self._learn(X, y, seen=vars(self).get("_seen"))
        return self

    def _survey(self, source: Source, seen: ExtentSums | None) -> Generator[Any, Any, ExtentSums]:
        found = yield Extent()
        if found.is_infinite:
            refuse_infinite(self)
        return found if seen is None else seen + found

    def _fitted(self, state: ExtentSums) -> dict[str, Any]:
        low, high = state.known
        largest = np.maximum(np.abs(low), np.abs(high))
        scale = np.where(largest == 0, 1.0, largest)
        return {"max_abs_": largest, "scale_": scale, "n_samples_seen_": state.n_rows, "_seen": state}

    def _make_map(self, back: bool = False) -> ColumnMap:
        limits = (-1.0, 1.0) if self.clip and not back else None
        return ColumnMap(type(self).__name__, None, to_numpy(self.scale_), back, limits)
