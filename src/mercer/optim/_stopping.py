"""Stopping rules: small objects that join with ``|`` (whichever comes first) and ``&`` (all at one step).

A rule is a watch: it sees each step of the driver and may end the run. The result names the rule that did, and a run
counts as converged when that rule looks at the answer (a small gradient, a small change) and not at the clock.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

from mercer import watch
from mercer._base.parameter import Function, Integer, Real, Rule, check_parameters
from mercer._solver import Step
from mercer.errors import ParameterError
from mercer.watch.early_stopping import Patience


class StopRule:
    """Base of stopping rules.

    A rule of your own defines ``holds(number, step)``, where `step` has ``objective``, ``state.x`` and the measures
    ``extra``; set ``converges`` to True if it looks at the quality of the answer.
    """

    converges: ClassVar[bool] = False
    rules: ClassVar[dict[str, Rule]] = {}

    def check(self) -> None:
        """Raise if a parameter is outside its range."""
        check_parameters(type(self).__name__, self.rules, vars(self))

    def begin(self) -> None:
        """Forget an earlier run."""

    def holds(self, number: int, step: Step) -> bool:
        """Return whether the run should end after this step, the `number`-th (from zero)."""
        raise NotImplementedError  # each rule below defines its own

    def list_fired(self) -> "list[StopRule]":
        """Return the simple rules that ended the run, once one did."""
        return [self]

    def can_converge(self) -> bool:
        """Return whether the rule looks at the quality of the answer: a run that it does not end was too short."""
        return self.converges

    def tolerance(self) -> float:
        """Return the tolerance for the gradient; NaN where the rule has none."""
        return math.nan

    def step(self, number: int, step: Step) -> str | None:
        return " and ".join(map(repr, self.list_fired())) if self.holds(number, step) else None

    def choose_step(self, last: Step) -> Step:
        return last

    def __or__(self, other: "StopRule") -> "StopRule":
        return _Joined(any, self, other)

    def __and__(self, other: "StopRule") -> "StopRule":
        return _Joined(all, self, other)

    def __repr__(self) -> str:
        values = [getattr(self, name) for name in self.rules]
        return f"{type(self).__name__}({', '.join(f'{value:g}' for value in values if isinstance(value, int | float))})"


class _Joined(StopRule):
    """Several rules; any or all of them must hold."""

    def __init__(self, enough: Callable[[list[bool]], bool], *members: StopRule) -> None:
        for member in members:
            if not isinstance(member, StopRule):
                raise ParameterError(f"stop: rules join with rules of mercer.optim; got {member!r}.")
        self.enough, self.members = enough, members
        self.held = [False] * len(members)

    def check(self) -> None:
        for member in self.members:
            member.check()

    def begin(self) -> None:
        for member in self.members:
            member.begin()

    def holds(self, number: int, step: Step) -> bool:
        # Each member is asked each time: some of them count.
        self.held = [member.holds(number, step) for member in self.members]
        return self.enough(self.held)

    def list_fired(self) -> list[StopRule]:
        return [rule for member, held in zip(self.members, self.held) if held for rule in member.list_fired()]

    def can_converge(self) -> bool:
        return any(member.can_converge() for member in self.members)

    def tolerance(self) -> float:
        tolerances = [member.tolerance() for member in self.members]
        return min((tolerance for tolerance in tolerances if not math.isnan(tolerance)), default=math.nan)

    def choose_step(self, last: Step) -> Step:
        for member in self.members:
            if (chosen := member.choose_step(last)) is not last:
                return chosen
        return last

    def __repr__(self) -> str:
        return f"({(' | ' if self.enough is any else ' & ').join(map(repr, self.members))})"


class MaxIter(StopRule):
    """End after a number of steps (epochs, where rows come in batches).

    Parameters
    ----------
    n : int
    """

    rules: ClassVar[dict[str, Rule]] = {"n": Integer(1)}

    def __init__(self, n: int) -> None:
        self.n = n

    def holds(self, number: int, step: Step) -> bool:
        return number + 1 >= self.n


class MaxTime(StopRule):
    """End at the first step that completes after a number of seconds; the limit of :class:`mercer.watch.TimeLimit`.

    Parameters
    ----------
    seconds : float
    """

    rules: ClassVar[dict[str, Rule]] = {"seconds": Real(0)}

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.limit = watch.TimeLimit(seconds)

    def begin(self) -> None:
        self.limit = watch.TimeLimit(self.seconds)

    def holds(self, number: int, step: Step) -> bool:
        return self.limit.step(number, step) is not None


class GradientNorm(StopRule):
    """End when no entry of the gradient is larger than `tol`; for composite functions, of the proximal gradient.

    Parameters
    ----------
    tol : float
    """

    converges: ClassVar[bool] = True
    rules: ClassVar[dict[str, Rule]] = {"tol": Real(0)}

    def __init__(self, tol: float) -> None:
        self.tol = tol

    def holds(self, number: int, step: Step) -> bool:
        return _measure(self, step, "gradient_norm") <= self.tol

    def tolerance(self) -> float:
        return self.tol


class SmallStep(StopRule):
    """End when no coordinate moved by more than `tol` in a step.

    Parameters
    ----------
    tol : float
    """

    converges: ClassVar[bool] = True
    rules: ClassVar[dict[str, Rule]] = {"tol": Real(0)}

    def __init__(self, tol: float) -> None:
        self.tol = tol

    def holds(self, number: int, step: Step) -> bool:
        return _measure(self, step, "step_norm") <= self.tol


class SmallChange(StopRule):
    """End when the objective has changed by at most `tol` (relative, where it is larger than one) for some steps.

    Parameters
    ----------
    tol : float
    patience : int, default=1
        Number of consecutive small changes.
    """

    converges: ClassVar[bool] = True
    rules: ClassVar[dict[str, Rule]] = {"tol": Real(0), "patience": Integer(1)}

    def __init__(self, tol: float, patience: int = 1) -> None:
        self.tol, self.patience = tol, patience
        self.begin()

    def begin(self) -> None:
        self._before, self._small = math.nan, 0

    def holds(self, number: int, step: Step) -> bool:
        change, self._before = abs(step.objective - self._before), step.objective
        self._small = self._small + 1 if change <= self.tol * max(1.0, abs(step.objective)) else 0
        return self._small >= self.patience


class TargetValue(StopRule):
    """End when the objective is as low as `value`.

    Parameters
    ----------
    value : float
    """

    converges: ClassVar[bool] = True
    rules: ClassVar[dict[str, Rule]] = {"value": Real()}

    def __init__(self, value: float) -> None:
        self.value = value

    def holds(self, number: int, step: Step) -> bool:
        return step.objective <= self.value


class NoImprovement(StopRule):
    """End when the error on a validation set has not fallen for some steps; keep the parameters with the least.

    The same patience as :class:`mercer.watch.EarlyStopping`, for parameters instead of estimators.

    Parameters
    ----------
    error : callable
        From parameters to the validation error.
    patience : int, default=5
        Steps without a fall after which the run ends.
    min_delta : float, default=0
        A smaller fall does not count.

    Attributes
    ----------
    errors_ : list of float
        The validation error after each step of the last run.
    best_step_ : int
        The step whose parameters were kept.
    """

    rules: ClassVar[dict[str, Rule]] = {"error": Function(), "patience": Integer(1), "min_delta": Real(0)}

    def __init__(self, error: Callable[[Any], float], patience: int = 5, min_delta: float = 0.0) -> None:
        self.error, self.patience, self.min_delta = error, patience, min_delta
        self.begin()

    def begin(self) -> None:
        self.errors_: list[float] = []
        self._counter = Patience(self.patience, self.min_delta)
        self._kept: Step | None = None

    @property
    def best_step_(self) -> int:
        return self._counter.best_step

    def holds(self, number: int, step: Step) -> bool:
        error = float(self.error(step.state.x))
        self.errors_.append(error)
        exhausted = self._counter.see(-error)
        if self._counter.best_step == len(self.errors_) - 1:
            self._kept = step
        return exhausted

    def choose_step(self, last: Step) -> Step:
        return self._kept or last


def _measure(rule: StopRule, step: Step, name: str) -> float:
    if name not in step.extra:
        raise ParameterError(
            f"stop: {rule!r} needs the measure {name!r}, which this method does not have; it has: "
            + ", ".join(step.extra)
        )
    return step.extra[name]
