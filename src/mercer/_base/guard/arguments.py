"""Make what a user gives readable for native code: byte order, alignment, no masks, and whole sparse matrices."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._base.guard.sparse_rows import check_sparse_rows
from mercer.errors import DataError

# Most columns: the index of a column fits into 31 bits. An array with a stride of zero may have more.
_MOST_COLUMNS = 2**31 - 1


def clean_arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a fit or a prediction; plain arrays cost a tenth of a microsecond each."""
    if any(map(_needs_care, args)) or any(map(_needs_care, kwargs.values())):
        args = tuple(_clean(name, value) for value in args)
        kwargs = {key: _clean(name, value) for key, value in kwargs.items()}
    return args, kwargs


def _needs_care(value: Any) -> bool:
    if type(value) is np.ndarray:
        # Fields of a packed record lie at any address; C may read a number only at a multiple of its size.
        return not (value.dtype.isnative and value.flags.aligned) or value.size > _MOST_COLUMNS
    return value is not None and (issparse(value) or isinstance(value, np.ma.MaskedArray))


def _clean(name: str, value: Any) -> Any:
    if isinstance(value, np.ma.MaskedArray):
        hidden = int(np.ma.count_masked(value))
        if hidden:
            # NumPy's conversion would use the values under the mask.
            raise DataError(
                f"{name}: arrays may not hide values under a mask; {hidden} of {value.size} are masked. Drop these "
                f"rows, or give array.filled(numpy.nan) where missing values are allowed."
            )
        value = value.data
    if isinstance(value, np.ndarray):
        if value.ndim == 2 and value.shape[1] > _MOST_COLUMNS:
            raise DataError(f"{name}: an array may have {_MOST_COLUMNS} columns; got {value.shape[1]}. Give fewer.")
        # A copy lies at an aligned address.
        readable = value.dtype.isnative and value.flags.aligned
        return value if readable else value.astype(value.dtype.newbyteorder("="))
    return check_sparse_rows(name, value) if issparse(value) else value
