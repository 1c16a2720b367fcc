"""Conditional independence on a table: the equation itself, and how far it is from holding."""

from typing import Any

import numpy as np

from mercer.bayesnet._tables.table import ProbabilityTable
from mercer.bayesnet._tables.variables import list_some, read_targets
from mercer.errors import DataError, ParameterError


def conditional_independence(table: ProbabilityTable, x: Any, y: Any, given: Any = (), *, tol: float = 1e-9) -> bool:
    """Return whether P(x, y | z) = P(x | z) P(y | z) for all states, up to a tolerance.

    Parameters
    ----------
    table : ProbabilityTable
    x, y, given : names or sequences of names, without common members
    tol : float
        The largest difference allowed between P(x, y, z) P(z) and P(x, z) P(y, z).

    Examples
    --------
    >>> from mercer.bayesnet import conditional_independence, load_dentist
    >>> conditional_independence(load_dentist(), "toothache", "weather")
    True
    """
    if not tol >= 0:
        raise ParameterError(f"conditional_independence: `tol` must be at least 0; got {tol!r}.")
    joint, below, left, right = _split(table, x, y, given)
    return bool(np.abs(joint * below - left * right).max() <= tol)


def conditional_mutual_information(table: ProbabilityTable, x: Any, y: Any, given: Any = ()) -> float:
    """Return I(x; y | z) in nats: zero exactly if x and y are independent given z.

    Examples
    --------
    >>> from mercer.bayesnet import conditional_mutual_information, load_dentist
    >>> round(conditional_mutual_information(load_dentist(), "toothache", "cavity"), 3)
    0.011
    """
    joint, below, left, right = _split(table, x, y, given)
    positive = joint > 0
    shape = joint.shape
    ratio = (joint * below)[positive] / np.broadcast_to(left * right, shape)[positive]
    # Rounding can make the sum of an independent table negative by some 1e-17.
    return max(0.0, float((joint[positive] * np.log(ratio)).sum()))


def _split(table: ProbabilityTable, x: Any, y: Any, given: Any) -> tuple[np.ndarray, ...]:
    """Return P(x, y, z), P(z), P(x, z) and P(y, z) with axes (x, y, z), each flattened."""
    first = read_targets("conditional_independence", table.variables, x)
    second = read_targets("conditional_independence", table.variables, y)
    middle = read_targets("conditional_independence", table.variables, given) if given not in ((), [], None) else []
    names = [*first, *second, *middle]
    if len(set(names)) < len(names):
        raise DataError(f"conditional_independence: the sets must have no common member; got {list_some(names)}.")
    sizes = [int(np.prod([len(table.variables[name]) for name in part])) for part in (first, second, middle)]
    joint = table.marginal(names).values.reshape(sizes)
    return (
        joint,
        joint.sum(axis=(0, 1), keepdims=True),
        joint.sum(axis=1, keepdims=True),
        joint.sum(axis=0, keepdims=True),
    )
