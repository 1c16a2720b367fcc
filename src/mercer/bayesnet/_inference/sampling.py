"""Rows drawn from a network: parents first, or from the exact posterior along the junction tree."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._base.randomness import seed_sequence
from mercer.bayesnet._inference.contradiction import raise_contradiction

if TYPE_CHECKING:
    from mercer.bayesnet._inference.junction_tree import JunctionTree
    from mercer.bayesnet._network.network import BayesianNetwork


def draw_states(random: np.random.Generator, table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Draw a state from row `rows[i]` of a table of probabilities, for each i, by inverting the cumulative sums."""
    sums = np.cumsum(table, axis=1)
    # A uniform number times the last sum, so that rounding of the sum cannot lead past the last state.
    levels = random.random(len(rows)) * sums[rows, -1]
    states: np.ndarray = np.zeros(len(rows), dtype=np.intp)
    for state in range(table.shape[1] - 1):
        states += levels >= sums[rows, state]
    return states


def draw_ancestrally(network: "BayesianNetwork", n: int, random_state: Any) -> np.ndarray:
    """Return n rows of codes, drawn variable by variable in topological order."""
    random = np.random.default_rng(seed_sequence(random_state))
    column = {name: v for v, name in enumerate(network.variables)}
    draws = np.zeros((n, len(column)), dtype=np.intp)
    for name in network.order:
        table = network.tables[name]
        rows = np.zeros(n, dtype=np.intp)
        for parent, length in zip(network.parents[name], table.shape, strict=False):
            rows = rows * length + draws[:, column[parent]]
        draws[:, column[name]] = draw_states(random, table.reshape(-1, table.shape[-1]), rows)
    return draws


def draw_given(tree: "JunctionTree", n: int, random_state: Any, codes: dict[Any, int]) -> np.ndarray:
    """Return n rows of codes drawn from the posterior: cliques from the roots down, each given its separator."""
    random = np.random.default_rng(seed_sequence(random_state))
    plan, numbered = tree.plan, {tree.number_of(name): code for name, code in codes.items()}
    space = tree.take_workspace()
    space.enter(numbered, {})
    if space.collect(tree.everything) == -np.inf:
        raise_contradiction(tree, numbered, {})
    space.distribute(tree.everything)
    draws = np.zeros((n, len(plan.counts)), dtype=np.intp)
    for v, code in numbered.items():
        draws[:, v] = code
    for c in range(len(plan.cliques) - 1, -1, -1):
        shared = [v for v in plan.separator(c) if v not in numbered]
        rest = [v for v in plan.cliques[c][plan.n_shared[c] :] if v not in numbered]
        if not rest:
            continue
        rows = np.zeros(n, dtype=np.intp)
        for v in shared:
            # The states of the separator number the rows of the clique's table.
            rows = rows * plan.counts[v] + draws[:, v]
        n_cells = int(np.prod([plan.counts[v] for v in rest]))
        cells = draw_states(random, space.read_belief(c).reshape(-1, n_cells), rows)
        # The cell is taken apart into the states of the variables, the last running fastest.
        for v in reversed(rest):
            draws[:, v] = cells % plan.counts[v]
            cells //= plan.counts[v]
    tree.return_workspace(space)
    return draws
