"""Count families, and score them; scores of families are cached."""

from collections.abc import Iterable
from math import prod
from threading import Lock
from typing import Any

import numpy as np

from mercer._native.graph import row_counts
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.bayesnet._learning.coded_rows import CodedRows
from mercer.bayesnet._learning.scores import FamilyScore
from mercer.errors import MemoryForecastError

# Cells in the table of one family at most: 2^22 numbers are 32 MiB, and codes stay far below the range of int32.
MOST_CELLS = 2**22
# Cells in the tables of one native call: 4 MiB, so that several threads do not take much memory.
_CELLS_AT_ONCE = 2**19
# Bytes of parents' codes that are kept: the oldest are dropped, and made again if a search comes back to them.
_CODE_BYTES = 2**26
# Row visits in one native call: some 30 ms, so that Ctrl-C is seen soon.
_VISITS_AT_ONCE = 2**24


class FamilyCounter:
    """Counts of combinations of states over coded rows."""

    def __init__(self, rows: CodedRows, threads: int = 1) -> None:
        self.rows = rows
        self.threads = threads
        # A missing value has a code of its own, whose cells are cut off after counting.
        self.coded_sizes = rows.sizes + rows.missing
        self._zero = np.zeros(rows.columns.shape[1], np.int32)
        self._codes: dict[tuple[int, ...], Array] = {}
        self._most = max(2, _CODE_BYTES // max(1, self._zero.nbytes))
        self._lock = Lock()

    def code_parents(self, parents: tuple[int, ...]) -> Array:
        """Return the mixed-radix code of the parents' states of each row, int32; the first parent runs slowest."""
        if not parents:
            return self._zero
        code = self._codes.get(parents)
        if code is None:
            if prod(int(self.coded_sizes[parent]) for parent in parents) > MOST_CELLS:
                self._refuse(parents)
            # The code of the first parents is extended by the last one: families share their beginnings.
            before, last = self.code_parents(parents[:-1]), parents[-1]
            code = np.empty_like(before)
            row_counts.extend_codes(before, self.rows.columns[last], int(self.coded_sizes[last]), code)
            # Threads score several variables at once.
            with self._lock:
                # The oldest code makes room.
                while len(self._codes) >= self._most:
                    self._codes.pop(next(iter(self._codes)))
                self._codes[parents] = code
        return code

    def count(self, members: Iterable[int]) -> Array:
        """Return the weight of each combination of states of the columns `members`, as an array with their axes.

        Rows in which one of them is missing are left out.
        """
        members = tuple(members)
        shape = tuple(int(self.coded_sizes[member]) for member in members)
        if prod(shape) > MOST_CELLS:
            self._refuse(members)
        table = np.zeros(prod(shape))
        if members:
            before, last = self.code_parents(members[:-1]), members[-1]
            code = np.empty_like(before)
            row_counts.extend_codes(before, self.rows.columns[last], shape[-1], code)
            row_counts.count_cells(code, self.rows.weights, table)
        else:
            table[0] = self.rows.total
        # The last code of a column stands for missing values: rows with it are left out.
        present = tuple(slice(0, int(self.rows.sizes[member])) for member in members)
        return np.ascontiguousarray(table.reshape(shape)[present])

    def _refuse(self, members: tuple[int, ...]) -> None:
        names = ", ".join(repr(self.rows.names[member]) for member in members)
        n_cells = prod(int(self.coded_sizes[member]) for member in members)
        raise MemoryForecastError(
            f"FamilyCounter: a table may have at most {MOST_CELLS} entries; that of {names} would have {n_cells}. "
            f"Lower max_parents, or join states."
        )


class ScoredFamilies:
    """Scores of families over complete rows, by node and parents, each computed once."""

    def __init__(self, counter: FamilyCounter, score: FamilyScore) -> None:
        self.counter = counter
        self.score = score
        self._known: dict[tuple[int, frozenset[int]], float] = {}

    def score_family(self, node: int, parents: Iterable[int]) -> float:
        """Return the score of `node` with exactly these parents; minus infinity if its table would be too large."""
        key = (node, frozenset(parents))
        if key not in self._known:
            members = (*sorted(key[1]), node)
            if prod(int(self.counter.coded_sizes[member]) for member in members) > MOST_CELLS:
                self._known[key] = -np.inf
            else:
                self._known[key] = self.score.evaluate_family(self.counter.count(members))
        return self._known[key]

    def score_additions(
        self, node: int, parents: Iterable[int], candidates: Iterable[int], *, keep: bool = True
    ) -> Array:
        """Return the score of `node` with each candidate as one more parent, in their order; `keep` caches them."""
        family = frozenset(parents)
        wanted = list(candidates)
        unknown = [candidate for candidate in wanted if (node, family | {candidate}) not in self._known]
        sizes = self.counter.coded_sizes
        # Cells of the table of node, parents and candidate: they bound how many candidates one native call counts.
        cells = {
            candidate: int(sizes[candidate] * sizes[node]) * prod(int(sizes[parent]) for parent in family)
            for candidate in unknown
        }
        for candidate in unknown:
            # A table too large to count makes the family impossible.
            if cells[candidate] > MOST_CELLS:
                self._known[node, family | {candidate}] = -np.inf
        groups = self._group([candidate for candidate in unknown if cells[candidate] <= MOST_CELLS], cells)
        if groups:
            base = self.counter.code_parents(tuple(sorted(family)))
            results: list[Any] = []
            threads = self.counter.threads if len(groups) > 1 else 1
            run_numbered(
                lambda number: self._score_group(node, base, groups[number], cells),
                len(groups),
                threads,
                results.append,
            )
            for group, values in zip(groups, results, strict=True):
                for candidate, value in zip(group, values, strict=True):
                    self._known[node, family | {candidate}] = float(value)
        scores = np.array([self._known[node, family | {candidate}] for candidate in wanted])
        if not keep:
            for candidate in wanted:
                del self._known[node, family | {candidate}]
        return scores

    def _group(self, candidates: list[int], cells: dict[int, int]) -> list[list[int]]:
        """Return the candidates in groups, each small enough for one native call."""
        groups: list[list[int]] = []
        held = 0
        most = max(1, _VISITS_AT_ONCE // max(1, self.counter.rows.columns.shape[1]))
        for candidate in candidates:
            if not groups or held + cells[candidate] > _CELLS_AT_ONCE or len(groups[-1]) >= most:
                groups.append([])
                held = 0
            groups[-1].append(candidate)
            held += cells[candidate]
        return groups

    def _score_group(self, node: int, base: Array, group: list[int], cells: dict[int, int]) -> Array:
        starts = np.concatenate([[0], np.cumsum([cells[candidate] for candidate in group])]).astype(np.intp)
        counts, rows = np.zeros(starts[-1]), self.counter.rows
        candidates = np.array(group, dtype=np.intp)
        sizes = self.counter.coded_sizes
        row_counts.count_extensions(rows.columns, sizes, base, node, candidates, starts[:-1], rows.weights, counts)
        n_states = int(sizes[node])
        return self.score.evaluate(counts, n_states, starts[:-1] // n_states)
