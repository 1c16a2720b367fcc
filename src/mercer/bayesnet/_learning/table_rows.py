"""Open a table of discrete columns, wherever it is, as a source whose one pass gives its coded rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import ArraySource, Source, open_place, place_of
from mercer._types import Array
from mercer.bayesnet._learning.coded_rows import MISSING, MOST_STATES, CodedRows, DistinctSums, merge_equal_rows
from mercer.bayesnet._learning.columns import ColumnStates, code_column, find_all_states, read_columns
from mercer.errors import DataError


class CodedSource(ArraySource):
    """Codes of rows in memory, which remember the rows and labels as they were given, for callbacks."""

    def __init__(self, codes: Array, weight: Array, threads: int, rows: Any, labels: Array = None) -> None:
        super().__init__(codes, None, weight, threads)
        self.rows = rows
        self.labels = labels

    def whole(self) -> Any:
        return self.rows


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows as a source of codes, with what is needed to turn the codes into states.

    ``known`` are the states of each column, or None where codes are the values themselves: whole numbers in files and
    other places, whose states are known after the pass. ``given`` are states that the caller fixed.
    """

    subject: str
    source: Source
    names: tuple[str, ...]
    known: tuple[ColumnStates, ...] | None
    given: Mapping[str, Sequence[Any]]

    def finish(self, sums: DistinctSums) -> CodedRows:
        """Return the coded rows of the sums of the pass: states without rows are dropped unless they were declared."""
        if not np.isnan(sums.fault):
            raise DataError(
                f"{self.subject}: columns must hold categories numbered by whole numbers from 0 to {MOST_STATES - 1}; "
                f"got {sums.fault:g}. Number them with scikit-learn's OrdinalEncoder, or cut numbers into bins."
            )
        if not len(sums.weights):
            raise DataError(f"{self.subject}: X must have at least one row of positive weight; got none.")
        codes, states = np.empty_like(sums.codes), []
        for index, name in enumerate(self.names):
            column = sums.codes[:, index]
            kept, table = self._choose_states(index, name, column)
            codes[:, index] = table[column]
            states.append(kept)
        return CodedRows.of(self.names, states, *merge_equal_rows(codes, sums.weights))

    def _choose_states(self, index: int, name: str, column: Array) -> tuple[list[Any], Array]:
        """Return the states of a column, and the new code of each old one."""
        present = np.unique(column[column != MISSING])
        table = np.full(256, MISSING, np.uint8)
        if self.known is None:
            states = list(self.given.get(name, present.tolist()))
            try:
                places = [states.index(int(value)) for value in present]
            except ValueError:
                strange = next(int(value) for value in present if int(value) not in states)
                raise DataError(
                    f"{self.subject}: column {name!r} must hold one of its states {states[:8]}; got {strange}."
                ) from None
            table[present] = places
        elif self.known[index].declared:
            states = self.known[index].states
            table[: len(states)] = np.arange(len(states))
        else:
            states = [self.known[index].states[code] for code in present]
            table[present] = np.arange(len(present))
        if not states:
            raise DataError(f"{self.subject}: column {name!r} must have a value in some row; all are missing. Drop it.")
        # The code after the last state stands for a missing value.
        table[MISSING] = len(states)
        return states, table


def open_table(
    subject: str,
    X: Any,
    weight: Array = None,
    *,
    given: Mapping[str, Sequence[Any]] | None = None,
    names: Sequence[str] | None = None,
    threads: int = 1,
    sample_weight: Any = None,
) -> TableRows:
    """Open rows by the columns `names`, or all.

    Parameters
    ----------
    subject : str
        Who asks, for errors.
    X : frame, dictionary, array, or rows in any other place
    weight : ndarray or None
        Checked weights of rows in memory.
    given : mapping
        States of columns that the caller fixes.
    names : sequence of str or None
        The columns that are wanted.
    threads : int
    sample_weight :
        Weights as the user gave them, for rows in other places.
    """
    given = dict(given or {})
    place = "memory" if isinstance(X, Mapping) else place_of(X)
    if place != "memory":
        source = open_place(place, X, None, sample_weight, subject=subject, targets=None, threads=threads)
        source.assume_finite()
        found = source.feature_names
        listed = tuple(found) if found is not None else tuple(f"x{index}" for index in range(source.n_features))
        _require_columns(subject, listed, names)
        return TableRows(subject, source, listed, None, given)
    columns = read_columns(subject, X)
    _require_columns(subject, tuple(columns), names)
    if names is not None:
        columns = {name: columns[name] for name in names}
    known = find_all_states(subject, columns, given)
    codes = code_table(subject, columns, known)
    return TableRows(subject, CodedSource(codes, weight, threads, X), tuple(columns), known, given)


def _require_columns(subject: str, listed: tuple[str, ...], names: Sequence[str] | None) -> None:
    absent = [name for name in names or () if name not in listed]
    if absent:
        raise DataError(
            f"{subject}: the structure must be over columns of X; {absent[0]!r} is none of {', '.join(listed[:8])}. "
            f"Add the column, or pass its states in `states` if it is hidden."
        )
    if not listed:
        raise DataError(f"{subject}: Found a table with 0 feature(s) while a minimum of 1 is required.")


def code_table(
    subject: str, columns: Mapping[str, Any], known: Sequence[ColumnStates], unknown: str = "error"
) -> Array:
    """Return the codes of the columns, uint8 of shape (n, d); 255 stands for a missing value."""
    n_rows = len(next(iter(columns.values())))
    codes = np.empty((n_rows, len(columns)), np.uint8)
    for index, (name, column) in enumerate(columns.items()):
        codes[:, index] = code_column(subject, name, column, known[index], unknown)
    return codes
