"""The types that annotations share: arrays, rows, and the state of a solver."""

from typing import Any, TypeAlias, TypeVar

import numpy as np

# A dense array: NumPy's, or torch's or CuPy's where the rows are on a device. mypy checks its use against NumPy's
# array: a misspelt attribute, or an array where an int is expected, is an error. The `Any` lets through the arrays of
# the other libraries, which are optional and have no types here, and None where a default is None.
Array: TypeAlias = np.ndarray[Any, Any] | Any

# A matrix with one row per sample, as it is stored: dense (an `Array`) or sparse (SciPy's CSR). SciPy has no types, and
# the two have few attributes in common, so mypy checks nothing: code asks `is_sparse` or `issparse` first.
Rows: TypeAlias = Any

# The state of a solver: what a step carries, what a checkpoint holds, and what the fitted attributes are made from.
State = TypeVar("State")
