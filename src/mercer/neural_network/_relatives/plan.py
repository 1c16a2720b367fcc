"""Tasks, and how the loop of the perceptrons trains them: the plan of the steps, the passes, the validation loss."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from mercer._source import Source
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.neural_network._layers.layer import as_like
from mercer.neural_network._perceptron.passes import LayerPasses
from mercer.neural_network._perceptron.solver import Rules
from mercer.neural_network._perceptron.state import PerceptronState


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


# Rows that are judged at a time.
_JUDGED = 1024


@dataclass(frozen=True, eq=False)
class TaskPlan:
    """The steps of a fit of a task; stands where epochs of perceptrons have a ``Plan``.

    Parameters
    ----------
    network : Task
        What is learnt. Penalties belong to it.
    method : str or Method
        "adam" or "sgd", or a method of mercer.optim.
    batch_size : int
    shuffle : bool
    clip_norm : float or None
        The greatest norm of a gradient.
    warm_up : int
        Steps in which the learning rate rises to its value.
    average_from : int or None
        The epoch from which the weights at the end of each are averaged.
    """

    network: Task
    method: Any = "adam"
    batch_size: int = 128
    shuffle: bool = True
    clip_norm: float | None = None
    warm_up: int = 0
    average_from: int | None = None
    # The task adds its own penalties, nothing is pruned, and no pass is native.
    alpha: ClassVar[float] = 0.0
    power: ClassVar[float] = 2.0
    clip_value: ClassVar[None] = None
    mask: ClassVar[None] = None
    native_kinds: ClassVar[None] = None
    native_method: ClassVar[int] = 0
    nesterov: ClassVar[bool] = True

    @property
    def rules(self) -> tuple[float, float, float]:
        """Momentum or beta_1, beta_2 and epsilon of the named methods (Kingma and Ba, 2015)."""
        return 0.9, 0.999, 1e-8

    @property
    def dropout(self) -> float:
        """1 where noise or dropout change the objective from step to step, and 0 otherwise."""
        return float(self.network.is_random)

    @property
    def batch_norm(self) -> bool:
        """Whether a batch needs two rows."""
        return self.network.is_normalised

    def penalty(self, theta: Array, xp: Any) -> tuple[float, float]:
        """Return no penalty: the task has its own."""
        return 0.0, 0.0

    def carry(self, theta: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return what the method carries along before its first step."""
        if isinstance(self.method, str):
            return tuple(np.zeros_like(theta) for _ in range(2 if self.method == "adam" else 1))
        return self.method.carry(theta) if hasattr(self.method, "carry") else ()

    def make_passes(self, X: Any, y: Array, weight: Array | None) -> "TaskPasses":
        """Return the passes over these rows."""
        return TaskPasses(self, X, y, weight)


class TaskPasses(LayerPasses):
    """Passes of batches through a task, in any array library."""

    def __init__(self, plan: TaskPlan, X: Any, y: Array, weight: Array | None) -> None:
        super().__init__(plan, X, y, weight)  # type: ignore[arg-type]
        self.task = plan.network

    def differentiate(self, theta: Array, rows: np.ndarray, step: int = 0) -> tuple[float, Array, float]:
        batch = take_batch(self.X, self.y, self.weight, rows)
        total = float(len(rows)) if batch.weight is None else float(namespace_of(batch.X).sum(batch.weight))
        if total == 0.0:
            return 0.0, 0.0 * theta, 0.0
        moment = Moment(self.statistics, self.seed, step)
        value, gradient, self.statistics = self.task.learn(theta, batch, moment)
        return value, gradient, total


def take_batch(X: Array, y: Array, weight: Array, rows: np.ndarray) -> Batch:
    """Return some rows with targets and weights, the weights in the rows' own type."""
    if isinstance(X, np.ndarray):
        picked = X[rows]
        own = None if weight is None else np.asarray(weight)[rows].astype(X.dtype, copy=False)
        return Batch(picked, None if y is None else y[rows], own)
    xp = namespace_of(X)
    places = xp.asarray(rows, device=X.device)
    own = None if weight is None else xp.astype(xp.take(weight, places, axis=0), X.dtype, copy=False)
    return Batch(xp.take(X, places, axis=0), None if y is None else xp.take(y, places, axis=0), own)


class LossRules(Rules):
    """Stopping rules that watch a validation loss: the score is minus the loss."""

    def describe(self, score: float) -> dict[str, float]:
        return {"validation_loss": -score}


@dataclass(frozen=True, eq=False)
class ValidationLoss:
    """A request: minus the mean loss of weights on rows held out, or on rows of the user's.

    Parameters
    ----------
    task : Task
    state : PerceptronState
        The weights.
    rows : array or None
        The numbers of the source's rows; None where `given` holds the rows.
    given : tuple or None
        Rows, targets and weights of the user's.
    """

    task: Task
    state: PerceptronState
    rows: np.ndarray | None
    given: tuple[Any, Any, Any] | None

    def answer(self, source: Source) -> float:
        X, y, weight = (source.whole(), source.y, source.weight) if self.given is None else self.given
        rows = np.arange(X.shape[0]) if self.rows is None else self.rows
        theta = as_like(self.state.theta, X)
        statistics = self.task.place(self.state.statistics, theta)
        loss, total = 0.0, 0.0
        with np.errstate(all="ignore"):
            for first in range(0, len(rows), _JUDGED):
                batch = take_batch(X, y, weight, rows[first : first + _JUDGED])
                share = float(len(batch.X)) if batch.weight is None else float(namespace_of(X).sum(batch.weight))
                if share > 0.0:
                    loss, total = loss + share * self.task.judge(theta, batch, statistics), total + share
        # Larger scores are better, hence the minus sign of the mean loss.
        return -loss / total if total > 0.0 else 0.0
