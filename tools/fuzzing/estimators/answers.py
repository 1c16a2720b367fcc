"""Hostile targets and weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array


def _some(value: Any) -> Callable[[np.ndarray, np.random.Generator], Any]:
    """Put `value` in place of one target."""

    def replace(y: np.ndarray, random: np.random.Generator) -> Any:
        other = (
            y.astype(np.float64) if y.dtype.kind in "fiu" and not isinstance(value, str | None) else y.astype(object)
        )
        other[random.integers(len(y))] = value
        return other

    return replace


def _numbers(y: np.ndarray) -> np.ndarray:
    """Return numbers for targets: their own, or the indices of their classes."""
    return y.astype(np.float64) if y.dtype.kind in "fiu" else np.unique(y, return_inverse=True)[1].astype(np.float64)


def _scaled(factor: float) -> Callable[[np.ndarray, np.random.Generator], Any]:
    def scale(y: np.ndarray, random: np.random.Generator) -> Any:
        with np.errstate(all="ignore"):
            return _numbers(y) * factor

    return scale


def _typed(dtype: str) -> Callable[[np.ndarray, np.random.Generator], Any]:
    def convert(y: np.ndarray, random: np.random.Generator) -> Any:
        with np.errstate(all="ignore"):
            return np.floor(_numbers(y)).astype(dtype)

    return convert


def _read_only(y: np.ndarray) -> np.ndarray:
    other = y.copy()
    other.flags.writeable = False
    return other


TARGETS: dict[str, Callable[[np.ndarray, np.random.Generator], Any]] = {
    "words": lambda y, random: np.array(["ash", "birch"])[np.arange(len(y)) % 2],
    "words as objects": lambda y, random: np.array(["ash", "birch"], object)[np.arange(len(y)) % 2],
    "bytes": lambda y, random: np.array([b"ash", b"birch"])[np.arange(len(y)) % 2],
    "digits as text": lambda y, random: np.array(["1", "2"])[np.arange(len(y)) % 2],
    "dates": lambda y, random: np.arange(len(y)).astype("datetime64[D]"),
    "durations": lambda y, random: np.arange(len(y)).astype("timedelta64[s]"),
    "sparse column": lambda y, random: csr_array(_numbers(y)[:, None]),
    "sparse table": lambda y, random: csr_array(np.ones((len(y), 2))),
    "one class": lambda y, random: np.repeat(y[:1], len(y), axis=0),
    "all different": lambda y, random: np.arange(len(y)),
    "zeros": lambda y, random: np.zeros(len(y)),
    "one NaN": _some(np.nan),
    "one infinity": _some(np.inf),
    "one None": _some(None),
    "one word": _some("ash"),
    "one 1e308": _some(1e308),
    "all NaN": lambda y, random: np.full(len(y), np.nan),
    "times 1e155": _scaled(1e155),
    "times 1e300": _scaled(1e300),
    "times 1e-310": _scaled(1e-310),
    "column": lambda y, random: y[:, None],
    "two columns": lambda y, random: np.column_stack([y, y]),
    "three axes": lambda y, random: y[:, None, None],
    "no columns": lambda y, random: np.zeros((len(y), 0)),
    "too few": lambda y, random: y[:-1],
    "empty": lambda y, random: y[:0],
    "a number": lambda y, random: 3.0,
    "None": lambda y, random: None,
    "list": lambda y, random: y.tolist(),
    "list of tuples": lambda y, random: [(value,) for value in y.tolist()],
    "list of sets": lambda y, random: [{value} for value in y.tolist()],
    "lists of different lengths": lambda y, random: [[1.0, 2.0] if row % 2 else [1.0] for row in range(len(y))],
    "mixed": lambda y, random: np.array([1, "ash", 2.5, None] * len(y), object)[: len(y)],
    "complex": lambda y, random: _numbers(y).astype(complex),
    "bool": _typed("bool"),
    "int8": _typed("int8"),
    "big-endian": _typed(">f8"),
    "big-endian integers": _typed(">i4"),
    "float16": _typed("float16"),
    "longdouble": _typed("longdouble"),
    "64-bit ids": lambda y, random: random.integers(2**60, 2**62, 3)[np.arange(len(y)) % 3],
    "backwards": lambda y, random: y[::-1],
    "broadcast": lambda y, random: np.broadcast_to(y[:1], y.shape),
    "read-only": lambda y, random: _read_only(y),
}


def _weights(value: float, others: float = 1.0) -> Callable[[int, np.random.Generator], Any]:
    """Give one row the weight `value`, and all others another one."""

    def place(n: int, random: np.random.Generator) -> Any:
        weight = np.full(n, others)
        weight[random.integers(n)] = value
        return weight

    return place


WEIGHTS: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "zeros": lambda n, random: np.zeros(n),
    "one nonzero": _weights(1.0, 0.0),
    "one zero": _weights(0.0),
    "half zero": lambda n, random: (np.arange(n) % 2).astype(float),
    "one negative": _weights(-1.0),
    "one NaN": _weights(np.nan),
    "one infinity": _weights(np.inf),
    "one 1e15": _weights(1e15),
    "one 1e300": _weights(1e300),
    "all 1e15": lambda n, random: np.full(n, 1e15),
    "all 1e18": lambda n, random: np.full(n, 1e18),
    "all 1e300": lambda n, random: np.full(n, 1e300),
    "all 1e308": lambda n, random: np.full(n, 1e308),
    "all 1e-300": lambda n, random: np.full(n, 1e-300),
    "all 5e-324": lambda n, random: np.full(n, 5e-324),
    "over 600 orders": lambda n, random: 10.0 ** random.uniform(-300, 300, n),
    "float32": lambda n, random: random.random(n).astype(np.float32),
    "big-endian": lambda n, random: random.random(n).astype(">f8"),
    "integers": lambda n, random: random.integers(0, 3, n),
    "bool": lambda n, random: random.random(n) < 0.5,
    "backwards": lambda n, random: random.random(n)[::-1],
    "broadcast": lambda n, random: np.broadcast_to(2.0, n),
    "read-only": lambda n, random: np.broadcast_to(random.random(1), n),
    "column": lambda n, random: np.ones((n, 1)),
    "too few": lambda n, random: np.ones(n - 1),
    "words": lambda n, random: np.full(n, "ash"),
    "complex": lambda n, random: np.ones(n, complex),
    "a number": lambda n, random: 2.0,
    "list": lambda n, random: [1.0] * n,
    "list with None": lambda n, random: [None] + [1.0] * (n - 1),
}
