"""Rows in memory as the three arrays that native code takes, whether they are dense or sparse."""

from typing import Any

import numpy as np

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array

_NO_INDICES = np.zeros(0, dtype=np.int32)


def list_row_arrays(X: Any) -> tuple[Array, Array, Array]:
    """Return the data, indices and index pointers of CSR rows; of dense rows, all values and two empty arrays."""
    return (X.data, X.indices, X.indptr) if is_sparse_matrix(X) else (X.reshape(-1), _NO_INDICES, _NO_INDICES)
