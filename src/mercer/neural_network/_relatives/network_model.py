"""What estimators made of a network share: parameters of the training, the fit by epochs, and outputs for rows."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._base import Estimator, seed_sequence
from mercer._base.parameter import Boolean, Choice, Instance, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._solver import Outcome
from mercer._source import Block, Source
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, floats, mapping, part
from mercer._types import Array
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.neural_network._layers.layer import Layer, as_like
from mercer.neural_network._layers.network import Network
from mercer.neural_network._perceptron.epoch import SharedPasses
from mercer.neural_network._perceptron.solver import descend_in_epochs, descend_on_all_rows
from mercer.neural_network._perceptron.state import PerceptronState
from mercer.neural_network._relatives.plan import LossRules, Task, TaskPlan, ValidationLoss
from mercer.optim import LBFGS, Adam, AdamW, ConjugateGradient, GradientDescent, Momentum, Nesterov, RMSprop, Rprop


def mark_weights(network: Network) -> np.ndarray:
    """Return 1 for the weights that a penalty applies to, and 0 for biases and the parameters of normalisations."""
    marks = np.zeros(network.n_weights)
    for node in network.nodes:
        for key, (place, _) in node.weights.items():
            if key[0] in "WU":
                marks[place] = 1.0
    return marks


def penalise(theta: Array, marks: np.ndarray, alpha: float) -> tuple[float, Array]:
    """Return alpha / 2 times the sum of squares of the marked weights, and its gradient."""
    slope = alpha * as_like(marks, theta) * theta
    return 0.5 * float(namespace_of(theta).sum(slope * theta)), slope


_SHUFFLED = "rows are shuffled into batches by their place"
IN_BATCHES = "batches have a fixed number of rows, so repeated rows fall into other batches"
_BY_BATCHES = (Adam, AdamW, GradientDescent, Momentum, Nesterov, RMSprop)
_BY_ALL_ROWS = (LBFGS, ConjugateGradient, Rprop)
# The exponent of the number of rows seen by which "invscaling" lowers the learning rate, as in scikit-learn.
_POWER = 0.5
# Evaluations that a method over all rows may take for each of its steps, in the mean.
_TRIALS = 15

Validation = tuple[Any, Any, Any]


class NetworkModel(Estimator):
    """Base of estimators that train a network in batches."""

    dropout: float = parameter(Real(0, 1, closed="left"), default=0.0)
    alpha: float = parameter(
        Real(0),
        default=0.0,
        doc="Strength of the L2 penalty on the weights. Decay apart from the loss is "
        "``solver=AdamW(weight_decay=...)``.",
    )
    solver: Any = parameter(
        Choice("adam", "sgd") | Instance(*_BY_BATCHES, *_BY_ALL_ROWS),
        default="adam",
        doc="How the weights move: by name, or a method of :mod:`mercer.optim`, whose learning rate may be a schedule "
        "such as ``Adam(learning_rate=StepDecay(0.01))``. The last three take the gradient over all rows in every "
        "step. 'sgd' has Nesterov's momentum, 0.9.",
    )
    learning_rate: str = parameter(
        Choice("constant", "invscaling", "adaptive"),
        default="constant",
        doc="How the learning rate of a named solver changes: 'invscaling' divides it by the root of the number of "
        "rows seen, 'adaptive' divides it by 5 where the fit would otherwise end.",
    )
    learning_rate_init: float = parameter(
        Real(0, closed="neither"), default=0.001, doc="First learning rate of a named solver."
    )
    shuffle: bool = parameter(
        Boolean(),
        default=True,
        doc="Whether each pass has another order. Rows in files come block by block and are shuffled within blocks.",
    )
    tol: float = parameter(Real(0), default=0.0001, doc="Fall of the loss that counts as one.")
    n_iter_no_change: int = parameter(
        Integer(1), default=10, doc="Passes without such a fall that are allowed before the fit ends."
    )
    early_stopping: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether some rows are held out, the fit ends by their loss, and the weights that were best on them are "
        "kept.",
    )
    validation_fraction: float = parameter(
        Real(0, 1, closed="neither"), default=0.1, doc="Share of these rows, where `fit` is not given any."
    )
    clip_norm: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="Longer gradients are cut to this norm; None cuts none.",
    )
    warm_up: int = parameter(Integer(0), default=0, doc="Steps in which the learning rate rises to its value.")
    average_from: int | None = parameter(
        Integer(0) | Nothing(), default=None, doc="The pass after which the weights at the end of each are averaged."
    )
    warm_start: bool = parameter(
        Boolean(), default=False, doc="Whether `fit` goes on from the weights of the last one."
    )
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the first weights, the batches and the noise.")
    verbose: bool = parameter(Boolean(), default=False, doc="Whether to print each pass.")
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="Seconds after which the fit stops, at the end of a pass."
    )

    # Parameters of the training, the same for every class.
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _law_exceptions: ClassVar[dict[str, str]] = {"row order": _SHUFFLED, "weights": IN_BATCHES}
    # Batches are noisy.
    _objective_moves: ClassVar[str | None] = None

    batch_size: int = attribute()
    max_iter: int = attribute()
    weights_: Array = attribute()
    _statistics: dict[str, Any] = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "weights_": floats("weights"),
        "_statistics": mapping(mapping(floats("*"))),
        "_state": part("PerceptronState"),
    }

    def _takes_all_rows(self) -> bool:
        return isinstance(self.solver, _BY_ALL_ROWS)

    def _check_together(self, is_random: bool) -> None:
        """Raise where parameters do not go together; `is_random` tells whether each step has its own objective."""
        whole, wrong = self._takes_all_rows(), ""
        # A line search compares values of one function; dropout and noise change it from step to step.
        if whole and is_random:
            wrong = f"solver={self.solver!r} needs one objective in all steps; use 'adam' with dropout, noise or norms"
        elif whole and self.early_stopping:
            wrong = f"early_stopping needs epochs, which solver={self.solver!r} does not have; use 'adam' or 'sgd'"
        elif self.average_from is not None and (self.early_stopping or whole):
            wrong = "average_from averages the weights of epochs, without early_stopping and methods over all rows"
        if wrong:
            raise UnsupportedError(f"{type(self).__name__}: {wrong}.")

    def _check_partial(self) -> bool:
        """Raise where the parameters do not suit a fit in parts; return whether this is its first part."""
        if self.early_stopping or self._takes_all_rows():
            what = "early_stopping=True" if self.early_stopping else f"solver={self.solver!r}"
            raise ParameterError(f"{type(self).__name__}: partial_fit does not support {what}; it sees each part once.")
        return not hasattr(self, "_state")

    def _check_validation(self, *given: Any) -> bool:
        """Return whether the user gave rows to judge by; raise if some are missing or not wanted."""
        if all(part is None for part in given):
            return False
        if any(part is None for part in given) or not self.early_stopping:
            names = "X_val and y_val go together, and need" if len(given) > 1 else "X_val needs"
            raise DataError(f"{type(self).__name__}: {names} early_stopping=True; give them all, and set it.")
        return True

    def _train(
        self,
        task: Task,
        source: Source,
        *,
        validation: Validation | None = None,
        attributes: dict[str, Any] | None = None,
        is_part: bool = False,
        judge_task: Task | None = None,
    ) -> None:
        """Train the task on the rows: one epoch from where the last one ended, or a whole fit.

        `judge_task` is the task of the validation rows where it is another one.
        """
        plan = TaskPlan(
            task,
            self.solver,
            self.batch_size,
            self.shuffle,
            self.clip_norm,
            self.warm_up,
            None if is_part else self.average_from,
        )
        # Epochs read only what both kinds of plans have.
        shared = SharedPasses(plan)  # type: ignore[arg-type]
        rules = self._make_rules(task if judge_task is None else judge_task, source, shared, validation)
        start = self._begin(plan, source, is_part)
        last_epoch = start.epochs + (1 if is_part else self.max_iter)

        def solve(state: PerceptronState | None) -> Any:
            first = start if state is None else state
            if not self._takes_all_rows():
                return descend_in_epochs(shared, first, (start.epochs, last_epoch), rules)
            self._needs_memory(source, f"solver={self.solver!r}", "use solver='adam'")
            return descend_on_all_rows(shared, self.solver, first, (last_epoch, _TRIALS * self.max_iter, self.tol))

        outcome = self._drive(solve, source, max_steps=last_epoch - start.epochs, attributes=attributes)
        self._state = outcome.state
        if is_part:
            self.n_iter_ = outcome.state.epochs
        self._finish(outcome, is_part)

    def _begin(self, plan: TaskPlan, source: Source, is_part: bool) -> PerceptronState:
        """Return the state before the first epoch: random weights, or the last ones."""
        dtype = source.host_dtype
        earlier = vars(self).get("_state") if is_part or self.warm_start else None
        if earlier is not None and earlier.theta.shape == (plan.network.n_weights,):
            theta, statistics = earlier.choose_model()
            theta = theta.astype(dtype, copy=False)
            carried = plan.carry(theta)
            # A part goes on with the method's own means; a new fit begins them anew, as in scikit-learn.
            goes_on = is_part and len(carried) == len(earlier.carried)
            return PerceptronState(
                theta,
                tuple(array.astype(dtype, copy=False) for array in earlier.carried) if goes_on else carried,
                statistics,
                earlier.seed,
                float(self.learning_rate_init) if not is_part else earlier.rate,
                epochs=earlier.epochs,
                steps=earlier.steps if goes_on else 0,
                seen=earlier.seen,
                losses=earlier.losses,
                scores=earlier.scores,
            )
        seed = tuple(int(word) for word in seed_sequence(self.random_state).generate_state(4))
        theta, statistics = plan.network.initialise(seed[0], dtype)
        return PerceptronState(theta, plan.carry(theta), statistics, seed, float(self.learning_rate_init))

    def _make_rules(self, task: Task, source: Source, shared: SharedPasses, validation: Validation | None) -> LossRules:
        """Return the stopping rule; rows that judge are taken out of the training rows."""
        judge: Callable[[PerceptronState], Any] | None = None
        if self.early_stopping:
            held: np.ndarray | None = None
            if validation is None:
                if source.place != "device":
                    self._needs_memory(source, "early_stopping=True", "give X_val")
                shared.training, held = self._split_rows(source.n_rows)

            def judge(state: PerceptronState) -> ValidationLoss:
                return ValidationLoss(task, state, held, validation)

        return LossRules(
            float(self.tol),
            float(self.n_iter_no_change),
            self.learning_rate if isinstance(self.solver, str) else "constant",
            float(self.learning_rate_init),
            _POWER,
            judge,
            keep_best=self.early_stopping,
        )

    def _split_rows(self, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw the rows to learn from and the rows to judge by."""
        if n_rows < 2:
            raise DataError(
                f"{type(self).__name__}: early_stopping=True needs at least 2 rows, one to learn from and one to judge "
                f"by; got {n_rows}. Add rows, or give X_val."
            )
        # A child of the seed is used, so the draw of the rows does not shift the draws of the weights.
        order = np.random.default_rng(seed_sequence(self.random_state).spawn(1)[0]).permutation(n_rows)
        # At least one row judges and at least one row is left to learn from.
        n_held = min(n_rows - 1, max(1, round(self.validation_fraction * n_rows)))
        return np.sort(order[n_held:]), np.sort(order[:n_held])

    def _fitted(self, state: PerceptronState) -> dict[str, Any]:
        theta, statistics = state.choose_model()
        return {"weights_": theta, "_statistics": statistics}

    def _finish(self, outcome: Outcome[Any], is_part: bool) -> None:
        """Warn where the training diverged or did not come to rest."""
        if outcome.reason == "diverged":
            warnings.warn(
                f"{type(self).__name__}: the loss grew without end in epoch {outcome.n_steps + 1}; the weights of "
                f"epoch {outcome.n_steps} were kept. Lower learning_rate_init (now {self.learning_rate_init!r}), or "
                f"scale the columns.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if not is_part or outcome.interrupt is not None:
            self._conclude(outcome, "raise max_iter, tol or learning_rate_init")


@dataclass(frozen=True, eq=False)
class NetworkOutputs:
    """A function of a block: what `finish` makes of the outputs of a network for its rows.

    Parameters
    ----------
    network : Network
    theta, statistics
        Its weights and what batch norm keeps.
    shape_rows : callable
        From rows (n, d) to the network's inputs by name.
    finish : callable
        From outputs to what is wanted of them.
    together : int
        Rows whose outputs are computed at a time, which bounds the memory of what layers keep.
    """

    network: Network
    theta: Array
    statistics: dict[str, Any]
    shape_rows: Callable[[Array], dict[str, Array]]
    finish: Callable[[Array], Array]
    together: int

    def __call__(self, block: Block) -> Array:
        return self.compute(block.dense())

    def compute(self, rows: Array) -> Array:
        """Return what `finish` makes of the outputs for rows (n, d)."""
        xp = namespace_of(rows)
        statistics = self.network.place(self.statistics, self.theta)
        parts = []
        n_rows = rows.shape[0]
        # Rows go through the network in parts, because the values of all layers are held for a part at once.
        for start in range(0, n_rows, self.together):
            part = rows if n_rows <= self.together else rows[start : min(start + self.together, n_rows), ...]
            batch = xp.astype(part, self.theta.dtype, copy=False)
            parts.append(self.finish(self.network.forward(self.theta, self.shape_rows(batch), statistics).output))
        return parts[0] if len(parts) == 1 else xp.concat(parts)


@lru_cache(maxsize=64)
def join_layers(layers: tuple[Layer, ...], shape: tuple[int, ...]) -> Network:
    """Return the chain of these layers; the same object for the same layers, since its checks take a millisecond."""
    return Network(list(layers), shape)
