"""Sparse results as arrays or matrices of SciPy, as scikit-learn's setting wants them."""

from typing import Any

import scipy.sparse
from sklearn import get_config


def convert_kind(rows: Any) -> Any:
    """Return a sparse array as a matrix, unless scikit-learn's setting asks for arrays."""
    if get_config().get("sparse_interface", "spmatrix") == "sparray" or isinstance(rows, scipy.sparse.spmatrix):
        return rows
    return getattr(scipy.sparse, f"{rows.format}_matrix")(rows)
