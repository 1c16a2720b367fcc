"""Answers of a compiled network to single questions, each in a workspace of its own, so that threads do not meet."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._source.memory import require_memory
from mercer.bayesnet._inference.contradiction import raise_contradiction
from mercer.bayesnet._inference.elimination import eliminate_query
from mercer.bayesnet._inference.workspace import Workspace
from mercer.bayesnet._tables.factor import Factor
from mercer.bayesnet._tables.table import ProbabilityTable

if TYPE_CHECKING:
    from mercer.bayesnet._inference.junction_tree import JunctionTree

Codes = Mapping[int, int]
Likelihoods = Mapping[int, np.ndarray]


def measure_evidence(tree: "JunctionTree", codes: Codes, likelihoods: Likelihoods) -> float:
    """Return the log-probability of evidence, by messages towards the roots alone."""
    space = tree.take_workspace()
    space.enter(codes, likelihoods)
    log_evidence = space.collect(tree.everything)
    tree.return_workspace(space)
    return log_evidence


def _propagate(tree: "JunctionTree", codes: Codes, likelihoods: Likelihoods, chosen: np.ndarray) -> Workspace:
    """Return a workspace in which the chosen cliques have all their messages."""
    space = tree.take_workspace()
    space.enter(codes, likelihoods)
    if space.collect(tree.everything) == -np.inf:
        tree.return_workspace(space)
        raise_contradiction(tree, codes, likelihoods)
    space.distribute(chosen)
    return space


def answer(tree: "JunctionTree", names: list[Any], codes: Codes, likelihoods: Likelihoods) -> ProbabilityTable:
    """Return the joint posterior of some variables: from one clique if it holds them all, else by elimination."""
    numbers = [tree.number_of(name) for name in names]
    holder = find_holder(tree, numbers)
    # No clique holds all of them: a joint posterior needs elimination.
    if holder is None:
        if measure_evidence(tree, codes, likelihoods) == -np.inf:
            raise_contradiction(tree, codes, likelihoods)
        named = {tree.name_of(v): code for v, code in codes.items()}
        soft = {tree.name_of(v): values for v, values in likelihoods.items()}
        hidden = [name for name in names if name not in named]
        return add_observed(tree, names, codes, eliminate_query(tree.network, hidden, named, soft))
    # Messages are sent only towards the clique that is read.
    space = _propagate(tree, codes, likelihoods, tree.find_path([holder]))
    if len(names) == 1:
        table = ProbabilityTable.trust({names[0]: tree.network.variables[names[0]]}, space.read_marginal(numbers[0]))
    else:
        table = add_observed(tree, names, codes, read_factor(tree, space, holder, codes))
    tree.return_workspace(space)
    return table


def answer_all(tree: "JunctionTree", codes: Codes, likelihoods: Likelihoods) -> dict[Any, ProbabilityTable]:
    """Return the posterior of every variable."""
    space = _propagate(tree, codes, likelihoods, tree.everything)
    variables, first = tree.network.variables, tree.plan.first_state
    values = space.read_marginals()
    tree.return_workspace(space)
    return {
        name: ProbabilityTable.trust({name: states}, values[first[v] : first[v + 1]])
        for v, (name, states) in enumerate(variables.items())
    }


def explain(tree: "JunctionTree", codes: Codes, likelihoods: Likelihoods) -> tuple[dict[Any, Any], float]:
    """Return the most probable states of all variables given evidence, and their joint log-probability."""
    need, cure = 8.0 * tree.plan.n_messages + tree.plan.n_bytes, "add evidence, or simplify the network"
    require_memory("JunctionTree", need, "a most probable explanation", cure)
    space = Workspace(tree.plan, tree.native, tree.flat_tables, best=True)
    space.enter(codes, likelihoods)
    states, log_probability = space.explain()
    if log_probability == -np.inf:
        raise_contradiction(tree, codes, likelihoods)
    variables = tree.network.variables
    chosen = {name: variables[name][int(states[v])] for v, name in enumerate(variables)}
    return chosen, log_probability


def find_holder(tree: "JunctionTree", numbers: Iterable[int]) -> int | None:
    """Return the smallest clique that holds all variables of these numbers, or None."""
    wanted = list(numbers)
    if len(wanted) == 1:
        return tree.plan.home[wanted[0]]
    holders = [c for c in tree.holders[wanted[0]] if all(v in tree.plan.cliques[c] for v in wanted)]
    return min(holders, key=tree.plan.cells.__getitem__, default=None)


def read_factor(tree: "JunctionTree", space: Workspace, c: int, codes: Codes) -> Factor:
    """Return the table of a clique over its variables that are not observed."""
    names = [tree.name_of(v) for v in tree.plan.cliques[c] if v not in codes]
    return Factor.trust({name: tree.network.variables[name] for name in names}, space.read_belief(c))


def add_observed(tree: "JunctionTree", names: list[Any], codes: Codes, factor: Factor) -> ProbabilityTable:
    """Return a table over `names`, in which observed variables have their state with probability one."""
    table = factor.normalise().marginal([name for name in names if tree.number_of(name) not in codes])
    for name in names:
        v = tree.number_of(name)
        if v in codes:
            states = tree.network.variables[name]
            table = table.product(Factor({name: states}, np.eye(len(states))[codes[v]]))
    return table.reorder(names)
