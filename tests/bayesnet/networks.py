"""Small random networks and cases of evidence, and what enumeration says of them."""

from typing import Any

import numpy as np

from mercer.bayesnet import BayesianNetwork, Factor


def draw_network(random: np.random.Generator, n: int, *, density: float = 0.4, zeros: bool = False) -> BayesianNetwork:
    """A network of n variables with one to four states, at most three parents, and maybe many zeros in its tables."""
    variables = {f"x{v}": tuple(f"s{state}" for state in range(random.integers(1, 5))) for v in range(n)}
    names = list(variables)
    random.shuffle(names)
    parents = {
        name: [other for other in names[:place] if random.random() < density][:3] for place, name in enumerate(names)
    }
    tables = {}
    for name in variables:
        shape = [len(variables[parent]) for parent in parents[name]]
        table = random.dirichlet(np.ones(len(variables[name])), size=shape or None)
        if zeros:
            table = np.where(random.random(table.shape) < 0.25, 0.0, table)
            # A row of zeros becomes certain of its first state.
            table[..., 0] += table.sum(axis=-1) == 0
            table = table / table.sum(axis=-1, keepdims=True)
        tables[name] = table
    return BayesianNetwork(variables, parents, tables)


def draw_case(
    random: np.random.Generator, network: BayesianNetwork, *, hard: float = 0.3, soft: float = 0.2
) -> tuple[dict[Any, Any], dict[Any, np.ndarray]]:
    """Evidence on some variables, likelihoods on some, perhaps the same ones."""
    variables = network.variables
    evidence = {
        name: states[random.integers(len(states))] for name, states in variables.items() if random.random() < hard
    }
    likelihoods = {
        name: random.random(len(states)) + 0.01 for name, states in variables.items() if random.random() < soft
    }
    return evidence, likelihoods


def enumerate_case(network: BayesianNetwork, evidence: dict[Any, Any], likelihoods: dict[Any, np.ndarray]) -> Factor:
    """P(all variables, evidence) from the joint table: entries that contradict the evidence are zero."""
    factor: Factor = network.joint_table()
    for name, state in evidence.items():
        states = network.variables[name]
        factor = Factor.product(factor, Factor({name: states}, [float(other == state) for other in states]))
    for name, values in likelihoods.items():
        factor = Factor.product(factor, Factor({name: network.variables[name]}, values))
    return factor
