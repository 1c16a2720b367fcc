"""Columns of a uniform or a normal distribution, by the ranks of the training rows."""

import warnings
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from mercer._base.blockwise import BlockMap, ReversibleTransformer
from mercer._base.blockwise.quantiles import find_quantiles
from mercer._base.interface import OneToOneFeatureMixin
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Seed, parameter
from mercer._source import Source
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.errors import DataError, ParameterError

# Normal values are cut off where this share of the rows lies beyond, at 5.2 deviations.
_END = 1e-7
_TAIL = _END - np.spacing(1.0)


class QuantileTransformer(OneToOneFeatureMixin, ReversibleTransformer):
    r"""Map each column to a uniform or a normal distribution by the ranks of its training rows.

    .. math:: z_j = F_j(x_j) \quad \text{or} \quad \Phi^{-1}(F_j(x_j))

    with the share F(x) of the training rows below x: linear between ``n_quantiles`` quantiles of each column, and in
    the middle of the shares that a repeated value covers.

    Attributes
    ----------
    n_quantiles_ : int
        Number of quantiles, at most the number of rows.
    quantiles_ : ndarray of shape (n_quantiles_, n_features)
        The quantiles of each column; NaN for a column without entries.
    references_ : ndarray of shape (n_quantiles_,)
        Their shares.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    A column of n rows is sorted, and each value is searched among the quantiles. Missing entries (NaN) are left out,
    and stay missing. Of more rows than ``subsample`` a random sample is drawn in one pass, the same in every place.
    Without it quantiles are exact in memory; elsewhere they are exact as long as at most 2\ :sup:`20` values differ
    in a column, and a warning states the error of others. Normal values are cut off at 5.2 deviations. Of sparse
    rows, which must not be negative, the stored values are mapped. Rows: NumPy, sparse, frames, files, streams (also
    such as can be read only once), Dask.

    Examples
    --------
    >>> from mercer.preprocessing import QuantileTransformer
    >>> scaler = QuantileTransformer(n_quantiles=5).fit([[0.0], [1.0], [2.0], [30.0], [400.0]])
    >>> scaler.transform([[1.5], [30.0], [1000.0]]).ravel()
    array([0.375, 0.75 , 1.   ])
    """

    n_quantiles: int = parameter(Integer(1), default=1000, doc="Number of quantiles, both ends among them.")
    output_distribution: str = parameter(
        Choice("uniform", "normal"), default="uniform", doc="The distribution of the transformed columns."
    )
    ignore_implicit_zeros: bool = parameter(
        Boolean(), default=False, doc="Whether the zeros that sparse rows do not store are left out of the quantiles."
    )
    subsample: int | None = parameter(
        Integer(1) | Nothing(),
        default=10_000,
        doc="Of more rows than this a random sample of as many is taken. Where only the stored values of sparse rows "
        "count, all of them do.",
    )
    random_state: Any = parameter(Seed(), default=None)
    copy: bool = parameter(
        Boolean(), default=True, doc="Whether results are new arrays; False writes those of NumPy floats over the rows."
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _stored: ClassVar[dict[str, Stored]] = {
        "n_quantiles_": integers(low=1),
        "quantiles_": floats("quantiles, columns"),
        "references_": floats("quantiles"),
    }
    _takes_gaps = True
    _takes_sparse = True

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, Array]:
        if self.subsample is not None and self.n_quantiles > self.subsample:
            raise ParameterError(
                f"QuantileTransformer: The number of quantiles cannot be greater than the number of samples used. Got "
                f"{self.n_quantiles} quantiles and {self.subsample} samples. Raise subsample."
            )
        if self.ignore_implicit_zeros and not source.is_sparse:
            warnings.warn(
                "'ignore_implicit_zeros' takes effect only with sparse matrix. This parameter has no effect.",
                UserWarning,
                stacklevel=2,
            )
        stored_only = self.ignore_implicit_zeros
        if source.is_sparse and source.place == "memory" and not stored_only:
            refuse_negative(source.whole().data)
        # A sample of sparse rows may hold few of their stored values, or none.
        size = None if source.is_sparse and stored_only else self.subsample
        quantiles = yield from find_quantiles(
            self, source, self._choose_shares, subsample=size, stored_only=stored_only
        )
        if source.is_sparse:
            if not stored_only:
                refuse_negative(quantiles)
            # A column without stored values has no quantiles of its own: it is a column of zeros.
            quantiles = np.where(np.isnan(quantiles).all(axis=0), 0.0, quantiles)
        return quantiles

    def _choose_shares(self, n_rows: int) -> Array:
        """Return the shares of the quantiles of `n_rows` rows."""
        if self.n_quantiles > n_rows:
            warnings.warn(
                f"n_quantiles ({self.n_quantiles}) is greater than the total number of samples ({n_rows}). n_quantiles "
                f"is set to n_samples.",
                UserWarning,
                stacklevel=2,
            )
        return np.linspace(0.0, 1.0, max(1, min(self.n_quantiles, n_rows)))

    def _fitted(self, state: Array) -> dict[str, Any]:
        count = len(state)
        return {"n_quantiles_": count, "quantiles_": state, "references_": np.linspace(0.0, 1.0, count)}

    def _make_map(self, back: bool = False) -> "_Ranks":
        normal = self.output_distribution == "normal"
        signed = back or self.ignore_implicit_zeros
        return _Ranks(type(self).__name__, self.quantiles_, self.references_, normal, back, signed)


