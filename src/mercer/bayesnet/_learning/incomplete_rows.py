"""Expected counts of families over rows with missing values.

Given the observed values of a row, its missing variables fall into groups that are independent of each other: two
belong together if they share a family. The posterior of a group is computed over all its combinations of states, for
all rows with the same missing variables at once. Where a group has too many combinations, a junction tree gives
the posteriors of all families of the row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from mercer._types import Array
from mercer.bayesnet._inference.junction_tree import JunctionTree
from mercer.bayesnet._learning.coded_rows import CodedRows
from mercer.bayesnet._network.network import BayesianNetwork

# Combinations of states of a group of missing variables that are listed; beyond, the junction tree is faster.
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

    def cut(self) -> Iterator[slice]:
        """Yield slices of the rows, so that the combinations of each fit the memory that is taken at once."""
        step = max(1, _AT_ONCE // len(self.offsets[0]))
        return (slice(start, start + step) for start in range(0, len(self.rows), step))

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
        # Families without missing members are counted once and for all.
        for node, unseen in families.items():
            if not unseen:
                places = self._place(node, chosen, missing)
                table = np.bincount(places, self.rows.weights[chosen], prod(self.shapes[node]))
                self.known[node] += table.reshape(self.shapes[node])
        groups = _join_groups([unseen for unseen in families.values() if unseen])
        sizes = [prod(int(self.rows.sizes[member]) for member in members) for members in groups]
        if max(sizes, default=0) > _MOST_COMBINATIONS:
            # The junction tree gives the probability of the whole row, so that its groups are not taken apart.
            groups, listed = [missing], False
        else:
            listed = True
        for members in groups:
            touched = tuple(node for node, unseen in families.items() if unseen and unseen[0] in members)
            ordered = tuple(sorted(members))
            bases = [self._place(node, chosen, missing) for node in touched]
            offsets = []
            if listed:
                # All combinations of states of the group's missing variables.
                combinations = np.array(list(product(*(range(self.rows.sizes[member]) for member in ordered))))
                offsets = [self._offset(node, ordered, combinations) for node in touched]
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
        total, tree = 0.0, None
        # The log-likelihood of complete families from their counts.
        for node, known in enumerate(self.known):
            seen = known.ravel() > 0
            total += float(np.sum(known.ravel()[seen] * logarithms[node][seen]))
        for group in self.groups:
            if group.offsets:
                total += self._expect_listed(group, logarithms, counts)
            else:
                tree = tree or self._compile(tables)
                logs = self._expect_compiled(group, tree, counts)
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
        tree = None
        for group in self.groups:
            if not group.offsets:
                tree = tree or self._compile(tables)
                out[group.rows] += self._measure_compiled(group, tree)
                continue
            # Log-sum-exp over the combinations of the missing values.
            for part in group.cut():
                scores = group.score(logarithms, part)
                most = scores.max(axis=1)
                level = np.where(np.isfinite(most), most, 0.0)
                with np.errstate(divide="ignore"):
                    out[group.rows[part]] += level + np.log(np.exp(scores - level[:, None]).sum(axis=1))
        return out

    def complete_rows(self, tables: list[Array]) -> Array:
        """Return the codes (d, m) with each row's missing values replaced by their most probable combination."""
        with np.errstate(divide="ignore"):
            logarithms = [np.log(table).ravel() for table in tables]
        columns, tree = self.rows.columns.copy(), None
        for group in self.groups:
            if not group.offsets:
                tree = tree or self._compile(tables)
                for row in group.rows:
                    tree.set_evidence(self._list_observed(group, int(row)))
                    states = tree.most_probable()[0]
                    columns[list(group.members), row] = [states[member] for member in group.members]
                continue
            # The most probable combination of each row; its number is taken apart into states.
            best = np.concatenate([group.score(logarithms, part).argmax(axis=1) for part in group.cut()])
            shape = tuple(int(self.rows.sizes[member]) for member in group.members)
            for member, codes in zip(group.members, np.unravel_index(best, shape), strict=True):
                columns[member, group.rows] = codes
        return columns

    def _compile(self, tables: list[Array]) -> JunctionTree:
        """Return the junction tree of the network with these tables; names and states are numbers."""
        states = {node: tuple(range(shape[-1])) for node, shape in enumerate(self.shapes)}
        return JunctionTree(BayesianNetwork(states, dict(enumerate(self.parents)), dict(enumerate(tables))))

    def _list_observed(self, group: _Group, row: int) -> dict[int, int]:
        """Return the observed values of one row of a group."""
        codes = self.rows.columns[:, row].tolist()
        return {member: code for member, code in enumerate(codes) if member not in group.members}

    def _measure_compiled(self, group: _Group, tree: JunctionTree) -> Array:
        """Return the log-probability of the observed values of each row, less what its observed families add."""
        logarithms = np.zeros(len(group.rows))
        for number, row in enumerate(group.rows):
            tree.set_evidence(self._list_observed(group, int(row)))
            logarithms[number] = tree.log_evidence()
        return self._take_observed_off(group, tree, logarithms)

    def _take_observed_off(self, group: _Group, tree: JunctionTree, logarithms: Array) -> Array:
        """Return log-probabilities less what families without missing members add: these are counted elsewhere."""
        with np.errstate(divide="ignore", invalid="ignore"):
            for node in sorted(set(range(len(self.parents))) - set(group.families)):
                table = tree.network.tables[node].ravel()
                logarithms = logarithms - np.log(table[self._place(node, group.rows, set())])
        # A row that an observed family excludes is minus infinity there already.
        return np.where(np.isnan(logarithms), 0.0, logarithms)

    def _expect_compiled(self, group: _Group, tree: JunctionTree, counts: list[Array]) -> Array:
        """Add the expected counts of rows by the junction tree; return what :meth:`_measure_compiled` does."""
        logarithms = np.zeros(len(group.rows))
        for number, row in enumerate(group.rows):
            tree.set_evidence(self._list_observed(group, int(row)))
            logarithms[number] = tree.log_evidence()
            if logarithms[number] == -np.inf:
                continue
            for node, base in zip(group.families, group.bases, strict=True):
                # All cells of the family that agree with the observed members.
                unseen = [(member, stride) for member, stride in self._strides(node) if member in group.members]
                place = np.zeros(1, np.int64)
                for member, stride in unseen:
                    place = (place[:, None] + stride * np.arange(self.rows.sizes[member])[None, :]).ravel()
                values = tree.query(tuple(member for member, _ in unseen)).array.ravel()
                counts[node].reshape(-1)[base[number] + place] += self.rows.weights[row] * values
        return self._take_observed_off(group, tree, logarithms)

    def _expect_listed(self, group: _Group, logarithms: list[Array], counts: list[Array]) -> float:
        """Add the expected counts of a group whose combinations are listed; return its log-likelihood."""
        total = 0.0
        for part in group.cut():
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
                # Flat cells of the family: the observed members give the base, the combination of missing ones the
                # offset.
                places = (base[part, None] + offset[None, :]).ravel()
                table = np.bincount(places, shares.ravel(), counts[node].size)
                counts[node] += table.reshape(counts[node].shape)
        return total


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
