"""Hill climbing: the score of every move with and without a tabu list, and the edges found as rows grow."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.bayesnet import find_equivalence_class, learn_structure, random_network


def draw() -> Figure:
    network = random_network(10, 18, concentration=0.8, random_state=4)
    figure, (trace, growth) = plt.subplots(1, 2)
    rows = draw_rows(network, 400)
    exact = learn_structure(rows, "exact").score
    for label, options, colour in (
        ("4 restarts", {"tabu_length": 10, "n_restarts": 4}, "silver"),
        ("tabu list", {"tabu_length": 10}, "tab:orange"),
        ("greedy", {"tabu_length": 0}, "tab:blue"),
    ):
        found = learn_structure(rows, random_state=1, **options)
        label = f"{label}: {exact - found.score:.0f} below the best"
        trace.plot(exact - found.history_["score"], color=colour, label=label, linewidth=1)
    trace.set(xlabel="move", ylabel="BIC below the best graph", title="400 rows of 10 columns", ylim=(-5, 120))
    trace.legend(fontsize=7, loc="upper right")
    network = random_network(10, 14, n_states=3, concentration=0.7, random_state=22)
    sizes = [100, 300, 1000, 3000, 10_000, 30_000]
    truth = links(find_equivalence_class(network))
    right, wrong = [], []
    for size in sizes:
        found = links(find_equivalence_class(learn_structure(draw_rows(network, size), n_restarts=3).parents))
        right.append(len(found & truth))
        wrong.append(len(found - truth))
    growth.semilogx(sizes, right, "o-", color="black", label="edges found")
    growth.semilogx(sizes, wrong, "o-", color="tab:red", label="edges that are none")
    growth.axhline(len(truth), color="grey", linewidth=1, linestyle="--", label="edges of the generating graph")
    growth.set(xlabel="rows", ylabel="edges", title="more rows, more edges", ylim=(-0.5, len(truth) + 1))
    growth.legend(fontsize=7, loc="center right")
    return figure


def links(graph):
    """The pairs of variables that an edge joins, whatever its direction."""
    return {frozenset(edge) for edge in (*graph.directed, *graph.undirected)}


def draw_rows(network, n):
    """Rows of a network, parents before children."""
    random = np.random.default_rng(n)
    columns: dict = {}
    for name in network.order:
        table = network.tables[name][tuple(columns[parent] for parent in network.parents[name])]
        shares = np.broadcast_to(np.cumsum(table, axis=-1), (n, table.shape[-1]))
        columns[name] = (random.uniform(size=(n, 1)) >= shares[:, :-1]).sum(axis=1)
    return columns
