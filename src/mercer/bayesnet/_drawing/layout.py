"""Layouts of the graphs of a network in layers: the directed, moral and chordal graph, and the junction tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.bayesnet._graphs.cliques import junction_tree
from mercer.bayesnet._graphs.triangulation import triangulate
from mercer.bayesnet._graphs.undirected import list_edges, moral_graph
from mercer.bayesnet._learning.partial_graph import PartialGraph
from mercer.bayesnet._learning.table_fit import read_structure
from mercer.errors import ParameterError

# Sweeps over the layers, down and up; the order rarely improves after ten.
_SWEEPS = 24
# Rounds that bring neighbours above one another.
_ROUNDS = 16
KINDS = ("dag", "moral", "chordal", "junction_tree")
# Size of letters, in units of the drawing (pixels of an SVG).
FONT = 13.0
# The width of an average letter, as a share of the size of letters.
_LETTER = 0.62
# The space beside a node's text.
_MARGIN = 12.0
# The height of a node.
HEIGHT = 30.0
# The least distance of nodes in a layer.
_GAP = 28.0
# The distance between layers.
_STEP = 84.0


@dataclass(frozen=True, eq=False)
class LayeredPlan:
    """Coordinates of nodes, in units of the layout, and the bends of edges; y grows downwards.

    Attributes
    ----------
    positions : ndarray of shape (n, 2)
    bends : list of ndarray of shape (m, 2)
        For each edge the points between its ends.
    n_crossings : int
        Pairs of edge pieces that cross.
    """

    positions: Array
    bends: list[Array]
    n_crossings: int


def arrange_layers(
    n: int, edges: Sequence[tuple[int, int]], widths: Sequence[float], gap: float, height: float
) -> LayeredPlan:
    """Lay out a graph of n nodes whose directed edges form no cycle.

    Parameters
    ----------
    n : int
    edges : sequence of (parent, child)
    widths : sequence of float
        The width of each node.
    gap : float
        The least distance between two neighbours in a layer.
    height : float
        The distance between layers.
    """
    layer = _choose_layers(n, edges)
    chains, all_layers, pieces = _add_bends(edges, layer)
    wide = np.concatenate([np.asarray(widths, dtype=np.float64), np.zeros(len(all_layers) - n)])
    order, n_crossings = _order_layers(all_layers, pieces)
    x = _place(order, pieces, wide, gap)
    points = np.column_stack([x, np.asarray(all_layers, dtype=np.float64) * height])
    points[:, 0] -= points[:, 0].min() if len(points) else 0.0
    return LayeredPlan(points[:n], [points[chain] for chain in chains], n_crossings)


def _choose_layers(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each node: as high as its parents allow, and sources just above their first child."""
    children: list[list[int]] = [[] for _ in range(n)]
    left = [0] * n
    for parent, child in edges:
        children[parent].append(child)
        left[child] += 1
    layer = [0] * n
    ready = [node for node in range(n) if left[node] == 0]
    sources = list(ready)
    while ready:
        node = ready.pop()
        for child in children[node]:
            # The longest path from a source.
            layer[child] = max(layer[child], layer[node] + 1)
            left[child] -= 1
            if left[child] == 0:
                ready.append(child)
    # Sources move down to just above their first child, which shortens edges.
    for node in sources:
        if children[node]:
            layer[node] = min(layer[child] for child in children[node]) - 1
    return layer


def _add_bends(
    edges: Sequence[tuple[int, int]], layer: list[int]
) -> tuple[list[list[int]], list[int], list[tuple[int, int]]]:
    """Return the bends of each edge, the layers of nodes and bends, and the edge pieces between adjacent layers."""
    chains: list[list[int]] = []
    layers, pieces = list(layer), []
    for parent, child in edges:
        # A bend for each layer that the edge passes.
        chain = list(range(len(layers), len(layers) + layer[child] - layer[parent] - 1))
        layers += range(layer[parent] + 1, layer[child])
        path = [parent, *chain, child]
        pieces += list(pairwise(path))
        chains.append(chain)
    return chains, layers, pieces


