"""Descent on batches of samples."""

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._base.parameter import Integer, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Step
from mercer._solver.vector import largest_entry
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.optim._function import FunctionPoint, FunctionSource, check_start
from mercer.optim._methods.descent import FirstOrder, divergence
from mercer.optim._minimize import METHODS, read_method
from mercer.optim._result import Iterate, Result, run
from mercer.optim._stopping import MaxIter, StopRule

_BATCHES = {name: method for name, method in METHODS.items() if issubclass(method, FirstOrder) and method.takes_batches}
_NOISE = "Gradients of batches are noisy: they bound nothing."
_FULL = "Largest entry of the gradient over all samples, after the last epoch."


@plain
@dataclass(frozen=True, eq=False)
class BatchDescentState:
    """Parameters, the mean of the values met in the last epoch, what the method carries, epochs, updates, the seed."""

    x: Array
    value: float
    gradient: None
    carried: tuple[Array, ...]
    n_epochs: int
    n_updates: int
    start_value: float
    seed: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class OnBatch:
    """Ask for mean value and mean gradient over some samples."""

    x: Array
    rows: np.ndarray

    def answer(self, source: "SampleSource") -> FunctionPoint:
        return source.on_rows(self.x, self.rows)


class SampleSource:
    """A mean over samples, asked for by their numbers."""

    def __init__(self, fun: Any, grad: Any, n_samples: int, batch_size: int) -> None:
        self.fun, self.grad = fun, grad
        self.n_samples, self.batch_size = n_samples, batch_size
        self.n_evaluations = self.n_gradients = 0
        self.gradient_used = "none"

    def on_rows(self, x: Array, rows: np.ndarray) -> FunctionPoint:
        """Mean value and gradient over some samples."""
        grad = self.grad if self.grad is None or self.grad is True else lambda place: self.grad(place, rows)
        source = FunctionSource("minimize_stochastic", lambda place: self.fun(place, rows), grad)
        # This source serves one batch: its check of the start is for whole runs. Epochs are checked for divergence.
        source.finite_at_first = False
        point = source.evaluate(x)
        self.n_evaluations += source.n_evaluations
        self.n_gradients += source.n_gradients
        self.gradient_used = source.gradient_used
        return point

    def over_all(self, x: Array) -> FunctionPoint:
        """Mean value and gradient over all samples, a batch at a time."""
        value, gradient = 0.0, 0.0 * x
        for rows in batches(np.arange(self.n_samples), self.batch_size):
            point = self.on_rows(x, rows)
            # The last batch may be smaller, so means are weighted by their number of rows.
            share = len(rows) / self.n_samples
            value, gradient = value + share * point.objective, gradient + share * point.gradient
        return FunctionPoint(x, value, gradient)


