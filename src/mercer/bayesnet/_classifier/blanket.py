"""Scores of the classes of rows, from the tables around the class variable."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._native.graph import blanket_scores
from mercer._plain import plain
from mercer._types import Array
from mercer.bayesnet._learning.coded_rows import CodedRows
from mercer.bayesnet._learning.incomplete_rows import IncompleteRows
from mercer.bayesnet._network.network import BayesianNetwork

# Rows with missing values that are completed at once, so that memory does not grow with the number of rows.
_ROWS_AT_ONCE = 4096


@plain
@dataclass(frozen=True, eq=False)
class BlanketScores:
    """log P(class, columns) up to a term without the class, for rows of codes.

    Attributes
    ----------
    network : BayesianNetwork
        Its variables are the columns in their order, and the class last.
    """

    network: BayesianNetwork

    @cached_property
    def sizes(self) -> Array:
        """The number of states of each variable."""
        return np.array([len(states) for states in self.network.variables.values()], dtype=np.intp)

    @cached_property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.sizes[-1])

    @cached_property
    def log_priors(self) -> Array:
        """The logarithms of the probabilities of the classes, before anything is known of a row."""
        with np.errstate(divide="ignore"):
            return np.log(self.network.query(list(self.network.variables)[-1]).values)

    @cached_property
    def _plan(self) -> tuple[tuple[Array, ...], Array]:
        """Families with the class in them: members, strides, where each begins, their tables; and the class's own."""
        names = list(self.network.variables)
        place = {name: index for index, name in enumerate(names)}
        label = names[-1]
        members: list[int] = []
        strides: list[int] = []
        starts, offsets, tables, n_entries = [0], [], [], 0
        own = np.zeros(self.n_classes)
        for name in names:
            # Only families that contain the class change its posterior.
            family = [*self.network.parents[name], name]
            if label not in family:
                continue
            with np.errstate(divide="ignore"):
                # The class comes last, so that the scores of all classes lie side by side.
                table = np.moveaxis(np.log(self.network.tables[name]), family.index(label), -1)
            others = [member for member in family if member != label]
            if not others:
                own = own + table
                continue
            if len(others) == 1 and others[0] == name:
                # A missing value of a column without other parents has the factor one: its states are summed out.
                table = np.concatenate([table, np.zeros((1, self.n_classes))])
            shape = table.shape
            members += [place[member] for member in others]
            strides += [int(np.prod(shape[axis + 1 :])) for axis in range(len(others))]
            starts.append(len(members))
            offsets.append(n_entries)
            tables.append(table.ravel())
            n_entries += table.size
        flat = np.concatenate(tables) if tables else np.zeros(1)
        lists = (members, strides, starts, offsets)
        return (*(np.array(values, dtype=np.intp) for values in lists), flat), own

    @cached_property
    def _free(self) -> Array:
        """Whether a gap in each column can be skipped: only the class is its parent, and it has no children."""
        names = list(self.network.variables)
        label = names[-1]
        return np.array(
            [set(self.network.parents[name]) <= {label} and not self.network.children[name] for name in names[:-1]]
        )

    @cached_property
    def _needed(self) -> Array:
        """Whether each column stands in a family with the class."""
        names = list(self.network.variables)
        label = names[-1]
        needed = {label}
        for name in names:
            family = {*self.network.parents[name], name}
            needed |= family if label in family else set()
        return np.array([name in needed for name in names[:-1]])

    def score(self, codes: Array) -> Array:
        """Return the scores (n, k) of rows of codes (n, d); a missing value has the code after the last state."""
        # The code after the last state marks a gap.
        gaps = codes >= self.sizes[:-1].astype(np.uint8)
        if not gaps.any():
            return self._score_complete(codes)
        # A gap outside of the class's families does not matter; one in a free column adds nothing.
        hard = (gaps & (self._needed & ~self._free)).any(axis=1)
        safe = np.where(gaps & ~(self._free & self._needed), 0, codes).astype(np.uint8)
        scores = self._score_complete(np.ascontiguousarray(safe))
        rows = np.flatnonzero(hard)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            scores[part] = self._score_incomplete(codes[part])
        return scores

    def _score_complete(self, codes: Array) -> Array:
        arrays, own = self._plan
        members, strides, starts, offsets, tables = arrays
        out = np.empty((len(codes), self.n_classes))
        out[:] = own
        blanket_scores.add_family_scores(codes, members, strides, starts, offsets, tables, out)
        return out

    def _score_incomplete(self, codes: Array) -> Array:
        """Return log P(observed values, class) for each class, by sums over the missing values."""
        names = tuple(self.network.variables)
        place = {name: index for index, name in enumerate(names)}
        parents = [tuple(place[parent] for parent in self.network.parents[name]) for name in names]
        tables = list(self.network.tables.values())
        # Each row once with each class as its last value.
        repeated = np.repeat(codes, self.n_classes, axis=0)
        labels = np.tile(np.arange(self.n_classes, dtype=np.uint8), len(codes))
        full = np.column_stack([repeated, labels])
        rows = CodedRows.of(names, self.network.variables.values(), full, np.ones(len(full)))
        return IncompleteRows(rows, parents).score_rows(tables).reshape(len(codes), self.n_classes)

    def __getstate__(self) -> dict[str, Any]:
        return {"network": self.network}

    def __setstate__(self, state: dict[str, Any]) -> None:
        object.__setattr__(self, "network", state["network"])