def _order_layers(layers: list[int], pieces: list[tuple[int, int]]) -> tuple[list[list[int]], int]:
    """Return the nodes of each layer in an order with few crossings."""
    order: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for node, level in enumerate(layers):
        order[level].append(node)
    above: list[list[int]] = [[] for _ in layers]
    below: list[list[int]] = [[] for _ in layers]
    for parent, child in pieces:
        above[child].append(parent)
        below[parent].append(child)
    best, fewest = [list(level) for level in order], _count_crossings(order, below)
    for sweep in range(_SWEEPS):
        # Sweeps down and up take turns: each orders a layer by the one before it.
        down = sweep % 2 == 0
        levels = range(1, len(order)) if down else range(len(order) - 2, -1, -1)
        for level in levels:
            fixed = order[level - 1 if down else level + 1]
            place = {node: index for index, node in enumerate(fixed)}
            mean = {}
            for index, node in enumerate(order[level]):
                # The barycentre of a node: the mean place of its neighbours in the fixed layer.
                around = [place[other] for other in (above if down else below)[node] if other in place]
                # The old place breaks ties, so that a sweep does not shuffle what is equal.
                mean[node] = (sum(around) / len(around) if around else index, index)
            order[level].sort(key=mean.__getitem__)
        n_crossings = _count_crossings(order, below)
        if n_crossings < fewest:
            best, fewest = [list(level) for level in order], n_crossings
    return best, fewest


def _count_crossings(order: list[list[int]], below: list[list[int]]) -> int:
    """Return how many pairs of edge pieces cross."""
    total = 0
    for level, next_level in pairwise(order):
        place = {node: index for index, node in enumerate(next_level)}
        ends = [place[child] for node in level for child in sorted(below[node], key=lambda child: place[child])]
        # Inversions of the ends, in the order of the starts.
        total += sum(int(np.sum(np.asarray(ends[:index]) > end)) for index, end in enumerate(ends))
    return total


def _place(order: list[list[int]], pieces: list[tuple[int, int]], widths: Array, gap: float) -> Array:
    """Return the x of each node: near the mean of its neighbours, in order, and at least `gap` apart."""
    x = np.zeros(len(widths))
    around: list[list[int]] = [[] for _ in widths]
    for parent, child in pieces:
        around[parent].append(child)
        around[child].append(parent)
    offsets = []
    for level in order:
        steps = [(widths[left] + widths[right]) / 2 + gap for left, right in pairwise(level)]
        offset = np.concatenate([[0.0], np.cumsum(steps)]) if level else np.zeros(0)
        offsets.append(offset)
        x[level] = offset - (offset[-1] / 2 if len(offset) else 0.0)
    for sweep in range(_ROUNDS):
        levels = range(len(order)) if sweep % 2 == 0 else range(len(order) - 1, -1, -1)
        for number in levels:
            level = order[number]
            wanted = np.array([np.mean(x[around[node]]) if around[node] else x[node] for node in level])
            # Positions in order at given distances, closest to the wanted ones, are a rising sequence after the
            # distances are taken off.
            x[level] = _rise(wanted - offsets[number]) + offsets[number]
    return x


def _rise(values: Array) -> Array:
    """Return the rising sequence with the least squared distance to `values`: pool neighbours that fall."""
    sums: list[float] = []
    counts: list[int] = []
    for value in values:
        sums.append(float(value))
        counts.append(1)
        # Pool adjacent violators.
        while len(sums) > 1 and sums[-2] / counts[-2] > sums[-1] / counts[-1]:
            total, count = sums.pop(), counts.pop()
            sums[-1] += total
            counts[-1] += count
    return np.repeat([total / count for total, count in zip(sums, counts, strict=True)], counts)


@dataclass(frozen=True, eq=False)
class DrawnNode:
    """A node: its name (for a junction tree the members of a clique), its text, its centre and its width."""

    name: Any
    text: str
    x: float
    y: float
    width: float


@dataclass(frozen=True, eq=False)
class DrawnEdge:
    """An edge between two nodes, along points; `kind` is "arrow", "line", "moral", "fill" or "separator"."""

    start: Any
    end: Any
    kind: str
    points: Array
    text: str = ""


