"""Sequences: where each begins in the rows, how they are given, and the pieces that threads work on.

Sequences follow each other in one table of rows. A piece is a run of whole short sequences, or a chunk of a long one;
pieces depend on the lengths and on the number of states alone, so that sums over them have the same bits on any number
of threads.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.scan import cut_steps
from mercer._source import open_place
from mercer._source.placement import is_on_device
from mercer._types import Array
from mercer.errors import DataError

# Fewest and most entries of the rows of a piece together with one of its five tables, a row per step and a lane per
# state: 0.5 and 8 MiB. Small pieces stay in a core's own cache, but many threads then wait for the interpreter between
# them: 2 million steps with 10 states take 2.0 s on one thread either way, and on 16 threads 0.84 s with pieces of
# 1 MiB, 0.29 s with 8 MiB.
_SMALLEST_TABLE = 2**16
_LARGEST_TABLE = 2**20
# Pieces that all rows are cut into in between: enough for many threads, and tables that are small beside the rows.
_PIECES = 64
# Fewest steps of a chunk: the warm-ups on both sides must stay short beside it.
_SHORTEST_CHUNK = 2048


def join_sequences(subject: str, X: Any) -> tuple[Any, Array]:
    """Return the rows and lengths of a list of two-dimensional arrays; other input comes back with lengths None."""
    if not isinstance(X, list | tuple) or not len(X) or len(getattr(X[0], "shape", np.shape(X[0]))) != 2:
        return X, None
    if any(map(is_on_device, X)):
        raise DataError(
            f"{subject}: sequences on a device must be one array with `lengths`; got a list of {len(X)} arrays. "
            f"Concatenate them there, and pass the length of each."
        )
    arrays = [np.asarray(sequence) for sequence in X]
    for number, array in enumerate(arrays):
        if array.ndim != 2 or array.shape[1] != arrays[0].shape[1]:
            raise DataError(
                f"{subject}: every sequence of a list must be an array of shape (n_steps, {arrays[0].shape[1]}); "
                f"sequence {number} has shape {array.shape}. Give all sequences the same columns."
            )
    lengths = np.array([len(array) for array in arrays])
    _refuse_empty(subject, lengths)
    return np.concatenate(arrays), lengths


def find_group_lengths(subject: str, groups: Any) -> Array:
    """Return the lengths of the runs of equal entries in `groups`; each group must be one run."""
    groups = np.asarray(groups)
    if groups.ndim != 1 or not len(groups):
        raise DataError(f"{subject}: `groups` must be one-dimensional, an entry per row; got shape {groups.shape}.")
    labels, lengths = _find_runs(groups)
    _refuse_split_groups(subject, labels)
    return np.array(lengths)


def read_group_lengths(subject: str, X: Any, name: str, beside: list[str]) -> Array:
    """Return the lengths of the runs of equal entries in the column `name` of a table in files.

    `beside` holds one of the other columns, since a source needs a feature. One pass reads these two columns, block
    by block: no more than the runs is kept.
    """
    table = open_place("file", X, name, None, subject=subject, targets="labels", threads=1, columns=beside)
    labels: list[Any] = []
    lengths: list[int] = []

    def join(runs: tuple[list[Any], list[int]]) -> None:
        more, counts = runs
        if labels and labels[-1] == more[0]:
            # The run goes on from the block before.
            lengths[-1] += counts[0]
            more, counts = more[1:], counts[1:]
        labels.extend(more)
        lengths.extend(counts)

    table.allow_missing()
    table.each(lambda block: _find_runs(block.y), join)
    table.release()
    _refuse_split_groups(subject, labels)
    return np.array(lengths)


def _find_runs(groups: Array) -> tuple[list[Any], list[int]]:
    """Return the entries and the lengths of the runs of equal entries."""
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    return groups[starts].tolist(), np.diff(np.append(starts, len(groups))).tolist()


def _refuse_split_groups(subject: str, labels: list[Any]) -> None:
    """Raise if the rows of a group do not follow each other."""
    if len(set(labels)) < len(labels):
        raise DataError(
            f"{subject}: the rows of a group must follow each other; {len(labels)} runs belong to {len(set(labels))} "
            f"groups. Sort the rows by group first, and by time within it."
        )


def read_lengths(subject: str, lengths: Any, n_rows: int) -> Array:
    """Return the lengths of the sequences as integers; None stands for one sequence of all rows."""
    if lengths is None:
        return np.array([n_rows])
    lengths = np.atleast_1d(np.asarray(lengths))
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu":
        raise DataError(
            f"{subject}: `lengths` must be a list of integers, one per sequence; got an array of {lengths.dtype} with "
            f"shape {lengths.shape}."
        )
    _refuse_empty(subject, lengths)
    if int(lengths.sum()) != n_rows:
        raise DataError(
            f"{subject}: `lengths` must sum to the number of rows, {n_rows}; got {int(lengths.sum())}. Pass one length "
            f"per sequence."
        )
    return lengths.astype(np.intp)


def _refuse_empty(subject: str, lengths: Array) -> None:
    """Raise if a sequence has no step."""
    if not len(lengths) or lengths.min() < 1:
        which = f"sequence {int(np.argmin(lengths))} has {int(lengths.min())}" if len(lengths) else "there are none"
        raise DataError(f"{subject}: every sequence needs at least one step; {which}. Leave empty sequences out.")


def read_weights(subject: str, weight: Any, lengths: Array) -> Array:
    """Return one weight per sequence, or None."""
    if weight is None:
        return None
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (len(lengths),):
        raise DataError(
            f"{subject}: `sequence_weight` must have shape {(len(lengths),)}; got {weight.shape}. Pass one weight per "
            f"sequence."
        )
    if not np.isfinite(weight).all() or weight.min() < 0 or not weight.any():
        raise DataError(
            f"{subject}: weights must be finite, non-negative and not all zero; got a smallest one of "
            f"{weight.min():g}. Leave out the sequences that do not count."
        )
    return weight


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows `first` to `stop`.

    ``starts`` are the rows, counted from `first`, at which a sequence begins. ``begin`` and ``end`` are the bounds of
    the long sequence that the piece is a chunk of; for whole sequences they are `first` and `stop` themselves.
    ``sequences`` are the numbers of the sequences it touches.
    """

    first: int
    stop: int
    starts: Array
    begin: int
    end: int
    sequences: slice

    @property
    def size(self) -> int:
        """The number of steps."""
        return self.stop - self.first


