"""How a run of a solver ended, and the one function that starts and ends every run of this room."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._config import get_config
from mercer._solver import Certificate, Outcome, Solver, Step, drive
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import InterruptWarning, ParameterError
from mercer.optim._stopping import StopRule


class State(Protocol):
    """What every solver's state of this room has; ``gradient`` is None where there is none."""

    @property
    def x(self) -> Array: ...

    @property
    def value(self) -> float: ...

    @property
    def gradient(self) -> Array: ...


@dataclass(frozen=True, eq=False)
class Iterate:
    """What a callback is given after each step.

    Attributes
    ----------
    number : int
        Of the step, from zero.
    x : array
        The parameters.
    value : float
        The objective.
    measures : dict
        What the method measured: ``gradient_norm``, ``step_norm``, ``learning_rate``...
    """

    number: int
    x: Array
    value: float
    measures: dict[str, float]


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of an optimiser, and how it came about.

    Attributes
    ----------
    x : array
        The best parameters that the method vouches for, in the library and on the device of ``x0``.
    value : float
        The objective there.
    gradient : array or None
        The gradient there, where the method knows it.
    converged : bool
        Whether a rule that looks at the answer ended the run.
    reason : str
        What ended it: the stopping rule, as it is written, ``"diverged"``, ``"callback"``, ``"interrupt"``...
    message : str
        The same in a sentence, with a cure where one is needed.
    certificate : Certificate
        How far from the optimum the answer can be, or that nothing bounds it.
    history : dict of ndarray
        One entry per step: ``step``, ``objective``, ``seconds``, and what the method measures.
    n_iter : int
        Steps taken.
    n_evaluations, n_gradients, n_hessians : int
        Calls of the function and its derivatives (Hessian products count as Hessians).
    method : str
        The method, with its options.
    derivatives : dict
        Where derivatives came from: ``"given"``, ``"torch"`` or ``"central differences"``.
    path : array or None
        With ``keep_path=True``: the start and the parameters after each step.
    state : object
        The solver's complete state; a run that is given this result as its start continues with the same bits.
    """

    x: Array
    value: float
    gradient: Array
    converged: bool
    reason: str
    message: str
    certificate: Certificate
    history: dict[str, np.ndarray]
    n_iter: int
    n_evaluations: int
    n_gradients: int
    n_hessians: int
    method: str
    derivatives: dict[str, str] = field(default_factory=dict)
    path: Array = None
    state: Any = None

    def __repr__(self) -> str:
        return (
            f"Result(value={self.value:.6g}, converged={self.converged}, reason={self.reason!r}, "
            f"n_iter={self.n_iter}, x={self.x})"
        )


class _Followers:
    """A watch: hands each step to the user's callback, and keeps the path where it is wanted."""

    def __init__(self, callback: Callable[[Iterate], Any] | None, path: list[Array] | None) -> None:
        self.callback, self.path = callback, path

    def step(self, number: int, step: Step) -> str | None:
        if self.path is not None:
            self.path.append(step.state.x)
        if self.callback is None:
            return None
        ended = self.callback(Iterate(number, step.state.x, step.objective, dict(step.extra)))
        return "callback" if ended is True else None

    def choose_step(self, last: Step) -> Step:
        return last


def run(
    subject: str,
    method: str,
    solver: Solver,
    source: Any,
    stop: StopRule,
    *,
    callback: Callable[[Iterate], Any] | None = None,
    start: Array = None,
    warn: bool = True,
) -> Result:
    """Drive a solver over a source to its end; `start` begins the path that is kept."""
    if not isinstance(stop, StopRule):
        raise ParameterError(f"{subject}: stop must be rules of mercer.optim joined by | or &; got {stop!r}.")
    stop.check()
    stop.begin()
    path = None if start is None else [start]
    outcome = drive(solver, source, [_Followers(callback, path), stop])
    result = _read(subject, method, outcome, source, stop, path)
    _conclude(subject, result, outcome, warn, stop)
    return result


def _read(subject: str, method: str, outcome: Outcome, source: Any, stop: StopRule, path: list[Array] | None) -> Result:
    state: State = outcome.state
    rules = [] if outcome.interrupt or outcome.converged else stop.list_fired()
    by_rule = bool(rules) and outcome.reason == " and ".join(map(repr, rules))
    # A rule such as MaxIter ends a run without convergence; rules like GradientNorm mean convergence.
    converged = outcome.converged or (by_rule and any(rule.converges for rule in rules))
    certificate = _with_tolerance(outcome.certificate, stop)
    # Where values are flat to rounding there is nothing left to search, and the gradient may well be small enough.
    converged = converged or (outcome.reason == "no lower point" and bool(certificate.satisfied))
    return Result(
        x=_copy_for_user(state.x),
        value=float(state.value),
        gradient=None if state.gradient is None else _copy_for_user(state.gradient),
        converged=bool(converged),
        reason=outcome.reason,
        message=f"{subject}: {_sentence(outcome)}",
        certificate=certificate,
        history=outcome.history,
        n_iter=outcome.n_steps,
        n_evaluations=getattr(source, "n_evaluations", 0),
        n_gradients=getattr(source, "n_gradients", 0),
        n_hessians=getattr(source, "n_hessians", 0),
        method=method,
        derivatives={
            name: value
            for name, value in (
                ("gradient", getattr(source, "gradient_used", "none")),
                ("hessian", getattr(source, "hessian_used", "none")),
            )
            if value != "none"
        },
        path=None if path is None else namespace_of(path[0]).stack(path),
        state=state,
    )


def _sentence(outcome: Outcome) -> str:
    if outcome.reason in ("diverged", "no solution"):
        return outcome.certificate.statement
    if outcome.reason == "no lower point":
        return f"found no lower point after {outcome.n_steps} steps; the function is flat to rounding, or not smooth."
    return f"ended by {outcome.reason} after {outcome.n_steps} steps."


def _conclude(subject: str, result: Result, outcome: Outcome, warn: bool, stop: StopRule) -> None:
    """Say what must not go unnoticed: divergence, a search that ended before its rule was met, and Ctrl-C."""
    if warn and result.reason == "diverged":
        warnings.warn(result.message, ConvergenceWarning, stacklevel=4)
    # A callback and rules such as MaxIter alone end a run where the user wants it to end; nothing was missed.
    elif warn and not result.converged and stop.can_converge() and result.reason not in ("callback", "interrupt"):
        warnings.warn(
            f"{result.message} It did not converge: allow more steps, or choose another method or start.",
            ConvergenceWarning,
            stacklevel=4,
        )
    if outcome.interrupt is not None:
        warnings.warn(
            f"{subject}: interrupted after {result.n_iter} steps; the exception's result has the last state.",
            InterruptWarning,
            stacklevel=4,
        )
        if get_config()["on_interrupt"] == "raise":
            outcome.interrupt.result = result  # type: ignore[attr-defined]
            raise outcome.interrupt


def _with_tolerance(certificate: Certificate, stop: StopRule) -> Certificate:
    """Return a certificate by the gradient, beside what the stopping rules ask of it."""
    if certificate.kind not in ("gradient norm", "proximal gradient norm"):
        return certificate
    return Certificate.of(certificate.kind, certificate.value, stop.tolerance(), certificate.statement)


def _copy_for_user(array: Array) -> Array:
    """Return a copy for the user to write into: states stay as they are, so that runs can continue from them."""
    return array.copy() if isinstance(array, np.ndarray) else namespace_of(array).asarray(array, copy=True)
