"""Propositions about discrete variables: atomic events joined by and, or and not."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer.bayesnet._tables.variables import Variables, find_state, require_variables
from mercer.errors import DataError


class Proposition:
    """A statement that each atomic event of a table makes true or false; join statements with ``&``, ``|``, ``~``."""

    def __and__(self, other: "Proposition") -> "Proposition":
        return Compound("and", (self, check_proposition(other)))

    def __or__(self, other: "Proposition") -> "Proposition":
        return Compound("or", (self, check_proposition(other)))

    def __invert__(self) -> "Proposition":
        return Compound("not", (self,))

    def __bool__(self) -> bool:
        raise DataError("Event: propositions are joined by &, | and ~; `and`, `or` and `not` cannot be overloaded.")

    def variable_names(self) -> list[Any]:
        """Return the names of the variables in the order of their first mention."""
        raise NotImplementedError  # each kind of proposition defines its own

    def holds(self, variables: Variables) -> np.ndarray:
        """Return an array with one axis per variable, true where the proposition holds; other axes have length one."""
        raise NotImplementedError  # each kind of proposition defines its own


@plain
@dataclass(frozen=True)
class Event(Proposition):
    """The event that a variable takes one of some states.

    Parameters
    ----------
    variable : hashable
        The name of the variable.
    *states : hashable
        The states; the event happens when the variable takes any of them.

    Examples
    --------
    >>> from mercer.bayesnet import Event, load_dentist
    >>> table = load_dentist()
    >>> round(table.probability(Event("cavity", "yes") | Event("weather", "sunny")), 4)
    0.307
    """

    variable: Any
    states: tuple[Any, ...]

    def __init__(self, variable: Any, *states: Any) -> None:
        if not states:
            raise DataError(
                f"Event: name at least one state of {variable!r}; got none. Write Event({variable!r}, 'yes')."
            )
        object.__setattr__(self, "variable", variable)
        object.__setattr__(self, "states", tuple(states))

    def variable_names(self) -> list[Any]:
        """Return the name of the variable, in a list."""
        return [self.variable]

    def holds(self, variables: Variables) -> np.ndarray:
        """Return where the event happens, along the axis of its variable."""
        require_variables("Event", variables, [self.variable])
        axis = list(variables).index(self.variable)
        truth = np.zeros(len(variables[self.variable]), dtype=bool)
        for state in self.states:
            truth[find_state("Event", variables, self.variable, state)] = True
        return truth.reshape([-1 if position == axis else 1 for position in range(len(variables))])


@plain
@dataclass(frozen=True)
class Compound(Proposition):
    """A proposition made of others by ``and``, ``or`` or ``not``."""

    operator: str
    parts: tuple[Proposition, ...]

    def variable_names(self) -> list[Any]:
        """Return the names of the variables in the order of their first mention."""
        return list(dict.fromkeys(name for part in self.parts for name in part.variable_names()))

    def holds(self, variables: Variables) -> np.ndarray:
        """Return where the proposition holds."""
        truths = [part.holds(variables) for part in self.parts]
        if self.operator == "not":
            return ~truths[0]
        joined: np.ndarray = np.logical_and(*truths) if self.operator == "and" else np.logical_or(*truths)
        return joined


def check_proposition(value: Any) -> Proposition:
    """Return `value` if it is a proposition; raise DataError otherwise."""
    if isinstance(value, Proposition):
        return value
    raise DataError(f"Event: a proposition is made of Events by &, | and ~; got {value!r}. Write Event('rain', 'yes').")
