"""Posteriors from samples: likelihood weighting and Gibbs sampling, with standard errors."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._base.randomness import generators, seed_sequence
from mercer.bayesnet._inference.sampling import draw_states
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