def minimize_stochastic(
    fun: Callable[[Array, np.ndarray], Any],
    x0: Any,
    *,
    n_samples: int,
    batch_size: int = 32,
    method: str | FirstOrder = "gradient_descent",
    grad: Callable[[Array, np.ndarray], Any] | bool | None = None,
    stop: StopRule | None = None,
    callback: Callable[[Iterate], Any] | None = None,
    keep_path: bool = False,
    random_state: Any = None,
    **options: Any,
) -> Result:
    """Minimise a mean over samples by gradients of batches.

    Each epoch puts the samples into a new order and takes them `batch_size` at a time, each sample once. A step of the
    record is an epoch; its objective is the mean of the values met on the way, which costs nothing. At the end value
    and gradient are taken over all samples, once.

    Parameters
    ----------
    fun : callable
        From x and an array of sample numbers (rising) to the *mean* of the objective over these samples. Means, not
        sums: else the learning rate would depend on the batch size.
    x0 : array-like or Result
        The start, NumPy or of another array library; the result of an earlier run continues it with the same bits.
    n_samples : int
        How many samples there are.
    batch_size : int, default=32
        Samples in a batch; the last of an epoch may be smaller. As many as there are gives descent on the whole.
    method : str or method, default="gradient_descent"
        ``"gradient_descent"``, ``"momentum"``, ``"nesterov"``, ``"rmsprop"``, ``"adam"``, ``"adamw"``, or a method with
        its options. Schedules count updates, not epochs. Rprop, which compares signs, needs the whole objective.
    grad : callable, bool or None, default=None
        The mean gradient, with the arguments of `fun`; True if `fun` returns both; None differentiates.
    stop : StopRule or None, default=None
        When to end; None means 100 epochs. Rules on the gradient have nothing to look at here.
    callback : callable or None, default=None
        Called with an :class:`~mercer.optim.Iterate` after each epoch; True ends the run.
    keep_path : bool, default=False
        Whether to keep the parameters after each epoch in ``path``.
    random_state : int, Generator, RandomState or None, default=None
        For the order of samples.
    **options : dict
        Options of the method, where it is given by name.

    Returns
    -------
    Result

    References
    ----------
    Bottou, Curtis and Nocedal (2018), Optimization methods for large-scale machine learning.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optim import PowerDecay, minimize_stochastic
    >>> samples = np.random.default_rng(0).normal(3.0, 1.0, size=1000)
    >>> result = minimize_stochastic(
    ...     lambda x, rows: 0.5 * np.mean((x - samples[rows]) ** 2), [0.0], n_samples=1000, batch_size=1,
    ...     grad=lambda x, rows: np.mean(x - samples[rows], keepdims=True), learning_rate=PowerDecay(1.0),
    ...     random_state=0,
    ... )
    >>> bool(np.isclose(result.x[0], samples.mean()))
    True
    """
    values = {"n_samples": n_samples, "batch_size": batch_size, "random_state": random_state}
    rules = {"n_samples": Integer(1), "batch_size": Integer(1), "random_state": Seed()}
    check_parameters("minimize_stochastic", rules, values)
    chosen: FirstOrder = read_method("minimize_stochastic", method, options, _BATCHES)
    start = _read_start(x0, chosen, random_state)
    source = SampleSource(fun, grad, n_samples, batch_size)
    result = run(
        "minimize_stochastic",
        chosen.describe(),
        _descend_in_batches(chosen, start, n_samples, batch_size),
        source,
        MaxIter(100) if stop is None else stop,
        callback=callback,
        start=start.x if keep_path else None,
    )
    # The run saw noisy values of changing parameters; the answer reports value and gradient at the last ones.
    whole = source.over_all(result.x)
    certificate = Certificate.of("gradient norm", largest_entry(whole.gradient), math.nan, _FULL)
    return replace(
        result,
        value=whole.objective,
        gradient=whole.gradient,
        certificate=certificate if result.reason != "diverged" else result.certificate,
        n_evaluations=source.n_evaluations,
        n_gradients=source.n_gradients,
    )


def batches(order: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Cut the order into batches, sorted inside each so that rows are read forwards."""
    for first in range(0, len(order), size):
        yield np.sort(order[first : first + size])


def _descend_in_batches(
    method: FirstOrder, state: BatchDescentState, n_samples: int, batch_size: int
) -> Generator[Any, Any, Solution]:
    """Descend epoch by epoch, each in a newly drawn order of rows, until a stopping rule holds."""
    while True:
        # Each epoch has a random stream of its own: a continued run draws the orders of an unbroken one.
        random = np.random.default_rng(np.random.SeedSequence(state.seed, spawn_key=(state.n_epochs,)))
        x, carried, t, total = state.x, state.carried, state.n_updates, 0.0
        for rows in batches(random.permutation(n_samples), batch_size):
            point = yield OnBatch(method.place(x, carried), rows)
            t += 1
            x, carried = method.move(x, point.gradient, carried, t)
            total += len(rows) / n_samples * point.objective
        start_value = total if math.isnan(state.start_value) else state.start_value
        # No useful run has a mean value a million times that of its first epoch; stop before overflow.
        if not math.isfinite(total) or total > 1e6 * max(abs(start_value), 1e-300):
            return Solution(state, False, divergence(method, t, math.nan), "diverged")
        moved = largest_entry(x - state.x)
        state = BatchDescentState(x, total, None, carried, state.n_epochs + 1, t, start_value, state.seed)
        measures = {"step_norm": moved, "learning_rate": method.rate(t)}
        yield Step(total, state, Certificate.none(_NOISE), measures)


def _read_start(x0: Any, method: FirstOrder, random_state: Any) -> BatchDescentState:
    if isinstance(x0, Result):
        if not isinstance(x0.state, BatchDescentState):
            raise ParameterError(
                f"minimize_stochastic: x0 is a result of {x0.method}, which cannot be continued. Give its x."
            )
        return x0.state
    start = check_start("minimize_stochastic", x0)
    seed = tuple(int(word) for word in seed_sequence(random_state).generate_state(4))
    return BatchDescentState(start, math.nan, None, method.carry(start), 0, 0, math.nan, seed)
