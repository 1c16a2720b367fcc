"""From classes to binary machines and back: one against one, or one against the rest."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError
from mercer.svm._dual.program import DualProgram
from mercer.svm._scores import Group


@dataclass(frozen=True, eq=False)
class ClassLayout:
    """The rows of each class, and the classes of each machine.

    ``members`` are the indices of the rows of each class; ``scheme`` is "ovo", "ovr" or "joint".
    """

    members: tuple[Array, ...]
    scheme: str

    @property
    def n_classes(self) -> int:
        return len(self.members)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The two classes of each machine of one against one; a positive score is for the first of them.

        With two classes in all it is for the second.
        """
        return list(combinations(range(self.n_classes), 2))

    @property
    def is_one_against_one(self) -> bool:
        """Whether each machine is fitted to two classes; if there are only two, every scheme is."""
        return self.scheme == "ovo" or self.n_classes == 2

    def list_sides(self) -> Iterable[tuple[Array, Array]]:
        """Yield the rows of each machine and their signs, 1 or -1."""
        if self.is_one_against_one:
            # LIBSVM's signs: with two classes the second is positive, with more the first of each pair.
            first = -1.0 if self.n_classes == 2 else 1.0
            for i, j in self.pairs:
                rows = np.concatenate([self.members[i], self.members[j]])
                yield rows, np.repeat([first, -first], [len(self.members[i]), len(self.members[j])])
            return
        rows = np.concatenate(self.members)
        codes = np.repeat(np.arange(self.n_classes), [len(members) for members in self.members])
        for k in range(self.n_classes):
            yield rows, np.where(codes == k, 1.0, -1.0)

    def name_families(self, machine: int) -> dict[str, Any]:
        """Return the arguments of a :class:`DualProgram` that name the classes which its machine shares with others."""
        if not self.is_one_against_one:
            return {}
        i, j = self.pairs[machine]
        return {"families": (i, j), "first": len(self.members[i])}

    def arrange_coefficients(self, solved: list[Array]) -> tuple[Array, Array]:
        """Return the rows sorted by class, and their coefficients as a table in LIBSVM's layout.

        One against one: the table has shape (n_classes - 1, n), a column holding a row's coefficients against each
        other class in their order. One against the rest: (n_classes, n). `solved` holds an array for each machine.
        """
        rows = np.concatenate(self.members)
        if not self.is_one_against_one:
            return rows, np.stack(solved)
        ends = np.cumsum([0, *(len(members) for members in self.members)])
        table = np.zeros((self.n_classes - 1, len(rows)))
        for (i, j), b in zip(self.pairs, solved, strict=True):
            # Class j > i has place j - 1 among the classes other than i; class i has place i among those other than j.
            table[j - 1, ends[i] : ends[i + 1]] = b[: len(self.members[i])]
            table[i, ends[j] : ends[j + 1]] = b[len(self.members[i]) :]
        return rows, table

    def select_coefficients(self, table: Array, programs: list[DualProgram]) -> Iterable[Array]:
        """Yield the coefficients of each machine from a `table` in LIBSVM's layout, by row of the source."""
        for machine, program in enumerate(programs):
            if self.is_one_against_one:
                i, j = self.pairs[machine]
                first = len(self.members[i])
                yield np.concatenate([table[j - 1, program.rows[:first]], table[i, program.rows[first:]]])
            else:
                yield table[machine, program.rows]

    @staticmethod
    def list_groups(dual_coef: Array, n_support: Array, one_against_one: bool) -> tuple[Group, ...]:
        """Return coefficients grouped by machines, from LIBSVM's layout; `n_support` counts those of each class."""
        if not one_against_one or len(n_support) == 2:
            return (Group(slice(0, dual_coef.shape[1]), dual_coef.T, np.arange(len(dual_coef))),)
        # The machines of pairs (0, 1), (0, 2), ..., (1, 2), ... in LIBSVM's order.
        indices = {pair: k for k, pair in enumerate(combinations(range(len(n_support)), 2))}
        ends, groups = np.cumsum([0, *n_support]), []
        # A row of class c takes part in the k - 1 machines of c with another class.
        for c in range(len(n_support)):
            place = slice(int(ends[c]), int(ends[c + 1]))
            others = [other for other in range(len(n_support)) if other != c]
            machines = np.array([indices[min(c, other), max(c, other)] for other in others])
            groups.append(Group(place, dual_coef[:, place].T, machines))
        return tuple(groups)


@cache
def _make_ballots(n_classes: int) -> Array:
    """Return the change of each class's votes if a machine's score is positive, shape (pairs, classes).

    By default the second class of a pair has the vote; a positive score moves it to the first class.
    """
    first, second = np.triu_indices(n_classes, 1)
    table = np.zeros((len(first), n_classes), dtype=np.float32)
    machines = np.arange(len(first))
    table[machines, first], table[machines, second] = 1.0, -1.0
    return table


def count_votes(scores: Array, n_classes: int) -> Array:
    """Return how many machines of one against one decide for each class, from `scores` of shape (n, pairs)."""
    # If every score is negative, class j has the j votes of the pairs (i, j) with i < j; positive scores change that.
    # Small integers are exact in float32, and one product takes 4 us for a row of ten classes; a loop over the pairs
    # took 200.
    return ((scores > 0).astype(np.float32) @ _make_ballots(n_classes)).astype(np.int64) + np.arange(n_classes)


def compute_vote_scores(scores: Array, n_classes: int) -> Array:
    """Return the votes of each class plus its sum of scores s as s / (3 (|s| + 1)), which decides between ties.

    That term lies within a third of a vote, so it never outweighs one.
    """
    sums = np.zeros((len(scores), n_classes), dtype=scores.dtype)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        sums[:, i] += scores[:, k]
        sums[:, j] -= scores[:, k]
    return (count_votes(scores, n_classes) + sums / (3 * (np.abs(sums) + 1))).astype(scores.dtype)


def balance_classes(machine: Any, classes: Array, codes: Array, weight: Array) -> Array:
    """Return the factor of C of each class, as the parameter `class_weight` of `machine` asks.

    "balanced" gives all classes the same total: the sum of weights over (k times the weight of the class).
    """
    class_weight = machine.class_weight
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        totals = np.bincount(codes, weights=weight, minlength=len(classes))
        # n / (k n_c) with weights in place of counts.
        return weight.sum() / (len(classes) * totals)
    # NumPy strings compare equal to Python's but are other types as keys of a dictionary.
    known = {str(label) if isinstance(label, str) else label for label in classes.tolist()}
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise DataError(
            f"{type(machine).__name__}: class_weight must name classes of y; {unknown[0]!r} is none of them. "
            f"The classes, {classes.tolist()}, are not in class_weight by that name."
        )
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
