"""Training of a network in mini-batches, with early stopping, and with the last good weights kept where it diverges."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._types import Array

__all__ = ["Schedule", "Task", "TrainingState", "train"]

_STATEMENT = (
    "Gradients of batches are noisy and a network's loss has many minima; nothing bounds the distance to the nearest."
)
# Decay rates of Adam's means of gradients and of their squares, and the number that keeps its steps finite (Kingma and
# Ba, 2015).
_FIRST_DECAY = 0.9
_SECOND_DECAY = 0.999
_EPSILON = 1e-8
# Rows that are judged at a time.
_JUDGED = 1024


class Task(Protocol):
    """What is learnt: a loss of some rows, by their indices, and its gradient."""

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""

    def learn(self, state: "TrainingState", rows: Array) -> tuple[float, Array, dict[str, Any]]:
        """Return the loss of a batch, its gradient by the weights, and the statistics after it."""

    def judge(self, state: "TrainingState", rows: Array) -> float:
        """Return the mean loss of rows, without noise, dropout or penalties."""


@plain
@dataclass(frozen=True, eq=False)
class TrainingState:
    """Weights after some epochs, and all that the next one needs.

    ``first`` and ``second`` are Adam's means. ``best`` is the least loss so far, of the validation rows if there are
    any, ``best_theta`` and ``best_statistics`` the weights that had it on those, and ``stale`` counts the epochs since.
    """

    theta: Array
    statistics: dict[str, Any]
    first: Array
    second: Array
    best_theta: Array
    best_statistics: dict[str, Any]
    seed: tuple[int, ...]
    best: float = float("inf")
    stale: int = 0
    epoch: int = 0
    step: int = 0

    @classmethod
    def begin(cls, theta: Array, statistics: dict[str, Any], seed: tuple[int, ...]) -> "TrainingState":
        """Return the state before the first epoch."""
        zeros = np.zeros_like(theta)
        return cls(theta, statistics, zeros, zeros, theta[:0], {}, seed)

    def choose_weights(self) -> tuple[Array, dict[str, Any]]:
        """Return the weights to predict with: the best ones on the validation rows, or else the last ones."""
        return (self.best_theta, self.best_statistics) if self.best_theta.size else (self.theta, self.statistics)


@dataclass(frozen=True)
class Schedule:
    """How the weights move and when the epochs end; parameters as in ``Autoencoder``."""

    learning_rate: float
    batch_size: int
    max_iter: int
    tol: float
    patience: int
    validation_fraction: float
    max_norm: float | None = None

    def move(self, state: TrainingState, gradient: Array, statistics: dict[str, Any]) -> TrainingState:
        """Return the state after one step of Adam, with the gradient cut to `max_norm`."""
        if self.max_norm is not None:
            norm = float(np.sqrt(np.vdot(gradient, gradient)))
            if norm > self.max_norm:
                gradient = gradient * (self.max_norm / norm)
        number = state.step + 1
        first = _FIRST_DECAY * state.first + (1.0 - _FIRST_DECAY) * gradient
        second = _SECOND_DECAY * state.second + (1.0 - _SECOND_DECAY) * gradient * gradient
        scale = self.learning_rate * (1.0 - _SECOND_DECAY**number) ** 0.5 / (1.0 - _FIRST_DECAY**number)
        theta = state.theta - scale * first / (np.sqrt(second) + _EPSILON)
        return replace(
            state, theta=theta.astype(state.theta.dtype), first=first, second=second, statistics=statistics, step=number
        )

    def split_rows(self, n_rows: int, seed: tuple[int, ...]) -> tuple[Array, Array]:
        """Return the rows to train on, and those to judge by."""
        order = np.random.default_rng(np.random.SeedSequence([*seed, 1])).permutation(n_rows)
        n_held = min(n_rows - 1, max(1, round(self.validation_fraction * n_rows))) if self.validation_fraction else 0
        return np.sort(order[n_held:]), np.sort(order[:n_held])


def train(schedule: Schedule, make_task: Callable[..., Task], request: Any, state: TrainingState) -> Solver[Any]:
    """Run epochs until the loss has not fallen by `tol` for `patience` of them, with a step for each."""
    given = yield request
    task = make_task(given)
    rows, held = schedule.split_rows(task.n_rows, state.seed)
    certificate = Certificate.none(_STATEMENT)
    while state.epoch < schedule.max_iter:
        before = state
        with np.errstate(all="ignore"):
            state, loss = _run_epoch(schedule, task, state, rows)
            judged = _judge(task, state, held) if len(held) else loss
        if not (np.isfinite(judged) and np.isfinite(state.theta).all()):
            return Solution(before, False, certificate, "diverged")
        state = _follow(schedule, state, judged, len(held) > 0)
        extra = {"validation_loss": judged} if len(held) else {}
        yield Step(loss, state, certificate, extra)
        if state.stale >= schedule.patience:
            return Solution(state, True, certificate)
    return Solution(state, False, certificate)


def _run_epoch(schedule: Schedule, task: Task, state: TrainingState, rows: Array) -> tuple[TrainingState, float]:
    """Take one step for each batch of the rows, in a random order; return the state and the mean loss."""
    random = np.random.default_rng(np.random.SeedSequence([*state.seed, 2, state.epoch]))
    order = rows[random.permutation(len(rows))]
    total = 0.0
    for start in range(0, len(order), schedule.batch_size):
        batch = order[start : start + schedule.batch_size]
        loss, gradient, statistics = task.learn(state, batch)
        total += loss * len(batch)
        state = schedule.move(state, gradient, statistics)
    return replace(state, epoch=state.epoch + 1), total / len(order)


def _judge(task: Task, state: TrainingState, held: Array) -> float:
    parts = [held[start : start + _JUDGED] for start in range(0, len(held), _JUDGED)]
    return sum(task.judge(state, part) * len(part) for part in parts) / len(held)


def _follow(schedule: Schedule, state: TrainingState, judged: float, held: bool) -> TrainingState:
    """Return the state with its best loss, its best weights and the epochs since brought up to date."""
    stale = 0 if judged < state.best - schedule.tol else state.stale + 1
    if judged >= state.best:
        return replace(state, stale=stale)
    state = replace(state, stale=stale, best=judged)
    return replace(state, best_theta=state.theta, best_statistics=state.statistics) if held else state
