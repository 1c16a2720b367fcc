"""Pictures of the graphs of Bayesian networks."""

from typing import Any

import numpy as np

from mercer._written_file import write_whole
from mercer.bayesnet import GraphLayout, draw_graph, lay_out_graph
from mercer.inspection._axes import make_axes

# Colours and line styles of edges: of the graph itself, between parents of a common child, and filled in.
_STYLES = {
    "arrow": ("#333333", "-"),
    "line": ("#333333", "-"),
    "moral": ("#c2410c", "--"),
    "fill": ("#1d4ed8", ":"),
    "separator": ("#333333", "-"),
}
# Half the height of a node's box, in units of the layout.
_HALF = 15.0
# The height of letters, in units of the layout.
_LETTERS = 12.0


class NetworkDisplay:
    """A drawing of one of the graphs of a Bayesian network, in layers.

    Parameters
    ----------
    layout : GraphLayout
        Nodes and edges with coordinates, see :func:`mercer.bayesnet.lay_out_graph`.
    svg : str
        The same drawing as SVG, which notebooks show by themselves.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    nodes_ : dict of matplotlib patches
        The text of each node, by name; for a junction tree by clique.
    edges_ : dict of matplotlib artists
        The line of each edge, by its two ends.
    separators_ : dict of matplotlib patches
        For a junction tree the text on each edge, by its two ends.

    Examples
    --------
    >>> from mercer.inspection import NetworkDisplay
    >>> display = NetworkDisplay.from_network({"wet": ["rain", "sprinkler"]}, kind="moral")
    >>> len(display.layout.edges)  # two of the graph, and one between the parents
    3
    """

    def __init__(self, layout: GraphLayout, svg: str) -> None:
        self.layout = layout
        self.svg = svg

    @classmethod
    def from_network(cls, network: Any, *, kind: str = "dag", ax: Any = None, plot: bool = False) -> "NetworkDisplay":
        """Lay out a graph of a network.

        Parameters
        ----------
        network : BayesianNetwork, structure or PartialGraph
            A structure is a mapping from names to parents, or a sequence of edges (parent, child).
        kind : {"dag", "moral", "chordal", "junction_tree"}, default="dag"
            The directed graph; the moral graph; that with fill edges; or the tree of cliques with separators.
        ax : matplotlib axes or None, default=None
            Where to draw; given, the drawing is made at once.
        plot : bool, default=False
            Whether to draw at once with matplotlib also without `ax`.

        Returns
        -------
        NetworkDisplay
        """
        display = cls(lay_out_graph(network, kind), draw_graph(network, kind))
        return display.plot(ax) if plot or ax is not None else display

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> "NetworkDisplay":
        """Lay out a graph of the network of a fitted learner or classifier.

        Parameters
        ----------
        estimator : estimator
            With an attribute ``network_``.
        **options : dict
            As :meth:`from_network` takes them.

        Returns
        -------
        NetworkDisplay
        """
        return cls.from_network(estimator.network_, **options)

    def plot(self, ax: Any = None) -> "NetworkDisplay":
        """Draw with matplotlib.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a figure of the drawing's size.

        Returns
        -------
        NetworkDisplay
        """
        # 72 units of the layout are an inch, the size of its letters on paper.
        size = (max(2.0, self.layout.width / 72), max(1.5, self.layout.height / 72))
        self.ax_ = ax = make_axes(ax, figsize=size)
        self.figure_ = ax.figure
        self.nodes_: dict[Any, Any] = {}
        self.edges_: dict[Any, Any] = {}
        self.separators_: dict[Any, Any] = {}
        ax.set_xlim(0, max(self.layout.width, 1.0))
        ax.set_ylim(max(self.layout.height, 1.0), 0)
        ax.set_aspect("equal")
        ax.axis("off")
        for node in self.layout.nodes:
            self._draw_node(node)
        for edge in self.layout.edges:
            self._draw_edge(edge)
        return self

    def _draw_node(self, node: Any) -> None:
        from matplotlib.patches import FancyBboxPatch

        rounding = 5.0 if self.layout.kind == "junction_tree" else _HALF
        box = FancyBboxPatch(
            (node.x - node.width / 2, node.y - _HALF),
            node.width,
            2 * _HALF,
            boxstyle=f"round,pad=0,rounding_size={rounding}",
            facecolor="#eef2ff",
            edgecolor="#334155",
            zorder=2,
        )
        self.ax_.add_patch(box)
        self.nodes_[node.name] = self._write(node.x, node.y, node.text, _LETTERS)

    def _write(self, x: float, y: float, text: str, size: float) -> Any:
        """Draw a text about a centre as shapes in units of the layout, so that it fits its box in axes of any size."""
        from matplotlib.patches import PathPatch
        from matplotlib.textpath import TextPath
        from matplotlib.transforms import Affine2D

        path = TextPath((0, 0), text, size=size)
        middle = path.get_extents().width / 2
        # The y axis points down, letters point up; the centre of a line is at about a third of its size.
        turn = Affine2D().translate(-middle, -0.36 * size).scale(1, -1).translate(x, y)
        patch = PathPatch(turn.transform_path(path), facecolor="black", linewidth=0, zorder=4)
        patch.set_label(text)
        return self.ax_.add_patch(patch)

    def _draw_edge(self, edge: Any) -> None:
        from matplotlib.patches import FancyArrowPatch, PathPatch, Rectangle
        from matplotlib.path import Path

        colour, line = _STYLES[edge.kind]
        boxes = {node.name: node for node in self.layout.nodes}
        points = _clip(edge.points, boxes[edge.start], boxes[edge.end])
        path = _make_path(points, Path)
        key = (edge.start, edge.end)
        patch: Any
        if edge.kind == "arrow":
            patch = FancyArrowPatch(
                path=path,
                arrowstyle="-|>",
                mutation_scale=12,
                color=colour,
                linewidth=1.2,
                shrinkA=0,
                shrinkB=0,
                zorder=1,
            )
        else:
            patch = PathPatch(path, facecolor="none", edgecolor=colour, linestyle=line, linewidth=1.2, zorder=1)
        self.edges_[key] = self.ax_.add_patch(patch)
        if edge.kind == "separator":
            x, y = points.mean(axis=0)
            width = 0.6 * _LETTERS * len(edge.text) + 10
            corner = (x - width / 2, y - 11)
            self.ax_.add_patch(Rectangle(corner, width, 22, facecolor="white", edgecolor="#333333", zorder=2))
            self.separators_[key] = self._write(x, y, edge.text, 0.9 * _LETTERS)

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: Any) -> None:
        """Write the SVG to a file.

        Parameters
        ----------
        path : str or path
            Where to.
        """
        write_whole(path, self.svg)


def _clip(points: Any, start: Any, end: Any) -> Any:
    """Return the points of an edge with its ends on the borders of the boxes."""
    points = np.array(points, dtype=float)
    for place, towards, node in ((0, 1, start), (-1, -2, end)):
        step = points[towards] - points[place]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.min(np.where(step != 0, np.array([node.width / 2, _HALF]) / np.abs(step), np.inf))
        points[place] = points[place] + min(float(share), 1.0) * step
    return points


def _make_path(points: Any, kind: Any) -> Any:
    """Return a path through points: straight for two, a smooth curve for more."""
    if len(points) == 2:
        return kind(points, [kind.MOVETO, kind.LINETO])
    vertices, codes = [points[0]], [kind.MOVETO]
    for index in range(1, len(points) - 1):
        last = index == len(points) - 2
        vertices += [points[index], points[index + 1] if last else (points[index] + points[index + 1]) / 2]
        codes += [kind.CURVE3, kind.CURVE3]
    return kind(vertices, codes)
