"""What is learnt: the loss of a batch of rows and its gradient; and one call of it in the midst of a fit."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from mercer._types import Array


class Batch(NamedTuple):
    """Some rows (n, d), dense, with targets and weights, or None for either; all arrays are of one library."""

    X: Array
    y: Array
    weight: Array


class Moment(NamedTuple):
    """What a training pass depends on besides weights and rows: running statistics, and what numbers are drawn from."""

    statistics: dict[str, Any]
    seed: tuple[int, ...]
    step: int


class Task(Protocol):
    """A loss of rows that weights minimise, in any array library."""

    @property
    def n_weights(self) -> int:
        """Return the length of the vector of all weights."""

    @property
    def is_normalised(self) -> bool:
        """Return whether batch norm takes part, which needs two rows in a batch."""

    @property
    def is_random(self) -> bool:
        """Return whether noise or dropout change the objective from step to step."""

    def initialise(self, random_state: Any, dtype: Any) -> tuple[np.ndarray, dict[str, Any]]:
        """Draw the first weights; return them, and the statistics that layers keep beside them."""

    def place(self, values: dict[str, Any], like: Array) -> dict[str, Any]:
        """Return running statistics as arrays of the library, the precision and the device of `like`."""

    def learn(self, theta: Array, batch: Batch, moment: Moment) -> tuple[float, Array, dict[str, Any]]:
        """Return the mean loss of a batch with penalties, its gradient, and the running statistics after it."""

    def judge(self, theta: Array, batch: Batch, statistics: dict[str, Any]) -> float:
        """Return the mean loss of rows, without noise, dropout or penalties."""
