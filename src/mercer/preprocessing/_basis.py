"""The base class of bases: it learns from the training rows, and expands each block into new columns."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, fitting, open_new_rows
from mercer._base.guard import is_finite
from mercer._base.interface import TransformerMixin
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._statistic.extent import Extent
from mercer._stored import Stored, alike, floats, part
from mercer.errors import DataError, ModelFileError

_DEFINED = "A basis is defined by its parameters and the range of the rows; nothing is optimised."


@plain
@dataclass(frozen=True)
class BasisState:
    """The lowest and highest value of each column, and further arrays of some bases."""

    low: Any
    high: Any
    shift: Any = None
    turn: Any = None

    _stored: ClassVar[dict[str, Stored]] = {
        **alike(floats("columns | none", finite=True), "low", "high"),
        **alike(floats("... | none", finite=True), "shift", "turn"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError if an array has no values."""
        for name in ("shift", "turn"):
            if getattr(self, name) is not None and not np.size(getattr(self, name)):
                raise ModelFileError(f"BasisState.{name} must have values; the file has none.")

    @property
    def half(self) -> np.ndarray:
        """Half the range of each column; one if a column is constant."""
        half = (self.high - self.low) / 2.0
        return np.where(half > 0, half, 1.0)

    def to_unit(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows with the range of each column mapped to [-1, 1]."""
        # A constant column maps to 0, the middle of the interval; others have low -> -1 and high -> 1.
        return (rows - self.low) / self.half - np.where(self.high > self.low, 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class _Expanded:
    """Expands a block into new columns, in the type of its rows; raises DataError where a new value overflows."""

    subject: str
    expansion: Any
    kind: Any
    state: BasisState

    def __call__(self, block: Block) -> np.ndarray:
        # Polynomials grow without bound outside the range of the training rows: the cube of 1e150 overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            columns = self.expansion(block).astype(self.kind, copy=False)
        if not is_finite(columns):
            raise DataError(self._explain(block, columns))
        return columns

    def _explain(self, block: Block, columns: np.ndarray) -> str:
        """Return a sentence about the value that lies farthest outside its range in the first row that overflows."""
        row = int(np.flatnonzero(~np.isfinite(columns).all(axis=1))[0])
        values = np.asarray(block.X[row], dtype=np.float64)
        low, high = self.state.low, self.state.high
        with np.errstate(over="ignore", invalid="ignore"):
            column = int(np.argmax(np.abs(self.state.to_unit(values))))
        return (
            f"{self.subject}: transform overflows {np.dtype(self.kind).name}: row {block.start + row} has "
            f"{values[column]:.3g} in column {column}, whose training rows lie in [{low[column]:.3g}, "
            f"{high[column]:.3g}]. Drop the rows that lie so far outside, or scale the columns before the fit."
        )


class Basis(TransformerMixin, LimitedEstimator):
    """A transformer that expands rows; a subclass defines what it learns from them and how it expands a block."""

    _documents = {
        "max_time": "Has no effect: one pass ends by itself. Kept so that estimators can be exchanged.",
    }

    _objective_moves: ClassVar[str | None] = None

    _stored: ClassVar[dict[str, Stored]] = {
        "_state": part("BasisState"),
    }

    def _survey(self, source: Source) -> Generator[Any, Any, BasisState]:
        """Learn from the training rows, as a solver."""
        extent = yield Extent()
        return BasisState(extent.low, extent.high)

    def _make_expansion(self, state: BasisState) -> Any:
        """Return the function from a block to its new columns in float64."""
        raise NotImplementedError  # each basis defines its own

    def _list_names(self, columns: list[str]) -> list[str]:
        """Return the names of the new columns."""
        raise NotImplementedError  # each basis defines its own

    @fitting
    def fit(self, X: Any, y: Any = None) -> "Basis":
        """Learn the range of the training rows, and what else the basis needs."""
        source = self._open(X)
        outcome = self._drive(lambda start: self._solver(source), source)
        # The fit is complete after its one step, even if a callback asked to stop there.
        if outcome.interrupt is None:
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._conclude(outcome)
        return self

    def _solver(self, source: Source) -> Solver:
        state = yield from self._survey(source)
        certificate = Certificate.none(_DEFINED)
        yield Step(0.0, state, certificate)
        return Solution(state, True, certificate)

    def _fitted(self, state: BasisState) -> dict[str, Any]:
        return {"data_min_": state.low, "data_max_": state.high, "_state": state}

    def transform(self, X: Any) -> np.ndarray:
        """Expand rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            The new columns.
        """
        check_is_fitted(self)
        source = open_new_rows(self, X)
        if source.place == "memory":
            width = len(self.get_feature_names_out())
            purpose = f"{width} columns of {source.n_rows} rows"
            require_memory(type(self).__name__, 16.0 * source.n_rows * width, purpose, "lower the size of the basis")
        expansion = self._make_expansion(self._state)
        return source.map(_Expanded(type(self).__name__, expansion, source.host_dtype, self._state))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the new columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the columns; None means those seen by ``fit``, or x0, x1...

        Returns
        -------
        ndarray of str
            Names.
        """
        check_is_fitted(self)
        known = vars(self).get("feature_names_in_")
        if input_features is None:
            input_features = [f"x{index}" for index in range(self.n_features_in_)] if known is None else known
        given = [str(name) for name in input_features]
        if known is not None and given != [str(name) for name in known]:
            raise DataError(f"{type(self).__name__}: input_features is not equal to feature_names_in_; leave it out.")
        if len(given) != self.n_features_in_:
            raise DataError(
                f"{type(self).__name__}: input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(given)}. Name every column."
            )
        return np.asarray(self._list_names(given), dtype=object)

    @property
    def _n_features_out(self) -> int:
        return len(self.get_feature_names_out())
