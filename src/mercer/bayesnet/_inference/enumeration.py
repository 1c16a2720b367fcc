"""Inference by enumeration: the full joint table, with hidden variables summed out. It is the oracle of the others."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.bayesnet._tables.factor import Factor, multiply_aligned, warn_of_growth
from mercer.bayesnet._tables.table import ProbabilityTable

if TYPE_CHECKING:
    from mercer.bayesnet._network.network import BayesianNetwork


def enumerate_joint(network: "BayesianNetwork") -> ProbabilityTable:
    """Return the product of all conditional tables, one value per combination of states."""
    warn_of_growth("BayesianNetwork", network.variables)
    factors = [network.factor(name) for name in network.order]
    return ProbabilityTable(network.variables, multiply_aligned(network.variables, factors))


def enumerate_query(
    network: "BayesianNetwork", targets: list[Any], codes: dict[Any, int], likelihoods: dict[Any, np.ndarray]
) -> Factor:
    """Return the unnormalised P(targets, evidence): evidence filled in, hidden variables summed out."""
    evidence = {name: network.variables[name][code] for name, code in codes.items()}
    left = {name: states for name, states in network.variables.items() if name not in codes}
    warn_of_growth("BayesianNetwork", left)
    factors = []
    for name in network.order:
        factor = network.factor(name)
        factors.append(factor.reduce({key: evidence[key] for key in factor.variables if key in evidence}))
    scale = 1.0
    for name, likelihood in likelihoods.items():
        if name in codes:
            # Soft evidence on an observed variable is one number, the likelihood of the state seen.
            scale *= float(likelihood[codes[name]])
        else:
            factors.append(Factor({name: network.variables[name]}, likelihood))
    joint = Factor(left, scale * multiply_aligned(left, factors))
    return joint.sum_out([name for name in left if name not in set(targets)])


def multiply_rows(network: "BayesianNetwork", codes: np.ndarray) -> np.ndarray:
    """Return the logarithm of the joint probability of each row of codes, columns in the order of the variables."""
    column = {name: position for position, name in enumerate(network.variables)}
    total = np.zeros(len(codes))
    with np.errstate(divide="ignore"):
        for name, table in network.tables.items():
            family = [*network.parents[name], name]
            total += np.log(table[tuple(codes[:, column[member]] for member in family)])
    return total
