"""Most probable states: of all variables along the junction tree, of some by elimination in two stages."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._plain import plain
from mercer.bayesnet._inference.answers import explain, measure_evidence
from mercer.bayesnet._inference.contradiction import raise_contradiction
from mercer.bayesnet._inference.elimination import collect_factors, eliminate, multiply_factors
from mercer.bayesnet._tables.factor import Factor

if TYPE_CHECKING:
    from mercer.bayesnet._inference.junction_tree import JunctionTree


@plain
@dataclass(frozen=True)
class Explanation:
    """The most probable states of some variables given evidence.

    Attributes
    ----------
    states : dict from variables to states
    log_probability : float
        The logarithm of the joint probability of these states and the evidence.
    posterior : float
        The probability of these states given the evidence.
    """

    states: dict[Any, Any]
    log_probability: float
    posterior: float


def explain_some(tree: "JunctionTree", codes: dict[Any, int], targets: list[Any] | None) -> Explanation:
    """Return the most probable states of all variables, or of `targets` with the others summed out."""
    numbered = {tree.number_of(name): code for name, code in codes.items()}
    log_evidence = measure_evidence(tree, numbered, {})
    if targets is None:
        states, log_probability = explain(tree, numbered, {})
        return Explanation(states, log_probability, float(np.exp(log_probability - log_evidence)))
    if log_evidence == -np.inf:
        raise_contradiction(tree, numbered, {})
    network = tree.network
    left = _sum_others(tree, codes, targets)
    chosen, log_probability = _maximise(left, [name for name in targets if name not in codes])
    states = {name: network.variables[name][chosen.get(name, codes.get(name, 0))] for name in targets}
    return Explanation(states, log_probability, float(np.exp(log_probability - log_evidence)))


def _sum_others(tree: "JunctionTree", codes: dict[Any, int], targets: list[Any]) -> list[Factor]:
    """Return factors over the targets alone: evidence filled in, all other variables summed out."""
    factors = collect_factors(tree.network, codes, {}, targets)
    hidden = {name for factor in factors for name in factor.variables} - set(targets)
    return eliminate(factors, hidden, Factor.sum_out)


def _maximise(factors: list[Factor], names: list[Any]) -> tuple[dict[Any, int], float]:
    """Return the states that maximise a product of factors, and the logarithm of the maximum.

    Variables are maximised out one by one. Backwards, each takes its best state given those chosen already.
    """
    steps: list[tuple[Any, list[Factor]]] = []
    waiting = list(names)
    while waiting:
        # Greedy: the variable whose factors are smallest together comes first.
        sizes = {name: sum(factor.values.size for factor in factors if name in factor.variables) for name in waiting}
        name = min(waiting, key=sizes.__getitem__)
        waiting.remove(name)
        touched = [factor for factor in factors if name in factor.variables]
        steps.append((name, touched))
        rest = [factor for factor in factors if name not in factor.variables]
        variables = {key: states for factor in touched for key, states in factor.variables.items()}
        factors = [*rest, multiply_factors(variables, touched).maximise_out([name])] if touched else rest
    # All variables are maximised out: each factor that is left is a single number.
    log_maximum = float(sum(np.log(factor.values[0]) for factor in factors))
    chosen: dict[Any, int] = {}
    # Backwards: all variables that the factors of a step mention were chosen before.
    for name, touched in reversed(steps):
        scores = np.ones(1)
        for factor in touched:
            known = {key: factor.variables[key][chosen[key]] for key in factor.variables if key in chosen}
            scores = scores * factor.reduce(known).values
        chosen[name] = int(scores.argmax())
    return chosen, log_maximum
