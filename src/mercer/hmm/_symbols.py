"""Symbols and counts as numbers."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._source.placement import is_on_device
from mercer._types import Array
from mercer.errors import DataError


def encode_symbols(subject: str, X: Any, known: Array) -> tuple[Any, Array]:
    """Return strings as codes of float64, NaN where one is missing, and the symbols; numbers come back with None.

    `known` are the symbols of a fitted model, or None where they are learnt.
    """
    if issparse(X):
        return X, None
    if is_on_device(X):
        if known is not None:
            raise DataError(
                f"{subject}: the model was fitted to strings, which no device holds. Call the method with the strings "
                f"in memory, or fit to codes from 0 to {len(known) - 1}."
            )
        return X, None
    if known is None and (not hasattr(X, "dtype") and not hasattr(X, "columns") and not isinstance(X, list | tuple)):
        return X, None
    table = np.asarray(X)
    if known is None and table.dtype.kind not in "OUS":
        return X, None
    if table.ndim != 2:
        raise DataError(
            f"{subject}: Expected 2D array, got {table.ndim}D array instead. Reshape your data by X.reshape(-1, 1)."
        )
    missing = np.array([[_is_missing(value) for value in row] for row in table], dtype=bool).reshape(table.shape)
    if known is None:
        values = table[~missing].tolist()
        if all(isinstance(value, int | float | np.number) for value in values):
            return np.where(missing, np.nan, np.where(missing, 0, table)).astype(np.float64), None
        # Strings of any type are compared as text.
        known = np.array(sorted(set(map(str, values))))
    places = {symbol: place for place, symbol in enumerate(known.tolist())}
    codes = np.full(table.shape, np.nan)
    for place, value in zip(np.argwhere(~missing), table[~missing].tolist(), strict=True):
        code = places.get(str(value))
        if code is None:
            raise DataError(
                f"{subject}: unknown symbol {value!r} at step {place[0]}; known are {', '.join(map(str, known[:10]))}. "
                f"Fit with sequences that contain it, or mark the step as missing (None)."
            )
        codes[tuple(place)] = code
    return codes, known


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def check_counts(subject: str, X: Array) -> None:
    """Raise if rows hold negative numbers; NaN are missing."""
    if np.any(X < 0):
        raise DataError(
            f"{subject}: Negative values in data passed to X; rows must hold counts, and the smallest is "
            f"{np.nanmin(X):g}. Number symbols from 0, and use GaussianHMM for measurements."
        )


def check_codes(subject: str, X: Array) -> None:
    """Raise if rows hold anything but integers from zero on."""
    check_counts(subject, X)
    if np.any(np.floor(X) != X):
        wrong = X[np.floor(X) != X].flat[0]
        raise DataError(
            f"{subject}: symbols must be strings or integers from 0 on; got {wrong:g}. Give rows as strings."
        )
