"""What imputers share: parameters, the columns that are kept, and the indicators beside them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.blockwise import BlockMap
from mercer._base.column_names import read_column_names
from mercer._base.parameter import Boolean, parameter
from mercer._source import Source
from mercer._stored import Stored, part
from mercer._types import Array
from mercer.impute._marked import MarkedTransformer, find_missing
from mercer.impute._missing_indicator import MissingIndicator, indicate_columns

_NO_COLUMNS = np.empty(0, np.int64)


class Imputer(MarkedTransformer):
    """An imputer; a subclass says which columns have values to fill in (`_find_known`)."""

    add_indicator: bool = parameter(
        Boolean(), default=False, doc="Whether the columns of a MissingIndicator stand beside the others."
    )
    keep_empty_features: bool = parameter(
        Boolean(), default=False, doc="Whether a column without known training entries is filled with 0 and kept."
    )

    _stored: ClassVar[dict[str, Stored]] = {"indicator_": part("MissingIndicator", "none")}

    def _find_known(self) -> Array:
        """Return for each column whether the training rows have known entries, or it is kept without any."""
        raise NotImplementedError  # each imputer defines its own

    def _read_theirs(self, theirs: Any) -> dict[str, Any]:
        return {"indicator_": theirs.indicator_}

    def _indicate(self, missing: Array) -> MissingIndicator | None:
        """Return an indicator of the columns in which training entries are missing, if one is asked for."""
        if not self.add_indicator:
            return None
        return indicate_columns(self.missing_values, np.flatnonzero(missing), len(missing))

    def _list_told(self) -> Array:
        """Return the columns that have an indicator."""
        return _NO_COLUMNS if self.indicator_ is None else self.indicator_.features_

    def _count_columns(self, source: Source) -> int:
        return int(self._find_known().sum()) + len(self._list_told())

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that are kept, and of the indicator's."""
        check_is_fitted(self)
        if self._theirs is not None:
            return self._theirs.get_feature_names_out(input_features)
        names = np.asarray(read_column_names(self, input_features), dtype=object)
        kept = names[self._find_known()]
        told = () if self.indicator_ is None else self.indicator_.get_feature_names_out(names)
        return np.concatenate([kept, told]) if len(told) else kept


@dataclass(frozen=True, eq=False)
class FillingMap(BlockMap):
    """Rows of the columns `kept` without missing entries, and indicators of those `told`.

    A subclass writes the rows (`fill`).
    """

    mark: float
    kept: Array
    told: Array

    def fill(self, rows: Array, missing: Array, out: Array) -> None:
        """Write the kept columns of rows without missing entries into `out`, which may be the rows themselves."""
        raise NotImplementedError  # each map defines its own

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        out = np.empty((len(rows), len(self.kept) + len(self.told)), rows.dtype)
        self._fill_and_tell(rows, out)
        return out

    def write(self, block: Any, out: Array) -> None:
        self._fill_and_tell(block.X, out)
        self.check(block.X, out, np)

    def _fill_and_tell(self, rows: Array, out: Array) -> None:
        missing, width = find_missing(rows, self.mark), len(self.kept)
        # The indicators first: `out` may be the rows themselves, which are then all kept.
        if len(self.told):
            out[:, width:] = missing[:, self.told]
        self.fill(rows, missing, out[:, :width])
