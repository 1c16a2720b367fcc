"""Rows to explain and rows of a background: tables whose columns can be mixed, and groups of columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source.namespace import is_sparse_matrix
from mercer.errors import DataError, DataTypeError, ParameterError


@dataclass(frozen=True, eq=False)
class Table:
    """Rows in memory, as the model takes them.

    Attributes
    ----------
    rows : ndarray (n, d) or DataFrame
    names : list of str
    """

    rows: Any
    names: list[str]

    @classmethod
    def read(cls, subject: str, X: Any, model: Any = None) -> "Table":
        """Read rows; raise DataError unless they are a table with the model's columns."""
        if hasattr(X, "iloc") and hasattr(X, "columns"):
            table = cls(X, [str(name) for name in X.columns])
        else:
            names = getattr(X, "columns", None)
            X = X.toarray() if is_sparse_matrix(X) else np.asarray(X)
            if X.ndim != 2:
                raise DataError(
                    f"{subject}: rows must be a table of two dimensions; got an array of shape {X.shape}. Give one row "
                    f"as X[i : i + 1]."
                )
            if X.dtype.kind in "US" and not hasattr(X, "columns"):
                raise DataTypeError(f"{subject}: rows of text need a frame with named columns; got {X.dtype}.")
            table = cls(X, _name_columns(names, X.shape[1], model))
        if not len(table):
            raise DataError(f"{subject}: there must be at least one row; got none.")
        expected = getattr(model, "n_features_in_", None)
        if isinstance(expected, int | np.integer) and table.n_columns != expected:
            raise DataError(
                f"{subject}: the model was fitted on {expected} columns; got rows of {table.n_columns}. Give the "
                f"columns of the fit."
            )
        return table

    def __len__(self) -> int:
        return self.rows.shape[0]

    @property
    def n_columns(self) -> int:
        return self.rows.shape[1]

    @property
    def is_frame(self) -> bool:
        return hasattr(self.rows, "iloc")

    def take(self, index: Any) -> "Table":
        """Return some rows."""
        return Table(self.rows.iloc[index] if self.is_frame else self.rows[index], self.names)

    def to_array(self) -> np.ndarray:
        """Return the values (n, d), as numbers where all are."""
        return np.asarray(self.rows)

    def check_like(self, subject: str, other: "Table") -> None:
        """Raise DataError unless `other`, rows of a background, has the same columns."""
        if other.n_columns != self.n_columns:
            raise DataError(
                f"{subject}: background must have the {self.n_columns} columns of X; got {other.n_columns}. Give rows "
                f"like those that are explained."
            )
        if self.is_frame and other.is_frame and self.names != other.names:
            wrong = next(name for name, expected in zip(other.names, self.names) if name != expected)
            raise DataError(
                f"{subject}: background must have the columns of X in the same order; got {wrong!r} where "
                f"{self.names[other.names.index(wrong)]!r} is expected."
            )

    def to_floats(self, subject: str) -> np.ndarray:
        """Return the values as numbers (n, d); raise DataTypeError if a column has others."""
        try:
            return np.ascontiguousarray(self.rows, np.float64)
        except (TypeError, ValueError) as error:
            raise DataTypeError(
                f"{subject}: this needs columns of numbers; got others ({error}). Encode them first."
            ) from None


class Mixer:
    """Mixtures of explained rows and background rows, as tables that the model takes."""

    def __init__(self, rows: Table, background: Table) -> None:
        self._frame = rows.rows if rows.is_frame else None
        if self._frame is None:
            # One type for both, so that no value is cut.
            kind = np.result_type(rows.rows, background.to_array())
            self._rows, self._other = rows.rows.astype(kind, copy=False), background.to_array().astype(kind, copy=False)
            return
        import pandas

        other = background.rows
        if not background.is_frame:
            other = pandas.DataFrame(background.rows, columns=self._frame.columns)
        self._columns = [
            pandas.concat([self._frame.iloc[:, j], other.iloc[:, j]], ignore_index=True) for j in range(rows.n_columns)
        ]

    def mix(self, row: np.ndarray, other: np.ndarray, known: np.ndarray) -> Any:
        """Return rows with the columns `known` (r, d) of explained rows `row` (r,), and the others of `other` (r,)."""
        if self._frame is None:
            return np.where(known, self._rows[row], self._other[other])
        import pandas

        start = len(self._frame)
        mixed = {
            name: column.take(np.where(known[:, j], row, start + other)).reset_index(drop=True)
            for j, (name, column) in enumerate(zip(self._frame.columns, self._columns))
        }
        return pandas.DataFrame(mixed)


@dataclass(frozen=True, eq=False)
class Players:
    """The columns, or groups of columns, among which an answer is shared.

    Attributes
    ----------
    of_column : (d,)
        The player of each column.
    names : list of str
    """

    of_column: np.ndarray
    names: list[str]

    @classmethod
    def read(cls, subject: str, groups: Any, names: list[str]) -> "Players":
        """Read groups: lists of columns, or such by name; columns in none are players of their own."""
        if groups is None:
            return cls(np.arange(len(names)), list(names))
        items = list(groups.items()) if isinstance(groups, Mapping) else [(None, group) for group in groups]
        titles: list[str] = []
        of_column = np.full(len(names), -1)
        for title, group in items:
            members = [find_column(subject, one, names) for one in ([group] if isinstance(group, str) else group)]
            if not members or (of_column[members] >= 0).any() or len(set(members)) < len(members):
                raise ParameterError(
                    f"{subject}: groups must be lists of columns without repetitions; got {group!r}. Name each column "
                    f"at most once."
                )
            of_column[members] = len(titles)
            titles.append(str(title) if title is not None else ", ".join(names[j] for j in members))
        for j in np.flatnonzero(of_column < 0).tolist():
            of_column[j] = len(titles)
            titles.append(names[j])
        return cls(of_column, titles)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def are_columns(self) -> bool:
        return bool(len(self.of_column) == len(self.names) and (self.of_column == np.arange(len(self.names))).all())

    def spread(self, coalitions: np.ndarray) -> np.ndarray:
        """Return which columns are known, from which players are (r, players)."""
        return np.asarray(coalitions[:, self.of_column])

    def choose_data(self, data: np.ndarray) -> np.ndarray:
        """Return the first column of each player."""
        first = [int(np.flatnonzero(self.of_column == player)[0]) for player in range(len(self))]
        return np.asarray(data[:, first])


def find_column(subject: str, column: Any, names: list[str]) -> int:
    """Return the number of a column that is given by number or name."""
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int | np.integer) and -len(names) <= column < len(names):
        return int(column) % len(names)
    raise ParameterError(
        f"{subject}: a column must be one of {names[:6]}{'...' if len(names) > 6 else ''} or a number below "
        f"{len(names)}; got {column!r}."
    )


def _name_columns(names: Any, d: int, model: Any) -> list[str]:
    known = getattr(model, "feature_names_in_", None) if names is None else names
    if known is not None and len(known) == d:
        return [str(name) for name in known]
    return [f"x{j}" for j in range(d)]
