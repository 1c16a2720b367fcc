"""Variable elimination: multiply the factors that hold a variable, sum it out, go on with the next one."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._source.memory import require_memory
from mercer.bayesnet._graphs.order import find_ancestors
from mercer.bayesnet._tables.factor import Factor, multiply_aligned

if TYPE_CHECKING:
    from mercer.bayesnet._network.network import BayesianNetwork


def collect_factors(
    network: "BayesianNetwork",
    codes: dict[Any, int],
    likelihoods: dict[Any, np.ndarray],
    targets: Sequence[Any] | None = None,
) -> list[Factor]:
    """Return the conditional tables with evidence filled in, and the likelihoods of soft evidence.

    With `targets`, tables of variables that are no ancestors of a target or of evidence are left out: they sum to one.
    """
    causes = list(network.variables) if targets is None else [*targets, *codes, *likelihoods]
    # Tables outside of the ancestors of targets and evidence sum to one.
    needed = find_ancestors(network.parents, causes)
    factors = []
    for name in network.variables:
        if name in needed:
            factor = network.factor(name)
            seen = {key: factor.variables[key][codes[key]] for key in factor.variables if key in codes}
            factors.append(factor.reduce(seen) if seen else factor)
    for name, likelihood in likelihoods.items():
        if name in codes:
            factors.append(Factor({}, likelihood[codes[name] : codes[name] + 1]))
        else:
            factors.append(Factor({name: network.variables[name]}, likelihood))
    return factors


def eliminate_query(
    network: "BayesianNetwork", targets: list[Any], codes: dict[Any, int], likelihoods: dict[Any, np.ndarray]
) -> Factor:
    """Return the unnormalised P(targets, evidence) by variable elimination, axes in the order of `targets`."""
    factors = collect_factors(network, codes, likelihoods, targets)
    hidden = {name for factor in factors for name in factor.variables} - set(targets)
    left = eliminate(factors, hidden, Factor.sum_out)
    return multiply_factors({name: network.variables[name] for name in targets}, left)


def multiply_factors(variables: dict[Any, tuple[Any, ...]], factors: Sequence[Factor]) -> Factor:
    """Return the product of factors as one factor over `variables`, within the memory that is allowed."""
    size = math.prod(len(states) for states in variables.values())
    cure = "ask for fewer targets at once, add evidence, or use `approximate`"
    require_memory("BayesianNetwork", 16.0 * size, f"a table over {len(variables)} variables", cure)
    return Factor(variables, multiply_aligned(variables, factors))


def eliminate(factors: Sequence[Factor], hidden: set[Any], fold: Callable[[Factor, list[Any]], Factor]) -> list[Factor]:
    """Remove the variables in `hidden` from a product of factors, the one with the smallest product first."""
    factors = list(factors)
    waiting = sorted(hidden, key=str)
    while waiting:
        # Greedy: the variable whose product has the fewest entries.
        costs = {name: _count_product(factors, name) for name in waiting}
        name = min(waiting, key=lambda candidate: costs[candidate])
        waiting.remove(name)
        touched = [factor for factor in factors if name in factor.variables]
        factors = [factor for factor in factors if name not in factor.variables]
        variables = {key: states for factor in touched for key, states in factor.variables.items()}
        factors.append(fold(multiply_factors(variables, touched), [name]))
    return factors


def _count_product(factors: Sequence[Factor], name: Any) -> int:
    """Return the number of values in the product of the factors that hold a variable."""
    variables = {
        key: states for factor in factors if name in factor.variables for key, states in factor.variables.items()
    }
    return math.prod(len(states) for states in variables.values())