@dataclass(frozen=True, eq=False)
class Plan:
    """The pieces of all sequences in order; ``chains`` lists the runs of pieces that are chunks of one sequence."""

    lengths: Array
    weight: Array
    pieces: list[Piece]
    chains: list[range]

    @property
    def n_rows(self) -> int:
        """The number of steps of all sequences."""
        return self.pieces[-1].stop

    @property
    def total_weight(self) -> float:
        """The sum of weight over all steps."""
        return float(self.n_rows if self.weight is None else self.weight @ self.lengths)

    def step_weights(self, piece: Piece) -> Array:
        """Return the weight of each step of a piece, or None where all are one."""
        if self.weight is None:
            return None
        chosen = self.weight[piece.sequences]
        lengths = self.lengths[piece.sequences] if len(chosen) > 1 else piece.size
        return np.repeat(chosen, lengths)


def count_steps(lanes: int, n_features: int, n_steps: int) -> int:
    """Return the most steps of a piece for chains of `lanes` states and `n_steps` steps in all."""
    width = lanes + n_features
    entries = min(max(n_steps * width // _PIECES, _SMALLEST_TABLE), _LARGEST_TABLE)
    return max(_SHORTEST_CHUNK, entries // width)


def plan_pieces(lengths: Array, weight: Array, lanes: int, n_features: int) -> Plan:
    """Cut sequences into pieces: short ones together, long ones alone."""
    chunk = count_steps(lanes, n_features, int(np.sum(lengths)))
    ends = np.cumsum(lengths)
    pieces: list[Piece] = []
    chains: list[range] = []
    sequence = 0
    while sequence < len(lengths):
        begin, end = int(ends[sequence] - lengths[sequence]), int(ends[sequence])
        if end - begin > chunk:
            cuts = cut_steps(end - begin, chunk)
            chains.append(range(len(pieces), len(pieces) + len(cuts)))
            pieces += [
                Piece(begin + start, begin + stop, np.arange(start == 0), begin, end, slice(sequence, sequence + 1))
                for start, stop in cuts
            ]
            sequence += 1
            continue
        # As many whole sequences as fit in a chunk, at least one.
        following = max(sequence + 1, int(np.searchsorted(ends, begin + chunk, side="right")))
        stop = int(ends[following - 1])
        starts = (ends - lengths)[sequence:following] - begin
        pieces.append(Piece(begin, stop, starts.astype(np.intp), begin, stop, slice(sequence, following)))
        sequence = following
    return Plan(lengths, weight, pieces, chains)
