"""Pictures of graphs of random variables: Bayesian networks, and hidden Markov models over time."""

from typing import Any

import numpy as np

from mercer._written_file import write_whole
from mercer.bayesnet import GraphLayout, draw_graph, lay_out_graph
from mercer.errors import DataError
from mercer.inspection._display import Display, draws

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


class NetworkDisplay(Display):
    """A drawing of one of the graphs of a Bayesian network, in layers.

    Parameters
    ----------
    layout : GraphLayout
        Nodes and edges with coordinates, see :func:`mercer.bayesnet.lay_out_graph`.
    svg : str
        The same drawing as SVG, which notebooks show by themselves.

    Attributes
    ----------
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
        return display.plot(ax=ax) if plot or ax is not None else display

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

    def _make_axes(self, **options: Any) -> Any:
        # 72 units of the layout are an inch, the size of its letters on paper.
        size = (max(2.0, self.layout.width / 72), max(1.5, self.layout.height / 72))
        return super()._make_axes(figsize=size, **options)

    def _draw(self, ax: Any) -> None:
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


def _choose_colours(count: int) -> Any:
    from matplotlib import colormaps

    return colormaps["tab10"](np.arange(count) % 10)


class StateSequenceDisplay(Display):
    """A sequence over time, on stripes in the colours of its states; below it the probabilities of the states.

    Parameters
    ----------
    values : array-like of shape (n_steps, n_columns)
        What is drawn over the stripes, a line for each column.
    states : array-like of int of shape (n_steps,)
        The decoded states.
    probabilities : array-like of shape (n_steps, n_states) or None, default=None
        Smoothed or filtered probabilities; they need a second axis.

    Attributes
    ----------
    runs_ : list of (int, int, int)
        First step, step after the last, and state of each stripe.
    lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import StateSequenceDisplay
    >>> StateSequenceDisplay([[0.1], [0.2], [3.0]], [0, 0, 1]).runs_
    [(0, 2, 0), (2, 3, 1)]
    """

    def __init__(self, values: Any, states: Any, probabilities: Any = None) -> None:
        self.values = np.asarray(values, dtype=float).reshape(len(values), -1)
        self.states = np.asarray(states)
        self.probabilities = None if probabilities is None else np.asarray(probabilities, dtype=float)
        if self.states.shape != (len(self.values),):
            raise DataError(
                f"StateSequenceDisplay: states must hold one state for each of the {len(self.values)} steps; got shape "
                f"{self.states.shape}."
            )
        # A run begins at each step whose state differs from the one before.
        cuts = np.flatnonzero(np.diff(self.states)) + 1
        starts, stops = np.append(0, cuts), np.append(cuts, len(self.states))
        self.runs_ = [(int(a), int(b), int(self.states[a])) for a, b in zip(starts, stops, strict=True)]

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, values: Any = None) -> "StateSequenceDisplay":
        """Draw one sequence as a fitted hidden Markov model decodes it.

        Parameters
        ----------
        estimator : hidden Markov model
        X : array-like of shape (n_steps, n_features)
        values : array-like or None, default=None
            What is drawn, where it is not `X`: codes of symbols, for instance.
        """
        drawn = X if values is None else values
        return cls(drawn, estimator.predict(X), estimator.predict_proba(X))

    def _grid(self) -> dict[str, Any]:
        return {"rows": 1 if self.probabilities is None else 2, "sharex": True}

    def _draw(self, axes: Any, *, colors: Any = None, **kwargs: Any) -> None:
        n_states = int(self.states.max()) + 1 if self.probabilities is None else self.probabilities.shape[1]
        palette = _choose_colours(n_states) if colors is None else colors
        for start, stop, state in self.runs_:
            axes[0].axvspan(start - 0.5, stop - 0.5, color=palette[state], alpha=0.25, linewidth=0)
        style = {"color": "0.2", "linewidth": 0.8} | kwargs
        self.lines_ = axes[0].plot(np.arange(len(self.values)), self.values, **style)
        axes[0].set(ylabel="observed", xlim=(-0.5, len(self.values) - 0.5))
        if self.probabilities is not None and len(axes) > 1:
            steps = np.arange(len(self.values))
            axes[1].stackplot(steps, self.probabilities.T, colors=palette, alpha=0.7, linewidth=0)
            axes[1].set(ylabel="probability", ylim=(0, 1), xlabel="step")


class TransitionGraphDisplay(Display):
    """States on a circle, with arrows as wide as transitions are probable.

    Parameters
    ----------
    transitions : array-like of shape (n_states, n_states)
    names : list of str or None, default=None
    least : float, default=0.01
        Less probable transitions are not drawn.

    Attributes
    ----------
    positions_ : ndarray of shape (n_states, 2)
    edges_ : list of (int, int)
        The transitions that are drawn.

    Examples
    --------
    >>> from mercer.inspection import TransitionGraphDisplay
    >>> TransitionGraphDisplay([[0.9, 0.1], [0.0, 1.0]]).edges_
    [(0, 0), (0, 1), (1, 1)]
    """

    def __init__(self, transitions: Any, names: Any = None, *, least: float = 0.01) -> None:
        self.transitions = np.asarray(transitions, dtype=float)
        n = len(self.transitions)
        self.names = [str(state) for state in range(n)] if names is None else list(names)
        angles = np.pi / 2 - 2 * np.pi * np.arange(n) / n
        self.positions_ = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        self.edges_ = [(int(i), int(j)) for i, j in np.argwhere(self.transitions >= least)]

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> "TransitionGraphDisplay":
        """Draw the transitions of a fitted hidden Markov model."""
        return cls(estimator.transmat_, **options)

    def _draw(self, ax: Any, *, colors: Any = None) -> None:
        from matplotlib.patches import Circle

        palette = _choose_colours(len(self.transitions)) if colors is None else colors
        # Neighbours on the circle must not touch.
        radius = min(0.36, 1.9 / max(len(self.names), 1))
        for i, j in self.edges_:
            share, start = self.transitions[i, j], self.positions_[i]
            width = 0.5 + 3.0 * share
            if i == j:
                # A loop on the far side of the state, with its probability beyond it.
                loop = Circle(
                    (1 + radius) * start, 0.75 * radius, fill=False, edgecolor="0.6", linewidth=width, zorder=1
                )
                ax.add_patch(loop)
                where = (1.2 + 1.75 * radius) * start
            else:
                step = self.positions_[j] - start
                along = step / np.linalg.norm(step)
                aside = np.array([along[1], -along[0]])
                arrow = {"arrowstyle": "-|>", "color": "0.6", "linewidth": width, "connectionstyle": "arc3,rad=0.12"}
                ends = start + radius * (along + 0.3 * aside), self.positions_[j] - radius * (along - 0.3 * aside)
                ax.annotate("", ends[1], ends[0], arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0})
                where = start + 0.5 * step + 0.38 * aside
            ax.text(*where, f"{share:.2f}", fontsize=7, ha="center", va="center", color="0.3")
        for state, name in enumerate(self.names):
            ax.add_patch(Circle(self.positions_[state], radius, color=palette[state], zorder=3))
            ax.text(*self.positions_[state], name, ha="center", va="center", zorder=4, fontsize=8)
        ax.set(xlim=(-2.0, 2.0), ylim=(-2.0, 2.0), aspect="equal")
        ax.axis("off")
