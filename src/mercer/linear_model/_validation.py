"""Rows held out of a stochastic fit, and the score on them that decides when it ends."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import Source
from mercer._types import Array
from mercer.errors import DataError

# Held-out rows scored at a time, which bounds the memory of their copy.
_TILE = 4096


def draw_held_out(estimator: Any, source: Source, labels: bool) -> tuple[Array, Array]:
    """Draw the rows to learn from, in rising order, and the rows to judge by, stratified by class."""
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    seed = estimator.random_state
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**31))
    kind = StratifiedShuffleSplit if labels else ShuffleSplit
    split = kind(test_size=estimator.validation_fraction, random_state=seed)
    training, held_out = next(split.split(np.zeros((source.n_rows, 1)), source.y))
    if source.weight is not None and not np.any(source.weight[held_out] > 0):
        raise DataError(
            f"{type(estimator).__name__}: The sample weights for validation set are all zero, consider using a "
            f"different random state; got random_state={estimator.random_state!r}."
        )
    return np.sort(training), np.sort(held_out)


@dataclass(frozen=True, eq=False)
class ValidationScore:
    """A request: for each score's parameters the accuracy of its sign, or R^2, on the held-out rows."""

    rows: Array
    labels: bool
    average: int
    state: Any = None

    def answer(self, source: Source) -> Array:
        X = source.whole()
        coef, intercept = self.state.choose_model(self.average)
        y = np.asarray(source.y, dtype=np.float64)[self.rows]
        weight = np.ones(len(y)) if source.weight is None else source.weight[self.rows]
        scores = np.concatenate(
            [X[self.rows[first : first + _TILE]] @ coef.T + intercept for first in range(0, len(y), _TILE)]
        )
        if self.labels:
            numbers = np.arange(len(coef)) if len(coef) > 1 else np.ones(1)
            right = (scores > 0) == (y[:, None] == numbers[None, :])
            return weight @ right / weight.sum()
        mean = weight @ y / weight.sum()
        total = weight @ (y - mean) ** 2
        return 1.0 - weight @ (y[:, None] - scores) ** 2 / (total if total > 0 else 1.0)
