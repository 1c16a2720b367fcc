"""How NumPy and SciPy values are written and read: arrays, scalars, dtypes, masked and sparse arrays."""

import math
import re
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils import Bunch

from mercer._base.model_file.codec import Decoder, Encoder, decodes, encodes, encodes_where, integer, refusal
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


_SPARSE = {
    (form, container): getattr(scipy.sparse, f"{form}_{container}")
    for form in ("csr", "csc", "coo")
    for container in ("array", "matrix")
}
_SPARSE_KEYS = {kind: key for key, kind in _SPARSE.items()}
_OBJECT = "|O"
_ARRAY_RULE = "model files hold arrays of numbers, truth values, text, dates and plain objects"


@encodes(np.ndarray, np.memmap)
def _write_array(value: np.ndarray[Any, Any], encoder: Encoder, path: str) -> Any:
    # An array of objects is a tree of nodes in the header: its bytes would be addresses.
    if value.dtype.kind == "O":
        return {
            "type": "objects",
            "shape": list(value.shape),
            "items": encoder.encode_all(value.ravel().tolist(), path),
        }
    if spell_dtype(value.dtype) is None:
        raise refusal(value, path, f"{_ARRAY_RULE}, not of {value.dtype}", "Convert it to one of these first")
    return encoder.array(value)


@decodes("array", "index")
def _read_array(node: dict[str, Any], decoder: Decoder) -> np.ndarray[Any, Any]:
    return decoder.arrays[integer(node["index"], 0, len(decoder.arrays) - 1)]


@decodes("objects", "shape", "items")
def _read_objects(node: dict[str, Any], decoder: Decoder) -> np.ndarray[Any, Any]:
    items = decoder.decode_all(node["items"])
    shape = _shape(node["shape"], decoder)
    if math.prod(shape) != len(items):
        raise ModelFileError(f"an array of shape {shape} must have {math.prod(shape)} elements; it has {len(items)}.")
    array = np.empty(len(items), dtype=object)
    for position, item in enumerate(items):  # assigning a list at once would unpack nested lists
        array[position] = item
    return array.reshape(shape)


def _shape(node: Any, decoder: Decoder) -> tuple[int, ...]:
    return tuple(integer(length, 0, 2**48) for length in decoder.decode_all(node)[:32])


@encodes_where(lambda value: isinstance(value, np.generic))
def _write_scalar(value: np.generic, encoder: Encoder, path: str) -> dict[str, Any]:
    array = np.asarray(value)
    # An empty string has no bytes, and NumPy has no arrays of such items: it pads them.
    array = array if array.dtype.itemsize else np.zeros((), f"{array.dtype.char}1")
    spelling = spell_dtype(array.dtype)
    if spelling is None:
        raise refusal(value, path, _ARRAY_RULE, "Convert it to one of these first")
    return {"type": "scalar", "dtype": spelling, "hex": array.astype(spelling).tobytes().hex()}


@decodes("scalar", "dtype", "hex")
def _read_scalar(node: dict[str, Any], decoder: Decoder) -> np.generic:
    dtype = parse_dtype(node["dtype"])
    data = bytes.fromhex(node["hex"]) if isinstance(node["hex"], str) else b""
    if len(data) != dtype.itemsize:
        raise ModelFileError(f"a scalar of {node['dtype']} must have {dtype.itemsize} bytes; it has {len(data)}.")
    # The bytes are in the order that the dtype names; the scalar returned has the order of this machine.
    array = np.frombuffer(data, dtype)
    check_values(array)
    scalar: np.generic = array.astype(dtype.newbyteorder("="))[0]
    return scalar


@encodes_where(lambda value: isinstance(value, np.dtype))
def _write_dtype(value: np.dtype[Any], encoder: Encoder, path: str) -> dict[str, Any]:
    spelling = _OBJECT if value.kind == "O" else spell_dtype(value)
    if spelling is None:
        raise refusal(value, path, _ARRAY_RULE, "Choose one of these")
    return {"type": "dtype", "name": spelling}


@decodes("dtype", "name")
def _read_dtype(node: dict[str, Any], decoder: Decoder) -> np.dtype[Any]:
    return np.dtype(object) if node["name"] == _OBJECT else parse_dtype(node["name"])


