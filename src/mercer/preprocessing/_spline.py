"""B-splines of each column: piecewise polynomials that join smoothly at knots."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.interpolate import BSpline

from mercer._base.parameter import Choice, Integer, parameter
from mercer._solver import Dense
from mercer._source import Block, Source
from mercer._stored import Stored, floats
from mercer.errors import ModelFileError
from mercer.preprocessing._basis import Basis, BasisState


class SplineBasis(Basis):
    """B-splines of each column.

    Each column gives ``n_knots + degree - 1`` piecewise polynomials, each non-negative and zero but for ``degree + 1``
    neighbouring intervals; they sum to one, and join at the knots with ``degree - 1`` continuous derivatives.

    Attributes
    ----------
    knots_ : ndarray of shape (n_knots, n_features)
        The knots.
    data_min_, data_max_ : ndarray of shape (n_features,)
        The range of each column.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    Columns of one input sum to one, so that an intercept beside them is one column too many: least squares then takes
    the coefficients of least norm, ridge does not mind. Rows in memory, dense.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import Ridge
    >>> from mercer.preprocessing import SplineBasis
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> y = np.sin(6 * x[:, 0])
    >>> splines = SplineBasis(8).fit_transform(x)
    >>> round(Ridge(1e-6).fit(splines, y).score(splines, y), 4)
    1.0
    """

    _needs_rows: ClassVar[str] = "its knots are quantiles of all rows"

    n_knots: int = parameter(
        Integer(2), default=5, kw_only=False, doc="Knots of each column, both ends of its range among them."
    )
    degree: int = parameter(Integer(0, 1000), default=3, doc="Of the pieces; 3 is cubic.")
    knots: str = parameter(
        Choice("uniform", "quantile"),
        default="uniform",
        doc="Evenly spaced over the range of each column, or with as many rows between each two.",
    )
    extrapolation: str = parameter(
        Choice("constant", "continue"),
        default="constant",
        doc="Outside the range of the training rows: the value at its end, or the polynomial of the last piece.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "knots_": floats("knots, columns", finite=True),
        "data_min_": floats("columns"),
        "data_max_": floats("columns"),
    }

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, BasisState]:
        state = yield from super()._survey(source, seen)
        shares = np.linspace(0.0, 1.0, self.n_knots)
        if self.knots == "uniform":
            knots = state.low + shares[:, None] * (state.high - state.low)
        else:
            rows = source.whole()
            knots = yield Dense(lambda: np.stack([np.quantile(column, shares) for column in rows.T], axis=1))
        # A constant column gets an interval of its own, so that there is something to be inside of.
        flat = state.high <= state.low
        knots[-1, flat] = knots[0, flat] + np.maximum(1.0, np.abs(knots[0, flat]))
        return BasisState(state.low, state.high, knots.astype(np.float64))

    def _fitted(self, state: BasisState) -> dict[str, Any]:
        return super()._fitted(state) | {"knots_": state.shift}

    def _make_expansion(self, state: BasisState) -> "_Splines":
        return _Splines(state.shift, int(self.degree), self.extrapolation == "continue")

    def _check_structure(self) -> None:
        if "knots_" in vars(self) and len(self.knots_) != self.n_knots:
            raise ModelFileError(
                f"SplineBasis.knots_ must have n_knots = {self.n_knots} rows; the file's has {len(self.knots_)}."
            )

        if "knots_" in vars(self) and (np.diff(self.knots_, axis=0) < 0).any():
            raise ModelFileError("SplineBasis.knots_ must not fall in any column; the file's do.")

    def _list_names(self, columns: list[str]) -> list[str]:
        return [f"spline{number}({name})" for name in columns for number in range(self.n_knots + self.degree - 1)]


@dataclass(frozen=True, eq=False)
class _Splines:
    """Expands a block into its splines, column by column."""

    knots: np.ndarray
    degree: int
    onwards: bool

    def __call__(self, block: Block) -> np.ndarray:
        parts = []
        for values, knots in zip(np.asarray(block.X, dtype=np.float64).T, self.knots.T):
            # A clamped knot vector: each end knot occurs degree + 1 times, which gives n_knots + degree - 1 splines.
            ends = [np.repeat(knots[end], self.degree) for end in (0, -1)]
            # A clipped value takes the splines of the nearest end: the fitted curve continues as a constant.
            inside = values if self.onwards else np.clip(values, knots[0], knots[-1])
            vector = np.concatenate([ends[0], knots, ends[1]])
            parts.append(BSpline.design_matrix(inside, vector, self.degree, extrapolate=self.onwards).toarray())
        return np.concatenate(parts, axis=1)