def refuse_negative(values: Array) -> None:
    """Raise if a value of sparse rows is negative: their zeros would not be the least values."""
    if (values < 0).any():
        raise DataError(
            f"QuantileTransformer only accepts non-negative sparse matrices; got {np.nanmin(values):g}. Make the rows "
            f"dense, or set ignore_implicit_zeros=True."
        )


@dataclass(frozen=True, eq=False)
class _Ranks(BlockMap):
    """From values to shares of the rows, or `back`; normal values stand for shares where `normal` is set.

    Sparse rows may be negative where `signed` is set.
    """

    quantiles: Array
    references: Array
    normal: bool
    back: bool
    signed: bool

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        result = np.empty_like(rows)
        for index, quantiles in enumerate(self.quantiles.T):
            result[:, index] = self._map(rows[:, index], np.ascontiguousarray(quantiles))
        return result

    def write(self, block: Any, out: Array) -> None:
        out[...] = self.on_rows(block.X)
        self.check(block.X, out, np)

    def on_entries(self, X: Any, in_place: bool) -> Any:
        self.check(X.data, X.data, np)
        if not self.signed:
            refuse_negative(X.data)
        result = X if in_place else X.copy()
        # The entries of a column one after the other, whatever row they are in.
        order = np.argsort(result.indices, kind="stable")
        ends = np.searchsorted(result.indices[order], np.arange(len(self.quantiles.T) + 1))
        for index, quantiles in enumerate(self.quantiles.T):
            entries = order[ends[index] : ends[index + 1]]
            result.data[entries] = self._map(result.data[entries], np.ascontiguousarray(quantiles))
        return result

    def _map(self, values: Array, quantiles: Array) -> Array:
        """Map the values of a column; NaN stays."""
        values = values.astype(np.float64)
        if self.back:
            shares = ndtr(values) if self.normal else values
            if self.normal:
                # What was cut off at the tails comes from the ends.
                shares = np.where(shares <= _END, 0.0, np.where(shares >= 1.0 - _END, 1.0, shares))
            return np.interp(shares, self.references, quantiles)
        # A repeated value covers several quantiles: the middle of the first and the last of them.
        rising = np.interp(values, quantiles, self.references)
        falling = np.interp(-values, -quantiles[::-1], -self.references[::-1])
        shares = 0.5 * (rising - falling)
        # A constant column is at its lower end.
        shares[values == quantiles[-1]] = 1.0
        shares[values == quantiles[0]] = 0.0
        if not self.normal:
            return shares
        return np.clip(ndtri(shares), ndtri(_TAIL), ndtri(1.0 - _TAIL))
