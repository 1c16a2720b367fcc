"""Drawings of graphs as SVG text."""

from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from mercer._types import Array
from mercer.bayesnet._drawing.layout import FONT, HEIGHT, DrawnEdge, DrawnNode, GraphLayout, lay_out_graph

# Colours and dashes of edges: of the graph itself, between parents of a common child, and filled in.
STROKES = {"arrow": "#333", "line": "#333", "moral": "#c2410c", "fill": "#1d4ed8", "separator": "#333"}
DASHES = {"moral": "6 4", "fill": "2 3"}


def draw_graph(graph: Any, kind: str = "dag") -> str:
    """Return a drawing of one of the graphs of a network, as SVG.

    Parameters
    ----------
    graph : BayesianNetwork, structure, or PartialGraph
        A structure is a mapping from names to parents, or a sequence of edges (parent, child).
    kind : {"dag", "moral", "chordal", "junction_tree"}, default="dag"
        Which graph; see :func:`lay_out_graph`.

    Returns
    -------
    str
        SVG that loads nothing from elsewhere. Each node and edge has the class ``node`` or ``edge``.

    Examples
    --------
    >>> from mercer.bayesnet import draw_graph
    >>> draw_graph({"wet": ["rain", "sprinkler"]}).count('class="edge"')
    2
    """
    return format_svg(lay_out_graph(graph, kind))


def format_svg(layout: GraphLayout) -> str:
    """Return a layout as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width:.1f} {layout.height:.1f}" '
        f'width="{layout.width:.0f}" height="{layout.height:.0f}" font-family="sans-serif" font-size="{FONT:g}">',
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" fill="#333"/></marker></defs>',
    ]
    boxes = {node.name: node for node in layout.nodes}
    parts += [_format_edge(edge, boxes) for edge in layout.edges]
    parts += [_format_node(node, layout.kind) for node in layout.nodes]
    return "\n".join([*parts, "</svg>"]) + "\n"


def clip_to_box(points: Array, start: DrawnNode, end: DrawnNode) -> Array:
    """Return the points of an edge with its ends moved to the borders of the boxes."""
    points = points.copy()
    points[0] = _leave_box(points[0], points[1], start)
    points[-1] = _leave_box(points[-1], points[-2], end)
    return points


def _leave_box(centre: Array, towards: Array, node: DrawnNode) -> Array:
    step = towards - centre
    half = np.array([node.width / 2, HEIGHT / 2])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.min(np.where(step != 0, half / np.abs(step), np.inf))
    return centre + min(float(share), 1.0) * step


def _format_edge(edge: DrawnEdge, boxes: dict[Any, DrawnNode]) -> str:
    points = clip_to_box(edge.points, boxes[edge.start], boxes[edge.end])
    path = _format_path(points)
    dash = f' stroke-dasharray="{DASHES[edge.kind]}"' if edge.kind in DASHES else ""
    marker = ' marker-end="url(#arrow)"' if edge.kind == "arrow" else ""
    ends = f"{_join(edge.start)} {'->' if edge.kind == 'arrow' else '-'} {_join(edge.end)}"
    drawn = (
        f'<g class="edge"><title>{escape(ends)}</title><path d="{path}" fill="none" stroke="{STROKES[edge.kind]}" '
        f'stroke-width="1.4"{dash}{marker}/></g>'
    )
    if edge.kind != "separator":
        return drawn
    x, y = points.mean(axis=0)
    # A letter is about 0.6 of the font's size wide; 12 is the room at the sides.
    width = 0.6 * FONT * len(edge.text) + 12
    return drawn + (
        f'\n<g class="separator"><rect x="{x - width / 2:.1f}" y="{y - 11:.1f}" width="{width:.1f}" height="22" '
        f'fill="#fff" stroke="#333"/><text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="12">'
        f"{escape(edge.text)}</text></g>"
    )


def _format_path(points: Array) -> str:
    """Return a path through points: straight for two, a smooth curve for more."""
    texts = [f"{x:.1f} {y:.1f}" for x, y in points]
    if len(points) == 2:
        return f"M{texts[0]} L{texts[1]}"
    # Curves whose control points are the bends, through the middles between them.
    path = f"M{texts[0]}"
    for index in range(1, len(points) - 1):
        last = index == len(points) - 2
        x, y = points[index + 1] if last else (points[index] + points[index + 1]) / 2
        path += f" Q{texts[index]} {x:.1f} {y:.1f}"
    return path


def _format_node(node: DrawnNode, kind: str) -> str:
    round_off = 6 if kind == "junction_tree" else HEIGHT / 2
    return (
        f'<g class="node"><title>{escape(_join(node.name))}</title><rect x="{node.x - node.width / 2:.1f}" '
        f'y="{node.y - HEIGHT / 2:.1f}" width="{node.width:.1f}" height="{HEIGHT:g}" rx="{round_off:g}" fill="#eef2ff" '
        f'stroke="#334155"/><text x="{node.x:.1f}" y="{node.y + 4.5:.1f}" text-anchor="middle">'
        f"{escape(node.text)}</text></g>"
    )


def _join(name: Any) -> str:
    return ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)
