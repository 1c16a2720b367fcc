"""Posteriors of all variables for many cases of evidence, in native code, with threads over blocks of cases."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._native.graph import junction_passes as passes
from mercer._plain import plain
from mercer._source.memory import require_memory
from mercer._source.threads import n_threads, run_numbered
from mercer.bayesnet._tables.rows import code_rows, read_columns
from mercer.bayesnet._tables.variables import read_evidence, require_variables
from mercer.errors import DataError

if TYPE_CHECKING:
    from mercer.bayesnet._inference.junction_tree import JunctionTree

# Operations of a block of cases: some 20 ms of native work, after which Python handles Ctrl-C.
_BLOCK_OPERATIONS = 40_000_000


@plain
@dataclass(frozen=True, eq=False)
class Marginals(Mapping[Any, np.ndarray]):
    """Posteriors of many cases: ``marginals["rain"]`` has one row per case and one column per state.

    Attributes
    ----------
    variables : dict from names to states
    posteriors : (cases, states) array
        The posteriors of all variables side by side.
    log_evidence : (cases,) array
        The logarithm of the probability of each case's evidence.
    """

    variables: dict[Any, tuple[Any, ...]]
    posteriors: np.ndarray
    log_evidence: np.ndarray

    def __getitem__(self, name: Any) -> np.ndarray:
        require_variables("Marginals", self.variables, [name])
        start = 0
        for other, states in self.variables.items():
            if other == name:
                return self.posteriors[:, start : start + len(states)]
            start += len(states)
        raise KeyError(name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)


def run_many(tree: "JunctionTree", cases: Any, n_jobs: int | None) -> Marginals:
    """Return the posteriors of all variables for many cases of evidence."""
    variables = tree.network.variables
    codes = read_cases(variables, cases)
    n_states = sum(len(states) for states in variables.values())
    threads = n_threads(n_jobs)
    # Cases in a block, so that a native call lasts some 50 ms.
    unit = max(1, int(_BLOCK_OPERATIONS // max(1, tree.plan.operations)))
    # Enough blocks for every thread to have several, yet not so small that handing them out costs more than they do.
    unit = max(1, min(unit, len(codes) // 16))
    n_blocks = -(-len(codes) // unit)
    need = 8.0 * len(codes) * n_states + float(tree.plan.n_bytes) * min(threads, n_blocks)
    require_memory("JunctionTree", need, f"{len(codes)} cases on {threads} threads", "pass fewer cases or n_jobs=1")
    values, logs = np.empty((len(codes), n_states)), np.empty(len(codes))

    def run_block(block: int) -> None:
        space = tree.take_workspace()
        space.soft[:] = 0
        rows = slice(block * unit, (block + 1) * unit)
        passes.run_cases(space.tree, space.case, codes[rows], values[rows], logs[rows])
        tree.return_workspace(space)

    run_numbered(run_block, n_blocks, threads)
    # Impossible evidence has no posterior.
    values[np.isneginf(logs)] = np.nan
    return Marginals(variables, values, logs)


def read_cases(variables: dict[Any, tuple[Any, ...]], cases: Any) -> np.ndarray:
    """Return evidence as codes, one row per case, -1 where a variable is not observed."""
    if isinstance(cases, Sequence) and not isinstance(cases, str | bytes):
        codes = np.full((len(cases), len(variables)), -1, dtype=np.intp)
        number = {name: v for v, name in enumerate(variables)}
        position = {name: {state: code for code, state in enumerate(states)} for name, states in variables.items()}
        for row, case in enumerate(cases):
            # Two dictionaries read a case fast; checks are made only where they fail.
            try:
                for name, state in case.items():
                    codes[row, number[name]] = position[name][state]
            except (KeyError, TypeError, AttributeError):
                # The slow reader says what is wrong.
                for name, code in read_evidence(f"JunctionTree: case {row}", variables, case or {}).items():
                    codes[row, number[name]] = code
        return codes
    columns = read_columns("JunctionTree", cases)
    require_variables("JunctionTree", variables, list(columns))
    if not columns:
        raise DataError(
            "JunctionTree: `cases` must have at least one column. Pass a list of dicts, [{}] for no evidence."
        )
    part = code_rows("JunctionTree", columns, {name: variables[name] for name in columns}, missing=True)
    codes = np.full((len(part), len(variables)), -1, dtype=np.intp)
    codes[:, [list(variables).index(name) for name in columns]] = part
    return codes
