"""Loopy propagation: messages between variables and tables, repeated until they settle.

On a tree the answer is exact. On a graph with loops the same evidence reaches a variable along several paths and is
counted more than once; often the answer is close all the same, but nothing bounds its error.
"""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.bayesnet._inference.elimination import collect_factors
from mercer.errors import DataError, ParameterError

if TYPE_CHECKING:
    from mercer.bayesnet._network.network import BayesianNetwork


def propagate_loopily(
    network: "BayesianNetwork",
    codes: dict[Any, int],
    *,
    max_iter: int = 200,
    tol: float = 1e-8,
    damping: float = 0.0,
) -> dict[str, Any]:
    """Return the marginals that loopy propagation settles at, and how far the last messages moved.

    All messages of a round are computed from those of the round before, so the order of the tables does not matter.
    """
    if not 0 <= damping < 1 or max_iter < 1 or not tol >= 0:
        raise ParameterError(
            "BayesianNetwork: loopy propagation needs `damping` in [0, 1), `max_iter` of at least 1 and `tol` of at "
            f"least 0; got {damping!r}, {max_iter!r} and {tol!r}."
        )
    hidden = [name for name in network.variables if name not in codes]
    factors = [factor for factor in collect_factors(network, codes, {}) if factor.variables]
    tables = [(factor.array, list(factor.variables)) for factor in factors]
    edges = [(number, name) for number, (_, names) in enumerate(tables) for name in names]
    to_variable = {edge: np.full(len(network.variables[edge[1]]), 1.0) for edge in edges}
    around = {name: [edge for edge in edges if edge[1] == name] for name in hidden}
    residual, n_iter = np.inf, 0
    while residual > tol and n_iter < max_iter:
        to_table = _send_to_tables(around, to_variable)
        fresh = _send_to_variables(tables, to_table)
        residual = max((float(np.abs(fresh[edge] - to_variable[edge]).max()) for edge in edges), default=0.0)
        # A share of the old message is kept: it breaks oscillations.
        to_variable = {edge: damping * to_variable[edge] + (1 - damping) * fresh[edge] for edge in edges}
        n_iter += 1
    if residual > tol:
        warnings.warn(
            f"BayesianNetwork: loopy propagation did not settle in {n_iter} iterations; messages still move by "
            f"{residual:.1e}. Raise `damping` or `max_iter`, or use method='gibbs'.",
            ConvergenceWarning,
            stacklevel=4,
        )
    marginals = {name: _normalise(_multiply([to_variable[edge] for edge in around[name]])) for name in hidden}
    return {
        "marginals": marginals,
        "standard_errors": None,
        "n_iter": n_iter,
        "residual": residual,
        "converged": residual <= tol,
    }


def _multiply(messages: list[np.ndarray]) -> np.ndarray:
    product = np.ones_like(messages[0])
    for message in messages:
        product = product * message
        largest = product.max()
        product = product / largest if largest > 0 else product
    return product


def _normalise(values: np.ndarray) -> np.ndarray:
    total = values.sum()
    if not total > 0:
        raise DataError("BayesianNetwork: the evidence has probability zero, as far as loopy propagation can tell.")
    normalised: np.ndarray = values / total
    return normalised


def _send_to_tables(
    around: dict[Any, list[tuple[int, Any]]], to_variable: dict[tuple[int, Any], np.ndarray]
) -> dict[tuple[int, Any], np.ndarray]:
    """Return the messages of variables to tables: the product of the messages from all other tables."""
    messages = {}
    for edges in around.values():
        for edge in edges:
            others = [to_variable[other] for other in edges if other != edge]
            messages[edge] = _multiply(others) if others else np.ones_like(to_variable[edge])
    return messages


def _send_to_variables(
    tables: list[tuple[np.ndarray, list[Any]]], to_table: dict[tuple[int, Any], np.ndarray]
) -> dict[tuple[int, Any], np.ndarray]:
    """Return the messages of tables to variables: the table times the other messages, summed over other variables."""
    messages = {}
    for number, (table, names) in enumerate(tables):
        for axis, name in enumerate(names):
            product = table
            for other_axis, other in enumerate(names):
                if other != name:
                    shape = [-1 if place == other_axis else 1 for place in range(len(names))]
                    product = product * to_table[number, other].reshape(shape)
            summed = product.sum(axis=tuple(place for place in range(len(names)) if place != axis))
            # Scaled to a mean of one, so that messages neither vanish nor grow.
            messages[number, name] = _normalise(summed) * len(summed)
    return messages
