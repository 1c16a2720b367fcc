"""Generated networks: random graphs and tables of a wanted size, and networks of the sizes of published ones."""

from typing import Any

import numpy as np

from mercer._base.randomness import seed_sequence
from mercer.bayesnet._network.network import BayesianNetwork
from mercer.errors import ParameterError

# Of published networks: nodes, edges, most parents, states of a node (fewest, most), how far back a parent may lie, and
# the concentration of the tables' rows. Only the sizes are theirs; graphs and tables are generated.
_SIZES: dict[str, tuple[int, int, int, tuple[int, int], int, float]] = {
    "asia_size": (8, 8, 2, (2, 2), 4, 0.7),
    "insurance_size": (27, 52, 3, (2, 5), 9, 0.7),
    "alarm_size": (37, 46, 4, (2, 4), 10, 0.5),
    "barley_size": (48, 84, 4, (2, 16), 9, 0.7),
    "hailfinder_size": (56, 66, 4, (2, 11), 12, 0.7),
    "win95pts_size": (76, 112, 7, (2, 2), 12, 0.4),
    "andes_size": (223, 338, 6, (2, 2), 14, 0.6),
    "pigs_size": (441, 592, 2, (3, 3), 12, 0.7),
    "munin_size": (1041, 1397, 3, (2, 8), 10, 0.6),
}


def random_network(
    n_nodes: int,
    n_edges: int | None = None,
    *,
    n_states: int | tuple[int, int] = 2,
    max_parents: int = 3,
    window: int | None = None,
    concentration: float = 1.0,
    random_state: Any = None,
) -> BayesianNetwork:
    """Generate a network with random edges and random tables.

    Parameters
    ----------
    n_nodes : int
    n_edges : int, optional
        By default one and a half for each node, or as many as there can be.
    n_states : int or pair of ints
        The number of states of every variable, or its range.
    max_parents : int
    window : int, optional
        How many places back in the order a parent may lie. A small window keeps the cliques small.
    concentration : float
        Of the Dirichlet distribution of the rows: below one they are close to certain, above one close to uniform.
    random_state : None, int, RandomState or Generator

    Examples
    --------
    >>> from mercer.bayesnet import random_network
    >>> random_network(10, 12, random_state=0)
    BayesianNetwork(10 variables, 12 edges, 25 parameters)
    """
    low, high = (n_states, n_states) if isinstance(n_states, int) else n_states
    reach = n_nodes if window is None else window
    possible = sum(min(node, reach, max_parents) for node in range(n_nodes))
    edges = min(possible, n_nodes * 3 // 2) if n_edges is None else n_edges
    if n_nodes < 1 or not 1 <= low <= high or not 0 <= edges <= possible or not concentration > 0:
        raise ParameterError(
            f"random_network: {n_nodes} nodes with at most {max_parents} parents each allow 0 to {possible} edges; "
            f"`n_states` must be at least 1 and `concentration` above 0; got n_edges={edges}, n_states={n_states!r}, "
            f"concentration={concentration!r}."
        )
    random = np.random.default_rng(seed_sequence(random_state))
    names = [f"x{node}" for node in range(n_nodes)]
    counts = random.integers(low, high + 1, n_nodes).tolist()
    above: list[list[int]] = [[] for _ in names]
    # First one parent for each node, which connects the graph as far as the edges go, then edges at random.
    order = random.permutation(np.arange(1, n_nodes)).tolist()
    for node in [*order[:edges]]:
        above[node].append(int(random.integers(max(0, node - reach), node)))
    left = edges - sum(len(parents) for parents in above)
    while left > 0:
        node = int(random.integers(1, n_nodes))
        parent = int(random.integers(max(0, node - reach), node))
        if parent not in above[node] and len(above[node]) < max_parents:
            above[node].append(parent)
            left -= 1
    tables = {}
    for node, name in enumerate(names):
        shape = [counts[parent] for parent in above[node]]
        tables[name] = random.dirichlet(np.full(counts[node], concentration), size=shape or None)
    return BayesianNetwork(
        {name: [f"s{state}" for state in range(count)] for name, count in zip(names, counts, strict=True)},
        {name: [names[parent] for parent in parents] for name, parents in zip(names, above, strict=True)},
        tables,
    )


def make_network(name: str, random_state: Any = 0) -> BayesianNetwork:
    """Generate a network that has the numbers of nodes and edges of a published one; nothing is downloaded.

    Parameters
    ----------
    name : str
        ``"alarm_size"`` (37 nodes, 46 edges), ``"hailfinder_size"`` (56, 66), ``"barley_size"`` (48, 84, wide cliques),
        ``"insurance_size"`` (27, 52), ``"win95pts_size"`` (76, 112), ``"andes_size"`` (223, 338), ``"pigs_size"``
        (441, 592), ``"munin_size"`` (1041, 1397) or ``"asia_size"`` (8, 8).
    random_state : None, int, RandomState or Generator

    Examples
    --------
    >>> from mercer.bayesnet import make_network
    >>> network = make_network("alarm_size")
    >>> len(network.variables), len(network.edges)
    (37, 46)
    """
    if name not in _SIZES:
        raise ParameterError(f"make_network: `name` must be one of {list(_SIZES)}; got {name!r}.")
    nodes, edges, most, states, window, concentration = _SIZES[name]
    return random_network(
        nodes,
        edges,
        n_states=states,
        max_parents=most,
        window=window,
        concentration=concentration,
        random_state=random_state,
    )
