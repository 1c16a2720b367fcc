"""Factors: nonnegative tables over named discrete variables, the terms that inference multiplies and sums.

NumPy arrays have at most 64 axes. A factor may have more variables than that, as long as most of them have one state
(observed variables do), so values are stored flat and every operation leaves out the axes of length one. The others
have at least two states each, and 64 of them would need 2**64 values, more than any memory holds.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from mercer._plain import plain
from mercer._source.memory import require_memory
from mercer.bayesnet._tables.variables import (
    Variables,
    find_state,
    list_some,
    read_evidence,
    read_variables,
    require_variables,
)
from mercer.errors import DataError

Own = TypeVar("Own", bound="Factor")
# Values (float64, so 128 MiB) from which a product of tables warns that its size grows exponentially.
GROWTH = 2**24
# Memory taken by a product of two factors: the result and one broadcast operand.
_PRODUCT_COPIES = 2


class GrowthWarning(UserWarning):
    """A table over all variables has become large, because its size is the product of the numbers of states."""


def warn_of_growth(subject: str, variables: Mapping[Any, tuple[Any, ...]]) -> None:
    """Warn if a table has many values, and refuse it if it does not fit memory."""
    size = math.prod(len(states) for states in variables.values())
    cure = "use a BayesianNetwork and its junction tree instead of one table over all variables"
    require_memory(subject, 8.0 * size * _PRODUCT_COPIES, f"the table over {len(variables)} variables", cure)
    if size >= GROWTH:
        warnings.warn(
            f"{subject}: the table over {len(variables)} variables has {size} values; its size is the product of the "
            f"numbers of states. To save memory, {cure}.",
            GrowthWarning,
            stacklevel=3,
        )


@plain
@dataclass(frozen=True, eq=False)
class Factor:
    """A nonnegative table over named discrete variables.

    Parameters
    ----------
    variables : mapping from names to states
        The order of the names is the order of the axes.
    values : array-like
        One value per combination of states: with one axis per variable, or flat, the last variable running fastest.

    Examples
    --------
    >>> from mercer.bayesnet import Factor
    >>> on_rain = Factor({"rain": ["yes", "no"], "wet": ["yes", "no"]}, [[0.9, 0.1], [0.2, 0.8]])
    >>> rain = Factor({"rain": ["yes", "no"]}, [0.3, 0.7])
    >>> on_rain.product(rain).sum_out(["rain"]).array.round(2).tolist()
    [0.41, 0.59]
    """

    variables: Variables
    values: np.ndarray

    def __post_init__(self) -> None:
        self.check_fields()

    def check_fields(self) -> None:
        """Check variables and values; raise DataError with what is wrong."""
        subject = type(self).__name__
        variables = read_variables(subject, self.variables)
        try:
            values = np.array(self.values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"{subject}: `values` must be numbers; got {self.values!r}.") from error
        shape = tuple(len(states) for states in variables.values())
        if (values.ndim != 1 and values.shape != shape) or values.size != math.prod(shape):
            raise DataError(
                f"{subject}: `values` must have the shape {shape} of the variables {list_some(list(variables))}, or be "
                f"flat with {math.prod(shape)} values; got shape {values.shape}."
            )
        if not (values >= 0).all() or np.isinf(values).any():
            worst = values[~((values >= 0) & np.isfinite(values))].flat[0]
            raise DataError(f"{subject}: `values` must be finite and at least 0; got {worst}.")
        values = values.reshape(-1)
        values.flags.writeable = False
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "values", values)

    @classmethod
    def trust(cls: type[Own], variables: Variables, values: np.ndarray) -> Own:
        """Make a table of values that are known to be right, without checks."""
        table = object.__new__(cls)
        object.__setattr__(table, "variables", variables)
        object.__setattr__(table, "values", values)
        return table

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name!r}: {len(states)}" for name, states in self.variables.items())
        return f"{type(self).__name__}({{{sizes}}}, {self.values.size} values)"

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of states of each variable."""
        return tuple(len(states) for states in self.variables.values())

    @property
    def array(self) -> np.ndarray:
        """The values with one axis per variable; read-only. At most 64 variables."""
        if len(self.variables) > 64:
            raise DataError(
                f"{type(self).__name__}: NumPy arrays have at most 64 axes; this table has {len(self.variables)}. "
                "Use `values`, which is flat, or `drop_observed` first."
            )
        return self.values.reshape(self.shape)

    def total(self) -> float:
        """Return the sum of all values."""
        return float(self.values.sum())

    def drop_observed(self: Own) -> "Factor":
        """Return the factor without the variables that have one state."""
        return Factor({name: states for name, states in self.variables.items() if len(states) > 1}, self.values)

    def value(self, states: Mapping[Any, Any]) -> float:
        """Return the value at one combination of states, one for each variable."""
        missing = [name for name in self.variables if name not in states]
        if missing:
            raise DataError(
                f"{type(self).__name__}: `states` must name every variable; {list_some(missing)} are missing."
            )
        return float(self.reduce({name: states[name] for name in self.variables}).values[0])

    def sum_out(self, names: Sequence[Any]) -> "Factor":
        """Return the factor summed over the variables in `names`."""
        return self._fold(names, np.add)

    def maximise_out(self, names: Sequence[Any]) -> "Factor":
        """Return the factor maximised over the variables in `names`."""
        return self._fold(names, np.maximum)

    def reduce(self, evidence: Mapping[Any, Any]) -> "Factor":
        """Return the factor with the variables in `evidence` fixed at their states and removed."""
        codes = read_evidence(type(self).__name__, self.variables, evidence)
        kept = {name: states for name, states in self.variables.items() if name not in codes}
        squeezed, names = self._squeeze()
        index = tuple(codes.get(name, slice(None)) for name in names)
        return Factor(kept, squeezed[index].reshape(-1))

    def product(self, other: "Factor") -> "Factor":
        """Return the product: a value of each combination of the states of both factors' variables."""
        variables = join_variables(type(self).__name__, self.variables, other.variables)
        warn_of_growth(type(self).__name__, variables)
        return Factor(variables, multiply_aligned(variables, [self, other]))

    def divide(self, other: "Factor") -> "Factor":
        """Return the quotient by a factor over some of the variables; zero divided by zero is zero."""
        require_variables(type(self).__name__, self.variables, list(other.variables))
        squeezed, names = self._squeeze()
        below = other._align(names)
        quotient = np.divide(
            squeezed, below, out=np.zeros_like(squeezed), where=np.broadcast_to(below != 0, squeezed.shape)
        )
        return Factor(self.variables, quotient.reshape(-1))

    def normalise(self) -> "Any":
        """Return the values divided by their sum, as a :class:`ProbabilityTable`."""
        from mercer.bayesnet._tables.table import ProbabilityTable

        total = self.total()
        if not total > 0:
            raise DataError(
                f"{type(self).__name__}: a table of zeros cannot be normalised. Its evidence has probability zero."
            )
        return ProbabilityTable(self.variables, self.values / total)

    def reorder(self: Own, names: Sequence[Any]) -> Own:
        """Return the same table with its axes in the order of `names`."""
        require_variables(type(self).__name__, self.variables, names)
        if len(set(names)) != len(self.variables) or len(names) != len(self.variables):
            raise DataError(
                f"{type(self).__name__}: name each of {list_some(list(self.variables))} once; got {list(names)!r}."
            )
        long = [name for name in names if len(self.variables[name]) > 1]
        return type(self)({name: self.variables[name] for name in names}, self._align(long).reshape(-1))

    def find_code(self, name: Any, state: Any) -> int:
        """Return the position of a state of one variable."""
        require_variables(type(self).__name__, self.variables, [name])
        return find_state(type(self).__name__, self.variables, name, state)

    def _fold(self, names: Sequence[Any], fold: np.ufunc) -> "Factor":
        """Return the factor with the axes of `names` folded by a ufunc such as ``add``."""
        require_variables(type(self).__name__, self.variables, names)
        removed = set(names)
        kept = {name: states for name, states in self.variables.items() if name not in removed}
        squeezed, long = self._squeeze()
        axes = tuple(axis for axis, name in enumerate(long) if name in removed)
        return Factor(kept, np.asarray(fold.reduce(squeezed, axis=axes)).reshape(-1) if axes else self.values)

    def _squeeze(self) -> tuple[np.ndarray, list[Any]]:
        """Return the values with one axis for each variable of at least two states, and the names of those."""
        long = [name for name, states in self.variables.items() if len(states) > 1]
        return self.values.reshape([len(self.variables[name]) for name in long]), long

    def _align(self, names: Sequence[Any]) -> np.ndarray:
        """Return the values with axes in the order of `names`, of length one where the factor lacks the variable."""
        squeezed, long = self._squeeze()
        position = {name: axis for axis, name in enumerate(names)}
        order = sorted(range(len(long)), key=lambda axis: position[long[axis]])
        present = set(long)
        shape = [len(self.variables[name]) if name in present else 1 for name in names]
        return squeezed.transpose(order).reshape(shape)


def join_variables(subject: str, first: Variables, second: Variables) -> Variables:
    """Return the variables of both tables, those of the first table first; shared ones must have the same states."""
    for name in first.keys() & second.keys():
        if first[name] != second[name]:
            raise DataError(
                f"{subject}: both tables must give {name!r} the same states in the same order; got "
                f"{list_some(first[name])} and {list_some(second[name])}."
            )
    return {**first, **second}


def multiply_aligned(variables: Variables, factors: Sequence[Factor]) -> np.ndarray:
    """Return the flat product of factors over `variables`, which must contain the variables of each factor."""
    long = [name for name, states in variables.items() if len(states) > 1]
    product = np.ones([len(variables[name]) for name in long])
    for factor in factors:
        product *= factor._align(long)
    return product.reshape(-1)
