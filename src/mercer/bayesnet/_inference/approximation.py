"""Approximate posteriors, computed only when asked for, each with a measure of its error."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._base.randomness import generators, seed_sequence
from mercer._plain import plain
from mercer.bayesnet._inference.elimination import collect_factors
from mercer.bayesnet._inference.sampling import draw_states
from mercer.bayesnet._tables.table import ProbabilityTable
from mercer.errors import DataError, ParameterError

if TYPE_CHECKING:
    from mercer.bayesnet._network.network import BayesianNetwork

# Rows drawn at a time by likelihood weighting: columns of 65 536 states stay in the cache.
_BATCH = 65_536
# Rows from which the first states of the Gibbs chains are drawn, for each chain.
_CANDIDATES = 64


def _check_count(name: str, value: Any, at_least: int) -> None:
    if not isinstance(value, int | np.integer) or value < at_least:
        raise ParameterError(f"BayesianNetwork: `{name}` must be a whole number of at least {at_least}; got {value!r}.")


def _draw_weighted(
    network: "BayesianNetwork", codes: dict[Any, int], n: int, random: np.random.Generator
) -> tuple[dict[Any, np.ndarray], np.ndarray]:
    """Draw rows parents first, observed variables fixed; a row weighs the probability of what was fixed."""
    draws: dict[Any, np.ndarray] = {}
    weight = np.ones(n)
    for name in network.order:
        table = network.tables[name]
        rows = np.zeros(n, dtype=np.intp)
        for parent, length in zip(network.parents[name], table.shape, strict=False):
            # The mixed-radix number of the parents' states is the row of the table.
            rows = rows * length + draws[parent]
        flat = table.reshape(-1, table.shape[-1])
        if name in codes:
            draws[name] = np.full(n, codes[name], dtype=np.intp)
            # What is fixed is not drawn: its probability weighs the row.
            weight = weight * flat[rows, codes[name]]
        else:
            draws[name] = draw_states(random, flat, rows)
    return draws, weight


def weight_by_likelihood(
    network: "BayesianNetwork", codes: dict[Any, int], *, n_samples: int = 20_000, random_state: Any = None
) -> dict[str, Any]:
    """Estimate the marginals by weighted rows.

    The standard error of p = Σ w [x] / Σ w is that of a quotient of means: Σ w² ([x] - p)² / (Σ w)², square rooted.
    """
    _check_count("n_samples", n_samples, 2)
    hidden = [name for name in network.variables if name not in codes]
    sums = {name: np.zeros(len(network.variables[name])) for name in hidden}
    squares = {name: np.zeros(len(network.variables[name])) for name in hidden}
    total = total_square = 0.0
    n_batches = -(-n_samples // _BATCH)
    for batch, random in enumerate(generators(random_state, n_batches)):
        n = min(_BATCH, n_samples - batch * _BATCH)
        draws, weight = _draw_weighted(network, codes, n, random)
        total += float(weight.sum())
        total_square += float((weight**2).sum())
        for name in hidden:
            length = len(network.variables[name])
            sums[name] += np.bincount(draws[name], weight, length)
            squares[name] += np.bincount(draws[name], weight**2, length)
    if not total > 0:
        raise DataError(
            f"BayesianNetwork: none of {n_samples} rows agrees with the evidence; it is impossible or very rare. "
            "Raise `n_samples`, or use exact inference."
        )
    marginals = {name: sums[name] / total for name in hidden}
    # Of the rows with and without the state: w² (1 - p)² and w² p².
    errors = {
        name: np.sqrt(squares[name] * (1 - 2 * marginals[name]) + total_square * marginals[name] ** 2) / total
        for name in hidden
    }
    return {
        "marginals": marginals,
        "standard_errors": errors,
        "n_iter": n_samples,
        # Kish's effective size, (sum of w)^2 / sum of w^2.
        "effective_size": total**2 / total_square,
    }


def sample_gibbs(
    network: "BayesianNetwork",
    codes: dict[Any, int],
    *,
    n_samples: int = 20_000,
    n_chains: int = 64,
    n_burn: int = 50,
    random_state: Any = None,
) -> dict[str, Any]:
    """Estimate the marginals by chains that redraw one variable at a time given its Markov blanket.

    All chains move together. The estimate averages the conditional distributions that states are drawn from. Chains are
    independent, so the spread of their averages gives the standard error, correlation within chains included.
    """
    _check_count("n_samples", n_samples, 2)
    _check_count("n_chains", n_chains, 2)
    _check_count("n_burn", n_burn, 0)
    random = np.random.default_rng(seed_sequence(random_state))
    hidden = [name for name in network.order if name not in codes]
    draws = _start_chains(network, codes, n_chains, random)
    blankets = {name: _list_lookups(network, name) for name in hidden}
    sums = {name: np.zeros((n_chains, len(network.variables[name]))) for name in hidden}
    n_sweeps = max(1, n_samples // n_chains)
    for sweep in range(n_burn + n_sweeps):
        for name in hidden:
            # P(x | blanket) is proportional to the product of the tables that hold x.
            chances = np.ones((n_chains, len(network.variables[name])))
            for table, members, lengths in blankets[name]:
                rows = np.zeros(n_chains, dtype=np.intp)
                for member, length in zip(members, lengths, strict=True):
                    rows = rows * length + draws[member]
                chances *= table[rows]
            chances /= chances.sum(axis=1, keepdims=True)
            draws[name] = draw_states(random, chances, np.arange(n_chains))
            if sweep >= n_burn:
                # The conditional distribution itself is averaged, which has less variance than the draws (Rao and
                # Blackwell).
                sums[name] += chances
    means = {name: sums[name] / n_sweeps for name in hidden}
    return {
        "marginals": {name: means[name].mean(axis=0) for name in hidden},
        "standard_errors": {name: means[name].std(axis=0, ddof=1) / np.sqrt(n_chains) for name in hidden},
        "n_iter": n_burn + n_sweeps,
    }


def _start_chains(
    network: "BayesianNetwork", codes: dict[Any, int], n_chains: int, random: np.random.Generator
) -> dict[Any, np.ndarray]:
    """Return possible first states, drawn from weighted rows in proportion to their weights."""
    draws, weight = _draw_weighted(network, codes, _CANDIDATES * n_chains, random)
    if not weight.sum() > 0:
        raise DataError(
            f"BayesianNetwork: none of {_CANDIDATES * n_chains} rows agrees with the evidence, so Gibbs chains have no "
            "state to begin with. Raise `n_chains`, or use exact inference."
        )
    chosen = random.choice(len(weight), n_chains, p=weight / weight.sum())
    return {name: column[chosen] for name, column in draws.items()}


def _list_lookups(network: "BayesianNetwork", name: Any) -> list[tuple[np.ndarray, list[Any], list[int]]]:
    """Return the tables that hold a variable, with its axis last, and the other variables that number their rows."""
    lookups = []
    for owner in (name, *network.children[name]):
        family = [*network.parents[owner], owner]
        axis = family.index(name)
        table = np.moveaxis(network.tables[owner], axis, -1)
        members = [member for member in family if member != name]
        lengths = [len(network.variables[member]) for member in members]
        lookups.append((np.ascontiguousarray(table).reshape(-1, len(network.variables[name])), members, lengths))
    return lookups


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
