"""Spins of -1 and 1: how rows are read as spins, and how spins are written in the coding of the rows."""

from typing import Any

import numpy as np

from mercer._types import Array


def read_spins(rows: Any, threshold: float) -> Array:
    """Return 1 where a value is above the threshold and -1 elsewhere, as float64."""
    return np.where(np.asarray(rows) > threshold, 1.0, -1.0)


def find_coding(least: float) -> str:
    """Return the coding of rows from their least value: "spins" of -1 and 1, or "bits" of 0 and 1."""
    return "spins" if least < 0 else "bits"


def decode_spins(spins: Array, coding: str, dtype: Any) -> Array:
    """Return spins in the coding that the rows of the fit had."""
    return (spins if coding == "spins" else 0.5 * (spins + 1.0)).astype(dtype)