@dataclass(frozen=True, eq=False)
class GraphLayout:
    """A graph with coordinates; y grows downwards.

    Attributes
    ----------
    kind : str
    nodes : list of DrawnNode
    edges : list of DrawnEdge
    width, height : float
        The size of the drawing.
    """

    kind: str
    nodes: list[DrawnNode]
    edges: list[DrawnEdge]
    width: float
    height: float


def lay_out_graph(graph: Any, kind: str = "dag") -> GraphLayout:
    """Return the layered layout of one of the graphs of a network.

    Parameters
    ----------
    graph : BayesianNetwork, structure, or PartialGraph
        A structure is a mapping from names to parents, or a sequence of edges (parent, child).
    kind : {"dag", "moral", "chordal", "junction_tree"}, default="dag"
        The directed graph; the moral graph, in which parents of a common child are joined; that graph with the fill
        edges that make it chordal; or the tree of its cliques, whose edges carry separators.

    Returns
    -------
    GraphLayout
        Nodes and edges with coordinates.

    Examples
    --------
    >>> from mercer.bayesnet import lay_out_graph
    >>> layout = lay_out_graph({"wet": ["rain", "sprinkler"]}, "moral")
    >>> [(edge.start, edge.end, edge.kind) for edge in layout.edges]
    [('wet', 'rain', 'line'), ('wet', 'sprinkler', 'line'), ('rain', 'sprinkler', 'moral')]
    """
    if kind not in KINDS:
        raise ParameterError(f"lay_out_graph: kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
    parents, _ = read_structure("lay_out_graph", graph)
    if kind == "junction_tree":
        return _lay_out_tree(parents)
    names = list(parents)
    place = {name: index for index, name in enumerate(names)}
    pairs = [(place[parent], place[name]) for name, above in parents.items() for parent in above]
    widths = [_measure(str(name)) for name in names]
    plan = arrange_layers(len(names), pairs, widths, _GAP, _STEP)
    nodes = _make_nodes(names, [str(name) for name in names], widths, plan.positions)
    bends = dict(zip(pairs, plan.bends, strict=True))
    centres = np.array([[node.x, node.y] for node in nodes])
    shift = centres - plan.positions if len(nodes) else np.zeros((0, 2))
    if kind == "dag":
        loose = {frozenset(edge) for edge in graph.undirected} if isinstance(graph, PartialGraph) else set()
        edges = []
        for first, second in pairs:
            # Edges run from centre to centre through their bends; they are cut at the boxes later.
            points = np.concatenate([[centres[first]], bends[first, second] + shift[0], [centres[second]]])
            drawn = "line" if frozenset((names[first], names[second])) in loose else "arrow"
            edges.append(DrawnEdge(names[first], names[second], drawn, points))
        return _finish(kind, nodes, edges)
    moral = moral_graph(parents)
    # An edge is drawn by where it comes from: a family, the marriage of two parents, or a fill edge.
    family = {frozenset((names[first], names[second])) for first, second in pairs}
    married = {frozenset(edge) for edge in list_edges(moral)}
    listed = list_edges(triangulate(moral).graph if kind == "chordal" else moral)
    edges = []
    for start, end in listed:
        key = frozenset((start, end))
        first, second = place[start], place[end]
        drawn = "line" if key in family else "moral" if key in married else "fill"
        inner = bends.get((first, second), bends.get((second, first), np.zeros((0, 2)))) + shift[0]
        # Bends are listed from parent to child; an edge that is read the other way has them reversed.
        inner = inner if (first, second) in bends else inner[::-1]
        if key not in family:
            inner = _bow(first, second, nodes)
        edges.append(DrawnEdge(start, end, drawn, np.concatenate([[centres[first]], inner, [centres[second]]])))
    return _finish(kind, nodes, edges)


def _bow(first: int, second: int, nodes: list[DrawnNode]) -> Array:
    """Return the bend of an arc between two nodes: the flattest of some that passes by all other nodes."""
    start, end = (np.array([nodes[node].x, nodes[node].y]) for node in (first, second))
    others = [node for index, node in enumerate(nodes) if index not in (first, second)]
    step = end - start
    length = max(float(np.hypot(*step)), 1.0)
    normal = np.array([step[1], -step[0]]) / length
    # The first choice is to bow upwards.
    normal = normal if normal[1] <= 0 else -normal
    shares = np.linspace(0.05, 0.95, 19)[:, None]
    bend = (start + end) / 2
    for lift in (0.12, -0.12, 0.3, -0.3, 0.5, -0.5, 0.75, -0.75):
        bend = (start + end) / 2 + lift * length * normal
        # A quadratic Bezier curve, tested at 19 points.
        curve = (1 - shares) ** 2 * start + 2 * shares * (1 - shares) * bend + shares**2 * end
        if not any(
            (np.abs(curve - [node.x, node.y]) < [node.width / 2 + 4, HEIGHT / 2 + 4]).all(axis=1).any()
            for node in others
        ):
            break
    return bend[None, :]


def _lay_out_tree(parents: dict[Any, Any]) -> GraphLayout:
    """Return the layout of the junction tree, its root on top."""
    triangulated = triangulate(moral_graph(parents))
    tree = junction_tree(triangulated.cliques)
    texts = [", ".join(map(str, clique)) for clique in tree.cliques]
    around: dict[int, list[tuple[int, int]]] = {number: [] for number in range(len(tree.cliques))}
    for number, (first, second) in enumerate(tree.edges):
        around[first].append((second, number))
        around[second].append((first, number))
    pairs, numbers, seen = [], [], set()
    # The clique with most neighbours is a root: the tree stays flat.
    for root in sorted(around, key=lambda clique: (-len(around[clique]), clique)):
        waiting = [] if root in seen else [root]
        seen.add(root)
        while waiting:
            node = waiting.pop(0)
            for other, number in around[node]:
                if other not in seen:
                    seen.add(other)
                    pairs.append((node, other))
                    numbers.append(number)
                    waiting.append(other)
    widths = [_measure(text) for text in texts]
    # Separators stand in the middle of edges: cliques are further apart than nodes.
    plan = arrange_layers(len(texts), pairs, widths, 2 * _GAP, 1.3 * _STEP)
    nodes = _make_nodes(list(tree.cliques), texts, widths, plan.positions)
    edges = []
    for (first, second), number in zip(pairs, numbers, strict=True):
        points = np.array([[nodes[node].x, nodes[node].y] for node in (first, second)])
        text = ", ".join(map(str, tree.separators[number]))
        edges.append(DrawnEdge(tree.cliques[first], tree.cliques[second], "separator", points, text))
    return _finish("junction_tree", nodes, edges)


def _measure(text: str) -> float:
    return max(HEIGHT, _LETTER * FONT * len(text) + 2 * _MARGIN)


def _make_nodes(names: list[Any], texts: list[str], widths: list[float], positions: Array) -> list[DrawnNode]:
    """Return nodes whose boxes are inside of a margin."""
    left = min((x - width / 2 for (x, _), width in zip(positions, widths, strict=True)), default=0.0)
    shift = np.array([_MARGIN - left, _MARGIN + HEIGHT / 2])
    return [
        DrawnNode(name, text, float(place[0]), float(place[1]), width)
        for name, text, width, place in zip(names, texts, widths, positions + shift, strict=True)
    ]


def _finish(kind: str, nodes: list[DrawnNode], edges: list[DrawnEdge]) -> GraphLayout:
    """Return the layout with its size; arcs above the first layer move everything down."""
    width = max((node.x + node.width / 2 for node in nodes), default=0.0)
    height = max((node.y + HEIGHT / 2 for node in nodes), default=0.0)
    inner = np.concatenate([edge.points for edge in edges]) if edges else np.zeros((1, 2))
    lift = max(0.0, _MARGIN - float(inner[:, 1].min())) if edges else 0.0
    width = max(width, float(inner[:, 0].max())) + _MARGIN
    if lift:
        nodes = [DrawnNode(node.name, node.text, node.x, node.y + lift, node.width) for node in nodes]
        edges = [
            DrawnEdge(edge.start, edge.end, edge.kind, edge.points + np.array([0.0, lift]), edge.text) for edge in edges
        ]
    return GraphLayout(kind, nodes, edges, width, height + lift + _MARGIN)
