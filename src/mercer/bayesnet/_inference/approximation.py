"""Approximate posteriors, computed only when asked for, each with a measure of its error."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._plain import plain
from mercer.bayesnet._inference.loopy import propagate_loopily
from mercer.bayesnet._inference.samplers import sample_gibbs, weight_by_likelihood
from mercer.bayesnet._tables.table import ProbabilityTable
from mercer.errors import ParameterError

if TYPE_CHECKING:
    from mercer.bayesnet._network.network import BayesianNetwork

_METHODS: dict[str, Callable[..., dict[str, Any]]] = {
    "loopy": propagate_loopily,
    "gibbs": sample_gibbs,
    "likelihood_weighting": weight_by_likelihood,
}


@plain
@dataclass(frozen=True, eq=False)
class Approximation:
    """Approximate posteriors of all variables.

    Attributes
    ----------
    marginals : dict from names to ProbabilityTable
    standard_errors : dict from names to arrays, or None
        The standard error of each probability, for samplers. Loopy propagation has none: how far it is from the truth
        is not known unless the graph is a tree, where it is exact.
    method : str
    n_iter : int
        Iterations of loopy propagation, sweeps of Gibbs sampling, or rows drawn.
    residual : float or None
        The largest change of a message in the last iteration of loopy propagation.
    effective_size : float or None
        The number of unweighted rows that would be as informative as the weighted ones.
    converged : bool
        Whether loopy propagation reached its tolerance; True for samplers, whose standard errors say how far they are.
    """

    marginals: dict[Any, ProbabilityTable]
    standard_errors: dict[Any, np.ndarray] | None
    method: str
    n_iter: int
    residual: float | None = None
    effective_size: float | None = None
    converged: bool = True


def approximate(
    network: "BayesianNetwork", codes: dict[Any, int], method: str, options: dict[str, Any]
) -> Approximation:
    """Approximate the posteriors of all variables given evidence by the method of that name."""
    if method not in _METHODS:
        raise ParameterError(f"BayesianNetwork: `method` must be one of {list(_METHODS)}; got {method!r}.")
    try:
        answer = _METHODS[method](network, codes, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise ParameterError(f"BayesianNetwork: approximate(method={method!r}) has no such option: {error}.") from error
    values = answer.pop("marginals")
    # Observed variables have the probability one in the state seen, without error.
    for name, code in codes.items():
        values[name] = np.eye(len(network.variables[name]))[code]
        if answer.get("standard_errors") is not None:
            answer["standard_errors"][name] = np.zeros(len(network.variables[name]))
    tables = {name: ProbabilityTable({name: states}, values[name]) for name, states in network.variables.items()}
    return Approximation(tables, method=method, **answer)
