"""Training rows whose missing entries are predicted column by column: an array, or blocks read again in each pass."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._stored import Stored, integers, part
from mercer._types import Array
from mercer.impute._marked import find_missing

# From rows to rows of the kept columns without missing entries, as the first guess.
Guess = Callable[[Array], Array]
# From a step, its number, rows of the columns that it needs, and the first row of their block to the missing entries.
Predict = Callable[["Imputation", int, Array, int], Array]


@plain
@dataclass(frozen=True, eq=False)
class Imputation:
    """One step of the rounds: a column, the columns that it is predicted from, and the fitted estimator that does so.

    Attributes
    ----------
    feat_idx : int
    neighbor_feat_idx : ndarray of int
    estimator : estimator
    """

    feat_idx: int
    neighbor_feat_idx: Array
    estimator: Any

    _stored: ClassVar[dict[str, Stored]] = {
        "feat_idx": integers(low=0, below="columns"),
        "neighbor_feat_idx": integers("*", low=0, below="columns"),
        "estimator": part("BaseEstimator"),
    }


def apply_step(rows: Array, missing: Array, step: Imputation, number: int, predict: Predict, start: int) -> None:
    """Predict the missing entries of the column of a step, the one of that number, in some rows."""
    gaps = np.flatnonzero(missing[:, step.feat_idx])
    if len(gaps):
        near = rows[gaps[:, None], step.neighbor_feat_idx]
        rows[gaps, step.feat_idx] = predict(step, number, near, start)


class FilledRows:
    """Rows in memory without missing entries; those that are `missing` in the table are guesses."""

    def __init__(self, rows: Array, missing: Array, predict: Predict) -> None:
        self.rows, self.missing, self.predict = rows, missing, predict
        self._n_steps, self._before = 0, rows.copy()

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Yield the rows as they are filled now, and which entries were missing."""
        yield self.rows, self.missing

    def take_training(self, column: int, others: Array) -> tuple[Any, Any]:
        """Return the rows in which a column is known, of the `others`, and the column there."""
        known = np.flatnonzero(~self.missing[:, column])
        if len(known) == len(self.rows):
            return self.rows[:, others], self.rows[:, column].copy()
        return self.rows[known[:, None], others], self.rows[known, column]

    def fill(self, step: Imputation) -> None:
        """Predict the missing entries of a column."""
        apply_step(self.rows, self.missing, step, self._n_steps, self.predict, 0)
        self._n_steps += 1

    def end_round(self) -> float:
        """Return the largest sum of changes of a row since the round before."""
        change = float(np.abs(self.rows - self._before).sum(axis=1).max())
        self._before[...] = self.rows
        return change


class FilledBlocks:
    """Rows elsewhere: each pass reads the blocks, and puts in the entries that are missing, which are in memory.

    Steps since the last pass are made up for as the blocks are read, so that a step takes no pass of its own.
    """

    def __init__(
        self,
        source: Source,
        mark: float,
        kept: Array,
        empty: Array,
        guess: Guess,
        n_missing: int,
        predict: Predict,
    ) -> None:
        purpose = f"{n_missing} missing entries of {source.description}, now and in the round before"
        require_memory(source.subject, 24.0 * n_missing, purpose, "fill them by SimpleImputer")
        self.source, self.mark, self.kept, self.empty, self.guess = source, mark, kept, empty, guess
        self.predict = predict
        self.steps: list[Imputation] = []
        self._values: dict[int, Array] = {}
        self._before: dict[int, Array] = {}
        self._done: dict[int, int] = {}

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Yield the rows of each block as they are filled now, and which entries were missing."""
        for number, block in enumerate(self.source.blocks()):
            given = block.dense()
            missing = find_missing(given, self.mark)
            missing[:, self.empty] = False
            missing = missing[:, self.kept]
            rows = self.guess(given)
            if number in self._values:
                rows[missing] = self._values[number]
            else:
                self._before[number] = rows[missing]
            for place in range(self._done.get(number, 0), len(self.steps)):
                apply_step(rows, missing, self.steps[place], place, self.predict, block.start)
            self._values[number], self._done[number] = rows[missing], len(self.steps)
            yield rows, missing

    def take_training(self, column: int, others: Array) -> tuple[Any, Any]:
        """Return a function that begins a pass over the rows in which a column is known, with the column as target."""

        def begin() -> Iterator[tuple[Array, Array]]:
            for rows, missing in self.blocks():
                known = np.flatnonzero(~missing[:, column])
                if len(known):
                    yield rows[known[:, None], others], rows[known, column]

        return begin, None

    def fill(self, step: Imputation) -> None:
        """Add a step, whose entries the next pass predicts."""
        self.steps.append(step)

    def end_round(self) -> float:
        """Return the largest sum of changes of a row since the round before; takes a pass."""
        change = 0.0
        for number, (_, missing) in enumerate(self.blocks()):
            difference = np.abs(self._values[number] - self._before[number])
            if len(difference):
                change = max(change, float(np.bincount(np.nonzero(missing)[0], difference).max()))
            self._before[number] = self._values[number]
        return change
