"""The burglary network: its directed graph, its moral graph, and its junction tree."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mercer.bayesnet import load_burglary

PLACES = {"burglary": (0, 2), "earthquake": (2, 2), "alarm": (1, 1), "john": (0, 0), "mary": (2, 0)}


def write_nodes(axes: Axes, places: dict[str, tuple[float, float]], shape: str) -> None:
    """Write each name into a box at its place."""
    for text, (x, y) in places.items():
        box = {"boxstyle": shape, "facecolor": "white", "edgecolor": "black", "pad": 0.45}
        axes.text(x, y, text, ha="center", va="center", bbox=box, zorder=3)
    axes.set(xlim=(-0.9, 2.9), ylim=(-0.5, 2.5))
    axes.axis("off")


def draw() -> Figure:
    network = load_burglary()
    figure, axes = plt.subplots(1, 3, figsize=(11.0, 3.2))
    for parent, child in network.edges:
        arrow = {"arrowstyle": "-|>", "shrinkA": 16, "shrinkB": 16, "color": "black"}
        axes[0].annotate("", PLACES[child], PLACES[parent], arrowprops=arrow)
    write_nodes(axes[0], PLACES, "round")
    axes[0].set_title("directed graph")
    joined = {frozenset(edge) for edge in network.edges}
    for name, around in network.moral_graph().items():
        for other in around:
            (x, y), (u, w) = PLACES[name], PLACES[other]
            is_new = frozenset((name, other)) not in joined
            axes[1].plot([x, u], [y, w], color="tab:red" if is_new else "black", linewidth=2 if is_new else 1)
    write_nodes(axes[1], PLACES, "round")
    axes[1].set_title("moral graph: the parents are joined")
    tree = network.compile()
    spots = [(1.0, 2.1), (0.1, 0.2), (1.9, 0.2)]
    order = sorted(range(3), key=lambda clique: -len(tree.cliques[clique]))
    place = {clique: spots[rank] for rank, clique in enumerate(order)}
    for (first, second), separator in zip(tree.edges, tree.separators, strict=True):
        (x, y), (u, w) = place[first], place[second]
        axes[2].plot([x, u], [y, w], color="black", linewidth=1)
        box = {"boxstyle": "square", "facecolor": "lightgrey", "edgecolor": "black"}
        axes[2].text((x + u) / 2, (y + w) / 2, ", ".join(separator), ha="center", va="center", bbox=box, fontsize=8)
    write_nodes(axes[2], {"\n".join(tree.cliques[clique]): spot for clique, spot in place.items()}, "round")
    axes[2].set_title("junction tree with its separators")
    return figure
