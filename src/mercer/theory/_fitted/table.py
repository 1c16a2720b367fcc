"""The bounds on the error of one fitted classifier, as a table."""

import math
from dataclasses import dataclass

from mercer._notebook import render_table
from mercer.errors import DataError

_HEADS = ("bound", "value", "measured", "capacity", "above held-out error")


@dataclass(frozen=True)
class Assumption:
    """What a bound takes for granted.

    Attributes
    ----------
    text : str
        The assumption.
    checked : bool
        Whether it was checked on the model and the rows; otherwise it is only named.
    """

    text: str
    checked: bool = False

    def __str__(self) -> str:
        return f"{self.text} ({'checked' if self.checked else 'not checked'})"


@dataclass(frozen=True)
class Bound:
    """An upper bound on the error rate of a fitted classifier on new rows.

    Attributes
    ----------
    name : str
        The bound.
    value : float
        The error rate is at most this, with probability 1 - `delta`; from 1 on it says nothing.
    measured : float
        The part that was counted on rows: the training error, or the share of small margins.
    delta : float
        The probability that the bound fails.
    statement : str
        What was bounded and by what.
    assumptions : tuple of Assumption
        What must hold.
    """

    name: str
    value: float
    measured: float
    delta: float
    statement: str
    assumptions: tuple[Assumption, ...]

    @property
    def capacity(self) -> float:
        """What the bound adds to the measured part."""
        return self.value - self.measured

    def __str__(self) -> str:
        lines = [f"{self.name}: error <= {self.value:.4f} with probability {1 - self.delta:g}. {self.statement}"]
        return "\n".join([*lines, *(f"  {assumption}" for assumption in self.assumptions)])


@dataclass(frozen=True)
class BoundTable:
    """All bounds that apply to a fitted classifier.

    Attributes
    ----------
    bounds : tuple of Bound
        From the smallest value to the largest.
    not_given : dict of str
        For each bound that does not apply, the reason.
    training_error : float
        The share of training rows in error.
    held_out_error : float
        The share of held-out rows in error; nan without such rows.
    n_samples : int
        Training rows.
    delta : float
        The probability that one bound fails, or, with ``together=True``, that any does.
    together : bool
        Whether all bounds hold at once with probability 1 - `delta`.
    """

    bounds: tuple[Bound, ...]
    not_given: dict[str, str]
    training_error: float
    held_out_error: float
    n_samples: int
    delta: float
    together: bool

    @property
    def smallest(self) -> Bound:
        """The bound with the least value, which only ``together=True`` allows to choose after the fact."""
        if not self.together:
            raise DataError(
                "BoundTable: the smallest of several bounds fails more often than one of them; got together=False. "
                "Call bounds with together=True."
            )
        return self.bounds[0]

    def excess(self, name: str) -> float:
        """Return how far a bound lies above the held-out error; nan without held-out rows."""
        return self[name].value - self.held_out_error

    def __getitem__(self, name: str) -> Bound:
        for bound in self.bounds:
            if bound.name == name:
                return bound
        reason = self.not_given.get(name, f"there is no such bound; there are {', '.join(self.names)}")
        raise KeyError(f"{name}: {reason}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bounds that apply."""
        return tuple(bound.name for bound in self.bounds)

    def _head(self) -> str:
        held_out = "" if math.isnan(self.held_out_error) else f", held-out error {self.held_out_error:.4f}"
        each = "all bounds at once" if self.together else "each bound"
        return (
            f"{self.n_samples} training rows, training error {self.training_error:.4f}{held_out}; "
            f"{each} with probability {1 - self.delta:g}"
        )

    def _cells(self) -> list[tuple[str, ...]]:
        rows = []
        for bound in self.bounds:
            excess = self.excess(bound.name)
            numbers = (f"{number:.4f}" for number in (bound.value, bound.measured, bound.capacity))
            rows.append((bound.name, *numbers, "" if math.isnan(excess) else f"{excess:.4f}"))
        return rows

    def __str__(self) -> str:
        rows = [_HEADS, *self._cells()]
        widths = [max(len(row[place]) for row in rows) for place in range(len(_HEADS))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        reasons = [f"not given: {name}: {reason}" for name, reason in self.not_given.items()]
        return "\n".join([self._head(), *lines, *reasons])

    def _repr_html_(self) -> str:
        given = render_table(self._head(), self._cells(), _HEADS)
        assumed = [(bound.name, bound.statement, "; ".join(map(str, bound.assumptions))) for bound in self.bounds]
        tables = [given, render_table("What they assume", assumed, ("bound", "statement", "assumptions"))]
        if self.not_given:
            tables.append(render_table("Not given", self.not_given.items(), ("bound", "reason")))
        return "".join(tables)
