"""Evidence of probability zero: find the few findings that contradict each other."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from mercer.errors import DataError

if TYPE_CHECKING:
    from mercer.bayesnet._inference.junction_tree import JunctionTree


def find_contradiction(
    tree: "JunctionTree", codes: Mapping[int, int], likelihoods: Mapping[int, np.ndarray]
) -> list[int]:
    """Return the variables of a smallest-by-inclusion set of findings that has probability zero.

    Findings are dropped one by one; one whose loss leaves the probability at zero is not needed for the contradiction.
    """
    space = tree.take_workspace()
    stale = np.ones(len(tree.plan.cliques), dtype=np.intp)
    kept = [*codes, *(v for v in likelihoods if v not in codes)]
    for finding in list(kept):
        rest = [v for v in kept if v != finding]
        space.enter({v: codes[v] for v in rest if v in codes}, {v: likelihoods[v] for v in rest if v in likelihoods})
        # Still impossible without this finding: it is not needed.
        if space.collect(stale) == -np.inf:
            kept = rest
    tree.return_workspace(space)
    return kept


def raise_contradiction(
    tree: "JunctionTree", codes: Mapping[int, int], likelihoods: Mapping[int, np.ndarray]
) -> NoReturn:
    """Raise DataError with the findings that contradict each other."""
    findings = [_describe(tree, v, codes) for v in find_contradiction(tree, codes, likelihoods)]
    if len(findings) == 1:
        problem = f"{findings[0]} has probability zero"
    else:
        problem = f"{', '.join(findings[:-1])} and {findings[-1]} contradict each other"
    raise DataError(
        f"BayesianNetwork: the evidence has probability zero: {problem}. Drop one of them, or check the tables."
    )


def _describe(tree: "JunctionTree", v: int, codes: Mapping[int, int]) -> str:
    name = tree.name_of(v)
    if v not in codes:
        return f"the soft evidence of {name!r}"
    return f"{name!r} = {tree.network.variables[name][codes[v]]!r}"
