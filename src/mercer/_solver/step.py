"""What a solver says: a step, a certificate, a solution."""

import math
from dataclasses import dataclass, field
from typing import Any

from mercer._plain import plain

__all__ = ["Certificate", "Solution", "Step"]


@plain
@dataclass(frozen=True)
class Certificate:
    """How far from the optimum the answer can be, or the plain statement that nothing bounds it.

    Attributes
    ----------
    kind : str
        ``"duality gap"``, ``"gradient norm"``, ``"fixed point"``, ``"residual"``... or ``"none"``.
    value : float
        The bound reached; NaN where there is none.
    tolerance : float
        What was asked for; NaN where nothing was.
    satisfied : bool
        Whether ``value <= tolerance``.
    statement : str
        One sentence that says what the value bounds.
    """

    kind: str
    value: float
    tolerance: float
    satisfied: bool
    statement: str = ""

    @classmethod
    def of(cls, kind: str, value: float, tolerance: float, statement: str = "") -> "Certificate":
        """A certificate that is satisfied when the value is within the tolerance."""
        return cls(kind, float(value), float(tolerance), bool(value <= tolerance), statement)

    @classmethod
    def none(cls, statement: str) -> "Certificate":
        """The plain statement that no bound exists, and why."""
        return cls("none", math.nan, math.nan, False, statement)


@dataclass(frozen=True)
class Step:
    """One completed step of a solver.

    ``state`` is complete: a solver started from it continues with the same bits, which is what checkpoints rely on,
    and a model can be made from it, which is what interrupts and early stopping rely on.
    """

    objective: float
    state: Any
    certificate: Certificate | None = None
    extra: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Solution:
    """What a solver returns: its last state, whether it met its own stopping rule, and the certificate.

    ``reason`` says in a word why the solver ended; without, ``"converged"`` or ``"max_iter"``.
    """

    state: Any
    converged: bool
    certificate: Certificate
    reason: str = ""
