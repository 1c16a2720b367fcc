"""The base class of bases: it learns from the training rows, and expands each block into new columns."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.blockwise import BlockMap, BlockTransformer
from mercer._base.column_names import read_column_names
from mercer._base.guard import is_finite
from mercer._plain import plain
from mercer._source import Block, Source
from mercer._source.block import DenseBlock
from mercer._statistic.extent import Extent
from mercer._stored import Stored, alike, floats, part
from mercer.errors import DataError, ModelFileError


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
class _Expanded(BlockMap):
    """Expands a block into new columns, in the type of its rows; raises DataError where a new value overflows."""

    expansion: Any
    state: BasisState

    def on_rows(self, rows: np.ndarray, xp: Any = np) -> np.ndarray:
        return self(DenseBlock(rows, 0))

    def write(self, block: Block, out: np.ndarray) -> None:
        out[...] = self(block)

    def __call__(self, block: Block) -> np.ndarray:
        # Polynomials grow without bound outside the range of the training rows: the cube of 1e150 overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            columns = self.expansion(block).astype(block.X.dtype, copy=False)
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
            f"{self.subject}: transform overflows {block.X.dtype.name}: row {block.start + row} has "
            f"{values[column]:.3g} in column {column}, whose training rows lie in [{low[column]:.3g}, "
            f"{high[column]:.3g}]. Drop the rows that lie so far outside, or scale the columns before the fit."
        )


class Basis(BlockTransformer):
    """A transformer that expands rows; a subclass defines what it learns from them and how it expands a block."""

    _defined = "A basis is defined by its parameters and the range of the rows; nothing is optimised."

    _stored: ClassVar[dict[str, Stored]] = {
        "_state": part("BasisState"),
    }

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, BasisState]:
        extent = yield Extent()
        return BasisState(extent.low, extent.high)

    def _make_expansion(self, state: BasisState) -> Any:
        """Return the function from a block to its new columns in float64."""
        raise NotImplementedError  # each basis defines its own

    def _list_names(self, columns: list[str]) -> list[str]:
        """Return the names of the new columns."""
        raise NotImplementedError  # each basis defines its own

    def _fitted(self, state: BasisState) -> dict[str, Any]:
        return {"data_min_": state.low, "data_max_": state.high, "_state": state}

    def _make_map(self, back: bool = False) -> _Expanded:
        return _Expanded(type(self).__name__, self._make_expansion(self._state), self._state)

    def _count_columns(self, source: Source) -> int:
        return self._n_features_out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the new columns."""
        check_is_fitted(self)
        return np.asarray(self._list_names(read_column_names(self, input_features)), dtype=object)

    @property
    def _n_features_out(self) -> int:
        return len(self.get_feature_names_out())
