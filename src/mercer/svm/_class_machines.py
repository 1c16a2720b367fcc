"""From classes to binary machines and back: one against one, or one against the rest."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.svm._dual.program import DualProgram
from mercer.svm._scores import Group

__all__ = ["ClassLayout", "balanced_weights", "vote_scores", "votes"]

Array = Any


@dataclass(frozen=True, eq=False)
class ClassLayout:
    """Which rows belong to which class, and which classes meet in which machine.

    ``members`` are the rows of each class; ``scheme`` is "ovo" or "ovr".
    """

    members: tuple[Array, ...]
    scheme: str

    @property
    def n_classes(self) -> int:
        return len(self.members)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The classes of each machine of one against one; positive scores speak for the first, of two the second."""
        return list(combinations(range(self.n_classes), 2))

    @property
    def is_one_against_one(self) -> bool:
        """Whether machines see two classes each; with two classes all schemes do."""
        return self.scheme == "ovo" or self.n_classes == 2

    def sides(self) -> Iterable[tuple[Array, Array]]:
        """For each machine its rows and their signs."""
        if self.is_one_against_one:
            first = -1.0 if self.n_classes == 2 else 1.0
            for i, j in self.pairs:
                rows = np.concatenate([self.members[i], self.members[j]])
                yield rows, np.repeat([first, -first], [len(self.members[i]), len(self.members[j])])
            return
        rows = np.concatenate(self.members)
        numbers = np.repeat(np.arange(self.n_classes), [len(one) for one in self.members])
        for k in range(self.n_classes):
            yield rows, np.where(numbers == k, 1.0, -1.0)

    def families(self, machine: int) -> dict[str, Any]:
        """The classes that a machine of one against one shares with others."""
        if not self.is_one_against_one:
            return {}
        i, j = self.pairs[machine]
        return {"families": (i, j), "first": len(self.members[i])}

    def coefficients(self, solved: list[tuple[DualProgram, Array]]) -> tuple[Array, Array, Array]:
        """Support vectors by class, how many each class has, and their coefficients in LIBSVM's layout.

        One against one: (n_classes - 1, n_support), a column holding a row's coefficients against each other class in
        their order. One against the rest: (n_classes, n_support).
        """
        rows = np.concatenate(self.members)
        ends = np.cumsum([0, *(len(one) for one in self.members)])
        height = self.n_classes - 1 if self.is_one_against_one else self.n_classes
        table = np.zeros((height, len(rows)))
        if self.is_one_against_one:
            for (i, j), (_, b) in zip(self.pairs, solved, strict=True):
                table[j - 1, ends[i] : ends[i + 1]] = b[: len(self.members[i])]
                table[i, ends[j] : ends[j + 1]] = b[len(self.members[i]) :]
        else:
            for k, (_, b) in enumerate(solved):
                table[k] = b
        used = np.flatnonzero(np.any(table != 0, axis=0))
        counts = np.diff(np.searchsorted(used, ends))
        return rows[used], counts.astype(np.int32), np.ascontiguousarray(table[:, used])

    def starts(self, table: Array, programs: list[DualProgram]) -> Iterable[Array]:
        """Coefficients of each machine from those of an earlier fit by row, brought within the boxes."""
        for number, one in enumerate(programs):
            if self.is_one_against_one:
                i, j = self.pairs[number]
                first = len(self.members[i])
                b = np.concatenate([table[j - 1, one.rows[:first]], table[i, one.rows[first:]]])
            else:
                b = table[number, one.rows]
            # One factor for all keeps the sum of coefficients at zero.
            room = np.where(b > 0, one.upper, -one.lower)[b != 0] / np.abs(b[b != 0])
            yield b * min(1.0, float(np.min(room, initial=1.0)))

    @staticmethod
    def groups(dual_coef: Array, n_support: Array, one_against_one: bool) -> tuple[Group, ...]:
        """Coefficients by machines, from LIBSVM's layout."""
        if not one_against_one or len(n_support) == 2:
            return (Group(slice(0, dual_coef.shape[1]), dual_coef.T, np.arange(len(dual_coef))),)
        number = {pair: k for k, pair in enumerate(combinations(range(len(n_support)), 2))}
        ends, found = np.cumsum([0, *n_support]), []
        for c in range(len(n_support)):
            place = slice(int(ends[c]), int(ends[c + 1]))
            others = [other for other in range(len(n_support)) if other != c]
            machines = np.array([number[min(c, other), max(c, other)] for other in others])
            found.append(Group(place, dual_coef[:, place].T, machines))
        return tuple(found)


@cache
def _ballots(n_classes: int) -> Array:
    """What a pair's machine adds to the votes where it speaks for the first of the two: (pairs, classes)."""
    first, second = np.triu_indices(n_classes, 1)
    table = np.zeros((len(first), n_classes), dtype=np.float32)
    numbers = np.arange(len(first))
    table[numbers, first], table[numbers, second] = 1.0, -1.0
    return table


def votes(scores: Array, n_classes: int) -> Array:
    """How many machines of one against one speak for each class."""
    # Where all speak for the second of their two, class j has the votes of the j classes before it. Small whole numbers
    # are exact in float32, and one product takes 4 us for a row of ten classes; a loop over the pairs took 200.
    return ((scores > 0).astype(np.float32) @ _ballots(n_classes)).astype(np.int64) + np.arange(n_classes)


def vote_scores(scores: Array, n_classes: int) -> Array:
    """Votes, and between equal ones the sums of scores, brought within a third of a vote."""
    sums = np.zeros((len(scores), n_classes), dtype=scores.dtype)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        sums[:, i] += scores[:, k]
        sums[:, j] -= scores[:, k]
    return (votes(scores, n_classes) + sums / (3 * (np.abs(sums) + 1))).astype(scores.dtype)


def balanced_weights(subject: Any, wish: Any, classes: Array, numbers: Array, weight: Array) -> Array:
    """The factor of each class's box: given by class, one, or such that all classes weigh the same."""
    if wish is None:
        return np.ones(len(classes))
    if isinstance(wish, str):
        totals = np.bincount(numbers, weights=weight, minlength=len(classes))
        return weight.sum() / (len(classes) * totals)
    known = {str(label) if isinstance(label, str) else label for label in classes.tolist()}
    unknown = [label for label in wish if label not in known]
    if unknown:
        message = (
            f"{type(subject).__name__}: class_weight must name classes of y; {unknown[0]!r} is none of them. "
            f"The classes, {classes.tolist()}, are not in class_weight by that name."
        )
        raise DataError(message)
    return np.array([float(wish.get(label, 1.0)) for label in classes.tolist()])
