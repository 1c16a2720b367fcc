"""How Python's own values are written and read."""

import math
import re
import struct
from typing import Any

from mercer._base.model_file.codec import Decoder, Encoder, check_keys, decodes, encodes
from mercer.errors import ModelFileError

_FLOAT = re.compile(r"nan(?::[0-9a-f]{16})?|-?inf|-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}")
_USUAL_NAN = "7ff8000000000000"
# Python prints integers of at most 4300 digits: 3571 hexadecimal ones.
_INTEGER = re.compile(r"-?0x[0-9a-f]{1,3571}")
_BYTES = re.compile(r"(?:[0-9a-f]{2})*")


def _match(pattern: re.Pattern[str], text: Any) -> str:
    if not isinstance(text, str) or pattern.fullmatch(text) is None:
        raise ModelFileError(
            f"the header must hold a hexadecimal number here, of at most 3571 digits; it holds {str(text)[:40]!r}."
        )
    return text


def _spell_float(value: float) -> str:
    """Write a float in C99's hexadecimal form; a NaN other than the usual one is followed by its bits."""
    bits = struct.pack(">d", value).hex()
    return f"nan:{bits}" if math.isnan(value) and bits != _USUAL_NAN else value.hex()


def _parse_float(text: Any) -> float:
    _match(_FLOAT, text)
    if not text.startswith("nan:"):
        return float.fromhex(text)
    # A NaN is written as its 64 bits, because its payload and sign are lost in the text of a number.
    value: float = struct.unpack(">d", bytes.fromhex(text[4:]))[0]
    if not math.isnan(value):
        raise ModelFileError(f"the bits of a NaN must be those of one; got {text!r}.")
    return value


@encodes(int)
def _write_int(value: int, encoder: Encoder, path: str) -> dict[str, Any]:
    if _INTEGER.fullmatch(hex(value)) is None:
        raise ModelFileError(f"save: {path} is an integer of {value.bit_length()} bits; at most 14284 can be stored.")
    return {"type": "int", "hex": hex(value)}


@decodes("int", "hex")
def _read_int(node: dict[str, Any], decoder: Decoder) -> int:
    return int(_match(_INTEGER, node["hex"]), 16)


@encodes(float)
def _write_float(value: float, encoder: Encoder, path: str) -> dict[str, Any]:
    return {"type": "float", "hex": _spell_float(value)}


@decodes("float", "hex")
def _read_float(node: dict[str, Any], decoder: Decoder) -> float:
    return _parse_float(node["hex"])


@encodes(complex)
def _write_complex(value: complex, encoder: Encoder, path: str) -> dict[str, Any]:
    return {"type": "complex", "real": _spell_float(value.real), "imag": _spell_float(value.imag)}


@decodes("complex", "real", "imag")
def _read_complex(node: dict[str, Any], decoder: Decoder) -> complex:
    return complex(_parse_float(node["real"]), _parse_float(node["imag"]))


@encodes(bytes)
def _write_bytes(value: bytes, encoder: Encoder, path: str) -> dict[str, Any]:
    return {"type": "bytes", "hex": value.hex()}


@decodes("bytes", "hex")
def _read_bytes(node: dict[str, Any], decoder: Decoder) -> bytes:
    return bytes.fromhex(_match(_BYTES, node["hex"]))


@encodes(list)
def _write_list(value: list[Any], encoder: Encoder, path: str) -> list[Any]:
    return encoder.encode_all(value, path)


@encodes(tuple)
def _write_tuple(value: tuple[Any, ...], encoder: Encoder, path: str) -> dict[str, Any]:
    return {"type": "tuple", "items": encoder.encode_all(value, path)}


@decodes("tuple", "items")
def _read_tuple(node: dict[str, Any], decoder: Decoder) -> tuple[Any, ...]:
    return tuple(decoder.decode_all(node["items"]))


@encodes(set, frozenset)
def _write_set(value: set[Any] | frozenset[Any], encoder: Encoder, path: str) -> dict[str, Any]:
    # Sorted, because the order of a set of text changes from one interpreter to the next.
    return {"type": type(value).__name__, "items": sorted(encoder.encode_all(value, path), key=str)}


@decodes("set", "items")
def _read_set(node: dict[str, Any], decoder: Decoder) -> set[Any]:
    items = decoder.decode_all(node["items"])
    check_keys(items)
    return set(items)


@decodes("frozenset", "items")
def _read_frozenset(node: dict[str, Any], decoder: Decoder) -> frozenset[Any]:
    return frozenset(_read_set(node, decoder))


@encodes(dict)
def _write_dict(value: dict[Any, Any], encoder: Encoder, path: str) -> dict[str, Any]:
    items = [
        [encoder.encode(key, f"{path} key"), encoder.encode(item, f"{path}[{key!r}]")] for key, item in value.items()
    ]
    return {"type": "dict", "items": items}


@decodes("dict", "items")
def _read_dict(node: dict[str, Any], decoder: Decoder) -> dict[Any, Any]:
    pairs = decoder.decode_all(node["items"])
    if not all(type(pair) is list and len(pair) == 2 for pair in pairs):
        raise ModelFileError("a dictionary must be a list of pairs; it is not.")
    check_keys([key for key, _ in pairs])
    result = dict(pairs)
    # Python would keep the last of two equal keys in silence.
    if len(result) != len(pairs):
        raise ModelFileError("the keys of a dictionary must be unique; one comes twice.")
    return result


@encodes(slice, range)
def _write_span(value: slice | range, encoder: Encoder, path: str) -> dict[str, Any]:
    parts = {name: encoder.encode(getattr(value, name), f"{path}.{name}") for name in ("start", "stop", "step")}
    return {"type": type(value).__name__, **parts}


@decodes("slice", "start", "stop", "step")
def _read_slice(node: dict[str, Any], decoder: Decoder) -> slice:
    return slice(*(decoder.decode(node[name]) for name in ("start", "stop", "step")))


@decodes("range", "start", "stop", "step")
def _read_range(node: dict[str, Any], decoder: Decoder) -> range:
    start, stop, step = (decoder.decode_as(node[name], int) for name in ("start", "stop", "step"))
    if step == 0:
        raise ModelFileError("the step of a range must not be 0.")
    return range(start, stop, step)
