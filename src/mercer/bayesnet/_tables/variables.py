"""Named discrete variables: their states, evidence about them, and the errors that name what is unknown."""

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mercer.errors import DataError

# States by variable name, in the order of a table's axes.
Variables = dict[Any, tuple[Any, ...]]
# States or names printed in an error before the list is cut.
_PRINTED = 12


def read_variables(subject: str, variables: Mapping[Any, Sequence[Any]]) -> Variables:
    """Read a mapping from names to states; each variable has at least one state, and its states differ."""
    if not isinstance(variables, Mapping):
        raise DataError(
            f"{subject}: `variables` must be a mapping from names to states; got {type(variables).__name__}. "
            "Pass a dict such as {'rain': ['yes', 'no']}."
        )
    return {name: read_states(subject, name, states) for name, states in variables.items()}


def read_states(subject: str, name: Any, states: Any) -> tuple[Any, ...]:
    """Read the states of one variable: hashable, different from each other, at least one."""
    if isinstance(states, str | bytes) or not isinstance(states, Sequence | np.ndarray | range):
        raise DataError(
            f"{subject}: the states of {name!r} must be a sequence; got {type(states).__name__} {states!r}. "
            "Pass a list such as ['yes', 'no']."
        )
    plain = tuple(state.item() if isinstance(state, np.generic) else state for state in states)
    unhashable = next((state for state in plain if not isinstance(state, Hashable)), None)
    if unhashable is not None:
        raise DataError(f"{subject}: the states of {name!r} must be hashable; got {unhashable!r}. Use text or numbers.")
    if not plain or len(set(plain)) < len(plain):
        rule = "differ from each other" if plain else "number at least one"
        raise DataError(f"{subject}: the states of {name!r} must {rule}; got {list_some(plain)}.")
    return plain


def list_some(items: Sequence[Any]) -> str:
    """Write some items of a sequence for an error message."""
    text = ", ".join(repr(item) for item in list(items)[:_PRINTED])
    return f"[{text}{', ...' if len(items) > _PRINTED else ''}]"


def require_variables(subject: str, variables: Mapping[Any, Any], names: Sequence[Any]) -> None:
    """Raise DataError if a name is not one of the variables; the message offers the nearest names."""
    for name in names:
        if not isinstance(name, Hashable) or name not in variables:
            near = difflib.get_close_matches(str(name), [str(known) for known in variables], n=1)
            cure = f"Did you mean {near[0]!r}?" if near else f"The variables are {list_some(list(variables))}."
            raise DataError(f"{subject}: {name!r} is not a variable. {cure}")


def read_targets(subject: str, variables: Mapping[Any, Any], targets: Any) -> list[Any]:
    """Read one name, or a sequence of different names."""
    if isinstance(targets, str) or (isinstance(targets, Hashable) and targets in variables):
        names = [targets]
    elif isinstance(targets, Iterable):
        names = list(targets)
    else:
        names = [targets]
    require_variables(subject, variables, names)
    if not names or len(set(names)) < len(names):
        raise DataError(f"{subject}: `targets` must name at least one variable, and each once; got {targets!r}.")
    return names


def find_state(subject: str, variables: Mapping[Any, tuple[Any, ...]], name: Any, state: Any) -> int:
    """Return the position of a state among the states of a variable."""
    try:
        return variables[name].index(state)
    except (ValueError, TypeError):
        states = variables[name]
    raise DataError(f"{subject}: {name!r} has the states {list_some(states)}; got {state!r}. Use one of these.")


def read_evidence(
    subject: str, variables: Mapping[Any, tuple[Any, ...]], evidence: Mapping[Any, Any] | None
) -> dict[Any, int]:
    """Turn evidence, a state by variable, into codes: positions among the states."""
    if not evidence:
        return {}
    if not isinstance(evidence, Mapping):
        raise DataError(
            f"{subject}: `evidence` must be a mapping from variables to states; got {type(evidence).__name__}. "
            "Pass a dict such as {'rain': 'yes'}."
        )
    require_variables(subject, variables, list(evidence))
    return {name: find_state(subject, variables, name, state) for name, state in evidence.items()}


def read_soft_evidence(
    subject: str, variables: Mapping[Any, tuple[Any, ...]], soft_evidence: Mapping[Any, Any] | None
) -> dict[Any, np.ndarray]:
    """Read likelihoods P(observation | state) by variable: a number per state, or a mapping from states to numbers."""
    if not soft_evidence:
        return {}
    require_variables(subject, variables, list(soft_evidence))
    likelihoods = {}
    for name, given in soft_evidence.items():
        states = variables[name]
        if isinstance(given, Mapping):
            codes = {find_state(subject, variables, name, state): value for state, value in given.items()}
            # A state that the mapping leaves out is excluded: its likelihood is zero.
            given = [codes.get(code, 0.0) for code in range(len(states))]
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.array(np.nan)
        if values.shape != (len(states),) or not np.isfinite(values).all() or (values < 0).any() or not values.any():
            raise DataError(
                f"{subject}: the soft evidence of {name!r} must be {len(states)} finite likelihoods of at least 0, not "
                f"all 0, one for each of the states {list_some(states)}; got {given!r}."
            )
        likelihoods[name] = values
    return likelihoods
