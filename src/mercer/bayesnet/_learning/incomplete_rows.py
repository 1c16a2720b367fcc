"""Expected counts of families over rows with missing values.

Given the observed values of a row, its missing variables fall into groups that are independent of each other: two
belong together if they share a family. The posterior of a group is computed over all its combinations of states, for
all rows with the same missing variables at once; larger groups than that by variable elimination.
"""

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.bayesnet._inference.elimination import eliminate, multiply_factors
from mercer.bayesnet._learning.coded_rows import CodedRows
from mercer.bayesnet._tables.factor import Factor

__all__ = ["ExpectedCounts", "IncompleteRows"]

# Combinations of states of a group of missing variables that are listed; larger groups are summed out one by one.
_MOST_COMBINATIONS = 4096
# Numbers in the posteriors of the rows that are computed at once: 16 MiB.
_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """The expected counts of each table, and the log-likelihood of the rows."""

    counts: list[Array]
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class _Group:
    """Rows with one set of missing variables, and one group of these.

    ``bases`` and ``offsets`` tell for each touched family the entry of its table: that of the observed members of each
    row (n,) plus that of each combination of the missing ones (k,).
    """

    rows: Array
    members: tuple[int, ...]
    families: tuple[int, ...]
    bases: list[Array]
    offsets: list[Array]

    def score(self, logarithms: list[Array], part: slice) -> Array:
        """Return the log-probability of each combination for some of the rows, (n, k)."""
        scores: Array = 0.0
        for node, base, offset in zip(self.families, self.bases, self.offsets, strict=True):
            scores = scores + logarithms[node][base[part, None] + offset[None, :]]
        return scores


