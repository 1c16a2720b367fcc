"""The columns of rows in memory, and of blocks of a table elsewhere, as encoders of categories take them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from mercer._base.opening import check_place, find_target_names
from mercer._base.validation import inspect_rows
from mercer._source.table.distinct import list_columns
from mercer._source.table.encoded import Locate, TableBlocks
from mercer._types import Array
from mercer.errors import DataError


def is_frame(X: Any) -> bool:
    """Return whether `X` is a frame of pandas, polars or Arrow."""
    return hasattr(X, "columns") and (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__"))


def read_columns(encoder: Any, X: Any, *, reset: bool) -> list[Any]:
    """Check rows in memory by scikit-learn's rules, and return their columns, which keep their types."""
    if is_frame(X):
        validate_data(encoder, X, reset=reset, skip_check_array=True)
        for size, what in zip(X.shape, ("sample", "feature"), strict=True):
            if size == 0:
                raise DataError(
                    f"{type(encoder).__name__}: Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is "
                    f"required."
                )
        return list_columns(X)
    rows = inspect_rows(encoder, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
    if not hasattr(X, "dtype") and rows.dtype.kind == "U":
        # A list keeps its texts, and those of other types beside them, as objects.
        rows = check_array(X, dtype=object, ensure_all_finite="allow-nan")
    return list_columns(rows)


def read_blocks(encoder: Any, X: Any, y: Any, place: str) -> tuple[TableBlocks, Iterator[tuple[Any, str]]]:
    """Open rows in a file or stream to learn from, without the columns of targets; blocks come with where they are."""
    check_place(encoder, place)
    table = TableBlocks(X, list_targets(X, y), type(encoder).__name__, encoder._threads(), {})
    read_columns(encoder, table.first, reset=True)
    return table, iter(table)


def learn_partitions(encoder: Any, X: Any, y: Any) -> list[str] | None:
    """Store the columns of a Dask dataframe or array, and return their names without that of the target."""
    check_place(encoder, "dask")
    vars(encoder).pop("feature_names_in_", None)
    encoder.n_features_in_ = X.shape[1]
    if not hasattr(X, "columns"):
        return None
    columns = [name for name in X.columns if not (isinstance(y, str) and name == y)]
    encoder.n_features_in_ = len(columns)
    if all(isinstance(name, str) for name in columns):
        encoder.feature_names_in_ = np.asarray(columns, dtype=object)
    return columns


def list_targets(X: Any, y: Any) -> list[str]:
    """Return the columns that `y` names as targets."""
    names = find_target_names(X, y)
    if names is None:
        names = y if isinstance(y, str) else []
    return [names] if isinstance(names, str) else list(names)


def refuse_unknown(values: Array, codes: Array, wrong: Array, index: int, locate: Locate, when: str) -> Exception:
    """Return the error about values of a column that are no known categories; `locate` names a row of a block."""
    unknown = list(values[wrong])
    place = ""
    if locate is not None:
        place = f"; the first is in {locate(int(np.flatnonzero(np.isin(codes, wrong))[0]))}"
    return DataError(
        f"Found unknown categories {unknown} in column {index} during {when}{place}. Set handle_unknown, or correct "
        f"the rows."
    )
