"""Stochastic approximation: the root of a function that is only seen through noise (Robbins and Monro, 1951)."""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.parameter import Boolean, Function, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Step
from mercer._solver.vector import largest_entry
from mercer._types import Array
from mercer.errors import DataError
from mercer.optim._function import check_start
from mercer.optim._result import Iterate, Result, run
from mercer.optim._schedule import PowerDecay
from mercer.optim._stopping import MaxIter, StopRule


@plain
@dataclass(frozen=True, eq=False)
class RootState:
    """The answer (an average, where one is wanted), where the search stands, the size of what was last seen."""

    x: Array
    value: float
    gradient: None
    current: Array
    n_steps: int
    seed: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Observe:
    """Ask for one noisy value at `x`, with a random stream of its own."""

    x: Array
    random: np.random.Generator

    def answer(self, source: "NoisySource") -> Array:
        return source.observe(self.x, self.random)


class NoisySource:
    """A function seen through noise."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun
        self.n_evaluations = 0

    def observe(self, x: Array, random: np.random.Generator) -> Array:
        """Return one noisy value."""
        self.n_evaluations += 1
        seen = np.array(self.fun(x.copy(), random), dtype=x.dtype)
        if seen.shape != x.shape:
            raise DataError(f"find_root: fun must return an array of the shape of x0, {x.shape}; got {seen.shape}.")
        return seen


def find_root(
    fun: Callable[[np.ndarray, np.random.Generator], Any],
    x0: Any,
    *,
    schedule: Callable[[int], float] | None = None,
    average: bool = False,
    stop: StopRule | None = None,
    callback: Callable[[Iterate], Any] | None = None,
    keep_path: bool = False,
    random_state: Any = None,
) -> Result:
    """Find where the mean of a noisy, rising function is zero: x <- x - rate_t * fun(x, noise).

    With rates that sum to infinity and whose squares do not, the search converges with probability one. A quantile, the
    dose of a given response, and every minimum of an expected loss are such roots.

    Parameters
    ----------
    fun : callable
        From x and a random generator to a noisy value of the shape of x. Its mean must rise through zero.
    x0 : array-like or Result
        The start; the result of an earlier search continues it with the same bits.
    schedule : callable or None, default=None
        From t = 1, 2, ... to a rate; None is ``PowerDecay(1.0)``, that is 1 / t.
    average : bool, default=False
        Return the mean of all places visited, which needs no well-chosen rate (Polyak and Juditsky, 1992); take a
        schedule that decays slower than 1 / t with it.
    stop : StopRule or None, default=None
        When to end; None means 1000 steps.
    callback : callable or None, default=None
        Called with an :class:`~mercer.optim.Iterate` after each step; True ends the search.
    keep_path : bool, default=False
        Whether to keep the answer after each step in ``path``.
    random_state : int, Generator, RandomState or None, default=None
        For the streams that `fun` is given, one for each step.

    Returns
    -------
    Result
        ``value`` is the largest entry of what was last seen.

    Examples
    --------
    The median of an exponential distribution, log 2, from comparisons alone:

    >>> import numpy as np
    >>> from mercer.optim import MaxIter, find_root
    >>> def above(x, random):
    ...     return (random.exponential(size=1) < x) - 0.5
    >>> result = find_root(above, [0.0], schedule=lambda t: 2.0 / t, stop=MaxIter(5000), random_state=0)
    >>> bool(abs(result.x[0] - np.log(2.0)) < 0.05)
    True
    """
    rates = PowerDecay(1.0) if schedule is None else schedule
    values = {"fun": fun, "schedule": rates, "average": average, "random_state": random_state}
    rules = {"fun": Function(), "schedule": Function(), "average": Boolean(), "random_state": Seed()}
    check_parameters("find_root", rules, values)
    state = _read_start(x0, random_state)
    return run(
        "find_root",
        f"Robbins-Monro with {rates!r}",
        _approximate(rates, average, state),
        NoisySource(fun),
        MaxIter(1000) if stop is None else stop,
        callback=callback,
        start=state.x if keep_path else None,
    )


def _approximate(schedule: Callable[[int], float], average: bool, state: RootState) -> Generator[Any, Any, Solution]:
    while True:
        # One stream per step: a continued run sees the noise of an unbroken one.
        random = np.random.default_rng(np.random.SeedSequence(state.seed, spawn_key=(state.n_steps,)))
        seen = yield Observe(state.current, random)
        t = state.n_steps + 1
        current = state.current - schedule(t) * seen
        # The mean of Polyak and Ruppert has the least asymptotic variance without a tuned constant in the schedule.
        answer = state.x + (current - state.x) / t if average else current
        size = largest_entry(seen)
        # Return the state before the step that overflowed, which is still finite.
        if not math.isfinite(size) or not np.all(np.isfinite(current)):
            statement = Certificate.none(f"diverged at step {t}; try a schedule a tenth as large.")
            return Solution(state, False, statement, "diverged")
        moved = largest_entry(answer - state.x)
        state = RootState(answer, size, None, current, t, state.seed)
        statement = Certificate.none("A root seen through noise has no bound; the schedule promises it in the limit.")
        yield Step(size, state, statement, {"step_norm": moved, "learning_rate": float(schedule(t))})


def _read_start(x0: Any, random_state: Any) -> RootState:
    if isinstance(x0, Result) and isinstance(x0.state, RootState):
        return x0.state
    start = np.asarray(check_start("find_root", x0))
    seed = tuple(int(word) for word in seed_sequence(random_state).generate_state(4))
    return RootState(start, math.nan, None, start, 0, seed)
