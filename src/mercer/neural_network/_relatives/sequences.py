"""Sequences of several lengths as one padded array with a mask."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source.namespace import namespace_of
from mercer._source.placement import is_on_device
from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._layers.layer import as_like


@dataclass(frozen=True)
class SequenceRows:
    """A function from rows to the inputs of a recurrent network: a row holds all steps, then the mask if any."""

    time: int
    width: int
    masked: bool

    def __call__(self, rows: Array) -> dict[str, Array]:
        xp, n_values = namespace_of(rows), self.time * self.width
        values = rows[:, :n_values] if self.masked else rows
        inputs = {"input": xp.reshape(values, (rows.shape[0], self.time, self.width))}
        return inputs | {"mask": rows[:, n_values:]} if self.masked else inputs


@dataclass(frozen=True, eq=False)
class PaddedSequences:
    """Sequences padded with zeros at their ends, in any array library.

    ``values`` is (n, time, d), ``lengths`` (n,) counts the steps that exist, on the host, ``padded`` tells whether some
    do not, and ``stacked`` whether the sequences were given as rows below each other.
    """

    values: Array
    lengths: np.ndarray
    padded: bool
    stacked: bool

    @property
    def layout(self) -> SequenceRows:
        """How the rows of :meth:`flatten` are read."""
        return SequenceRows(int(self.values.shape[1]), int(self.values.shape[2]), self.padded)

    @property
    def mask(self) -> np.ndarray:
        """1 for steps that exist, (n, time), on the host."""
        return np.arange(self.values.shape[1]) < self.lengths[:, None]

    def flatten(self) -> Array:
        """Return a row for each sequence: all its values, then its mask where some steps do not exist."""
        xp, (n, time, d) = namespace_of(self.values), self.values.shape
        flat = xp.reshape(self.values, (n, time * d))
        return xp.concat([flat, as_like(self.mask, flat)], axis=1) if self.padded else flat

    def join(self, values: Array) -> Array:
        """Return the values (n, time, ...) of all steps that exist, sequence after sequence."""
        xp = namespace_of(values)
        steps = xp.reshape(values, (values.shape[0] * values.shape[1], *values.shape[2:]))
        if not self.padded:
            return steps
        places = np.flatnonzero(self.mask)
        return steps[places] if xp is np else xp.take(steps, xp.asarray(places, device=values.device), axis=0)

    def pad(self, steps: np.ndarray) -> np.ndarray:
        """Return host values of all steps, sequence after sequence, as (n, time, ...) with zeros for padding."""
        padded = np.zeros((*self.values.shape[:2], *steps.shape[1:]), dtype=steps.dtype)
        padded[self.mask] = steps
        return padded


def join_listed(subject: str, X: Any, lengths: Any) -> tuple[Any, Any]:
    """Return the sequences of a list as rows below each other with their lengths; anything else as it was given.

    A list of matrices is a list of sequences, of any lengths, with a step in each row.
    """
    if not isinstance(X, list | tuple) or not X or lengths is not None:
        return X, lengths
    if any(len(getattr(sequence, "shape", ())) != 2 for sequence in X):
        return X, lengths
    widths = sorted({int(sequence.shape[1]) for sequence in X})
    if len(widths) > 1:
        raise DataError(
            f"{subject}: all sequences of a list must have the same number of columns; got {widths[0]} and "
            f"{widths[-1]}. Give every sequence the same columns."
        )
    counts = np.array([int(sequence.shape[0]) for sequence in X])
    if counts.min() == 0:
        raise DataError(
            f"{subject}: sequences must have at least one step; sequence {int(counts.argmin())} has none. Drop empty "
            f"sequences."
        )
    if is_on_device(X[0]):
        return namespace_of(X[0]).concat(list(X), axis=0), counts
    return np.concatenate([np.asarray(sequence) for sequence in X]), counts


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
    rows = X
    if rows.ndim == 2 and lengths is None:
        rows = rows[:, :, None]
    if rows.ndim not in (2, 3):
        raise DataError(
            f"{subject}: X must have the shape (n_sequences, time, n_features); got {tuple(rows.shape)}. Reshape it, "
            f"or pass rows of all sequences below each other with lengths."
        )
    if lengths is None:
        n, time = (int(size) for size in rows.shape[:2])
        if time == 0:
            raise DataError(
                f"{subject}: sequences must have at least one step; got shape {tuple(rows.shape)}. Drop empty "
                f"sequences."
            )
        return PaddedSequences(rows, np.full(n, time), False, False)
    counts, xp = _read_lengths(subject, lengths, rows), namespace_of(rows)
    if rows.ndim == 3:
        exists = as_like(np.arange(rows.shape[1]) < counts[:, None], rows)
        values = xp.where(exists[:, :, None] > 0, rows, xp.zeros_like(rows))
        return PaddedSequences(values, counts, True, False)
    time, n, d = int(counts.max()), len(counts), int(rows.shape[1])
    exists = np.arange(time) < counts[:, None]
    # The row of each step; a step that does not exist takes row 0, and is set to zero.
    numbers = np.zeros((n, time), dtype=np.int64)
    numbers[exists] = np.arange(len(rows))
    places = numbers.ravel() if xp is np else xp.asarray(numbers.ravel(), device=rows.device)
    values = xp.reshape(xp.take(rows, places, axis=0), (n, time, d))
    return PaddedSequences(values * as_like(exists, rows)[:, :, None], counts, True, True)


def _read_lengths(subject: str, lengths: Any, rows: Array) -> Array:
    counts = np.asarray(lengths)
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or not counts.size:
        raise DataError(
            f"{subject}: lengths must be integers, one for each sequence; got {lengths!r}. Pass counts of steps."
        )
    if (counts < 1).any():
        number = int(np.flatnonzero(counts < 1)[0])
        raise DataError(
            f"{subject}: every length must be at least 1; sequence {number} has {counts[number]}. Drop empty sequences."
        )
    if rows.ndim == 2 and counts.sum() != len(rows):
        raise DataError(
            f"{subject}: lengths must sum to the number of rows, {len(rows)}; got {counts.sum()}. Pass one length per "
            f"sequence."
        )
    if rows.ndim == 3 and (len(counts) != len(rows) or counts.max() > rows.shape[1]):
        raise DataError(
            f"{subject}: lengths must hold one number for each of {len(rows)} sequences, at most {rows.shape[1]}; got "
            f"{len(counts)} numbers up to {counts.max()}. Count the steps of each sequence that exist."
        )
    return counts.astype(np.int64)
