"""Networks written as nested dicts, from states of parents to states to probabilities."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.bayesnet._graphs.order import read_parents
from mercer.bayesnet._tables.variables import Variables, find_state, list_some, read_variables
from mercer.errors import DataError


def read_dicts(
    tables: Mapping[Any, Mapping[Any, Any]],
    parents: Mapping[Any, Sequence[Any]] | None,
    variables: Mapping[Any, Sequence[Any]] | None,
) -> tuple[Variables, dict[Any, tuple[Any, ...]], dict[Any, np.ndarray]]:
    """Return variables, parents and tables as arrays, read from nested dicts."""
    above = read_parents("BayesianNetwork", parents, tables)
    if variables is None:
        variables = {name: _find_states(name, table, bool(above[name])) for name, table in tables.items()}
    known = read_variables("BayesianNetwork", variables)
    return known, above, {name: _fill_table(name, table, known, above[name]) for name, table in tables.items()}


def _find_states(name: Any, table: Any, has_parents: bool) -> list[Any]:
    rows = list(table.values()) if has_parents else [table]
    if not all(isinstance(row, Mapping) for row in rows):
        raise DataError(
            f"BayesianNetwork: the table of {name!r} must be a dict from the states of its parents to dicts from its "
            "own states to probabilities."
        )
    return list(dict.fromkeys(state for row in rows for state in row))


def _fill_table(name: Any, table: Mapping[Any, Any], variables: Variables, above: tuple[Any, ...]) -> np.ndarray:
    shape = (*(len(variables[parent]) for parent in above), len(variables[name]))
    filled = np.zeros(shape)
    seen = np.zeros(shape[:-1], dtype=bool)
    for key, row in table.items() if above else [((), table)]:
        states = key if len(above) != 1 or isinstance(key, tuple) else (key,)
        if not isinstance(states, tuple) or len(states) != len(above):
            raise DataError(
                f"BayesianNetwork: a key in the table of {name!r} must hold one state for each of the parents "
                f"{list_some(above)}; got {key!r}."
            )
        place = tuple(
            find_state("BayesianNetwork", variables, parent, state) for parent, state in zip(above, states, strict=True)
        )
        seen[place] = True
        for state, probability in row.items():
            filled[(*place, find_state("BayesianNetwork", variables, name, state))] = probability
    if not seen.all():
        gap = np.unravel_index(int(np.argmin(seen)), seen.shape)
        missing = tuple(variables[parent][code] for parent, code in zip(above, gap, strict=True))
        raise DataError(f"BayesianNetwork: the table of {name!r} must have a row for the parents' states {missing!r}.")
    return filled