class IncompleteRows:
    """Coded rows with missing values, arranged for E steps of a structure."""

    def __init__(self, rows: CodedRows, parents: list[tuple[int, ...]]) -> None:
        self.rows = rows
        self.parents = parents
        self.shapes = [
            tuple(int(rows.sizes[member]) for member in (*above, node)) for node, above in enumerate(parents)
        ]
        self.known = [np.zeros(shape) for shape in self.shapes]
        self.groups: list[_Group] = []
        gaps = rows.columns >= rows.sizes[:, None].astype(np.uint8)
        patterns, which = np.unique(gaps.T, axis=0, return_inverse=True)
        which = which.ravel()
        for number, pattern in enumerate(patterns):
            self._arrange(np.flatnonzero(which == number), pattern)

    def _arrange(self, chosen: Array, pattern: Array) -> None:
        """Count the families that are observed in rows of one pattern, and list the groups of the others."""
        missing = set(np.flatnonzero(pattern).tolist())
        families = {node: [m for m in (*above, node) if m in missing] for node, above in enumerate(self.parents)}
        for node, unseen in families.items():
            if not unseen:
                places = self._place(node, chosen, missing)
                table = np.bincount(places, self.rows.weights[chosen], prod(self.shapes[node]))
                self.known[node] += table.reshape(self.shapes[node])
        for members in _join_groups([unseen for unseen in families.values() if unseen]):
            touched = tuple(node for node, unseen in families.items() if unseen and unseen[0] in members)
            ordered = tuple(sorted(members))
            bases = [self._place(node, chosen, missing) for node in touched]
            if prod(int(self.rows.sizes[member]) for member in ordered) <= _MOST_COMBINATIONS:
                combinations = np.array(list(product(*(range(self.rows.sizes[member]) for member in ordered))))
                offsets = [self._offset(node, ordered, combinations) for node in touched]
            else:
                offsets = []
            self.groups.append(_Group(chosen, ordered, touched, bases, offsets))

    def _strides(self, node: int) -> list[tuple[int, int]]:
        """Return the members of a family and by how much the state of each moves the entry in its flat table."""
        shape = self.shapes[node]
        members = (*self.parents[node], node)
        return [(member, prod(shape[axis + 1 :])) for axis, member in enumerate(members)]

    def _place(self, node: int, chosen: Array, missing: set[int]) -> Array:
        """Return the entry of a family's table that the observed members of each row name."""
        place = np.zeros(len(chosen), np.int64)
        for member, stride in self._strides(node):
            if member not in missing:
                place += stride * self.rows.columns[member, chosen].astype(np.int64)
        return place

    def _offset(self, node: int, ordered: tuple[int, ...], combinations: Array) -> Array:
        offset = np.zeros(len(combinations), np.int64)
        for member, stride in self._strides(node):
            if member in ordered:
                offset += stride * combinations[:, ordered.index(member)]
        return offset

    def expect(self, tables: list[Array]) -> ExpectedCounts:
        """Return the expected counts under `tables`, and the log-likelihood of the observed values."""
        counts = [known.copy() for known in self.known]
        with np.errstate(divide="ignore"):
            logarithms = [np.log(table).ravel() for table in tables]
        total = 0.0
        for node, known in enumerate(self.known):
            seen = known.ravel() > 0
            total += float(np.sum(known.ravel()[seen] * logarithms[node][seen]))
        for group in self.groups:
            if group.offsets:
                total += self._expect_listed(group, logarithms, counts)
            else:
                logs = self._expect_eliminated(group, tables, counts)
                total += float(self.rows.weights[group.rows] @ logs)
        return ExpectedCounts(counts, total)

    def score_rows(self, tables: list[Array]) -> Array:
        """Return the log-probability of the observed values of each row."""
        with np.errstate(divide="ignore"):
            logarithms = [np.log(table).ravel() for table in tables]
        out = np.zeros(self.rows.columns.shape[1])
        gaps = self.rows.columns >= self.rows.sizes[:, None].astype(np.uint8)
        for node, above in enumerate(self.parents):
            seen = np.flatnonzero(~gaps[[*above, node]].any(axis=0))
            out[seen] += logarithms[node][self._place(node, seen, set())]
        for group in self.groups:
            if not group.offsets:
                out[group.rows] += self._expect_eliminated(group, tables, [np.zeros(shape) for shape in self.shapes])
                continue
            scores = group.score(logarithms, slice(None))
            most = scores.max(axis=1)
            level = np.where(np.isfinite(most), most, 0.0)
            with np.errstate(divide="ignore"):
                out[group.rows] += level + np.log(np.exp(scores - level[:, None]).sum(axis=1))
        return out

    def complete_rows(self, tables: list[Array]) -> Array:
        """Return the codes (d, m) with each row's missing values replaced by their most probable combination."""
        with np.errstate(divide="ignore"):
            logarithms = [np.log(table).ravel() for table in tables]
        columns = self.rows.columns.copy()
        for group in self.groups:
            if not group.offsets:
                self._complete_eliminated(group, tables, columns)
                continue
            best = group.score(logarithms, slice(None)).argmax(axis=1)
            shape = tuple(int(self.rows.sizes[member]) for member in group.members)
            for member, states in zip(group.members, np.unravel_index(best, shape), strict=True):
                columns[member, group.rows] = states
        return columns

    def _complete_eliminated(self, group: _Group, tables: list[Array], columns: Array) -> None:
        """Fill a large group: fix its variables one by one at the state of the largest probability of the rest."""
        for row in group.rows:
            chosen: dict[int, int] = {}
            for member in group.members:
                joint = self._eliminate_row(group, tables, int(row), [member], chosen, Factor.maximise_out)
                chosen[member] = int(np.argmax(joint))
            columns[list(chosen), row] = list(chosen.values())

    def _eliminate_row(
        self, group: _Group, tables: list[Array], row: int, wanted: list[int], fixed: dict[int, int], fold: Any
    ) -> Array:
        """Return the product of a group's families in one row over `wanted`, other missing variables folded away."""
        states = [tuple(range(int(size))) for size in self.rows.sizes]
        codes = {
            member: int(code) for member, code in enumerate(self.rows.columns[:, row]) if member not in group.members
        }
        known = codes | fixed
        factors = []
        for node in group.families:
            factor = Factor({member: states[member] for member, _ in self._strides(node)}, tables[node].ravel())
            factors.append(factor.reduce({name: known[name] for name in factor.variables if name in known}))
        free = set(group.members) - set(fixed) - set(wanted)
        left = eliminate(factors, free, fold)
        return np.asarray(multiply_factors({member: states[member] for member in wanted}, left).values).ravel()

    def _expect_listed(self, group: _Group, logarithms: list[Array], counts: list[Array]) -> float:
        """Add the expected counts of a group whose combinations are listed; return its log-likelihood."""
        step, total = max(1, _AT_ONCE // len(group.offsets[0])), 0.0
        for start in range(0, len(group.rows), step):
            part = slice(start, start + step)
            scores = group.score(logarithms, part)
            most = scores.max(axis=1, keepdims=True)
            # A row that the tables exclude has log-likelihood minus infinity, which the engine reports.
            shares = np.exp(scores - np.where(np.isfinite(most), most, 0.0))
            sums = shares.sum(axis=1, keepdims=True)
            weight = self.rows.weights[group.rows[part]]
            with np.errstate(divide="ignore", invalid="ignore"):
                total += float(np.sum(weight * (most[:, 0] + np.log(sums[:, 0]))))
                shares *= weight[:, None] / sums
            for node, base, offset in zip(group.families, group.bases, group.offsets, strict=True):
                places = (base[part, None] + offset[None, :]).ravel()
                table = np.bincount(places, shares.ravel(), counts[node].size)
                counts[node] += table.reshape(counts[node].shape)
        return total

    def _expect_eliminated(self, group: _Group, tables: list[Array], counts: list[Array]) -> Array:
        """Add the expected counts of a large group by elimination, row by row; return their log-likelihoods."""
        logarithms = np.zeros(len(group.rows))
        for number, row in enumerate(group.rows):
            for node, base in zip(group.families, group.bases, strict=True):
                unseen = [(member, stride) for member, stride in self._strides(node) if member in group.members]
                wanted = [member for member, _ in unseen]
                values = self._eliminate_row(group, tables, int(row), wanted, {}, Factor.sum_out)
                place = np.zeros(1, np.int64)
                for member, stride in unseen:
                    place = (place[:, None] + stride * np.arange(self.rows.sizes[member])[None, :]).ravel()
                mass = float(values.sum())
                if mass > 0:
                    share = self.rows.weights[row] / mass
                    np.add.at(counts[node].reshape(-1), base[number] + place, share * values)
            with np.errstate(divide="ignore"):
                logarithms[number] = np.log(mass)
        return logarithms


def _join_groups(families: list[list[int]]) -> list[set[int]]:
    """Return the groups of missing variables that families connect."""
    groups: list[set[int]] = []
    for members in families:
        joined = set(members)
        apart = []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                apart.append(group)
        groups = [*apart, joined]
    return sorted(groups, key=min)
