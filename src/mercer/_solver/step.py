"""The records that a solver gives: a step, a certificate, a solution."""

import math
from dataclasses import dataclass, field
from typing import Generic

from mercer._notebook import render_table
from mercer._plain import plain
from mercer._types import State


@plain
@dataclass(frozen=True)
class Certificate:
    """A bound on the distance to the optimum, or the statement that there is none.

    Attributes
    ----------
    kind : str
        ``"duality gap"``, ``"gradient norm"``, ``"fixed point"``, ``"residual"``... or ``"none"``.
    value : float
        The bound reached; NaN where there is none.
    tolerance : float
        What was asked for; NaN where nothing was.
    satisfied : bool or None
        Whether ``value <= tolerance``; None where there is no bound or nothing was asked for.
    statement : str
        One sentence that says what the value bounds.
    """

    kind: str
    value: float
    tolerance: float
    satisfied: bool | None
    statement: str = ""

    @classmethod
    def of(cls, kind: str, value: float, tolerance: float, statement: str = "") -> "Certificate":
        """Return a certificate that is satisfied if `value` is at most `tolerance`; a tolerance of NaN asks nothing."""
        satisfied = None if math.isnan(tolerance) else bool(value <= tolerance)
        return cls(kind, float(value), float(tolerance), satisfied, statement)

    @classmethod
    def none(cls, statement: str) -> "Certificate":
        """Return the certificate of an answer that nothing bounds; `statement` says why."""
        return cls("none", math.nan, math.nan, None, statement)

    def _repr_html_(self) -> str:
        verdict = {True: "yes", False: "no", None: "nothing was asked, or nothing is known"}[self.satisfied]
        numbers = [
            (name, f"{value:.3g}")
            for name, value in (("value", self.value), ("tolerance", self.tolerance))
            if not math.isnan(value)
        ]
        return render_table(f"Certificate: {self.kind}", [*numbers, ("satisfied", verdict), ("", self.statement)])


@dataclass(frozen=True)
class Step(Generic[State]):
    """One completed step of a solver.

    ``state`` is complete: a solver started from it continues with the same bits, which is what checkpoints rely on,
    and a model can be made from it, which is what interrupts and early stopping rely on. ``earlier`` holds the
    objective and the extra measures, a list each, of steps before this one that were taken in the same native call:
    the history lists them, and watches do not see them.
    """

    objective: float
    state: State
    certificate: Certificate | None = None
    extra: dict[str, float] = field(default_factory=dict)
    earlier: dict[str, list[float]] | None = None


@dataclass(frozen=True)
class Solution(Generic[State]):
    """What a solver returns: its last state, whether it met its own stopping rule, and the certificate.

    ``reason`` is one word that says why the solver ended; an empty one means ``"converged"`` or ``"max_iter"``.
    """

    state: State
    converged: bool | None
    certificate: Certificate
    reason: str = ""
