"""Sines and cosines of the columns."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array, Integer, Nothing, Real, parameter
from mercer._source import Block
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats
from mercer.errors import ParameterError
from mercer.preprocessing._basis import Basis, BasisState


class FourierBasis(Basis):
    """Cosines and sines of each column: cos(2 pi k (x - a) / T) and sin(2 pi k (x - a) / T) for k = 1, 2...

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (n_features,)
        The range of each column; a is its lower end.
    period_ : ndarray of shape (n_features,)
        T.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    A model that is linear in these columns repeats itself after T, inside the training rows and outside. Evenly spaced
    rows over one period make them orthogonal. Dense rows in memory, files, streams and Dask arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LinearRegression
    >>> from mercer.preprocessing import FourierBasis
    >>> hour = np.arange(48.0)[:, None]
    >>> y = 10 + 3 * np.sin(2 * np.pi * hour[:, 0] / 24)
    >>> model = LinearRegression().fit(FourierBasis(2, period=24.0).fit_transform(hour), y)
    >>> model.coef_.round(6) + 0.0
    array([0., 3., 0., 0.])
    """

    n_frequencies: int = parameter(
        Integer(1), default=3, kw_only=False, doc="The highest k; each column gives twice as many."
    )
    period: Any = parameter(
        Real(0, math.inf, "neither") | Array() | Nothing(),
        default=None,
        doc="T, for all columns or for each; None means the range of each column.",
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _stored: ClassVar[dict[str, Stored]] = {
        "period_": floats("columns"),
        "data_min_": floats("columns"),
        "data_max_": floats("columns"),
    }

    def _fitted(self, state: BasisState) -> dict[str, Any]:
        # `half` is 1 for a constant column, so the period is never zero.
        period = 2.0 * state.half if self.period is None else np.asarray(self.period, dtype=np.float64)
        if period.shape not in ((), state.low.shape) or not (period > 0).all():
            raise ParameterError(
                f"FourierBasis: period must be one positive number, or one for each of {len(state.low)} columns; got "
                f"{self.period!r}."
            )
        return super()._fitted(state) | {"period_": np.broadcast_to(period, state.low.shape).copy()}

    def _make_expansion(self, state: BasisState) -> "_Waves":
        width = 2 * self.n_frequencies * len(state.low)
        require_memory("FourierBasis", 16.0 * width, f"{width} values of a row", "lower n_frequencies")
        return _Waves(state.low, self.period_, self.n_frequencies)

    def _list_names(self, columns: list[str]) -> list[str]:
        # 200 bytes a name. A model file can name any number of frequencies: the names must not fill the memory.
        width = 2 * self.n_frequencies * len(columns)
        require_memory("FourierBasis", 200.0 * width, f"names of {width} columns", "lower n_frequencies")
        pairs = [(f"cos{k}({name})", f"sin{k}({name})") for name in columns for k in range(1, self.n_frequencies + 1)]
        return [name for pair in pairs for name in pair]


@dataclass(frozen=True, eq=False)
class _Waves:
    """Expands a block into cosine and sine of each frequency, column by column."""

    start: np.ndarray
    period: np.ndarray
    n_frequencies: int

    def __call__(self, block: Block) -> np.ndarray:
        # Subtract the start before the division: large offsets, such as dates, then cost no digits of the phase.
        phase = 2.0 * math.pi * ((block.X - self.start) / self.period)
        angles = phase[:, :, None] * np.arange(1, self.n_frequencies + 1)
        return np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(block.n, -1)
