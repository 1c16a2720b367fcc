"""A drawing of a tree as SVG text, made without other libraries."""

from html import escape
from typing import Any

import numpy as np

from mercer.tree._conditions import list_conditions
from mercer.tree._export import _name_classes, _write_condition
from mercer.tree._node_view import NodeView

# One colour for each class, told apart also by those who see few colours; used in turn.
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
# Width of a node's box in pixels.
_WIDTH = 132
# Height of a node's box in pixels: two lines of text and a bar of class shares.
_HEIGHT = 46
# Pixels between two levels: room for the labels of the edges.
_GAP = 46


def tree_svg(
    model: Any, *, feature_names: Any = None, class_names: Any = None, max_depth: int | None = None, decimals: int = 3
) -> str:
    """Draw a tree as SVG.

    Each node is a box with its answer, its weight and a bar of its class shares; conditions are on the branches.

    Parameters
    ----------
    model : estimator
        A fitted decision tree of mercer or scikit-learn.
    feature_names, class_names : list of str or None, default=None
        Names of the columns and of the classes; None takes those of the fit.
    max_depth : int or None, default=None
        Branches below are left out; None draws all.
    decimals : int, default=3
        Digits of numbers.

    Returns
    -------
    str
        A complete SVG document.

    Examples
    --------
    >>> from mercer.datasets import load_hiking
    >>> from mercer.tree import MultiwayTreeClassifier, tree_svg
    >>> days = load_hiking(as_frame=True)
    >>> drawing = tree_svg(MultiwayTreeClassifier().fit(days.data, days.target))
    >>> drawing.count('class="node"')
    8
    """
    nodes, conditions = list_conditions(model, feature_names)
    classes = _name_classes(nodes, class_names)
    x, depth = place_nodes(nodes.parent, max_depth)
    shown = np.flatnonzero(depth >= 0)
    lines = []
    # Branches come before boxes, so that the boxes are drawn over the ends of the lines.
    for node in shown:
        parent = int(nodes.parent[node])
        if parent >= 0:
            text = escape(_write_condition(conditions[node], decimals))
            lines.append(_draw_branch(x[parent], depth[parent], x[node], depth[node], text))
    lines += [_draw_box(nodes, int(node), classes, x[node], depth[node], decimals) for node in shown]
    width = (x[shown].max() + 1) * (_WIDTH + 16) + 8
    height = (depth[shown].max() + 1) * (_HEIGHT + _GAP) + 8
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="11" text-anchor="middle">'
    )
    return "\n".join([head, f'<rect width="{width:g}" height="{height:g}" fill="white"/>', *lines, "</svg>"])


def place_nodes(parents: np.ndarray, max_depth: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Place leaves from left to right and parents above the middle of their children; depth -1 is not drawn.

    Children have larger numbers than their parents.
    """
    n = len(parents)
    depth, x = np.full(n, -1), np.zeros(n)
    below: list[list[int]] = [[] for _ in range(n)]
    for node, parent in enumerate(parents.tolist()):
        # Children of a node that is not drawn are not drawn either.
        if parent < 0 or (depth[parent] >= 0 and (max_depth is None or depth[parent] < max_depth)):
            depth[node] = 0 if parent < 0 else depth[parent] + 1
            if parent >= 0:
                below[parent].append(node)
    place = 0
    waiting = [(0, False)]
    while waiting:
        node, seen = waiting.pop()
        if not below[node]:
            x[node], place = place, place + 1
        elif seen:
            # On the second visit all children have their places.
            x[node] = x[below[node]].mean()
        else:
            waiting += [(node, True), *((child, False) for child in below[node][::-1])]
    return x, depth


def _find_centre(x: float, depth: int) -> tuple[float, float]:
    return 8 + (x + 0.5) * (_WIDTH + 16), 8 + depth * (_HEIGHT + _GAP)


def _draw_branch(x0: float, depth0: int, x1: float, depth1: int, text: str) -> str:
    left, top = _find_centre(x0, depth0)
    right, bottom = _find_centre(x1, depth1)
    top += _HEIGHT
    place = f'x="{(left + 2 * right) / 3:.1f}" y="{(top + 2 * bottom) / 3:.1f}"'
    line = f'<path d="M{left:.1f} {top:.1f}L{right:.1f} {bottom:.1f}" stroke="#888" fill="none"/>'
    return f'{line}<text {place} stroke="white" stroke-width="3" paint-order="stroke">{text}</text>'


def _draw_box(nodes: NodeView, node: int, classes: Any, x: float, depth: int, decimals: int) -> str:
    centre, top = _find_centre(x, depth)
    left, value = centre - _WIDTH / 2, nodes.value[node]
    answer = f"{value[0]:.{decimals}g}" if classes is None else str(classes[int(value.argmax())])
    parts = [
        f'<g class="node"><rect x="{left:.1f}" y="{top:.1f}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="#f7f7f7" '
        f'stroke="#555"/>',
        f'<text x="{centre:.1f}" y="{top + 15:.1f}" font-weight="bold">{escape(answer)}</text>',
        f'<text x="{centre:.1f}" y="{top + 29:.1f}">{nodes.weight[node]:g} rows, '
        f"{nodes.impurity[node]:.{decimals}f}</text>",
    ]
    if classes is not None:
        start = left + 6
        for number, share in enumerate(value):
            # The bar is as wide as the box less a margin of 6 on both sides; shares of the classes sum to one.
            wide = share * (_WIDTH - 12)
            colour = COLOURS[number % len(COLOURS)]
            parts.append(f'<rect x="{start:.1f}" y="{top + 35:.1f}" width="{wide:.1f}" height="6" fill="{colour}"/>')
            start += wide
    return "".join([*parts, "</g>"])
