"""Targets or weights that are given separately from rows in a file: an array, one number, or a .npy file."""

import os
from typing import Any

import numpy as np

from mercer._source.file.npy_file import NpyFile
from mercer._types import Array
from mercer.errors import DataError


class RowValues:
    """An entry, or a row of entries, for each row of a file.

    Parameters
    ----------
    given : array-like, number or path
    name : {"y", "sample_weight"}
        What it is, for errors.
    subject : str
        Who reads, for errors.
    """

    def __init__(self, given: Any, name: str, subject: str) -> None:
        self.name = name
        self.subject = subject
        self.file: NpyFile | None = None
        self.values: Any = None
        self.shape: tuple[int, ...] | None = None  # None for one number that stands for all rows
        if isinstance(given, str | os.PathLike):
            self._check_path(os.fspath(given))
            self.file = NpyFile(given, subject)
            self.shape = self.file.shape
        elif np.isscalar(given):
            self.values = given
        else:
            self.values = np.asarray(given)
            self.shape = self.values.shape

    def _check_path(self, path: str) -> None:
        if not path.endswith(".npy"):
            raise DataError(
                f"{self.subject}: {self.name} must be an array, the path of a .npy file or, for tables, the name of a "
                f"column; got {path!r}."
            )

    def check_length(self, n_rows: int, description: str) -> None:
        """Raise unless there is an entry for each row."""
        if self.shape is not None and self.shape[:1] != (n_rows,):
            raise DataError(
                f"{self.subject}: Found input variables with inconsistent numbers of samples: {description} has "
                f"{n_rows} rows and {self.name} has {self.shape[0] if self.shape else 1}; give one per row."
            )

    def read(self, start: int, stop: int, where: str = "") -> Array:
        """Return the values of some consecutive rows; fewer at the end."""
        if self.shape is None:
            return np.full(stop - start, self.values)
        stop = min(stop, self.shape[0])
        if self.file is not None:
            return self.file.read(min(start, stop), stop, where)
        return self.values[start:stop]


def open_row_values(given: Any, name: str, subject: str) -> RowValues | None:
    """Open what was given, to be read by rows; None if nothing was given."""
    return None if given is None else RowValues(given, name, subject)