@encodes(np.ma.MaskedArray)
def _write_masked(value: np.ma.MaskedArray[Any, Any], encoder: Encoder, path: str) -> dict[str, Any]:
    mask = None if value.mask is np.ma.nomask else encoder.encode(np.asarray(value.mask), f"{path}.mask")
    return {
        "type": "masked",
        "data": encoder.encode(np.asarray(value.data), f"{path}.data"),
        "mask": mask,
        # The fill value is kept as an array without dimensions, so that its dtype is kept as well.
        "fill": encoder.encode(np.full((), value.fill_value, value.dtype), f"{path}.fill_value"),
        "hard": bool(value.hardmask),
    }


@decodes("masked", "data", "mask", "fill", "hard")
def _read_masked(node: dict[str, Any], decoder: Decoder) -> np.ma.MaskedArray[Any, Any]:
    data, fill = (decoder.decode_as(node[name], np.ndarray) for name in ("data", "fill"))
    mask = np.ma.nomask if node["mask"] is None else decoder.decode_as(node["mask"], np.ndarray)
    decoder.charge(data.nbytes + mask.nbytes)
    if fill.shape != () or fill.dtype.kind != data.dtype.kind:
        raise ModelFileError("the fill value of a masked array must be one value of its type; it is not.")
    if mask is not np.ma.nomask and (mask.dtype != bool or mask.shape != data.shape):
        raise ModelFileError(
            f"a mask must be truth values of shape {data.shape}; it is {mask.dtype} of shape {mask.shape}."
        )
    return np.ma.MaskedArray(data, mask=mask, fill_value=fill[()], hard_mask=node["hard"] is True)


@encodes(*_SPARSE_KEYS)
def _write_sparse(value: Any, encoder: Encoder, path: str) -> dict[str, Any]:
    form, container = _SPARSE_KEYS[type(value)]
    # COO has one index array for each axis, the compressed formats the indices and the offsets of rows or columns.
    indices = value.coords if form == "coo" else (value.indices, value.indptr)
    return {
        "type": "sparse",
        "format": form,
        "container": container,
        "shape": list(value.shape),
        "data": encoder.encode(value.data, f"{path}.data"),
        "indices": encoder.encode_all(indices, f"{path}.indices"),
    }


@decodes("sparse", "format", "container", "shape", "data", "indices")
def _read_sparse(node: dict[str, Any], decoder: Decoder) -> Any:
    kind = _SPARSE.get((str(node["format"]), str(node["container"])))
    shape = _shape(node["shape"], decoder)
    data, indices = decoder.decode(node["data"]), decoder.decode_all(node["indices"])
    parts = [data, *indices]
    if kind is None or not all(type(part) is np.ndarray and part.ndim == 1 for part in parts):
        raise ModelFileError("a sparse array must be csr, csc or coo, of one-dimensional arrays; it is not.")
    if data.dtype.kind not in "biufc" or any(part.dtype not in (np.int32, np.int64) for part in indices):
        raise ModelFileError(
            "a sparse array must have numbers as data and 32 or 64 bit integers as indices; it has not."
        )
    decoder.charge(sum(part.nbytes for part in parts))
    try:
        if node["format"] == "coo":
            return kind((data, tuple(indices)), shape=shape)
        column, pointer = indices
        # SciPy looks at the order of the pointers only where the last one is not zero.
        if len(pointer) and (pointer[0] != 0 or np.any(np.diff(pointer) < 0) or pointer[-1] > len(column)):
            raise ValueError("pointers must begin with 0, never fall, and end inside the indices")
        matrix = kind((data, column, pointer), shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ModelFileError(
            f"the indices of a sparse array must fit its shape {shape}; {str(error)[:120]}."
        ) from error
    return matrix


@encodes(Bunch)
def _write_bunch(value: Bunch, encoder: Encoder, path: str) -> dict[str, Any]:
    return {"type": "bunch", "items": encoder.encode(dict(value), path)}


@decodes("bunch", "items")
def _read_bunch(node: dict[str, Any], decoder: Decoder) -> Bunch:
    items = decoder.decode_as(node["items"], dict)
    if not all(type(key) is str for key in items):
        raise ModelFileError("the keys of a bunch must be text; one is not.")
    return Bunch(**items)
