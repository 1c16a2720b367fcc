"""Sequences of several lengths as one padded array with a mask."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError

__all__ = ["PaddedSequences", "pad_sequences"]


@dataclass(frozen=True, eq=False)
class PaddedSequences:
    """Sequences padded with zeros at their ends.

    ``values`` is (n, time, d), ``mask`` (n, time) is 1 for steps that exist, or None where all do, and ``lengths`` (n,)
    counts them. ``stacked`` tells whether the sequences were given as rows below each other.
    """

    values: Array
    mask: Array | None
    lengths: Array
    stacked: bool

    def join(self, values: Array) -> Array:
        """Return the values (n, time, ...) of all steps that exist, sequence after sequence."""
        return values.reshape(-1, *values.shape[2:]) if self.mask is None else values[self.mask > 0]

    def pad(self, steps: Array) -> Array:
        """Return values of all steps, sequence after sequence, as an array (n, time, ...) with zeros for padding."""
        shape = (*self.values.shape[:2], *steps.shape[1:])
        if self.mask is None:
            return steps.reshape(shape)
        padded = np.zeros(shape, dtype=steps.dtype)
        padded[self.mask > 0] = steps
        return padded

    def name_inputs(self) -> dict[str, Array]:
        """Return the inputs of a recurrent network by their names."""
        return {"input": self.values} if self.mask is None else {"input": self.values, "mask": self.mask}


def pad_sequences(subject: str, X: Any, lengths: Any = None) -> PaddedSequences:
    """Read sequences.

    Parameters
    ----------
    subject : str
        Who asks, for errors.
    X : array of shape (n, time, d), (n, time), or (n_steps, d) with `lengths`
        With `lengths`, X has the rows of all sequences below each other, or `lengths` says how many steps of a 3-D
        array exist. A 2-D array without them has a sequence of numbers in each row.
    lengths : array-like of shape (n,) or None
    """
    rows = np.asarray(X)
    if rows.ndim == 2 and lengths is None:
        rows = rows[:, :, None]
    if rows.ndim not in (2, 3):
        message = f"{subject}: X must have the shape (n_sequences, time, n_features); got {rows.shape}."
        raise DataError(message)
    if lengths is None:
        n, time = rows.shape[:2]
        if time == 0:
            message = f"{subject}: sequences must have at least one step; got shape {rows.shape}. Drop empty sequences."
            raise DataError(message)
        return PaddedSequences(rows, None, np.full(n, time), False)
    counts = _read_lengths(subject, lengths, rows)
    if rows.ndim == 3:
        mask = np.arange(rows.shape[1]) < counts[:, None]
        return PaddedSequences(np.where(mask[:, :, None], rows, 0.0), mask.astype(rows.dtype), counts, False)
    time = int(counts.max())
    mask = np.arange(time) < counts[:, None]
    values = np.zeros((len(counts), time, rows.shape[1]), dtype=rows.dtype)
    values[mask] = rows
    return PaddedSequences(values, mask.astype(rows.dtype), counts, True)


def _read_lengths(subject: str, lengths: Any, rows: Array) -> Array:
    counts = np.asarray(lengths)
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or not counts.size:
        message = f"{subject}: lengths must be integers, one for each sequence; got {lengths!r}."
        raise DataError(message)
    if (counts < 1).any():
        number = int(np.flatnonzero(counts < 1)[0])
        message = (
            f"{subject}: every length must be at least 1; sequence {number} has {counts[number]}. Drop empty sequences."
        )
        raise DataError(message)
    if rows.ndim == 2 and counts.sum() != len(rows):
        message = (
            f"{subject}: lengths must sum to the number of rows, {len(rows)}; got {counts.sum()}. Pass one length per "
            f"sequence."
        )
        raise DataError(message)
    if rows.ndim == 3 and (len(counts) != len(rows) or counts.max() > rows.shape[1]):
        message = (
            f"{subject}: lengths must hold one number for each of {len(rows)} sequences, at most {rows.shape[1]}; got "
            f"{len(counts)} numbers up to {counts.max()}."
        )
        raise DataError(message)
    return counts.astype(np.int64)
