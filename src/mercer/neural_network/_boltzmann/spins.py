"""Spins of -1 and 1: how many can be listed, how rows are read as spins, and how spins are written as rows."""

from typing import Any

import numpy as np

from mercer._types import Array

# Units whose states are all listed: 2^20 terms of a sum take about a second for 100 units on the other side.
MOST_UNITS = 20


def read_spins(rows: Any, threshold: float) -> Array:
    """Return 1 where a value is above the threshold and -1 elsewhere, as float64."""
    return np.where(np.asarray(rows) > threshold, 1.0, -1.0)


def find_coding(least: float) -> str:
    """Return the coding of rows from their least value: "spins" of -1 and 1, or "bits" of 0 and 1."""
    return "spins" if least < 0 else "bits"


def decode_spins(spins: Array, coding: str, dtype: Any) -> Array:
    """Return spins in the coding that the rows of the fit had."""
    return (spins if coding == "spins" else 0.5 * (spins + 1.0)).astype(dtype)
