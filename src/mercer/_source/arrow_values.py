"""Copy numbers between Arrow and NumPy by their buffers: conversions by pyarrow load pandas, which is slow to load."""

from typing import Any

import numpy as np

from mercer._types import Array

# NumPy's types of the Arrow types whose values are copied.
_WIDTHS: dict[str, Any] = {
    "double": np.float64,
    "float": np.float32,
    "int64": np.int64,
    "int32": np.int32,
    "timestamp[s]": "datetime64[s]",
}


def read_arrow(column: Any, gap: int | None = None) -> Array | None:
    """Return an Arrow array or chunked array as NumPy has it: missing numbers are NaN, missing times NaT.

    Missing whole numbers are `gap`. None for types of other kinds, and for whole numbers and booleans with gaps.
    """
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    if str(column.type) == "bool" and chunks and not column.null_count:
        return np.concatenate([_read_bits(chunk.buffers()[1], chunk) for chunk in chunks]) == 1
    dtype = _WIDTHS.get(str(column.type))
    if dtype is None:
        return None
    parts = [_read_chunk(chunk, np.dtype(dtype), gap) for chunk in chunks]
    if any(part is None for part in parts):
        return None
    return np.concatenate([part for part in parts if part is not None]) if parts else np.empty(0, dtype)


def _read_chunk(chunk: Any, dtype: np.dtype, gap: int | None) -> Array | None:
    """Return one Arrow array as NumPy has it."""
    known, values = chunk.buffers()
    last = chunk.offset + len(chunk)
    found = np.frombuffer(values, dtype, count=last)[chunk.offset :] if len(chunk) else np.empty(0, dtype)
    if not chunk.null_count:
        return found
    missing = {"f": np.nan, "M": "NaT"}.get(dtype.kind, gap)
    if missing is None:
        return None
    return np.where(_read_bits(known, chunk) == 1, found, np.array(missing, dtype))


def _read_bits(buffer: Any, chunk: Any) -> Array:
    """Return one bit for each value of a chunk, the lowest first: booleans, or whether values are known."""
    bits = np.frombuffer(buffer, np.uint8)
    return np.unpackbits(bits, count=chunk.offset + len(chunk), bitorder="little")[chunk.offset :]


def make_arrow(values: Array) -> Any:
    """Return a NumPy array of numbers, times in seconds or texts as an Arrow array; NaT becomes null, NaN stays."""
    import pyarrow

    if values.dtype.kind == "U":
        return _make_texts(values)
    name = next((name for name, dtype in _WIDTHS.items() if values.dtype == dtype), None)
    if name is None:
        return pyarrow.array(values)
    known = None
    if values.dtype.kind == "M":
        known = pyarrow.py_buffer(np.packbits(~np.isnat(values), bitorder="little"))
    # Python's buffers know no times: their bits are handed over as whole numbers.
    content = pyarrow.py_buffer(np.ascontiguousarray(values).view(f"i{values.dtype.itemsize}"))
    return pyarrow.Array.from_buffers(pyarrow.type_for_alias(name), len(values), [known, content])


def _make_texts(values: Array) -> Any:
    """Return texts as an Arrow array."""
    import pyarrow

    encoded = [text.encode() for text in values.tolist()]
    ends = np.cumsum([0, *map(len, encoded)])
    small = ends[-1] < 2**31
    buffers = [
        None,
        pyarrow.py_buffer(ends.astype(np.int32 if small else np.int64)),
        pyarrow.py_buffer(b"".join(encoded)),
    ]
    return pyarrow.Array.from_buffers(pyarrow.string() if small else pyarrow.large_string(), len(values), buffers)


def make_arrow_table(columns: dict[str, Any]) -> Any:
    """Return an Arrow table of Arrow arrays; ``pyarrow.table`` would load pandas."""
    import pyarrow

    return pyarrow.Table.from_arrays(list(columns.values()), names=list(columns))
