"""Rows outside of memory that a transformer of frames encodes as they are read."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from mercer._base.opening import check_place
from mercer._base.scikit_learn import copy_without_callbacks
from mercer._source.table.encoded import EncodedTable, Locate, take_columns


class FrameEncoding:
    """The encoding of blocks of frames by a function; see :mod:`mercer._source.table.encoded`.

    Parameters
    ----------
    encode : callable
        From a frame or an array, a function that names one of its rows or None, and the number of its first row to a
        matrix.
    columns : list of str or None
        The columns that are read; None for rows without names.
    names : list of str
        Of the columns of the matrix.
    dtype : type
        Of the matrix, float32 or float64.
    sparse : bool
    kinds : dict of str to str
        The kinds as which columns of files of text are read.
    """

    def __init__(
        self,
        encode: Callable[[Any, Locate, int], Any],
        columns: list[str] | None,
        names: list[str],
        *,
        dtype: Any,
        sparse: bool,
        kinds: dict[str, str],
    ) -> None:
        self.encode = encode
        self.columns = columns
        self.names = names
        self.dtype = np.dtype(np.float32 if dtype == np.float32 else np.float64)
        self.sparse = sparse
        self.kinds = kinds

    def __call__(self, rows: Any, locate: Locate, start: int) -> Any:
        if type(rows).__name__ == "RecordBatch":
            import pyarrow

            rows = pyarrow.Table.from_batches([rows])
        result = self.encode(take_columns(rows, self.columns), locate, start)
        if hasattr(result, "columns"):
            # A frame goes on to the next transformer, which may look for its columns by name.
            return result
        if issparse(result) != self.sparse:
            result = csr_array(result) if self.sparse else result.toarray()
        return result.astype(self.dtype, copy=False) if self.sparse else np.asarray(result, self.dtype)

    def nothing(self, schema: Any) -> Any:
        """Return a matrix of no rows, of the type that a table of an Arrow schema gives."""
        rows = np.empty((0, len(self.names)), self.dtype)
        return csr_array(rows) if self.sparse else rows


def encode_elsewhere(model: Any, X: Any, place: str, encode: Any = None) -> Any:
    """Return the rows of a file, a stream or a Dask dataframe as `model` encodes them block by block.

    The model has ``_encode_frame``, which encodes a frame or an array in memory, and ``_describe_output``, which gives
    the type of its result, whether it is sparse, and the kinds as which columns of files of text are read. A later fit
    does not change the rows.
    """
    check_is_fitted(model)
    check_place(model, place)
    model = copy_without_callbacks(model)
    known = vars(model).get("feature_names_in_")
    dtype, sparse, kinds = model._describe_output()
    encoding = FrameEncoding(
        model._encode_frame if encode is None else encode,
        None if known is None else [str(name) for name in known],
        list(model.get_feature_names_out()) if hasattr(model, "get_feature_names_out") else model._name_outputs(),
        dtype=dtype,
        sparse=sparse,
        kinds=kinds,
    )
    if place == "dask":
        from mercer._source.dask.frames import encode_partitions

        return encode_partitions(X, encoding, type(model).__name__)
    return EncodedTable(X, encoding, place, type(model).__name__)
