"""The array types that a model file may hold, each with one little-endian spelling."""

import re
from typing import Any

import numpy as np

from mercer.errors import ModelFileError

# Written out instead of handed to numpy.dtype, which also reads lists of fields, object pointers and foreign sizes.
# The digits bound an item to 10 MB, so that even an empty array costs nothing.
_SPELLING = re.compile(
    r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(?:8|16)"
    r"|\|S[1-9][0-9]{0,6}|<U[1-9][0-9]{0,5}"
    r"|<[mM]8(?:\[(?:[1-9][0-9]{0,5})?(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
)
_LAST_CODE_POINT = 0x10FFFF
# The types of most arrays: looking one up takes a tenth of the time of reading its spelling.
_USUAL = {name: np.dtype(name) for name in ("|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u4", "<u8", "<f4", "<f8")}


def spell_dtype(dtype: np.dtype[Any]) -> str | None:
    """Return the little-endian spelling of a dtype, or None if model files do not hold it."""
    spelling = dtype.newbyteorder("<").str
    return spelling if dtype.names is None and _SPELLING.fullmatch(spelling) else None


def parse_dtype(spelling: Any) -> np.dtype[Any]:
    """Return the dtype of a spelling that :func:`spell_dtype` can have written."""
    if isinstance(spelling, str) and spelling in _USUAL:
        return _USUAL[spelling]
    if not isinstance(spelling, str) or _SPELLING.fullmatch(spelling) is None:
        raise ModelFileError(f"an array type must be one of the documented spellings; got {str(spelling)[:40]!r}.")
    return np.dtype(spelling)


def check_values(flat: np.ndarray[Any, Any]) -> None:
    """Refuse bytes that are no value of their type: NumPy itself trusts them and fails much later."""
    if flat.size == 0:
        return
    # The largest byte decides: any byte but 0 and 1 makes NumPy's boolean operations undefined.
    if flat.dtype.kind == "b" and flat.view(np.uint8).max() > 1:
        raise ModelFileError("a truth value must be the byte 0 or 1; the array holds others.")
    if flat.dtype.kind == "U" and flat.view("<u4").max() > _LAST_CODE_POINT:
        raise ModelFileError("text must consist of Unicode code points; the array holds larger numbers.")
